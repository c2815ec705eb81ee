"""One question through ``waiter -chat`` to a running homed with an instant model, and what the model is sent for it."""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.figures import Figure, times
from tests.kit.daemon import Daemon, run_command, run_homed, until
from tests.kit.fake_openai import fake_openai_thread

ROUNDS = 15
PEER = (sys.executable, "-c", "import trio")
SETTLED = ("ready", "disabled", "stopped", "lazy")


def measure() -> Iterator[Figure]:
    """Turn and turn about with ``python -c 'import trio'``; the floor is four times that."""
    with tempfile.TemporaryDirectory() as folder, fake_openai_thread() as fake:
        data = Path(folder) / "data"
        add = ("models", "add", "fake", "--base-url", fake.url, "--model", fake.model, "--api-key", fake.key)
        assert run_homed(*add, "--data", str(data)).code == 0
        with Daemon(data) as daemon:
            until(lambda: all(p["state"] in SETTLED for p in daemon.json("plugin", "list")), what="every plugin up")
            assert daemon.run("plugin", "start", "sanitizer").code == 0  # every built-in, also the one that is off
            ask = [sys.executable, "-m", "waiter", "--data", str(data), "-chat", "hi"]
            assert run_command(ask).code == 0
            chats, bare = [], []
            for _ in range(ROUNDS):
                chats += times(lambda: run_command(ask), 1)
                bare += times(lambda: run_command(PEER), 1)
            yield Figure(
                "waiter -chat, whole process", statistics.median(chats) * 1000, statistics.median(bare) * 1000,
                "python -c 'import trio' (floor 4)",
            )  # fmt: skip
            size = max(len(json.dumps(request.body, ensure_ascii=False).encode()) for request in fake.chats)
            tools = max(len(request.body.get("tools", ())) for request in fake.chats)
            yield Figure(f"request for 'hi', {tools} tools of every built-in", size, 16_384, "16 KiB", "bytes")
