"""Facilities at run time: one-shot, each waiter its own set, a failure told by where it began."""

import pytest
import trio
import trio.testing

from homed.errors import Unavailable
from homed.host.facilities import Facilities, Provider, Standing
from tests.kit.failpoints import RaiseAt

CHAIN = (
    Provider("config", "homed.config"),
    Provider("store", "homed.store", ("config",)),
    Provider("events", "homed.events"),
    Provider("tools", "homed.agent", ("store", "events")),
    Provider("llm", "homed.providers", ("config",), slow=True),
)


async def _outcome(facilities: Facilities, names: tuple[str, ...], into: list[str]) -> None:
    into.append(await facilities.wait(names))


async def test_a_waiter_goes_on_when_the_last_of_its_own_set_is_up(autojump_clock: trio.testing.MockClock) -> None:
    facilities, done = Facilities(CHAIN), list[str]()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_outcome, facilities, ("store", "events"), done)
        facilities.up("config")
        facilities.up("store")
        await trio.testing.wait_all_tasks_blocked()
        assert (done, facilities.waiting(("store", "events", "tools"))) == ([], ["events", "tools"])
        facilities.up("events")
        await trio.testing.wait_all_tasks_blocked()
        assert done == [""]  # though tools and llm are still coming
    assert facilities.ups == ("config", "store", "events")


async def test_a_failure_ends_the_waiting_though_others_are_still_coming(
    autojump_clock: trio.testing.MockClock,
) -> None:
    facilities, done = Facilities(CHAIN), list[str]()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_outcome, facilities, ("events", "llm"), done)
        await trio.testing.wait_all_tasks_blocked()
        facilities.fail("llm", "the model file is damaged")
        await trio.testing.wait_all_tasks_blocked()
        assert done == ["blocked on llm: the model file is damaged"]
    assert facilities.state("events") is Standing.COMING


async def test_what_needs_a_failed_one_is_blocked_on_where_it_began() -> None:
    facilities = Facilities(CHAIN)
    facilities.fail("store", "no room on the disk")
    assert facilities.state("tools") is Standing.FAILED
    assert await facilities.wait(("events", "tools")) == "blocked on store: no room on the disk"
    assert facilities.waiting(("tools", "events", "llm")) == ["events", "llm"]  # these go on


async def test_one_that_no_room_provides_is_absent() -> None:
    facilities = Facilities(CHAIN)
    assert facilities.state("scenes") == "absent"
    assert await facilities.wait(("config", "scenes")) == "blocked on scenes: this homed has none"
    assert facilities.waiting(("scenes",)) == []


def test_one_that_is_up_stays_up() -> None:
    facilities = Facilities(CHAIN)
    facilities.up("config")
    facilities.fail("config", "too late")
    facilities.up("config")
    assert facilities.state("config") == "up"
    assert facilities.ups == ("config",)


async def test_a_failure_can_be_mended_and_what_was_blocked_goes_on(autojump_clock: trio.testing.MockClock) -> None:
    facilities, done = Facilities(CHAIN), list[str]()
    facilities.up("events")
    facilities.up("tools")
    facilities.fail("store", "no room on the disk.")
    assert facilities.blocked(("tools",)) == "blocked on store: no room on the disk"

    async def patient() -> None:
        await facilities.mended(("tools",))
        done.append(await facilities.wait(("tools",)))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(patient)
        await trio.testing.wait_all_tasks_blocked()
        assert done == []
        facilities.up("store")
        await trio.testing.wait_all_tasks_blocked()
    assert done == [""]


async def test_a_failpoint_makes_it_fail_with_its_words() -> None:
    facilities = Facilities(CHAIN, RaiseAt("facility.store", Unavailable("The disk is gone.", hint="Look.")))
    for provider in CHAIN:
        facilities.up(provider.facility)
    assert await facilities.wait(("tools",)) == "blocked on store: The disk is gone"
    assert await facilities.wait(("events", "llm")) == ""


def test_only_what_is_provided_can_come_up() -> None:
    with pytest.raises(ValueError, match="no facility of this run"):
        Facilities(CHAIN).up("scenes")


async def test_without_a_kernel_everything_stands() -> None:
    assert await Facilities.standing().wait(("store", "scenes", "llm")) == ""
    assert await Facilities.standing(()).wait(()) == ""


async def test_waiting_can_be_cancelled_and_leaves_nothing(autojump_clock: trio.testing.MockClock) -> None:
    facilities = Facilities(CHAIN)
    with trio.move_on_after(1) as limit:
        await facilities.wait(("llm",))
    assert limit.cancelled_caught
    facilities.up("llm")
    assert await facilities.wait(("llm",)) == ""
