"""Files that a tool gives back with its result: which of those it has sent the turn takes, and what is said of others.

They come by ``core.attach`` while the call runs and wait under its name; the event of its result takes them, in the
same commit.  A call that ends in another way leaves them to the end of the turn, which throws them away.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from homed.agent.ports import RedactorPort
from homed.agent.turn import Turn
from homed.memory import blocks
from homed.store.rows import Storage, Tx

PER_TURN = 20
"""Files that the tools of one turn may give it, all together; more are said to be left out."""

OVER = "[{count} more of its files not kept: the tools of one message give {limit} at the most]"
ABSENT = "[{count} of its files not here: never sent, or not to the end]"


@dataclass(frozen=True, slots=True)
class Handed:
    """The files of one result: ``ids`` of what the call ``owner`` (``blocks.owner_of``) has sent."""

    owner: str = ""
    ids: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.ids)


NO_FILES = Handed()


def handed(answer: object, turn: Turn, call: str) -> Handed:
    """What the plugin's answer names; anything but ids in ``files`` is nothing."""
    named = answer.get("files") if isinstance(answer, Mapping) else None
    ids = [id_ for id_ in named if isinstance(id_, str)] if isinstance(named, list | tuple) else []
    return Handed(blocks.owner_of(turn.id, call), tuple(dict.fromkeys(ids))) if ids else NO_FILES


async def listed(store: Storage, redactor: RedactorPort, files: Handed) -> dict[str, object]:
    """The files that have come whole, as ``after_toolcall`` sees them in ``files``."""
    found = await store.read(lambda tx: blocks.attached(tx, files.owner, files.ids))
    return {"files": [redactor.redact_json(block.view()) for block in found]}


def left(files: Handed, shown: Mapping[str, object], element: Mapping[str, object]) -> Handed:
    """Without those that ``after_toolcall`` was shown and took out; who says nothing of them leaves them."""
    named = element.get("files")
    if not isinstance(named, list):
        return files
    gone = _ids(shown.get("files")) - _ids(named)
    return Handed(files.owner, tuple(id_ for id_ in files.ids if id_ not in gone))


def _ids(listed: object) -> set[object]:
    return {one.get("id") for one in (listed if isinstance(listed, list) else []) if isinstance(one, Mapping)}


async def taken(store: Storage, turn: Turn, files: Handed) -> tuple[Handed, str]:
    """Those of the files that are here and have room in the turn, and what is said of the others, if there are any."""

    def look(tx: Tx) -> tuple[list[str], int]:
        found = [block.id for block in blocks.attached(tx, files.owner, files.ids)]
        return found, max(0, PER_TURN - blocks.given(tx, turn.id))

    here, room = await store.read(look)
    said = []
    if absent := len(files.ids) - len(here):
        said.append(ABSENT.format(count=absent))
    if over := len(here) - room:
        said += [OVER.format(count=over, limit=PER_TURN)] if over > 0 else []
    return Handed(files.owner, tuple(here[:room])), "\n".join(said)
