from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from homed.providers.local import frames


@given(st.lists(st.text()), st.lists(st.integers(1, 9)))
def test_frames_come_out_as_they_went_in_however_they_are_cut(texts: list[str], cuts: list[int]) -> None:
    data = b"".join(frames.encode("chunk", data=text) for text in texts)
    decoder, out = frames.Decoder(), []
    for size in cuts:
        out += list(decoder.feed(data[:size]))
        data = data[size:]
    out += list(decoder.feed(data))
    assert [frame["data"] for frame in out] == texts


def test_half_a_character_goes_over_as_it_is() -> None:
    assert next(frames.Decoder().feed(frames.encode("ask", body="\ud800")))["body"] == "\ud800"


@pytest.mark.parametrize("line", [b"what", b"[1]", b'{"do": 5}', b"{}", b"\xff\xfe", b"[" * 100_000])
def test_what_is_no_frame_is_refused_after_what_came_before_it(line: bytes) -> None:
    fed = frames.Decoder().feed(frames.encode("end", id=1) + line + b"\n")
    assert next(fed) == {"do": "end", "id": 1}
    with pytest.raises(frames.BadFrame):
        next(fed)


def test_a_line_without_end_is_refused() -> None:
    fed = frames.Decoder().feed(b"x" * (frames.LONGEST + 1))
    with pytest.raises(frames.BadFrame):
        next(fed)
