"""The page opens before the kernel is loaded, and whoever calls meanwhile waits for it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.kit.daemon import PATIENCE, Daemon, run_command

HELD = """
import sys
from homed import app
from homed.__main__ import main
load = app._load_kernel
def held():
    open(sys.argv[1]).close()  # until the test opens its other end
    return load()
app._load_kernel = held
sys.exit(main(sys.argv[2:]))
"""


@pytest.fixture
def gate(tmp_path: Path) -> Path:
    """What the kernel's load waits at."""
    path = tmp_path / "gate"
    os.mkfifo(path)
    return path


@pytest.fixture
def held(tmp_path: Path, gate: Path) -> Iterator[Daemon]:
    """A daemon whose page is up and whose kernel does not load yet."""
    daemon = Daemon(tmp_path / "data")
    daemon.program = (sys.executable, "-c", HELD, str(gate))
    try:
        yield daemon.start()
    finally:
        daemon.end()


def test_the_page_opens_without_the_kernel_and_a_command_waits_for_it(held: Daemon, gate: Path) -> None:
    with urllib.request.urlopen(f"{held.url}/login", timeout=PATIENCE) as page:
        assert page.status == 200
    assert "homed is up" not in held.said
    argv = [sys.executable, "-m", "homed", "memory", "jobs", "--json", "--data", str(held.data)]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, env=held.env) as asking:
        try:
            assert "homed is up" not in held.said, "it began before there was anybody to answer"
            gate.write_text("")
            out, _ = asking.communicate(timeout=PATIENCE)
        finally:
            asking.kill()
    assert asking.returncode == 0
    assert b'"prune"' in out
    assert held.stop() == 0


def test_a_stop_while_the_kernel_loads_is_an_orderly_one(held: Daemon, gate: Path) -> None:
    held.send(signal.SIGTERM)
    gate.write_text("")
    assert held.wait() == 0
    assert held.descendants() == []
    assert "Traceback" not in held.said
    assert "ERROR" not in held.said


def loaded(statements: str) -> set[str]:
    """The modules that are loaded after these statements, each with every package above it."""
    ran = run_command([sys.executable, "-c", f"{statements}\nimport sys\nprint(*sys.modules)"])
    assert ran.code == 0, ran.err
    return set(ran.out.split())


def test_the_zygote_is_begun_before_trio_is_loaded() -> None:
    found = loaded("import homed.__main__\nhomed.__main__.read_start(['run', '--data', 'x'])")
    assert "homed.proc.zygote_begin" in found
    assert not found & {"trio", "homed.commands.parser", "homed.host", "pydantic"}


def test_the_porch_loads_nothing_of_the_kernel() -> None:
    found = loaded("import homed.app, homed.api.porch")
    rooms = {"homed.wiring", "homed.engine", "homed.jobs", "homed.retrieval", "homed.providers", "homed.builtin.tools"}
    assert not found & {*rooms, "homed.agent.conversations", "homed.api.io", "numpy", "PIL", "onnxruntime", "httpx2"}


RARE = {
    "homed.jobs.checks": "homed doctor",
    "homed.jobs.distil": "a memory to make",
    "homed.jobs.doctor": "homed doctor",
    "homed.jobs.exporting": "an export",
    "homed.jobs.extract": "a memory to make",
    "homed.jobs.forget": "something to forget",
    "homed.jobs.importing": "an import",
    "homed.jobs.judging": "two names that are alike",
    "homed.jobs.memcheck.findings": "homed memory doctor",
    "homed.jobs.merging": "somebody who looks at what may be one",
    "homed.jobs.passing": "a turn that is over",
    "homed.jobs.seeing": "a file",
    "homed.jobs.textlog.log": "a turn that is over",
    "homed.memory.distil": "a memory to make",
    "homed.providers.cassette": "somebody who records",
    "homed.providers.http": "a question",
    "homed.providers.listing": "somebody who looks for models",
    "homed.providers.lua.scripts": "a source with a script",
    "homed.providers.trial": "homed models test",
    "homed.retrieval.embed.remote": "an endpoint for vectors",
    "homed.spend.report": "the usage page",
    "homed.tracker.tracker": "a tracked folder",
    "httpx2": "a question",
}
"""What a daemon does without, until there is what is said here."""

EVER = {"homed.api.dispatch", "homed.api.table", "homed.api.method", "homed.api.ports", "homed.api.rooms"}
ON_THE_PORCH = {f"homed.api.{name}" for name in ("auth", "core", "door", "events", "overview", "porch")}


def test_a_daemon_that_nobody_asks_anything_does_without_what_is_rarely_used() -> None:
    found = loaded("from homed import app\napp._load_porch(), app._load_kernel()")
    assert "homed.wiring" in found
    assert not found & RARE.keys()
    assert {name for name in found if name.startswith("homed.api.")} <= EVER | ON_THE_PORCH


def test_all_that_is_rarely_used_is_there() -> None:
    """A module that was renamed would be found nowhere, and so never where it should not be."""
    assert [name for name in RARE if find_spec(name) is None] == []
