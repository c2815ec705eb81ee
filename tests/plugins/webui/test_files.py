"""Names that are only names, and headers that are only headers."""

from __future__ import annotations

from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from homed.errors import InvalidInput
from plugins.webui.files import MAX_NAME, PICTURES, disposition, handed_over, name_of, type_of


@pytest.mark.parametrize(
    ("header", "name"),
    [
        ("notes.txt", "notes.txt"),
        ("%E7%AC%94%E8%AE%B0%20%F0%9F%8D%85.md", "笔记 🍅.md"),
        ("..%2F..%2Fetc%2Fpasswd", "passwd"),
        ("C%3A%5Ctemp%5Ca.png", "a.png"),
        ("a%22b%3B%20filename%3Dx", 'a"b; filename=x'),
    ],
)
def test_a_name_is_the_last_part_of_what_was_sent(header: str, name: str) -> None:
    assert name_of(header) == name


@pytest.mark.parametrize(
    "header",
    [
        "",
        "..",
        "a%2F",
        "%2E%2E",
        "%FF",
        "a%0D%0ASet-Cookie%3A%20x",
        "{}",
        "a b",
        "\u7b14",
        "a%00b",
        "a%1Bb",
        "%E2%80%AEgpj.exe",
        "x" * 300,
        "%20",
    ],
)
def test_what_is_no_name_is_refused(header: str) -> None:
    with pytest.raises(InvalidInput, match="X-File-Name"):
        name_of(header)


@pytest.mark.parametrize(("header", "kind"), [("IMAGE/PNG", "image/png"), ("text/plain; charset=utf-8", "text/plain")])
def test_a_type_is_two_words(header: str, kind: str) -> None:
    assert type_of(header) == kind


@pytest.mark.parametrize("header", ["", "image", "a/b/c", "text/pl\r\nain", "text/" + "x" * 100, "*/*", "画/png"])
def test_what_is_no_type_is_refused(header: str) -> None:
    with pytest.raises(InvalidInput, match="Content-Type"):
        type_of(header)


@given(st.text(st.characters(codec="utf-8"), min_size=1, max_size=MAX_NAME))
def test_a_disposition_is_one_line_of_ascii_whatever_the_name(name: str) -> None:
    header = disposition("attachment", name)
    assert header.isascii()
    assert header.isprintable()
    assert header.count('"') == 2
    assert header.endswith(f"filename*=UTF-8''{quote(name, safe='')}")


@pytest.mark.parametrize(
    "kind", ["image/svg+xml", "text/html", "application/pdf", "text/xml", "application/javascript"]
)
def test_what_could_hold_a_script_is_only_ever_saved(kind: str) -> None:
    headers = handed_over("a", kind)
    assert headers["Content-Type"] == "application/octet-stream"
    assert headers["Content-Disposition"].startswith("attachment;")


@pytest.mark.parametrize("kind", sorted(PICTURES))
def test_a_picture_is_shown_and_can_do_nothing_else(kind: str) -> None:
    headers = handed_over("a", kind)
    assert headers["Content-Type"] == kind
    assert headers["Content-Disposition"].startswith("inline;")
    assert headers["Content-Security-Policy"] == "sandbox; default-src 'none'"
    assert headers["X-Content-Type-Options"] == "nosniff"
