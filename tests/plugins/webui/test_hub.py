"""One stream to many pages; a slow one is dropped, one that comes back goes on."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import trio
import trio.testing

from plugins.webui.hub import PAST, STANDING, UNDER_WAY, Hub, Watcher

from .standin import Said


def notice(seq: int, type_: str = "tool_call", thread: str = "t1", **data: object) -> Said:
    return Said(seq, type_, thread, "turn", data)


def seqs(hub: Hub, cursor: str, thread: str = "t1") -> list[int] | None:
    missed = hub.missed(cursor, thread)
    return None if missed is None else [one.seq for one in missed]


def test_a_page_hears_its_own_thread_and_that_others_changed() -> None:
    hub = Hub()
    mine = hub.join("t1", owner=True)
    for seq, (type_, thread) in enumerate(
        [("content_delta", "t1"), ("content_delta", "t2"), ("turn", "t2"), ("tool_call", "t2"), ("plugin_state", "")], 1
    ):
        hub.publish(notice(seq, type_, thread))
    assert [one.seq for one in mine.take()] == [1, 3, 5]


def test_the_daemons_own_notices_are_for_owners() -> None:
    hub = Hub()
    guest = hub.join("t1", owner=False)
    hub.publish(notice(1, "plugin_state", ""))
    hub.publish(notice(2, "system", ""))
    assert guest.take() == []


def test_a_page_that_falls_behind_is_dropped_and_holds_nobody_up() -> None:
    """E41: no send on a closed or full channel, no lock: the others hear everything."""
    hub = Hub(queue=3)
    slow, quick = hub.join("t1", owner=True), hub.join("t1", owner=True)
    heard = []
    for seq in range(1, 11):
        hub.publish(notice(seq))
        heard += [one.seq for one in quick.take()]
    assert slow.overrun
    assert slow.take() == []
    assert heard == list(range(1, 11))


def test_leaving_twice_is_leaving() -> None:
    hub = Hub()
    page = hub.join("t1", owner=True)
    hub.leave(page)
    hub.leave(page)
    assert hub.watchers == 0
    hub.publish(notice(1))
    assert page.take() == []


def test_what_a_page_missed_is_what_came_after_its_cursor_in_its_thread() -> None:
    """D4"""
    hub = Hub()
    for seq, thread in [(1, "t1"), (2, "t2"), (3, "t1"), (4, "t1")]:
        hub.publish(notice(seq, thread=thread))
    assert seqs(hub, hub.cursor(1)) == [3, 4]
    assert seqs(hub, hub.cursor(4)) == []


def test_deltas_are_not_kept() -> None:
    """E41: deltas are never replayed; the turn under way comes as one text."""
    hub = Hub()
    hub.publish(notice(1, "content_delta"))
    hub.publish(notice(2, "reasoning_delta"))
    hub.publish(notice(3))
    assert seqs(hub, hub.cursor(0)) == [3]


def test_a_gap_bigger_than_the_ring_is_known() -> None:
    hub = Hub(ring=2)
    for seq in range(1, 5):
        hub.publish(notice(seq))
    assert seqs(hub, hub.cursor(1)) is None
    assert seqs(hub, hub.cursor(2)) == [3, 4]


def test_a_cursor_of_another_daemon_or_none_at_all_is_a_gap() -> None:
    hub = Hub()
    hub.begin(7)
    assert seqs(hub, Hub().cursor(9)) is None
    assert seqs(hub, "") is None
    assert seqs(hub, f"{hub.epoch}-x") is None
    assert seqs(hub, hub.cursor(6)) is None, "before the subscription"
    assert seqs(hub, hub.cursor(7)) == []


def test_when_the_plugin_itself_lost_notices_every_page_loads_afresh() -> None:
    hub = Hub()
    hub.publish(notice(1))
    page = hub.join("t1", owner=True)
    hub.lost(3)
    assert page.overrun
    assert seqs(hub, hub.cursor(0)) is None
    assert seqs(hub, hub.cursor(4)) == []
    hub.publish(notice(5))
    assert seqs(hub, hub.cursor(4)) == [5]


def test_who_was_away_while_notices_were_lost_is_not_told_that_there_were_none() -> None:
    hub = Hub()
    hub.publish(notice(1))
    hub.lost(3)
    hub.publish(notice(5))
    assert [seqs(hub, hub.cursor(seen)) for seen in (1, 2, 3)] == [None] * 3


async def test_waiting_ends_with_a_notice_or_the_limit(autojump_clock: trio.testing.MockClock) -> None:
    hub = Hub()
    page = hub.join("t1", owner=True)
    await page.wait(15)
    assert trio.current_time() == 15
    async with trio.open_nursery() as nursery:
        nursery.start_soon(page.wait, 15)
        await trio.testing.wait_all_tasks_blocked()
        hub.publish(notice(1))
    assert trio.current_time() == 15
    assert len(page.take()) == 1


@pytest.mark.parametrize("end", [Watcher.overtake, Watcher.close])
async def test_an_end_that_comes_before_a_take_is_heard_by_the_next_wait(
    autojump_clock: trio.testing.MockClock, end: Callable[[Watcher], None]
) -> None:
    """A stream takes twice for one batch; what ends it in between must not wait for the next heartbeat."""
    page = Hub().join("t1", owner=True)
    end(page)
    assert page.take() == []
    await page.wait(15)
    assert trio.current_time() == 0


def test_a_cursor_that_was_never_made_here_is_no_place_in_the_stream() -> None:
    hub = Hub()
    hub.publish(notice(1))
    for number in ("", "x", "-1", "9" * 5000, "\u00b2"):
        assert seqs(hub, f"{hub.epoch}-{number}") is None, number
    assert seqs(hub, hub.cursor(0)) == [1]


def test_that_memory_changed_is_told_to_every_page_and_how_far_the_daemon_is_to_owners() -> None:
    hub = Hub()
    mine, other, guest = hub.join("", owner=True), hub.join("t2", owner=True), hub.join("t2", owner=False)
    hub.publish(notice(1, "memory", "t1", what="written"))
    hub.publish(notice(2, "progress", "", what="vectors", done=1, total=2))
    hub.publish(notice(3, "progress", "t1", what="loading", done=1, total=2))
    assert [[one.seq for one in page.take()] for page in (mine, other, guest)] == [[1, 2], [1, 2], [1]]


def test_a_page_that_opens_hears_where_the_daemons_work_is_though_its_ring_keeps_no_progress() -> None:
    hub = Hub()
    hub.publish(notice(1, "memory", "t1", what="written"))
    for seq, what in enumerate(["vectors", "doctor", "vectors", "vectors"], start=2):
        hub.publish(notice(seq, "progress", "", what=what, done=seq, total=9))
    hub.publish(notice(6, "progress", "t1", what="loading", done=1, total=2))
    owners, guests = (hub.missed(hub.cursor(0), "t1", owner=owner) for owner in (True, False))
    assert [one.seq for one in owners or ()] == [1, 3, 5]
    assert [one.seq for one in guests or ()] == [1]
    assert seqs(hub, hub.cursor(5)) == []
    for seq in range(7, 7 + 5 * STANDING):
        hub.publish(notice(seq, "progress", "", what=str(seq), done=1, total=2))
    assert len(hub.missed(hub.cursor(1), "t1", owner=True) or ()) == STANDING
    hub.lost(1)
    assert hub.missed(hub.cursor(hub.latest), "t1", owner=True) == []


def test_how_far_a_turn_is_before_its_first_word_is_kept_for_who_hears_of_its_thread() -> None:
    hub = Hub()
    for seq, done in enumerate([1, 2, 3], start=1):
        hub.publish(notice(seq, "progress", what="loading", done=done, total=5))
    for type_, data in (("recall", {}), ("turn", {"phase": "joined"}), ("raw_input", {}), ("thread", {"title": "x"})):
        hub.publish(notice(hub.latest + 1, type_, **data))
    found = hub.progress("turn", "t1")
    assert found is not None
    assert found.data["done"] == 3
    assert hub.progress("turn", "t2", owner=True) is None
    assert hub.progress("turn", "", owner=True) is None
    assert hub.progress("another", "t1", owner=True) is None


@pytest.mark.parametrize(
    ("type_", "data"),
    [*((type_, {}) for type_ in sorted(PAST)), ("turn", {"phase": "end"}), ("turn", {"phase": "suspended"})],
)
def test_it_is_gone_once_the_turn_is_past_it(type_: str, data: dict[str, str]) -> None:
    hub = Hub()
    hub.publish(notice(1, "progress", what="loading", done=1, total=5))
    hub.publish(Said(2, type_, "t1", "another", data))
    assert hub.progress("turn", "t1") is not None
    hub.publish(notice(3, type_, **data))
    assert hub.progress("turn", "t1") is None


def test_what_is_kept_of_turns_has_a_bound_and_goes_when_notices_were_lost() -> None:
    hub = Hub()
    for seq in range(1, 3 * UNDER_WAY):
        hub.publish(Said(seq, "progress", "t1", f"turn{seq}", {"what": "loading"}))
    kept = [seq for seq in range(1, 3 * UNDER_WAY) if hub.progress(f"turn{seq}", "t1")]
    assert kept == list(range(2 * UNDER_WAY, 3 * UNDER_WAY))
    hub.lost(1)
    assert hub.progress(f"turn{kept[-1]}", "t1") is None
