"""The command that a plugin is run by; the rest of launching is in test_host."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from homed.events import Bus
from homed.host.launch import LaunchPorts, ProcessLauncher
from homed.host.life import Plan
from homed.host.pluginlog import PluginLog
from homed.host.session import SessionPorts
from homed.host.states import Trust
from homed.wire.manifest import Manifest
from tests.kit.hosting import RecordingDispatcher


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
