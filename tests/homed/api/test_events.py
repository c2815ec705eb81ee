"""events.*: subscribing."""

from __future__ import annotations

import pytest

from homed.errors import Denied, InvalidInput
from homed.wire.layout.ring import ALL, NUMBERS
from homed.wire.methods import CORE, NOTICES
from tests.homed.api.fakes import FakeCaller, House


async def test_a_subscription_begins_after_the_last_notice(house: House) -> None:
    caller = FakeCaller()
    params = {"types": ["turn", "turn"], "content": True}
    answer = {"seq": 41, "cursor": 41, "mask": 1 << NUMBERS["turn"]}
    assert await house.api.dispatch(caller, "events.subscribe", params) == answer
    assert caller.subscribed == [(frozenset({"turn"}), True, "rpc")]


async def test_without_types_it_is_all_of_them(house: House) -> None:
    caller = FakeCaller()
    answer = await house.api.dispatch(caller, "events.subscribe", {"via": "ring"})
    assert answer == {"seq": 41, "cursor": 41, "mask": ALL}
    assert caller.subscribed == [(None, False, "ring")]


async def test_there_are_two_ways_to_hear(house: House) -> None:
    with pytest.raises(InvalidInput, match="via"):
        await house.api.dispatch(FakeCaller(), "events.subscribe", {"via": "mail"})


async def test_content_needs_a_capability_of_its_own(house: House) -> None:
    caller = FakeCaller("stats", capabilities=frozenset({CORE, NOTICES}))
    with pytest.raises(Denied, match=r"stats .* events\.content \(it has core, events\.notices\)"):
        await house.api.dispatch(caller, "events.subscribe", {"content": True})
    assert caller.subscribed == []
    await house.api.dispatch(caller, "events.subscribe", {})


async def test_an_unknown_type_is_refused_with_the_known_ones(house: House) -> None:
    with pytest.raises(InvalidInput, match="no notice type turns") as caught:
        await house.api.dispatch(FakeCaller(), "events.subscribe", {"types": ["turns"]})
    assert "tool_call" in caught.value.hint
