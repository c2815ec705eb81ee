"""Following changes: bounded, the last value of each key, nothing lost."""

from __future__ import annotations

import trio
import trio.testing

from homed.settings.watch import Watch


async def test_of_several_changes_of_a_key_only_the_last_is_seen_in_its_place() -> None:
    watch = Watch("")
    for key, value in [("a", 1), ("b", 2), ("a", 3)]:
        watch.offer(key, value)
    assert [await watch.__anext__(), await watch.__anext__()] == [("b", 2), ("a", 3)]


async def test_other_keys_are_not_seen() -> None:
    watch = Watch("plugin.")
    watch.offer("core.x", 1)
    watch.offer("plugin.a.x", 2)
    assert await watch.__anext__() == ("plugin.a.x", 2)


async def test_a_reader_wakes_and_one_cancelled_loses_nothing(autojump_clock: trio.testing.MockClock) -> None:
    watch = Watch("")
    with trio.move_on_after(1):
        await watch.__anext__()
    watch.offer("a", 1)
    with trio.CancelScope() as scope:
        scope.cancel()
        await watch.__anext__()
    async with trio.open_nursery() as nursery:
        got: list[object] = []

        async def read() -> None:
            got.append(await watch.__anext__())
            got.append(await watch.__anext__())

        nursery.start_soon(read)
        await trio.testing.wait_all_tasks_blocked()
        watch.offer("b", 2)
    assert got == [("a", 1), ("b", 2)]
