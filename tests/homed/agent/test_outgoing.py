"""What a model gives to an output, in parts."""

from __future__ import annotations

import pytest

from homed.agent.outgoing import MOST, Sent, fits, lacking, parts_of
from homed.errors import InvalidInput


@pytest.mark.parametrize(
    ("content", "parts"),
    [
        ("hi", [Sent("text", "hi")]),
        (5, [Sent("text", "5")]),
        ({"type": "text", "text": "hi"}, [Sent("text", "hi")]),
        ({"type": "image", "block": "blk_1", "caption": "a cat"}, [Sent("image", "a cat", "blk_1")]),
        ({"card": 1}, [Sent("structured", data={"card": 1})]),
        (["hi", {"type": "file", "block": "b"}], [Sent("text", "hi"), Sent("file", block="b")]),
    ],
)
def test_content_is_read_as_parts(content: object, parts: list[Sent]) -> None:
    assert parts_of(content) == parts


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("  ", "nothing in it"),
        (None, "NoneType"),
        ([], "1 to"),
        (["x"] * (MOST + 1), "1 to"),
        ([["x"]], r"content\[0\]"),
        ({"type": "video", "block": "b"}, "'video' is none of"),
        ({"type": 3}, "is none of"),
        ({"type": "image"}, "content.block"),
        ({"type": "image", "block": "b", "caption": 7}, "string"),
        ({"type": "text", "text": ""}, "content.text"),
    ],
)
def test_what_is_no_content_is_told_with_its_place(content: object, says: str) -> None:
    with pytest.raises(InvalidInput, match=says):
        parts_of(content)


def test_what_an_output_lacks_is_named_once() -> None:
    parts = parts_of(["a", {"type": "image", "block": "1"}, {"type": "image", "block": "2"}, {"x": 1}])
    assert lacking(parts, ("text", "file")) == ["image", "structured"]
    assert lacking(parts, ("text", "image", "structured")) == []


@pytest.mark.parametrize(
    ("kind", "media_type", "good"),
    [
        ("image", "image/png", True),
        ("image", "application/pdf", False),
        ("audio", "audio/ogg", True),
        ("audio", "image/png", False),
        ("file", "application/pdf", True),
    ],
)
def test_a_file_goes_as_what_it_is(kind: str, media_type: str, good: bool) -> None:
    assert fits(kind, media_type) is good
