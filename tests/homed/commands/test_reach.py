"""Who runs, who can be reached, and what a command says otherwise."""

from __future__ import annotations

import argparse
import json
import socket
from pathlib import Path
from threading import Thread

import pytest

from homed.commands.reach import ask, ask_or_open, running
from homed.config.lock import data_lock
from homed.errors import Unavailable
from homed.paths import Paths


def args(data: Path) -> argparse.Namespace:
    return argparse.Namespace(data=str(data), profile=None, socket=None)


@pytest.fixture
def paths(tmp_path: Path) -> Paths:
    paths = Paths(tmp_path / "data")
    paths.create()
    return paths


def test_nobody_runs_on_a_folder_that_is_not_there_or_not_locked(paths: Paths) -> None:
    assert running(Paths(paths.data / "none")) is None
    paths.lock.write_text('{"pid": 1, "started": 1}')
    assert running(paths) is None


def test_asking_for_the_lock_does_not_take_it(paths: Paths) -> None:
    with data_lock(paths):
        assert running(paths) is not None
        assert running(paths) is not None


def test_no_daemon_is_said_with_how_to_start_one(paths: Paths) -> None:
    with pytest.raises(Unavailable, match="is not running") as caught:
        ask(args(paths.data), "admin.status")
    assert "homed --data" in caught.value.hint


def test_a_running_daemon_without_a_socket_is_never_written_beside(paths: Paths) -> None:
    with data_lock(paths), pytest.raises(Unavailable, match="--safe"):
        ask_or_open(args(paths.data), "admin.config_set", key="core.agent.max_tool_turns", value=3)
    assert not paths.db.exists()


def test_a_daemon_that_answers_unavailable_has_answered(paths: Paths) -> None:
    """The folder is not opened beside it, also when its lock is free already: it is on its way out."""

    def answer() -> None:
        with listening.accept()[0] as client:
            asked = json.loads(client.recv(65_536))
            error = {"code": -32000, "message": "homed is stopping.", "data": {"code": "unavailable"}}
            client.sendall(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "error": error}).encode() + b"\n")

    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(paths.socket))
        listening.listen()
        daemon = Thread(target=answer)
        daemon.start()
        with pytest.raises(Unavailable, match="homed is stopping"):
            ask_or_open(args(paths.data), "admin.config_list")
        daemon.join(5)
    assert not paths.db.exists()


def test_what_is_stored_without_a_daemon_is_said_with_the_folder(
    paths: Paths, capsys: pytest.CaptureFixture[str]
) -> None:
    """Else a source added on the wrong folder looks added, and the daemon never has it."""
    ask_or_open(args(paths.data), "admin.config_get", key="core.agent.max_tool_turns")
    assert capsys.readouterr().err == ""
    ask_or_open(args(paths.data), "admin.config_set", key="core.agent.max_tool_turns", value=3)
    assert f"not running on {paths.data}" in capsys.readouterr().err
