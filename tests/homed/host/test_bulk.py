"""Large values between the kernel and real plugins, both ways, and what is left of them."""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from homed.errors import InvalidInput, ProtocolError, TimedOut, Unavailable
from homed.host.arena import Arena, open_arena
from homed.host.bulk import ROOM_WAIT, Bulk
from homed.host.host import Host
from homed.host.session import Caller, Session
from homed.wire.layout import PAGE
from homed.wire.layout.arena import CONTENT, KEY
from tests.kit.bulk import bulk, invoke
from tests.kit.hosting import RecordingDispatcher, hosting, manifest
from tests.kit.hosting import invoke as invoke_child

TEXT = "x" * 100_000


def arena_of(host: Host, name: str) -> Arena:
    running = host._roster.supervisor(name).front.running
    assert isinstance(running, Session)
    assert running.areas.arena is not None
    return running.areas.arena


class Echoing(RecordingDispatcher):
    """Gives a call of ``io.inject`` back, or what ``answers`` says of it."""

    def __init__(self) -> None:
        super().__init__()
        self.stuck = trio.Event()

    async def dispatch(self, caller: Caller, method: str, params: Mapping[str, object]) -> object:
        answer = await super().dispatch(caller, method, params)
        if method == "io.history":
            self.stuck.set()
            await trio.sleep_forever()
        return dict(params) if method == "io.inject" else answer


@pytest.mark.parametrize("size", [65_000, 66_000, 8 << 20])
async def test_large_arguments_and_results_come_whole(tmp_path: Path, size: int) -> None:
    text = ("x" * 63 + "\n") * (size // 64)
    async with hosting(tmp_path, bulk("mule")) as host:
        await host.wait_ready("mule")
        for value in (text, {"deep": [text, 1, None, {"é": "ü"}]}, [text]):
            assert await invoke(host, "mule", "echo", value=value) == value
        assert await invoke(host, "mule", "make", size=size) == "é" * size
        assert arena_of(host, "mule").in_use == 0


async def test_what_a_plugin_asks_of_the_kernel_and_is_told_may_be_large_too(tmp_path: Path) -> None:
    dispatcher = Echoing()
    async with hosting(tmp_path, bulk("mule", capabilities=["io"]), dispatcher=dispatcher) as host:
        await host.wait_ready("mule")
        params = {"text": TEXT, "more": {"a": ["é" * 100_000]}, "small": 1}
        got = await invoke(host, "mule", "ask", method="io.inject", params=params)
        assert {name: value for name, value in got.items() if name != "call"} == params
        assert [{**given, "call": ""} for _, method, given in dispatcher.calls if method == "io.inject"] == [
            {**params, "call": ""}
        ]
        assert arena_of(host, "mule").in_use == 0


async def test_a_call_refused_or_stopped_leaves_nothing_in_the_arena(tmp_path: Path) -> None:
    dispatcher = Echoing()
    async with hosting(tmp_path, bulk("mule", capabilities=["io"]), dispatcher=dispatcher) as host:
        await host.wait_ready("mule")
        with pytest.raises(AssertionError, match="admin"):
            await invoke(host, "mule", "ask", method="admin.status", params={"text": TEXT})
        assert arena_of(host, "mule").in_use == 0
        with pytest.raises(TimedOut, match="was stopped"):
            await invoke(host, "mule", "ask", method="io.history", params={"text": TEXT}, timeout=2)
        assert dispatcher.stuck.is_set()
        assert await invoke(host, "mule", "echo", value=TEXT) == TEXT
        assert arena_of(host, "mule").in_use == 0


async def test_many_large_values_at_once_share_the_arena(tmp_path: Path) -> None:
    async with hosting(tmp_path, bulk("mule", in_flight=8)) as host:
        await host.wait_ready("mule")
        done = []

        async def one(number: int) -> None:
            text = str(number) * (4 << 20)
            assert await invoke(host, "mule", "echo", value=text, timeout=60) == text
            done.append(number)

        async with trio.open_nursery() as nursery:
            for number in range(10):
                nursery.start_soon(one, number)
        assert sorted(done) == list(range(10))
        assert arena_of(host, "mule").in_use == 0


async def test_a_plugin_that_holds_all_of_it_is_told_so_and_harms_nobody_but_itself(tmp_path: Path) -> None:
    async with hosting(tmp_path, bulk("mule"), bulk("other")) as host:
        await host.wait_ready("mule")
        await host.wait_ready("other")
        assert await invoke(host, "mule", "hold", count=63) == 63
        with pytest.raises(Unavailable, match="no room"):
            await invoke(host, "mule", "echo", value="x" * (2 << 20), timeout=1)
        assert await invoke(host, "other", "echo", value=TEXT) == TEXT
        assert await invoke(host, "mule", "echo", value="small") == "small"


async def test_who_waits_for_room_in_a_plugin_that_dies_hears_so_at_once(tmp_path: Path) -> None:
    async with hosting(tmp_path, bulk("mule")) as host:
        await host.wait_ready("mule")
        assert await invoke(host, "mule", "hold", count=63) == 63

        async def waiting() -> None:
            with pytest.raises(Unavailable, match="ended during"):
                await invoke(host, "mule", "echo", value="x" * (2 << 20), timeout=600)

        with trio.fail_after(60):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(waiting)
                await trio.testing.wait_all_tasks_blocked(0.05)
                os.kill(host.status("mule").pid or 0, signal.SIGKILL)


async def test_after_large_values_the_system_gets_back_what_the_c_library_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    times: list[int] = []
    monkeypatch.setattr("homed.host.bulk.give_back", lambda: times.append(1))
    with open_arena("mule") as arena:
        ours = Bulk(arena, lambda _: None)
        ours.used = True
        for length, wanted in ((1 << 20, 0), (8 << 20, 1)):
            _, lent = await ours.lend({"args": "x" * length}, timeout=1)
            ours.take_back(lent)
            for _ in range(4):
                ours.trim()
            assert len(times) == wanted


async def test_who_knows_nothing_of_areas_gets_everything_in_the_line(tmp_path: Path) -> None:
    async with hosting(tmp_path, manifest("good")) as host:
        await host.wait_ready("good")
        assert await invoke_child(host, "good", value=TEXT) == {"value": TEXT}
        assert arena_of(host, "good").in_use == 0
        with pytest.raises(InvalidInput, match="at most"):
            await invoke_child(host, "good", value="x" * (2 << 20))


# The kernel's end alone.


@pytest.fixture
def small() -> Any:
    """An arena of 48 pages and its kernel's end, whose misuses are noted."""
    with open_arena("mule", CONTENT + 48 * PAGE) as arena:
        misuses: list[str] = []
        ours = Bulk(arena, misuses.append)
        ours.used = True
        yield ours, arena, misuses


async def test_room_is_waited_for_so_long_and_no_longer(small: Any, autojump_clock: MockClock) -> None:
    ours, arena, _ = small
    framed, lent = await ours.lend({"args": "x" * 40 * PAGE}, timeout=1)
    assert framed == {KEY: {"args": {"off": CONTENT, "len": 40 * PAGE, "as": "text"}}}
    begun = trio.current_time()
    with pytest.raises(Unavailable, match="no room"):
        await ours.lend({"args": TEXT}, timeout=7)
    assert trio.current_time() - begun == 7
    with pytest.raises(Unavailable, match="no room"):
        await ours.given({"a": TEXT})
    assert trio.current_time() - begun == 7 + ROOM_WAIT
    with pytest.raises(InvalidInput, match="holds"):
        await ours.lend({"args": "x" * 49 * PAGE}, timeout=7)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(ours.given, {"a": TEXT})
        await wait_all_tasks_blocked()
        ours.take_back(lent)
    assert arena.in_use == 25 * PAGE


async def test_what_the_kernel_lent_is_not_the_plugins_to_free_or_to_name(small: Any) -> None:
    ours, arena, misuses = small
    _, lent = await ours.lend({"args": TEXT}, timeout=1)
    with pytest.raises(ProtocolError, match="no block of yours"):
        ours.free(CONTENT)
    with pytest.raises(ProtocolError, match="no block of yours"):
        ours.taken({KEY: {"a": ref(CONTENT)}})
    assert len(misuses) == 2
    ours.take_back(lent)
    assert arena.in_use == 0


async def test_what_was_given_is_the_plugins_to_free_once(small: Any) -> None:
    ours, arena, misuses = small
    framed = await ours.given({"a": TEXT, "b": 1})
    assert framed == {"b": 1, KEY: {"a": {"off": CONTENT, "len": len(TEXT), "as": "text"}}}
    ours.free(CONTENT)
    assert arena.in_use == 0
    with pytest.raises(ProtocolError):
        ours.free(CONTENT)
    assert len(misuses) == 1


async def test_a_result_that_cannot_be_written_leaves_nothing_behind(small: Any) -> None:
    ours, arena, _ = small
    with pytest.raises(InvalidInput):
        await ours.given({"a": TEXT, "b": object()})
    assert arena.in_use == 0


def test_a_value_that_cannot_be_read_is_freed_and_is_no_misuse(small: Any) -> None:
    ours, arena, misuses = small
    for kind in ("text", "json", "bytes"):
        off = ours.alloc(3)
        arena._view[off : off + 3] = b"\xff\xfe\xfd"
        with pytest.raises(InvalidInput):
            ours.taken({KEY: {"a": {"off": off, "len": 3, "as": kind}}})
    off = ours.alloc(3)
    assert ours.taken({KEY: {"a": {"off": off, "len": 3, "as": "bytes"}}}, binary="a")["a"] is not None
    assert (arena.in_use, misuses) == (0, [])


def test_frames_that_nobody_reads_give_their_blocks_back(small: Any) -> None:
    ours, arena, misuses = small
    off = ours.alloc(3)
    frames: tuple[object, ...] = (None, [], {"a": 1}, {KEY: {"a": ref(off)}})
    for frame in frames:
        ours.untaken(frame)
    assert (arena.in_use, misuses) == (0, [])
    ours.untaken({KEY: {"a": ref(off)}})
    assert len(misuses) == 1


def test_one_wrong_name_of_several_takes_nothing(small: Any) -> None:
    ours, arena, _ = small
    off = ours.alloc(3)
    with pytest.raises(ProtocolError):
        ours.taken({KEY: {"a": ref(off), "b": ref(off + PAGE)}})
    with pytest.raises(ProtocolError, match="twice"):
        ours.taken({KEY: {"a": ref(off), "b": ref(off)}})
    assert arena.in_use == PAGE


async def test_without_an_arena_everything_stays_in_the_line() -> None:
    ours = Bulk(None, lambda _: None)
    ours.used = True
    assert await ours.lend({"a": TEXT}, timeout=1) == ({"a": TEXT}, [])
    assert await ours.given({"a": TEXT}) == {"a": TEXT}
    assert ours.taken({"a": TEXT}) == {"a": TEXT}
    with pytest.raises(ProtocolError, match="no arena"):
        ours.taken({KEY: {"a": ref(CONTENT)}})
    for call in (lambda: ours.alloc(1), lambda: ours.free(1)):
        with pytest.raises(Unavailable, match="no arena"):
            call()


def ref(off: int) -> dict[str, object]:
    return {"off": off, "len": 1, "as": "text"}
