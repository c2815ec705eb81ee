"""Budgets on the real daemon: they hold before a call, outlive kill -9, stop what works without you first, then ask."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from homed.errors import Unavailable
from tests.kit.daemon import until
from tests.kit.house import House, Plan, house

pytestmark = pytest.mark.slow


@pytest.fixture
def home(tmp_path: Path) -> Iterator[House]:
    plan = Plan(probes={"asker": ("llm", "io")}, grants={"asker": ("llm", "io")}, vectors=False)
    with house(tmp_path / "data", plan) as built:
        yield built


def usage(home: House) -> dict[str, Any]:
    return dict(home.daemon.json("usage"))


def limit(home: House, **values: object) -> None:
    for key, value in values.items():
        assert home.daemon.run("config", "set", f"core.spend.{key}", str(value)).code == 0


def test_the_budget_stops_what_works_without_you_then_asks_and_a_yes_is_for_as_much_again(home: House) -> None:
    first = home.chat("hello")
    spent = usage(home)["today"]["tokens"]
    assert spent == first["outcome"]["usage"]["prompt"] + first["outcome"]["usage"]["completion"]
    limit(home, day_tokens=int(spent / 0.85))
    calls = len(home.fake.chats)
    with pytest.raises(Unavailable, match="without the owner's word"):
        home.probes["asker"].call("llm.complete", messages=[{"role": "user", "content": "Is it?"}])
    guest = home.probes["asker"].call("io.inject", peer="asker:ann", text="hi", wait=True)
    assert "without the owner's word" in guest["outcome"]["error"]
    assert len(home.fake.chats) == calls, "held before the call"
    with home.link() as link:
        link.call("chat", {"text": "more", "thread": first["thread"], "can_ask": True})
        (asked,) = until(lambda: home.ask("approvals")["approvals"], what="whether the day may go on")
        assert asked["tool"] == "spend"
        assert "Today's limit is used up" in asked["reason"]
        assert len(home.fake.chats) == calls
        home.ask("approve", approval=asked["approval"], decision="allow")
        until(lambda: len(home.fake.chats) == calls + 1, what="the answer is asked for")
    assert until(lambda: usage(home)["today"]["tokens"] > spent, what="it is counted")
    assert usage(home)["today"]["times"] >= 1, "one yes is enough for the call that asked"


def test_a_call_that_kill_9_cut_off_counts_as_it_was_reserved(home: House) -> None:
    """D7: what was under way is no way round the limit."""
    home.fake.when("hang", {"hang": "mid", "say": "word " * 50})
    with home.link() as link:
        link.send("chat", {"text": "hang", "client_msg_id": "m1", "wait": True})
        until(lambda: home.fake.chats, what="the model is asked")
        home.daemon.kill()
    before = usage(home)  # nobody runs: read from the folder
    assert before["today"]["tokens"] > 4096
    home.fake.when("hang", {"say": "there you are"})
    limit(home, day_tokens=before["today"]["tokens"] + 100)
    home.start()
    done = until(lambda: _ended(home), what="the message that was cut off has its outcome")
    assert "Today's limit is used up" in done["error"]
    assert len(home.fake.chats) == 1, "not asked again past the limit"


def _ended(home: House) -> dict[str, Any] | None:
    """The last outcome with an error, of whatever conversation there is."""
    (thread,) = home.ask("threads")["threads"]
    ended = [one for one in home.ask("history", thread=thread["id"])["ended"] if one["error"]]
    return dict(ended[-1]) if ended else None


def test_prices_make_money_of_it_at_once_and_the_limit_of_money_holds(home: House) -> None:
    home.chat("hello")
    found = usage(home)
    assert {one["price"] for one in found["days"]} == {"unknown"}
    assert home.daemon.run("usage", "price", "fake", "*", "--prompt", "1", "--completion", "2").code == 0
    done = home.chat("again")
    cost = done["outcome"]["usage"]["cost"]["USD"]
    assert float(cost) > 0.001
    shown = home.daemon.run("usage", "--by", "source").out
    assert "USD + unknown" in shown
    limit(home, day_money=float(cost) * 1.01)
    refused = home.chat("once more")
    assert "Today's limit is used up" in refused["outcome"]["error"]
    assert "core.spend.day_money" in refused["outcome"]["hint"]
