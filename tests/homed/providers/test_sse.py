from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from homed.providers.failures import Endless, Unreadable
from homed.providers.sse import ServerEvent, SseDecoder


def decoded(*chunks: bytes) -> list[ServerEvent]:
    decoder = SseDecoder()
    events = [event for chunk in chunks for event in decoder.feed(chunk)]
    return [*events, *decoder.end()]


@given(
    st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\r\n"), max_size=6), min_size=1, max_size=4),
    st.sampled_from(["\n", "\r\n", "\r"]),
    st.data(),
)
def test_events_are_the_same_wherever_the_bytes_are_cut_a24(texts: list[str], eol: str, data: st.DataObject) -> None:
    whole = "".join(f": note{eol}{eol}data: {text}{eol}{eol}" for text in texts).encode()
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=6)))
    chunks = [whole[a:b] for a, b in zip([0, *cuts], [*cuts, len(whole)], strict=True)]
    assert decoded(*chunks) == [ServerEvent("", text) for text in texts]


def test_one_byte_a_chunk_with_crlf_cut_in_the_middle_a24() -> None:
    whole = 'event: x\r\ndata: {"t":"你好🌍"}\r\n\r\ndata: b\r\n\r\n'.encode()
    assert decoded(*(bytes([b]) for b in whole)) == [ServerEvent("x", '{"t":"你好🌍"}'), ServerEvent("", "b")]


def test_an_event_is_out_as_soon_as_its_empty_line_is_there() -> None:
    decoder = SseDecoder()
    assert list(decoder.feed(b"data: a\r\n\r")) == [ServerEvent("", "a")]
    assert list(decoder.feed(b"\ndata: b\n\n")) == [ServerEvent("", "b")]


def test_data_lines_are_joined_and_a_missing_space_or_last_empty_line_does_no_harm() -> None:
    assert decoded(b"\xef\xbb\xbfdata:a\ndata:  b\n\nid: 3\nretry: 1\n\ndata: end") == [
        ServerEvent("", "a\n b"),
        ServerEvent("", "end"),
    ]


def test_bytes_that_are_not_utf8_in_a_finished_line_are_an_error_never_a_replacement_a24() -> None:
    decoder = SseDecoder()
    assert list(decoder.feed(b"data: ok\n\n")) == [ServerEvent("", "ok")]
    with pytest.raises(Unreadable, match="0xff"):
        list(decoder.feed(b"data: \xff\n"))


def test_an_event_without_end_is_refused_before_it_fills_the_memory() -> None:
    for piece in (b"data: aaaaaaaaaaaaaaa", b"data: aaaaaaaaaaaaaaa\n"):
        with pytest.raises(Endless, match="larger than 1000"):
            list(SseDecoder(limit=1000).feed(piece * 100))
        decoder = SseDecoder(limit=1000)
        for _ in range(1000 // len(piece.strip())):
            list(decoder.feed(piece))
        with pytest.raises(Endless, match="larger than 1000"):
            list(decoder.feed(piece))


def test_many_small_events_do_not_add_up_to_the_limit() -> None:
    decoder = SseDecoder(limit=50)
    assert sum(len(list(decoder.feed(b"data: aaaaaaaaaaaa\n\n"))) for _ in range(100)) == 100
