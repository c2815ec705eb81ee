"""From a request on the wire to the function behind it, past every check."""

from __future__ import annotations

from collections.abc import Mapping

from homed.api import porch
from homed.api.method import Call, PeerCall, PeerParams, SpokenParams, parse
from homed.api.ports import ApiPorts, Caller
from homed.api.table import Table
from homed.errors import Denied, InvalidInput
from homed.host.grants import require
from homed.identity.roles import Identity, Role
from homed.identity.tokens import CallIdentity


class ApiDispatcher:
    """The host's ``Dispatcher``.

    In this order: the method exists, the plugin has its capability, the parameters are right, the peer is the plugin's
    own (or the call token valid for it), the peer's role suffices.  Only then the handler runs, with that identity.
    """

    def __init__(self, ports: ApiPorts) -> None:
        self._ports = ports
        self._porch = porch.Porch(ports)
        self._table = Table()

    async def dispatch(self, caller: Caller, method: str, params: Mapping[str, object]) -> object:
        """Answer one request; raises a ``HomedError`` that says what is wrong.  Cancellation reaches the handler."""
        if method in porch.METHODS:
            return await self._porch.dispatch(caller, method, params)
        require(caller.plugin, porch.open_to(caller), method)
        entry = await self._table.find(method)
        parsed = parse(method, entry.params, params)
        if not isinstance(parsed, PeerParams):
            # nobody is asked for, but a token is never passed by unlooked at
            lent = self._ports.tokens.resolve(caller.plugin, parsed.call) if parsed.call else None
            return await entry.handler(Call(self._ports, caller, parsed, caller.plugin, lent=lent))
        if entry.of_call and not parsed.call:
            raise InvalidInput(
                f"{method}: call is missing.", hint="Call it while you work for a turn, with the token you were given."
            )
        if entry.in_person and parsed.call:
            raise Denied(
                f"{method} is for a person to say; a call token does not do.",
                hint=f"Name the peer who decides: {caller.plugin}:ID.",
            )
        who, lent = await self._identify(caller, method, parsed)
        if entry.owner and who.role is not Role.OWNER:
            raise Denied(
                f"{method} is for owners; {who.peer} is a {who.role.value} here.",
                hint="An owner can give the role.",
                detail={"method": method, "role": who.role.value},
            )
        channel = lent.channel if lent else caller.plugin
        return await entry.handler(PeerCall(self._ports, caller, parsed, channel, who, lent=lent))

    async def _identify(self, caller: Caller, method: str, params: PeerParams) -> tuple[Identity, CallIdentity | None]:
        """Who the request is of, and what its call token stands for, if it has one."""
        peer = params.peer
        if params.call:
            lent = self._ports.tokens.resolve(caller.plugin, params.call)
            if peer is not None and peer.id != lent.identity.peer:
                raise Denied(
                    f"The call token given to {caller.plugin} stands for another peer than {peer.id!r}.",
                    hint="Leave out peer, or the token.",
                )
            return lent.identity, lent
        if peer is None:
            raise InvalidInput(f"{method}: peer is missing.", hint=f'Give the peer as "{caller.plugin}:ID".')
        group = params.group if isinstance(params, SpokenParams) else ""
        who = await self._ports.directory.identify(caller.plugin, peer.id, name=peer.name, group=group)
        return who, None
