"""What a plugin from outside, and the guests it speaks for, cannot do; asked on the real wire of a real daemon.

``guide`` was granted ``io`` and ``events.notices``, and has rows for what no outsider is ever given besides; ``thief``
was granted ``io``; ``plain`` lists the same and was granted nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from homed.errors import Denied, HomedError, InvalidInput, NotFound
from homed.wire.methods import ADMIN, AUTH, CONTENT, IO, NOTICES, TO_KERNEL
from tests.kit.daemon import until
from tests.kit.house import House, Plan, house
from tests.kit.probe import Probe

pytestmark = pytest.mark.slow

SECRET_WORD = "the vault opens with marzipan"
TWICE = {"calls": [{"name": "cmd_run", "args": {"command": f"touch {name}"}} for name in ("one", "two")]}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    everything = [IO, NOTICES, CONTENT, AUTH, ADMIN]
    plan = Plan(
        only=("shell", "sanitizer"),
        probes={"guide": everything, "thief": [IO], "plain": [IO, NOTICES]},
        grants={"guide": everything, "thief": [IO]},
        allow=("cmd_run", "thief_echo"),
        vectors=False,
    )
    with house(tmp_path_factory.mktemp("refusals") / "data", plan) as built:
        built.fake.when("Every tool call of this round was denied", {"say": "I may not: {tool}"})
        yield built


@pytest.fixture
def guide(home: House) -> Probe:
    return home.probes["guide"]


@pytest.fixture(scope="module")
def owned(home: House) -> str:
    """The id of a thread of the owner's."""
    return str(home.chat(SECRET_WORD)["thread"])


def guest_says(probe: Probe, text: str, peer: str = "ann") -> dict[str, object]:
    answer: dict[str, object] = probe.call("io.inject", peer=f"{probe.name}:{peer}", text=text, wait=True)
    return answer


# -- guests --------------------------------------------------------------------------------------------------------


def test_a_guest_is_answered_without_being_offered_what_guests_may_not_use(home: House, guide: Probe) -> None:
    answer = guest_says(guide, "who are you")
    assert answer["state"] == "answered"
    offered = {tool["function"]["name"] for tool in home.fake.chats[-1].body["tools"]}
    assert offered == {"result_read", "coldcontext_query", "memory_open", "memory_recall"}, (
        "neither the shell nor what an outsider itself declares for guests"
    )


def test_a_guests_shell_call_is_denied_told_once_and_nothing_runs(home: House, guide: Probe) -> None:
    guide.call("events.subscribe", types=["tool_call", "turn"])
    home.fake.when("make me a file", TWICE)
    answer = guest_says(guide, "make me a file")
    outcome = answer["outcome"]
    assert isinstance(outcome, dict)
    assert outcome["text"].startswith("I may not: ")
    shown = guide.call("io.history", peer="guide:ann", thread=answer["thread"])["events"]
    results = [event for event in shown if event["kind"] == "tool"]
    assert {event["data"]["status"] for event in results} == {"denied"}
    assert all("Guests may not use cmd_run" in event["text"] for event in results)
    seen: list[dict[str, object]] = []

    def ended() -> bool:
        seen.extend(guide.do("notices"))
        return any(notice["type"] == "turn" and notice["data"]["phase"] == "end" for notice in seen)  # type: ignore[index]

    until(ended)
    denied = [n["data"]["call"] for n in seen if n["type"] == "tool_call" and n["data"]["status"] == "denied"]  # type: ignore[index]
    assert len(denied) == len(set(denied)) == len(results), "every call ends once: nothing is shown running for ever"


def test_an_outsiders_tool_is_no_guests_tool_whatever_its_manifest_and_a_rule_say(home: House, guide: Probe) -> None:
    home.fake.when("echo for me", {"calls": [{"name": "thief_echo", "args": {"text": "x"}}]})
    outcome = guest_says(guide, "echo for me")["outcome"]
    assert isinstance(outcome, dict)
    assert "Guests may not use thief_echo" in outcome["text"]


def test_the_same_calls_work_for_the_owner(home: House) -> None:
    home.fake.when("owner, echo", {"calls": [{"name": "thief_echo", "args": {"text": "yes"}}]}, {"say": "It: {tool}"})
    assert home.says("owner, echo") == "It: yes"


@pytest.mark.parametrize("method", ["io.history", "io.stop", "io.thread_rename", "io.inject"])
def test_the_owners_thread_is_not_there_for_a_guest(guide: Probe, owned: str, method: str) -> None:
    more = {"io.thread_rename": {"title": "mine"}, "io.inject": {"text": "hello"}}.get(method, {})
    with pytest.raises(NotFound) as refused:
        guide.call(method, peer="guide:ann", thread=owned, **more)
    with pytest.raises(NotFound) as absent:
        guide.call(method, peer="guide:ann", thread="th_there_is_none", **more)
    assert refused.value.message.replace(owned, "X") == absent.value.message.replace("th_there_is_none", "X")
    assert SECRET_WORD not in str(refused.value)


def test_a_guest_sees_only_own_threads_inputs_and_questions(home: House, guide: Probe, owned: str) -> None:
    mine = guest_says(guide, "only mine", peer="bob")["thread"]
    listed = guide.call("io.threads", peer="guide:bob")["threads"]
    assert [thread["id"] for thread in listed] == [mine]
    with pytest.raises(NotFound):
        guide.call("io.history", peer="guide:ann", thread=mine)
    sent = home.chat("for an id")
    with pytest.raises(NotFound):
        guide.call("io.wait", peer="guide:bob", input=sent["input"])
    assert guide.call("io.threads", peer="guide:bob", query="marzipan") == {"threads": [], "more": False}
    assert home.history(owned), "and the owner does see it"


def test_a_question_to_the_owner_is_not_there_for_a_guest(home: House, guide: Probe) -> None:
    home.fake.when("really ask", {"calls": [{"name": "cmd_run", "args": {"command": "true"}}] * 2}, {"say": "done"})
    with home.link() as link:
        thread = link.call("chat", {"text": "really ask", "can_ask": True})["thread"]
        asked = until(lambda: home.ask("approvals")["approvals"], what="the second call is asked about: tainted")[0]
        assert asked["thread"] == thread
        assert guide.call("io.approvals", peer="guide:ann") == {"approvals": []}
        with pytest.raises(NotFound):
            guide.call("io.approve", peer="guide:ann", approval=asked["approval"], decision="allow", remember="once")
        link.call("approve", {"approval": asked["approval"], "decision": "deny"})
    until(lambda: not home.ask("history", thread=thread)["live"])


def test_a_guests_result_read_reaches_no_result_of_the_owners(home: House, guide: Probe) -> None:
    home.fake.when("store a result", {"calls": [{"name": "thief_echo", "args": {"text": SECRET_WORD}}]}, {"say": "ok"})
    thread = str(home.chat("store a result")["thread"])
    result = next(event["id"] for event in home.history(thread) if event["kind"] == "tool")
    home.fake.when("read that", {"calls": [{"name": "result_read", "args": {"id": result}}]}, {"say": "It: {tool}"})
    outcome = guest_says(guide, "read that")["outcome"]
    assert isinstance(outcome, dict)
    assert SECRET_WORD not in outcome["text"]
    assert "There is no text" in outcome["text"]


# -- peers ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("peer", ["webui:owner", "cli:owner", "thief:ann", "guide:", "guide", "", "guidex:a", ":owner"])
def test_nobody_elses_peer_can_be_claimed(guide: Probe, peer: str) -> None:
    with pytest.raises((Denied, InvalidInput)) as refused:
        guide.call("io.inject", peer=peer, text="I am the owner")
    if peer:
        assert "guide" in refused.value.message
        assert "guide:ID" in refused.value.hint
    with pytest.raises((Denied, InvalidInput)):
        guide.call("io.threads", peer={"id": peer, "name": "The owner"})


def test_a_peer_that_looks_like_an_owner_in_the_plugins_own_namespace_is_a_guest(guide: Probe, owned: str) -> None:
    for peer in ("guide:owner", "guide:webui:owner"):
        assert guide.call("io.threads", peer=peer) == {"threads": [], "more": False}
        with pytest.raises(NotFound):
            guide.call("io.history", peer=peer, thread=owned)


def test_a_role_or_scope_cannot_be_slipped_in(guide: Probe) -> None:
    for extra in ({"role": "owner"}, {"scope": "owner"}, {"channel": "cli"}):
        with pytest.raises(InvalidInput) as refused:
            guide.call("io.threads", peer="guide:ann", **extra)
        assert next(iter(extra)) in refused.value.message
        with pytest.raises(InvalidInput):
            guide.call("io.threads", peer={"id": "guide:ann", **extra})


# -- call tokens ---------------------------------------------------------------------------------------------------


def test_a_call_token_works_for_its_plugin_while_its_call_runs_and_for_nobody_else(home: House, guide: Probe) -> None:
    thief = home.probes["thief"]
    home.fake.when("hold this", {"calls": [{"name": "guide_hold", "args": {}}]}, {"say": "done"})
    held = home.ask("chat", text="hold this")
    token = guide.do("token")
    thread = held["thread"]
    assert guide.call("io.history", call=token, thread=thread)["thread"]["id"] == thread, "for the owner it runs for"
    refusals = [
        (thief, {"call": token}),
        (thief, {"call": token, "peer": "thief:ann"}),
        (guide, {"call": token, "peer": "guide:ann"}),
        (guide, {"call": token[:-1] + ("A" if token[-1] != "A" else "B")}),
        (guide, {"call": "owner"}),
    ]
    for probe, claim in refusals:
        with pytest.raises(Denied) as refused:
            probe.call("io.history", thread=thread, **claim)
        assert probe.name in refused.value.message
        assert token not in str(refused.value)
    with pytest.raises(Denied, match="for a person to say"):
        guide.call("io.approve", call=token, approval="ap_1", decision="allow", remember="once")
    guide.do("release")
    home.ask("wait", input=held["input"])
    with pytest.raises(Denied):
        guide.call("io.history", call=token, thread=thread)


# -- capabilities --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["guide", "thief", "plain"])
def test_each_method_outside_the_capabilities_is_refused_with_plugin_method_capability_and_what_it_has(
    home: House, name: str
) -> None:
    """Also what the table ``grants`` says an outsider has, where no outsider can have it."""
    has = {"guide": {"core", IO, NOTICES}, "thief": {"core", IO}, "plain": {"core"}}[name]
    for method, capability in TO_KERNEL.items():
        if capability in has:
            continue
        with pytest.raises(Denied) as refused:
            home.probes[name].call(method, peer=f"{name}:ann", key="core.llm.sources", name="shell")
        said = refused.value
        for word in (name, method, f"lacks the capability {capability}", ", ".join(sorted(has))):
            assert word in said.message, said.message
        assert said.hint
        assert said.detail["has"] == sorted(has)


@pytest.mark.parametrize("method", ["admin.nothing", "handshake", "tool.invoke", "", "io", "__class__", "io.inject\n"])
def test_a_method_that_does_not_exist_is_refused_by_name(guide: Probe, method: str) -> None:
    with pytest.raises(HomedError) as refused:
        guide.call(method, peer="guide:ann")
    assert repr(method) in refused.value.message or "method" in refused.value.message
    assert "Traceback" not in str(refused.value)


def test_notices_with_content_are_refused_and_without_it_say_nothing(home: House, guide: Probe) -> None:
    with pytest.raises(Denied) as refused:
        guide.call("events.subscribe", content=True)
    for word in ("guide", "events.subscribe", CONTENT, f"it has core, {NOTICES}, {IO}"):
        assert word in refused.value.message
    guide.call("events.subscribe")
    guide.do("notices")
    home.says(f"again, {SECRET_WORD}")
    seen: list[dict[str, object]] = []

    def ended() -> bool:
        seen.extend(guide.do("notices"))
        return any(notice["type"] == "turn" and notice["data"]["phase"] == "end" for notice in seen)  # type: ignore[index]

    until(ended, what="the end of the turn")
    assert {"raw_input", "turn", "agent_output"} <= {notice["type"] for notice in seen}
    assert SECRET_WORD not in str(seen)


def test_settings_are_the_plugins_own_whatever_key_it_asks_for(guide: Probe) -> None:
    for key in ("core.llm.sources", "plugin.shell.workdir", "../shell.workdir"):
        with pytest.raises(NotFound) as refused:
            guide.call("core.settings_get", key=key)
        assert f"plugin.guide.{key}" in refused.value.message
        with pytest.raises(HomedError):
            guide.call("core.settings_set", key=key, value="x")
