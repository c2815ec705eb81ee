"""memory.*: who may ask, and as whom."""

from __future__ import annotations

import pytest

from homed.errors import Denied, InvalidInput, NotFound
from tests.homed.api.fakes import FakeCaller, House


async def test_a_turn_is_explained_to_who_may_see_it(house: House) -> None:
    answer = await house.api.dispatch(FakeCaller(), "memory.explain", {"peer": "webui:owner", "turn": "turn_1"})
    assert answer == {"turn": "turn_1", "thread": "th_1", "at": 1.0, "entries": [], "events": {}}
    with pytest.raises(NotFound):
        await house.api.dispatch(FakeCaller("qq"), "memory.explain", {"peer": "qq:1", "turn": "turn_1"})


async def test_a_plugin_without_the_capability_is_refused(house: House) -> None:
    caller = FakeCaller()
    caller.capabilities = frozenset({"core", "io"})
    with pytest.raises(Denied, match="capability memory"):
        await house.api.dispatch(caller, "memory.explain", {"peer": "webui:owner", "turn": "turn_1"})


async def test_a_turn_must_be_named(house: House) -> None:
    with pytest.raises(InvalidInput, match="turn"):
        await house.api.dispatch(FakeCaller(), "memory.explain", {"peer": "webui:owner", "turn": ""})
