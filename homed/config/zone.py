"""The time zone of the person: as set, or the machine's."""

from __future__ import annotations

import os
from datetime import UTC, tzinfo
from pathlib import Path
from zoneinfo import ZoneInfo

LOCALTIME = Path("/etc/localtime")


def zone_named(name: str) -> tzinfo | None:
    """The zone of an IANA name, with its rules of summer time; None if there is none of that name."""
    try:
        return ZoneInfo(name)
    except (OSError, ValueError, KeyError):  # a folder, no such name, no such file
        return None


def system_zone(localtime: Path = LOCALTIME) -> tzinfo:
    """The machine's zone: ``TZ``, else what ``/etc/localtime`` leads to, else UTC."""
    named = os.environ.get("TZ", "").removeprefix(":")
    if named and (found := zone_named(named)) is not None:
        return found
    try:
        _, below, name = str(localtime.resolve(strict=True)).partition("/zoneinfo/")
    except OSError:
        return UTC
    return (zone_named(name) if below else None) or UTC
