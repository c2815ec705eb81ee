"""The threads that clear up when the event loop cannot; the end of a whole process is in ``test_entry``."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import pytest

from homed.proc.marks import MARK
from homed.sdk import guard
from homed.sdk.guard import Guard, wait_for_end
from tests.kit.processes import alive, with_mark


def test_the_end_of_another_process_is_seen() -> None:
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as child:
        watch = threading.Thread(target=wait_for_end, args=(child.pid,), daemon=True)
        watch.start()
        watch.join(0.1)
        assert watch.is_alive()
        child.kill()
        watch.join(10)
        assert not watch.is_alive()


def test_without_pidfds_the_parent_is_polled(monkeypatch: pytest.MonkeyPatch) -> None:
    parents = iter([7, 7, 1])
    monkeypatch.setattr(guard, "_POLL", 0)
    monkeypatch.setattr(os, "getppid", lambda: next(parents))

    def refuse(pid: int) -> int:
        raise OSError("a sandbox")

    monkeypatch.setattr(os, "pidfd_open", refuse)
    wait_for_end(7)
    assert next(parents, None) is None


def test_sweeping_kills_what_carries_the_mark_and_spares_the_rest() -> None:
    mark = f"t{os.getpid()}g"
    ours = subprocess.Popen(["sleep", "600"], env={**os.environ, MARK: f"{mark}/1"})
    other = subprocess.Popen(["sleep", "600"], env={**os.environ, MARK: f"{mark}2"})
    try:
        assert with_mark(mark) == [ours.pid]
        Guard(mark).sweep()
        assert ours.wait(10) == -9
        assert alive(other.pid)
    finally:
        other.kill()
        other.wait()


ARMED = """
import threading
from homed.sdk.guard import Guard
guard = Guard("none-such")
guard.arm()
guard.arm()
assert sum(thread.name == "last resort" for thread in threading.enumerate()) == 1
threading.Event().wait(600)
"""


def test_once_armed_the_process_ends_whatever_hangs() -> None:
    done = subprocess.run([sys.executable, "-c", ARMED], timeout=30, check=False, capture_output=True)
    assert done.returncode == 70, done.stderr
