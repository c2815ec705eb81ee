"""Temporary scopes: each is the memory of one agent that an agent made, and goes with it.

Such an agent reads its own and, read-only, what stands above it up to the scope of a person; it writes its own alone.
Whoever needs to know which scopes may be read asks here and nowhere else: where the link upwards does not hold, there
is no more than the scope itself.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from homed.store.rows import Tx

PREFIX = "temp:"

DEEPEST = 4
"""Links upwards that are followed; settings allow far fewer."""

_ABOVE = (
    "SELECT c.parent_scope FROM children c JOIN threads own ON own.id = c.thread AND own.scope = c.scope"
    " JOIN threads above ON above.id = c.parent AND above.scope = c.parent_scope WHERE c.scope = ?"
)


@dataclass(frozen=True, slots=True)
class Front:
    """Where a person sees what an agent does, and is asked: a turn of a conversation of theirs."""

    thread: str
    turn: str
    scope: str


def scope_of(child: str) -> str:
    """The scope of an agent by its id."""
    return f"{PREFIX}{child}"


def is_temporary(scope: str) -> bool:
    """Whether it is the scope of an agent that was made."""
    return scope.startswith(PREFIX)


def reads(tx: Tx, scope: str) -> tuple[str, ...]:
    """The scopes whose memory a turn in ``scope`` may read, its own first; all others are there to be read only.

    One for any scope but a temporary one.  Of that also those above, as long as both its own conversation and the one
    it was made in are there: an agent whose parent was deleted reads nothing of what that could.
    """
    found = [scope]
    while is_temporary(found[-1]) and len(found) <= DEEPEST:
        above = tx.value(_ABOVE, (found[-1],))
        if not isinstance(above, str) or not above or above in found:
            break
        found.append(above)
    return tuple(found)


def seen(tx: Tx, scope: str, visible: Collection[str]) -> bool:
    """Whether somebody who may see these scopes may see ``scope``: one of them, or an agent's that was made there."""
    if scope in visible:
        return True
    return is_temporary(scope) and any(above in visible for above in reads(tx, scope)[1:])
