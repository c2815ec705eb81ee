"""The plugin settings in a real daemon: a change asks whatever rules say, and no password goes in or comes out."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from homed.errors import ConfigError
from tests.kit.daemon import until
from tests.kit.house import House, Plan, house

pytestmark = pytest.mark.slow

SECRET = "core.memory.embedding_api_key"
CHANGES = {"core.agent.max_tool_turns": 7, "core.log.level": "debug"}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    rules = ("config_set", "config_batch_set")  # which these tools do not heed
    plan = Plan(only=("settings",), allow=rules, vectors=False)
    with house(tmp_path_factory.mktemp("config") / "data", plan) as built:
        yield built


def result(home: House, thread: str) -> dict[str, Any]:
    """The newest result of a tool."""
    return [event for event in home.history(thread) if event["kind"] == "tool"][-1]


def asked(home: House, tool: str, args: dict[str, Any], decision: str) -> dict[str, Any]:
    """Have the model call a tool, answer the question, and give the tool's result."""
    text = f"{decision}: {json.dumps(args)}"
    home.fake.when(text, {"calls": [{"name": tool, "args": args}]}, {"say": "done"})
    with home.link() as link:
        thread = link.call("chat", {"text": text, "can_ask": True})["thread"]
        (question,) = until(lambda: home.ask("approvals")["approvals"], what="the question")
        assert question["tool"] == tool
        assert question["args"] == args, "the card shows what would be changed"
        link.call("approve", {"approval": question["approval"], "decision": decision})
        until(lambda: not home.ask("history", thread=thread)["live"], what="the end of the turn")
    return result(home, thread)


def read(home: House, tool: str, **args: Any) -> dict[str, Any]:
    home.fake.call_tool(tool, args, then="done")
    return result(home, home.chat(f"{tool} {args}")["thread"])


def test_a_setting_is_changed_with_a_yes_and_not_without(home: House) -> None:
    done = asked(home, "config_batch_set", {"changes": CHANGES}, "allow")
    assert json.loads(done["text"])["takes_effect"] == "now"
    assert home.daemon.run("config", "get", "core.agent.max_tool_turns").out.strip() == "7"
    refused = asked(home, "config_set", {"key": "core.agent.max_tool_turns", "value": 9}, "deny")
    assert refused["data"]["status"] == "denied"
    assert home.daemon.run("config", "get", "core.agent.max_tool_turns").out.strip() == "7"


def test_a_threshold_is_not_changed_without_a_reason_by_a_tool_either(home: House) -> None:
    key = "core.memory.inject_min_score"
    refused = asked(home, "config_set", {"key": key, "value": 0.3}, "allow")
    assert "needs a reason" in refused["text"]
    refused = asked(home, "config_batch_set", {"changes": {key: 0.3, "core.agent.max_tool_turns": 4}}, "allow")
    assert "needs a reason" in refused["text"]
    done = asked(home, "config_set", {"key": key, "value": 0.3, "reason": "noise came along"}, "allow")
    assert json.loads(done["text"])["changed"][key] == {"was": 0.12, "is": 0.3}
    (one,) = [row for row in home.ask("memory.thresholds")["thresholds"] if row["key"] == key]
    assert [change["reason"] for change in one["changes"]] == ["noise came along"]


def test_of_several_none_is_changed_if_one_does_not_fit(home: House) -> None:
    args = {"changes": {"core.agent.max_tool_turns": 8, "core.agent.tool_timeout": 0}}
    refused = asked(home, "config_batch_set", args, "allow")
    assert refused["data"]["status"] == "error"
    assert "between 1 and 3600" in refused["text"]
    assert home.daemon.run("config", "get", "core.agent.max_tool_turns").out.strip() == "7"


def test_a_password_is_neither_set_nor_shown(home: House) -> None:
    assert home.daemon.run("config", "set", SECRET, "sk-canary-canary-1").code == 0
    for key in (SECRET, "core.web.password", "core.llm.sources"):
        refused = asked(home, "config_set", {"key": key, "value": "hunter22-hunter22"}, "allow")
        assert "a plugin does not set it" in refused["text"], refused
    for tool, args in (("config_get", {"key": SECRET}), ("config_dump", {"all": True}), ("config_list_keys", {})):
        assert "canary" not in json.dumps(read(home, tool, **args))
    assert json.loads(read(home, "config_get", key=SECRET)["text"])["value"] == "set"


def test_it_is_found_listed_and_counted(home: House) -> None:
    found = json.loads(read(home, "config_list_keys", search="backups night")["text"])["settings"]
    assert [one["key"] for one in found] == ["core.memory.backups_kept"]
    assert "prevents" in json.loads(read(home, "config_get", key="core.memory.inject_min_score")["text"])
    changed = json.loads(read(home, "config_dump", prefix="core.agent")["text"])["values"]
    assert changed["core.agent.max_tool_turns"] == 7
    assert "plugins" in json.loads(read(home, "config_list_plugins")["text"])


KEY = "sk-proj-canary7ABCDEFGHIJ4567890"


def test_a_key_is_put_into_no_setting_that_is_shown(home: House) -> None:
    """By the socket as the page asks, by the persona's own way, and by a tool that a person allowed."""
    persona = "core.agent.persona"
    ways: list[tuple[str, dict[str, Any]]] = [
        ("admin.config_set", {"key": persona, "value": f"Kind. {KEY}"}),
        ("admin.config_change", {"changes": {"core.agent.max_tool_turns": 3, persona: KEY}}),
        ("admin.persona_set", {"text": f"Kind. {KEY}"}),
        ("admin.config_set", {"key": "core.tracker.ignore", "value": [KEY]}),
    ]
    for method, given in ways:
        with pytest.raises(ConfigError, match="would hold what looks like a secret") as refused:
            home.ask(method, **given)
        assert KEY not in f"{refused.value.message} {refused.value.hint}"
    home.fake.when("put it there", {"calls": [{"name": "config_set", "args": {"key": persona, "value": KEY}}]},
                   {"say": "done"})  # fmt: skip
    with home.link() as link:
        thread = link.call("chat", {"text": "put it there", "can_ask": True})["thread"]
        (question,) = until(lambda: home.ask("approvals")["approvals"], what="the question")
        link.call("approve", {"approval": question["approval"], "decision": "allow"})
        until(lambda: not home.ask("history", thread=thread)["live"], what="the end of the turn")
    said = json.dumps([result(home, thread), home.ask("admin.config_get", key=persona), home.ask("admin.persona_get")])
    assert KEY not in said
    assert home.ask("admin.config_get", key=persona)["value"] == "", said
    assert not [path for path in home.data.glob("homed.*") if KEY.encode() in path.read_bytes()]
