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


async def test_a_call_that_comes_before_the_kernel_is_loaded_is_answered_once_it_is() -> None:
    door, answers = Door(), []

    async def call() -> None:
        answers.append(await door.dispatch(CALLER, "auth.state", {}))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(call)
        await wait_all_tasks_blocked()
        assert answers == []
        with door.open_to(Echo()):
            await wait_all_tasks_blocked()
            assert answers == ["auth.state"]
    with pytest.raises(Unavailable, match="stopping"):
        await door.dispatch(CALLER, "auth.state", {})


async def test_it_waits_no_longer_than_a_plugin_has_to_start(autojump_clock: trio.abc.Clock) -> None:
    with pytest.raises(Unavailable, match="still starting"):
        await Door().dispatch(CALLER, "auth.state", {})
    assert trio.current_time() == START_LIMIT
