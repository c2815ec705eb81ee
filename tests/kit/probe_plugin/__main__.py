"""The running probe: its tools, and a door on loopback through which a test makes it call the kernel or misbehave.

The door takes one JSON object a line and answers with one: ``{"do": NAME, …}`` → ``{"result": …}`` or ``{"error": …}``.
``call``: any method with any params.  ``raw``: bytes on the wire itself, as if the plugin had printed them.
``token``: the call token of the invocation that ``probe_hold`` keeps open; ``release`` lets it go.  ``notices``: what
came since the last time.  ``say``: a line on stderr.
"""

import ctypes
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import trio

from homed import sdk
from homed.errors import HomedError

HERE = Path(__file__).parent
NAME: str = json.loads((HERE / "plugin.json").read_text("utf-8"))["name"]
BANNER = b"Welcome to the probe 1.0!\n"


class Probe:
    """Its state for one life."""

    def __init__(self, wire: int) -> None:
        self.wire = wire
        self.kernel: sdk.Kernel | None = None
        self.token = ""
        self.held = trio.Event()
        self.released = trio.Event()
        self.notices: list[dict[str, Any]] = []

    async def serve(self, kernel: sdk.Kernel) -> None:
        """Open the door; the file ``door`` says on which port."""
        self.kernel = kernel
        listeners = await trio.open_tcp_listeners(0, host="127.0.0.1")
        part = HERE / "door.part"
        part.write_text(str(listeners[0].socket.getsockname()[1]), "ascii")
        part.rename(HERE / "door")
        await trio.serve_listeners(self.visitor, listeners)

    async def visitor(self, stream: trio.SocketStream) -> None:
        """Answer one test's commands."""
        data = b""
        async for some in stream:
            data += some
            while b"\n" in data:
                line, _, data = data.partition(b"\n")
                await stream.send_all(json.dumps(await self.answer(json.loads(line))).encode() + b"\n")

    async def answer(self, command: dict[str, Any]) -> dict[str, Any]:
        """One command; the kernel's own error goes back as it came."""
        try:
            return {"result": await self.act(command)}
        except HomedError as error:
            shown = {"code": error.code, "message": error.message, "hint": error.hint, "detail": error.detail}
            return {"error": shown}

    async def act(self, command: dict[str, Any]) -> object:
        """Do what the test wants."""
        assert self.kernel is not None
        match command["do"]:
            case "call":
                return await self.kernel.call(command["method"], command["params"], timeout=20)
            case "raw":
                return await trio.to_thread.run_sync(self.raw, command["what"], abandon_on_cancel=True)
            case "token":
                await self.held.wait()
                return self.token
            case "release":
                self.released.set()
            case "notices":
                seen, self.notices = self.notices, []
                return seen
            case "say":
                sys.stderr.write(command["text"] + "\n")
                sys.stderr.flush()
        return None

    def raw(self, what: str) -> int:
        """Write past the SDK, as a stray ``print`` of a C library would; the number of bytes that went out."""
        megabyte = b"x" * (1 << 20)
        pieces = {
            "banner": [BANNER],
            "megabyte": [megabyte, b"\n"],
            "gibibyte": [megabyte] * 1024,
            "not utf-8": [b'{"jsonrpc": "2.0", "method": "\xff\xfe"}\n'],
            "not json": [b"{]\n", b"[1, 2]\n", b"null\n", b"[" * 100_000 + b"\n", b'{"jsonrpc": "2.0", "id": 1e999}\n'],
            "notification": [b'{"jsonrpc": "2.0", "method": "stranger", "params": {}}\n'] * 8,
            "endless rubbish": [b"rubbish\n"] * 5000,
        }[what]
        return sum(self.write(piece) for piece in pieces)

    def write(self, data: bytes) -> int:
        """All of it; the wire may be non-blocking."""
        left = memoryview(data)
        while left:
            try:
                left = left[os.write(self.wire, left) :]
            except BlockingIOError:
                time.sleep(0.001)
            except BrokenPipeError:
                break
        return len(data) - len(left)


def build(probe: Probe) -> sdk.Plugin:
    """The plugin around that state."""
    plugin = sdk.Plugin(NAME)

    @plugin.tool(cls="read", guest=True, parallel_safe=True, name=f"{NAME}_echo")
    async def echo(ctx: sdk.Context, text: str) -> str:
        """Give the text back."""
        return text

    @plugin.tool(cls="read", parallel_safe=True, name=f"{NAME}_read")
    async def read(ctx: sdk.Context, path: str) -> str:
        """Read a file."""
        return await trio.Path(path).read_text("utf-8")

    @plugin.tool(cls="read", parallel_safe=True, name=f"{NAME}_slow")
    async def slow(ctx: sdk.Context, seconds: float) -> str:
        """Wait."""
        await trio.sleep(seconds)
        return f"waited {seconds:g} s"

    @plugin.tool(cls="read", name=f"{NAME}_hold")
    async def hold(ctx: sdk.Context) -> str:
        """Keep the call open until the test lets go."""
        probe.token = ctx._token
        probe.held.set()
        await probe.released.wait()
        return "let go"

    @plugin.tool(cls="read", parallel_safe=True, name=f"{NAME}_crash")
    async def crash(ctx: sdk.Context) -> None:
        """Leave without a word."""
        os._exit(3)

    @plugin.tool(cls="read", parallel_safe=True, name=f"{NAME}_segfault")
    async def segfault(ctx: sdk.Context) -> None:
        """Die of SIGSEGV."""
        ctypes.string_at(0)

    @plugin.tool(cls="read", timeout=1, name=f"{NAME}_hang")
    async def hang(ctx: sdk.Context) -> None:
        """Block everything."""
        while True:
            time.sleep(60)  # noqa: ASYNC251 - it is to block the loop

    plugin.main(probe.serve)

    @plugin.on("event")
    async def hear(notice: sdk.Notice) -> None:
        probe.notices.append({"type": notice.type, "thread": notice.thread, "data": dict(notice.data)})

    return plugin


if __name__ == "__main__":
    # The wire once more, before the SDK takes it: raw bytes go this way.
    sdk.run(build(Probe(os.dup(1))))
