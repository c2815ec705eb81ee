"""One question through ``waiter -chat`` to a running homed with an instant model, and how soon the page is up."""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.figures import Figure, median_ms, times
from tests.kit.daemon import Daemon, run_command, run_homed, until
from tests.kit.fake_openai import fake_openai_thread

ROUNDS = 15


def measure() -> Iterator[Figure]:
    """Beside the bare interpreter, and for the start beside importing what serves the page."""
    python = [sys.executable, "-c", "pass"]
    with tempfile.TemporaryDirectory() as folder, fake_openai_thread() as fake:
        data = Path(folder) / "data"
        add = ("models", "add", "fake", "--base-url", fake.url, "--model", fake.model, "--api-key", fake.key)
        assert run_homed(*add, "--data", str(data)).code == 0
        start = time.perf_counter()
        with Daemon(data) as daemon:
            up = time.perf_counter() - start
            serving = [sys.executable, "-c", "import quart_trio, hypercorn.trio"]
            imports = times(lambda: run_command(serving), 5)
            yield Figure(
                "start to login link", up * 1000, median_ms(imports), "python -c 'import quart_trio, hypercorn.trio'"
            )
            until(daemon.socket.exists)
            ask = [sys.executable, "-m", "waiter", "--data", str(data), "-chat", "hi"]
            assert run_command(ask).code == 0
            chats, bare = times(lambda: run_command(ask), ROUNDS), times(lambda: run_command(python), ROUNDS)
            yield Figure("waiter -chat, whole process", median_ms(chats), median_ms(bare), "python -c pass")
            size = max(len(json.dumps(request.body)) for request in fake.requests)
            yield Figure("request size for 'hi'", size, 16_384, "16 KiB", "bytes")
