"""Accept, say, answer, fail, select, sink, look, come back, delete, crash, in any order, in two scopes at once.

Each event is in one layer, that of a simple model; a call and its results are never apart; each block has one holder;
nothing is lost; the word index is what the events say; no scope ever sees another's.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar
from unittest.mock import patch

import apsw
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from homed.memory import cold, events, inputs, removal, scope_window, threads
from homed.memory.records import Event, EventKind, Input, InputState, NewEvent, Outcome, Thread
from homed.memory.window import Limits, paired, plan, select, sink_plan, whole
from homed.retrieval import index
from homed.retrieval.without import words_only
from homed.store.connection import Transaction, open_writer
from homed.store.rows import Tx
from tests.homed.memory.build import new_input
from tests.homed.memory.histories import is_paired
from tests.kit.memory_check import faults

T = TypeVar("T")

WORDS = ("heron", "egret", "bittern", "部署", "4379")
TEXTS = st.lists(st.sampled_from(WORDS), min_size=1, max_size=3).map(" ".join)
ENDS = st.sampled_from([state for state in InputState if state.terminal])
PLACES = st.integers(0, 2)
LIMITS = st.builds(Limits, events=st.integers(1, 5), protected=st.integers(0, 3), tokens=st.integers(1, 200))


class Crash(Exception):
    """The process ends in the middle of a transaction."""


@dataclass
class Known:
    """What the model knows of an event: where it is, and which events move with it."""

    scope: str
    thread: str
    turn: str
    unit: list[str]
    layer: str = "context"


@dataclass
class Running:
    """A turn in flight."""

    input: Input
    looked: set[str] = field(default_factory=set)
    calls: list[str] = field(default_factory=list)
    unit: list[str] = field(default_factory=list)


class Layers(RuleBasedStateMachine):
    """The tables against the model."""

    @initialize()
    def start(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name) / "homed.db"
        self.connection = self._connect()
        self.known: dict[str, Known] = {}
        self.running: dict[str, Running] = {}
        self.count = 0
        self.threads = [self._open(scope) for scope in ("owner", "owner", "group:1")]
        for at in (0, 1, 2, 2):
            self.a_whole_turn(at, " ".join(WORDS), calls=at)
        for at in (0, 2):
            self.sink_whatever_was_asked(at, list(range(0, 12, 2)))
            self._ask(at, WORDS[at])

    def _connect(self) -> apsw.Connection:
        connection = open_writer(self.path)
        connection.pragma("synchronous", "off")  # nobody cuts the power here
        return connection

    def _open(self, scope: str) -> Thread:
        return self.write(lambda tx: threads.create(tx, scope=scope, channel="cli", title="", at=0.0))

    def write(self, fn: Callable[[Tx], T], *, crash: bool = False) -> T:
        """One transaction, the index with it; with ``crash`` the process ends before the COMMIT."""
        self.connection.execute("BEGIN IMMEDIATE")
        tx = Transaction(self.connection, self.path)
        try:
            result = fn(tx)
            with patch.object(index, "FEW", 2):  # more than two deleted events: marked first, merged away later
                index.catch_up(tx)
            if crash:
                raise Crash
        except BaseException:
            self.connection.execute("ROLLBACK")
            raise
        self.connection.execute("COMMIT")
        return result

    @rule(at=PLACES, text=TEXTS, calls=st.integers(0, 3))
    def a_whole_turn(self, at: int, text: str, calls: int) -> None:
        turn = self._ask(at, text)
        if calls:
            self._call(turn, text, calls)
        self._finish(turn, InputState.ANSWERED, text, private=False)

    @precondition(lambda self: len(self.running) < 4)
    @rule(at=PLACES, text=TEXTS)
    def ask(self, at: int, text: str) -> None:
        self._ask(at, text)

    def _ask(self, at: int, text: str) -> str:
        self.count += 1
        turn = f"turn{self.count}"
        thread = self.threads[at]

        def write(tx: Tx) -> tuple[Input, Event]:
            accepted, _ = inputs.accept(tx, new_input(thread, text), at=1.0)
            begun = inputs.begin(tx, accepted.id, turn=turn, at=1.0)
            return begun, events.append(tx, begun, NewEvent(EventKind.USER, text), at=1.0)

        begun, event = self.write(write)
        self.running[turn] = Running(begun)
        self._add(event, [])
        self.write(
            lambda tx: tx.execute(
                "INSERT INTO blocks (id, hash, media_type, bytes, event, created_at) VALUES (?, 'h', 'a/b', 1, ?, 1.0)",
                (f"block_{event.id}", event.id),
            )
        )
        return turn

    def _add(self, event: Event, unit: list[str]) -> None:
        unit.append(event.id)
        self.known[event.id] = Known(event.scope, event.thread, event.turn, unit)

    def _going(self, which: int) -> str:
        return list(self.running)[which % len(self.running)]

    @precondition(lambda self: self.running)
    @rule(which=PLACES, text=TEXTS, calls=st.integers(1, 3))
    def call(self, which: int, text: str, calls: int) -> None:
        self._call(self._going(which), text, calls)

    def _call(self, turn: str, text: str, calls: int) -> None:
        going = self.running[turn]
        if going.calls:
            return
        names = [f"{len(self.known)}{name}" for name in "ABC"[:calls]]
        made = [{"id": name, "name": "run", "arguments": {}} for name in names]
        said = NewEvent(EventKind.ASSISTANT, text, {"calls": made})
        event = self.write(lambda tx: events.append(tx, going.input, said, at=1.0))
        going.calls, going.unit = names, []
        self._add(event, going.unit)

    @precondition(lambda self: self.running)
    @rule(which=PLACES, text=TEXTS, crash=st.booleans())
    def result(self, which: int, text: str, crash: bool) -> None:
        going = self.running[self._going(which)]
        if not going.calls:
            return
        name = going.calls[which % len(going.calls)]
        new = NewEvent(EventKind.TOOL, text, {"call_id": name, "status": "ok"})
        if crash:
            with pytest.raises(Crash):
                self.write(lambda tx: events.append(tx, going.input, new, at=1.0), crash=True)
            self.reopen()
            return
        event = self.write(lambda tx: events.append(tx, going.input, new, at=1.0))
        going.calls.remove(name)
        self._add(event, going.unit)

    @precondition(lambda self: self.running)
    @rule(which=PLACES, query=TEXTS)
    def look(self, which: int, query: str) -> None:
        turn = self._going(which)
        going = self.running[turn]
        scope = going.input.scope

        def write(tx: Tx) -> list[str]:
            hits = words_only().search(tx, scope=scope, layer="cold", query=query, limit=3)
            assert all(self.known[hit.id].scope == scope and self.known[hit.id].layer == "cold" for hit in hits)
            return cold.peek(tx, [*(hit.id for hit in hits), *self.known], turn, 2.0)

        looked = self.write(write)
        assert set(looked) == {
            id_ for id_, known in self.known.items() if (known.scope, known.layer) == (scope, "cold")
        }
        going.looked |= set(looked)

    @precondition(lambda self: self.running)
    @rule(which=PLACES, state=ENDS, text=TEXTS, private=st.booleans(), crash=st.booleans())
    def finish(self, which: int, state: InputState, text: str, private: bool, crash: bool) -> None:
        self._finish(self._going(which), state, text, private=private, crash=crash)

    def _finish(self, turn: str, state: InputState, text: str, *, private: bool, crash: bool = False) -> None:
        going = self.running[turn]

        def write(tx: Tx) -> list[Event]:
            left = events.dangling_calls(tx, turn)
            last = [NewEvent(EventKind.TOOL, "interrupted", {"call_id": call["id"]}) for call in left]
            last.append(NewEvent(EventKind.ASSISTANT, text))
            return inputs.finish(tx, going.input.id, Outcome(state), last, at=3.0, no_memory=private)

        if crash:
            with pytest.raises(Crash):
                self.write(write, crash=True)
            self.reopen()
        *results, answer = self.write(write)
        for event in results:
            self._add(event, going.unit)
        self._add(answer, [])
        del self.running[turn]
        if private:
            for known in self.known.values():
                known.layer = "archived" if known.turn == turn else known.layer
        if state is InputState.ANSWERED:
            self._move([id_ for id_ in going.looked if id_ in self.known], "cold", "context")

    def _move(self, ids: list[str], before: str, after: str) -> None:
        for known in [self.known[other] for id_ in ids for other in self.known[id_].unit]:
            if known.layer == before:
                known.layer = after

    @rule(at=PLACES, limits=LIMITS, query=TEXTS, active=st.booleans(), crash=st.booleans())
    def sink(self, at: int, limits: Limits, query: str, active: bool, crash: bool) -> None:
        scope, thread = self.threads[at].scope, self.threads[at].id
        used = {id_ for id_, known in self.known.items() if known.turn in self.running}

        def write(tx: Tx) -> tuple[str, ...]:
            window = scope_window.window_events(tx, scope)
            scores = words_only().score(tx, scope=scope, query=query, seqs=[event.seq for event in window])
            done = sink_plan(
                whole(window, lambda e: e.tokens), scores, in_use=used, active=[thread] if active else [], limits=limits
            )
            assert len(cold.sink(tx, scope, done.ids, at=1.0)) == len(done.ids)
            return done.ids

        if crash:
            with pytest.raises(Crash):
                self.write(write, crash=True)
            self.reopen()
        else:
            self._move(list(self.write(write)), "context", "cold")

    @precondition(lambda self: self.known)
    @rule(at=PLACES, which=st.lists(st.integers(0, 60), min_size=1, max_size=5))
    def sink_whatever_was_asked(self, at: int, which: list[int]) -> None:
        scope, ids = self.threads[at].scope, list(self.known)
        asked = [ids[n % len(ids)] for n in which]
        self.write(lambda tx: cold.sink(tx, scope, asked, at=1.0))
        may = [id_ for id_ in asked if self.known[id_].scope == scope and self.known[id_].turn not in self.running]
        self._move(may, "context", "cold")

    @rule(at=PLACES, limits=LIMITS, query=TEXTS)
    def select(self, at: int, limits: Limits, query: str) -> None:
        thread = self.threads[at]

        def read(tx: Tx) -> None:
            window = scope_window.window_events(tx, thread.scope)
            assert {e.id for e in window} == {
                id_ for id_, known in self.known.items() if (known.scope, known.layer) == (thread.scope, "context")
            }
            scores = words_only().score(tx, scope=thread.scope, query=query, seqs=[event.seq for event in window])
            units = paired(window, lambda e: e.tokens)
            chosen = select(units, scores, thread=thread.id, limits=limits)
            assert is_paired(list(chosen.kept))
            shown = plan(chosen.kept, budget_tokens=limits.tokens)
            assert is_paired(shown)

        self.write(read)

    @precondition(lambda self: len(self.known) > 20)
    @rule(at=PLACES)
    def delete(self, at: int) -> None:
        thread = self.threads[at]
        if any(going.input.thread == thread.id for going in self.running.values()):
            return
        self.write(lambda tx: removal.hide(tx, thread.id))
        while self.write(lambda tx: removal.remove_some(tx, thread.id)):
            pass
        self.known = {id_: known for id_, known in self.known.items() if known.thread != thread.id}
        self.threads[at] = self._open(thread.scope)

    @rule()
    def erase_and_tidy(self) -> None:
        while self.write(index.erase) or self.write(index.tidy):
            pass
        assert self.connection.execute("SELECT count(*) FROM word_drops").get == 0

    @rule()
    def reopen(self) -> None:
        self.connection.close()
        self.connection = self._connect()

    @invariant()
    def everything_is_where_the_model_says(self) -> None:
        if not hasattr(self, "threads"):
            return
        stored = dict(self.connection.execute("SELECT id, layer FROM events"))
        assert stored == {id_: known.layer for id_, known in self.known.items()}
        assert faults(self.connection) == []

    def teardown(self) -> None:
        if hasattr(self, "connection"):
            assert self.connection.execute("PRAGMA integrity_check").get == "ok"
            self.connection.execute("INSERT INTO word_index (word_index) VALUES ('integrity-check')")
            self.connection.close()
            self.folder.cleanup()


Layers.TestCase.settings = settings(max_examples=40, stateful_step_count=30, deadline=None)
TestLayers = Layers.TestCase
