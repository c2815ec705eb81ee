"""What was said, a line of JSON each: what ``textlog.read`` answers, and what the files of the text log hold."""

from __future__ import annotations

import json
from datetime import date, datetime, timedelta, tzinfo

from homed.agent.fitting import fitted, fitted_text
from homed.agent.ports import RedactorPort
from homed.errors import InvalidInput
from homed.memory.records import DRAFT, Event

LINE_BYTES = 100_000
"""Bytes of one text in a line, and of what belongs to it beside; of a longer one head and tail."""

LOGGED = f"no_memory = 0 AND NOT (kind = 'note' AND coalesce(json_extract(data, '$.code'), '') = '{DRAFT}')"
"""Of the rows of events, those that have a line: neither what is private to a conversation nor what was never sent."""

_DATA = ("name", "status", "args", "calls", "untrusted")


def line(event: Event, redactor: RedactorPort) -> str:
    """An event as a line, without its end.  What a source wants back byte for byte is not in it."""
    kept = {key: event.data[key] for key in _DATA if key in event.data}
    said = {
        "seq": event.seq, "id": event.id, "at": event.created_at, "scope": event.scope, "thread": event.thread,
        "turn": event.turn, "channel": event.channel, "peer": event.peer, "kind": event.kind.value,
        "text": fitted_text(redactor.redact(event.text), LINE_BYTES),
        **({"data": fitted(redactor.redact_json(kept), LINE_BYTES)} if kept else {}),
    }  # fmt: skip
    return json.dumps(said, ensure_ascii=False, separators=(",", ":"))


def day_of(at: float, zone: tzinfo) -> str:
    """The day, ``2026-01-31``, of UTC seconds."""
    return datetime.fromtimestamp(at, zone).date().isoformat()


def bounds(day: str, zone: tzinfo) -> tuple[float, float]:
    """When a day begins and ends, in UTC seconds.  InvalidInput for what is no day."""
    try:
        first = date.fromisoformat(day)
        return _midnight(first, zone), _midnight(first + timedelta(days=1), zone)
    except (ValueError, OverflowError, OSError):
        raise InvalidInput(f"{day!r} is no day.", hint="Give one like 2026-01-31.") from None


def _midnight(day: date, zone: tzinfo) -> float:
    return datetime(day.year, day.month, day.day, tzinfo=zone).timestamp()
