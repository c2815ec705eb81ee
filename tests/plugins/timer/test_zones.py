"""Which time zone is meant."""

from __future__ import annotations

from pathlib import Path

import pytest

from plugins.timer.zones import machine_zone, zone


def test_an_iana_name_is_a_zone() -> None:
    assert zone("Europe/Berlin").key == "Europe/Berlin"


@pytest.mark.parametrize("name", ["", "Berlin", "../../etc/passwd", "/etc/passwd", "UTC+1\0", "Europe", "a" * 5000])
def test_anything_else_is_refused_with_what_to_write(name: str) -> None:
    with pytest.raises(ValueError, match="IANA"):
        zone(name)


def test_the_machines_zone_is_tz_else_the_localtime_link_else_utc(tmp_path: Path) -> None:
    link = tmp_path / "localtime"
    assert machine_zone("", link) == "UTC"
    link.symlink_to("/usr/share/zoneinfo/Asia/Shanghai")
    assert machine_zone("", link) == "Asia/Shanghai"
    assert machine_zone(":Europe/Berlin", link) == "Europe/Berlin"
    assert machine_zone("CET-1CEST", link) == "Asia/Shanghai"
