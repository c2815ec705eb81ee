"""The stage segment between the kernel and real plugins: nothing lost, nothing cut, nobody kept waiting for ever."""

from __future__ import annotations

import errno
import os
from contextlib import AsyncExitStack, closing
from pathlib import Path

import pytest
import trio
import trio.testing
from trio.testing import MockClock

from homed.errors import InvalidInput, Unavailable
from homed.host.segment import Segment
from homed.wire.layout import PAGE
from homed.wire.layout.segment import CONTENT, SLOTS
from tests.kit.processes import open_fds
from tests.kit.staging import staging

ROUNDS = 100


async def test_five_plugins_change_one_context_at_once_and_no_change_is_lost(tmp_path: Path) -> None:
    async with staging(tmp_path, 5) as all_five:
        assert all(all_five.host.segment.reads(name) for name in all_five.plugins)
        for _ in range(ROUNDS):
            await all_five.by_field()
        assert all_five.lost(ROUNDS) == 0
        assert all_five.conflicts == 4 * ROUNDS, "the first sets the scalar, the other four clash with the one before"


async def test_copying_the_whole_context_loses_changes_which_is_why_nobody_does(tmp_path: Path) -> None:
    async with staging(tmp_path, 5) as all_five:
        for _ in range(20):
            await all_five.by_copy()
        assert all_five.lost(20) > 0, "or the test above could not fail"


async def test_several_contexts_stand_side_by_side_and_the_next_waits_for_room(autojump_clock: MockClock) -> None:
    with closing(Segment(CONTENT + 4 * PAGE)) as segment:
        async with AsyncExitStack() as held, trio.open_nursery() as nursery:
            numbers = [await held.enter_async_context(segment.held({"a": "x" * 3000}, timeout=1)) for _ in range(4)]
            assert len(set(numbers)) == 4
            begun = trio.current_time()
            with pytest.raises(Unavailable, match="no room"):
                async with segment.held({"a": "x"}, timeout=5):
                    pass
            assert trio.current_time() - begun == 5
            got = trio.Event()

            async def wait() -> None:
                async with segment.held({"a": "x" * 3000}, timeout=60) as number:
                    assert number not in numbers
                    got.set()

            nursery.start_soon(wait)
            await trio.testing.wait_all_tasks_blocked()
            assert not got.is_set()
            await held.aclose()
            await got.wait()


async def test_no_more_contexts_than_slots_and_a_long_held_slot_is_stepped_over(autojump_clock: MockClock) -> None:
    with closing(Segment()) as segment:
        async with segment.held({"long": "held"}, timeout=1) as first:
            numbers = []
            for _ in range(3 * SLOTS):
                async with segment.held({"a": 1}, timeout=1) as number:
                    numbers.append(number)
            assert first % SLOTS not in {number % SLOTS for number in numbers}
            async with AsyncExitStack() as held:
                for _ in range(SLOTS - 1):
                    await held.enter_async_context(segment.held({"a": 1}, timeout=1))
                with pytest.raises(Unavailable, match="no room"):
                    async with segment.held({"a": 1}, timeout=5):
                        pass


async def test_what_never_fits_is_refused_at_once(autojump_clock: MockClock) -> None:
    with closing(Segment(CONTENT + PAGE)) as segment:
        with pytest.raises(InvalidInput, match="fit in the segment"):
            async with segment.held({"a": "x" * PAGE}, timeout=5):
                pass
        with pytest.raises(InvalidInput, match="JSON"):
            async with segment.held({"a": object()}, timeout=5):
                pass
        async with segment.held({"a": "x"}, timeout=5):
            pass


async def test_a_stage_that_outlives_it_ends_in_peace() -> None:
    segment = Segment()
    async with segment.held({"raw_message": "x"}, timeout=1):
        segment.close()
        with pytest.raises(Unavailable):
            await segment.held({"raw_message": "y"}, timeout=1).__aenter__()


def test_without_a_descriptor_to_read_it_by_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_args: object) -> int:
        raise OSError(errno.EMFILE, "Too many open files")

    segment, before = Segment(), open_fds()
    with monkeypatch.context() as few:
        few.setattr(os, "open", refuse)
        with pytest.raises(Unavailable, match="shared memory"):
            _ = segment.fd
    assert open_fds() == before
    segment.close()


def test_nothing_is_left_of_it_and_without_a_reader_there_never_was_anything() -> None:
    before = sorted(os.listdir("/proc/self/fd"))
    maps = Path("/proc/self/maps").read_text().count("homed-segment")
    segment = Segment()
    assert sorted(os.listdir("/proc/self/fd")) == before
    assert segment.fd >= 0
    assert Path("/proc/self/maps").read_text().count("homed-segment") == maps + 1
    segment.close()
    assert sorted(os.listdir("/proc/self/fd")) == before
    assert Path("/proc/self/maps").read_text().count("homed-segment") == maps
    with pytest.raises(Unavailable, match="closed"):
        _ = segment.fd
