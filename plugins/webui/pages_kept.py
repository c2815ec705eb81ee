"""The pages of what is kept beside conversations: changes of files, and what was said day by day."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from datetime import date, timedelta
from typing import Any

from quart import Blueprint, Response, request

from homed.errors import HomedError, InvalidInput, NotFound

from .api_kept import lines_of
from .context import Site

DIFFS = 20
"""Files of a change whose lines are shown at once; the others when they are asked for."""

LISTED = 30
Render = Callable[..., Awaitable[Response]]
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")


class KeptPages:
    """``/changes``, ``/changes/CHANGE`` and ``/log``."""

    def __init__(self, site: Site, render: Render) -> None:
        self._site = site
        self._render = render

    def add_to(self, made: Blueprint) -> None:
        """Add these routes."""
        made.add_url_rule("/changes", "changes", self.changes)
        made.add_url_rule("/changes/<change>", "change", self.change)
        made.add_url_rule("/log", "log", self.log)

    async def changes(self) -> Response:
        """What tools changed in files, the newest first."""
        before = request.args.get("before", "")
        older = int(before) if before.isascii() and before.isdigit() and len(before) < 15 else None
        found = await self._site.call("admin.tracker_list", limit=LISTED, before=older)
        return await self._render("changes.html", "changes", changes=found["changes"], more=found["more"])

    async def change(self, change: str) -> Response:
        """One of them, file by file, and the button that puts it back."""
        try:
            found = await self._site.call("admin.tracker_show", set=change)
        except NotFound:
            return await self._render("change_missing.html", "changes", status=404)
        files = [file for file in found["files"] if file["change"] != "moved"]
        shown = [file for file in files if not file["folder"]][:DIFFS]
        diffs = {file["number"]: await self._diff(found["id"], file["number"]) for file in shown}
        return await self._render("change.html", "changes", change=found, files=files, diffs=diffs)

    async def _diff(self, change: str, number: int) -> Mapping[str, Any]:
        """Of one file; one whose content is not there any more shows as that."""
        try:
            found: Mapping[str, Any] = await self._site.call("admin.tracker_diff", set=change, number=number)
        except HomedError:
            return {"kind": "unkept", "lines": [], "more": False}
        return found

    async def log(self) -> Response:
        """What was said on a day."""
        asked, after = request.args.get("day", ""), request.args.get("after", "")
        day = asked if _DAY.fullmatch(asked) else ""  # today is where the person lives: the kernel knows
        start = int(after) if after.isascii() and after.isdigit() and len(after) < 15 else 0
        try:
            found = lines_of(await self._site.call("textlog.read", day=day, after=start))
            before, later = beside(day := str(found["day"]))
        except InvalidInput:
            return await self._render("log.html", "log", status=400, day="", before="", later="", found=NONE)
        return await self._render("log.html", "log", day=day, before=before, later=later, found=found)


NONE: Mapping[str, Any] = {"lines": [], "more": False, "next": 0}


def beside(day: str) -> tuple[str, str]:
    """The days before and after one; empty where there is none.  InvalidInput for what is no day."""
    try:
        found = date.fromisoformat(day)
    except ValueError:
        raise InvalidInput("That is no day.") from None
    one = timedelta(days=1)
    before = (found - one).isoformat() if found > date.min else ""
    return before, (found + one).isoformat() if found < date.max else ""
