"""Calls wait until there is somebody to answer, and are refused afterwards."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from homed.api.door import START_LIMIT, Door
from homed.errors import Unavailable
from homed.host.session import Caller

CALLER = cast(Any, object())


class Echo:
    async def dispatch(self, caller: Caller, method: str, params: Mapping[str, object]) -> object:
        await trio.lowlevel.checkpoint()
        return method


class Shout(Echo):
    async def dispatch(self, caller: Caller, method: str, params: Mapping[str, object]) -> object:
        await trio.lowlevel.checkpoint()
        return method.upper()


async def test_calls_on_the_porch_are_answered_first_the_others_wait_for_the_kernel() -> None:
    door, answers = Door(), []

    async def call(method: str) -> None:
        answers.append(await door.dispatch(CALLER, method, {}))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(call, "io.inject")
        nursery.start_soon(call, "auth.state")
        await wait_all_tasks_blocked()
        assert answers == []
        with door.porch_open_to(Echo(), {"auth.state"}):
            await wait_all_tasks_blocked()
            assert answers == ["auth.state"]
            with door.open_to(Shout()):
                await wait_all_tasks_blocked()
                assert answers == ["auth.state", "IO.INJECT"]
                assert await door.dispatch(CALLER, "auth.state", {}) == "auth.state"
            with pytest.raises(Unavailable, match="stopping"):
                await door.dispatch(CALLER, "io.inject", {})
            assert await door.dispatch(CALLER, "auth.state", {}) == "auth.state"
    for method in ("auth.state", "io.inject"):
        with pytest.raises(Unavailable, match="stopping"):
            await door.dispatch(CALLER, method, {})


async def test_it_waits_no_longer_than_a_plugin_has_to_start(autojump_clock: trio.abc.Clock) -> None:
    with pytest.raises(Unavailable, match="still starting"):
        await Door().dispatch(CALLER, "auth.state", {})
    assert trio.current_time() == START_LIMIT


async def test_nor_does_a_call_that_needs_the_kernel(autojump_clock: trio.abc.Clock) -> None:
    door = Door()
    with door.porch_open_to(Echo(), {"auth.state"}), pytest.raises(Unavailable, match="still starting"):
        await door.dispatch(CALLER, "io.inject", {})
    assert trio.current_time() == START_LIMIT
