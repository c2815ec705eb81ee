"""The timers on disk: one JSON file, replaced as a whole, so that it is never half written."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from pathlib import Path

from homed.wire.durable import write_whole

from . import cron
from .zones import zone

VERSION = 1


class BadBook(ValueError):
    """The file is not what this version wrote."""


@dataclass(frozen=True, slots=True)
class Timer:
    """One timer.

    ``next_at`` is UTC seconds since the epoch; ``cron`` is empty for one that fires once; ``zone`` is the IANA name it
    was made for; ``thread`` is where it is told.
    """

    id: str
    text: str
    next_at: float
    cron: str
    zone: str
    thread: str
    created_at: float


def load(path: Path) -> tuple[dict[str, Timer], dict[str, str]]:
    """Read the timers, and which of them cannot be told (id → why); no file yet means none.  Raises BadBook.

    What cannot be told now may be told after the next start: a zone comes and goes with the machine's zone data.
    """
    try:
        data = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return {}, {}
    except ValueError as error:
        raise BadBook(f"{path} is no JSON: {error}") from None
    if not isinstance(data, Mapping) or data.get("version") != VERSION or not isinstance(data.get("timers"), list):
        raise BadBook(f"{path} is not a list of timers of version {VERSION}")
    timers = {timer.id: timer for timer in (_timer(item, path) for item in data["timers"])}
    return timers, {id_: why for id_, timer in timers.items() if (why := problem(timer))}


def problem(timer: Timer) -> str:
    """Why it cannot be told here (its zone, its cron expression, a time beyond all calendars); empty if it can."""
    try:
        local = datetime.fromtimestamp(timer.next_at, zone(timer.zone))
        if timer.cron:
            cron.following(cron.parse(timer.cron), local.astimezone(UTC), zone(timer.zone))
    except (ValueError, OverflowError, OSError) as error:  # BadCron is a ValueError
        return str(error)
    return ""


def _timer(item: object, path: Path) -> Timer:
    names = {field.name for field in fields(Timer)}
    if not isinstance(item, Mapping) or names != set(item):
        raise BadBook(f"{path} holds a timer that cannot be read")
    numbers = ("next_at", "created_at")
    for name in names:
        if not isinstance(item[name], (int, float) if name in numbers else str) or isinstance(item[name], bool):
            raise BadBook(f"{path} holds a timer whose {name} is wrong")
    return Timer(**{name: item[name] for name in names})


def save(path: Path, timers: Mapping[str, Timer]) -> None:
    """Replace the file.  After a power cut it holds the old timers or the new ones.  Blocks: run it in a thread."""
    body = json.dumps(
        {"version": VERSION, "timers": [asdict(t) for t in timers.values()]}, ensure_ascii=False, indent=1
    )
    write_whole(path, body)
