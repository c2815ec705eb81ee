"""``settings.*``: the settings of the kernel and of other plugins, for owners; never a secret."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from homed.api.config import ConfigChange, ConfigList, ConfigSet, OfKey, change, config_get, config_list, config_set
from homed.api.method import Method, PeerCall, administrative
from homed.api.ports import ApiPorts
from homed.errors import Denied
from homed.host.states import Trust
from homed.settings.plugin import split_key


async def set_(call: PeerCall[ConfigSet]) -> Mapping[str, object]:
    """Change one; the registry makes one change after another."""
    _open_to_plugins(call.ports, call.params.key)
    if call.params.value is None:
        return await config_set(call)  # which says what to do instead
    done = await change(call, {call.params.key: call.params.value}, call.params.reason)
    return {"key": call.params.key, **done}


async def change_(call: PeerCall[ConfigChange]) -> Mapping[str, object]:
    """Change several, all or none; null takes a value out."""
    for key in call.params.changes:
        _open_to_plugins(call.ports, key)
    return await change(call, call.params.changes, call.params.reason)


async def get(call: PeerCall[OfKey]) -> Mapping[str, object]:
    """One; what an external plugin says of its own is a stranger's word."""
    call.took_in(untrusted=_strange(call.ports, [call.params.key]))
    return await config_get(call)


async def list_(call: PeerCall[ConfigList]) -> Mapping[str, object]:
    """Those that a plugin may change."""
    if call.params.hidden:
        raise Denied("settings.list shows no hidden settings.", hint="They are edited in places of their own.")
    keys = [view.key for view in call.ports.settings.list_(call.params.prefix)]
    call.took_in(untrusted=_strange(call.ports, keys))
    return await config_list(call)


def _strange(ports: ApiPorts, keys: Iterable[str]) -> bool:
    """Whether one of these settings is described by an external plugin."""
    external = {one.name for one in ports.host.statuses() if one.trust is Trust.EXTERNAL}
    owners = {found[0] for key in keys if (found := split_key(key)) is not None}
    return not external.isdisjoint(owners)


def _open_to_plugins(ports: ApiPorts, key: str) -> None:
    definition = ports.settings.view(key).definition
    if definition.secret or definition.hidden:
        what = "a password" if definition.secret else "edited in a place of its own"
        raise Denied(
            f"{definition.key} is {what}: a plugin does not set it.",
            hint="A person does, on the page or with `homed config` and `homed models`.",
            detail={"key": definition.key},
        )


METHODS: dict[str, Method] = {
    "settings.get": administrative(OfKey, get),
    "settings.list": administrative(ConfigList, list_),
    "settings.set": administrative(ConfigSet, set_),
    "settings.change": administrative(ConfigChange, change_),
}
