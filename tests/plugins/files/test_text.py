"""Bytes to text and back."""

from __future__ import annotations

import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plugins.files.text import NotText, Text, decode


@given(st.binary(max_size=200))
def test_whatever_is_taken_for_text_gives_the_same_bytes_back(data: bytes) -> None:
    try:
        found = decode(data)
    except NotText:
        return
    assert found.encode() == data


@given(st.text(max_size=100), st.sampled_from(["utf-8", "utf-8-sig", "utf-16-le", "gb18030"]))
def test_an_edit_leaves_every_other_byte_alone(text: str, encoding: str) -> None:
    mark = codecs.BOM_UTF16_LE if encoding == "utf-16-le" else b""
    try:
        data = mark + f"{text}OLD{text}".encode(encoding)
        found = decode(data)
    except (UnicodeEncodeError, NotText):
        return
    if found.text.count("OLD") == 1:
        changed = found.with_text(found.text.replace("OLD", "NEW")).encode()
        assert changed == data.replace("OLD".encode(found.encoding), "NEW".encode(found.encoding))


@pytest.mark.parametrize(
    ("data", "encoding"),
    [
        (b"", "utf-8"), ("你好🌍".encode(), "utf-8"), (b"\xef\xbb\xbfa", "utf-8"),
        ("中文文本".encode("gb18030"), "gb18030"),
        ("\ufeffa".encode("utf-16-be"), "utf-16-be"), (b"caf\xe9 \xff", "latin-1"),
    ],
)  # fmt: skip
def test_encodings_are_told_apart(data: bytes, encoding: str) -> None:
    assert decode(data).encoding == encoding


@pytest.mark.parametrize("data", [b"\0", b"text\0more", b"\xff\xfea", b"\x7fELF\0\0"])
def test_binary_data_is_no_text(data: bytes) -> None:
    with pytest.raises(NotText):
        decode(data)


def test_line_ends_are_those_of_the_file_if_it_has_one_kind() -> None:
    assert Text("a\r\nb\r\n").native("x\ny") == "x\r\ny"
    assert Text("a\r\nb\r\n").native("x\r\ny") == "x\r\ny"
    assert Text("a\r\nb\n").native("x\ny") == "x\ny"
    assert Text("a").native("x\ny") == "x\ny"
