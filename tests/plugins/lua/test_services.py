"""What Lua may ask the host for, and on whose behalf."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from homed import sdk
from homed.errors import Denied, HomedError, InvalidInput, Unavailable
from homed.sdk.client import Invocation
from plugins.lua.services import Services, none


class Link:
    """Records what is called."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, Mapping[str, object]]] = []

    async def request(
        self, method: str, params: Mapping[str, object] | None = None, *, timeout: float | None = None
    ) -> Any:
        self.calls.append((method, params or {}))
        return {"input": "in_1"}


def services(**settings: object) -> tuple[Link, Services]:
    link = Link()
    kernel = sdk.Kernel(link, settings=settings, data_dir=Path())
    return link, Services(sdk.Context(kernel, Invocation("token")))


async def test_calls_carry_the_token_of_the_call_and_no_other() -> None:
    link, serve = services()
    await serve("inject", ["x:1", "hello", {"wait": True}])
    await serve("call", ["io.threads", {"peer": "x:1", "call": "forged"}])
    assert link.calls[0] == ("io.inject", {"peer": "x:1", "text": "hello", "wait": True, "call": "token"})
    assert link.calls[1] == ("io.threads", {"peer": "x:1", "call": "token"})


async def test_settings_that_bound_the_plugin_are_not_its_own_to_set() -> None:
    link, serve = services()
    await serve("set_setting", ["greeting", "Hi"])
    assert link.calls == [("core.settings_set", {"key": "greeting", "value": "Hi"})]
    for key in ("http_private", "lua_memory", "lua_instructions"):
        with pytest.raises(Denied):
            await serve("set_setting", [key, True])
        with pytest.raises(Denied):
            await serve("call", ["core.settings_set", {"key": key, "value": True}])


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("inject", ["x:1", 5, {}]), ("inject", ["x:1"]), ("inject", ["x:1", "t", {"colour": 1}]),
        ("inject", [1, "t", {}]),
        ("call", [5, {}]), ("call", ["io.threads", []]), ("sleep", ["x"]), ("sleep", [-1]), ("sleep", [math.inf]),
        ("sleep", [True]), ("http", ["GET", 5, {}]), ("http", ["GET", "http://x", []]), ("set_setting", [5, 1]),
        ("sleep", [1, 2, 3]),
    ],
)  # fmt: skip
async def test_arguments_that_do_not_fit_are_refused(name: str, arguments: list[Any]) -> None:
    link, serve = services()
    with pytest.raises(InvalidInput):
        await serve(name, arguments)
    assert not link.calls


async def test_a_plugin_that_is_only_described_has_no_host() -> None:
    with pytest.raises(Unavailable):
        await none("http", [])


async def test_private_addresses_need_the_setting() -> None:
    _, serve = services()
    with pytest.raises(HomedError, match="may not go"):
        await serve("http", ["GET", "http://127.0.0.1:9/", {}])
    _, serve = services(http_private=True)
    with pytest.raises(HomedError, match="cannot be reached"):
        await serve("http", ["GET", "http://127.0.0.1:9/", {"timeout": 5}])
