"""IANA time zones: the one asked for, else the setting, else the machine's."""

from __future__ import annotations

from pathlib import Path
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

LOCALTIME = Path("/etc/localtime")
_FOLDER = "zoneinfo/"


def zone(name: str) -> ZoneInfo:
    """The zone of that name.  Raises ValueError with what to write instead."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ValueError(f"{name!r} is no time zone; write an IANA name such as Asia/Shanghai") from None


def machine_zone(tz: str, localtime: Path = LOCALTIME) -> str:
    """The IANA name of the machine's zone from ``TZ`` or the link ``/etc/localtime``; UTC if neither names one."""
    for name in filter(None, (tz.removeprefix(":"), _linked(localtime))):
        try:
            return zone(name).key
        except ValueError:
            continue
    return "UTC"


def _linked(localtime: Path) -> str:
    try:
        target = str(localtime.readlink())
    except OSError:
        return ""
    return target.partition(_FOLDER)[2]
