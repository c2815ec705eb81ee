"""What a plugin registers must be what its manifest says; the rest of launching is in test_host."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from homed.errors import ConfigError
from homed.host.launch import check_registration
from homed.host.life import Plan
from homed.host.states import Trust
from homed.wire.manifest import Manifest, OutputSpec, StageSpec, ToolSpec

MANIFEST = Manifest(
    "p", "1", "x", tools=(ToolSpec("dig", "Digs.", {}),), stages=(StageSpec("on_input"),), outputs=(OutputSpec("o"),),
    inputs=("p",),
)  # fmt: skip
PLAN = Plan(MANIFEST, Path("/"), Trust.PACKAGED, frozenset())
RIGHT: dict[str, Any] = {
    "tools": ["dig"], "stages": [{"stage": "on_input", "scope": "global", "order": 0, "on_failure": "open"}],
    "outputs": [{"name": "o", "caps": ["text"]}], "inputs": ["p"],
}  # fmt: skip


def test_a_registration_in_step_passes() -> None:
    check_registration(PLAN, RIGHT)


@pytest.mark.parametrize("kind", ["tools", "stages", "outputs", "inputs"])
def test_what_is_declared_but_not_registered_names_both(kind: str) -> None:
    wrong: tuple[Any, ...] = ([], None)
    for value in wrong:
        with pytest.raises(
            ConfigError, match=r"The manifest of p lists .* but the plugin does not register it"
        ) as caught:
            check_registration(PLAN, {**RIGHT, kind: value})
        assert kind in caught.value.message


@pytest.mark.parametrize(
    ("kind", "more"), [("tools", "bury"), ("stages", {"stage": "on_tool"}), ("outputs", {"name": "q"}), ("inputs", "q")]
)
def test_what_is_registered_but_not_declared_names_both(kind: str, more: object) -> None:
    with pytest.raises(ConfigError, match=r"p registers .* which its manifest does not list"):
        check_registration(PLAN, {**RIGHT, kind: [*RIGHT[kind], more]})


@pytest.mark.parametrize("answer", [None, [], "no", {"tools": 5}, {"tools": "dig"}])
def test_an_answer_of_another_shape_is_a_clear_error(answer: object) -> None:
    with pytest.raises(ConfigError):
        check_registration(PLAN, answer)
