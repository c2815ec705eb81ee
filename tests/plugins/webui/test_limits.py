"""Buckets that fill with time, and slots that are given back."""

from __future__ import annotations

import pytest
import trio
import trio.testing

from plugins.webui.limits import KNOWN, Buckets, Slots, TooMany


async def test_a_bucket_gives_a_burst_and_then_its_rate(autojump_clock: trio.testing.MockClock) -> None:
    bucket = Buckets(3, 2)
    assert [bucket.wait("a") for _ in range(4)] == [0, 0, 0, 0.5]
    assert bucket.wait("b") == 0, "another's is another's"
    await trio.sleep(0.5)
    assert bucket.wait("a") == 0
    assert bucket.wait("a") == 0.5
    await trio.sleep(100)
    assert [bucket.wait("a") for _ in range(4)] == [0, 0, 0, 0.5], "never more than the burst"


def test_more_than_the_burst_is_given_once_and_owed() -> None:
    bucket = Buckets(10, 1, clock=lambda: 0.0)
    assert bucket.wait("a", 30) == 0
    assert bucket.wait("a", 1) == 21


def test_a_refusal_says_when_to_come_back_and_memory_is_bounded() -> None:
    now = 0.0
    bucket = Buckets(1, 0.1, clock=lambda: now)
    bucket.take("a")
    with pytest.raises(TooMany) as caught:
        bucket.take("a")
    assert caught.value.detail == {"wait": 10}
    for n in range(3 * KNOWN):
        bucket.take(str(n))
    assert len(bucket._left) == KNOWN


def test_slots_are_counted_and_given_back() -> None:
    slots = Slots(2)
    with slots.slot("a"), slots.slot("a"), slots.slot("b"):
        with pytest.raises(TooMany):
            slots.check("a")
        with pytest.raises(TooMany), slots.slot("a"):
            pass
    slots.check("a")
    assert slots._taken == {}
