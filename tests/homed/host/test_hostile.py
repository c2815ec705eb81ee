"""A plugin that wants what is not its own, as a real process that speaks the wire without any SDK of ours."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import trio

from homed.errors import PluginFailed, Unavailable
from homed.host.host import Host
from homed.host.session import Session
from homed.host.states import State
from tests.kit.bulk import bulk, invoke
from tests.kit.hosting import hosting

CHILD = Path(__file__).parents[2] / "kit" / "children" / "hostile.py"


def hostile(name: str = "rat", **more: Any) -> dict[str, Any]:
    tool = {"name": f"try_{name}", "description": "Tries.", "class": "read", "parallel_safe": True}
    stages = [{"stage": "pre_action", "scope": "global", "order": 0, "on_failure": "open"}]
    return {"name": name, "version": "1.0", "entry": f"python {CHILD}", "tools": [tool], "stages": stages, **more}


async def attempt(host: Host, do: str, **args: object) -> Any:
    params = {"tool": "try_rat", "args": {"do": do, **args}, "call": "t", "timeout": 60, "context": {}}
    return await host.call("rat", "tool.invoke", params, timeout=60)


def session(host: Host, name: str) -> Session:
    running = host._roster.supervisor(name).front.running
    assert isinstance(running, Session)
    return running


async def test_the_system_refuses_all_it_may_try_on_its_areas(tmp_path: Path) -> None:
    async with hosting(tmp_path, hostile(), bulk("mule")) as host:
        await host.wait_ready("rat")
        await host.wait_ready("mule")
        tried = (await attempt(host, "system"))["content"]
        done = {
            f"{area}: {name}": what for area in tried for name, what in tried[area].items() if "refused" not in what
        }
        assert done == {}
        assert len(tried["segment"]) == 17
        assert len(tried["arena"]) == 6
        async with host.segment.held({"phase": "pre_action"}, timeout=1) as seq:
            assert seq
        assert await invoke(host, "mule", "echo", value="x" * 100_000) == "x" * 100_000


async def test_it_has_no_area_but_its_own(tmp_path: Path) -> None:
    async with hosting(tmp_path, hostile(), bulk("mule")) as host:
        await host.wait_ready("mule")
        await host.wait_ready("rat")
        assert (await attempt(host, "fds"))["content"] == [
            "/memfd:homed-arena-rat (deleted)", "/memfd:homed-arena-rat (deleted)",  # its mapping keeps one
            "/memfd:homed-segment (deleted)",
        ]  # fmt: skip


@pytest.mark.parametrize(
    "changed",
    [{"stages": []}, {"stages": [{"stage": "pre_action", "scope": "own-tools", "order": 0, "on_failure": "open"}]}],
)
async def test_who_has_no_handler_for_every_tool_gets_no_segment(tmp_path: Path, changed: dict[str, Any]) -> None:
    async with hosting(tmp_path, hostile(**changed)) as host:
        if changed["stages"]:  # it registers what it may not, which is another test's; here it is about the descriptors
            plan = host._roster.supervisor("rat").plan
            with host._launcher._ports.areas.of(plan) as areas:  # type: ignore[attr-defined]
                assert "HOMED_FD_SEGMENT" not in areas.env
            return
        await host.wait_ready("rat")
        assert not [fd for fd in (await attempt(host, "fds"))["content"] if "segment" in fd]


OFF = 1 << 20


@pytest.mark.parametrize(
    "named",
    [
        {"content": {"off": OFF, "len": 10, "as": "text"}},
        {"content": {"off": 0, "len": 4096, "as": "text"}},
        {"content": {"off": -4096, "len": 10, "as": "text"}},
        {"content": {"off": 64 << 20, "len": 10, "as": "text"}},
        {"content": {"off": (1 << 63) - 1, "len": 1 << 62, "as": "text"}},
        {"content": {"off": "4096", "len": 10, "as": "text"}},
        {"content": {"off": 4096, "len": 64 << 20, "as": "text"}},
        {"content": {"off": 4097, "len": 1, "as": "text"}},
        {"content": {"off": 4096, "len": 11, "as": "text"}},
        {"content": {"off": 4096, "len": 10, "as": "pickle"}},
        {"is_error": {"off": 4096, "len": 10, "as": "text"}},
        {"content": {"off": 4096, "len": 10, "as": "text"}, "other": {"off": 4096, "len": 10, "as": "text"}},
        "content", [], {}, None,
    ],
)  # fmt: skip
async def test_a_result_that_names_what_is_not_its_own_fails_and_changes_nothing(tmp_path: Path, named: Any) -> None:
    async with hosting(tmp_path, hostile()) as host:
        await host.wait_ready("rat")
        # the one block it has, of ten bytes, is at 4096
        assert (await attempt(host, "block", text="0123456789"))["content"] == 4096
        with pytest.raises(PluginFailed, match="cannot be read"):
            await attempt(host, "answer", result={"is_error": False, "$arena": named})
        assert session(host, "rat").areas.arena.in_use == 4096  # type: ignore[union-attr]
        good = {"is_error": False, "$arena": {"content": {"off": 4096, "len": 10, "as": "text"}}}
        assert await attempt(host, "answer", result=good) == {"is_error": False, "content": "0123456789"}
        with pytest.raises(PluginFailed, match="no block of yours"):
            await attempt(host, "answer", result=good)


async def test_the_third_misuse_ends_it_and_nobody_else(tmp_path: Path) -> None:
    async with hosting(tmp_path, hostile(), bulk("mule")) as host:
        await host.wait_ready("rat")
        await host.wait_ready("mule")
        free = {"method": "core.arena_free", "params": {"off": 4096}}
        params = {"method": "core.log", "params": {"$arena": {"message": {"off": 4096, "len": 1, "as": "text"}}}}
        for wrong in (free, params):
            assert (await attempt(host, "ask", **wrong))["content"]["data"]["code"] == "protocol"
        assert host.status("rat").state is State.READY
        with suppress(Unavailable):  # it may still hear of it before it ends
            await attempt(host, "ask", **free)
        with trio.fail_after(60):
            await host._roster.supervisor("rat").front.wait(lambda: host.status("rat").state is State.BACKOFF)
        assert "it broke the protocol of its arena" in host.status("rat").reason
        assert await invoke(host, "mule", "echo", value="x" * 100_000) == "x" * 100_000


@pytest.mark.parametrize("kind", ["text", "json"])
async def test_bytes_that_change_while_they_are_read_are_read_as_one_copy_or_refused(tmp_path: Path, kind: str) -> None:
    async with hosting(tmp_path, hostile(), bulk("mule")) as host:
        await host.wait_ready("rat")
        await host.wait_ready("mule")
        for _ in range(12):
            try:
                content = (await attempt(host, "flicker", size=1 << 20, **{"as": kind}))["content"]
            except PluginFailed as error:
                content = error.message
            assert isinstance(content, str)
        assert session(host, "rat").areas.arena.in_use == 0  # type: ignore[union-attr]
        assert await invoke(host, "mule", "echo", value="x" * 100_000) == "x" * 100_000


async def test_a_plugin_killed_while_it_holds_blocks_leaves_nothing_and_the_others_go_on(tmp_path: Path) -> None:
    async with hosting(tmp_path, hostile(), bulk("mule")) as host:
        await host.wait_ready("rat")
        await host.wait_ready("mule")
        before = shared()
        with pytest.raises(Unavailable):
            await attempt(host, "die")
        text = "é" * 100_000
        assert await invoke(host, "mule", "echo", value=text) == text
        assert (await host.stop("rat")).state is State.STOPPED
        left = {kind: before[kind] - now for kind, now in shared().items()}
        assert left == {"descriptors": 2, "mappings": 1}, "its arena: the file, and the mapping with a descriptor"
        assert (await host.start("rat")).state is State.READY
        assert shared() == before


async def test_lives_that_end_leave_no_descriptor_and_no_mapping(tmp_path: Path) -> None:
    before = shared()
    async with hosting(tmp_path, hostile(), bulk("mule")) as host:
        await host.wait_ready("mule")
        first = shared()
        for _ in range(4):
            assert await invoke(host, "mule", "echo", value="x" * 100_000) == "x" * 100_000
            await host.stop("mule")
            await host.start("mule")
        assert shared() == first
    assert shared() == before


def shared() -> dict[str, int]:
    """What this process holds of shared memory."""
    descriptors = 0
    for fd in os.listdir("/proc/self/fd"):
        try:
            descriptors += "memfd:homed" in os.readlink(f"/proc/self/fd/{fd}")
        except OSError:
            continue  # the listing's own
    return {"descriptors": descriptors, "mappings": Path("/proc/self/maps").read_text().count("memfd:homed")}
