"""What a plugin registers must be what its manifest says; the rest of launching is in test_host."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from homed.errors import ConfigError
from homed.events import Bus
from homed.host.launch import LaunchPorts, ProcessLauncher, check_registration
from homed.host.life import Plan
from homed.host.pluginlog import PluginLog
from homed.host.session import SessionPorts
from homed.host.states import Trust
from homed.wire.manifest import Manifest, OutputSpec, StageSpec, ToolSpec
from tests.kit.hosting import RecordingDispatcher

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


@pytest.mark.parametrize(
    ("trust", "argv", "cwd"),
    [
        (Trust.PACKAGED, (sys.executable, "-P", "-m", "x"), "own"),
        (Trust.EXTERNAL, (sys.executable, "-m", "x"), "folder"),
    ],
)
def test_a_file_in_its_data_folder_cannot_stand_in_for_a_module_of_a_packaged_plugin(
    tmp_path: Path, trust: Trust, argv: tuple[str, ...], cwd: str
) -> None:
    log = PluginLog(tmp_path / "p.log", str)
    session = SessionPorts(Bus(), RecordingDispatcher(), log)
    ports = LaunchPorts("f", {"PATH": "/bin"}, lambda name: {}, lambda name: tmp_path, lambda name: session)
    plan = Plan(Manifest("p", "1", "python -m x"), tmp_path / "folder", trust, frozenset())
    command = ProcessLauncher(ports)._command(plan, tmp_path / "own")
    assert (command.argv, command.cwd) == (argv, tmp_path / cwd)
