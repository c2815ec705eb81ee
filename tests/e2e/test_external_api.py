"""What a plugin from outside can do with what a person granted it, on the real wire of a real daemon.

``helper`` lists and was granted everything an outsider can have; it stands in the middle of a turn of the owner's, or
speaks for a guest of its own.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime
from typing import Any

import pytest

from homed.errors import Denied, InvalidInput, NotFound, Unavailable
from homed.wire.methods import CAPABILITIES, CORE, PACKAGED_ONLY, TO_KERNEL
from tests.kit.house import House, Plan, house
from tests.kit.probe import Probe

pytestmark = pytest.mark.slow

OPEN = sorted(CAPABILITIES - PACKAGED_ONLY - {CORE})
SECRET_WORD = "the vault opens with marzipan"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    everything = sorted(CAPABILITIES - {CORE})
    plan = Plan(probes={"helper": everything}, grants={"helper": everything}, allow=("helper_hold", "helper_echo"))
    with house(tmp_path_factory.mktemp("external") / "data", plan) as built:
        built.says(SECRET_WORD)
        yield built


@pytest.fixture
def helper(home: House) -> Probe:
    return home.probes["helper"]


def test_it_has_all_that_can_be_granted_and_nothing_more(helper: Probe) -> None:
    meta = helper.call("core.meta")
    assert (meta["plugin"], meta["trust"]) == ("helper", "external")
    assert meta["capabilities"] == sorted([CORE, *OPEN])
    for method, needed in TO_KERNEL.items():
        assert (method in meta["methods"]) is (needed not in PACKAGED_ONLY)
        if needed in PACKAGED_ONLY:
            with pytest.raises(Denied, match=f"lacks the capability {needed}"):
                helper.call(method, peer="helper:ann")


def test_for_a_guest_of_its_own_it_reaches_that_guests_scope_and_no_other(home: House, helper: Probe) -> None:
    home.fake.when("my cat is Tom", {"say": "Noted."})
    helper.call("io.inject", peer="helper:ann", text="my cat is Tom", wait=True)
    found = helper.call("memory.search", peer="helper:ann", query="cat Tom")["found"]
    assert {hit["peer"] for hit in found if hit["kind"] == "user"} == {"helper:ann"}
    for query in ("marzipan", "vault opens", SECRET_WORD):
        found = helper.call("memory.search", peer="helper:ann", query=query)["found"]
        # what is near by its vector may come, but nothing that is about it, and nothing of anybody else
        assert all(one["channel"] == "helper" and one["score"] < 0.3 for one in found), found
    day = helper.call("textlog.read", peer="helper:ann", day=datetime.now().strftime("%Y-%m-%d"))
    assert [json.loads(line)["kind"] for line in day["lines"]] == ["user", "assistant"]
    assert "marzipan" not in json.dumps(day)
    assert [p["id"] for p in helper.call("social.list_persons", peer="helper:ann")["persons"]] == ["helper:ann"]
    with pytest.raises(NotFound):
        helper.call("social.get_person", peer="helper:ann", person="cli:owner")
    with pytest.raises(Denied, match="may not speak for"):
        helper.call("memory.search", peer="cli:owner", query="marzipan")
    with pytest.raises(Denied, match="owners"):
        helper.call("llm.set", peer="helper:ann", name="fake")


def test_what_is_not_built_says_so(helper: Probe) -> None:
    with pytest.raises(Unavailable, match="no knowledge base yet"):
        helper.call("knowledge.search", peer="helper:ann", query="x")
    for method in ("social.get_trait", "social.get_relations", "social.get_network"):
        with pytest.raises(Unavailable, match="keeps no traits"):
            helper.call(method, peer="helper:ann")


def test_it_asks_the_model_things_of_its_own_and_never_sees_a_key(home: House, helper: Probe) -> None:
    home.fake.when("Is water wet?", {"say": "Yes."})
    answer = helper.call("llm.complete", messages=[{"role": "user", "content": "Is water wet?"}], max_tokens=20)
    assert (answer["text"], answer["source"], answer["reason"]) == ("Yes.", "fake", "stop")
    body = home.fake.chats[-1].body
    assert "tools" not in body or not body["tools"]
    assert body["max_tokens"] == 20
    listed = json.dumps([helper.call("llm.list"), helper.call("llm.current")])
    assert home.fake.key not in listed
    assert home.fake.url not in listed
    assert helper.call("llm.current")["source"]["name"] == "fake"


def test_within_a_turn_of_the_owners_it_reaches_the_owners_memory_and_taints_nothing_that_is_clean(
    home: House, helper: Probe
) -> None:
    home.fake.when("hold on", {"calls": [{"name": "helper_hold", "args": {}}]}, {"say": "done"})
    held = home.ask("chat", text="hold on")
    token = helper.do("token")
    found = helper.call("memory.search", call=token, query="vault marzipan")["found"]
    assert any(SECRET_WORD in hit["text"] for hit in found)
    assert all(hit["turn"] != held.get("turn") for hit in found)
    assert "found" in helper.call("cold.query", call=token, query="vault marzipan")
    assert helper.call("social.get_person", call=token)["person"]["role"] == "owner"
    used = helper.call("llm.complete", call=token, messages=[{"role": "user", "content": "x"}])["usage"]
    for method, more in (("tools.call", {"tool": "helper_echo"}), ("social.set_name", {"person": "a", "name": "b"})):
        with pytest.raises(Denied, match="lacks the capability"):
            helper.call(method, call=token, **more)
    with pytest.raises(Denied, match="for a person to say"):
        helper.call("llm.set", call=token, name="fake")
    thread = held["thread"]
    with pytest.raises(Denied, match="reaches the conversation of its call"):
        helper.call("io.interrupt", call=token, text="now", thread="th_other")
    now = helper.call("io.interrupt", call=token, text="right now", thread=thread, level=4)
    assert (now["level"], now["way"]) == (3, "suspends"), "once the tool that runs is done"
    helper.do("release")
    done = home.ask("wait", input=held["input"])
    assert done["state"] == "answered"
    assert done["outcome"]["usage"]["prompt"] >= used["prompt"]
    events = home.history(thread)
    assert [event["text"] for event in events if event["kind"] == "user"] == ["hold on", "right now"]
    finals = [event["text"] for event in events if event["kind"] == "assistant" and event["data"].get("final")]
    assert finals == ["You said: right now", "done"]
    assert home.ask("admin.threads")["counters"]["deferred"] >= 1
    with pytest.raises(Denied):
        helper.call("memory.search", call=token, query="vault")


def test_an_interrupt_where_nothing_runs_is_a_turn(home: House, helper: Probe) -> None:
    home.fake.when("wake up", {"say": "I am up."})
    answer = helper.call("io.interrupt", peer="helper:bob", text="wake up", level=4, wait=True)
    assert (answer["state"], answer["outcome"]["text"], answer["level"]) == ("answered", "I am up.", 3)


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("io.history", {"thread": "t", "before": 10**30}),
        ("io.event", {"event": "e", "offset": 10**30}),
        ("memory.search", {"query": "x" * 5000}),
        ("memory.search", {"query": "x", "limit": 10**9}),
        ("textlog.read", {"day": "2026-02-30"}),
        ("textlog.read", {"day": "2026-01-31' OR 1"}),
        ("social.list_persons", {"limit": -1}),
    ],
)
def test_garbage_is_refused_and_the_plugin_lives(helper: Probe, method: str, params: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        helper.call(method, peer="helper:ann", **params)
    assert helper.call("core.meta")["plugin"] == "helper"


def test_odd_words_find_nothing_and_break_nothing(helper: Probe) -> None:
    for query in ('"', "NEAR(a b)", "* AND", "owner:x", "\x00", "猫" * 500, "'; DROP TABLE events; --"):
        found = helper.call("memory.search", peer="helper:ann", query=query)["found"]
        # what is near by its vector may come, but nothing that is about it, and nothing of anybody else
        assert all(one["channel"] == "helper" and one["score"] < 0.3 for one in found), found
