"""Names made harmless, types by bytes, sizes of pictures, text told from anything else."""

from __future__ import annotations

import struct
import time
import unicodedata
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from homed.memory.filetypes import BYTES, IMAGES, JUDGED, NAME_BYTES, TEXT, clean_name, decoded, dimensions, type_of

PNG = b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sIIBBBBB", 13, b"IHDR", 640, 480, 8, 2, 0, 0, 0) + b"\x00" * 8
GIF = b"GIF89a" + struct.pack("<HH", 3, 5) + b"\x00" * 9
JPEG = (
    b"\xff\xd8"
    + b"\xff\xe1\x00\x08Exif\x00\x00"
    + b"\xff\xff\xdb\x00\x04\x00\x00"
    + b"\xff\xc2\x00\x11\x08"
    + struct.pack(">HH", 1080, 1920)
    + b"\x03" * 10
)
VP8X = (
    b"RIFF\x00\x00\x00\x00WEBPVP8X\x0a\x00\x00\x00\x00\x00\x00\x00"
    + (799).to_bytes(3, "little")
    + (599).to_bytes(3, "little")
)
VP8L = b"RIFF\x00\x00\x00\x00WEBPVP8L\x08\x00\x00\x00\x2f" + (99 | 49 << 14).to_bytes(4, "little") + b"\x00" * 8
VP8 = b"RIFF\x00\x00\x00\x00WEBPVP8 \x0a\x00\x00\x00\x00\x00\x00\x9d\x01\x2a" + struct.pack("<HH", 320, 200) + b"\x00"


@pytest.mark.parametrize(
    ("given", "cleaned"),
    [
        ("cat.png", "cat.png"),
        ("../../etc/passwd", "passwd"),
        ("C:\\Users\\me\\report.docx", "report.docx"),
        ("a\x00b\nc\r\x1b[31m.txt", "a b c [31m.txt"),
        ("gpj.\u202eexe", "gpj. exe"),
        ("\u2066x\u2069.md", "x .md"),
        ("猫 的照片.png", "猫 的照片.png"),
        ('"><img src=x>', "___img src=x_"),
        ("", "file"),
        (".", "file"),
        ("..", "file"),
        ("dir/", "file"),
        (" . . ", "file"),
        ("\ud800.txt", ".txt"),
        (".bashrc", ".bashrc"),
    ],
)
def test_a_name_loses_what_could_do_harm(given: str, cleaned: str) -> None:
    assert clean_name(given) == cleaned


@given(st.text(st.characters(), max_size=600))
def test_a_cleaned_name_is_short_printable_no_path_and_stays_as_it_is(name: str) -> None:
    cleaned = clean_name(name)
    assert 0 < len(cleaned.encode()) <= NAME_BYTES
    assert not any(c in cleaned for c in '/\\\x00"<>|:*?')
    assert all(c == " " or unicodedata.category(c)[0] not in "CZ" for c in cleaned)
    assert cleaned not in (".", "..")
    assert clean_name(cleaned) == cleaned


def test_a_long_name_keeps_its_ending() -> None:
    cleaned = clean_name("很长" * 100 + ".tar")
    assert cleaned.endswith(".tar")
    assert len(cleaned.encode()) <= NAME_BYTES


@pytest.mark.parametrize(
    ("data", "kind", "size"),
    [
        (PNG, "image/png", (640, 480)),
        (GIF, "image/gif", (3, 5)),
        (JPEG, "image/jpeg", (1920, 1080)),
        (VP8X, "image/webp", (800, 600)),
        (VP8L, "image/webp", (100, 50)),
        (VP8, "image/webp", (320, 200)),
    ],
)
def test_a_picture_is_one_by_its_bytes_whatever_is_said(data: bytes, kind: str, size: tuple[int, int]) -> None:
    for declared in ("", "text/html", "image/svg+xml", "application/pdf", "IMAGE/PNG"):
        assert type_of(data, declared) == kind
    assert kind in IMAGES
    assert dimensions(data) == size
    for cut in range(len(data)):
        dimensions(data[:cut])  # never raises, whatever is missing


def test_a_jpegs_size_is_found_behind_what_a_camera_writes_and_behind_filling() -> None:
    head, frame = JPEG[:2], JPEG[2:]
    profile = b"\xff\xe1" + struct.pack(">H", 60_000) + bytes(59_998)
    assert dimensions(head + profile * 3 + frame) == (1920, 1080)
    assert dimensions(head + b"\xff" * 100_000 + frame) == (1920, 1080)


@pytest.mark.parametrize(
    "filling", [b"\xff", b"\xff\xd0", b"\xff\x01", b"\xff\xe0\x00\x02", b"\xff\xff\xff\xe0\x00\x02"]
)
def test_no_picture_takes_long_to_be_looked_at(filling: bytes) -> None:
    """It is done beside everything else; one of 20 MB took 16 seconds."""
    data = b"\xff\xd8\xff" + filling * (20_000_000 // len(filling))
    begin = time.process_time()
    assert dimensions(data) is None
    assert time.process_time() - begin < 0.1


@given(st.binary(max_size=200), st.sampled_from([PNG[:8], JPEG[:2], GIF[:6], VP8[:16], VP8X[:16], VP8L[:16], b""]))
def test_no_bytes_make_dimensions_fail_or_give_nonsense(rest: bytes, begin: bytes) -> None:
    found = dimensions(begin + rest)
    assert found is None or all(0 < n < 1 << 24 for n in found)


@pytest.mark.parametrize(
    ("data", "declared", "kind"),
    [
        (b"<svg onload=alert(1)>", "image/svg+xml", TEXT),
        (b"<html><script>", "text/html; charset=utf-8", TEXT),
        (b"<a/>", "application/xhtml+xml", TEXT),
        (b"<a/>", "text/xml", TEXT),
        (b"alert(1)", "application/javascript", TEXT),
        (b"\x00\x01", "image/svg+xml", BYTES),
        (b"not a png", "image/png", TEXT),
        (b"\x00\x00", "image/png", BYTES),
        (b"%PDF-1.7\n\x00", "application/pdf", "application/pdf"),
        (b"a,b\n1,2\n", "text/csv", "text/csv"),
        (b"ID3\x00", "audio/mpeg", "audio/mpeg"),
        (b"hello", "", TEXT),
        (b"hello", "no type at all", TEXT),
        (b"hello", "text/plain\r\nX-Evil: 1", TEXT),
        (b"\x7fELF\x02\x00", "", BYTES),
        (b"PK\x03\x04\x00", "application/vnd.oasis.opendocument.text", "application/vnd.oasis.opendocument.text"),
    ],
)
def test_what_a_browser_could_run_is_never_named_so(data: bytes, declared: str, kind: str) -> None:
    assert type_of(data, declared) == kind


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("plain ascii\n", "ascii"),
        ("Grüße, 你好, 🌍", "utf-8"),
        ("\ufeffwith a mark", "utf-8"),
        ("UTF-16 文本", "utf-16"),
        ("这是一个中文文本文件，用旧编码保存。", "gb18030"),
        ("Déjà vu, façade, Straße costs 5 €", "cp1252"),
    ],
)
def test_text_is_read_in_what_people_save_it_as(text: str, encoding: str) -> None:
    assert decoded(text.encode(encoding), whole=True) == text.removeprefix("\ufeff")


@pytest.mark.parametrize("data", [b"a\x00b", b"\x7fELF\x02\x01\x01", b"\x1f\x8b\x08" + zlib.compress(b"x" * 400), PNG])
def test_what_is_no_text_is_not_taken_for_it(data: bytes) -> None:
    assert decoded(data, whole=True) is None


def test_a_character_cut_in_two_at_the_end_of_a_piece_is_no_error() -> None:
    data = "你好🌍".encode()
    for cut in range(1, len(data)):
        assert decoded(data[:cut], whole=False) == data[:cut].decode(errors="ignore")
    assert decoded(data[:-1], whole=True) != "你好🌍"


def test_a_long_text_is_judged_by_its_beginning() -> None:
    data = ("汉" * JUDGED).encode()[:JUDGED]
    assert type_of(data, "") == TEXT
