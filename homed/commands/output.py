"""How commands print: tables people can read, JSON on request, errors with what to do."""

from __future__ import annotations

import json
import sys
import unicodedata
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

from homed.commands.saying import phrase, translated
from homed.errors import HomedError, InvalidInput


def complain(error: HomedError) -> None:
    """One line to stderr, and a second that says what to do."""
    print(phrase("homed: {message}", message=clean(translated(error.message))), file=sys.stderr)
    if error.hint:
        print(f"  {clean(translated(error.hint))}", file=sys.stderr)


def as_json(value: object) -> None:
    """The value as readable JSON on stdout."""
    print(json.dumps(value, ensure_ascii=False, indent=2))


def width(text: str) -> int:
    """Terminal columns of a text: wide East Asian characters take two, combining marks none."""
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def padded(text: str, columns: int) -> str:
    """The text with spaces behind it, so many columns wide."""
    return text + " " * (columns - width(text))


def clean(text: str) -> str:
    """The text with control characters made visible: what a plugin says must not steer the terminal."""
    return "".join(c if c.isprintable() or c == "\n" else f"\\x{ord(c):02x}" for c in text)


def table(rows: Iterable[Sequence[object]], head: Sequence[str]) -> None:
    """Columns as wide as their widest cell; the last one runs free.  ``head`` is in English, as ``phrase`` takes it."""
    cells = [[phrase(one) for one in head], *([clean(str(cell)).replace("\n", " ") for cell in row] for row in rows)]
    widths = [max(width(row[i]) for row in cells) for i in range(len(head))]
    for row in cells:
        print("  ".join(padded(cell, widths[i]) for i, cell in enumerate(row)).rstrip())


def counted(counts: Iterable[tuple[str, int]]) -> str:
    """How many there are of each, by names in English as ``phrase`` takes them."""
    return phrase(", ").join(phrase("{count} {name}", count=count, name=phrase(name)) for name, count in counts)


def when(at: float | None) -> str:
    """Local date and time of UTC seconds."""
    if not at:
        return ""
    return datetime.fromtimestamp(at, UTC).astimezone().strftime("%Y-%m-%d %H:%M:%S")


def day(given: str) -> float | None:
    """The beginning of a day by its date, in UTC seconds; None for none.  Raises ``InvalidInput``."""
    if not given:
        return None
    try:
        return datetime.fromisoformat(given).astimezone().timestamp()
    except ValueError:
        raise InvalidInput(f"{clean(given)} is no day.", hint="Give one as 2026-01-31.") from None
