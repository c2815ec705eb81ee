"""The lock on the data folder: one daemon, told who it is; what the dead left behind keeps nobody out."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from homed.config.lock import data_lock, holder
from homed.errors import Conflict, StorageError
from homed.paths import Paths

HOLD = (
    "import sys; from pathlib import Path; from homed.config.lock import data_lock; from homed.paths import Paths\n"
    "with data_lock(Paths(Path(sys.argv[1]))): print('held', flush=True); sys.stdin.read()"
)


def hold(folder: Path) -> subprocess.Popen[bytes]:
    child = subprocess.Popen([sys.executable, "-c", HOLD, str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert child.stdout is not None
    assert child.stdout.readline() == b"held\n"
    return child


def end(child: subprocess.Popen[bytes]) -> None:
    child.kill()
    child.communicate()


def test_a_second_daemon_is_told_pid_and_start_of_the_first(tmp_path: Path) -> None:
    first = hold(tmp_path)
    try:
        with pytest.raises(Conflict, match=rf"pid {first.pid}, since \d{{4}}-") as caught, data_lock(Paths(tmp_path)):
            pass
    finally:
        end(first)
    assert caught.value.detail == {"pid": first.pid}
    assert "--data" in caught.value.hint


def test_the_lock_of_a_killed_daemon_is_taken_over(tmp_path: Path) -> None:
    first = hold(tmp_path)
    end(first)
    assert holder((tmp_path / "homed.lock").read_bytes())[0] == first.pid
    with data_lock(Paths(tmp_path)):
        assert holder((tmp_path / "homed.lock").read_bytes())[0] == os.getpid()


def test_a_stale_lock_is_taken_over_also_when_its_pid_lives_again(tmp_path: Path) -> None:
    (tmp_path / "homed.lock").write_text(json.dumps({"pid": os.getppid(), "started": 1.0}))
    with data_lock(Paths(tmp_path)):
        pass


def test_a_child_does_not_keep_the_lock_after_the_daemon(tmp_path: Path) -> None:
    with data_lock(Paths(tmp_path)):
        child = subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE)
    try:
        with data_lock(Paths(tmp_path)):
            pass
    finally:
        end(child)


def test_after_a_clean_end_the_file_names_nobody(tmp_path: Path) -> None:
    with data_lock(Paths(tmp_path)):
        pass
    assert (tmp_path / "homed.lock").read_bytes() == b""


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"pid": "x", "started": 1}', b'{"pid": 1, "started": 1e99}'])
def test_a_garbled_lock_file_names_nobody(content: bytes) -> None:
    assert holder(content) == (0, "")


def test_a_folder_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="cannot be locked"), data_lock(Paths(tmp_path / "absent")):
        pass
