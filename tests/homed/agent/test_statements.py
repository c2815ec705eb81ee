"""What every turn asks of the database, on one of years: a few rows each, never all of a scope or of a conversation."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import apsw
import pytest

from homed.agent import explain, reading, sinking
from homed.agent.ports import CallContext
from homed.agent.reading import Found, Wanted
from homed.builtin import coldcontext
from homed.identity.roles import Role
from homed.memory import blocks, cold, events, ledger, scope_window
from homed.memory.budget import budget
from homed.memory.records import Event, EventKind
from homed.retrieval import index
from homed.retrieval.asking import Question
from homed.retrieval.without import words_only
from homed.store.connection import Transaction
from homed.store.rows import Tx, dumps
from tests.kit.migrated import migrated
from tests.kit.past import Past, Said, put

TURNS = 6_000
"""All in one conversation of one scope: to pass over them takes at least four steps each."""

PLAIN = 3_000
"""Steps of SQLite's machine: a look-up by a key takes some twenty."""

RANKED = 60_000
"""The same where words are ranked, among some hundred events."""


@pytest.fixture(scope="module")
def filled() -> Iterator[tuple[apsw.Connection, list[Event]]]:
    connection = migrated()
    connection.execute("BEGIN")
    tx = Transaction(connection, Path(":memory:"))
    put(tx, Past(said=[Said(question="An owner's group is quiet.")], scope="group:1", at=1.0))
    said = [Said(question=f"word{n} heron{n % 50} seen", answer=f"answer{n}") for n in range(TURNS)]
    stored = put(tx, Past(said=said))
    while index.catch_up(tx):
        pass
    tx.execute("UPDATE events SET layer = 'cold' WHERE seq <= (SELECT max(seq) - 60 FROM events) AND scope = 'owner'")
    tx.execute(
        "INSERT INTO ledger (turn, scope, thread, kind, at, data)"
        " SELECT t.id, 'owner', t.thread, 'recall', t.started_at, ? FROM turns t JOIN threads h ON h.id = t.thread"
        " WHERE h.scope = 'owner'",
        (dumps({"cold": [stored[0].id], "shown": []}),),
    )
    connection.execute("COMMIT; BEGIN")
    yield connection, stored
    connection.close()


def steps(connection: apsw.Connection, work: Callable[[Tx], object]) -> int:
    """How many steps of SQLite's machine it takes, in tens."""
    counted = 0

    def count() -> bool:
        nonlocal counted
        counted += 10
        return False

    connection.set_progress_handler(count, 10)
    try:
        work(Transaction(connection, Path(":memory:")))
    finally:
        connection.set_progress_handler(None)
    return counted


def wanted(stored: list[Event], query: str) -> Wanted:
    asked = Question(query)
    return Wanted("owner", stored[0].thread, "turn_new", asked, budget(32_768, 2_000), 30, 10, 0.12, 2e9)


def plain(stored: list[Event]) -> dict[str, Callable[[Tx], object]]:
    thread, turn, ids = stored[0].thread, stored[4_000].turn, [event.id for event in stored[4_000:4_003]]
    return {
        "by_ids": lambda tx: reading.by_ids(tx, "owner", ids),
        "places_of": lambda tx: reading.places_of(tx, stored[:5]),
        "explain a turn": lambda tx: explain._explained(tx, ["owner"], turn),
        "explain the last": lambda tx: explain._explained(tx, ["owner", "group:1"], explain.LAST),
        "recalls": lambda tx: explain.recalls(tx, [turn]),
        "files that wait": lambda tx: blocks.waiting_in(tx, thread),
        "active threads": lambda tx: scope_window.active_threads(tx, "owner", since=0.0),
        "totals": lambda tx: scope_window.totals(tx, "owner"),
        "running": lambda tx: scope_window.running_events(tx, "owner"),
        "last inputs": lambda tx: scope_window.last_inputs(tx, "owner"),
        "last inputs of a quiet scope": lambda tx: scope_window.last_inputs(tx, "group:1"),
        "a page of history": lambda tx: events.history(tx, thread, before=stored[5_000].seq, limit=20),
        "of a turn": lambda tx: events.of_turn(tx, turn),
        "records": lambda tx: ledger.of_turn(tx, turn),
        "peek": lambda tx: cold.peek(tx, ids, turn, 1.0),
        "confirm": lambda tx: cold.confirm(tx, turn),
        "sink": lambda tx: cold.sink(tx, "owner", [stored[-1].id], at=1.0),
    }


RANKING = ("turn", "pasted", "scores", "plan", "tool")


def ranked(stored: list[Event]) -> dict[str, Callable[[Tx], object]]:
    seqs = [event.seq for event in stored[-60:]]
    pasted = " ".join(f"word{n} heron{n % 50}" for n in range(300))
    context = CallContext(stored[0].thread, "cli", "cli:owner", Role.OWNER, "owner", stored[-1].turn)
    level = sinking._Level("owner", 10, 5, 20_000)
    ranker, question = words_only(), Question("was heron7 seen with word4711")

    def talk(tx: Tx) -> sinking._Talk:
        active, texts = sinking._asked(tx, "owner", 0.0)
        return sinking._Talk(tuple(active), tuple(map(Question, [pasted, *texts])), frozenset())

    return {
        "turn": lambda tx: reading.read(tx, ranker, wanted(stored, "was heron7 seen with word4711"), Found()),
        "pasted": lambda tx: reading.read(tx, ranker, wanted(stored, pasted), Found()),
        "scores": lambda tx: ranker.score(tx, scope="owner", query=pasted, seqs=seqs),
        "plan": lambda tx: sinking._plan(tx, ranker, level, talk(tx)),
        "tool": lambda tx: coldcontext._search(tx, ranker, context, question, 3),
    }


NAMES = tuple(plain([Event("", 0, "", "", "", "", "", EventKind.USER, "", 0.0)] * 6_000))


@pytest.mark.parametrize("name", NAMES)
def test_nothing_reads_all_of_a_scope_or_of_a_conversation(
    filled: tuple[apsw.Connection, list[Event]], name: str
) -> None:
    """A4: one way of writing a condition read every event of the scope to find three by their ids."""
    connection, stored = filled
    with connection:
        assert steps(connection, plain(stored)[name]) < PLAIN


@pytest.mark.parametrize("name", RANKING)
def test_what_ranks_looks_at_no_more_than_what_may_win(filled: tuple[apsw.Connection, list[Event]], name: str) -> None:
    """A10, A11"""
    connection, stored = filled
    assert 0 < steps(connection, ranked(stored)[name]) < RANKED


def test_the_measure_sees_a_statement_that_reads_everything(filled: tuple[apsw.Connection, list[Event]]) -> None:
    connection, stored = filled
    slow = "SELECT id FROM events WHERE id IN (SELECT value FROM json_each(?)) AND scope = 'owner' AND layer = 'cold'"
    assert steps(connection, lambda tx: tx.all(slow.replace("id IN", "+id IN"), (dumps([stored[0].id]),))) > PLAIN
    assert steps(connection, lambda tx: tx.all("SELECT id FROM inputs WHERE +thread = ''")) > PLAIN
