"""C11: with a rollback journal, readers and the writer take turns."""

from __future__ import annotations

import trio
from trio.testing import wait_all_tasks_blocked

from homed.store.gate import Turnstile


async def test_readers_share_the_writer_is_alone_and_nobody_starves(autojump_clock: trio.abc.Clock) -> None:
    gate, log, inside = Turnstile(3), [], 0

    async def read(name: str, seconds: float) -> None:
        nonlocal inside
        async with gate.reading():
            inside += 1
            log.append(name)
            await trio.sleep(seconds)
            inside -= 1

    async def write(name: str) -> None:
        async with gate.writing():
            assert inside == 0
            log.append(name)
            await trio.sleep(1)
            assert inside == 0

    async with trio.open_nursery() as nursery:
        for task in ((read, "r1", 1.0), (read, "r2", 2.0), (write, "w1"), (read, "r3", 1.0), (write, "w2")):
            nursery.start_soon(*task)
            await wait_all_tasks_blocked()
    assert log[:2] == ["r1", "r2"]
    assert log[2:] == ["w1", "r3", "w2"]


async def test_who_is_cancelled_while_waiting_holds_nothing(autojump_clock: trio.abc.Clock) -> None:
    gate = Turnstile(2)
    async with gate.reading():
        with trio.move_on_after(1):
            async with gate.writing():
                raise AssertionError
    with trio.fail_after(1):
        async with gate.writing():
            pass
        async with gate.reading(), gate.reading():
            pass
