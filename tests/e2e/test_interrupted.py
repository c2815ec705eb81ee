"""Stopped and interrupted at random points, over and over, on a real daemon: nothing of a turn is left.

`make soak` makes a thousand rounds.
"""

from __future__ import annotations

import os
import random
import select
import sqlite3
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from homed.wire import rpc
from tests.kit.daemon import until
from tests.kit.house import House, Plan, house
from waiter.link import Link

pytestmark = [pytest.mark.slow, pytest.mark.kill]

SHARE = 5
"""Of the rounds that are asked for in CI, the part that fits some ten seconds; a soak makes them all."""

TALK, WORK = "slow plums", "hard work"
STREAM: dict[str, object] = {"say": "plum " * 60, "chunk": 4, "delay": 0.003}
RUNS = {"calls": [{"name": "cmd_run", "args": {"command": "sleep 600 & sleep 0.05; kill $!"}}]}
CONTENT = frozenset({"content_delta", "reasoning_delta", "tool_call", "agent_llm_chain"})


@pytest.fixture
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    plan = Plan(only=("shell",), allow=("cmd_run",))
    with house(tmp_path_factory.mktemp("interrupted") / "data", plan) as built:
        built.fake.when(TALK, STREAM)
        built.fake.when(WORK, RUNS, STREAM)
        built.fake.when("are you there", {"say": "Yes, and yes again.", "chunk": 4, "delay": 0.01})
        built.ask("admin.plugin_start", name="shell")
        yield built


class Player:
    """One connection that hears everything: asks, interrupts and stops, and knows what should not have come."""

    def __init__(self, link: Link, seed: int) -> None:
        self.link, self.dice = link, random.Random(seed)
        self.sent: dict[str, str] = {}
        """Input → its thread."""
        self.ends: Counter[str] = Counter()
        self.states: Counter[str] = Counter()
        self.ways: Counter[str] = Counter()
        self.stopped: set[str] = set()
        """Turns that were stopped, once that is acknowledged: nothing more of them may come."""
        self.running: dict[str, str] = {}
        self.late: list[Mapping[str, Any]] = []
        link.call("subscribe", {})

    def round(self) -> None:
        """A message, and at a random moment one, two or three things that cut in."""
        text = self.dice.choice((TALK, TALK, WORK))
        thread = self._say("chat", text)
        for late in range(self.dice.randint(1, 3)):
            self._hear_for(self.dice.choice((0, 0.01, 0.04, 0.1, 0.2, 0.3)))
            if self.dice.random() < 0.5:
                self._stop(thread)
            else:
                # one of level 1 a round: of more that wait the second is refused
                level = self.dice.choice((1, 2, 3) if not late else (2, 3))
                self._say("interrupt", self.dice.choice(("are you there?", TALK)), thread=thread, level=level)
        while any(not self.ends[input_] for input_, where in self.sent.items() if where == thread):
            self._hear(30)

    def _say(self, method: str, text: str, **more: object) -> str:
        result = self._ask(method, {"text": text, "can_ask": True, **more})
        self.sent[result["input"]] = result["thread"]
        if "way" in result:
            self.ways[result["way"]] += 1
        return str(result["thread"])

    def _stop(self, thread: str) -> None:
        turn = self.running.get(thread)
        if turn and self._ask("stop", {"thread": thread, "turn": turn})["stopped"]:
            self.stopped.add(turn)

    def _ask(self, method: str, params: dict[str, object]) -> dict[str, Any]:
        asked = self.link.send(method, params)
        answer: rpc.Response | None = None
        while answer is None:
            for message in self.link.receive():
                if isinstance(message, rpc.Response) and message.id == asked:
                    answer = message
                self._take(message)
        assert answer.error is None, answer.error
        return dict(answer.result)

    def _hear_for(self, seconds: float) -> None:
        """Hear so long, whatever comes: after the first notice alone all would cut in while a turn begins."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            self._hear(left)

    def _hear(self, within: float) -> None:
        """Hear what comes next, for so many seconds at the most."""
        if self.link.inbox or select.select([self.link], [], [], within)[0]:
            for message in self.link.receive():
                self._take(message)

    def _take(self, message: rpc.Incoming) -> None:
        if not isinstance(message, rpc.Notification) or message.method != "event":
            return
        notice, data = message.params, message.params.get("data") or {}
        thread, turn = str(notice.get("thread")), str(notice.get("turn"))
        if notice["type"] == "turn":
            if data["phase"] in ("start", "resumed"):
                self.running[thread] = turn
            elif data["phase"] == "end":
                self.ends[data["input"]] += 1
                self.states[data["state"]] += 1
        elif notice["type"] in CONTENT and data.get("status") != "interrupted" and turn in self.stopped:
            self.late.append(notice)


def resources(home: House) -> tuple[int, int]:
    """Open files and threads of the daemon."""
    proc = f"/proc/{home.daemon.pid}"
    return len(os.listdir(f"{proc}/fd")), len(os.listdir(f"{proc}/task"))


def test_of_turns_that_were_stopped_and_interrupted_at_random_points_nothing_is_left(
    home: House, kill_rounds: int
) -> None:
    """C13, E19, X1-X4"""
    rounds = kill_rounds if kill_rounds >= 1000 else max(10, kill_rounds // SHARE)
    with home.link() as link:
        player = Player(link, seed=11)
        for _ in range(3):
            player.round()
        until(lambda: all(one.end for one in home.fake.requests), what="the connections of the first rounds ended")
        children, before = set(home.daemon.descendants()), resources(home)
        for _ in range(rounds):
            player.round()
        assert player.late == [], "nothing of a stopped turn comes after the stop is acknowledged"
        assert player.ends == Counter(dict.fromkeys(player.sent, 1)), "each input has one end"
    until(lambda: all(one.end for one in home.fake.requests), what="no connection is left")
    until(lambda: set(home.daemon.descendants()) <= children, what="no process is left")
    until(lambda: not home.ask("admin.threads")["threads"], what="no turn and no task of one is left")
    shown = home.ask("admin.threads")
    assert (shown["busy"], shown["queued"], shown["suspended"]) == (0, 0, 0)
    fds, threads = resources(home)
    assert fds <= before[0] + 5
    assert threads <= before[1] + 5
    assert player.states["stopped"] >= rounds // 4, "enough of them were stopped"
    assert player.ways["suspends"] >= rounds // 8, "and suspended"
    assert shown["counters"]["cancelled"] >= rounds // 40, "some of them in their model step"
    assert player.states["failed"] == 0
    check_rows(home, len(player.sent))
    assert home.says("and now?") == "You said: and now?"


def check_rows(home: House, inputs: int) -> None:
    """No row stands half-written: straight from the file, without any of the code under test."""
    with sqlite3.connect(f"file:{home.data / 'homed.db'}?mode=ro", uri=True) as db:
        assert db.execute("SELECT count(*), count(outcome) FROM inputs").fetchone() == (inputs, inputs)
        assert db.execute("SELECT count(*) FROM turns WHERE ended_at IS NULL").fetchone() == (0,)
        asked = "SELECT count(*) FROM events, json_each(events.data, '$.calls') WHERE events.kind = 'assistant'"
        done = "SELECT count(*) FROM events WHERE kind = 'tool'"
        assert db.execute(asked).fetchone() == db.execute(done).fetchone(), "each call has its one result"
        questions = "SELECT count(*), count(DISTINCT json_extract(data, '$.input')) FROM events WHERE kind = 'user'"
        assert db.execute(questions).fetchone() == (inputs, inputs), "each message stands in the history once"
    db.close()
