"""``settings.*``: the settings of the kernel and of other plugins, for owners; never a secret."""

from __future__ import annotations

from collections.abc import Mapping

from homed.api.admin import ConfigList, ConfigSet, OfKey, config_get, config_list, config_set
from homed.api.method import Method, PeerCall, administrative
from homed.errors import Denied


async def set_(call: PeerCall[ConfigSet]) -> Mapping[str, object]:
    """Change one; the registry makes one change after another."""
    definition = call.ports.settings.view(call.params.key).definition
    if definition.secret or definition.hidden:
        what = "a password" if definition.secret else "edited in a place of its own"
        raise Denied(
            f"{definition.key} is {what}: a plugin does not set it.",
            hint="A person does, on the page or with `homed config` and `homed models`.",
            detail={"key": definition.key},
        )
    return await config_set(call)


METHODS: dict[str, Method] = {
    "settings.get": administrative(OfKey, config_get),
    "settings.list": administrative(ConfigList, config_list),
    "settings.set": administrative(ConfigSet, set_),
}
