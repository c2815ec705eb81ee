"""Servers that want to do harm: what they send costs that one answer, and nothing else of homed."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import AsyncIterator, Callable, Sequence

import httpx2
import pytest

from homed.net import open_http
from homed.providers import http
from homed.providers.base import ErrorKind, ProviderError, Source
from homed.providers.http import HttpPorts
from homed.providers.openai import openai
from homed.providers.retry import RetryPolicy
from homed.providers.sse import MAX_EVENT
from homed.providers.unpacking import PIECE, Unpacker
from tests.homed.providers.kit import Said, ask

SOURCE = Source("bad", "http://bad.example/v1", "m")
WHOLE = b'data: {"choices": [{"delta": {"content": "a"}}]}\n\ndata: [DONE]\n\n'


class Body(httpx2.AsyncByteStream):
    """Gives these pieces, and counts what was taken of them."""

    def __init__(self, pieces: Sequence[bytes]) -> None:
        self.pieces = pieces
        self.taken = 0
        self._open = True

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self.pieces:
            if self._open:
                self.taken += len(piece)
                yield piece

    async def aclose(self) -> None:
        self._open = False


async def asked(body: Body, status: int = 200, said: Said | None = None, **headers: str) -> Said:
    """What a source says that answers like this."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    transport = httpx2.MockTransport(lambda _: httpx2.Response(status, headers=named, stream=body))
    async with open_http(transport) as client:
        provider = openai(SOURCE, HttpPorts(client, lambda: "", policy=RetryPolicy(attempts=1)))
        return await ask(provider, into=said)


@pytest.mark.parametrize(
    ("coding", "pack"),
    [("gzip", gzip.compress), ("GZip", gzip.compress), ("deflate", zlib.compress), ("identity", bytes)],
)
async def test_a_packed_answer_is_read_however_it_is_cut(coding: str, pack: Callable[[bytes], bytes]) -> None:
    packed = pack(WHOLE)
    pieces = [packed[at : at + 1] for at in range(len(packed))]
    assert (await asked(Body(pieces), content_encoding=coding)).text == "a"


@pytest.mark.parametrize("status", [200, 500])
@pytest.mark.parametrize("coding", ["gzip, gzip", "gzip,gzip,gzip", "br", "x"])
async def test_a_body_packed_otherwise_than_asked_for_is_not_unpacked(coding: str, status: int) -> None:
    """Packed twice, three kilobytes are gigabytes."""
    with pytest.raises(ProviderError) as failed:
        await asked(Body([gzip.compress(gzip.compress(WHOLE))]), status, content_encoding=coding)
    assert failed.value.kind is ErrorKind.TRANSIENT


async def test_of_a_packed_body_no_more_is_unpacked_than_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not behind the end of the answer either."""
    unpacked = 0
    feed = Unpacker.feed

    def counted(self: Unpacker, packed: bytes) -> object:
        nonlocal unpacked
        for piece in feed(self, packed):
            unpacked += len(piece)
            yield piece

    monkeypatch.setattr(Unpacker, "feed", counted)
    assert (await asked(Body([gzip.compress(WHOLE + b"\n" * 50_000_000)]), content_encoding="gzip")).text == "a"
    assert unpacked <= 2 * PIECE
    with pytest.raises(ProviderError):
        await asked(Body([gzip.compress(b"x" * 50_000_000)]), 500, content_encoding="gzip")
    assert unpacked <= 5 * PIECE


@pytest.mark.parametrize("piece", [b": working\n\n", b"data: {}\n\n", b" ", b"\n", b"event: ping\ndata: {}\n\n"])
async def test_a_body_that_says_nothing_without_end_is_given_up(piece: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """Signs of life are no answer: they end when they are more than any answer is."""
    assert http.MOST_SILENT > MAX_EVENT  # a whole answer says nothing until it is there
    monkeypatch.setattr(http, "MOST_SILENT", 300_000)
    flood, said = Body([piece * (1 + 65_536 // len(piece))] * 1000), Said()
    with pytest.raises(ProviderError, match="was given up: it says nothing in"):
        await asked(flood, said=said)
    assert flood.taken < 300_000 + 2 * 65_600


@pytest.mark.parametrize("status", [400, 429, 500])
@pytest.mark.parametrize(
    "body",
    [b"[" * 60_000, b"[" * 900 + b"]" * 900, b'{"error":' * 900 + b"1" + b"}" * 900, b"9" * 5000, b"\xff\xfe"],
    ids=["open", "lists", "objects", "number", "bytes"],
)
async def test_no_error_body_breaks_more_than_its_request(body: bytes, status: int) -> None:
    with pytest.raises(ProviderError, match=f"answered HTTP {status}"):
        await asked(Body([body]), status)


@pytest.mark.parametrize("depth", range(50, 1000, 50))
async def test_no_error_in_an_answer_breaks_more_than_its_request(depth: int) -> None:
    with pytest.raises(ProviderError):
        await asked(Body([b'data: {"error": ' + b"[" * depth + b"]" * depth + b"}\n\n"]))


async def test_half_a_character_in_an_error_is_none_in_its_words() -> None:
    """No store, log or terminal could take it."""
    with pytest.raises(ProviderError) as failed:
        await asked(Body([rb'{"error": {"message": "no \ud83d more"}}']), 400)
    assert failed.value.message.encode().endswith("no \N{REPLACEMENT CHARACTER} more".encode())


@pytest.mark.parametrize(
    ("reason", "told"), [('"\\ud800"', "stop"), ('"\\udc00"', "\ufffd"), (f'"{"x" * 100_000}"', "x" * 60)]
)
async def test_why_an_answer_ended_is_a_word_that_a_log_and_the_wire_can_hold(reason: str, told: str) -> None:
    body = f'{{"choices": [{{"message": {{"content": "a"}}, "finish_reason": {reason}}}]}}'
    said = await asked(Body([body.encode()]))
    assert (said.text, said.reason) == ("a", told)
