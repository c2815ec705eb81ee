"""Settings of the text log."""

from __future__ import annotations

from homed.config.definitions.shape import Definition

TEXTLOG = "core.textlog.enabled"
TEXTLOG_DAYS = "core.textlog.days"
TEXTLOG_BYTES = "core.textlog.max_bytes"

_TEXTLOG = "Text log"

LOGGING: tuple[Definition, ...] = (
    Definition(
        TEXTLOG, "bool", True, "Keep what was said as files too, a day each, in DATA/textlog. Off: there are none.",
        "Keep a text log", _TEXTLOG,
    ),
    Definition(
        TEXTLOG_DAYS, "int", 7, "Days that the files go back, today included; the database keeps what was said.",
        "Days kept", _TEXTLOG, minimum=1, maximum=3650,
    ),
    Definition(
        TEXTLOG_BYTES, "int", 8 << 20, "Bytes of a file before the next one of the same day is begun.",
        "Largest file", _TEXTLOG, minimum=100_000, maximum=1 << 40,
    ),
)  # fmt: skip
