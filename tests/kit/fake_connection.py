"""One client's connection to a fake model server: the bytes, and the misbehaving that is the same on every wire."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import h11
import trio

from tests.kit.fake_script import Reply
from tests.kit.fake_state import FakeServer, Recorded
from tests.kit.fake_wire import Exchange, Incoming, Refused, prompt_of

UNTIL = "until "
"""How a ``hang`` begins that comes to an end."""


class _Gone(Exception):
    """The connection is over; ``end`` says how."""

    def __init__(self, end: str) -> None:
        super().__init__(end)
        self.end = end


class Connection:
    """One client connection, kept alive between requests."""

    def __init__(self, fake: FakeServer, stream: trio.SocketStream) -> None:
        self._fake = fake
        self._wire = fake.wire
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
        headers = {k.decode().lower(): v.decode("latin-1") for k, v in request.headers}
        record = Recorded(len(self._fake.requests), request.target.decode(), headers, {})
        self._fake.requests.append(record)
        parts = urlsplit(record.path)
        incoming = Incoming(request.method.decode(), parts.path, dict(parse_qsl(parts.query)), headers)
        await self._answer(record, incoming, raw)

    async def _answer(self, record: Recorded, incoming: Incoming, raw: bytes) -> None:
        fake, wire = self._fake, self._wire
        try:
            plain = wire.admit(fake.contract, incoming)
            if plain is None:
                record.body = wire.parse(raw)
                plain = wire.plain(fake.contract, incoming, record.body)
            if plain is not None:
                await self._plain(record, 200, plain)
                return
            wire.check(fake.contract, fake.ledger, incoming, record.body)
        except Refused as refused:
            record.error = refused.message
            await self._plain(record, refused.status, wire.error(refused))
            return
        await self._scripted(record, incoming, fake.script.choose(wire.asked(record.body)))

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

    async def _scripted(self, record: Recorded, incoming: Incoming, reply: Reply) -> None:
        if reply.status != 200:
            refused = Refused(reply.message or f"scripted failure {reply.status}", status=reply.status)
            body = self._wire.error(refused) if reply.body is None else reply.body
            await self._plain(record, reply.status, body, reply.headers)
            return
        self._judged(record, 200)
        try:
            await self._while_connected(record, incoming, reply)
        except (_Gone, trio.BrokenResourceError) as gone:
            self._ended(record, gone.end if isinstance(gone, _Gone) else "closed", record.sent)
            raise

    async def _while_connected(self, record: Recorded, incoming: Incoming, reply: Reply) -> None:
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
                await self._body(record, incoming, reply)
            except _Gone as gone:
                dropped = gone
            except trio.BrokenResourceError:
                left = True
            nursery.cancel_scope.cancel()
        if dropped is not None:
            raise dropped
        if left:
            raise _Gone("closed")

    async def _body(self, record: Recorded, incoming: Incoming, reply: Reply) -> None:
        if reply.hang == "before":
            await trio.sleep_forever()
        await trio.sleep(reply.first_delay)
        asked = self._wire.streamed(incoming, record.body)
        # What a request asked for is what its label says: the misbehaviour is in the body.
        kind = self._wire.stream_type if asked else "application/json"
        streamed = asked if reply.sse is None else reply.sse
        headers = {"content-type": kind, "transfer-encoding": "chunked", **reply.headers}
        await self._send(h11.Response(status_code=200, headers=list(headers.items())))
        for i, frame in enumerate(self._frames(record, reply, streamed, incoming.query)):
            if i and reply.delay:
                await trio.sleep(reply.delay)
            if reply.hang == "mid" and i == 3:
                await trio.sleep_forever()
            if reply.hang.startswith(UNTIL) and i == 3:
                await self._fake.held(reply.hang.removeprefix(UNTIL)).wait()
            if i == reply.cut_frame:
                raise _Gone("dropped")
            for piece in [bytes([b]) for b in frame] if reply.one_byte else [frame]:
                await self._piece(record, reply, piece)
        self._ended(record, "complete", record.sent)
        await self._send(h11.EndOfMessage())

    def _frames(self, record: Recorded, reply: Reply, streamed: bool, query: Mapping[str, str]) -> Iterator[bytes]:
        fake, wire = self._fake, self._wire
        prompt = record.prompt = prompt_of(fake.contract, fake.ledger, wire.units(record.body))
        if reply.cached >= 0:
            prompt = record.prompt = replace(prompt, cached=reply.cached)
        exchange = Exchange(reply, record.body, record.n, prompt, fake.contract, fake.ledger, query)
        if not streamed:
            whole = wire.whole(exchange)
            yield whole[: len(whole) // 2] if reply.broken_json else whole
            return
        for i, frame in enumerate(wire.frames(exchange)):
            shown = frame.replace(b'":', b":", 1) if reply.broken_json and i == 2 else frame
            if reply.bad_utf8 and i == 3:
                shown = shown.replace(b'"', b'"\xff', 1)
            yield re.sub(rb"(?<!\r)\n", b"\r\n", shown) if reply.crlf else shown

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
