"""Sequences in a real daemon: a step has the rights, questions and limits of a direct call, whoever runs it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from homed.wire.methods import IO
from tests.kit.daemon import until
from tests.kit.house import House, Plan, house

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    plan = Plan(
        only=("seq", "shell"), probes={"guide": [IO]}, grants={"guide": [IO]}, allow=("seq_create",), vectors=False
    )
    with house(tmp_path_factory.mktemp("seq") / "data", plan) as built:
        yield built


def step(tool: str, as_: str = "", **args: Any) -> dict[str, Any]:
    return {"tool": tool, "args": args, **({"as": as_} if as_ else {})}


def create(home: House, name: str, *groups: dict[str, Any], **more: Any) -> str:
    """Have the model create a sequence; what the tool said."""
    args = {"name": name, "groups": [{"name": f"g{n}", **group} for n, group in enumerate(groups)], **more}
    home.fake.when(f"create {name}", {"calls": [{"name": "seq_create", "args": args}]}, {"say": "{tool}"})
    with home.link() as link:  # once a shell has answered, the owner is asked about whatever writes
        thread = link.call("chat", {"text": f"create {name}", "can_ask": True})["thread"]

        def over() -> bool:
            for one in home.ask("approvals")["approvals"]:
                link.call("approve", {"approval": one["approval"], "decision": "allow"})
            return not home.ask("history", thread=thread)["live"] and home.history(thread)[-1]["kind"] == "assistant"

        until(over, what=f"{name} created")
    return str(home.history(thread)[-1]["text"])


def run_when(home: House, text: str, name: str, **args: Any) -> None:
    call = {"name": "seq_run", "args": {"name": name, **({"args": args} if args else {})}}
    home.fake.when(text, {"calls": [call]}, {"say": "{tool}"})


def statuses(said: str) -> list[str]:
    report = json.loads(said[said.index("{") :])
    return [one["status"] for group in report["groups"] for one in group["steps"]]


def test_a_sequence_is_created_and_run_and_its_calls_are_stored_as_such(home: House) -> None:
    assert "created" in create(
        home, "chain",
        {"in": {"n": "string"}, "tools": [step("guide_echo", "a", text="one ${args.n}"), step("guide_echo", text="2")]},
        {"tools": [step("guide_echo", "b", text="$a")], "out": {"b": "string"}},
    )  # fmt: skip
    run_when(home, "run the chain", "chain", n="x")
    answered = home.chat("run the chain")
    said = answered["outcome"]["text"]
    assert json.loads(said)["out"] == {"b": "one x"}
    assert statuses(said) == ["ok", "ok", "ok"]
    tools = [event for event in home.history(answered["thread"]) if event["kind"] == "tool"]
    inner = [event for event in tools if event["data"].get("by") == "seq"]
    assert sorted(event["text"] for event in inner) == ["2", "one x", "one x"]


def test_what_is_wrong_is_told_at_creation(home: House) -> None:
    said = create(home, "wrong", {"tools": [step("guide_echo"), step("cmd_run", command="true"), step("nonesuch")]})
    assert "3 errors" in said
    assert "guide_echo needs text" in said
    assert "cmd_run may not run beside others" in said
    assert "no tool 'nonesuch'" in said


def test_a_denied_tool_is_denied_in_a_sequence_and_nothing_of_it_runs(home: House, tmp_path: Path) -> None:
    made = tmp_path / "made"
    serial = {"parallel": False, "tools": [step("cmd_run", command=f"touch {made}"), step("guide_echo", text="after")]}
    create(home, "touching", serial)
    run_when(home, "touch it", "touching")
    said = home.says("touch it")
    assert statuses(said) == ["denied", "not_run"]
    assert "Nobody can be asked" in said
    assert not made.exists()


def test_a_yes_lets_the_step_run_and_only_that_one(home: House, tmp_path: Path) -> None:
    made = tmp_path / "made"
    steps = [step("cmd_run", command=f"touch {made}"), step("cmd_run", command=f"rm {made}")]
    create(home, "asking", {"parallel": False, "timeout": 20, "tools": steps})
    run_when(home, "ask me", "asking")
    with home.link() as link:
        thread = link.call("chat", {"text": "ask me", "can_ask": True})["thread"]

        def asked() -> Any:
            found = home.ask("approvals")["approvals"]
            return found[0] if found else None

        first = until(asked, what="the first question")
        assert "seq" in first["reason"], first
        link.call("approve", {"approval": first["approval"], "decision": "allow"})
        second = until(lambda: (one := asked()) and one["approval"] != first["approval"] and one, what="the second")
        assert made.exists()
        link.call("approve", {"approval": second["approval"], "decision": "deny"})
    until(lambda: not home.ask("history", thread=thread)["live"])
    assert statuses(home.history(thread)[-1]["text"]) == ["ok", "denied"]
    assert made.exists()


def test_a_guests_run_is_a_guests(home: House, tmp_path: Path) -> None:
    made = tmp_path / "made"
    steps = [
        step("cmd_run", command=f"touch {made}"),
        step("guide_echo", text="x"),
        step("coldcontext_query", query="anything"),
    ]
    group = {"parallel": False, "on_error": "continue", "tools": steps}
    assert "created" in create(home, "offered", group, guests=True)
    assert "created" in create(home, "kept", {"tools": [step("guide_echo", text="the vault opens with marzipan")]})
    guide = home.probes["guide"]

    def guest_says(text: str) -> str:
        answer = guide.call("io.inject", peer="guide:ann", text=text, wait=True)
        return str(answer["outcome"]["text"])

    run_when(home, "guest runs offered", "offered")
    said = guest_says("guest runs offered")
    assert statuses(said) == ["denied", "denied", "ok"]
    assert "Guests may not use cmd_run" in said
    assert not made.exists()
    run_when(home, "guest runs kept", "kept")
    said = guest_says("guest runs kept")
    assert "no sequence 'kept'" in said
    assert "marzipan" not in said
    args = {"name": "theirs", "groups": [{"name": "g", "tools": [step("guide_echo", text="x")]}]}
    home.fake.when("guest creates", {"calls": [{"name": "seq_create", "args": args}]}, {"say": "{tool}"})
    home.fake.when("Every tool call of this round was denied", {"say": "{tool}"})
    assert "Guests may not use seq_create" in guest_says("guest creates")


def test_a_stop_ends_the_step_that_runs(home: House) -> None:
    create(home, "slow", {"tools": [step("guide_slow", seconds=60), step("guide_slow", seconds=50)]})
    run_when(home, "go slowly", "slow")
    with home.link() as link:
        thread = link.call("chat", {"text": "go slowly"})["thread"]

        def running() -> int:
            live = home.ask("history", thread=thread)["live"]
            return len([c for c in live["calls"] if c["tool"] == "guide_slow"]) if live else 0

        until(lambda: running() == 2, what="both steps side by side")
        assert link.call("stop", {"thread": thread})["stopped"]
    until(lambda: not home.ask("history", thread=thread)["live"], what="the end")
    ended = [event for event in home.history(thread) if event["kind"] == "tool"]
    assert {event["data"]["status"] for event in ended} == {"interrupted"}
    assert home.plugin("seq")["state"] == "ready"
