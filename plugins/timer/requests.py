"""From what a tool was asked to the timer that is meant.  Pure: now and the default zone come in as arguments."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import UTC, datetime

from homed.sdk import ToolError

from . import cron
from .zones import zone

MAX_TEXT = 4_000
MAX_AHEAD = 10 * 366 * 86_400.0
"""Seconds: nobody means a timer in more than ten years."""


@dataclass(frozen=True, slots=True)
class When:
    """The first time (UTC seconds), the cron expression (empty: once) and the IANA zone it was understood in."""

    next_at: float
    cron: str
    zone: str


def when(*, at: str, seconds: float, expression: str, zone_name: str, now: float) -> When:
    """Exactly one of ``at`` (ISO local time, or with an offset), ``seconds`` from now, and a cron ``expression``.

    ``now`` is UTC seconds.  Raises ToolError for anything that would never fire or lies in the past.
    """
    if sum((bool(at), bool(expression), seconds != 0)) != 1:
        raise ToolError("Give exactly one of `at`, `seconds` and `cron`.")
    try:
        local = zone(zone_name)
        if expression:
            following = cron.following(cron.parse(expression), datetime.fromtimestamp(now, UTC), local)
            if following is None:
                raise ToolError(f"{expression!r} never fires.", hint="Check day and month.")
            return When(following.timestamp(), expression, zone_name)
    except ValueError as error:  # BadCron is one
        raise ToolError(f"That does not work: {error}.") from None
    next_at = now + seconds if seconds else _instant(at, zone_name)
    if not math.isfinite(next_at) or next_at <= now:
        raise ToolError(f"{at or seconds!r} is in the past.", hint=f"It is now {shown(now, zone_name)}.")
    if next_at - now > MAX_AHEAD:
        raise ToolError("That is more than ten years ahead.")
    return When(next_at, "", zone_name)


def text_of(text: str) -> str:
    """The text to be told, trimmed.  Raises ToolError if there is none or too much."""
    kept = text.strip()
    if not kept:
        raise ToolError("`text` is empty.", hint="Say what the timer should tell.")
    if len(kept) > MAX_TEXT:
        raise ToolError(f"`text` is longer than {MAX_TEXT} characters.")
    return kept


def shown(at: float, zone_name: str) -> str:
    """A time for people: ``2026-03-08 03:30 America/New_York``."""
    return f"{datetime.fromtimestamp(at, zone(zone_name)):%Y-%m-%d %H:%M} {zone_name}"


def _instant(at: str, zone_name: str) -> float:
    try:
        given = datetime.fromisoformat(at.strip())
    except ValueError:
        raise ToolError(f"{at!r} is no time.", hint="Write 2026-03-08 09:00, local to the zone.") from None
    try:
        return (cron.instant(given, zone(zone_name)) if given.tzinfo is None else given).timestamp()
    except (OverflowError, OSError):
        raise ToolError(f"{at!r} is out of range.") from None
