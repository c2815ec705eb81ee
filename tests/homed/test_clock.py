"""Ids are random and say what they name."""

from __future__ import annotations

import re

from homed.clock import new_id, system_wall_clock


def test_ids_name_their_kind_and_do_not_repeat() -> None:
    ids = {new_id("turn") for _ in range(1000)}
    assert len(ids) == 1000
    assert all(re.fullmatch(r"turn_[0-9a-f]{16}", i) for i in ids)


def test_the_wall_clock_is_in_utc_seconds() -> None:
    assert system_wall_clock() > 1_700_000_000
