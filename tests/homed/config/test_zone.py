"""The person's time zone."""

from __future__ import annotations

from datetime import UTC
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from homed.config.zone import system_zone, zone_named


def test_a_name_is_a_zone_and_nonsense_is_none() -> None:
    assert zone_named("Europe/Berlin") == ZoneInfo("Europe/Berlin")
    for wrong in ("Mars/Olympus", "", "../../etc/passwd", "/etc/passwd", "Europe", "a\0b"):
        assert zone_named(wrong) is None


def test_the_machines_is_tz_else_where_localtime_leads_else_utc(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    link = tmp_path / "localtime"
    monkeypatch.delenv("TZ", raising=False)
    assert system_zone(link) is UTC
    place = tmp_path / "zoneinfo" / "Asia" / "Shanghai"
    place.parent.mkdir(parents=True)
    place.touch()
    link.symlink_to(place)
    assert system_zone(link) == ZoneInfo("Asia/Shanghai")
    monkeypatch.setenv("TZ", ":America/New_York")
    assert system_zone(link) == ZoneInfo("America/New_York")
    monkeypatch.setenv("TZ", "nonsense")
    assert system_zone(link) == ZoneInfo("Asia/Shanghai")
