"""What a commit stores beside what it is for: each thing once, and nothing that is noted meanwhile is lost."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

import pytest

from homed.agent.journal import Journal
from homed.agent.ports import AgentPorts
from homed.agent.turn import Turn
from homed.memory import injections, ledger
from homed.memory.injections import Injection, Line
from homed.memory.records import Input, InputState
from homed.retrieval import index
from homed.store.rows import Tx
from tests.kit.builders import OWNER

T = TypeVar("T")


@dataclass
class Slow:
    """A store while whose writing the turn goes on."""

    meanwhile: Callable[[], None]

    async def write(self, fn: Callable[[Tx], T]) -> T:
        found = fn(cast("Tx", None))
        self.meanwhile()
        return found


@dataclass
class Ports:
    """What a commit uses."""

    store: Slow
    wall: Callable[[], float] = lambda: 1.0
    stored: Callable[[], None] = lambda: None


@dataclass
class Written:
    """What reached the disk."""

    told: list[str] = field(default_factory=list)
    noted: list[str] = field(default_factory=list)


def told(id_: str) -> Injection:
    return Injection("turn_1", "owner", "thread_1", 1.0, "hit", 1, lines=(Line(id_, "fact", 1),))


async def test_what_a_turn_is_told_while_a_commit_writes_comes_with_the_next_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    given = Input(
        "input_1", "thread_1", "owner", "webui", OWNER.peer, "owner", "go", "", False, False, InputState.RUNNING, 0,
        "turn_1", 0.0,
    )  # fmt: skip
    turn, written = Turn("turn_1", given, OWNER), Written()

    def record(tx: Tx, one: Injection) -> None:
        written.told.append(one.lines[0].id)

    def note(tx: Tx, given: Input, kind: str, data: Mapping[str, Any], *, at: float) -> None:
        written.noted.append(kind)

    monkeypatch.setattr(injections, "record", record)
    monkeypatch.setattr(ledger, "record", note)
    monkeypatch.setattr(index, "catch_up", lambda tx: False)
    late = [told("fact_b")]

    def meanwhile() -> None:
        if late:
            turn.injections.append(late.pop())
            turn.ledger.append(("recall", {}))

    journal = Journal(cast("AgentPorts", Ports(Slow(meanwhile))))
    turn.injections.append(told("fact_a"))
    turn.ledger.append(("select", {}))
    for _ in range(2):
        await journal.commit(turn, lambda tx: None, lambda _: None)
    assert written == Written(["fact_a", "fact_b"], ["select", "recall"])
    assert (turn.injections, turn.ledger) == ([], [])
