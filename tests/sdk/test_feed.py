"""Who gets which notice."""

from __future__ import annotations

from collections.abc import Mapping

import trio
from trio.testing import wait_all_tasks_blocked

from homed.sdk.feed import KNOWN, Feed


class Seen:
    """What was sent, and which threads the kernel was asked about."""

    def __init__(self, *visible: str) -> None:
        self.visible = set(visible)
        self.unknown = False
        self.asked: list[str] = []
        self.sent: list[tuple[str, Mapping[str, object]]] = []

    async def may(self, thread: str) -> bool | None:
        await trio.lowlevel.checkpoint()
        self.asked.append(thread)
        return None if self.unknown else thread in self.visible

    async def send(self, method: str, params: Mapping[str, object]) -> None:
        await trio.lowlevel.checkpoint()
        self.sent.append((method, params))

    async def run(self, feed: Feed) -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(feed.run, self.send)
            await wait_all_tasks_blocked()
            nursery.cancel_scope.cancel()


async def test_only_notices_of_visible_threads_pass_in_order_and_each_thread_is_asked_once() -> None:
    seen = Seen("mine")
    feed = Feed(seen.may, owner=False)
    for number, thread in enumerate(["mine", "theirs", "mine", "theirs", ""]):
        feed.offer({"seq": number, "thread": thread})
    await seen.run(feed)
    assert [params["seq"] for _, params in seen.sent] == [0, 2]
    assert seen.asked == ["mine", "theirs"]


async def test_notices_of_no_thread_are_the_owners() -> None:
    seen = Seen()
    feed = Feed(seen.may, owner=True)
    feed.offer({"seq": 1, "thread": "", "type": "plugin_state"})
    await seen.run(feed)
    assert len(seen.sent) == 1


async def test_a_thread_the_kernel_let_the_peer_into_is_visible_from_then_on() -> None:
    seen = Seen()
    feed = Feed(seen.may, owner=False)
    feed.offer({"seq": 1, "thread": "new"})
    await seen.run(feed)
    feed.may_see("new")
    feed.offer({"seq": 2, "thread": "new"})
    await seen.run(feed)
    assert [params["seq"] for _, params in seen.sent] == [2]


async def test_a_thread_the_kernel_could_not_be_asked_about_is_asked_about_again() -> None:
    seen = Seen("mine")
    seen.unknown = True
    feed = Feed(seen.may, owner=False)
    feed.offer({"seq": 1, "thread": "mine"})
    await seen.run(feed)
    seen.unknown = False
    feed.offer({"seq": 2, "thread": "mine"})
    await seen.run(feed)
    assert seen.sent == [("event.lost", {"count": 1}), ("event", {"seq": 2, "thread": "mine"})]


async def test_a_slow_client_loses_the_oldest_and_is_told_how_many() -> None:
    seen = Seen("t")
    feed = Feed(seen.may, owner=False, size=3)
    for number in range(10):
        feed.offer({"seq": number, "thread": "t"})
    feed.lose(2)
    await seen.run(feed)
    assert seen.sent[0] == ("event.lost", {"count": 9})
    assert [params["seq"] for _, params in seen.sent[1:]] == [7, 8, 9]


async def test_memory_of_threads_is_bounded() -> None:
    seen = Seen()
    feed = Feed(seen.may, owner=False, size=10_000)
    for number in range(3 * KNOWN):
        feed.offer({"seq": number, "thread": str(number)})
    await seen.run(feed)
    assert len(feed._known) == KNOWN


async def test_that_a_thread_is_deleted_is_told_to_who_saw_it_and_to_the_owner() -> None:
    """It can be asked about no more."""
    gone = {"type": "thread", "data": {"deleted": True}}
    for owner, scope, known, told in (
        (False, "owner", False, False),
        (False, "g:1", True, True),
        (True, "owner", False, True),
        (True, "g:1", False, False),
    ):
        seen = Seen()
        feed = Feed(seen.may, owner=owner)
        if known:
            feed.may_see("t")
        feed.offer({**gone, "thread": "t", "scope": scope})
        await seen.run(feed)
        assert bool(seen.sent) is told, (owner, scope, known)
        assert seen.asked == []


async def test_waiting_for_a_number_ends_when_all_up_to_it_are_sent_or_held_back() -> None:
    seen, ended = Seen("mine"), []
    feed = Feed(seen.may, owner=False)
    for number, thread in enumerate(["mine", "theirs", "theirs"], 1):
        feed.offer({"seq": number, "thread": thread})

    async def wait(seq: int) -> None:
        await feed.wait_passed(seq)
        ended.append((seq, len(seen.sent)))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(wait, 3)
        nursery.start_soon(wait, 4)
        await wait_all_tasks_blocked()
        assert ended == []
        nursery.start_soon(feed.run, seen.send)
        await wait_all_tasks_blocked()
        assert ended == [(3, 1)]
        feed.skip(9)
        await wait_all_tasks_blocked()
        assert ended == [(3, 1), (4, 1)]
        nursery.cancel_scope.cancel()


async def test_notices_that_never_come_are_waited_for_by_nobody_but_those_before_them_are() -> None:
    seen, ended = Seen("mine"), []
    feed = Feed(seen.may, owner=False, size=3)

    async def wait(seq: int) -> None:
        await feed.wait_passed(seq)
        ended.append((seq, len(seen.sent)))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(wait, 5)
        nursery.start_soon(wait, 9)
        feed.offer({"seq": 1, "thread": "mine"})
        feed.offer({"seq": 2, "thread": "mine"})
        for seq in range(3, 10):
            feed.reach(seq)
        await wait_all_tasks_blocked()
        assert ended == [], "nothing was sent yet"
        await seen.run(feed)
    assert sorted(ended) == [(5, 2), (9, 2)]
    assert [params["seq"] for _, params in seen.sent] == [1, 2]


async def test_a_mark_that_is_pushed_out_is_no_loss() -> None:
    seen = Seen("t")
    feed = Feed(seen.may, owner=False, size=2)
    feed.reach(1)
    for seq in (2, 3, 4):
        feed.offer({"seq": seq, "thread": "t"})
    await seen.run(feed)
    assert seen.sent[0] == ("event.lost", {"count": 1})
    assert [params["seq"] for _, params in seen.sent[1:]] == [3, 4]
