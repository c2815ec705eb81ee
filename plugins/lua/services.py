"""What Lua code asks the host for: the kernel's methods, HTTP, sleep.  Each on behalf of the call that asks."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import trio

from homed import sdk
from homed.errors import Denied, InvalidInput, Unavailable

RESERVED = frozenset({"http_private", "lua_memory", "lua_instructions"})
"""Settings that bound the plugin; only a person sets them."""
_MAX_SLEEP = 3600.0
_TEXTS = ("thread", "group", "client_msg_id")
_FLAGS = ("no_memory", "can_ask", "wait")


class Services:
    """Serves one call; ``kernel`` is its `Context`, or the plugin's own `Kernel`."""

    def __init__(self, kernel: sdk.Kernel) -> None:
        self._kernel = kernel
        self._known: dict[str, Callable[..., Awaitable[object]]] = {
            "inject": self._inject,
            "set_setting": self._set_setting,
            "call": self._call,
            "sleep": self._sleep,
            "http": self._http,
        }

    async def __call__(self, name: str, arguments: list[Any]) -> object:
        """Do it.  Raises what the kernel answers, and `InvalidInput` for arguments that do not fit."""
        try:
            return await self._known[name](*arguments)
        except TypeError as error:
            raise InvalidInput(f"sdk.{name}: the arguments do not fit ({error}).") from error

    async def _inject(self, peer: Any, text: Any, options: Any) -> object:
        if not isinstance(text, str) or not isinstance(options, dict) or not isinstance(peer, (str, dict)):
            raise InvalidInput("sdk.inject takes a peer, a text and a table of options.")
        kept = {key: options[key] for key in (*_TEXTS, *_FLAGS) if key in options}
        if unknown := sorted(set(options) - set(kept)):
            raise InvalidInput(f"sdk.inject does not know {', '.join(unknown)}.")
        return await self._kernel.call("io.inject", {"peer": peer, "text": text, **kept})

    async def _set_setting(self, key: Any, value: Any) -> object:
        if not isinstance(key, str):
            raise InvalidInput("sdk.set_setting takes a key and a value.")
        _check_free(key)
        await self._kernel.set_setting(key, value)
        return None

    async def _call(self, method: Any, params: Any) -> object:
        if not isinstance(method, str) or not isinstance(params, dict):
            raise InvalidInput("sdk.call takes a method and a table of parameters.")
        if method in ("core.settings_set", "core.tools_set"):
            raise Denied(f"{method} is not for sdk.call.", hint="Use sdk.set_setting and sdk.register_tool.")
        return await self._kernel.call(method, {key: value for key, value in params.items() if key != "call"})

    async def _sleep(self, seconds: Any) -> object:
        if isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or not 0 <= seconds <= _MAX_SLEEP:
            raise InvalidInput(f"sdk.sleep takes from 0 to {_MAX_SLEEP:g} seconds.")
        await trio.sleep(seconds)
        return None

    async def _http(self, method: Any, url: Any, options: Any) -> object:
        from . import http  # slow to import, and few plugins need it

        if not isinstance(url, str) or not isinstance(options, dict):
            raise InvalidInput("sdk.http takes an address and a table of options.")
        return await http.request(method, url, options, private=self._kernel.settings.get("http_private") is True)


async def none(name: str, _arguments: list[Any]) -> object:
    """Serve nothing: where no kernel is."""
    await trio.lowlevel.checkpoint()
    raise Unavailable(f"sdk.{name} is not there while the plugin is only described.")


def _check_free(key: str) -> None:
    if key in RESERVED:
        raise Denied(f"{key} is for people to set, not for the plugin.")
