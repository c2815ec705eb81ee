"""The daemon ends in the middle of a turn, by force or by request: what was accepted gets one outcome, and only one.

The real daemon, killed at moments that nobody chose; `tests/homed/agent/test_recovery.py` kills at every failpoint.
"""

from __future__ import annotations

import random
import signal
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from homed.errors import Unavailable
from tests.kit.daemon import until
from tests.kit.house import House, Plan, house

pytestmark = pytest.mark.slow

ROUNDS_SHARE = 8
"""Of the rounds that the suites with small children make: one here costs a start of the whole daemon."""


@pytest.fixture
def home(tmp_path: Path) -> Iterator[House]:
    with house(tmp_path / "data", Plan(only=("sanitizer",))) as built:
        yield built


@pytest.fixture
def often(tmp_path: Path) -> Iterator[House]:
    """One that is started again and again, without what only costs at each start."""
    with house(tmp_path / "data", Plan(only=("sanitizer",), vectors=False)) as built:
        yield built


@pytest.mark.kill
def test_killed_anywhere_in_a_turn_each_message_has_one_outcome_and_history_no_duplicate(
    often: House, kill_rounds: int
) -> None:
    """kill -9 between 0 and 0.5 s after a message was sent; the client sends it again with the same id, as waiter does.

    A turn takes about 0.4 s here: a model call, a tool of the kernel's own, a second model call.
    """
    home = often
    tool = {"calls": [{"name": "get_plugin_tools", "args": {}}], "first_delay": 0.05}
    home.fake.when("round", tool, {"say": "the answer to {user}", "delay": 0.02, "first_delay": 0.05})
    chance = random.Random(20)
    thread = str(home.chat("begin")["thread"])
    rounds = max(4, kill_rounds // ROUNDS_SHARE)
    for n in range(rounds):
        with home.link() as link:
            link.send("chat", {"text": f"round {n}", "thread": thread, "client_msg_id": f"m{n}", "wait": True})
            time.sleep(chance.uniform(0, 0.5))
            home.daemon.kill()
        home.start()
        done = home.chat(f"round {n}", thread=thread, client_msg_id=f"m{n}")
        assert (done["state"], done["outcome"]["text"]) == ("answered", f"the answer to round {n}"), (n, done)
    check_history(home, thread, rounds)


def check_history(home: House, thread: str, rounds: int) -> None:
    events = home.history(thread)
    assert len({event["id"] for event in events}) == len(events)
    said = Counter(event["text"] for event in events if event["kind"] == "user")
    assert said == Counter(["begin", *(f"round {n}" for n in range(rounds))])
    final = Counter(e["text"] for e in events if e["kind"] == "assistant" and e["data"].get("final"))
    assert final == Counter(["You said: begin", *(f"the answer to round {n}" for n in range(rounds))])
    calls = Counter(event["data"]["call_id"] for event in events if event["kind"] == "tool")
    asked = Counter(call["id"] for e in events if e["kind"] == "assistant" for call in e["data"].get("calls", ()))
    assert calls == asked, "each call has its one result"
    assert len(asked) >= rounds
    assert home.daemon.stop() == 0
    assert home.rows("SELECT state, count(*) FROM inputs GROUP BY state") == [("answered", rounds + 1)]
    assert home.rows("SELECT count(*) FROM inputs WHERE outcome IS NULL") == [(0,)]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_an_answer_that_was_shown_is_stored_whatever_comes_next(home: House, number: signal.Signals) -> None:
    """C7"""
    done = home.chat("keep this")
    home.daemon.send(number)
    assert home.daemon.wait() in (0, -number)
    home.start()
    assert [event["text"] for event in home.history(done["thread"])] == ["keep this", "You said: keep this"]


def test_sigterm_in_a_turn_that_can_end_waits_for_it(home: House) -> None:
    """C7"""
    home.fake.when("slowly", {"say": "as slow as this", "chunk": 1, "delay": 0.05})
    home.ask("admin.config_set", key="core.agent.stop_patience", value=10)
    sent = home.ask("chat", text="slowly")
    until(lambda: home.fake.chats, what="the model asked")
    assert home.daemon.stop() == 0
    (state, outcome) = home.rows("SELECT state, outcome FROM inputs WHERE id = ?", sent["input"])[0]
    assert state == "answered"
    assert "as slow as this" in str(outcome)


def test_sigterm_in_a_turn_that_cannot_end_resumes_it_at_the_next_start_and_waiter_never_noticed(home: House) -> None:
    """C7, and ``waiter -chat`` over a restart of homed."""
    home.fake.when("never", [{"say": "this never ends", "hang": "mid"}, {"say": "at last, 终于 🌍"}])
    waiter = home.begin_waiter("-chat", "never mind")
    try:
        until(lambda: home.fake.chats, what="the model asked")
        assert home.daemon.stop() == 0
        assert home.daemon.descendants() == []
        assert home.rows("SELECT state FROM inputs") == [("running",)]
        home.start()
        out, err = waiter.communicate(timeout=60)
    finally:
        waiter.kill()
    assert (waiter.returncode, out.decode()) == (0, "at last, 终于 🌍\n"), err.decode()
    thread = home.ask("threads")["threads"][0]["id"]
    assert [event["text"] for event in home.history(thread)] == ["never mind", "at last, 终于 🌍"]


@pytest.mark.kill
def test_a_message_that_takes_the_daemon_down_three_times_is_reported_not_tried_for_ever(often: House) -> None:
    home = often
    home.fake.when("deadly", {"say": "x", "hang": "before"})
    sent = home.ask("chat", text="deadly")
    for n in range(1, 4):
        until(lambda count=n: len(home.fake.chats) == count, what=f"attempt {n}")
        home.daemon.kill()
        home.start()
    done = home.ask("wait", input=sent["input"])
    assert done["state"] == "reported"
    assert "begun 3 times" in done["outcome"]["error"]
    assert done["outcome"]["hint"]
    assert home.says("and now?", thread=sent["thread"]) == "You said: and now?"


def test_a_second_sigterm_ends_it_at_once(home: House) -> None:
    home.fake.when("never", {"say": "x", "hang": "before"})
    home.ask("chat", text="never")
    until(lambda: home.fake.chats, what="the model asked")
    home.daemon.send(signal.SIGTERM)
    until(lambda: "stopping" in home.daemon.said)
    assert home.daemon.stop() == 130, "the first one alone would let it end in order"
    until(lambda: not home.daemon.descendants())
    assert "Traceback" not in home.daemon.said
    with pytest.raises(Unavailable):
        home.ask("hello")
