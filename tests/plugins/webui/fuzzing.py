"""The page on its stand-in kernel in a thread, and schemathesis against it.

``python -m tests.plugins.webui.fuzzing [OPTIONS OF SCHEMATHESIS]`` runs it by hand.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import trio

from plugins.webui.context import Site
from plugins.webui.guard import Guard
from plugins.webui.limits import Buckets, Limits
from plugins.webui.listen import Address, open_socket
from plugins.webui.openapi import document
from plugins.webui.server import serve_until_cancelled
from plugins.webui.web import create_app

from .standin import OWNER, StandIn, furnished
from .standin_ledger import furnish_ledger
from .standin_records import furnished_records
from .standin_v1 import Programs

WIDE = 1e9
CONFIG = """
[auth.openapi.key]
bearer = "{key}"

[phases.coverage]
unexpected-methods = ["PUT", "DELETE"]

[checks.negative_data_rejection]
expected-statuses = [400, 401, 403, 404, 405, 413, 415, 421]

[[operations]]
include-path = "/api/v1/socket"
checks.positive_data_acceptance.enabled = false

[[operations]]
include-path = "/api/v1/settings"
include-method = "POST"
checks.positive_data_acceptance.enabled = false

[[operations]]
include-path = "/v1/chat/completions"
checks.positive_data_acceptance.enabled = false

[[operations]]
include-path = "/v1/models/{{model}}"
checks.positive_data_acceptance.enabled = false

[[operations]]
include-path = "/api/v1/uploads"
checks.positive_data_acceptance.enabled = false

[[operations]]
include-path = "/api/v1/packages"
checks.positive_data_acceptance.enabled = false

[[operations]]
include-path = "/api/v1/packages/fetch"
enabled = false
"""
"""What is ours to say: a key to it; a body too large is refused by its size; a plain request opens no WebSocket; any
bytes are no package, and no address that is made up is asked for one; a pattern does not say which names are UTF-8;
which values a setting takes is the kernel's to know; what a
conversation ends with, and which models there are, no schema says; other methods are asked in ``test_door``."""
SCOPES = ["chat", "memory", "admin"]


def fuzzed_kernel() -> tuple[StandIn, str]:
    """A kernel with something of everything, and a key to it."""
    kernel = furnished(Programs())
    kernel.put("a.png", "image/png", b"\x89PNG")
    kernel.put("b.txt", "text/plain", b"text")
    kernel.remember("e1", "evidence")
    furnished_records(kernel)
    furnish_ledger(kernel)
    return kernel, str(kernel.admin_keys_add(OWNER, "fuzz", SCOPES)["key"])


async def _serve(kernel: StandIn, started: list[int], up: threading.Event, stop: trio.Event) -> None:
    listening = open_socket(Address("127.0.0.1", 0))
    started.append(listening.getsockname()[1])
    built = Site.build(kernel, kernel.hub, Guard(), port=started[0], folder=kernel.folder)
    wide = Limits(Buckets(WIDE, WIDE), Buckets(WIDE, WIDE), Buckets(WIDE, WIDE), Buckets(WIDE, WIDE))
    site = replace(built, limits=wide)
    async with trio.open_nursery() as nursery:
        kernel.nursery = nursery
        nursery.start_soon(serve_until_cancelled, create_app(site), kernel.hub, listening)
        await site.schemas.asked()
        up.set()
        while not stop.is_set():
            with trio.move_on_after(0.1):
                await stop.wait()
            kernel.hub.close()  # or a stream that is followed would never end
        nursery.cancel_scope.cancel()


@contextmanager
def served() -> Iterator[tuple[int, str]]:
    """The port and a key, for the length of the block."""
    with TemporaryDirectory() as folder:
        kernel, key = fuzzed_kernel()
        kernel.folder = Path(folder)
        yield from _served(kernel, key)


def _served(kernel: StandIn, key: str) -> Iterator[tuple[int, str]]:
    started: list[int] = []
    up, stop = threading.Event(), trio.Event()
    tokens: list[trio.lowlevel.TrioToken] = []

    async def main() -> None:
        tokens.append(trio.lowlevel.current_trio_token())
        await _serve(kernel, started, up, stop)

    thread = threading.Thread(target=trio.run, args=(main,))
    thread.start()
    try:
        assert up.wait(60)
        yield started[0], key
    finally:
        tokens[0].run_sync_soon(stop.set)
        thread.join(30)


def fuzz(base: str, key: str, *options: str) -> subprocess.CompletedProcess[str]:
    """Run schemathesis against ``base``; its exit code is 0 where every check held."""
    with TemporaryDirectory() as folder:
        schema = Path(folder) / "openapi.json"
        schema.write_text(json.dumps(document()))
        config = Path(folder) / "schemathesis.toml"
        config.write_text(CONFIG.format(key=key))
        command = [
            str(Path(sys.executable).with_name("schemathesis")), "--config-file", str(config), "run", str(schema),
            "--url", base,
            "--generation-deterministic",
            "--no-color", "--warnings", "off", "--request-timeout", "10", *options,
        ]  # fmt: skip
        return subprocess.run(command, capture_output=True, text=True, cwd=folder, timeout=1200, check=False)


def main(options: Sequence[str]) -> int:
    """Fuzz by hand."""
    with served() as (port, key):
        done = fuzz(f"http://127.0.0.1:{port}", key, *options)
    print(done.stdout, done.stderr)
    return done.returncode


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
