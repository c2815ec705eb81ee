"""What is done for each turn, and for each piece of a forgetting, reads no table whole that grows for ever."""

from __future__ import annotations

import re
from collections.abc import Callable

import apsw
import pytest

from homed.memory import cold, cooling, forget, forget_peer, hiding, inputs, passes, window
from homed.memory.cooling import Place, Rule
from homed.memory.records import Event
from homed.store.rows import Tx
from tests.homed.memory.speech import Speech

GROWING = {
    "events", "inputs", "turns", "evidence", "ledger", "injections", "injected", "vectors", "records", "revisions",
    "citations", "blocks",
}  # fmt: skip
_SCAN = re.compile(r"SCAN (\w+)(?! USING INDEX inputs_unfinished)")
RULE = Rule(1e12, 1.0, 2)


@pytest.fixture
def speech(tx: Tx) -> Speech:
    found = Speech(tx)
    for text in ("I live in Bern.", "I like tea."):
        found.fact(text)
    tx.execute("UPDATE events SET layer = 'cold', sunk_at = 1")
    return found


def scanned(db: apsw.Connection, work: Callable[[], object]) -> set[str]:
    """The growing tables that a piece of work reads whole, with the statements that do."""
    said: dict[str, object] = {}

    def note(_: object, sql: str, params: object) -> bool:
        said.setdefault(sql, params)
        return True

    db.exec_trace = note
    work()
    db.exec_trace = None
    assert said
    found = set()
    for sql, params in said.items():
        for _, _, _, step in db.execute(f"EXPLAIN QUERY PLAN {sql}", params):  # type: ignore[arg-type]
            match = _SCAN.match(step)
            names = {match[1], *re.findall(rf"(\w+) (?:AS )?{match[1]}\b", sql)} if match else set()
            if names & GROWING:
                found.add(f"{step}: {sql}")
    return found


WORK: dict[str, Callable[[Tx, Event], object]] = {
    "cooled": lambda tx, event: cooling.cooled(tx, RULE, Place(), 10),
    "piece": lambda tx, event: cooling.piece(tx, event.turn, RULE),
    "archive": lambda tx, event: cooling.archive(tx, event.turn, RULE),
    "unread": lambda tx, event: cooling.unread(tx, 0, 10),
    "owed": lambda tx, event: passes.owed(tx, (-1.0, ""), 10),
    "written": lambda tx, event: passes.written(tx, event.turn),
    "recalled": lambda tx, event: passes.recalled(tx, event.thread, 1e12),
    "peek": lambda tx, event: cold.peek(tx, [event.id], event.turn, 1e12),
    "confirm": lambda tx, event: cold.confirm(tx, event.turn),
    "sink": lambda tx, event: cold.sink(tx, "owner", [event.id], at=1e12),
    "bring back": lambda tx, event: cold.bring_back(tx, ["owner"], event.id),
    "recent": lambda tx, event: window.recent(tx, scope="owner", thread=event.thread, limit=10),
    "joined": lambda tx, event: inputs.joined(tx, event.turn),
    "belonging": lambda tx, event: forget.belonging(tx, event.id),
    "forget": lambda tx, event: forget.remove_events(tx, [event.id], at=1e12),
    "a page of a peer's": lambda tx, event: forget_peer.events(tx, "cli:owner", after=0, upto=10),
}


@pytest.mark.parametrize("name", WORK)
def test_it_reads_what_it_needs(speech: Speech, db: apsw.Connection, name: str) -> None:
    event = speech.say("And coffee.")
    assert scanned(db, lambda: WORK[name](speech.tx, event)) == set()


def test_hiding_too(speech: Speech, db: apsw.Connection) -> None:
    fact = speech.record(speech.fact("I have a cat."))
    assert scanned(db, lambda: hiding.hide(speech.tx, fact, at=speech.at)) == set()


def test_a_whole_table_would_be_seen(tx: Tx, db: apsw.Connection) -> None:
    assert scanned(db, lambda: tx.all("SELECT e.id FROM events e WHERE e.peer = ?", ("x",)))
