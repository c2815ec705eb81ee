"""What a watcher gets who comes late: the stored page and what runs now, and exactly where the notices go on."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from threading import Event as ThreadEvent
from typing import Any

import pytest
import trio
import trio.testing

from homed.agent import journal
from homed.errors import InvalidInput
from homed.identity.permissions import Decision, Rule
from homed.memory.records import InputState
from homed.providers.base import ErrorKind, ProviderError
from homed.store.readers import READERS
from homed.store.rows import Tx
from tests.kit.builders import (
    OWNER,
    Agent,
    FakeHost,
    FakeModel,
    Setup,
    calls,
    fails,
    hangs,
    message,
    running_agent,
    says,
)


def rebuilt(view: Mapping[str, Any], agent: Agent) -> str:
    """The conversation as a page shows it: the page's answer, then every notice after it."""
    text = {e["id"]: e["text"] for e in view["events"] if e["kind"] in ("user", "assistant") and e["text"]}
    live = dict(view["live"] or {})
    shown, final = str(live.get("text", "")), ""
    for notice in agent.notices:
        if notice.seq <= view["seq"]:
            continue
        if notice.type == "content_delta":
            if notice.data["at"] == 0:
                shown = ""
            shown += str(notice.data["text"])
        elif notice.type == "agent_llm_chain" and notice.data["calls"]:
            text[f"step {notice.data['step']}"] = str(notice.data["text"])
            shown = ""
        elif notice.type == "agent_output":
            final = str(notice.data["text"])
    if final or shown:
        text["live"] = final or shown
    return "\n".join(text.values())


async def test_a_page_loaded_at_any_moment_of_a_turn_shows_the_same_in_the_end(tmp_path: Path) -> None:
    """Nothing lost, nothing twice, whenever one looked."""

    async def give(_: Mapping[str, Any]) -> object:
        await trio.sleep(0.01)
        return "result"

    host = FakeHost()
    host.tool("look", give)
    model = FakeModel(calls(("look", "{}"), text="Let me look. "), says(*["word "] * 10), pace=0.005)
    async with running_agent(tmp_path, Setup(model=model, host=host)) as agent:
        read = agent.store.read

        async def slowly(fn: Callable[[Tx], Any]) -> Any:
            found = await read(fn)
            await trio.sleep(0.004)  # what was read grows old before it is used
            return found

        agent.store.read = slowly  # type: ignore[method-assign]
        receipt = await agent.conversations.inject(OWNER, message("hi"))
        views = []
        while agent.conversations.counts["busy"]:
            views.append(await agent.history(receipt.thread.id))
            await trio.sleep(0.003)
        done = await agent.conversations.wait(OWNER, receipt.input.id)
        assert done.state is InputState.ANSWERED
        assert len(views) > 5
        assert any(v["live"] and v["live"]["text"] for v in views)
        wanted = "hi\nLet me look. \n" + "word " * 10
        for view in views:
            said = [e["text"] for e in view["events"] if e["kind"] == "assistant"]
            assert not view["live"] or not view["live"]["text"] or view["live"]["text"] not in said
            waiting = "" if any(e["kind"] == "user" for e in view["events"]) else "hi\n"
            assert waiting + rebuilt(view, agent) == wanted


async def test_live_shows_the_running_calls_and_queued_what_waits(tmp_path: Path) -> None:
    started = trio.Event()

    async def endless(_: Mapping[str, Any]) -> object:
        started.set()
        await trio.sleep_forever()

    host = FakeHost()
    host.tool("endless", endless)
    async with running_agent(tmp_path, Setup(model=FakeModel(calls(("endless", '{"a": 1}'))), host=host)) as agent:
        receipt = await agent.conversations.inject(OWNER, message("go"))
        await started.wait()
        await agent.conversations.inject(OWNER, message("next", thread=receipt.thread.id))
        view = await agent.history(receipt.thread.id)
        assert view["live"]["calls"] == [
            {"call": "c0", "tool": "endless", "plugin": "demo", "args": {"a": 1}, "status": "running", "result": ""}
        ]
        assert [q["text"] for q in view["queued"]] == ["next"]
        assert view["thread"]["busy"] is True
        assert not {"untrusted", "no_memory"} & {*view["live"], *view["queued"][0]}


async def test_what_is_private_or_of_strangers_is_marked(tmp_path: Path) -> None:
    """A plugin that reads it for a turn brings it into that turn."""
    started = trio.Event()

    async def endless(_: Mapping[str, Any]) -> object:
        started.set()
        await trio.sleep_forever()

    host = FakeHost()
    host.tool("endless", endless, untrusted=True)
    async with running_agent(tmp_path, Setup(model=FakeModel(calls(("endless", "{}"))), host=host)) as agent:
        receipt = await agent.conversations.inject(OWNER, message("go", no_memory=True))
        await started.wait()
        await agent.conversations.inject(OWNER, message("next", thread=receipt.thread.id, untrusted=True))
        view = await agent.history(receipt.thread.id)
        assert (view["live"]["untrusted"], view["live"]["no_memory"]) == (True, True)
        assert (view["queued"][0]["untrusted"], "no_memory" in view["queued"][0]) == (True, False)
        assert [event["data"]["no_memory"] for event in view["events"]] == [True] * len(view["events"])
        said = await agent.conversations.archive.event(OWNER, view["events"][0]["id"])
        assert said["event"]["data"]["no_memory"] is True  # type: ignore[index]


async def test_what_a_turn_under_way_recalled_is_in_its_history_before_it_is_recorded(tmp_path: Path) -> None:
    """A page that opens between the notice and the answer shows the same line as one that was there."""
    async with running_agent(tmp_path, Setup(model=FakeModel(says("I keep bees."), hangs("Bees")))) as agent:
        await agent.ask("I keep bees.")
        receipt = await agent.conversations.inject(OWNER, message("what do I keep?"))
        await agent.until(lambda: len(agent.of("recall")) == 2)
        (told,) = (await agent.history(receipt.thread.id))["recalls"]
        notice = agent.of("recall")[-1]
        assert {key: notice[key] for key in told if key != "turn"} == {key: told[key] for key in told if key != "turn"}
        assert len(told["shown"]) == 2


async def test_older_pages_are_reached_by_seq(tmp_path: Path) -> None:
    async with running_agent(tmp_path) as agent:
        thread = ""
        for number in range(6):
            thread = (await agent.ask(f"message {number}", thread=thread)).thread
        page: dict[str, Any] = await agent.conversations.archive.history(OWNER, thread, None, 4)
        assert [e["text"] for e in page["events"]] == ["message 4", "ok", "message 5", "ok"]
        assert page["more"]
        older: dict[str, Any] = await agent.conversations.archive.history(OWNER, thread, page["events"][0]["seq"], 100)
        assert older["events"][-1]["text"] == "ok"
        assert len(older["events"]) == 8
        assert not older["more"]


async def test_how_a_turn_ended_is_told_by_its_history_as_it_was_told_live(tmp_path: Path) -> None:
    """Answered, failed and stopped: state, error and hint, usage and duration are those of the notice."""
    broken = ProviderError(ErrorKind.CREDENTIAL, "The key was refused.", hint="Check the key.")
    model = FakeModel(says("fine"), fails(broken), hangs("half ", "of "), pace=0.002)
    async with running_agent(tmp_path, Setup(model=model)) as agent:
        thread = (await agent.ask("one")).thread
        await agent.ask("two", thread=thread)
        last = await agent.conversations.inject(OWNER, message("three", thread=thread))
        await agent.until(lambda: any(n["text"].startswith("half") for n in agent.of("content_delta")))
        view = await agent.history(thread)
        assert [end["state"] for end in view["ended"]] == ["answered", "failed"], "what runs has not ended"
        await agent.conversations.stop(OWNER, thread)
        await agent.conversations.wait(OWNER, last.input.id)
        view = await agent.history(thread)
        live = [
            dict(notice.data) for notice in agent.notices if notice.type == "turn" and notice.data["phase"] == "end"
        ]
        turns = [event["turn"] for event in view["events"] if event["kind"] == "user"]
        assert [end["turn"] for end in view["ended"]] == turns
        assert [{"phase": "end", **end} for end in view["ended"]] == [
            {"turn": turn, **end} for turn, end in zip(turns, live, strict=True)
        ]
        assert [end["state"] for end in view["ended"]] == ["answered", "failed", "stopped"]
        assert view["ended"][0]["usage"] == {"prompt": 10, "completion": 1, "cached": 2}
        assert (view["ended"][1]["error"], view["ended"][1]["hint"]) == ("The key was refused.", "Check the key.")
        assert view["ended"][0]["ms"] >= 2, "the model's own pace"


async def test_a_turn_that_reaches_into_the_next_page_ends_there(tmp_path: Path) -> None:
    async with running_agent(tmp_path) as agent:
        thread = (await agent.ask("one")).thread
        await agent.ask("two", thread=thread)
        page: dict[str, Any] = await agent.conversations.archive.history(OWNER, thread, None, 3)
        assert [e["text"] for e in page["events"]] == ["ok", "two", "ok"]
        assert len(page["ended"]) == 2
        older: dict[str, Any] = await agent.conversations.archive.history(OWNER, thread, page["events"][0]["seq"], 3)
        assert ([e["text"] for e in older["events"]], older["ended"]) == (["one"], [])


async def test_a_page_fits_one_wire_line_whatever_is_in_it(tmp_path: Path) -> None:
    async def huge(_: Mapping[str, Any]) -> object:
        return "x" * 900_000

    host = FakeHost()
    host.tool("huge", huge)
    async with running_agent(tmp_path, Setup(model=FakeModel(calls(("huge", "{}"))), host=host)) as agent:
        thread = (await agent.ask("y" * 200_000)).thread
        for _ in range(5):
            await agent.ask("y" * 200_000, thread=thread)
        view = await agent.history(thread)
        assert len(json.dumps(view, ensure_ascii=False).encode()) < 1024 * 1024
        assert view["more"]
        oldest = view["events"][0]["seq"]
        before: dict[str, Any] = await agent.conversations.archive.history(OWNER, thread, oldest, 500)
        assert before["events"][-1]["seq"] < oldest


async def test_what_runs_and_what_waits_fit_the_line_too(tmp_path: Path) -> None:
    began = trio.Event()

    async def huge(args: Mapping[str, Any]) -> object:
        if args["text"] == "last":
            began.set()
            await trio.sleep_forever()
        return "x" * 40_000

    host = FakeHost()
    host.tool("huge", huge)
    wanted = [("huge", json.dumps({"text": "z" * 20_000})) for _ in range(40)]
    model = FakeModel(calls(*wanted, ("huge", '{"text": "last"}')))
    async with running_agent(tmp_path, Setup(model=model, host=host)) as agent:
        thread = (await agent.conversations.inject(OWNER, message("go"))).thread.id
        with trio.fail_after(60):
            await began.wait()
        for _ in range(5):
            await agent.conversations.inject(OWNER, message("y" * 250_000, thread=thread))
        view = await agent.history(thread)
        assert (len(view["live"]["calls"]), len(view["queued"])) == (41, 5)
        assert len(json.dumps(view, ensure_ascii=False).encode()) < 1024 * 1024
        await agent.conversations.stop(OWNER, thread)
        agent.conversations.close_intake()
        await agent.conversations.wait_idle()


async def test_threads_are_listed_last_used_first_and_found_by_what_was_said(tmp_path: Path) -> None:
    model = FakeModel(says("the answer is 42"), says("ok"), hangs("x "))
    async with running_agent(tmp_path, Setup(model=model)) as agent:
        first = await agent.ask("deep question")
        second = await agent.ask("small talk")
        listed: dict[str, Any] = await agent.conversations.archive.threads(OWNER)
        assert [t["id"] for t in listed["threads"]] == [second.thread, first.thread]
        found: dict[str, Any] = await agent.conversations.archive.threads(OWNER, "answer is 42")
        assert [t["id"] for t in found["threads"]] == [first.thread]
        await agent.conversations.inject(OWNER, message("more", thread=first.thread))
        listed = dict(await agent.conversations.archive.threads(OWNER))
        assert [(t["id"], t["busy"]) for t in listed["threads"]] == [(first.thread, True), (second.thread, False)]


async def test_a_title_can_be_changed_and_is_told(tmp_path: Path) -> None:
    async with running_agent(tmp_path) as agent:
        done = await agent.ask("hi")
        await agent.conversations.archive.rename(OWNER, done.thread, "  A better\nname ")
        assert (await agent.history(done.thread))["thread"]["title"] == "A better name"
        assert agent.of("thread")[-1]["title"] == "A better name"
        with pytest.raises(InvalidInput):
            await agent.conversations.archive.rename(OWNER, done.thread, " \n")


async def test_every_page_fits_the_line_in_whatever_shape_a_model_talks(tmp_path: Path) -> None:
    """A control character is one byte here and six there; a table of many small values is no long text."""
    table = json.dumps({f"key {n}": "你好" for n in range(60_000)}, ensure_ascii=False)
    pieces = json.dumps(["你"] * 200_000, ensure_ascii=False)
    model = FakeModel(calls(("nope", table), ("nope", pieces)), says("\x01" * 190_000))
    async with running_agent(tmp_path, Setup(model=model)) as agent:
        thread = (await agent.ask("go")).thread
        view, kinds = await agent.history(thread), []
        while True:
            assert len(json.dumps(view, ensure_ascii=False).encode()) < 1024 * 1024
            kinds += [event["kind"] for event in view["events"][::-1]]
            if not view["more"]:
                break
            view = dict(await agent.conversations.archive.history(OWNER, thread, view["events"][0]["seq"], 100))
        assert kinds == ["assistant", "tool", "tool", "assistant", "user"]


async def test_a_page_that_waits_for_others_reads_keeps_no_turn_from_storing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All connections are lent for long, somebody opens the conversation: its turn goes on all the same."""
    monkeypatch.setattr(journal, "COMMIT_LIMIT", 2.0)
    asked, go_on = trio.Event(), trio.Event()

    async def slow(_: Mapping[str, Any]) -> object:
        asked.set()
        await go_on.wait()
        return "done"

    host = FakeHost()
    host.tool("slow", slow)
    released = ThreadEvent()
    async with running_agent(tmp_path, Setup(model=FakeModel(calls(("slow", "{}")), says("ok")), host=host)) as agent:
        agent.rules.rules.append(Rule(Decision.ALLOW, tool="slow"))
        receipt = await agent.conversations.inject(OWNER, message("go"))
        await asked.wait()
        pages: list[dict[str, Any]] = []

        async def page() -> None:
            pages.append(await agent.history(receipt.thread.id))

        lent = 0

        def hold(_: Tx) -> None:
            nonlocal lent
            lent += 1
            released.wait(20)

        async with trio.open_nursery() as nursery:
            for _ in range(READERS):
                nursery.start_soon(agent.store.read, hold)
            with trio.fail_after(60):
                while lent < READERS:  # noqa: ASYNC110 - other threads say so
                    await trio.sleep(0.01)
            nursery.start_soon(page)
            await trio.testing.wait_all_tasks_blocked()
            go_on.set()
            await agent.until(lambda: [call for call in agent.of("tool_call") if call["status"] == "ok"], 15)
            assert pages == [], "the page waits, the turn does not"
            released.set()
        assert (await agent.conversations.wait(OWNER, receipt.input.id)).state is InputState.ANSWERED
        assert [event["kind"] for event in pages[0]["events"]][:2] == ["user", "assistant"]
