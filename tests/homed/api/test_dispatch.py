"""The dispatcher: every method has a handler, every refusal says why, and none is passed by."""

from __future__ import annotations

import sys
import threading
from importlib import import_module
from types import ModuleType

import pytest
import trio
import trio.testing

from homed.agent.conversations import Message
from homed.api.method import PeerParams
from homed.api.table import MODULES, Table, whole
from homed.errors import Denied, InvalidInput, NotFound
from homed.host.states import Trust
from homed.identity.roles import Identity, Role
from homed.wire.methods import (
    ADMIN,
    AUTH,
    CORE,
    IO,
    NOTICES,
    PLUGIN_MGR,
    SETTINGS_CROSS,
    SOCIAL_WRITE,
    TO_KERNEL,
)
from tests.homed.api.fakes import FakeCaller, House

METHODS = whole()

OF_NO_PERSON = (CORE, NOTICES, AUTH)
"""Capabilities for the plugin's own affairs."""
_OF_A_SET = frozenset(f"tracker.{name}" for name in ("add", "put", "finish", "plan", "get"))
NOBODYS = frozenset({"llm.list", "llm.current", "llm.complete"}) | _OF_A_SET
"""Methods of other groups that need nobody: they show nothing of anybody's but the plugin's own."""

OWNER = Identity("webui:owner", "webui", "", Role.OWNER, "owner")
GUEST = Identity("qq:1", "qq", "", Role.GUEST, "guest:qq:1")


def test_every_method_of_the_wire_has_a_handler_and_there_is_no_other() -> None:
    assert set(METHODS) == set(TO_KERNEL)


@pytest.mark.parametrize("module", sorted(set(MODULES.values())))
def test_each_is_looked_for_in_the_module_that_has_it(module: str) -> None:
    assert {name for name, where in MODULES.items() if where == module} == import_module(module).METHODS.keys()


async def test_who_asks_first_for_what_is_not_loaded_goes_on_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two messages are taken in the order in which they came, also the first two after a start."""
    gate, order, room = threading.Event(), list[str](), ModuleType("room")
    room.METHODS = {"x.one": METHODS["io.inject"], "x.two": METHODS["io.stop"]}  # type: ignore[attr-defined]

    async def load(name: str) -> None:
        await trio.to_thread.run_sync(gate.wait, 30)
        monkeypatch.setitem(sys.modules, name, room)

    async def ask(name: str) -> None:
        assert await table.find(name) is room.METHODS[name]
        order.append(name)

    monkeypatch.setattr("homed.api.table.MODULES", dict.fromkeys(room.METHODS, "room"))
    monkeypatch.setattr("homed.api.table.load", load)
    table = Table()
    async with trio.open_nursery() as nursery:
        for name in ("x.one", "x.two"):
            nursery.start_soon(ask, name)
            await trio.testing.wait_all_tasks_blocked()
        assert order == []
        gate.set()
    assert order == ["x.one", "x.two"]


def test_what_changes_homed_or_people_needs_an_owner_and_nothing_else_does() -> None:
    assert {name for name, entry in METHODS.items() if entry.owner} == {
        name
        for name, capability in TO_KERNEL.items()
        if capability in (ADMIN, PLUGIN_MGR, SETTINGS_CROSS, SOCIAL_WRITE) or name == "llm.set"
    }


@pytest.mark.parametrize("name", [name for name, needed in TO_KERNEL.items() if needed not in OF_NO_PERSON])
def test_whatever_shows_or_changes_something_of_a_persons_needs_that_person(name: str) -> None:
    assert issubclass(METHODS[name].params, PeerParams) is (name not in NOBODYS)


@pytest.mark.parametrize("name", [name for name, needed in TO_KERNEL.items() if needed != CORE])
async def test_a_missing_capability_is_refused_by_name_with_what_the_plugin_has(house: House, name: str) -> None:
    caller = FakeCaller("weather", Trust.EXTERNAL, frozenset({CORE}))
    with pytest.raises(Denied) as caught:
        await house.api.dispatch(caller, name, {})
    message = str(caught.value)
    assert "weather" in message
    assert name in message
    assert TO_KERNEL[name] in message
    assert "it has core" in message


async def test_a_method_that_does_not_exist_is_said(house: House) -> None:
    with pytest.raises(NotFound, match=r"core\.fly"):
        await house.api.dispatch(FakeCaller(), "core.fly", {})


@pytest.mark.parametrize("name", [name for name, needed in TO_KERNEL.items() if needed == ADMIN])
async def test_a_guest_is_refused_every_admin_method(house: House, name: str) -> None:
    with pytest.raises(Denied, match=rf"{name} is for owners; webui:stranger is a guest here"):
        await house.api.dispatch(FakeCaller(), name, {**ENOUGH.get(name, {}), "peer": "webui:stranger"})


async def test_somebody_trusted_is_no_owner(house: House) -> None:
    await house.directory.identify("webui", "webui:friend")
    await house.directory.set_role("webui:friend", Role.TRUSTED)
    with pytest.raises(Denied, match="trusted"):
        await house.api.dispatch(FakeCaller(), "admin.status", {"peer": "webui:friend"})


@pytest.mark.parametrize("name", [name for name, needed in TO_KERNEL.items() if needed in (IO, ADMIN, PLUGIN_MGR)])
async def test_a_plugin_cannot_speak_for_another_plugins_peer(house: House, name: str) -> None:
    caller = FakeCaller("telegram")
    with pytest.raises(Denied, match="plugin telegram may not speak for the peer 'webui:owner'"):
        await house.api.dispatch(caller, name, {**ENOUGH.get(name, {}), "peer": "webui:owner"})
    assert house.conversations.calls == []


async def test_without_peer_or_token_nobody_is_assumed(house: House) -> None:
    with pytest.raises(InvalidInput, match=r"io\.threads: peer is missing"):
        await house.api.dispatch(FakeCaller(), "io.threads", {})


class TestCallTokens:
    async def test_a_token_gives_the_identity_and_channel_of_its_turn(self, house: House) -> None:
        with house.tokens.lent("timer", OWNER, turn="turn_1", thread="thread_1", channel="webui") as token:
            await house.api.dispatch(
                FakeCaller("timer"), "io.inject", {"call": token, "text": "hi", "thread": "thread_1"}
            )
        ((_, who, message),) = house.conversations.calls
        assert who == OWNER
        assert getattr(message, "channel", "") == "webui"

    @pytest.mark.parametrize(
        ("more", "why"),
        [
            ({"thread": "another"}, "conversation of its call"),
            ({"can_ask": True}, "can ask nobody"),
            ({"thread": "thread_1", "wait": True}, "cannot wait for it"),
        ],
    )
    async def test_what_is_said_with_it_reaches_no_further_than_its_turn(
        self, house: House, more: dict[str, object], why: str
    ) -> None:
        with house.tokens.lent("timer", OWNER, turn="turn_1", thread="thread_1", channel="webui") as token:
            with pytest.raises((Denied, InvalidInput), match=why):
                await house.api.dispatch(FakeCaller("timer"), "io.inject", {"call": token, "text": "hi", **more})
            assert house.conversations.calls == []
            await house.api.dispatch(FakeCaller("timer"), "io.inject", {"call": token, "text": "hi", "wait": True})
        message = house.conversations.calls[0][2]
        assert isinstance(message, Message)
        assert (message.thread, message.untrusted, message.can_ask) == ("", True, False)

    async def test_it_works_for_no_other_plugin_and_not_after_its_end(self, house: House) -> None:
        with (
            house.tokens.lent("timer", OWNER, turn="turn_1", thread="t", channel="webui") as token,
            pytest.raises(Denied, match="shell presented a call token"),
        ):
            await house.api.dispatch(FakeCaller("shell"), "io.threads", {"call": token})
        with pytest.raises(Denied, match="timer presented a call token"):
            await house.api.dispatch(FakeCaller("timer"), "io.threads", {"call": token})

    async def test_it_does_not_stand_for_another_peer(self, house: House) -> None:
        with (
            house.tokens.lent("timer", GUEST, turn="turn_1", thread="t", channel="qq") as token,
            pytest.raises(Denied, match="another peer"),
        ):
            await house.api.dispatch(FakeCaller("timer"), "io.threads", {"call": token, "peer": "timer:owner"})

    async def test_of_a_guests_turn_it_opens_no_admin_method(self, house: House) -> None:
        with (
            house.tokens.lent("webui", GUEST, turn="turn_1", thread="t", channel="qq") as token,
            pytest.raises(Denied, match="guest"),
        ):
            await house.api.dispatch(FakeCaller(), "admin.status", {"call": token})

    @pytest.mark.parametrize(
        "method",
        [
            "io.approve", "io.thread_delete", "admin.keys_add", "admin.keys_remove", "plugin_mgr.grant",
            "admin.merges_accept", "admin.merges_reject", "admin.merges_undo",
        ],
    )  # fmt: skip
    async def test_a_tool_cannot_approve_itself_destroy_a_conversation_or_let_anybody_in_with_it(
        self, house: House, method: str
    ) -> None:
        with (
            house.tokens.lent("timer", OWNER, turn="turn_1", thread="t", channel="webui") as token,
            pytest.raises(Denied, match="for a person to say"),
        ):
            await house.api.dispatch(FakeCaller("timer"), method, {"call": token, **ENOUGH[method]})
        assert house.conversations.calls == []
        assert await house.keys.list_() == []


@pytest.mark.parametrize(
    ("method", "params", "words"),
    [
        ("io.inject", {"peer": "webui:owner"}, "text: field required"),
        ("io.inject", {"peer": "webui:owner", "text": 5}, "text: input should be a valid string"),
        ("io.inject", {"peer": "webui:owner", "text": "hi", "wait": "yes"}, "wait: "),
        ("io.inject", {"peer": "webui:owner", "text": "\ud800"}, "text: "),
        ("io.inject", {"peer": 5, "text": "hi"}, "peer: "),
        ("io.inject", {"peer": {"id": ""}, "text": "hi"}, "peer.id: "),
        ("io.inject", {"peer": {"id": "webui:owner", "role": "owner"}, "text": "hi"}, "peer.role: extra"),
        ("io.history", {"peer": "webui:owner", "thread": "t", "limit": 501}, "limit: "),
        ("io.history", {"peer": "webui:owner", "thread": "t", "limit": True}, "limit: "),
        ("io.approve", {"peer": "webui:owner", "approval": "a", "decision": "maybe"}, "decision: "),
        ("io.upload", {"peer": "webui:owner", "data": "x" * 700_000}, "data: "),
        ("io.upload", {"peer": "webui:owner", "data": "", "offset": -1}, "offset: "),
        ("io.inject", {"peer": "webui:owner", "text": "hi", "attachments": [""]}, "attachments.0: "),
        ("io.inject", {"peer": "webui:owner", "text": "hi", "attachments": ["a"] * 65}, "attachments: "),
        ("io.block", {"peer": "webui:owner", "block": "b", "length": 1 << 20}, "length: "),
        ("io.event", {"peer": "webui:owner", "event": "e", "offset": -1}, "offset: "),
        ("core.log", {"level": "loud", "message": "x"}, "level: "),
        ("core.announce", {"kind": "port", "address": "x"}, "kind: "),
        ("auth.login", {"password": "x" * 1025}, "password: "),
    ],
)
async def test_wrong_parameters_are_named(house: House, method: str, params: dict[str, object], words: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        await house.api.dispatch(FakeCaller(), method, params)
    assert str(caught.value).startswith(f"{method}: {words}")


async def test_every_wrong_parameter_is_named_at_once_and_no_value_repeated(house: House) -> None:
    with pytest.raises(InvalidInput) as caught:
        await house.api.dispatch(FakeCaller(), "auth.login", {"password": ["hunter22"], "user": "hunter22"})
    assert len(caught.value.detail["faults"]) == 2  # type: ignore[arg-type]
    assert "hunter22" not in str(caught.value) + str(caught.value.detail)


ENOUGH: dict[str, dict[str, object]] = {
    "io.inject": {"text": "hi"},
    "io.interrupt": {"text": "hi"},
    "io.wait": {"input": "input_1"},
    "io.stop": {"thread": "t"},
    "io.results": {"results": [{"call": "call_1", "text": "42"}]},
    "io.history": {"thread": "t"},
    "io.upload": {"data": ""},
    "io.upload_cancel": {"upload": "blk_1"},
    "io.block": {"block": "blk_1"},
    "io.event": {"event": "ev_1"},
    "io.thread_rename": {"thread": "t", "title": "x"},
    "io.thread_delete": {"thread": "t"},
    "io.approve": {"approval": "a", "decision": "allow"},
    "admin.interrupt": {"text": "stop what you do"},
    "admin.plugin_start": {"name": "shell"},
    "admin.plugin_stop": {"name": "shell"},
    "admin.plugin_logs": {"name": "shell"},
    "admin.config_get": {"key": "core.agent.persona"},
    "admin.config_set": {"key": "core.agent.persona", "value": "x"},
    "admin.config_unset": {"key": "core.agent.persona"},
    "admin.config_change": {"changes": {"core.agent.persona": "x"}},
    "admin.config_rollback": {"snapshot": 1},
    "admin.persona_set": {"later": True},
    "admin.models_add": {"name": "a", "base_url": "http://x", "model": "m"},
    "admin.models_available": {"name": "a"},
    "admin.models_remove": {"name": "a"},
    "admin.models_use": {"name": "a"},
    "admin.models_test": {"name": "a"},
    "admin.keys_add": {"name": "a", "scopes": ["chat"]},
    "admin.keys_remove": {"name": "a"},
    "admin.peers_role": {"person": "webui:friend", "role": "trusted"},
    "tracker.begin": {"folder": "L3dvcms="},
    "tracker.add": {"set": "chg_1", "changes": [], "at": 0},
    "tracker.put": {"set": "chg_1", "hash": "0" * 64, "data": "", "offset": 0, "last": False},
    "tracker.finish": {"set": "chg_1"},
    "tracker.plan": {"set": "back_1"},
    "tracker.get": {"set": "back_1", "hash": "0" * 64, "offset": 0},
    "admin.tracker_show": {"set": "chg_1"},
    "admin.tracker_diff": {"set": "chg_1", "number": 0},
    "admin.tracker_rollback": {"set": "chg_1"},
    "admin.tracker_forget": {"set": "chg_1"},
    "admin.rules_remove": {"rule": "rule_1"},
    "admin.memory_find": {"text": "bees"},
    "admin.memory_preview": {"kind": "event", "target": "ev_1"},
    "admin.memory_forget": {"kind": "event", "target": "ev_1"},
    "admin.memory_export": {"path": "/tmp/out"},
    "admin.memory_import": {"path": "/tmp/out"},
    "admin.merges_accept": {"merge": "1-2"},
    "admin.merges_reject": {"merge": "1-2"},
    "admin.merges_undo": {"done": 1},
    "admin.jobs_runs": {"job": "distil"},
    "admin.jobs_run": {"job": "distil"},
    "admin.jobs_pause": {"job": "distil"},
    "admin.jobs_resume": {"job": "distil"},
    "admin.jobs_release": {"job": "distil", "unit": "turn_1"},
    "admin.usage_price_set": {"source": "a", "model": "m", "prompt": "1", "completion": "2"},
    "admin.usage_price_remove": {"source": "a", "model": "m"},
    "memory.explain": {"turn": "last"},
    "memory.search": {"query": "cat"},
    "memory.record": {"id": "fact_1"},
    "memory.edit": {"id": "fact_1", "revision": 1, "text": "x"},
    "memory.note": {"text": "x"},
    "memory.combine": {"keep": "fact_1", "gone": "fact_2"},
    "memory.bring_back": {"event": "ev_1"},
    **{f"memory.{verb}": {"id": "fact_1"} for verb in ("hide", "restore", "reinstate")},
    "admin.threshold_set": {"key": "core.memory.inject_min_score", "value": 0.2, "reason": "noise"},
    "admin.embedding_set": {"enabled": True},
    "cold.query": {"query": "cat"},
    "knowledge.search": {"query": "cat"},
    "knowledge.read": {"document": "d"},
    "knowledge.add": {"name": "d", "text": "x"},
    "knowledge.remove": {"document": "d"},
    "textlog.read": {"day": "2026-01-31"},
    "llm.set": {"name": "a"},
    "llm.complete": {"messages": [{"role": "user", "content": "hi"}]},
    "social.set_role": {"person": "webui:friend", "role": "trusted"},
    "social.set_name": {"person": "webui:friend", "name": "Anna"},
    "events.publish": {"notice": {"type": "skill_detected", "skill": "cook"}},
    "settings.get": {"key": "core.agent.persona"},
    "settings.set": {"key": "core.agent.persona", "value": "x"},
    "settings.change": {"changes": {"core.agent.persona": "x"}},
    "tools.call": {"tool": "look"},
    "core.attach": {"data": "aGk="},
    "auth.redeem": {"secret": "s"},
    "auth.login": {"password": "p"},
    "auth.check": {"session": "s"},
    "auth.key": {"key": "k"},
    "auth.logout": {"session": "s"},
    "core.log": {"message": "hi"},
    "core.announce": {"kind": "url", "address": "http://x/"},
    "core.settings_get": {"key": "city"},
    "core.settings_set": {"key": "city", "value": "Rome"},
    "core.busy": {"lease": "song", "held": True},
    "core.tools_set": {"tools": []},
    "core.schedule_set": {"name": "poll", "every": 60.0},
    "core.schedule_clear": {"name": "poll"},
    "core.arena_alloc": {"len": 8},
    "core.arena_free": {"off": 0},
    "plugin_mgr.review": {"path": "/x"},
    "plugin_mgr.install": {"path": "/x", "sha256": "0" * 64, "grant": []},
    "plugin_mgr.remove": {"name": "shell", "keep_data": True},
    "plugin_mgr.grant": {"name": "shell", "capabilities": []},
    **{f"plugin_mgr.{verb}": {"name": "shell"} for verb in ("info", "reload", "enable", "disable")},
}
"""The parameters besides ``peer`` with which a method gets as far as its checks of who asks."""
