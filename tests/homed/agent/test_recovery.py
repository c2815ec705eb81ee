"""After a crash: nothing accepted is lost, nothing is answered twice, no tool runs again whose result is stored."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import trio

from homed.agent import conversations
from homed.agent.recovery import ATTEMPTS
from homed.failpoints import NAMES
from homed.host.states import PluginStatus, State, Trust
from homed.identity.permissions import Decision, Rule
from homed.memory import events, inputs, threads
from homed.memory.records import DRAFT, EventKind, Input, InputState, NewEvent, NewInput
from homed.providers.base import Assistant, ToolResult, User
from homed.retrieval import index
from homed.store.db import open_store
from homed.store.rows import Tx
from tests.kit.builders import OWNER, FakeHost, FakeModel, Setup, calls, hangs, message, running_agent, says
from tests.kit.turn_child import MESSAGES, ROUNDS, Order, Zygote, zygote

CALLS = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12)
STEPS = (1, 2, 3, 4, 5, 6, 7, 8, 9)
TIMES = {
    "turn.before_model": STEPS, "turn.after_model": STEPS, "turn.call_stored": STEPS[:6], "turn.tool_done": CALLS,
    "turn.result_stored": CALLS, "store.before_commit": CALLS, "store.after_commit": CALLS,
}  # fmt: skip
"""How often a run of three messages, two rounds of two calls each, reaches a failpoint; if not here, three times."""

PASSED = ("accept.", "turn.", "output.", "store.")
"""Failpoints that such a turn passes; memory, files, packages and facilities have tests of their own."""

INTERRUPTED = frozenset({"turn.cancelled", "turn.suspended", "turn.resumed", "turn.joined"})
"""Those of interrupts: see `test_interrupts_kill.py`."""

KILLS = [
    (name, nth)
    for name in NAMES
    for nth in TIMES.get(name, (1, 2, 3))
    if name.startswith(PASSED) and name not in INTERRUPTED
]


@pytest.fixture(scope="module")
def children() -> Iterator[Zygote]:
    with zygote() as ready:
        yield ready


@pytest.mark.kill
@pytest.mark.parametrize(("name", "nth"), KILLS)
def test_kill_9_loses_no_accepted_input_and_answers_none_twice(
    tmp_path: Path, children: Zygote, name: str, nth: int
) -> None:
    """C8: at every failpoint of a turn, then a restart and the client's retry."""
    first = children.run(Order(str(tmp_path), name, nth))
    assert first == Zygote.KILLED
    assert children.run(Order(str(tmp_path))) == 0
    check(tmp_path)


@pytest.mark.kill
@pytest.mark.parametrize("name", [name for name in NAMES if name.startswith("turn.")])
def test_killed_again_and_again_it_is_answered_or_reported_and_never_both(
    tmp_path: Path, children: Zygote, name: str
) -> None:
    for _ in range(ATTEMPTS + 1):
        children.run(Order(str(tmp_path), name, 1, ("one",)))
    assert children.run(Order(str(tmp_path), messages=("one",))) == 0
    states = [row[0] for row in rows(tmp_path, "SELECT state FROM inputs")]
    assert states in (["answered"], ["reported"])
    assert "answered" in states or name not in ("turn.finished",)


def rows(folder: Path, sql: str) -> list[tuple[str, ...]]:
    connection = sqlite3.connect(folder / "homed.db")
    try:
        return connection.execute(sql).fetchall()
    finally:
        connection.close()


def lines(path: Path) -> list[str]:
    return path.read_text().splitlines() if path.exists() else []


def check(folder: Path) -> None:
    """Everything that must hold once all messages have been sent and answered."""
    assert rows(folder, "PRAGMA integrity_check") == [("ok",)]
    told = rows(folder, "SELECT client_msg_id, state, json_extract(outcome, '$.text'), turn FROM inputs ORDER BY seq")
    assert [(m, state, text) for m, state, text, _ in told] == [(m, "answered", f"answer to {m}") for m in MESSAGES]
    assert set(lines(folder / "accepted.log")) == set(MESSAGES)
    ran = Counter(lines(folder / "tools.log"))
    for message_id, _, _, turn in told:
        kinds = Counter(row[0] for row in rows(folder, f"SELECT kind FROM events WHERE turn = '{turn}'"))
        finals = rows(folder, f"SELECT text FROM events WHERE turn = '{turn}' AND json_extract(data, '$.final') = 1")
        assert kinds["user"] == 1
        assert finals == [(f"answer to {message_id}",)]
        results = rows(
            folder,
            "SELECT json_extract(data, '$.call_id'), json_extract(data, '$.status') FROM events"
            f" WHERE turn = '{turn}' AND kind = 'tool'",
        )
        assert len(results) == len({call for call, _ in results}) == 2 * ROUNDS, "one result a call"
        done = sum(1 for _, status in results if status == "ok")
        assert done <= ran[turn] <= 2 * ROUNDS, "what ran once is never run again"


async def left_behind(folder: Path, *, attempts: int, calls: bool = False) -> Input:
    """A store as a crash leaves it: a running input, begun so often, with two calls of which one has its result."""
    async with open_store(folder / "homed.db") as store:

        def write(tx: Tx) -> Input:
            thread = threads.create(tx, scope="owner", channel="webui", title="t", at=1.0)
            new = NewInput(thread.id, "owner", "webui", OWNER.peer, "owner", "hello")
            input_, _ = inputs.accept(tx, new, at=1.0)
            for _ in range(attempts):
                input_ = inputs.begin(tx, input_.id, turn="turn_1", at=1.0)
            if calls:
                made: list[object] = [{"id": id_, "name": "look", "arguments": {}} for id_ in ("c1", "c2")]
                events.append(tx, input_, NewEvent(EventKind.USER, "hello"), at=1.0)
                events.append(tx, input_, NewEvent(EventKind.ASSISTANT, "", {"calls": made}), at=1.0)
                result = {"call_id": "c1", "name": "look", "status": "ok", "args": {}}
                events.append(tx, input_, NewEvent(EventKind.TOOL, "seen", result), at=1.0)
            return input_

        return await store.write(write)


async def test_a_call_that_a_crash_left_open_gets_a_result_and_is_not_run_again(tmp_path: Path) -> None:
    """A3"""
    input_ = await left_behind(tmp_path, attempts=1, calls=True)
    host = FakeHost()
    host.tool("look", lambda args: pytest.fail("must not run"))
    async with running_agent(tmp_path, Setup(model=FakeModel(says("done")), host=host)) as agent:
        done = await agent.conversations.wait(OWNER, input_.id)
        assert done.state is InputState.ANSWERED
        _, user, assistant, one, two = agent.model.requests[0].messages
        assert user == User("hello")
        assert isinstance(assistant, Assistant)
        assert [call.id for call in assistant.calls] == ["c1", "c2"]
        assert one == ToolResult("c1", "look", "seen")
        assert isinstance(two, ToolResult)
        assert two.is_error
        assert "interrupted, no result" in two.text


@pytest.mark.parametrize("content", ["the token is ghp_" + "a1B2c3D4" * 5, {"image": "cat", "caption": "我的猫"}])
async def test_what_was_sent_and_spent_before_a_crash_is_known_after_it(tmp_path: Path, content: object) -> None:
    """E10: the same message does not go out twice, whatever the model has forgotten."""
    sent: list[object] = []

    async def send(params: Mapping[str, Any]) -> object:
        await trio.lowlevel.checkpoint()
        sent.append(params["content"])
        return "ok"

    host = FakeHost()
    host.output("chat", send, caps=("text", "structured"))
    again = calls(("output_send__chat", json.dumps({"content": content})))
    rule = Rule(Decision.ALLOW, tool="output_send__chat")
    async with running_agent(tmp_path, Setup(model=FakeModel(again, hangs("well, ")), host=host)) as agent:
        agent.rules.rules.append(rule)
        receipt = await agent.conversations.inject(OWNER, message("send it"))
        await agent.until(lambda: agent.of("content_delta"))
    model = FakeModel(again, says("sent"))
    async with running_agent(tmp_path, Setup(model=model, host=host)) as agent:
        agent.rules.rules.append(rule)
        done = await agent.conversations.wait(OWNER, receipt.input.id)
        assert len(sent) == 1
        assert "already_sent" in str(model.requests[1].messages[-1])
        assert done.outcome is not None
        assert done.outcome.usage == {"prompt": 30, "completion": 3, "cached": 2}


async def test_an_input_that_took_homed_down_three_times_is_reported(tmp_path: Path) -> None:
    input_ = await left_behind(tmp_path, attempts=ATTEMPTS)
    async with running_agent(tmp_path) as agent:
        done = await agent.conversations.wait(OWNER, input_.id)
        assert done.state is InputState.REPORTED
        assert done.outcome is not None
        assert "begun 3 times" in done.outcome.error
        assert agent.model.requests == []
        later = await agent.ask("and now?", thread=input_.thread)
        assert later.state is InputState.ANSWERED


async def test_what_is_reported_as_private_leaves_the_index_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not with whatever is stored next, or seen to at the start."""

    async def nothing(_: object) -> None:
        await trio.lowlevel.checkpoint()

    monkeypatch.setattr(conversations, "keep_index", nothing)
    input_ = await left_behind(tmp_path, attempts=ATTEMPTS)
    async with open_store(tmp_path / "homed.db") as store:

        def write(tx: Tx) -> None:
            events.append(tx, input_, NewEvent(EventKind.USER, "hello", no_memory=True), at=1.0)
            events.append(tx, input_, NewEvent(EventKind.ASSISTANT, "zqsecretzq"), at=1.0)
            index.catch_up(tx)

        await store.write(write)
        assert await store.read(_secrets) == 1
    async with running_agent(tmp_path) as agent:
        assert (await agent.conversations.wait(OWNER, input_.id)).state is InputState.REPORTED
        assert await agent.store.read(_secrets) == 0


@pytest.mark.parametrize("given_up", [False, True])
async def test_what_a_stage_said_to_be_private_on_the_way_stays_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given_up: bool
) -> None:
    """Also where only the first answer said so, and homed ended before the last."""
    host = FakeHost()

    async def look(_: Mapping[str, Any]) -> object:
        await trio.lowlevel.checkpoint()
        return "seen"

    async def private(_: Mapping[str, Any]) -> object:
        await trio.lowlevel.checkpoint()
        return {"no_memory": True}

    host.tool("look", look)
    host.stage("post_action", private)
    model = FakeModel(calls(("look", "{}"), text="let me"), hangs())
    async with running_agent(tmp_path, Setup(model=model, host=host)) as agent:
        receipt = await agent.conversations.inject(OWNER, message("my PIN"))
        await model.hanging.wait()
    if given_up:
        monkeypatch.setattr("homed.agent.recovery.ATTEMPTS", 1)
    async with running_agent(tmp_path, Setup(model=FakeModel(says("done")))) as agent:
        done = await agent.conversations.wait(OWNER, receipt.input.id)
        assert done.state is (InputState.REPORTED if given_up else InputState.ANSWERED)
        kept = await agent.store.read(
            lambda tx: tx.all("SELECT text FROM events WHERE no_memory = 0 OR layer = 'context'")
        )
        assert kept == []


def _secrets(tx: Tx) -> int:
    return int(tx.value("SELECT count(*) FROM word_terms WHERE term LIKE '%zqsecretzq%'"))


async def test_a_turn_cut_off_by_the_end_of_homed_goes_on_at_the_next_start(tmp_path: Path) -> None:
    async with running_agent(tmp_path, Setup(model=FakeModel(hangs("half ")))) as agent:
        receipt = await agent.conversations.inject(OWNER, message("long work"))
        await agent.conversations.inject(OWNER, message("waiting", thread=receipt.thread.id))
        await agent.until(lambda: agent.of("content_delta"))
    async with running_agent(tmp_path, Setup(model=FakeModel(says("whole"), says("second")))) as agent:
        done = await agent.conversations.wait(OWNER, receipt.input.id)
        assert done.outcome is not None
        assert done.outcome.text == "whole"
        await agent.until(lambda: len([t for t in agent.of("turn") if t["phase"] == "end"]) == 2)
        view = await agent.history(receipt.thread.id)
        assert [e["text"] for e in view["events"]] == ["long work", "whole", "waiting", "second"]


async def test_an_answer_stored_but_not_sent_is_sent_and_not_asked_for_again(tmp_path: Path) -> None:
    input_ = await left_behind(tmp_path, attempts=1)
    async with open_store(tmp_path / "homed.db") as store:

        def write(tx: Tx) -> None:
            events.append(tx, input_, NewEvent(EventKind.USER, "hello"), at=1.0)
            draft = NewEvent(EventKind.NOTE, "stored", {"final": True, "calls": [], "code": DRAFT})
            events.append(tx, input_, draft, at=1.0)

        await store.write(write)
    seen: list[Mapping[str, Any]] = []

    async def note(fields: Mapping[str, Any]) -> None:
        seen.append(fields)

    host = FakeHost()
    host.stage("before_output", note)
    async with running_agent(tmp_path, Setup(host=host)) as agent:
        done = await agent.conversations.wait(OWNER, input_.id)
        assert done.outcome is not None
        assert done.outcome.text == "stored"
        assert agent.model.requests == []
        assert (seen[0]["user_id"], seen[0]["extra"]) == (OWNER.peer, {"channel": "webui"}), "as in a turn not resumed"


async def test_a_start_waits_for_plugins_that_are_starting(tmp_path: Path) -> None:
    input_ = await left_behind(tmp_path, attempts=1)
    host = FakeHost()
    gate = trio.Event()
    status = PluginStatus("slow", "", "1", "", State.STARTING, "", 0.0, None, (), Trust.PACKAGED)

    async def wait_ready(name: str) -> None:
        assert name == "slow"
        await gate.wait()

    host.statuses = lambda: [status]  # type: ignore[method-assign]
    host.wait_ready = wait_ready  # type: ignore[method-assign]
    async with running_agent(tmp_path, Setup(host=host)) as agent:
        await trio.testing.wait_all_tasks_blocked()
        assert agent.model.requests == []
        gate.set()
        done = await agent.conversations.wait(OWNER, input_.id)
        assert done.state is InputState.ANSWERED
