"""Tools over what tools changed in files: seeing it and putting it back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

from homed.agent.ports import BuiltinTool, CallContext, FromOutside
from homed.builtin.entries import entry, number, string
from homed.builtin.memory import ROOMY
from homed.errors import NotFound
from homed.identity.permissions import DANGEROUS

if TYPE_CHECKING:  # loaded when it is used
    from homed.tracker.records import Wanted
    from homed.tracker.tracker import Asked

MOST = 20
FILES = 30
"""Files of a change that a model is told by name."""


class TrackerPort(Protocol):
    """``homed.tracker.tracker.Tracker``."""

    async def listed(self, wanted: Wanted) -> Mapping[str, object]:
        """Changes."""
        ...

    async def show(self, id_: str, *, after: int = 0, limit: int = 500) -> Mapping[str, object]:
        """One with its files."""
        ...

    async def rollback(self, id_: str, asked: Asked, *, force: bool = False) -> Mapping[str, object]:
        """Put one back."""
        ...


def changes_tools(tracker: Callable[[], TrackerPort]) -> tuple[BuiltinTool, ...]:
    """Both."""
    return tuple(replace(tool, group="changes") for tool in (changes_list(tracker), changes_rollback(tracker)))


def changes_list(tracker: Callable[[], TrackerPort]) -> BuiltinTool:
    """``changes_list``: those of the scope that asks."""

    async def run(context: CallContext, args: Mapping[str, object]) -> object:
        from homed.tracker.records import Wanted

        limit = args.get("limit")
        wanted = Wanted(min(limit, MOST) if isinstance(limit, int) else 5, scopes=frozenset({context.scope}))
        found: Any = await tracker().listed(wanted)
        # names of files may be anybody's: an archive that was unpacked
        return FromOutside([await _told(tracker(), one) for one in found["changes"]])

    declared = entry("changes_list", {"limit": number(1, MOST)}, (), guest=False)
    return BuiltinTool(declared, run, least=ROOMY)


async def _told(tracker: TrackerPort, one: Mapping[str, Any]) -> dict[str, object]:
    kept = ("id", "at", "tool", "folder", "state", "undoes", "undone_by", "note")
    told = {key: one[key] for key in kept if one[key]}
    shown: Any = await tracker.show(one["id"], limit=FILES)
    files = [f"{file['change']} {file['path']}" for file in shown["files"] if file["change"] != "moved"]
    return {**told, "files": files, **({"more": True} if shown["more"] else {})}


def changes_rollback(tracker: Callable[[], TrackerPort]) -> BuiltinTool:
    """``changes_rollback``: as dangerous as the tools whose work it takes back, so it is asked for."""

    async def run(context: CallContext, args: Mapping[str, object]) -> object:
        from homed.tracker.tracker import Asked

        found: Any = await tracker().show(str(args["id"]), limit=1)
        if found["scope"] != context.scope:
            raise NotFound(f"There is no change {args['id']}.")
        asked = Asked(
            plugin="kernel", tool="changes_rollback", turn=context.turn, thread=context.thread, scope=context.scope,
            peer=context.peer,
        )  # fmt: skip
        return await tracker().rollback(found["id"], asked, force=args.get("force") is True)

    properties = {"id": string(most=64), "force": {"type": "boolean"}}
    declared = entry("changes_rollback", properties, ("id",), guest=False, tool_class=DANGEROUS)
    # as the list is: whoever rolls back has just seen it
    return BuiltinTool(replace(declared, no_memory=False), run, least=ROOMY)
