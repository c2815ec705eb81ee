"""``memory_purge`` and ``memory_delete_entity``: a model takes something out of the stable layer.

What a model takes away is hidden and not made again; a person can bring it back.  Bytes go only where the owner
confirms it, each time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from homed.agent import notes
from homed.agent.ports import BuiltinTool, CallContext, FromOutside
from homed.builtin.entries import entry, number, string
from homed.builtin.ports import MemoryPorts
from homed.errors import InvalidInput, Unavailable
from homed.identity.permissions import DANGEROUS
from homed.memory import entities, stable
from homed.memory.normal import folded
from homed.memory.relations import canonical
from homed.memory.stable import Record
from homed.store.rows import SqlValue, Tx

MOST = 500
"""Facts of one purge."""

MOST_HARD = 20
"""The same for good: each is looked for in every file afterwards."""

NAMED = 20
"""Of those that went, so many are named."""

HARD = "hard"
DAY = 86_400.0


@dataclass(frozen=True, slots=True)
class _Filter:
    """Which facts of a scope; all that is given must hold.  What every fact meets (blanks, a confidence below 1, no
    days) is no filter."""

    entity: str = ""
    relation: str = ""
    words: str = ""
    below: float | None = None
    days: int | None = None

    @property
    def empty(self) -> bool:
        return self == _Filter()


def memory_purge(ports: MemoryPorts) -> BuiltinTool:
    """The tool."""

    async def run(context: CallContext, args: Mapping[str, object]) -> object:
        wanted = _filter(args)
        if wanted.empty:
            raise InvalidInput("Give at least one filter: everything at once is never purged.")
        if args.get("mode") == HARD:
            found = await ports.store.read(lambda tx: _matching(tx, context, wanted, hidden=True, at=ports.wall()))
            if len(found) > MOST_HARD:
                raise InvalidInput(f"More than {MOST_HARD} facts match.", hint="Narrow it down, or purge softly.")
            return await _forgotten(ports, context.scope, found)

        def write(tx: Tx) -> list[Record]:
            found = _matching(tx, context, wanted, hidden=False, at=ports.wall())
            hide(tx, found, at=ports.wall())
            return found

        found = await ports.store.write(write)
        return _answer(_gone("hidden", found), found)

    properties = {
        "mode": {"enum": ["soft", HARD]},
        "entity": string("Facts that name it."),
        "relation": string(),
        "words": string("Facts whose text has them all."),
        "below": {"type": "number", "minimum": 0, "maximum": 1, "description": "Confidence below this."},
        "older_than_days": number(0, 36_500),
    }
    declared = entry("memory_purge", properties, (), guest=False, tool_class=DANGEROUS)
    return BuiltinTool(declared, run, final=lambda args: args.get("mode") == HARD)


def memory_delete_entity(ports: MemoryPorts) -> BuiltinTool:
    """The tool."""

    async def run(context: CallContext, args: Mapping[str, object]) -> object:
        def write(tx: Tx) -> tuple[str, list[Record]]:
            entity = entities.must(tx, context.scope, str(args["name"]), peer=context.peer)
            found = _matching(tx, context, _Filter(entity=entity.id), hidden=False, at=ports.wall())
            hide(tx, found, at=ports.wall())
            return entity.name, found

        name, found = await ports.store.write(write)
        return _answer({"entity": notes.neutral(name), **_gone("hidden", found)}, found)

    properties = {"name": string()}
    declared = entry("memory_delete_entity", properties, ("name",), guest=False, tool_class=DANGEROUS)
    return BuiltinTool(declared, run)


def _answer(told: dict[str, object], found: list[Record]) -> object:
    """What went is named, and may be words of strangers."""
    return FromOutside(told) if any(one.untrusted for one in found[:NAMED]) else told


def hide(tx: Tx, found: list[Record], *, at: float) -> None:
    """Take these facts out of sight with what repeats them, and keep them from being made again by themselves."""
    from homed.memory import hiding  # seldom

    for record in found:
        hiding.hide(tx, record, at=at)


async def _forgotten(ports: MemoryPorts, scope: str, found: list[Record]) -> dict[str, object]:
    """Take these out of everything there is, one after the other."""
    forgetting = ports.forgetting()
    if forgetting is None:
        raise Unavailable("Nothing can be deleted for good here.", hint="`homed memory forget` does it.")
    for record in found:
        await forgetting.forget("fact", record.id, scopes=[scope])
    return _gone("deleted", found)


def _filter(args: Mapping[str, object]) -> _Filter:
    below, days = args.get("below"), args.get("older_than_days")
    return _Filter(
        str(args.get("entity", "")).strip(), canonical(str(args.get("relation", ""))),
        " ".join(folded(str(args.get("words", ""))).split()),
        float(below) if isinstance(below, (int, float)) and below < 1 else None,
        days if isinstance(days, int) and days else None,
    )  # fmt: skip


def _matching(tx: Tx, context: CallContext, wanted: _Filter, *, hidden: bool, at: float) -> list[Record]:
    """Facts of this scope, oldest first; ``hidden``: those out of sight too.  NotFound for an entity nobody knows."""
    where, params = ["scope = ?", "record = 'fact'"], [context.scope]
    more: list[SqlValue] = []
    if not hidden:
        where.append("status <> 'hidden'")
    if wanted.entity:
        entity = entities.must(tx, context.scope, wanted.entity, peer=context.peer)
        where.append("(subject = ? OR object_entity = ?)")
        more += [entity.id, entity.id]
    if wanted.relation:
        where.append("relation = ?")
        more.append(wanted.relation)
    if wanted.below is not None:
        where.append("confidence < ?")
        more.append(wanted.below)
    if wanted.days is not None:
        where.append("updated_at < ?")
        more.append(at - wanted.days * DAY)
    found = stable.select(tx, f"{' AND '.join(where)} ORDER BY seq", [*params, *more])  # no scope has many thousands
    words = wanted.words.split()
    found = [one for one in found if all(word in folded(one.text) for word in words)]
    if len(found) > MOST:
        raise InvalidInput(f"More than {MOST} facts match.", hint="Narrow it down.")
    return found


def _gone(how: str, found: list[Record]) -> dict[str, object]:
    named = [f"{one.shown_id}: {notes.neutral(one.text)}" for one in found[:NAMED]] if how == "hidden" else []
    return {how: len(found), **({"facts": named} if named else {})}
