"""Frames between homed and the child of a script."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from homed.providers.lua import frames


@given(st.lists(st.text(), max_size=5), st.lists(st.integers(0, 200), max_size=5))
def test_frames_come_whole_however_they_are_cut(texts: list[str], places: list[int]) -> None:
    data = b"".join(frames.encode("log", text=text) for text in texts)
    decoder, found, at = frames.Decoder(), [], 0
    for place in [*sorted(places), len(data)]:
        found += [frame["text"] for frame in decoder.feed(data[at:place])]
        at = max(at, place)
    assert found == [text.encode("utf-8", "replace").decode() for text in texts]


@pytest.mark.parametrize("payload", [b"", b"{", b"[]", b'{"do":7}', b"\xff", b"[" * 5000])
def test_what_is_no_frame_is_refused(payload: bytes) -> None:
    with pytest.raises(frames.BadFrame):
        list(frames.Decoder().feed(frames.framed(payload)))


def test_a_length_beyond_measure_is_refused_before_it_comes() -> None:
    with pytest.raises(frames.BadFrame):
        list(frames.Decoder().feed(struct.pack(">I", frames.LONGEST + 1)))
    with pytest.raises(frames.BadFrame):
        frames.encode("call", given="x" * (frames.LONGEST + 1))
