"""events.*: subscribing."""

from __future__ import annotations

import pytest

from homed.errors import Denied, InvalidInput
from homed.wire.methods import CORE, NOTICES
from tests.homed.api.fakes import FakeCaller, House


async def test_a_subscription_begins_after_the_last_notice(house: House) -> None:
    caller = FakeCaller()
    params = {"types": ["turn", "turn"], "content": True}
    assert await house.api.dispatch(caller, "events.subscribe", params) == {"seq": 41}
    assert caller.subscribed == [(frozenset({"turn"}), True)]


async def test_without_types_it_is_all_of_them(house: House) -> None:
    caller = FakeCaller()
    await house.api.dispatch(caller, "events.subscribe", {})
    assert caller.subscribed == [(None, False)]


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
