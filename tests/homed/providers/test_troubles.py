"""Sources that are left alone for a while."""

from __future__ import annotations

import trio
import trio.testing

from homed.providers.troubles import Troubles


async def test_a_source_is_left_alone_for_its_time_and_no_longer(autojump_clock: trio.testing.MockClock) -> None:
    troubles = Troubles()
    troubles.note("a", "401", 10)
    await trio.sleep(9)
    found = troubles.of("a")
    assert found is not None
    assert (found.why, round(found.seconds)) == ("401", 1)
    assert troubles.willing(["a", "b"]) == ["b"]
    await trio.sleep(2)
    assert troubles.of("a") is None
    assert troubles.willing(["a", "b"]) == ["a", "b"]


async def test_when_all_are_in_trouble_all_are_asked_again(autojump_clock: trio.testing.MockClock) -> None:
    troubles = Troubles()
    for name in "ab":
        troubles.note(name, "429", 10)
    assert troubles.willing(["a", "b"]) == ["a", "b"]
    troubles.clear("b")
    assert troubles.willing(["a", "b"]) == ["b"]


async def test_an_old_failure_is_not_held_against_a_source_that_was_mended_meanwhile(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """A refusal of the old key may come long after the new one was given."""
    troubles = Troubles()
    asked = trio.current_time()
    await trio.sleep(1)
    troubles.clear("a")
    troubles.note("a", "401", 10, asked=asked)
    assert troubles.of("a") is None
    troubles.note("a", "401", 10, asked=trio.current_time())
    assert troubles.of("a") is not None
