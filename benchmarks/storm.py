"""A chat beside twenty plugins that crash, hang, flood and babble: what a turn costs then, and in peace."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.figures import Figure, median_ms, p99_ms
from tests.kit.hosting import install, manifest
from tests.kit.house import House, Plan, house

MODES = (
    *("exit1",) * 6, *("exit1-ready",) * 3, *("segfault-start",) * 3, *("flood-lines",) * 2, *("flood-calls",) * 2,
    "flood-stderr", "banner", *("slow-handshake",) * 2,
)  # fmt: skip
TURNS = 150
DOWN = frozenset({"stopped", "disabled"})


def measure() -> Iterator[Figure]:
    """Whole turns over the terminal socket with an instant model, before and during the storm."""
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "data"
        names = [f"storm_{n}" for n in range(len(MODES))]
        install(
            data / "plugins",
            *(manifest(name, mode, enabled=False) for name, mode in zip(names, MODES, strict=True)),
        )
        with house(data, Plan()) as home:
            _turns(home, [], 20)
            peace = _turns(home, [], TURNS)
            storm = _turns(home, names, TURNS)
            crashes = sum(len(one["crashes"]) for one in home.ask("admin.plugins")["plugins"])
        assert crashes >= len(MODES), "there was a storm"
        yield Figure(
            f"99th percentile of a turn while 20 plugins crash, hang and flood (median {median_ms(storm):.1f} ms)",
            p99_ms(storm), p99_ms(peace), f"the same in peace (median {median_ms(peace):.1f} ms)",
        )  # fmt: skip


def _turns(home: House, storm: list[str], count: int) -> list[float]:
    """Seconds of each turn; plugins of the storm that gave up are started again every ten turns."""
    taken = []
    with home.link() as link, home.link() as starter:
        for n in range(count):
            if n % 10 == 0 and storm:
                states = {one["name"]: one["state"] for one in home.ask("admin.plugins")["plugins"]}
                for name in storm:
                    if states[name] in DOWN:
                        starter.send("admin.plugin_start", {"name": name})
            begun = time.perf_counter()
            link.call("chat", {"text": f"hello {n}", "wait": True})
            taken.append(time.perf_counter() - begun)
    return taken
