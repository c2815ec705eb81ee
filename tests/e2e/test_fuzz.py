"""A plugin that fuzzes every frame a plugin can send, again and again: nothing breaks, leaks, or grows without end."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from homed.api.method import Params
from homed.api.table import whole
from homed.wire import methods
from tests.kit.daemon import until
from tests.kit.house import House, Plan, house

pytestmark = [pytest.mark.slow, pytest.mark.kill]

SECONDS = 24.0 if os.environ.get("HOMED_TEST_ROUNDS") is None else 600.0
"""Ten lives or so in CI, with another seed each time; ten minutes in the soak."""
SEED = int(os.environ.get("HOMED_TEST_SEED", str(time.time_ns() % 1_000_000_000)))
SOURCE = Path(__file__).parent.parent / "kit" / "fuzz_plugin"
GRANTED = sorted(methods.CAPABILITIES - methods.PACKAGED_ONLY - {methods.CORE})
GROWTH = 150 << 10
"""Kibibytes that the kernel may have grown at its peak; an arena of 64 MiB that was read once is among them."""


@pytest.fixture
def home(tmp_path: Path) -> Iterator[House]:
    data = tmp_path / "data"
    folder = data / "plugins" / "fuzz"
    shutil.copytree(SOURCE, folder, ignore=shutil.ignore_patterns("__pycache__"))
    frames: dict[str, dict[str, str]] = {name: {} for name in (*methods.TO_PLUGIN, "nonsense")}
    frames |= {name: _types(method.params) for name, method in whole().items()}
    (folder / "methods.json").write_text(json.dumps(frames), "utf-8")
    (folder / "seed").write_text(str(SEED), "ascii")
    with house(data, Plan(grants={"fuzz": GRANTED})) as built:
        yield built


def test_whatever_a_plugin_sends_the_kernel_stands_and_keeps_what_is_the_owners(home: House) -> None:
    home.fake.when("call it", {"calls": [{"name": "fuzz_tool", "args": {"text": "go"}}]}, {"say": "called"})
    kept = home.chat("the door code is 4471")["thread"]
    before = home.history(kept)
    process = home.daemon.process
    assert process is not None
    at_first, lives, outcomes = peak(process.pid), 0, 0
    end = time.monotonic() + SECONDS
    while time.monotonic() < end or lives < SECONDS / 12:  # again and again, also on a machine that takes long
        home.ask("admin.plugin_start", name="fuzz")
        lives += 1
        while home.plugin("fuzz")["state"] not in ("stopped", "disabled"):
            assert home.chat("call it")["outcome"]["state"] in ("answered", "failed", "refused"), f"seed {SEED}"
            outcomes += 1
    assert outcomes >= lives
    home.ask("admin.plugin_stop", name="fuzz")
    assert home.says("all well?") == "You said: all well?"
    assert home.history(kept) == before, "another's thread is as it was"
    said = home.daemon.said
    assert "Traceback" not in said, f"seed {SEED}: {said[said.index('Traceback') - 300 :][:4000]}"
    assert peak(process.pid) - at_first < GROWTH, f"seed {SEED}"
    checks = until(lambda: home.ask("admin.doctor", deep=True)["checks"], what="the doctor's word")
    assert [check for check in checks if check["state"] == "bad"] == [], f"seed {SEED}"


def _types(params: type[Params]) -> dict[str, str]:
    """Parameter → JSON type; of several the first."""
    found = {}
    for name, field in params.model_json_schema().get("properties", {}).items():
        kinds = field.get("anyOf", [field])
        found[name] = str(kinds[0].get("type", ""))
    return found


def peak(pid: int) -> int:
    """The most memory the process ever held, in KiB."""
    lines: list[Any] = Path(f"/proc/{pid}/status").read_text("ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))
