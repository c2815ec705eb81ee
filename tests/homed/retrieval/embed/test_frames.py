"""Frames survive every cut, and nothing else passes for one."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from homed.retrieval.embed.frames import LONGEST, BadFrame, Decoder, Frame, encode


@given(
    st.lists(st.tuples(st.text(), st.binary(max_size=50), st.text()), max_size=4),
    st.lists(st.integers(1, 40), min_size=1, max_size=9),
)
def test_however_the_bytes_come_the_frames_are_the_same(frames: list[tuple[str, bytes, str]], cuts: list[int]) -> None:
    data = b"".join(encode(do, blob, text=text) for do, blob, text in frames)
    decoder, at = Decoder(), 0
    found: list[Frame] = []
    while at < len(data):
        step = cuts[len(found) % len(cuts)]
        found += decoder.feed(data[at : at + step])
        at += step
    assert found == [Frame(do, {"text": text}, blob) for do, blob, text in frames]


@pytest.mark.parametrize(
    "bad",
    [
        struct.pack("<II", 3, 0) + b"{{{",
        struct.pack("<II", 2, 0) + b"[]",
        struct.pack("<II", 2, 0) + b"{}",
        struct.pack("<II", 8, 0) + b'{"do":1}',
        struct.pack("<II", 1, LONGEST),
    ],
    ids=["no json", "no object", "nothing to do", "no word", "endless"],
)
def test_what_is_no_frame_is_refused(bad: bytes) -> None:
    with pytest.raises(BadFrame):
        list(Decoder().feed(bad))
