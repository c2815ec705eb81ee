"""What ``resident_agents`` does with agents that stay, an action each."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence

from homed.agent import notes
from homed.agent.children import Children, Wish, named
from homed.agent.fitting import fitted_text
from homed.agent.ports import CallContext, FromOutside
from homed.builtin.children import ROUNDS, Makers, names
from homed.builtin.grounds import Grounds
from homed.builtin.memory_write import told
from homed.builtin.ports import MemoryPorts
from homed.errors import InvalidInput, NotFound
from homed.memory import children as table
from homed.memory import entities, events, facts, stable
from homed.memory.capsules import NewCapsule, put_capsule
from homed.memory.children import Child
from homed.memory.records import Event, EventKind
from homed.memory.stable import Record
from homed.retrieval import index
from homed.store.rows import Tx

LAST = 4
"""Messages of it that ``inspect`` shows, the newest."""

SHOWN = 600
"""Bytes of each of them."""

MEMORIES = 40
"""Of its memories that are shown, and may be reclaimed in one call."""


class Residents:
    """The actions."""

    def __init__(self, makers: Makers, memory: MemoryPorts) -> None:
        self._makers = makers
        self._memory = memory
        self._actions: Mapping[str, Callable[[CallContext, Mapping[str, object]], Awaitable[object]]] = {
            "list": self._list, "create": self._create, "send": self._send, "inspect": self._inspect,
            "compress": self._compress, "reclaim": self._reclaim, "destroy": self._destroy,
        }  # fmt: skip

    async def run(self, context: CallContext, args: Mapping[str, object]) -> object:
        """Do what ``action`` says.  Raises NotFound for an agent that this scope has not made."""
        return await self._actions[str(args["action"])](context, args)

    @property
    def _children(self) -> Children:
        return self._makers.children.need()

    def _one(self, context: CallContext, args: Mapping[str, object]) -> Child:
        return self._children.roster.find(context.scope, _needed(args, "agent"))

    async def _list(self, context: CallContext, _: Mapping[str, object]) -> object:
        found = self._children.roster.residents(context.scope)
        held = await self._memory.store.read(lambda tx: [table.rows(tx, one) for one in found])
        answer = {
            "agents": [
                {
                    "agent": one.id, "name": one.name, "brief": notes.neutral(one.brief),
                    "state": self._children.roster.working(one), "in_view": rows.auto, "kept": rows.own,
                }
                for one, rows in zip(found, held, strict=True)
            ]
        }  # fmt: skip
        # a turn that strangers had a say in may have written a brief
        return FromOutside(answer) if any(one.untrusted for one in found) else answer

    async def _create(self, context: CallContext, args: Mapping[str, object]) -> object:
        rounds = args.get("max_turns")
        wish = Wish(
            "resident", named(_needed(args, "name")), _needed(args, "brief"),
            rounds if isinstance(rounds, int) else ROUNDS, names(args.get("tools")), names(args.get("outputs")),
            tuple(sorted(names(args.get("inputs")) or ())),
        )  # fmt: skip
        child = await self._children.make(self._makers.turn(context), wish)
        return {"agent": child.id, "name": child.name, "state": "idle"}

    async def _send(self, context: CallContext, args: Mapping[str, object]) -> object:
        child = self._one(context, args)
        await self._children.give(self._makers.turn(context), child, _needed(args, "text"))
        return {"agent": child.id, "name": child.name, "state": "working"}

    async def _inspect(self, context: CallContext, args: Mapping[str, object]) -> object:
        """From the table and what is in memory: its lane is not touched, and its turn waits for nothing."""
        child = self._one(context, args)

        def read(tx: Tx) -> tuple[table.Rows, Sequence[Event], list[Record]]:
            page, _ = events.history(tx, child.thread, before=None, limit=4 * LAST)
            said = [one for one in page if one.kind in (EventKind.USER, EventKind.ASSISTANT) and one.text.strip()]
            return table.rows(tx, child), said[-LAST:], _memories(tx, child)

        rows, said, kept = await self._memory.store.read(read)
        may = child.may
        answer = {
            "agent": child.id, "name": child.name, "brief": child.brief, "state": self._children.roster.working(child),
            "rows": {"auto": rows.auto, "cold": rows.cold, "own": rows.own, "tokens": rows.tokens},
            "tools": sorted(may.tools) if may.tools is not None else "all",
            "outputs": sorted(may.outputs) if may.outputs is not None else "all", "inputs": list(may.inputs),
            "last": [{"who": one.kind.value, "text": fitted_text(notes.neutral(one.text), SHOWN)} for one in said],
            "memories": [{"id": one.shown_id, "text": notes.neutral(one.text)} for one in kept[:MEMORIES]],
        }  # fmt: skip
        return FromOutside(answer)

    async def _compress(self, context: CallContext, args: Mapping[str, object]) -> object:
        child = self._one(context, args)
        cleared = await self._memory.store.write(lambda tx: table.clear(tx, child))
        return {"agent": child.id, "name": child.name, "cleared": cleared}

    async def _reclaim(self, context: CallContext, args: Mapping[str, object]) -> object:
        """What it kept becomes the maker's by the one law of facts: a statement that no person made displaces none that
        somebody did, and what strangers may have had a say in stays marked."""
        child, wanted = self._one(context, args), sorted(names(args.get("memories")) or ())
        if not wanted or len(wanted) > MEMORIES:
            raise InvalidInput(f"memories must be 1 to {MEMORIES} ids.", hint="inspect gives them.")

        def write(tx: Tx) -> list[dict[str, object]]:
            grounds, at = Grounds(tx, context), self._memory.wall()
            made = [_taken(tx, context, grounds, stable.find(tx, child.scope, id_), at) for id_ in wanted]
            index.catch_up(tx)
            return made

        made = await self._memory.store.write(write)
        self._memory.stored()
        return FromOutside({"agent": child.id, "reclaimed": made})

    async def _destroy(self, context: CallContext, args: Mapping[str, object]) -> object:
        child = self._one(context, args)
        await self._children.destroy(child)
        return {"agent": child.id, "name": child.name, "state": "destroyed"}


def _memories(tx: Tx, child: Child) -> list[Record]:
    return stable.select(tx, "scope = ? AND status = 'active' ORDER BY seq DESC", (child.scope,))


def _taken(tx: Tx, context: CallContext, grounds: Grounds, record: Record, at: float) -> dict[str, object]:
    if record.record not in ("fact", "capsule") or record.status != "active":
        raise NotFound(f"{record.shown_id} is no memory that can be reclaimed.")
    if record.record == "capsule":
        ground = grounds.note(record.text)
        whole = NewCapsule(
            context.scope, record.kind, record.title, record.text, importance=record.importance, tags=record.tags,
            untrusted=record.untrusted or ground.untrusted,
        )  # fmt: skip
        return told(tx, put_capsule(tx, whole, ground.evidence, at=at), untrusted=whole.untrusted)
    subject = entities.get(tx, record.subject) if record.subject else None
    about = entities.get(tx, record.object_entity) if record.object_entity else None
    ground = grounds.of(*filter(None, [subject.name if subject else "", record.object or record.text]))
    untrusted = record.untrusted or ground.untrusted
    new = facts.NewFact(
        context.scope, record.text, kind=record.kind, subject=subject.name if subject else "",
        subject_type=subject.type if subject else "", relation=record.relation, object=record.object,
        object_type=about.type if about else "", tags=record.tags, importance=record.importance,
        confidence=min(record.confidence, ground.confidence), untrusted=untrusted, peer=context.peer,
        observed=record.observed,
    )  # fmt: skip
    return told(tx, facts.put(tx, new, ground.evidence, at=at), untrusted=untrusted)


def _needed(args: Mapping[str, object], name: str) -> str:
    text = str(args.get(name) or "").strip()
    if not text:
        raise InvalidInput(f"{name} is missing.")
    return text
