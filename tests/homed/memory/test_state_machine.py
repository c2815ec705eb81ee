"""Whatever order things are done in, and wherever they fail: the tables are what a simple model says."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, rule

from homed.errors import Conflict
from homed.memory import events, inputs, threads
from homed.memory.records import EventKind, InputState, NewEvent, Outcome
from homed.store.connection import Transaction, open_writer
from homed.store.rows import Tx
from tests.homed.memory.build import new_input

T = TypeVar("T")

ENDS = st.sampled_from([state for state in InputState if state.terminal])
TEXTS = st.text(max_size=20)


@dataclass
class Known:
    """What the model knows of one input."""

    text: str
    state: InputState = InputState.ACCEPTED
    attempts: int = 0
    turn: str = ""
    outcome: Outcome | None = None
    said: list[str] = field(default_factory=list)


class Failure(Exception):
    """Something went wrong inside a transaction."""


class Memory(RuleBasedStateMachine):
    """accept, begin, append, finish, in any order, with failures inside and restarts between."""

    accepted = Bundle("accepted")

    @initialize()
    def start(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name) / "homed.db"
        self.connection = open_writer(self.path)
        self.known: dict[str, Known] = {}
        self.by_client: dict[str, str] = {}
        self.turns = 0
        self.thread = self.write(lambda tx: threads.create(tx, scope="owner", channel="cli", title="", at=0.0))

    def write(self, fn: Callable[[Tx], T], *, fail: bool = False) -> T:
        """What the writer does: one transaction; with ``fail`` it breaks after all was done."""
        self.connection.execute("BEGIN IMMEDIATE")
        tx = Transaction(self.connection, self.path)
        try:
            result = fn(tx)
            if fail:
                raise Failure
        except BaseException:
            self.connection.execute("ROLLBACK")
            raise
        self.connection.execute("COMMIT")
        return result

    @rule(target=accepted, text=TEXTS, client=st.sampled_from(["", "a", "b", "c"]))
    def accept(self, text: str, client: str) -> str:
        stored, duplicate = self.write(
            lambda tx: inputs.accept(tx, new_input(self.thread, text, client_msg_id=client), at=1.0)
        )
        assert duplicate == (client in self.by_client)
        if duplicate:
            assert stored.id == self.by_client[client]
            return stored.id
        self.known[stored.id] = Known(text)
        if client:
            self.by_client[client] = stored.id
        return stored.id

    @rule(text=TEXTS, client=st.sampled_from(["", "a", "d"]))
    def accept_that_fails(self, text: str, client: str) -> None:
        with pytest.raises(Failure):
            self.write(
                lambda tx: inputs.accept(tx, new_input(self.thread, text, client_msg_id=client), at=1.0), fail=True
            )

    @rule(id_=accepted)
    def begin(self, id_: str) -> None:
        known = self.known[id_]
        self.turns += 1
        turn = f"turn_{self.turns}"
        if known.state.terminal:
            with pytest.raises(Conflict):
                self.write(lambda tx: inputs.begin(tx, id_, turn=turn, at=2.0))
            return
        begun = self.write(lambda tx: inputs.begin(tx, id_, turn=turn, at=2.0))
        known.state, known.attempts, known.turn = InputState.RUNNING, known.attempts + 1, known.turn or turn
        assert begun.turn == known.turn

    @rule(id_=accepted, text=TEXTS, fail=st.booleans())
    def append(self, id_: str, text: str, fail: bool) -> None:
        known = self.known[id_]
        if known.state is not InputState.RUNNING:
            return
        if fail:
            with pytest.raises(Failure):
                self.write(lambda tx: self._append(tx, id_, text), fail=True)
            return
        self.write(lambda tx: self._append(tx, id_, text))
        known.said.append(text)

    @staticmethod
    def _append(tx: Tx, id_: str, text: str) -> None:
        input_ = inputs.get(tx, id_)
        assert input_ is not None
        events.append(tx, input_, NewEvent(EventKind.NOTE, text), at=3.0)

    @rule(id_=accepted, state=ENDS, last=st.lists(TEXTS, max_size=3), fail=st.booleans())
    def finish(self, id_: str, state: InputState, last: list[str], fail: bool) -> None:
        known = self.known[id_]
        outcome = Outcome(state, "".join(last))
        new = [NewEvent(EventKind.ASSISTANT, text) for text in last]
        if known.state.terminal or fail:
            with pytest.raises(Conflict if known.state.terminal else Failure):
                self.write(lambda tx: inputs.finish(tx, id_, outcome, new, at=4.0), fail=True)
            return
        self.write(lambda tx: inputs.finish(tx, id_, outcome, new, at=4.0))
        known.state, known.outcome = state, outcome
        if known.turn:
            known.said += last

    @rule(id_=accepted, text=TEXTS)
    def replace_text(self, id_: str, text: str) -> None:
        if self.known[id_].state.terminal:
            with pytest.raises(Conflict):
                self.write(lambda tx: inputs.replace_text(tx, id_, text))
            return
        self.write(lambda tx: inputs.replace_text(tx, id_, text))
        self.known[id_].text = text

    @rule()
    def restart(self) -> None:
        self.connection.close()
        self.connection = open_writer(self.path)

    @invariant()
    def the_tables_are_what_the_model_says(self) -> None:
        if not hasattr(self, "thread"):
            return

        def check(tx: Tx) -> None:
            assert tx.value("SELECT count(*) FROM inputs") == len(self.known)
            for id_, known in self.known.items():
                found = inputs.get(tx, id_)
                assert found is not None
                assert (found.text, found.state, found.attempts) == (known.text, known.state, known.attempts)
                assert (found.turn, found.outcome) == (known.turn, known.outcome)
                if known.turn:
                    assert [event.text for event in events.of_turn(tx, known.turn)] == known.said
            unfinished = [id_ for id_, known in self.known.items() if not known.state.terminal]
            assert [i.id for i in inputs.unfinished(tx)] == unfinished
            ended = tx.value("SELECT count(*) FROM turns WHERE ended_at IS NOT NULL")
            assert ended == sum(1 for known in self.known.values() if known.turn and known.state.terminal)

        self.write(check)

    def teardown(self) -> None:
        if hasattr(self, "connection"):
            assert self.connection.execute("PRAGMA integrity_check").get == "ok"
            self.connection.close()
            self.folder.cleanup()


Memory.TestCase.settings = settings(max_examples=40, stateful_step_count=30, deadline=None)
TestMemory = Memory.TestCase
