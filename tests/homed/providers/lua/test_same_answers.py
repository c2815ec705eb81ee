"""The bundled scripts read the same in an answer as the native adapters, however it is cut, right or wrong."""

from __future__ import annotations

import itertools
import json
from collections import deque
from collections.abc import Coroutine, Iterator, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from homed.providers import failures
from homed.providers.adapter import Native
from homed.providers.adapters import native
from homed.providers.base import Done, Opaque, Part, ProviderError, UsagePart
from homed.providers.lua.adapter import ScriptDecoder
from homed.providers.lua.parts import Reading
from tests.homed.providers.kit import Said
from tests.homed.providers.lua.local import InProcess, Stream, bundled
from tests.kit.fake_script import Call, Reply
from tests.kit.fake_server import wire_named
from tests.kit.fake_wire import Exchange, Prompt

PAIRS = {
    "openai": ("openai", "openai"), "deepseek": ("openai", "deepseek"), "mistral": ("openai", "openai"),
    "anthropic": ("anthropic", "anthropic"), "gemini": ("gemini", "gemini"), "ollama": ("ollama", "ollama"),
}  # fmt: skip
"""Script → the native adapter of the same wire, and the fake that speaks it."""

FAILURES = (
    failures.Unreadable, failures.Endless, failures.Reported, failures.BrokenOff, ProviderError,
)  # fmt: skip

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20) | st.sampled_from(["你好🌍", "", "\x7f\u2028 "])
numbers = st.integers(-(2**63), 2**63 - 1)
"""Lua has no other whole ones, and reads those as floats."""
calls = st.builds(
    Call, st.sampled_from(["look", ""]), st.dictionaries(texts, texts | st.none() | numbers, max_size=2),
    st.sampled_from(["", "call_a", "call_b"]), st.none() | st.sampled_from(["", '{"a":1', "[]", "null"]),
)  # fmt: skip
replies = st.builds(
    Reply, say=texts, think=texts, redacted=st.sampled_from(["", "cmVk"]), calls=st.lists(calls, max_size=3).map(tuple),
    chunk=st.integers(1, 9), usage=st.booleans(), cached=st.integers(0, 9), crlf=st.booleans(), keepalive=st.booleans(),
    ids=st.sampled_from(["", "missing", "empty", "same"]), indexes=st.sampled_from(["", "missing", "zero"]),
    arguments_as=st.sampled_from(["", "object", "string"]), error_after=st.integers(-1, 4), blocked=st.booleans(),
    finish=st.sampled_from(["", "length", "max_tokens", "MAX_TOKENS", "other"]),
    reasoning_key=st.sampled_from(["reasoning_content", "reasoning"]),
)  # fmt: skip


@pytest.fixture(scope="module", params=sorted(PAIRS))
def pair(request: pytest.FixtureRequest) -> tuple[str, InProcess]:
    return request.param, bundled(request.param)


@given(data=st.data())
@settings(max_examples=100, deadline=None)
def test_every_answer_is_read_the_same(pair: tuple[str, InProcess], data: st.DataObject) -> None:
    name, script = pair
    adapter_name, fake = PAIRS[name]
    body = data.draw(bodies(wire_named(fake), data.draw(replies)))
    pieces = list(cut(body, data.draw(st.lists(st.integers(0, max(1, len(body))), max_size=6))))
    adapter = native(adapter_name)
    assert isinstance(adapter, Native)
    ids = itertools.count()
    theirs = outcome(adapter.pure.decoder(), pieces)
    assert script_outcome(script, name, pieces, lambda: f"call_minted{next(ids)}") == theirs


@pytest.mark.parametrize("number", [b"1e999", b"-1e999", b"1e-999", b"00"])
@pytest.mark.parametrize("name", ["gemini", "ollama"])
def test_a_number_beyond_all_is_no_argument_and_breaks_no_answer(name: str, number: bytes) -> None:
    """The wires whose arguments are objects: what cannot be an argument is told the model, as of a native adapter."""
    wire, script, adapter = wire_named(name), bundled(name), native(name)
    assert isinstance(adapter, Native)
    reply = Reply(say="so", calls=(Call("look", {"a": 123456789}, "call_a"),))
    exchange = Exchange(reply, {"model": "m", "stream": True}, 1, Prompt(20, 5), wire.contract(), query={"alt": "sse"})
    pieces = [frame.replace(b"123456789", number) for frame in wire.frames(exchange)]
    theirs = outcome(adapter.pure.decoder(), pieces)
    assert script_outcome(script, name, pieces, lambda: "call_a") == theirs


@st.composite
def bodies(draw: st.DrawFn, wire: Any, reply: Reply) -> bytes:
    """An answer as that wire writes it, whole or streamed, and what may go wrong with it on the way."""
    exchange = Exchange(reply, {"model": "m", "stream": True}, 1, Prompt(20, 5), wire.contract(), query={"alt": "sse"})
    frames = [wire.whole(exchange)] if draw(st.booleans()) else list(wire.frames(exchange))
    if draw(st.booleans()) and len(frames) > 1:
        del frames[draw(st.integers(0, len(frames) - 1))]
    body = b"".join(frames)
    if draw(st.integers(0, 3)) == 0:
        body = body[: draw(st.integers(0, len(body)))]
    if draw(st.integers(0, 5)) == 0:
        old, new = draw(st.sampled_from([(b'"text"', b"null"), (b"null", b"{}"), (b'":', b":"), (b'"id"', b'"no"')]))
        body = body.replace(old, new, 1)
    return body


def cut(body: bytes, places: Sequence[int]) -> Iterator[bytes]:
    for a, b in itertools.pairwise([0, *sorted(places), len(body)]):
        if body[a:b]:
            yield body[a:b]


def outcome(decoder: Any, pieces: Sequence[bytes]) -> object:
    """What is shown of it, and how it ends."""
    out: list[Part] = []
    try:
        for piece in pieces:
            for part in decoder.feed(piece):
                out.append(part)
            if decoder.finished:
                break
        for part in decoder.end():
            out.append(part)
    except FAILURES as error:
        return told(out, error)
    return told(out, None)


def script_outcome(script: InProcess, name: str, pieces: Sequence[bytes], new_id: Any) -> object:
    out: deque[Part] = deque()
    stream = Stream(script)
    decoder = ScriptDecoder(stream, Reading(f"lua:{name}", new_id), lines=name == "ollama")  # type: ignore[arg-type]
    try:
        for piece in pieces:
            now(decoder.feed(piece, out))
            if decoder.finished:
                break
        now(decoder.end(out))
    except FAILURES as error:
        return told(out, error)
    finally:
        decoder.close()
    return told(out, None)


def now(coroutine: Coroutine[Any, Any, None]) -> None:
    """Run what never waits."""
    with pytest.raises(StopIteration):
        coroutine.send(None)


def told(parts: Sequence[Part] | deque[Part], error: Exception | None) -> object:
    """What of the outcome must not differ: minted ids may."""
    said, opaque = Said(), []
    for part in parts:
        said.take(part)
        if isinstance(part, Opaque):
            opaque.append(part)
    known: dict[str, str] = {}
    ids = [
        one if one in ("call_a", "call_b", "call_same") else known.setdefault(one, f"new {len(known)}")
        for one in said.ids
    ]
    named = [(name, text if _broken(text) else json.loads(text or "{}")) for name, text in said.calls]
    laid = [_laid(one, dict(zip(said.ids, ids, strict=True))) for one in opaque]
    usage = [part for part in parts if isinstance(part, UsagePart)]
    ended = [part for part in parts if isinstance(part, Done)]
    if error is not None:  # how far the parts had come is not the same: one reads a batch, the other a piece
        return type(error).__name__, said.text, said.reasoning
    return said.text, said.reasoning, named, ids, said.reason, usage, laid, len(ended)


def _broken(text: str) -> bool:
    try:
        json.loads(text or "{}")
    except ValueError:
        return True
    return False


def _laid(opaque: Opaque, ids: dict[str, str]) -> object:
    blocks = json.loads(opaque.data)
    return opaque.wire, [{**one, "c": ids.get(one["c"], "?")} if "c" in one else one for one in blocks]
