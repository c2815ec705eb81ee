"""``admin.memory_*``, ``admin.backup*``: forgetting with proof, exports, imports and backups, for owners in person."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from pydantic import Field

from homed.api.method import MAX_NAME, Method, Name, PeerCall, PeerParams, administrative
from homed.identity.roles import visible_scopes
from homed.memory.forgets import Preview

PATH = 4096


class Foreseen(PeerParams):
    """``admin.memory_preview``"""

    kind: Literal["event", "fact", "entity", "peer", "thread"]
    target: Name
    wide: bool = False


class Forget(PeerParams):
    """``admin.memory_forget``; ``text``: taken out of what is no memory, where it stands among other words."""

    kind: Literal["event", "fact", "entity", "peer", "thread", "text"]
    target: str = Field(min_length=1, max_length=PATH)
    wide: bool = False


class Find(PeerParams):
    """``admin.memory_find``: where a text stands, what was said in a time, or both."""

    text: str = Field(default="", max_length=PATH)
    since: float | None = Field(default=None, ge=0, lt=1e12)
    until: float | None = Field(default=None, ge=0, lt=1e12)


class Export(PeerParams):
    """``admin.memory_export``"""

    path: str = Field(min_length=1, max_length=PATH)
    format: Literal["jsonl", "holo"] = "jsonl"
    scopes: list[str] | None = Field(default=None, max_length=1000)


class Import(PeerParams):
    """``admin.memory_import``"""

    path: str = Field(min_length=1, max_length=PATH)


class Backup(PeerParams):
    """``admin.backup``"""

    path: str = Field(default="", max_length=PATH)


class OfMerge(PeerParams):
    """``admin.merges_reject``"""

    merge: str = Field(min_length=1, max_length=64)


class Accept(OfMerge):
    """``admin.merges_accept``"""

    keep: int = Field(default=0, ge=0, le=2)


class OfDone(PeerParams):
    """``admin.merges_undo``"""

    done: int = Field(ge=1, lt=1 << 53)


async def preview(call: PeerCall[Foreseen]) -> Mapping[str, object]:
    """What would be forgotten; nothing changes."""
    params = call.params
    return _previewed(await call.ports.keeping.preview(params.kind, params.target, wide=params.wide))


async def forget(call: PeerCall[Forget]) -> Mapping[str, object]:
    """Forget it and prove it."""
    params = call.params
    return (await call.ports.keeping.forget(params.kind, params.target, wide=params.wide)).wire()


async def find(call: PeerCall[Find]) -> Mapping[str, object]:
    """The ids of what holds a text, or was said in a time."""
    params = call.params
    return (await call.ports.keeping.find(params.text, params.since, params.until)).wire()


async def export(call: PeerCall[Export]) -> Mapping[str, object]:
    """Write memory to a folder."""
    params = call.params
    return (await call.ports.keeping.export(params.path, params.format, params.scopes)).wire()


async def import_(call: PeerCall[Import]) -> Mapping[str, object]:
    """Take an export in."""
    return (await call.ports.keeping.import_(call.params.path)).wire()


async def backup(call: PeerCall[Backup]) -> Mapping[str, object]:
    """Make a backup."""
    return (await call.ports.keeping.backup(call.params.path)).wire()


async def backups(call: PeerCall[PeerParams]) -> Mapping[str, object]:
    """Those there are, oldest first."""
    return {"backups": [info.wire() for info in await call.ports.keeping.backups()]}


async def merges_list(call: PeerCall[PeerParams]) -> Mapping[str, object]:
    """Entities that may be one, and those that were made one."""
    proposed, done = await call.ports.keeping.merging.list_(visible_scopes(call.who))
    call.took_in(untrusted=bool(proposed or done))  # names are words of whoever said them
    return {"merges": [one.wire() for one in proposed], "done": [one.wire() for one in done]}


async def merges_accept(call: PeerCall[Accept]) -> Mapping[str, object]:
    """Make two one."""
    return (await call.ports.keeping.merging.accept(call.params.merge, keep=call.params.keep)).wire()


async def merges_reject(call: PeerCall[OfMerge]) -> Mapping[str, object]:
    """They are two."""
    await call.ports.keeping.merging.reject(call.params.merge)
    return {}


async def merges_undo(call: PeerCall[OfDone]) -> Mapping[str, object]:
    """Take a merge back."""
    return {"name": await call.ports.keeping.merging.undo(call.params.done)}


def _previewed(found: Preview) -> dict[str, object]:
    return {
        "kind": found.kind, "target": found.target, "wide": found.wide, "scope": found.scope[:MAX_NAME],
        "counts": dict(found.counts), "rechecked": found.rechecked, "stays": found.stays, "busy": found.busy,
        "first": found.first, "last": found.last, "records": list(found.records),
    }  # fmt: skip


METHODS: dict[str, Method] = {
    "admin.memory_preview": administrative(Foreseen, preview),
    "admin.memory_find": administrative(Find, find, in_person=True),
    "admin.memory_forget": administrative(Forget, forget, in_person=True),
    "admin.memory_export": administrative(Export, export, in_person=True),
    "admin.memory_import": administrative(Import, import_, in_person=True),
    "admin.backup": administrative(Backup, backup, in_person=True),
    "admin.backups": administrative(PeerParams, backups),
    "admin.merges_list": administrative(PeerParams, merges_list),
    "admin.merges_accept": administrative(Accept, merges_accept, in_person=True),
    "admin.merges_reject": administrative(OfMerge, merges_reject, in_person=True),
    "admin.merges_undo": administrative(OfDone, merges_undo, in_person=True),
}
