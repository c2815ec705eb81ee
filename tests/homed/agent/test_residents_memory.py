"""Agents that stay: what they remember, and what becomes of it (F.3)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import trio

from homed.memory.temporary import reads, seen
from homed.store.rows import Tx
from tests.kit.builders import GUEST, OWNER, FakeHost, FakeSettings, calls, hangs, says
from tests.kit.cast import MAIN, agents, child_of, know, making, quiet, resident, run, sending, settled, told

REMEMBERS = ("memory_commit", json.dumps({"triples": [{"subject": "Otto", "relation": "likes", "object": "plums"}]}))


async def test_f3_an_agent_cannot_write_the_memory_of_its_maker(tmp_path: Path) -> None:
    host = FakeHost()
    scripts = {MAIN: [*making("r")[:-1], *sending("r"), says("I see")], "r": [calls(REMEMBERS), says("kept")]}
    async with agents(tmp_path, scripts, host=host) as (agent, cast):
        await settled(agent)
        id_, own = await child_of(agent, "r")
        scopes = await agent.store.read(lambda tx: tx.all("SELECT DISTINCT scope FROM records"))
        assert scopes == [(f"temp:{id_}",)], cast.results("r")
        assert await agent.store.read(lambda tx: tx.all("SELECT DISTINCT scope FROM entities")) == [(f"temp:{id_}",)]
        events = await agent.store.read(lambda tx: tx.all("SELECT DISTINCT scope FROM events WHERE thread = ?", (own,)))
        assert events == [(f"temp:{id_}",)]
        await know(agent, "owner", "Anna likes tea.", "Anna", "tea")
        purge = (
            "memory_edit",
            json.dumps({"subject": "Anna", "relation": "likes", "object": "tea", "new_object": "x"}),
        )
        cast.scripts |= {MAIN: sending("r"), "r": [calls(purge), says("x")]}
        await settled(agent)
        stored = await agent.store.read(lambda tx: tx.all("SELECT text FROM records WHERE scope = 'owner'"))
        assert stored == [("Anna likes tea.",)]


async def test_f3_it_reads_its_own_and_its_makers_memory(tmp_path: Path) -> None:
    look = ("memory_recall", json.dumps({"query": "who likes plums or tea"}))
    cold = ("coldcontext_query", json.dumps({"query": "lighthouse"}))
    scripts = {
        MAIN: [*making("r")[:-1], *sending("r"), says("I see")], "r": [calls(REMEMBERS), says("kept")],
    }  # fmt: skip
    settings = FakeSettings(**{"core.memory.recall_percent": 25})
    async with agents(tmp_path, scripts, settings=settings) as (agent, cast):
        await agent.ask("The lighthouse of Brest has 284 steps.")
        await settled(agent)
        await know(agent, "owner", "Anna likes tea.", "Anna", "tea")
        cast.scripts |= {MAIN: sending("r", "lighthouse steps?"), "r": [calls(look), calls(cold), says("x")]}
        await settled(agent)
        assert "Anna likes tea" in cast.results("r", -2)[-1]
        assert "plums" in cast.results("r", -2)[-1]
        assert "284 steps" in "\n".join([*cast.heard("r", -3), *cast.results("r")]), "told or found"
        peeked = await agent.store.read(lambda tx: tx.all("SELECT * FROM accesses"))
        assert peeked == [], "reading leaves nothing in its maker's memory"


async def test_f3_temporary_scopes_are_isolated_from_each_other(tmp_path: Path) -> None:
    look = ("memory_recall", json.dumps({"query": "plums"}))
    scripts = {MAIN: [*making("a", "b")[:-1], *sending("a")], "a": [calls(REMEMBERS), says("kept")]}
    async with agents(tmp_path, scripts) as (agent, cast):
        await settled(agent)
        cast.scripts |= {MAIN: sending("b", "plums?"), "b": [calls(look), says("x")]}
        await settled(agent)
        assert "plums" not in cast.results("b")[-1].replace("no record of plums", "")
        (a, _), (b, _) = await child_of(agent, "a"), await child_of(agent, "b")

        def check(tx: Tx) -> None:
            assert reads(tx, f"temp:{a}") == (f"temp:{a}", "owner")
            assert reads(tx, "owner") == ("owner",)
            assert reads(tx, "temp:nobody") == ("temp:nobody",)
            assert not seen(tx, f"temp:{b}", {f"temp:{a}"})
            assert seen(tx, f"temp:{b}", {"owner"})
            assert not seen(tx, f"temp:{b}", {GUEST.scope})

        await agent.store.read(check)
        await know(agent, "owner", "Anna likes tea.", "Anna", "tea")
        own = ("memory_recall", json.dumps({"query": "plums"}))
        assert "Otto" not in str(await run(agent, cast, own)), "nor does their maker recall what is theirs"
        parent = await agent.store.read(lambda tx: tx.value("SELECT parent FROM children LIMIT 1"))
        await agent.store.write(lambda tx: tx.execute("UPDATE threads SET scope = '' WHERE id = ?", (parent,)))
        assert await agent.store.read(lambda tx: reads(tx, f"temp:{a}")) == (f"temp:{a}",), "fail closed"


async def test_f3_auto_rows_and_own_rows_and_compress_clears_the_first_and_keeps_the_child(tmp_path: Path) -> None:
    scripts = {MAIN: [*making("r")[:-1], *sending("r"), says("I see")], "r": [calls(REMEMBERS), says("kept")]}
    async with agents(tmp_path, scripts) as (agent, cast):
        await settled(agent)
        before = await run(agent, cast, resident("inspect", agent="r"))
        assert before["rows"]["auto"] > 0
        assert before["rows"]["own"] == 1
        cleared = await run(agent, cast, resident("compress", agent="r"))
        assert cleared["cleared"] == before["rows"]["auto"]
        after = await run(agent, cast, resident("inspect", agent="r"))
        assert after["rows"] == {"auto": 0, "cold": 0, "own": 1, "tokens": 0}
        assert after["memories"] == before["memories"]
        cast.scripts |= {MAIN: sending("r", "still there?"), "r": [says("yes")]}
        await settled(agent)
        assert cast.heard("r")[-1] == "still there?"
        assert "go" not in cast.heard("r")


async def test_f3_reclaim_promotes_only_chosen_memories(tmp_path: Path) -> None:
    two = {
        "triples": [
            {"subject": "Otto", "relation": "likes", "object": "plums"},
            {"subject": "Otto", "relation": "likes", "object": "figs"},
        ]
    }
    keep = calls(("memory_commit", json.dumps(two)))
    scripts = {MAIN: [*making("r")[:-1], *sending("r"), says("I see")], "r": [keep, says("kept")]}
    async with agents(tmp_path, scripts) as (agent, cast):
        await settled(agent)
        memories = (await run(agent, cast, resident("inspect", agent="r")))["memories"]
        chosen = next(m["id"] for m in memories if "figs" in m["text"])
        done = await run(agent, cast, resident("reclaim", agent="r", memories=[chosen]))
        assert [made["outcome"] for made in done["reclaimed"]] == ["new"]
        mine = await agent.store.read(lambda tx: tx.all("SELECT object, confidence FROM records WHERE scope = 'owner'"))
        assert [(value, sure <= 0.35) for value, sure in mine] == [("figs", True)], "no person said so"
        await run(agent, cast, resident("destroy", agent="r"))
        left = await agent.store.read(lambda tx: tx.all("SELECT object, scope FROM records"))
        assert left == [("figs", "owner")]


async def test_a_capsule_that_it_wrote_can_be_reclaimed_too(tmp_path: Path) -> None:
    note = {"record": "capsule", "title": "The move", "text": "The move is on Friday; the van is not booked yet."}
    keep = calls(("memory_note", json.dumps(note)))
    scripts = {MAIN: [*making("r")[:-1], *sending("r"), says("I see")], "r": [keep, says("kept")]}
    async with agents(tmp_path, scripts) as (agent, cast):
        await settled(agent)
        (kept,) = (await run(agent, cast, resident("inspect", agent="r")))["memories"]
        done = await run(agent, cast, resident("reclaim", agent="r", memories=[kept["id"]]))
        assert [made["outcome"] for made in done["reclaimed"]] == ["new"]
        rows = "SELECT record, title, origin, scope FROM records WHERE scope = 'owner'"
        mine = await agent.store.read(lambda tx: tx.all(rows))
        assert mine == [("capsule", "The move", "auto", "owner")]


async def test_f3_destroy_in_the_middle_of_a_tool(tmp_path: Path) -> None:
    host, began, ended = FakeHost(), trio.Event(), trio.Event()

    async def look(_: Mapping[str, Any]) -> object:
        began.set()
        try:
            await trio.sleep_forever()
        finally:
            ended.set()

    host.tool("look", look)
    scripts = {MAIN: [*making("r")[:-1], *sending("r")], "r": [calls(REMEMBERS), calls(("look", "{}")), says("x")]}
    async with agents(tmp_path, scripts, host=host) as (agent, cast):
        done = await agent.ask("go")
        with trio.fail_after(60):
            await began.wait()
        id_, _ = await child_of(agent, "r")
        gone = await run(agent, cast, resident("destroy", agent="r"), done.thread)
        assert gone["state"] == "destroyed"
        assert ended.is_set()
        await quiet(agent)
        for table, column in (("events", "scope"), ("records", "scope"), ("entities", "scope"), ("threads", "scope")):
            query = f"SELECT count(*) FROM {table} WHERE {column} = ?"
            assert await agent.store.read(lambda tx, q=query: tx.value(q, (f"temp:{id_}",))) == 0, table  # type: ignore[misc]
        assert await agent.store.read(lambda tx: tx.all("SELECT * FROM children")) == []
        assert await agent.store.read(lambda tx: tx.all("SELECT * FROM child_tasks")) == []
        assert told(agent) == []
        assert "There is no agent r" in await run(agent, cast, resident("inspect", agent="r"), done.thread)


async def test_deleting_the_conversation_it_was_made_in_destroys_it(tmp_path: Path) -> None:
    scripts = {MAIN: [*making("r")[:-1], *sending("r")], "r": [hangs("hm")]}
    async with agents(tmp_path, scripts) as (agent, cast):
        done = await agent.ask("go")
        with trio.fail_after(60):
            await cast.hung("r").wait()
            await agent.conversations.delete(OWNER, done.thread)
        await quiet(agent)
        assert cast.open == 0
        for table in ("children", "child_tasks", "threads", "events", "inputs"):
            assert await agent.store.read(lambda tx, t=table: tx.value(f"SELECT count(*) FROM {t}")) == 0, table  # type: ignore[misc]
