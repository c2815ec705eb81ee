"""Every scenario on every wire, natively and by its Lua script; the table of them stands in docs/providers.md."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.providers.awaited import AWAITED
from tests.providers.scenario import Scenario, all_scenarios
from tests.providers.stage import Stage
from tests.providers.wires import PATHS, WIRES, Wired


def _marks(wire: str, path: str, scenario: Scenario) -> list[pytest.MarkDecorator]:
    why = AWAITED.get((wire, path, scenario.name))
    return [pytest.mark.xfail(reason=why, strict=True)] if why else []


ROWS = [
    pytest.param(WIRES[wire], path, scenario, id=f"{wire}-{path}-{scenario.name}", marks=_marks(wire, path, scenario))
    for wire, path in PATHS
    for scenario in all_scenarios()
    if not scenario.why_not(WIRES[wire])
]


@pytest.mark.parametrize(("wired", "path", "scenario"), ROWS)
def test_scenario(wired: Wired, path: str, scenario: Scenario, stage: Stage, tmp_path: Path) -> None:
    stage.play(wired, path, scenario.run, tmp_path)


def test_there_are_enough_of_them_and_each_is_said_of_most_wires() -> None:
    scenarios = all_scenarios()
    assert len(scenarios) >= 60
    for scenario in scenarios:
        assert sum(not scenario.why_not(wired) for wired in WIRES.values()) >= 1, scenario.name
