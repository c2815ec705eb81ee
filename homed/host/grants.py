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


def grant(tx: Tx, plugin: str, capabilities: Collection[str], *, at: float) -> frozenset[str]:
    """Keep what a person granted to an external plugin, in the place of what was granted before; returns it.

    Raises ``Denied`` for what no external plugin can have, and for what is none; nothing is changed then.
    ``core`` needs no grant and is left out.
    """
    wanted = frozenset(capabilities) - {methods.CORE}
    if beyond := sorted(wanted - (methods.CAPABILITIES - methods.PACKAGED_ONLY)):
        open_to_all = ", ".join(sorted(methods.CAPABILITIES - methods.PACKAGED_ONLY - {methods.CORE}))
        raise Denied(
            f"The plugin {plugin} cannot be granted {', '.join(beyond)}.",
            hint=f"What can be granted: {open_to_all}.",
            detail={"plugin": plugin, "capabilities": beyond},
        )
    tx.execute("DELETE FROM grants WHERE plugin = ?", (plugin,))
    rows = [(plugin, capability, at) for capability in sorted(wanted)]
    tx.many("INSERT INTO grants (plugin, capability, granted_at) VALUES (?, ?, ?)", rows)
    return wanted


def revoke(tx: Tx, plugin: str, capabilities: Collection[str] | None = None) -> None:
    """Take back these grants of a plugin, or all of them.  A life that runs keeps its own until it ends."""
    for capability in sorted(granted(tx, plugin) if capabilities is None else capabilities):
        tx.execute("DELETE FROM grants WHERE plugin = ? AND capability = ?", (plugin, capability))


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
