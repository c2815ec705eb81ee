"""The sans-io peer: framing that no chunking changes, memory that nothing makes grow, a reason for every bad line."""

from __future__ import annotations

import itertools
import json
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from homed.errors import Denied, HomedError, InvalidInput, NotFound
from homed.wire.rpc import Broken, Incoming, Notification, Peer, RemoteError, Request, Response, encode
from homed.wire.version import MAX_LINE

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda part: st.lists(part, max_size=4) | st.dictionaries(st.text(), part, max_size=4),
    max_leaves=12,
)
PARAMS = st.dictionaries(st.text(), JSON, max_size=4)


def cut(data: bytes, places: list[int]) -> list[bytes]:
    """The data in pieces, cut at these places (modulo its length)."""
    edges = sorted({0, len(data), *(place % (len(data) + 1) for place in places)})
    return [data[a:b] for a, b in itertools.pairwise(edges)]


def feed(peer: Peer, pieces: list[bytes]) -> list[Incoming]:
    return [message for piece in pieces for message in peer.feed(piece)]


def one(line: bytes) -> Incoming:
    (message,) = Peer(quoting=True).feed(line + b"\n")
    return message


def broken(line: bytes) -> str:
    message = one(line)
    assert isinstance(message, Broken)
    return message.reason


@given(st.lists(st.tuples(st.text(min_size=1), PARAMS), max_size=5), st.lists(st.integers(0, 10_000), max_size=20))
def test_any_chunking_gives_the_same_messages(sent: list[tuple[str, dict[str, Any]]], places: list[int]) -> None:
    data = b"".join(Peer().notify(method, params) for method, params in sent)
    assert feed(Peer(), cut(data, places)) == [Notification(method, params) for method, params in sent]


@given(st.binary(max_size=600).map(lambda b: b.replace(b"x", b"\n")), st.lists(st.integers(0, 600), max_size=20))
def test_garbage_gives_the_same_complaints_however_it_is_cut(data: bytes, places: list[int]) -> None:
    assert feed(Peer(limit=64), cut(data, places)) == Peer(limit=64).feed(data)


@given(
    st.lists(st.integers(125, 130) | st.integers(1, 300), min_size=1, max_size=8),
    st.lists(st.integers(0, 3_000), max_size=30),
)
def test_lines_round_the_limit_are_taken_or_refused_alike_however_they_are_cut(
    sizes: list[int], places: list[int]
) -> None:
    data = b"".join(b"x" * size + b"\n" for size in sizes)
    peer = Peer(limit=128)
    got = feed(peer, cut(data, places))
    assert len(got) == len(sizes)
    assert [isinstance(m, Broken) and "over 128" in m.reason for m in got] == [size + 1 > 128 for size in sizes]


def test_cjk_and_emoji_one_byte_at_a_time_arrive_whole() -> None:
    """A24: a character split over two reads never becomes U+FFFD."""
    data = Peer().notify("say", {"text": "你好🌍"})
    assert feed(Peer(), [bytes([byte]) for byte in data]) == [Notification("say", {"text": "你好🌍"})]


def test_a_gibibyte_without_a_newline_is_reported_once_and_never_held() -> None:
    """C2: memory stays within one line."""
    peer, piece = Peer(), b"x" * (1 << 16)
    complaints: list[Incoming] = []
    for _ in range(1 << 14):
        complaints += peer.feed(piece)
        assert peer.buffered < MAX_LINE
    assert len(complaints) == 1
    assert sys.getsizeof(peer._buffer) < 2 * MAX_LINE
    after = peer.feed(b"\n" + Peer().notify("still", {}))
    assert after == [Notification("still", {})]


def test_a_line_of_exactly_the_limit_is_taken() -> None:
    frame = len(Peer().notify("a", {"t": ""}))
    exact = Peer().notify("a", {"t": "x" * (MAX_LINE - frame)})
    assert len(exact) == MAX_LINE
    assert isinstance(Peer().feed(exact)[0], Notification)
    with pytest.raises(InvalidInput, match="at most"):
        Peer().notify("a", {"t": "x" * (MAX_LINE - frame + 1)})


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"hello \xf0\x9f\x94\x84", "no JSON"),
        (b'{"jsonrpc":"2.0","method":"m","params":{"a":"\xff"}}', "invalid UTF-8"),
        (b"", "an empty line"),
        (b" \t\r", "an empty line"),
        (b"[]", "a JSON list"),
        (b'"text"', "a JSON str"),
        (b'{"method":"m"}', 'no "jsonrpc"'),
        (b'{"jsonrpc":"1.0","method":"m"}', 'no "jsonrpc"'),
        (b'{"jsonrpc":"2.0","method":1}', "a method that is no name"),
        (b'{"jsonrpc":"2.0","method":"m","params":[1]}', "params must be an object"),
        (b'{"jsonrpc":"2.0","method":"m","id":null}', "a request id"),
        (b'{"jsonrpc":"2.0","method":"m","id":true}', "a request id"),
        (b'{"jsonrpc":"2.0","method":"m","id":1.5}', "a request id"),
        (b'{"jsonrpc":"2.0","method":"m","id":[1]}', "a request id"),
        (b'{"jsonrpc":"2.0","id":1}', "either a result or an error"),
        (b'{"jsonrpc":"2.0","id":1,"result":1,"error":{}}', "either a result or an error"),
        (b'{"jsonrpc":"2.0","id":1,"error":"no"}', "no error object"),
        (b'{"jsonrpc":"2.0","id":7,"result":1}', "unknown request: '7'"),
        (b'{"jsonrpc":"2.0","id":[7],"result":1}', "unknown request"),
        (b'{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"what?"}}', "could not read a message: 'what?'"),
        (b'{"jsonrpc":"2.0","method":"m","params":{"a":NaN}}', "NaN is no JSON"),
        (b'{"jsonrpc":"2.0","method":"m","params":{"a":1e999}}', "out of range"),
        (b'{"jsonrpc":"2.0","method":"m","params":{"a":"\\uD800"}}', "surrogate"),
        (b"1" * 5000, "no JSON"),
        (b'{"a":' * 20_000 + b"1" + b"}" * 20_000, "nested too deeply"),
    ],
)
def test_a_bad_line_is_named(line: bytes, reason: str) -> None:
    assert reason in broken(line)


def test_only_for_the_author_of_a_child_is_a_bad_line_cited() -> None:
    line = b"DEBUG starting up\n"
    (cited,), (silent,) = Peer(quoting=True).feed(line), Peer().feed(line)
    assert isinstance(cited, Broken)
    assert isinstance(silent, Broken)
    assert "DEBUG starting up" in cited.reason
    assert "DEBUG" not in silent.reason


def test_a_bad_request_says_whose_it_was_so_that_it_can_be_refused() -> None:
    message = one(b'{"jsonrpc":"2.0","id":"a","method":"m","params":3}')
    assert isinstance(message, Broken)
    assert message.id == "a"


def test_what_is_left_at_the_end_is_reported() -> None:
    peer = Peer()
    assert peer.feed(b'{"json') == []
    (message,) = peer.end()
    assert isinstance(message, Broken)
    assert "6 bytes into a line" in message.reason
    assert peer.end() == []


@given(PARAMS, JSON)
def test_a_request_and_its_reply_find_each_other(params: dict[str, Any], result: object) -> None:
    ours, theirs = Peer(), Peer()
    id_, line = ours.request("m", params)
    (request,) = theirs.feed(line)
    assert request == Request(id_, "m", params)
    assert ours.feed(theirs.reply(id_, result)) == [Response(id_, result)]


def test_the_same_reply_twice_is_broken() -> None:
    peer = Peer()
    id_, _ = peer.request("m", {})
    reply = Peer().reply(id_, None)
    assert peer.feed(reply) == [Response(id_, None)]
    assert isinstance(peer.feed(reply)[0], Broken)


def test_the_late_reply_to_a_forgotten_request_is_dropped_once() -> None:
    peer = Peer()
    id_, _ = peer.request("m", {})
    peer.forget(id_)
    assert peer.feed(Peer().reply(id_, 1)) == []
    assert isinstance(peer.feed(Peer().reply(id_, 1))[0], Broken)


def test_the_late_reply_is_handed_on_once_to_who_must_undo_what_it_brings() -> None:
    peer = Peer(late=True)
    id_, _ = peer.request("m", {})
    peer.forget(id_)
    assert peer.feed(Peer().reply(id_, {"a": 1})) == [Response(id_, {"a": 1})]
    assert isinstance(peer.feed(Peer().reply(id_, 1))[0], Broken)


def test_forgotten_ids_do_not_pile_up() -> None:
    peer = Peer()
    for _ in range(5000):
        id_, _ = peer.request("m", {})
        peer.forget(id_)
    assert len(peer._forgotten) < 5000
    assert not peer._pending


def test_an_error_crosses_the_wire_whole() -> None:
    ours, theirs = Peer(), Peer()
    id_, _ = ours.request("m", {})
    sent = Denied("Not yours.", hint="Ask the owner.", detail={"capability": "io"})
    (response,) = ours.feed(theirs.error(id_, sent))
    assert isinstance(response, Response)
    assert response.error is not None
    got = response.error.as_error()
    assert isinstance(got, Denied)
    assert (got.message, got.hint, got.detail) == (sent.message, sent.hint, sent.detail)


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (RemoteError(-32601, "no"), NotFound),
        (RemoteError(-32602, "no"), InvalidInput),
        (RemoteError(-32000, "no", {"code": "denied"}), Denied),
        (RemoteError(-32000, "no", {"code": "never heard of"}), HomedError),
        (RemoteError(-32000, "no", {"code": ["odd"], "hint": 3, "detail": []}), HomedError),
    ],
)
def test_errors_of_others_become_ours(error: RemoteError, kind: type[HomedError]) -> None:
    assert type(error.as_error()) is kind


@pytest.mark.parametrize("detail", [{"x": object()}, {"x": "y" * MAX_LINE}])
def test_an_error_can_always_be_written(detail: dict[str, object]) -> None:
    line = Peer().error(1, HomedError("m" * (2 * MAX_LINE), hint="h" * MAX_LINE, detail=detail))
    assert len(line) < MAX_LINE
    assert json.loads(line)["error"]["data"]["code"] == "internal"


@pytest.mark.parametrize("value", [{1, 2}, b"bytes", float("nan"), object()])
def test_what_is_no_json_is_not_sent_and_nothing_is_awaited(value: object) -> None:
    peer = Peer()
    with pytest.raises(InvalidInput, match="JSON"):
        peer.request("m", {"a": value})
    assert not peer._pending


def test_a_structure_that_holds_itself_is_refused() -> None:
    loop: list[object] = []
    loop.append(loop)
    with pytest.raises(InvalidInput):
        encode({"a": loop})


def test_halves_of_surrogate_pairs_are_joined_or_shown_but_never_sent() -> None:
    line = encode({"name": "a\udcffb", "pair": "\ud83c\udf0d"})
    assert json.loads(line) == {"name": "a\ufffdb", "pair": "🌍"}


@given(st.text(alphabet=st.characters(), max_size=20))
def test_no_text_at_all_breaks_the_encoder(text: str) -> None:
    assert encode({"t": text}).endswith(b"\n")
