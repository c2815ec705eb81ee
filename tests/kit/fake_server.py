"""A strict fake of a model server on loopback: scripted, recorded, and badly behaved on command.

The same for five wires: ``fake_openai``, ``fake_deepseek``, ``fake_anthropic``, ``fake_gemini``, ``fake_ollama``.  In a
Trio test::

    async with open_fake("anthropic") as fake:
        fake.say("你好🌍", one_byte=True)
        fake.call_tool("shell_run", {"command": "ls"}, then="done")
        ...
        fake.chats[-1].body["messages"]

In a sync test ``with fake_thread("gemini") as fake`` (own thread, own loop).  ``fake.url`` is the base URL a client is
configured with, ``fake.key`` the only key it takes, ``fake.model`` its first model.

As a process::

    python -m tests.kit.fake_server --wire openai --port-file F --script S.json [--record R.jsonl]

F gets the port as text once the server listens (written whole, by rename).  SIGTERM ends it.  S is read once, at
start.

Script (JSON; every key optional)::

    {"queue": [REPLY, …],      used up first, one a request
     "rules": [{"when": "X", "steps": [STEP, …]}, …],
     "default": REPLY,         without it: {"say": "You said: {user}"}
     …}                        and any field of ``fake_wire.Contract``: "key", "models", "context", "vision", …

A rule applies when the last user message contains X; its n-th step answers the n-th model call since that message (0
is the call right after it, 1 the call that brings the first tool results, …); the last step repeats.  A STEP is a
REPLY, or a list of REPLYs used one after the other each time that step is reached (the last repeats): ``[{"status":
503}, {"say": "ok"}]``.

"When X: call tool T with args, then say Z" is
``{"when": "X", "steps": [{"calls": [{"name": "T", "args": {…}}]}, {"say": "Z, it said {tool}"}]}``;
"say Y slowly" is ``{"when": "X", "steps": [{"say": "Y", "chunk": 1, "delay": 0.1}]}``.

REPLY keys: ``say`` (``{user}`` and ``{tool}`` stand for the last user message and tool result), ``think`` (thoughts,
signed where the wire signs them), ``redacted`` (an unreadable thought), ``calls``
``[{"name", "args", "id"?, "raw"?: argument text sent as it is}]``, ``chunk`` characters a delta (4), ``delay``
seconds between frames, ``first_delay`` seconds before the first byte of the answer, ``finish``, ``blocked`` (the
provider's content rules refuse it), ``usage`` false, ``cached`` tokens (else as its prefix cache has it), and the
misbehaviours: ``status`` + ``headers`` + ``message`` (in the wire's own shape) or ``body`` (object or text, as it is);
``cut`` N: drop the connection after N bytes of body; ``cut_frame`` N: after N frames; ``one_byte``: one byte a chunk;
``crlf``; ``keepalive``: comments, pings or empty lines between frames; ``hang``: "before" the headers, or "mid" body
for good, or in the middle "until W", which ``release("W")`` ends; ``broken_json``; ``bad_utf8``: a byte that is none
in the fourth frame; ``sse`` true/false: a stream or not, whatever was asked; ``done`` false: the stream ends without
its last word; ``ids``: "missing", "empty" or "same"; ``indexes``: "missing" or "zero"; ``arguments_as``: "object" or
"string", where the wire has the other; ``reasoning_key``: the delta's name for thoughts; ``error_after`` N: an error
frame instead of the N-th frame.

Record (JSON lines): ``{"n", "path", "status", "error", "body"}`` for every request when it was judged, and ``{"n",
"end": "complete" | "closed" (the client left) | "dropped" (by script), "sent": bytes of body}`` when its answer
ended.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import threading
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import trio

from tests.kit.fake_connection import Connection
from tests.kit.fake_state import FakeServer, Recorded
from tests.kit.fake_wire import Wire

__all__ = ["WIRES", "FakeServer", "Recorded", "fake_thread", "open_fake", "serving", "wire_named"]

WIRES = {
    "openai": "tests.kit.openai_wire:OpenAIWire",
    "deepseek": "tests.kit.deepseek_wire:DeepSeekWire",
    "anthropic": "tests.kit.anthropic_wire:AnthropicWire",
    "gemini": "tests.kit.gemini_wire:GeminiWire",
    "ollama": "tests.kit.ollama_wire:OllamaWire",
}


def wire_named(name: str) -> Wire:
    """One of the five, by name."""
    module, _, made = WIRES[name].partition(":")
    wire: Wire = getattr(importlib.import_module(module), made)()
    return wire


async def _listen(fake: FakeServer, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
    listeners = await trio.open_tcp_listeners(0, host="127.0.0.1")
    fake.token = trio.lowlevel.current_trio_token()
    fake.port = listeners[0].socket.getsockname()[1]

    async def handle(stream: trio.SocketStream) -> None:
        await Connection(fake, stream).serve()

    async with trio.open_nursery() as nursery:
        await nursery.start(trio.serve_listeners, handle, listeners)
        task_status.started()


@asynccontextmanager
async def serving(fake: FakeServer) -> AsyncIterator[FakeServer]:
    """The server in the caller's own loop, for the length of the block."""
    async with trio.open_nursery() as nursery:
        await nursery.start(_listen, fake)
        yield fake
        nursery.cancel_scope.cancel()


@asynccontextmanager
async def open_fake(wire: str, script: Mapping[str, Any] | None = None) -> AsyncIterator[FakeServer]:
    """A server of a wire by its name, see ``WIRES``."""
    fake = FakeServer(wire_named(wire))
    fake.load(script or {})
    async with serving(fake):
        yield fake


@contextmanager
def fake_thread(wire: str, script: Mapping[str, Any] | None = None) -> Iterator[FakeServer]:
    """The server in a thread of its own, for tests without a loop."""
    up = threading.Event()
    held: dict[str, Any] = {}

    async def main() -> None:
        async with open_fake(wire, script) as fake:
            stop = trio.Event()
            held.update(fake=fake, stop=stop, token=trio.lowlevel.current_trio_token())
            up.set()
            await stop.wait()

    def run() -> None:
        try:
            trio.run(main)
        finally:
            up.set()

    thread = threading.Thread(target=run, name=f"fake-{wire}", daemon=True)
    thread.start()
    up.wait()
    try:
        yield held["fake"]
    finally:
        trio.from_thread.run_sync(held["stop"].set, trio_token=held["token"])
        thread.join(5)


async def _process(args: argparse.Namespace) -> None:
    script = json.loads(args.script.read_text(encoding="utf-8")) if args.script else {}
    async with open_fake(args.wire, script) as fake:
        fake.record = args.record
        part = args.port_file.with_name(args.port_file.name + ".part")
        part.write_text(str(fake.port), encoding="ascii")
        os.replace(part, args.port_file)
        await trio.sleep_forever()


def main() -> None:
    """Entry of ``python -m tests.kit.fake_server``."""
    parser = argparse.ArgumentParser(description="strict fake model server on loopback")
    parser.add_argument("--wire", choices=sorted(WIRES), default="openai")
    parser.add_argument("--port-file", type=Path, required=True)
    parser.add_argument("--script", type=Path)
    parser.add_argument("--record", type=Path)
    trio.run(_process, parser.parse_args())


if __name__ == "__main__":
    main()
