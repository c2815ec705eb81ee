"""Who speaks in a group: what each member is called, for whoever is told what was said."""

from __future__ import annotations

from collections.abc import Iterable

from homed.store.rows import Tx, dumps

GROUP = "group:"


def is_group(scope: str) -> bool:
    """True for a scope in which several people speak; in all others there is one."""
    return scope.startswith(GROUP)


def names(tx: Tx, scope: str, peers: Iterable[str]) -> dict[str, str]:
    """By peer what it is called: as the owner calls it, else as its channel does.  Nothing outside groups."""
    wanted = {peer for peer in peers if peer}
    if not wanted or not is_group(scope):
        return {}
    rows = tx.all(
        "SELECT id, iif(called <> '', called, name) FROM peers WHERE id IN (SELECT value FROM json_each(?))",
        (dumps(sorted(wanted)),),
    )
    return {str(id_): str(name) for id_, name in rows if name}
