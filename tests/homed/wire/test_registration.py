"""What a plugin registers must be what its manifest says."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from homed.wire.manifest import Manifest, OutputSpec, StageSpec, ToolSpec
from homed.wire.registration import differences

MANIFEST = Manifest(
    "p", "1", "x", tools=(ToolSpec("dig", "Digs.", {}),), stages=(StageSpec("on_input"),), outputs=(OutputSpec("o"),),
    inputs=("p",), cleaners=("p",),
)  # fmt: skip
RIGHT: dict[str, Any] = {
    "tools": ["dig"], "stages": [{"stage": "on_input", "scope": "global", "order": 0, "on_failure": "open"}],
    "outputs": [{"name": "o", "caps": ["text"]}], "inputs": ["p"], "cleaners": ["p"],
}  # fmt: skip


def test_who_cleans_nothing_need_not_say_so() -> None:
    old = {key: value for key, value in RIGHT.items() if key != "cleaners"}
    assert differences(replace(MANIFEST, cleaners=()), old) == []


def test_a_registration_in_step_passes() -> None:
    assert differences(MANIFEST, RIGHT) == []
    assert differences(MANIFEST, {**RIGHT, "stages": [{"stage": "on_input"}]}) == []


@pytest.mark.parametrize(
    ("kind", "name"),
    [("tools", "dig"), ("stages", "on_input (scope"), ("outputs", "o"), ("inputs", "p"), ("cleaners", "p")],
)
@pytest.mark.parametrize("value", [[], None, 5, "dig"])
def test_what_is_declared_but_not_registered_is_named(kind: str, name: str, value: object) -> None:
    (found,) = differences(MANIFEST, {**RIGHT, kind: value})
    assert found.startswith(f"{kind}: {name}")
    assert found.endswith("stands in plugin.json but is not registered")


@pytest.mark.parametrize(
    ("kind", "more"),
    [
        ("tools", "bury"),
        ("stages", {"stage": "on_tool"}),
        ("outputs", {"name": "q"}),
        ("inputs", "q"),
        ("cleaners", "q"),
    ],
)
def test_what_is_registered_but_not_declared_is_named(kind: str, more: object) -> None:
    (found,) = differences(MANIFEST, {**RIGHT, kind: [*RIGHT[kind], more]})
    assert found.endswith("is registered but does not stand in plugin.json")


@pytest.mark.parametrize("change", [{"on_failure": "closed"}, {"scope": "own-tools"}, {"order": 1}])
def test_a_stage_that_works_in_another_way_than_declared_is_named(change: dict[str, object]) -> None:
    stage = {**RIGHT["stages"][0], **change}
    assert len(differences(MANIFEST, {**RIGHT, "stages": [stage]})) == 2


@pytest.mark.parametrize("answer", [None, [], "no", {"tools": 5}, {"tools": [[], {}, {"stage": {}}]}])
def test_an_answer_of_another_shape_has_nothing_right(answer: object) -> None:
    assert len(differences(MANIFEST, answer)) >= 4
