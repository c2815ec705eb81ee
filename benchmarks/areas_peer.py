"""The other process of ``areas``: as little as can be on the far side of two pipes.  ``areas_peer.py WAY MEMORY``."""

from __future__ import annotations

import base64
import json
import mmap
import os
import sys
from collections.abc import Mapping
from typing import Any

SIZE = 8 << 20


def copy(memory: int) -> None:
    """Write 8 MiB into a mapping that is kept, and say so with one byte."""
    data = b"x" * SIZE
    with mmap.mmap(memory, SIZE) as mapping:
        while os.read(0, 1):
            mapping[:] = data
            os.write(1, b"!")


def json_line(_memory: int) -> None:
    """8 MiB in one line of JSON, as base64."""
    data = b"x" * SIZE
    for _ in sys.stdin:
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": 1, "result": base64.b64encode(data).decode()}) + "\n")
        sys.stdout.flush()


def in_trio(way: str) -> None:
    """Echo in Trio: bytes as they come, or JSON-RPC calls."""
    import trio

    from homed.wire.stream import Connection, NoHandler

    class Echo(NoHandler):
        async def request(self, method: str, params: Mapping[str, Any]) -> object:  # noqa: ARG002
            return {"content": params["args"]["value"], "is_error": False}

    async def main() -> None:
        receive, send = trio.lowlevel.FdStream(os.dup(0)), trio.lowlevel.FdStream(os.dup(1))
        if way == "ndjson":
            await Connection(receive, send, Echo()).run()
            return
        async for data in receive:
            await send.send_all(data)

    trio.run(main)


if __name__ == "__main__":
    way = sys.argv[1]
    if way in ("copy", "json"):
        {"copy": copy, "json": json_line}[way](int(sys.argv[2]))
    else:
        in_trio(way)
