"""「你好🌍」 split at any byte arrives whole from every wire, streamed and whole (A24)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from homed.agent.model import Gatherer
from homed.providers.adapter import Native, PureDecoder
from homed.providers.adapters import native
from homed.providers.base import Part
from tests.kit.fake_script import Call, Reply
from tests.kit.fake_server import wire_named
from tests.kit.fake_wire import Exchange, Prompt
from tests.providers.stage import Stage
from tests.providers.wires import LUA, PATHS, WIRES

TEXT = "你好🌍"
REPLY = Reply(say=TEXT, think=TEXT, calls=(Call("look", {"at": TEXT}), Call("now")), chunk=1)


def body_of(wire: str, *, streamed: bool = True, crlf: bool = False, reply: Reply = REPLY) -> bytes:
    """The whole body of an answer as the server writes it."""
    made = wire_named(wire)
    exchange = Exchange(reply, {"model": "fake-1"}, 1, Prompt(7), made.contract(), query={"alt": "sse"})
    raw = b"".join(made.frames(exchange)) if streamed else made.whole(exchange)
    return re.sub(rb"(?<!\r)\n", b"\r\n", raw) if crlf else raw


def split(raw: bytes, places: Sequence[int]) -> list[bytes]:
    """The body cut at these places."""
    ends = sorted({min(place, len(raw)) for place in places})
    return [raw[a:b] for a, b in zip([0, *ends], [*ends, len(raw)], strict=True)]


def heard(wire: str, chunks: Sequence[bytes]) -> Gatherer:
    """What the native adapter makes of it."""
    adapter = native(WIRES[wire].adapter)
    assert isinstance(adapter, Native)
    decoder, gatherer = adapter.pure.decoder(), Gatherer()
    for part in _parts(decoder, chunks):
        gatherer.take(part)
    assert decoder.finished
    return gatherer


def _parts(decoder: PureDecoder, chunks: Sequence[bytes]) -> Iterator[Part]:
    for chunk in chunks:
        yield from decoder.feed(chunk)
    yield from decoder.end()


def whole(gatherer: Gatherer) -> None:
    """Every character is there, in text, thoughts and arguments."""
    said = gatherer.said()
    assert (said.text, said.reasoning) == (TEXT, TEXT)
    assert [call.arguments for call in said.calls] == [{"at": TEXT}, {}]
    assert said.reason == "tool_calls"


@pytest.mark.parametrize("crlf", [False, True])
@pytest.mark.parametrize("wire", sorted(WIRES))
def test_cut_in_two_at_every_byte(wire: str, crlf: bool) -> None:
    raw = body_of(wire, crlf=crlf, reply=Reply(say=TEXT, chunk=1))
    for place in range(len(raw) + 1):
        assert heard(wire, split(raw, [place])).said().text == TEXT, place


@pytest.mark.parametrize("streamed", [True, False])
@pytest.mark.parametrize("wire", sorted(WIRES))
@given(places=st.lists(st.integers(0, 5000), max_size=12), crlf=st.booleans())
@settings(max_examples=40, deadline=None)
def test_cut_anywhere_any_number_of_times(wire: str, streamed: bool, places: list[int], crlf: bool) -> None:
    whole(heard(wire, split(body_of(wire, streamed=streamed, crlf=crlf and streamed), places)))


@pytest.mark.parametrize("wire", sorted(name for name, path in PATHS if path == LUA))
@given(places=st.lists(st.integers(0, 5000), max_size=6), streamed=st.booleans())
@settings(max_examples=15, deadline=None)
def test_cut_anywhere_by_script(stage: Stage, wire: str, streamed: bool, places: list[int]) -> None:
    whole(stage.read(WIRES[wire], split(body_of(wire, streamed=streamed), places)))


@pytest.mark.parametrize("streamed", [True, False])
@pytest.mark.parametrize("wire", sorted(WIRES))
def test_byte_by_byte(wire: str, streamed: bool) -> None:
    raw = body_of(wire, streamed=streamed)
    whole(heard(wire, [bytes([byte]) for byte in raw]))
