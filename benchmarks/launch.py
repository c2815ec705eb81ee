"""What 28 installed plugins cost: processes, memory and start, by how they are launched; all in one run.

Stand-ins fill up what is not built yet: trio, the SDK and one tool each.  Memory is the sum of PSS over homed and all
its processes, so that shared pages count once.  The model is a source elsewhere that nobody asks.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.figures import CACHING, Figure
from homed.errors import HomedError
from homed.host.discover import packaged_folder
from homed.paths import Paths
from homed.proc.marks import stat_fields
from tests.kit.daemon import until
from waiter.endpoint import places
from waiter.link import dial

PLUGINS = 28
ROUNDS = 3
IDLE_FLOOR, IDLE_GOAL = 166.0, 90.0
ALL_FLOOR, ALL_GOAL = 300.0, 160.0
COMING = ("waiting", "starting", "absent", "stopping")

_STAND_IN = """
import json
import trio
from homed import sdk

plugin = sdk.Plugin("{name}")


@plugin.tool(cls="read")
async def echo_{name}(ctx: sdk.Context, text: str) -> str:
    "Says it back."
    await trio.lowlevel.checkpoint()
    return json.dumps(text)


if __name__ == "__main__":
    sdk.run(plugin)
"""


@dataclass(frozen=True, slots=True)
class Seen:
    """One running homed: MB of PSS in all and of homed alone, processes, and seconds until nothing was coming."""

    total: float
    homed: float
    processes: int
    start: float


def measure() -> Iterator[Figure]:
    """Medians of some rounds, method after method in turn."""
    seen: dict[tuple[str, str], list[Seen]] = {(m, r): [] for r in ("lazy", "all") for m in ("plain", "zygote")}
    with tempfile.TemporaryDirectory() as folder:
        for (method, run), found in seen.items():
            data = _furnish(Path(folder) / f"{method}-{run}")
            look(method, run, data)  # the database is made, caches are warm
            found.clear()
        for _ in range(ROUNDS):
            for (method, run), found in seen.items():
                found.append(look(method, run, Path(folder) / f"{method}-{run}"))
    for (method, run), found in seen.items():
        floor, goal = (ALL_FLOOR, ALL_GOAL) if run == "all" else (IDLE_FLOOR, IDLE_GOAL)
        what = "all running" if run == "all" else "idle, lazy"
        one = found[0]
        homed = statistics.median(s.homed for s in found)
        yield Figure(
            f"{PLUGINS} plugins, {what}, {method}: memory ({one.processes} processes; homed itself {homed:.0f} MB)",
            statistics.median(s.total for s in found), goal, f"the goal (floor {floor / goal:.2f})", "MB PSS",
        )  # fmt: skip
        peer = seen["plain", run]
        yield Figure(
            f"{PLUGINS} plugins, {what}, {method}: from the start until none is coming",
            statistics.median(s.start for s in found) * 1000,
            statistics.median(s.start for s in peer) * 1000, "plain",
        )  # fmt: skip


def look(method: str, run: str, data: Path) -> Seen:
    """Start one, wait until every plugin has come up or rests, look at it, and end it."""
    with _daemon(method, run, data) as (homed, begun):
        until(lambda: _settled(data), what="every plugin up")
        start = time.perf_counter() - begun
        time.sleep(1.0)  # what a start leaves to do is done
        pids = [homed, *_below(homed)]
        assert run != "all" or len(pids) > PLUGINS, f"{len(pids)} processes: not every plugin runs"
        pss = {pid: _pss(pid) for pid in pids}
        return Seen(sum(pss.values()), pss[homed], len(pids), start)


@contextmanager
def _daemon(method: str, run: str, data: Path) -> Iterator[tuple[int, float]]:
    argv = [sys.executable, "-m", "benchmarks.launch_daemon", method, run, str(data)]
    begun = time.perf_counter()
    with subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=CACHING) as process:
        try:
            yield process.pid, begun
        finally:
            process.terminate()


def _settled(data: Path) -> bool:
    try:
        link = dial(places({}, data=str(data)))
    except HomedError:
        return False
    try:
        plugins: list[dict[str, Any]] = link.call("admin.plugins", {}, timeout=60)["plugins"]
    except HomedError:
        return False
    finally:
        link.close()
    broken = [(p["name"], p["reason"]) for p in plugins if p["state"] in ("backoff", "stopped")]
    assert not broken, broken
    assert len(plugins) == PLUGINS, len(plugins)
    return not any(p["state"] in COMING for p in plugins)


def _furnish(data: Path) -> Path:
    """A folder with stand-ins for what the built-in plugins lack to the number."""
    Paths(data).create()
    source = '{ name = "far", base_url = "http://127.0.0.1:9/v1", model = "m" }'
    config = data / "homed.toml"
    config.write_text(
        f'[core.llm]\nsources = [{source}]\nembedded = false\n[plugin.webui]\nlisten = "127.0.0.1:0"\n', "utf-8"
    )
    config.chmod(0o600)
    built_in = len(list(packaged_folder().glob("*/plugin.json")))
    for number in range(PLUGINS - built_in):
        _stand_in(data / "plugins", f"stand_in_{number}")
    return data


def _stand_in(place: Path, name: str) -> None:
    folder = place / name
    folder.mkdir(parents=True)
    (folder / "main.py").write_text(_STAND_IN.format(name=name), "utf-8")
    schema = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"],
              "additionalProperties": False}  # fmt: skip
    tool = {"name": f"echo_{name}", "description": "Says it back.", "class": "read", "parameters": schema}
    manifest = {"name": name, "version": "1.0", "entry": "python main.py", "needs": ["tools"], "activation": "lazy",
                "tools": [tool]}  # fmt: skip
    (folder / "plugin.json").write_text(json.dumps(manifest), "utf-8")


def _below(pid: int) -> list[int]:
    """Every process that descends from it."""
    parents = {int(p.name): stat_fields(int(p.name)) for p in Path("/proc").iterdir() if p.name.isdigit()}
    found, fresh = [], [pid]
    while fresh:
        fresh = [one for one, fields in parents.items() if fields and int(fields[1]) in fresh and fields[0] != "Z"]
        found += fresh
    return found


def _pss(pid: int) -> float:
    """MB."""
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text("ascii").splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) / 1024
    raise AssertionError(f"no Pss of {pid}")
