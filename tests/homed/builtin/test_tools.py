"""The kernel's own tools: what they give, what they refuse, and that their texts are there."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from homed.agent.arguments import check
from homed.agent.ports import BuiltinTool, CallContext
from homed.builtin.names import AGENTS, RESERVED
from homed.builtin.tools import builtin_tools
from homed.errors import NotFound
from homed.memory import events, inputs, threads
from homed.memory.records import Event, EventKind, NewEvent, NewInput
from homed.store.db import open_store
from homed.store.rows import Tx


def put(tx: Tx, text: str) -> Event:
    thread = threads.create(tx, scope="owner", channel="webui", title="", at=1.0)
    new = NewInput(thread.id, "owner", "webui", "webui:owner", "owner", "hi")
    input_, _ = inputs.accept(tx, new, at=1.0)
    return events.append(tx, input_, NewEvent(EventKind.TOOL, text, {"call_id": "c", "name": "x"}), at=1.0)


@asynccontextmanager
async def tools(folder: Path, text: str = "") -> AsyncIterator[tuple[dict[str, BuiltinTool], Event, CallContext]]:
    async with open_store(folder / "homed.db") as store:
        event = await store.write(lambda tx: put(tx, text))
        context = CallContext(event.thread, "webui", "webui:owner", "owner", "owner", "turn_1")
        yield {tool.entry.name: tool for tool in builtin_tools(store)}, event, context


async def test_a_long_result_is_read_in_pieces(tmp_path: Path) -> None:
    text = "".join(f"{n:06d}" for n in range(3000))
    async with tools(tmp_path, text) as (found, event, context):
        read = found["result_read"]
        got, offset = "", 0
        while offset < len(text):
            piece = await read.run(context, {"id": event.id, "offset": offset})
            assert isinstance(piece, dict)
            assert piece["of"] == len(text)
            got += str(piece["text"])
            offset += len(str(piece["text"]))
        assert got == text
        assert await read.run(context, {"id": event.id, "offset": 10**9}) == {
            "text": "", "offset": 10**9, "of": len(text),
        }  # fmt: skip


async def test_a_result_of_another_scope_is_not_there(tmp_path: Path) -> None:
    """B14"""
    async with tools(tmp_path, "private") as (found, event, context):
        for stranger in (replace(context, scope="group:chat:1"), replace(context, scope="guest:chat:anna")):
            with pytest.raises(NotFound):
                await found["result_read"].run(stranger, {"id": event.id})
        elsewhere = replace(context, thread="th_other")
        assert await found["result_read"].run(elsewhere, {"id": event.id})


async def test_each_has_a_text_for_the_model_and_a_schema_that_refuses_nonsense(tmp_path: Path) -> None:
    async with tools(tmp_path) as (found, _, _context):
        for tool in found.values():
            assert len(tool.entry.description) > 40
            assert check(tool.entry.parameters, {"nonsense": 1}).refusal


async def test_the_names_of_all_of_them_are_reserved_and_those_of_outputs(tmp_path: Path) -> None:
    async with tools(tmp_path) as (found, _, _):
        assert found.keys() == RESERVED.names - set(AGENTS)
    assert "output_send__chat" in RESERVED
    assert "cmd_run" not in RESERVED
