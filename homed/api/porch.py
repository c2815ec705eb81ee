"""What is answered before the kernel is loaded: a plugin's own affairs and logging in, so that the page can open.

The page's process asks nothing else before somebody has logged in.  Whatever is imported here delays it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from homed.api import auth, core, events
from homed.api.door import Door
from homed.api.method import Method, PorchCall, parse
from homed.api.ports import Caller, PorchPorts
from homed.host.grants import require
from homed.host.states import Trust
from homed.wire.methods import PACKAGED_ONLY

METHODS: dict[str, Method] = {**core.METHODS, **events.METHODS, **auth.METHODS}
"""The methods on the porch.  None of them is of a person's: a call token is checked, but nobody is asked for."""


@contextmanager
def open_porch(door: Door, ports: PorchPorts) -> Iterator[None]:
    """Answer these methods, for the length of the block."""
    with door.porch_open_to(Porch(ports), METHODS):
        yield


class Porch:
    """A ``Dispatcher`` for these methods alone."""

    def __init__(self, ports: PorchPorts) -> None:
        self._ports = ports

    async def dispatch(self, caller: Caller, method: str, params: Mapping[str, object]) -> object:
        """Answer one request, as ``ApiDispatcher`` does."""
        require(caller.plugin, open_to(caller), method)
        entry = METHODS[method]
        parsed = parse(method, entry.params, params)
        lent = self._ports.tokens.resolve(caller.plugin, parsed.call) if parsed.call else None
        return await entry.handler(PorchCall(self._ports, caller, parsed, caller.plugin, lent=lent))


def open_to(caller: Caller) -> frozenset[str]:
    """What the plugin may do.  Whatever it was granted, what is for packaged plugins only is not for others."""
    return caller.capabilities if caller.trust is Trust.PACKAGED else caller.capabilities - PACKAGED_ONLY
