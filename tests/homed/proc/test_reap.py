"""Adopted orphans are buried, and nobody's exit status is stolen.  Fault C3.

Becoming a subreaper is for the life of a process, so each test works in a Python of its own.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]

PRELUDE = """
import os, signal, subprocess, sys, time
from pathlib import Path
import trio
from homed.proc.reap import become_subreaper, reap_strays
from homed.proc.spawn import Command, spawn
from homed.proc.reap import _children, reap_adopted
from tests.kit.processes import until, zombies
ENV = {"PATH": os.environ["PATH"]}
become_subreaper()
"""


def run(body: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", PRELUDE + body], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_c3_orphans_of_a_living_child_are_adopted_and_reaped_when_they_die() -> None:
    out = run("""
async def main():
    async with trio.open_nursery() as nursery:
        nursery.start_soon(lambda: reap_strays(interval=0.05))
        stray = "setsid sleep 0.2 >/dev/null 2>&1 &"
        shell = Command(("sh", "-c", f"({stray} {stray} true); exec cat"), Path("/"), ENV)
        async with spawn(shell, mark="r") as child:
            await until(lambda: len(_children()) == 3, within=5)
            await until(lambda: _children() == [child.pid], within=5)
        print("adopted and gone", zombies(), _children())
        nursery.cancel_scope.cancel()
trio.run(main)
""")
    assert out == "adopted and gone [] []\n"


def test_the_exit_status_of_a_child_that_somebody_waits_for_is_never_stolen() -> None:
    out = run("""
async def one(n):
    async with spawn(Command(("sh", "-c", f"exit {n}"), Path("/"), ENV), mark="r") as child:
        await trio.sleep(0.1)  # it is a zombie now, and the reaper walks by
        assert (await child.wait()).code == n, n

async def main():
    plain = subprocess.Popen(["sh", "-c", "exit 7"])  # somebody else's, in our own session
    async with trio.open_nursery() as reaping:
        reaping.start_soon(lambda: reap_strays(interval=0.001))
        async with trio.open_nursery() as nursery:
            for n in range(1, 21):
                nursery.start_soon(one, n)
        reaping.cancel_scope.cancel()
    print(plain.wait(), zombies())
trio.run(main)
""")
    assert out == "7 []\n"


def test_nothing_is_reaped_while_a_child_is_just_being_started() -> None:
    out = run("""
from homed.proc.reap import known
async def main():
    known().starting += 1
    kept = subprocess.Popen(["true"], start_new_session=True)  # dropped, it would collect itself
    os.waitid(os.P_PID, kept.pid, os.WEXITED | os.WNOWAIT)
    first = reap_adopted()
    known().starting -= 1
    print(first, reap_adopted())
trio.run(main)
""")
    assert out == "0 1\n"
