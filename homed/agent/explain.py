"""Why a turn was answered as it was: the ledger, read back for those who may see it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from homed.agent.reading import places_of
from homed.agent.turn import Turn
from homed.errors import NotFound
from homed.identity.roles import Identity, visible_scopes
from homed.memory import events as table
from homed.memory import injections, ledger, stable
from homed.memory.injections import Injection
from homed.memory.records import Event, is_draft
from homed.memory.stable import Record
from homed.store.rows import Storage, Tx, dumps

EXCERPT = 160
"""Characters of an event's text that say which one it is."""

EVENTS = 500
"""Events that one explanation names with their text; ids beyond that stay ids."""

THREADS = 64
"""Conversations of a scope, the last used, among which the newest turn is looked for."""

STABLE = "stable"
"""The layer of facts, summaries and capsules."""

IDS = ("ev_", "fact_", "summary_", "capsule_")

LAST = "last"
"""In the place of a turn's id: the newest turn that there is a record of."""


class Explanations:
    """Reads the ledger."""

    def __init__(self, store: Storage) -> None:
        self._store = store

    async def explain(self, who: Identity, turn: str) -> dict[str, object]:
        """As ``memory.explain``: the records of a turn (or of the ``last``), what it was told line by line
        (``injections``), and the events and records that these name.

        Raises NotFound for a turn that is not there or that this peer may not see.
        """
        return await self._store.read(lambda tx: _explained(tx, visible_scopes(who), turn))


def recalls(tx: Tx, turns: Collection[str]) -> list[dict[str, object]]:
    """What each of these turns was shown and told from elsewhere, as ``recalls`` of ``io.history``."""
    return [_told(turn, entry.data) for turn, entry in ledger.of_turns(tx, turns, "recall").items()]


def recalls_now(turn: Turn | None) -> list[dict[str, object]]:
    """The same of the turn that runs, whose record comes with its next commit; none when it has come."""
    found = [data for kind, data in turn.ledger if kind == "recall"] if turn else []
    return [_told(turn.id, found[-1])] if turn and found else []


def _told(turn: str, data: Mapping[str, object]) -> dict[str, object]:
    more = {key: data[key] for key in ("facts", "mode", "counts") if data.get(key)}
    return {"turn": turn, **{key: data.get(key) for key in ("shown", "cold", "chars", "kept")}, **more}


def _explained(tx: Tx, scopes: Collection[str], turn: str) -> dict[str, object]:
    row = tx.one(
        "SELECT t.id, t.thread, t.started_at FROM turns t JOIN threads h ON h.id = t.thread"
        " WHERE t.id = ? AND +h.scope IN (SELECT value FROM json_each(?))",
        (_last(tx, scopes) if turn == LAST else turn, dumps(sorted(scopes))),
    )
    if row is None:
        raise NotFound("There is no such turn.", hint="`homed context explain last` is about the newest one.")
    id_, thread, at = row
    entries, told = ledger.of_turn(tx, id_), injections.of_turn(tx, id_)
    in_lines = [line.id for one in told for line in one.lines]
    named = list(dict.fromkeys([*in_lines, *(one for entry in entries for one in _ids(entry.data))]))[:EVENTS]
    return {
        "turn": id_, "thread": thread, "at": at,
        "entries": [{"kind": entry.kind, "at": entry.at, "data": dict(entry.data)} for entry in entries],
        "injections": [injection_view(one) for one in told],
        "events": {**_events(tx, scopes, named), **_records(tx, scopes, named)},
    }  # fmt: skip


def injection_view(told: Injection) -> dict[str, object]:
    """What a turn was told, as JSON."""
    lines = [
        {
            "id": one.id, "record": one.record, "revision": one.revision, "band": one.band, "why": one.why,
            "score": one.score, "relevance": one.relevance, "evidence": one.evidence, "chars": one.chars,
            "shortened": one.shortened,
        }
        for one in told.lines
    ]  # fmt: skip
    return {
        "at": told.at, "mode": told.mode, "counts": told.counts, "chars": told.chars, "ms": told.ms,
        "late": list(told.late), "below": told.below, "cut": told.cut, "channels": dict(told.channels), "lines": lines,
    }  # fmt: skip


def _last(tx: Tx, scopes: Collection[str]) -> str:
    """The newest turn with a record, of the conversations that were used last; empty for none."""
    newest = (
        "(SELECT t.id FROM turns t WHERE t.thread = h.id AND EXISTS (SELECT 1 FROM ledger l WHERE l.turn = t.id)"
        " ORDER BY t.started_at DESC LIMIT 1)"
    )
    found = [
        id_
        for scope in scopes
        for (id_,) in tx.all(
            f"SELECT {newest} FROM (SELECT id FROM threads WHERE scope = ? ORDER BY updated_at DESC LIMIT ?) h",
            (scope, THREADS),
        )
        if id_
    ]
    among = "SELECT id FROM turns WHERE id IN (SELECT value FROM json_each(?)) ORDER BY started_at DESC LIMIT 1"
    return str(tx.value(among, (dumps(found),)) or "")


def _events(tx: Tx, scopes: Collection[str], ids: Collection[str]) -> dict[str, dict[str, object]]:
    rows = tx.all(
        f"SELECT {table.COLUMNS} FROM events WHERE id IN (SELECT value FROM json_each(?))"
        f" AND +scope IN (SELECT value FROM json_each(?)) AND {table.NOT_REMOVED} ORDER BY seq",
        (dumps(list(ids)), dumps(sorted(scopes))),
    )
    found = [event for event in map(table.from_row, rows) if not is_draft(event)]
    places = places_of(tx, found)
    return {event.id: _event(event, places[event.thread].title) for event in found}


def _records(tx: Tx, scopes: Collection[str], ids: Collection[str]) -> dict[str, dict[str, object]]:
    """What is known, as it stands now, in the shape of an event: of the layer ``stable``."""
    found = stable.select(
        tx,
        "id IN (SELECT value FROM json_each(?)) AND +scope IN (SELECT value FROM json_each(?))",
        (dumps(list(ids)), dumps(sorted(scopes))),
    )
    return {
        one.id: {
            "kind": one.kind, "peer": "", "thread": "", "title": "" if one.status == "hidden" else one.title,
            "created_at": one.updated_at, "layer": STABLE, "untrusted": one.untrusted, "status": one.status,
            "excerpt": _said(one),
        }
        for one in found
    }  # fmt: skip


def _said(record: Record) -> str:
    """Of what a person took out of sight no words."""
    return "(hidden)" if record.status == "hidden" else _excerpt(record.text)


def _excerpt(whole: str) -> str:
    text = " ".join(whole[: EXCERPT * 2].split())
    return text if len(text) <= EXCERPT else text[: EXCERPT - 1] + "…"


def _event(event: Event, title: str) -> dict[str, object]:
    return {
        "kind": event.kind.value, "peer": event.peer, "thread": event.thread, "title": title,
        "created_at": event.created_at, "layer": event.layer, "untrusted": bool(event.data.get("untrusted")),
        **({"no_memory": True} if event.no_memory else {}),
        "excerpt": _excerpt(event.text),
    }  # fmt: skip


def _ids(value: object) -> Iterator[str]:
    """Every id of an event or of what is known in an entry, wherever it stands."""
    if isinstance(value, str):
        if value.startswith(IDS):
            yield value
    elif isinstance(value, Mapping):
        for key, part in value.items():
            yield from _ids(key)
            yield from _ids(part)
    elif isinstance(value, list):
        for part in value:
            yield from _ids(part)
