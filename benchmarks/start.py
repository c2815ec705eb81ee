"""How soon the page answers after `homed` is started, beside importing what serves it; turn and turn about."""

from __future__ import annotations

import re
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

from benchmarks.figures import CACHING, Figure, times
from tests.kit.daemon import run_command

ROUNDS = 10
SERVING = (sys.executable, "-c", "import quart_trio, hypercorn.trio")


def measure() -> Iterator[Figure]:
    """Medians; the floor is twice the bare import."""
    ups, bare = [], []
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "data"
        page_up(data)  # makes the folder and the database; the caches of both sides are warm from here on
        run_command(SERVING)
        for _ in range(ROUNDS):
            ups.append(page_up(data))
            bare += times(lambda: run_command(SERVING), 1)
    yield Figure(
        f"page answers after a start (worst {max(ups) * 1000:.0f} ms)", statistics.median(ups) * 1000,
        statistics.median(bare) * 1000, "python -c 'import quart_trio, hypercorn.trio' (floor 2)",
    )  # fmt: skip


def page_up(data: Path) -> float:
    """Seconds from starting homed until its page was read; it is stopped again."""
    command = [sys.executable, "-m", "homed", "run", "--data", str(data), "--listen", "127.0.0.1:0"]
    begun = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=CACHING) as homed:
        try:
            assert homed.stdout is not None
            url = next(found[0] for line in homed.stdout if (found := re.search(rb"http://[^/]+/login", line)))
            with urllib.request.urlopen(url.decode(), timeout=60) as answer:
                assert answer.status == 200
                answer.read()
            return time.perf_counter() - begun
        finally:
            homed.terminate()
