"""What tools changed in files, with the way back, and what was said day by day, as REST."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from quart import Response

from homed.errors import Conflict

from .context import Site, reply

if TYPE_CHECKING:
    from . import asked


class KeptApi:
    """``changes`` and ``textlog``; the kernel lets only an owner see changes, and everybody their own words."""

    def __init__(self, site: Site) -> None:
        self._site = site

    async def changes(self, query: asked.ChangesQuery) -> Response:
        """The newest first."""
        return reply(
            await self._site.call(
                "admin.tracker_list", limit=query.limit, before=query.before, thread=query.thread, turn=query.turn
            )
        )

    async def change(self, change: str, query: asked.EntriesQuery) -> Response:
        """One, with its files."""
        return reply(await self._site.call("admin.tracker_show", set=change, after=query.after))

    async def change_diff(self, change: str, query: asked.EntryQuery) -> Response:
        """How one of its files changed."""
        return reply(await self._site.call("admin.tracker_diff", set=change, number=query.number))

    async def change_rollback(self, change: str, body: asked.Rollback) -> Response:
        """Put it back; files that were changed since are told, and nothing is touched unless it is forced."""
        try:
            done = await self._site.call("admin.tracker_rollback", set=change, force=body.force)
        except Conflict as error:
            if "files" not in error.detail:
                raise
            return reply({"set": "", "restored": 0, "refused": True, "troubles": error.detail["files"]})
        return reply({**done, "refused": False})

    async def change_forget(self, change: str) -> Response:
        """Forget what is kept of it."""
        return reply(await self._site.call("admin.tracker_forget", set=change))

    async def textlog(self, query: asked.DayQuery) -> Response:
        """What was said on a day."""
        return reply(lines_of(await self._site.call("textlog.read", day=query.day, after=query.after)))


def lines_of(page: Any) -> dict[str, Any]:
    """A page of ``textlog.read`` with its lines as objects."""
    return {**page, "lines": [json.loads(line) for line in page["lines"]]}
