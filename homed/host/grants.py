"""What a plugin may call: core, and what its manifest lists and was granted.  Deny by default."""

from __future__ import annotations

from collections.abc import Collection

from homed.errors import Denied
from homed.host.states import Trust
from homed.store.rows import Tx
from homed.wire import methods
from homed.wire.stream import unknown_method


def allowed(wanted: Collection[str], trust: Trust, granted: Collection[str]) -> frozenset[str]:
    """The capabilities a plugin gets.  A packaged one gets what it lists; an external one only what was granted too."""
    listed = frozenset(wanted) & methods.CAPABILITIES
    if trust is Trust.EXTERNAL:
        listed = (listed & frozenset(granted)) - methods.PACKAGED_ONLY
    return listed | {methods.CORE}


def granted(tx: Tx, plugin: str) -> frozenset[str]:
    """What a person granted to an external plugin when it was installed."""
    return frozenset(row[0] for row in tx.all("SELECT capability FROM grants WHERE plugin = ?", (plugin,)))


def require(plugin: str, capabilities: frozenset[str], method: str) -> None:
    """Refuse a method that does not exist (`NotFound`) or needs a capability that the plugin has not (`Denied`)."""
    needed = methods.TO_KERNEL.get(method)
    if needed is None:
        raise unknown_method(method)
    if needed not in capabilities:
        has = ", ".join(sorted(capabilities))
        raise Denied(
            f"The plugin {plugin} may not call {method}: it lacks the capability {needed} (it has {has}).",
            hint=_what_to_do(needed),
            detail={"plugin": plugin, "capability": needed, "has": sorted(capabilities), "refused": method},
        )


def _what_to_do(needed: str) -> str:
    if needed in methods.PACKAGED_ONLY:
        return "Only plugins that come with homed can have it."
    return f'List "{needed}" under "capabilities" in its plugin.json and grant it.'
