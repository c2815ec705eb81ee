"""Every tool that is told of can be called, by every name, and does what its class says (E31, E32)."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from homed.agent.prompt import spec_text
from homed.builtin.memory import ROOMY
from homed.builtin.names import AGENTS, RESERVED
from homed.builtin.tools import builtin_tools
from homed.identity.roles import Identity
from homed.memory import facts
from homed.memory.facts import NewFact
from homed.memory.tokens import estimate_tokens
from homed.providers.base import ToolResult
from homed.retrieval import index
from homed.store.rows import Tx
from tests.kit.builders import (
    GUEST,
    OWNER,
    TRUSTED,
    Agent,
    Answer,
    FakeModel,
    FakeSettings,
    Setup,
    calls,
    running_agent,
    says,
)  # fmt: skip

AT = 1_760_000_000.0

ID = "1a2b3c4d"

CALLS: dict[str, dict[str, Any]] = {
    "result_read": {"id": "ev_0"},
    "get_plugin_tools": {},
    "coldcontext_query": {"query": "大提琴"},
    "coldcontext_commit": {"text": "买牛奶和鸡蛋", "title": "清单"},
    "doc_query": {"query": "cello"},
    "doc_commit": {"text": "milk, eggs"},
    "memory_recall": {"query": "小雨喜欢什么？", "records": ["fact"], "sort": "recent", "depth": 1, "limit": 3},
    "memory_open": {"id": ID, "history": True, "maxChars": 400},
    "memory_list": {"record": "fact", "limit": 3},
    "memory_injections": {"limit": 5},
    "memory_stats": {},
    "memory_introspect": {},
    "memory_doctor": {"deep": False},
    "memory_note": {"text": "小雨的生日在五月", "reach": "user", "tags": ["生日"]},
    "memory_forget": {"id": ID},
    "memory_commit": {"triples": [{"subject": "小雨", "relation": "住在", "object": "成都"}]},
    "memory_edit": {"subject": "小雨", "relation": "喜欢", "object": "大提琴", "new_object": "钢琴"},
    "memory_merge": {"keep": "小雨", "other": "雨儿"},
    "memory_block_merge": {"first": "小雨", "second": "雨儿", "rounds": 3},
    "memory_purge": {"mode": "soft", "entity": "小雨"},
    "memory_delete_entity": {"name": "小雨"},
    "person_query": {"name": "小雨"},
    "person_list": {"query": "雨"},
    "person_set_trait": {"name": "小雨", "trait": "职业", "value": "护士"},
    "person_relate": {"person": "小雨", "relation": "老板", "other": "雨儿"},
    "person_network": {"name": "小雨", "depth": 2},
}
"""A call of each, in Chinese where there is something to say."""

READS = {
    "result_read", "get_plugin_tools", "coldcontext_query", "doc_query", "memory_recall", "person_query", "person_list",
    "person_network", "memory_open", "memory_list", "memory_injections", "memory_stats", "memory_introspect",
    "memory_doctor",
}  # fmt: skip
OLDER = {"doc_query", "doc_commit", "memory_introspect"}
OWNERS = {"memory_doctor"}
ASKED = {"memory_purge", "memory_delete_entity"}


def setup(*script: Answer, **more: Any) -> Setup:
    return Setup(model=FakeModel(*script, **more), builtins=lambda store, host: builtin_tools(store))


async def know(agent: Agent, scope: str) -> None:
    def write(tx: Tx) -> None:
        for text, name, relation, value in (
            ("小雨喜欢大提琴。", "小雨", "喜欢", "大提琴"), ("雨儿会唱歌。", "雨儿", "会", "唱歌"),
        ):  # fmt: skip
            said = NewFact(scope, text, subject=name, subject_type="person", relation=relation, object=value)
            made = facts.put(tx, NewFact(**{**_of(said), "origin": "manual"}), at=AT)
            if name == "小雨":
                tx.execute("UPDATE records SET id = ? WHERE id = ?", (f"fact_{ID}", made.record))
        index.catch_up(tx)

    await agent.store.write(write)


def _of(said: NewFact) -> dict[str, Any]:
    return {name: getattr(said, name) for name in NewFact.__slots__}


def test_there_is_a_call_of_each_here() -> None:
    assert CALLS.keys() == RESERVED.names - set(AGENTS), "those are in tests/homed/agent/test_children.py"


@pytest.mark.parametrize("name", sorted(CALLS))
async def test_every_tool_is_callable_through_the_agent(tmp_path: Path, name: str) -> None:
    async with running_agent(tmp_path, setup(calls((name, json.dumps(CALLS[name]))), says("ok"))) as agent:
        await know(agent, OWNER.scope)
        await agent.ask("小雨是护士，住在成都，喜欢钢琴。她的老板是雨儿。")
        (result,) = [m for m in agent.model.requests[-1].messages if isinstance(m, ToolResult)]
        assert "unknown_tool" not in result.text
        if name in ASKED:
            assert result.text.startswith("denied: ")
            assert "Nobody can be asked" in result.text
        elif name == "result_read":
            assert "There is no text ev_0" in result.text
        elif name == "memory_doctor":
            assert "There is no health check here" in result.text
        else:
            assert not result.is_error, result.text


ROOM = FakeSettings(**{"core.agent.tools_budget": 100_000})
"""So that all of them are told: what of them is told where there are more than fit is another matter."""


async def test_what_is_told_is_what_there_is_but_for_older_names(tmp_path: Path) -> None:
    async with running_agent(tmp_path, replace(setup(), settings=ROOM)) as agent:
        await agent.ask("hi")
        told = {spec.name for spec in agent.model.requests[0].tools}
        assert told == CALLS.keys() - OLDER


@pytest.mark.parametrize(
    ("who", "told"),
    [
        (GUEST, {"result_read", "coldcontext_query", "memory_recall", "memory_open"}),
        (TRUSTED, CALLS.keys() - OLDER - OWNERS - ASKED),
    ],
)
async def test_nobody_is_told_of_what_they_may_not_use(tmp_path: Path, who: Identity, told: set[str]) -> None:
    async with running_agent(tmp_path, replace(setup(), settings=ROOM)) as agent:
        await agent.ask("hi", who=who)
        assert {spec.name for spec in agent.model.requests[0].tools} == told


@pytest.mark.parametrize(
    ("window", "tools", "most"),
    [(32_768, True, 2_600), (ROOMY - 1, True, 1_300), (32_768, False, 0)],
)
async def test_what_hi_costs(tmp_path: Path, window: int, tools: bool, most: int) -> None:
    """A model with little room is told of what it needs, one that is offered no tools of none."""
    async with running_agent(tmp_path, setup(context_window=window, tools=tools)) as agent:
        await agent.ask("hi")
        request = agent.model.requests[0]
        assert sum(estimate_tokens(spec_text(spec)) for spec in request.tools) <= most
        assert bool(request.tools) is tools
        if tools:
            assert {"memory_recall", "memory_commit", "coldcontext_query"} <= {spec.name for spec in request.tools}


async def test_classes_are_right(tmp_path: Path) -> None:
    async with running_agent(tmp_path, setup()) as agent:
        entries = agent.conversations._loop.catalogue.entries()
        classes = {name: entries[name].tool_class for name in CALLS}
        assert {name for name, of in classes.items() if of == "read"} == READS
        assert {name for name, of in classes.items() if of == "dangerous"} == ASKED
        assert all(entries[name].parallel_safe == (name in READS) for name in CALLS)
        remembered = {name for name in CALLS if not entries[name].no_memory}
        assert remembered == {"coldcontext_commit", "doc_commit"}, "nothing else of it is remembered again (B1)"


@pytest.mark.parametrize("name", sorted(READS))
async def test_what_only_reads_changes_nothing_that_is_known(tmp_path: Path, name: str) -> None:
    async with running_agent(tmp_path, setup(calls((name, json.dumps(CALLS[name]))), says("ok"))) as agent:
        await know(agent, OWNER.scope)
        tables = ("records", "entities", "entity_names", "evidence", "tombstones", "merges")

        def all_of(tx: Tx) -> list[Any]:
            return [tx.all(f"SELECT * FROM {table}") for table in tables]

        before = await agent.store.read(all_of)
        await agent.ask("?")
        assert await agent.store.read(all_of) == before
