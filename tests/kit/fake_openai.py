"""A strict fake of OpenAI's chat server on loopback: scripted, recorded, and badly behaved on command.

In a Trio test::

    async with open_fake_openai() as fake:
        fake.say("你好🌍", one_byte=True)
        fake.call_tool("shell_run", {"command": "ls"}, then="done")
        ...
        fake.requests[-1].body["messages"]

In a sync test ``with fake_openai_thread() as fake`` (own thread, own loop).  ``fake.url`` is the base URL (ends in
``/v1``), ``fake.key`` the only key it takes, ``fake.model`` its first model.

As a process::

    python -m tests.kit.fake_openai --port-file F --script S.json [--record R.jsonl]

F gets the port as text once the server listens (written whole, by rename).  SIGTERM ends it.  S is read once, at
start.

Script (JSON; every key optional)::

    {"key": "sk-…",            the only key taken; "" takes any; default FakeOpenAI.key
     "models": ["fake-1"],     models it knows; [] takes any
     "context": 32768,         tokens (4 bytes each) before context_length_exceeded
     "reasoning": "free",      "required": tool-call turns must bring reasoning_content back; "forbidden": must not
     "queue": [REPLY, …],      used up first, one a request
     "rules": [{"when": "X", "steps": [STEP, …]}, …],
     "default": REPLY}         without it: {"say": "You said: {user}"}

A rule applies when the last user message contains X; its n-th step answers the n-th model call since that message (0
is the call right after it, 1 the call that brings the first tool results, …); the last step repeats.  A STEP is a
REPLY, or a list of REPLYs used one after the other each time that step is reached (the last repeats): ``[{"status":
503}, {"say": "ok"}]``.

"When X: call tool T with args, then say Z" is
``{"when": "X", "steps": [{"calls": [{"name": "T", "args": {…}}]}, {"say": "Z, it said {tool}"}]}``;
"say Y slowly" is ``{"when": "X", "steps": [{"say": "Y", "chunk": 1, "delay": 0.1}]}``.

REPLY keys: ``say`` (``{user}`` and ``{tool}`` stand for the last user message and tool result), ``think``, ``calls``
``[{"name", "args", "id"?, "raw"?: argument text sent as it is}]``, ``chunk`` characters a delta (4), ``delay``
seconds between frames, ``first_delay`` seconds before the first byte of the answer, ``finish``, ``usage`` false, and
the misbehaviours: ``status`` + ``headers`` + ``body`` (object or text; default an OpenAI error); ``cut`` N: drop the
connection after N bytes of body; ``one_byte``: one byte a chunk; ``crlf``; ``keepalive``: comments between frames;
``hang``: "before" the headers, or "mid" body; ``broken_json``; ``sse`` true/false: that form whatever was asked;
``done`` false: no [DONE]; ``ids``: "missing", "empty" or "same"; ``indexes``: "missing" or "zero"; ``arguments_as``:
"object"; ``reasoning_key``: the delta's name for thoughts; ``error_after`` N: an error frame instead of the N-th
delta.

Record (JSON lines): ``{"n", "path", "status", "error", "body"}`` for every request when it was judged, and ``{"n",
"end": "complete" | "closed" (the client left) | "dropped" (by script), "sent": bytes of body}`` when its answer
ended.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import threading
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import h11
import trio

from tests.kit import openai_rules as rules
from tests.kit.openai_script import Call, Reply, Script, events, json_body


@dataclass
class Recorded:
    """One request as it came, how it was judged, and how its answer ended (``end`` is empty while it runs)."""

    n: int
    path: str
    headers: Mapping[str, str]
    body: dict[str, Any]
    status: int = 0
    error: str = ""
    end: str = ""
    sent: int = 0


@dataclass
class FakeOpenAI:
    """The server's state: what it insists on, what it will answer, what it was asked."""

    contract: rules.Contract = field(default_factory=rules.Contract)
    script: Script = field(default_factory=Script)
    requests: list[Recorded] = field(default_factory=list)
    port: int = 0
    record: Path | None = None

    @property
    def url(self) -> str:
        """Base URL, with ``/v1``."""
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def key(self) -> str:
        """The key it takes."""
        return self.contract.key

    @property
    def model(self) -> str:
        """Its first model."""
        return self.contract.models[0]

    @property
    def chats(self) -> list[Recorded]:
        """The requests to the chat endpoint only."""
        return [r for r in self.requests if r.path.endswith("/chat/completions")]

    def insist(self, **changes: Any) -> None:
        """Change the contract: key, models, context, reasoning."""
        self.contract = replace(self.contract, **changes)

    def say(self, text: str, **how: Any) -> None:
        """Queue an answer in words."""
        self.script.queue.append(Reply.parse({"say": text, **how}))

    def call_tool(self, name: str, args: Mapping[str, object], *, id: str = "", then: str = "", **how: Any) -> None:
        """Queue one tool call, and with ``then`` the words after its result."""
        self.call_tools(Call(name, args, id), **how)
        if then:
            self.say(then)

    def call_tools(self, *calls: Call, **how: Any) -> None:
        """Queue an answer with several calls."""
        self.script.queue.append(Reply.parse({"calls": calls, **how}))

    def misbehave(self, **how: Any) -> None:
        """Queue an answer by its keys: ``misbehave(status=429, headers={"retry-after": "1"})``."""
        self.script.queue.append(Reply.parse(how))

    def when(self, contains: str, *steps: object) -> None:
        """Add a rule, see the script format."""
        self.script.when(contains, *steps)

    def load(self, script: Mapping[str, Any]) -> None:
        """Take over a whole script."""
        known = {"key", "models", "context", "reasoning"}
        unknown = set(script) - known - {"queue", "rules", "default"}
        if unknown:
            raise ValueError(f"unknown script keys: {', '.join(sorted(unknown))}")
        changes = {k: tuple(v) if k == "models" else v for k, v in script.items() if k in known}
        self.insist(**changes)
        self.script.load(script)

    def note(self, entry: Mapping[str, object]) -> None:
        """Append a line to the record file, if there is one."""
        if self.record is not None:
            with self.record.open("a", encoding="utf-8") as out:
                out.write(json.dumps(entry, ensure_ascii=False) + "\n")


class _Gone(Exception):
    """The connection is over; ``end`` says how."""

    def __init__(self, end: str) -> None:
        super().__init__(end)
        self.end = end


class _Connection:
    """One client connection, kept alive between requests."""

    def __init__(self, fake: FakeOpenAI, stream: trio.SocketStream) -> None:
        self._fake = fake
        self._stream = stream
        self._http = h11.Connection(h11.SERVER)

    async def serve(self) -> None:
        """Answer requests until the client leaves or a script drops it."""
        async with self._stream:
            with contextlib.suppress(_Gone, trio.BrokenResourceError, h11.RemoteProtocolError):
                while True:
                    await self._one()
                    self._http.start_next_cycle()

    async def _event(self) -> Any:
        while True:
            event = self._http.next_event()
            if event is not h11.NEED_DATA:
                return event
            self._http.receive_data(await self._stream.receive_some(65_536))

    async def _one(self) -> None:
        request = await self._event()
        if not isinstance(request, h11.Request):
            raise _Gone("closed")
        raw = b""
        while not isinstance(event := await self._event(), h11.EndOfMessage):
            if not isinstance(event, h11.Data):
                raise _Gone("closed")
            raw += event.data
        headers = {k.decode(): v.decode() for k, v in request.headers}
        record = Recorded(len(self._fake.requests), request.target.decode(), headers, {})
        self._fake.requests.append(record)
        await self._answer(record, request.method.decode(), raw)

    async def _answer(self, record: Recorded, method: str, raw: bytes) -> None:
        try:
            rules.check_key(self._fake.contract, record.headers.get("authorization", ""))
            if method == "GET" and record.path == "/v1/models":
                listed = [{"id": m, "object": "model", "owned_by": "fake"} for m in self._fake.contract.models]
                await self._plain(record, 200, {"object": "list", "data": listed})
                return
            if method != "POST" or record.path != "/v1/chat/completions":
                raise rules.Refused(f"Invalid URL ({method} {record.path})", status=404)
            record.body = rules.parse(raw)
            rules.check(self._fake.contract, record.body)
        except rules.Refused as refused:
            record.error = refused.message
            await self._plain(record, refused.status, refused.body())
            return
        await self._scripted(record, self._fake.script.choose(record.body))

    async def _plain(
        self, record: Recorded, status: int, body: object, headers: Mapping[str, str] | None = None
    ) -> None:
        self._judged(record, status)
        data = body.encode() if isinstance(body, str) else json.dumps(body).encode()
        given = {"content-type": "application/json", "content-length": str(len(data)), **(headers or {})}
        await self._send(h11.Response(status_code=status, headers=list(given.items())))
        self._ended(record, "complete", len(data))
        await self._send(h11.Data(data=data))
        await self._send(h11.EndOfMessage())

    def _judged(self, record: Recorded, status: int) -> None:
        record.status = status
        entry = {"n": record.n, "path": record.path, "status": status, "error": record.error, "body": record.body}
        self._fake.note(entry)

    def _ended(self, record: Recorded, end: str, sent: int) -> None:
        """Noted just before the last bytes go out, so that whoever has the whole answer finds it noted."""
        if record.end:
            return
        record.sent, record.end = sent, end
        self._fake.note({"n": record.n, "end": end, "sent": sent})

    async def _scripted(self, record: Recorded, reply: Reply) -> None:
        if reply.status != 200:
            error = {"message": f"scripted failure {reply.status}", "type": "server_error", "param": None, "code": None}
            body = {"error": error} if reply.body is None else reply.body
            await self._plain(record, reply.status, body, reply.headers)
            return
        self._judged(record, 200)
        try:
            await self._while_connected(record, reply)
        except (_Gone, trio.BrokenResourceError) as gone:
            self._ended(record, gone.end if isinstance(gone, _Gone) else "closed", record.sent)
            raise

    async def _while_connected(self, record: Recorded, reply: Reply) -> None:
        """Send the reply, and notice at once when the client hangs up in the middle of it."""
        left = False

        async def watch() -> None:
            nonlocal left
            with contextlib.suppress(trio.BrokenResourceError):
                while data := await self._stream.receive_some(4096):
                    self._http.receive_data(data)
            left = True
            nursery.cancel_scope.cancel()

        dropped: _Gone | None = None
        async with trio.open_nursery() as nursery:
            nursery.start_soon(watch)
            try:
                await self._body(record, reply)
            except _Gone as gone:
                dropped = gone
            except trio.BrokenResourceError:
                left = True
            nursery.cancel_scope.cancel()
        if dropped is not None:
            raise dropped
        if left:
            raise _Gone("closed")

    async def _body(self, record: Recorded, reply: Reply) -> None:
        if reply.hang == "before":
            await trio.sleep_forever()
        await trio.sleep(reply.first_delay)
        asked = record.body.get("stream") is True
        streamed = asked if reply.sse is None else reply.sse
        # What a request asked for is what its label says: the misbehaviour is in the body.
        kind = "text/event-stream" if asked else "application/json"
        headers = {"content-type": kind, "transfer-encoding": "chunked", **reply.headers}
        await self._send(h11.Response(status_code=200, headers=list(headers.items())))
        frames = events(reply, record.body, record.n) if streamed else [json_body(reply, record.body, record.n)]
        for i, frame in enumerate(frames):
            if i and reply.delay:
                await trio.sleep(reply.delay)
            if reply.hang == "mid" and i == 3:
                await trio.sleep_forever()
            for piece in [bytes([b]) for b in frame] if reply.one_byte else [frame]:
                await self._piece(record, reply, piece)
        self._ended(record, "complete", record.sent)
        await self._send(h11.EndOfMessage())

    async def _piece(self, record: Recorded, reply: Reply, piece: bytes) -> None:
        room = reply.cut - record.sent if reply.cut >= 0 else len(piece)
        if kept := piece[: max(room, 0)]:
            await self._send(h11.Data(data=kept))
            record.sent += len(kept)
        if room < len(piece):
            raise _Gone("dropped")

    async def _send(self, event: Any) -> None:
        data = self._http.send(event)
        if data:
            await self._stream.send_all(data)


async def _listen(fake: FakeOpenAI, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
    listeners = await trio.open_tcp_listeners(0, host="127.0.0.1")
    fake.port = listeners[0].socket.getsockname()[1]

    async def handle(stream: trio.SocketStream) -> None:
        await _Connection(fake, stream).serve()

    async with trio.open_nursery() as nursery:
        await nursery.start(trio.serve_listeners, handle, listeners)
        task_status.started()


@asynccontextmanager
async def open_fake_openai(script: Mapping[str, Any] | None = None) -> AsyncIterator[FakeOpenAI]:
    """The server in the caller's own loop, for the length of the block."""
    fake = FakeOpenAI()
    fake.load(script or {})
    async with trio.open_nursery() as nursery:
        await nursery.start(_listen, fake)
        yield fake
        nursery.cancel_scope.cancel()


@contextmanager
def fake_openai_thread(script: Mapping[str, Any] | None = None) -> Iterator[FakeOpenAI]:
    """The server in a thread of its own, for tests without a loop."""
    up = threading.Event()
    held: dict[str, Any] = {}

    async def main() -> None:
        async with open_fake_openai(script) as fake:
            stop = trio.Event()
            held.update(fake=fake, stop=stop, token=trio.lowlevel.current_trio_token())
            up.set()
            await stop.wait()

    def run() -> None:
        try:
            trio.run(main)
        finally:
            up.set()

    thread = threading.Thread(target=run, name="fake-openai", daemon=True)
    thread.start()
    up.wait()
    try:
        yield held["fake"]
    finally:
        trio.from_thread.run_sync(held["stop"].set, trio_token=held["token"])
        thread.join(5)


async def _process(args: argparse.Namespace) -> None:
    script = json.loads(args.script.read_text(encoding="utf-8")) if args.script else {}
    async with open_fake_openai(script) as fake:
        fake.record = args.record
        part = args.port_file.with_name(args.port_file.name + ".part")
        part.write_text(str(fake.port), encoding="ascii")
        os.replace(part, args.port_file)
        await trio.sleep_forever()


def main() -> None:
    """Entry of ``python -m tests.kit.fake_openai``."""
    parser = argparse.ArgumentParser(description="strict fake OpenAI server on loopback")
    parser.add_argument("--port-file", type=Path, required=True)
    parser.add_argument("--script", type=Path)
    parser.add_argument("--record", type=Path)
    trio.run(_process, parser.parse_args())


if __name__ == "__main__":
    main()
