"""Changing records by hand, each change one transaction, told to whoever watches once it is stored."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from homed import events as notices
from homed.errors import Conflict, NotFound
from homed.identity.roles import Identity, Role, visible_scopes
from homed.jobs.console.ports import ConsolePorts
from homed.memory import browse, cards, cold, entities, hiding, mutate, opened, stable
from homed.memory.mutate import Edit, Note
from homed.memory.stable import Record
from homed.retrieval import index
from homed.store.rows import Tx, dumps

CHANGED = "changed"
"""``what`` of the notice after each change."""

Change = Callable[[Tx, Record, float], Mapping[str, object]]
"""Changes a record; what is to be told of it besides how it stands then."""


class Changing:
    """Cancelled before a change is stored, nothing has changed; afterwards it has, whole."""

    def __init__(self, ports: ConsolePorts) -> None:
        self._ports = ports

    async def edit(self, who: Identity, id_: str, wanted: Edit) -> Mapping[str, object]:
        """The result of ``memory.edit``.  Raises as ``mutate.edit``."""

        def change(tx: Tx, record: Record, at: float) -> Mapping[str, object]:
            return {"superseded": list(mutate.edit(tx, record, wanted, at=at).superseded)}

        return await self._change(who, id_, change)

    async def hide(self, who: Identity, id_: str) -> Mapping[str, object]:
        """The result of ``memory.hide``."""
        return await self._change(who, id_, _hide)

    async def restore(self, who: Identity, id_: str) -> Mapping[str, object]:
        """The result of ``memory.restore``.  Raises Conflict."""
        return await self._change(who, id_, _restore)

    async def reinstate(self, who: Identity, id_: str) -> Mapping[str, object]:
        """The result of ``memory.reinstate``.  Raises Conflict."""

        def change(tx: Tx, record: Record, at: float) -> Mapping[str, object]:
            return {"superseded": list(mutate.reinstate(tx, record, at=at).superseded)}

        return await self._change(who, id_, change)

    async def combine(self, who: Identity, keep: str, gone: str) -> Mapping[str, object]:
        """The result of ``memory.combine``.  Raises Conflict."""

        def change(tx: Tx, record: Record, at: float) -> Mapping[str, object]:
            other = _mine(tx, who, gone)
            return {"superseded": list(mutate.combine(tx, record, other, at=at).superseded)}

        return await self._change(who, keep, change)

    async def note(self, wanted: Note) -> Mapping[str, object]:
        """The result of ``memory.note``.  Raises InvalidInput (``blocked: KIND`` for a secret)."""
        at = self._ports.wall()

        def write(tx: Tx) -> dict[str, object]:
            made = mutate.note(tx, wanted, at=at)
            index.catch_up(tx)
            stored = stable.get(tx, made.record)
            if stored is None:  # it was thrown out at once: the scope holds nothing but what is worth more
                raise Conflict("There is no room for it.", hint="Forget something else first.")
            told = {"outcome": made.outcome, "superseded": list(made.superseded)}
            return {**self._shown(tx, stored), **told}

        answer = await self._ports.store.write(write)
        self._tell(wanted.scope)
        return answer

    async def bring_back(self, who: Identity, event: str) -> Mapping[str, object]:
        """The result of ``memory.bring_back``.  Raises NotFound for what is not cold."""
        scopes = visible_scopes(who)
        moved = await self._ports.store.write(lambda tx: cold.bring_back(tx, scopes, event))
        if not moved:
            raise NotFound("That is not in the cold layer.", hint="It may be back in the window already.")
        self._tell(next(iter(scopes)))
        return {"events": moved}

    async def _change(self, who: Identity, id_: str, change: Change) -> Mapping[str, object]:
        at = self._ports.wall()

        def write(tx: Tx) -> tuple[str, dict[str, object]]:
            record = _mine(tx, who, id_)
            told = change(tx, record, at)
            index.catch_up(tx)
            now = stable.get(tx, record.id)
            if now is None:
                raise NotFound(f"There is no record {record.shown_id} any more.")
            if now.scope not in visible_scopes(who):  # an owner may change it, and still does not read it
                shown: dict[str, object] = {"id": now.id, "shown": now.shown_id, "status": now.status,
                                            "revision": now.revision}  # fmt: skip
                return now.scope, {**shown, **told}
            return now.scope, {**self._shown(tx, now), **told}

        scope, answer = await self._ports.store.write(write)
        self._tell(scope)
        return answer

    def _shown(self, tx: Tx, record: Record) -> dict[str, object]:
        ids = dumps(sorted(filter(None, (record.subject, record.object_entity))))
        rows = tx.all(f"SELECT {entities.COLUMNS} FROM entities WHERE id IN (SELECT value FROM json_each(?))", (ids,))
        names = {entity.id: entity.name for entity in map(entities.from_row, rows)}
        return cards.card(record, browse.mark(tx, record), names, self._ports.redactor.redact)

    def _tell(self, scope: str) -> None:
        self._ports.dense.wake()
        self._ports.bus.post(notices.MEMORY, scope=scope, data={"what": CHANGED, "events": []})


def _mine(tx: Tx, who: Identity, id_: str) -> Record:
    """The record that this person may change: of their own scopes; an owner's also any other by its whole id."""
    try:
        return opened.find(tx, visible_scopes(who), id_, hidden=True)
    except NotFound:
        record = stable.get(tx, id_.strip()) if who.role is Role.OWNER else None
        if record is None:
            raise
        return record


def _hide(tx: Tx, record: Record, at: float) -> Mapping[str, object]:
    found = hiding.hide(tx, record, at=at)
    return {"along": list(found.along), "shortened": list(found.shortened)}


def _restore(tx: Tx, record: Record, at: float) -> Mapping[str, object]:
    found = hiding.restore(tx, record, at=at)
    return {"along": list(found.along), "shortened": list(found.shortened), "superseded": list(found.superseded)}
