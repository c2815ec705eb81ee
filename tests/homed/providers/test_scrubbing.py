"""What a model streams in pieces: no secret is left in them, however they are cut, and nothing else is changed."""

from __future__ import annotations

import base64
import itertools
import json
import time
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import httpx2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from homed.agent.model import Gatherer, Said
from homed.providers.answers import Decoding
from homed.providers.anthropic_answer import AnthropicDecoder
from homed.providers.base import Source
from homed.providers.cassette import MOST_LINES, Exchange, tape_named
from homed.providers.gemini_answer import GeminiDecoder
from homed.providers.ollama_answer import OllamaDecoder
from homed.providers.openai_answer import AnswerDecoder
from homed.providers.scrubbing import scrub
from homed.redact import Redactor, redact
from tests.homed.providers.pieces import WIRES, body_of

DECODERS: Mapping[str, Callable[[Callable[[], str]], Decoding]] = {
    "openai": AnswerDecoder, "anthropic": AnthropicDecoder, "gemini": GeminiDecoder, "ollama": OllamaDecoder,
}  # fmt: skip
CONFIGURED = 'Grüße "an" 🌍-4711'
SOURCE_KEY = "plain-key-4711-of-the-source"
BLOCK = "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA7bq4\nx9Zq+/w==\n-----END RSA PRIVATE KEY-----"
JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jVmN"
SECRETS: Sequence[tuple[str, str]] = [
    (text, text)
    for text in (
        "sk-proj-abcdefghijklmnop1234567890", "sk_live_abcdefghij0123456789", "gsk_abcdefghij0123456789abc",
        "xai-abcdefghij0123456789abc", "AIzaSyA1234567890abcdefghijklmnopqrstuv", "hf_abcdefghij0123456789abc",
        "AKIAABCDEFGHIJ012345", "LTAI5tAbcdefghijk12345", "ghp_abcdefghij0123456789abc", "glpat-abcdefghij0123456789",
        "xoxb-1234567890-abcdefgh", "npm_abcdefghij0123456789abcdefghij",
        "123456789:AAabcdefghij0123456789abcdefghijkl", JWT, BLOCK, CONFIGURED, SOURCE_KEY,
        base64.b64encode(b"the key is sk-abcdefghijklmnop1234567890").decode(),
    )
] + [
    ("password: hunter2-and-more", "hunter2-and-more"), ("密码是hunter2-and-more", "hunter2-and-more"),
    ('api_key="abcd-efgh-ijkl"', "abcd-efgh-ijkl"), ("https://me:hunter2-and-more@host.example", "hunter2-and-more"),
    ("Authorization: Bearer abcdefgh12345678ijkl", "abcdefgh12345678ijkl"),
]  # fmt: skip
"""What is said, and what of it is secret."""

AROUND = st.lists(
    st.sampled_from(["hello", "你好", "🌍", "the cat", "{", '"quoted"', "a\\b", "\n", "ü", "\u2028"]), max_size=6
)
CUTS = st.sets(st.integers(0, 400), max_size=40)


def cut(text: Any, places: set[int]) -> list[Any]:
    """The text, or bytes, in pieces that end at these places."""
    at = [0, *sorted({place % (len(text) + 1) for place in places}), len(text)]
    return [text[a:b] for a, b in itertools.pairwise(at)]


def recorded(adapter: str, chunks: Sequence[bytes], *, coding: str = "") -> tuple[str, Any]:
    """The line in which an answer that came like this is kept, and what is read in it."""
    redactor = Redactor([CONFIGURED])
    tape = tape_named(Path(), "one", redactor.redact)
    source = Source("test", "http://x.example/v1", "m", adapter=adapter)
    exchange = Exchange(tape, source, SOURCE_KEY, "http://x.example/v1", b"{}")
    exchange.answered(httpx2.Response(200, headers={"content-encoding": coding} if coding else {}))
    for chunk in chunks:
        exchange.came(chunk)
    exchange.came(None)
    line = json.dumps(exchange.view(), ensure_ascii=False)
    return line, json.loads(line)


def texts_of(value: object) -> Iterator[str]:
    """Every text in a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for one in value.values():
            yield from texts_of(one)
    elif isinstance(value, list):
        for one in value:
            yield from texts_of(one)


def joined_by_hand(exchange: Any) -> str:
    """What a person reads who joins the texts of the frames."""
    lines = "".join(exchange["chunks"]).split("\n") if all(isinstance(c, str) for c in exchange["chunks"]) else []
    frames = [line.removeprefix("data: ") for line in lines]
    return "".join(text for frame in frames if frame[:1] == "{" for text in texts_of(json.loads(frame)))


def played(adapter: str, exchange: Any) -> Said:
    """What is gathered from it; raises what a decoder does."""
    decoder, gathered = DECODERS[adapter](lambda: "minted"), Gatherer()
    for chunk in exchange["chunks"]:
        for part in decoder.feed(chunk.encode() if isinstance(chunk, str) else base64.b64decode(chunk["bytes"])):
            gathered.take(part)
    for part in decoder.end():
        gathered.take(part)
    return gathered.said()


@pytest.mark.parametrize("adapter", WIRES)
@given(secret=st.sampled_from(SECRETS), before=AROUND, after=AROUND, cuts=CUTS, packets=CUTS, ascii_=st.booleans(),
       field=st.sampled_from(["content", "reasoning"]))  # fmt: skip
@settings(max_examples=25, deadline=None)
def test_a_secret_in_pieces_is_in_no_file_and_in_no_replay(
    adapter: str, secret: tuple[str, str], before: list[str], after: list[str], cuts: set[int], packets: set[int],
    ascii_: bool, field: str,
) -> None:  # fmt: skip
    said, core = secret
    text = " ".join([*before, said, *after])
    other = " ".join([*after, "api_key=", *before])  # by turns with it, which must not be taken for more of it
    fields = {"content": cut(other, cuts), "reasoning": cut(other, cuts), field: cut(text, cuts)}
    body = body_of(adapter, fields, ascii_=ascii_).encode("utf-8", "surrogatepass")
    file, exchange = recorded(adapter, cut(body, packets))
    outcome = played(adapter, exchange)
    kept, beside = outcome.text, outcome.reasoning
    if field == "reasoning":
        kept, beside = beside, kept
    assert beside == redact(other)
    assert kept == Redactor([CONFIGURED, SOURCE_KEY]).redact(text).replace(
        "[secret:configured]", "[secret:key]" if said == SOURCE_KEY else "[secret:configured]"
    )
    assert core not in kept
    assert core not in file
    assert json.dumps(core, ensure_ascii=False)[1:-1] not in file
    assert core not in joined_by_hand(exchange)


@pytest.mark.parametrize("adapter", WIRES)
@given(secret=st.sampled_from(SECRETS), before=AROUND, cuts=CUTS, packets=CUTS, ascii_=st.booleans())
@settings(max_examples=20, deadline=None)
def test_nor_in_the_arguments_of_calls(
    adapter: str, secret: tuple[str, str], before: list[str], cuts: set[int], packets: set[int], ascii_: bool
) -> None:
    """Two calls at once, whose fragments come by turns where the wire has fragments."""
    said, core = secret
    first, second = " ".join([*before, said]), " ".join([said, *before])
    arguments = [{"note": first, "kind": "a"}, {"note": second, "password": "x"}]
    pieces = [cut(json.dumps(one, ensure_ascii=ascii_), cuts) for one in arguments]
    body = body_of(adapter, {"calls": pieces}, ascii_=ascii_).encode()
    file, exchange = recorded(adapter, cut(body, packets))
    outcome = played(adapter, exchange)
    one, two = (call.arguments for call in outcome.calls)
    assert one is not None
    assert two is not None
    assert one["kind"] == "a"
    assert two["password"] == "[secret:password]"
    for told in (str(one["note"]), str(two["note"])):
        assert core not in told
        assert "[secret:" in told
        assert all(word in told for word in before)
    assert core not in file
    assert json.dumps(core, ensure_ascii=False)[1:-1] not in file


@pytest.mark.parametrize("adapter", WIRES)
@given(around=AROUND, cuts=CUTS, packets=CUTS, ascii_=st.booleans())
@settings(max_examples=10, deadline=None)
def test_an_answer_without_one_is_kept_byte_for_byte(
    adapter: str, around: list[str], cuts: set[int], packets: set[int], ascii_: bool
) -> None:
    body = body_of(adapter, {"content": cut(" ".join(around), cuts)}, ascii_=ascii_).encode()
    chunks = cut(body, packets)
    _, exchange = recorded(adapter, chunks)
    assert [c.encode() if isinstance(c, str) else base64.b64decode(c["bytes"]) for c in exchange["chunks"]] == chunks


LOOKS = "sk-proj-abcdefghijklmnop1234567890"


def sse(*data: str) -> str:
    return "".join(f"data: {one}\n\n" for one in data)


def delta(content: str) -> str:
    return json.dumps({"choices": [{"index": 0, "delta": {"content": content}}]})


@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("a frame that was cut", sse(delta("sk-proj-abcdef")) + "data: " + delta("ghijklmnop1234567890")[:-4]),
        ("cut in an escape", sse(delta("sk-proj-abcdef")) + 'data: {"content":"ghijklmnop1234567890\\u00'),
        ("cut behind a value", sse(delta("sk-proj-abcdef")) + 'data: {"content":"ghijklmnop1234567890", "b'),
        ("no JSON", sse("sk-proj-abcdef", "ghijklmnop1234567890")),
        ("escapes", sse(delta("sk-proj-abcdef"), r'{"content":"gh\u0069jklmnop1234567890"}')),
        ("the first of two members", sse(r'{"content":"sk-proj-abcdefghijklmnop1234567890","content":"x"}')),
        ("over two lines of data",
         'data: {\ndata: "content": "sk-proj-abcdef"}\n\n' + sse(delta("ghijklmnop1234567890"))),
        ("with a mark of its encoding", "\ufeff" + sse(delta("sk-proj-abcdef"), delta("ghijklmnop1234567890"))),
        ("line ends of old", sse(delta("sk-proj-abcdef"), delta("ghijklmnop1234567890")).replace("\n", "\r")),
        ("tokens", sse(json.dumps({"logprobs": {"content": [{"token": "sk-p"}, {"bytes": list(LOOKS.encode())}]}}))),
        ("comments", ": sk-proj-abcdef\n: ghijklmnop1234567890\n\n" + sse("{}")),
        ("half in the beginning of a block",
         sse('{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"sk-proj-abcdef"}}',
             '{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"ghijklmnop1234567890"}}')),
        ("two blocks",
         sse('{"type":"content_block_delta","index":0,"delta":{"text":"sk-proj-abcdefghijkl1234"}}',
             '{"type":"content_block_delta","index":1,"delta":{"text":"ghijklmnop1234567890"}}')),
        ("a list of responses", '[{"text":"sk-proj-abcdef"}\n,\n{"text":"ghijklmnop1234567890"}]'),
        ("a line that was cut", '{"content":"sk-proj-abcdef"}\n{"content":"ghijklmnop1234567890'),
        ("a line that belongs to no event", sse("{}") + "sk-proj-abcdefghijklmnop1234567890\n"),
        ("the name of such a line", sse("{}") + "sk-proj-abcdefghijklmnop1234567890: x\n\n"),
        ("what a line of text names", sse("{}") + "password=abcdefgh\napi_key: ghijklmnop1234567890\n"),
        ("a header in a page of errors", sse("{}") + "Authorization: Basic abcdefgh\n"),
        ("line ends of old, another line first",
         ("event: a\n" + sse(delta("sk-proj-abcdef"), delta("ghijklmnop1234567890"))).replace("\n", "\r")),
        ("lines with a mark of their encoding",
         '\ufeff{"content":"sk-proj-abcdef"}\n{"content":"ghijklmnop1234567890"}\n'),
        ("a fault before the events", '{"fault":1}\n' + sse(delta("sk-proj-abcdef"), delta("ghijklmnop1234567890"))),
    ],
)  # fmt: skip
def test_nothing_is_left_of_one(name: str, body: str) -> None:
    clean = scrub(body, redact)
    left = clean.replace("\\u0069", "i")
    for part in ("sk-proj-abcdef", "ghijklmnop1234567890", "abcdefgh", "sk-p", "115, 107"):
        assert part not in left, name
    assert scrub(clean, redact) == clean


@pytest.mark.parametrize(
    "body",
    [
        "[0," * 100_000,
        "data:{}\n\n" + ":\n" * 200_000,
        "data\n\n" + "a\n" * 200_000,
        '{"a":' * 900 + "{%s}" + "}" * 900,
    ],
    ids=["cut deep down", "signs of life", "lines of text", "names deep down"],
)
def test_no_answer_makes_it_slow(body: str) -> None:
    """Each of these took minutes, or gigabytes, for what is a hundredth of the longest."""
    text = body.replace("%s", ",".join(f'"{at:x}":""' for at in range(40_000)))
    begun = time.process_time()
    scrub(text, redact)
    assert time.process_time() - begun < 3


def test_what_stands_in_every_frame_is_looked_through_once() -> None:
    texts: list[str] = []

    def clean(text: str) -> str:
        texts.append(text)
        return text

    scrub(sse(*['{"id":"chatcmpl-1","model":"a","text":"x"}'] * 50), clean)
    assert texts.count("chatcmpl-1") == texts.count("model") == 1


def test_what_is_no_event_keeps_its_lines() -> None:
    body = sse("{}") + "password=abcdefgh\r\n\r\nit is so\r\n" + sse("{}") + '{\n"token": "abcdefgh"\n}\n\n: a\n\nend'
    assert scrub(body, redact) == (
        sse("{}") + "password=[secret:password]\r\n\r\nit is so\r\n" + sse("{}")
        + '{"token":"[secret:key]"}\n\n: a\n\nend'
    )  # fmt: skip


def test_frames_stay_frames() -> None:
    """Where the whole text is looked through instead, a key without an end takes all that follows with it."""
    body = sse(delta("-----BEGIN PRIVATE KEY-----"), delta("MIIE"), '{"choices":[],"usage":{"x":1}}', "[DONE]")
    assert scrub(body, redact) == sse(
        '{"choices":[{"index":0,"delta":{"content":"[secret:private_key]"}}]}',
        '{"choices":[{"index":0,"delta":{"content":""}}]}', '{"choices":[],"usage":{"x":1}}', "[DONE]",
    )  # fmt: skip


def test_what_stands_between_two_secrets_stays_in_its_piece() -> None:
    pieces = ["a sk-proj-abcdefgh", "ijklmnop1234567890 b ", "c ", "ghp_abcdefghij", "0123456789abc d"]
    frames = scrub(sse(*map(delta, pieces)), redact).split("\n\n")[:-1]
    texts = [json.loads(frame.removeprefix("data: "))["choices"][0]["delta"]["content"] for frame in frames]
    assert texts == ["a [secret:key]", " b ", "c ", "[secret:github]", " d"]


def test_a_packed_answer_is_unpacked_before_it_is_kept() -> None:
    body = sse(delta("sk-proj-abcdef"), delta("ghijklmnop1234567890")).encode()
    packed = zlib.compress(body)
    _, exchange = recorded("openai", cut(packed, {7, 20}), coding="deflate")
    (chunk,) = exchange["chunks"]
    assert "[secret:key]" in chunk
    assert "ghijklmnop" not in chunk


def test_what_is_packed_as_nobody_can_unpack_is_left_out(caplog: pytest.LogCaptureFixture) -> None:
    _, exchange = recorded("openai", [b"sk-proj-abcdefghijklmnop1234567890"], coding="br")
    assert exchange["chunks"] == []
    assert "recorded in part" in caplog.text


@pytest.mark.parametrize("end", [b"\n", b"\r"])
def test_of_one_in_more_frames_than_memory_has_room_for_only_that_is_kept(end: bytes) -> None:
    """Three and a half million of nine bytes took two gigabytes."""
    _, exchange = recorded("openai", [b"data:{}" + end + end] * (MOST_LINES // 2 + 1))
    assert (exchange["chunks"], exchange["ended"]) == ([], "too long")
