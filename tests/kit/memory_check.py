"""What must be true of memory's tables at any moment, also after a kill."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import cache
from typing import Any

import apsw

from homed.memory import events as table
from homed.memory.records import Event
from homed.memory.units import whole
from homed.retrieval import index
from homed.retrieval.terms import term
from homed.retrieval.words import tokens
from homed.store.rows import dumps, loads

HOLDER = {"context": "context", "cold": "cold", "archived": "stable"}


def rows(db: apsw.Connection, sql: str) -> list[tuple[Any, ...]]:
    """Every row."""
    return list(db.execute(sql))


def faults(db: apsw.Connection) -> list[str]:
    """Everything wrong with the word index, the layers, blocks, accesses and records; empty when all is well."""
    events = [table.from_row(row) for row in rows(db, f"SELECT {table.COLUMNS} FROM events ORDER BY seq")]
    return [*_words(db, events), *_layers(events), *_blocks(db, events), *_accesses(db, events), *_records(db)]


def indexed(db: apsw.Connection) -> dict[int, set[str]]:
    """The terms of every event in the index, read from the index itself."""
    db.execute("CREATE VIRTUAL TABLE IF NOT EXISTS temp.every_word USING fts5vocab (main, word_index, instance)")
    found: dict[int, set[str]] = defaultdict(set)
    for word, seq in rows(db, "SELECT term, doc FROM temp.every_word"):
        found[seq].add(word)
    return found


@cache
def _words_of(said: str) -> frozenset[str]:
    """The same few texts are looked at after every step."""
    return frozenset(tokens(said))


def _words(db: apsw.Connection, events: list[Event]) -> Iterator[str]:
    mark, backlog = rows(db, "SELECT mark, backlog FROM word_marks")[0]
    wanted: dict[int, set[str]] = {}
    scopes: Counter[str] = Counter()
    private = {event.seq for event in events if event.no_memory}
    queued = rows(db, "SELECT seq, scope, kind, text, data FROM word_drops")
    yield from (f"{row[0]} is to be forgotten and is an event" for row in queued if row[0] not in private)
    words = dict(rows(db, "SELECT seq, char(10) || words FROM events WHERE words <> ''"))
    stored = [
        (e.seq, e.scope, e.kind.value, e.text + words.get(e.seq, ""), dumps(dict(e.data)))
        for e in events
        if not e.no_memory
    ]
    for seq, scope, kind, text, data in [*stored, *queued]:
        if kind != "note" and backlog < seq <= mark:
            said = index.document(kind, text, loads(data) or {})
            wanted[seq] = {term(scope, word) for word in _words_of(said)}
            scopes[scope] += 1
    found = indexed(db)
    for seq in sorted(found.keys() | wanted.keys()):
        if found.get(seq, set()) != wanted.get(seq, set()):
            yield f"the words of {seq} are {found.get(seq)}, not {wanted.get(seq)}"
    counted = {scope: count for scope, count in rows(db, "SELECT * FROM word_counts") if count}
    if counted != dict(scopes):
        yield f"counted {counted}, not {dict(scopes)}"


def _layers(events: list[Event]) -> Iterator[str]:
    turns: dict[str, list[Event]] = defaultdict(list)
    for event in events:
        turns[event.turn].append(event)
        if event.no_memory and event.layer == "cold":
            yield f"{event.id} is no_memory and cold"
        if event.source and event.layer != "context":
            yield f"{event.id} is {event.layer} and came from {event.source}"
    for said in turns.values():
        for unit in whole(said, lambda event: event.tokens):
            if len({event.layer for event in unit.events if not event.no_memory}) > 1:
                yield f"a call and its results are apart: {[(e.id, e.layer) for e in unit.events]}"


def _blocks(db: apsw.Connection, events: list[Event]) -> Iterator[str]:
    layers = {event.id: event.layer for event in events}
    for block, event, holder in rows(db, "SELECT id, event, holder_layer FROM blocks"):
        if holder != HOLDER.get(layers.get(event, "")):
            yield f"block {block} is held by {holder}, its event is in {layers.get(event)}"


def _accesses(db: apsw.Connection, events: list[Event]) -> Iterator[str]:
    scopes = {event.id: event.scope for event in events}
    asked = "SELECT a.event, i.scope FROM accesses a JOIN turns t ON t.id = a.turn JOIN inputs i ON i.id = t.input"
    for event, scope in rows(db, asked):
        if scopes.get(event) != scope:
            yield f"a turn of {scope} looked at {event} of {scopes.get(event)}"


def _records(db: apsw.Connection) -> Iterator[str]:
    if not rows(db, "SELECT 1 FROM sqlite_schema WHERE name = 'records'"):
        return
    alone = "SELECT id FROM records WHERE origin = 'auto' AND id NOT IN (SELECT record FROM evidence)"
    yield from (f"{id_} was made of nothing" for (id_,) in rows(db, alone))
    foreign = (
        "SELECT r.id, e.id FROM evidence v JOIN records r ON r.id = v.record JOIN events e ON e.id = v.event"
        " WHERE r.scope <> e.scope OR e.no_memory = 1"
    )
    yield from (f"{record} rests on {event}, which is not its own to use" for record, event in rows(db, foreign))
