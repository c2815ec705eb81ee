"""What is made of one file, in the process that looks into it."""

from __future__ import annotations

import io
import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from homed.jobs import looking
from homed.jobs.looking import PDF, PICTURE, READ_SIDE, SIDE, Unreadable, look, opened, small_of
from tests.homed.jobs.pictures import bomb, picture, two_colors


def made(data: bytes) -> Image.Image:
    small, words = look(data, PICTURE, reading=False)
    assert words == ""
    return Image.open(io.BytesIO(small), formats=("WEBP",))


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "GIF", "WEBP"])
def test_every_kind_of_picture_is_made_small(kind: str) -> None:
    assert made(picture(kind, (2000, 1000))).size == (SIDE, SIDE // 2)
    assert made(picture(kind, (30, 20))).size == (30, 20), "and never larger"


def test_a_picture_stands_upright_and_says_nothing_of_where_it_was_taken() -> None:
    exif = Image.Exif()
    exif[0x0112] = 6  # turn it by a quarter to the right to see it upright
    exif[0x010F] = "Maker of cameras"
    out = io.BytesIO()
    two_colors().save(out, "JPEG", exif=exif, quality=95)
    small = made(out.getvalue())
    assert small.size == (20, 40)
    top, bottom = small.convert("RGB").getpixel((10, 5)), small.convert("RGB").getpixel((10, 35))
    assert isinstance(top, tuple)
    assert isinstance(bottom, tuple)
    assert top[0] > 200 > 60 > top[2]
    assert bottom[2] > 200 > 60 > bottom[0]
    assert not small.getexif()


def test_what_is_clear_stays_clear_and_of_a_film_the_first_picture_counts() -> None:
    out = io.BytesIO()
    Image.new("RGBA", (20, 20), (255, 0, 0, 0)).save(out, "PNG")
    assert made(out.getvalue()).convert("RGBA").getpixel((5, 5))[3] == 0  # type: ignore[index]
    out = io.BytesIO()
    frames = [Image.new("RGB", (20, 20), color) for color in ("red", "blue")]
    frames[0].save(out, "GIF", save_all=True, append_images=frames[1:])
    red, _, blue = made(out.getvalue()).convert("RGB").getpixel((5, 5))  # type: ignore[misc]
    assert red > blue


def test_a_bomb_is_not_decoded() -> None:
    data = bomb()
    assert len(data) < 1_000_000
    with pytest.raises(Unreadable):
        look(data, PICTURE, reading=False)


def test_a_huge_jpeg_is_decoded_in_a_smaller_size() -> None:
    assert max(opened(picture("JPEG", (9000, 9000))).size) <= READ_SIDE


@given(st.sampled_from(["PNG", "JPEG", "GIF", "WEBP"]), st.integers(0, 400), st.binary(max_size=20))
def test_a_broken_file_is_unreadable_and_nothing_else(kind: str, at: int, wrong: bytes) -> None:
    data = picture(kind)
    broken = data[:at] + wrong + data[at + len(wrong) + 3 :]
    try:
        small = small_of(opened(broken))
    except Unreadable:
        return
    assert small.startswith(b"RIFF")


@pytest.mark.parametrize("data", [b"", b"\x89PNG\r\n\x1a\n", b"GIF89a", picture()[:60], picture("JPEG")[:100]])
def test_a_file_that_was_cut_off_is_unreadable(data: bytes) -> None:
    with pytest.raises(Unreadable):
        opened(data)


def test_other_kinds_of_pictures_are_not_opened_at_all() -> None:
    with pytest.raises(Unreadable):
        opened(picture("TIFF"))


class FakeOcr:
    """rapidocr as far as it is used: what it was shown, and what it reads."""

    def __init__(self, txts: tuple[str, ...] | None) -> None:
        self.txts = txts
        self.shown: list[Any] = []

    def module(self) -> ModuleType:
        module = ModuleType("rapidocr")

        def read(image: Any) -> SimpleNamespace:
            self.shown.append(image)
            return SimpleNamespace(txts=self.txts)

        module.RapidOCR = lambda: read  # type: ignore[attr-defined]
        return module


def test_text_in_a_picture_is_read_where_the_extra_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    ocr = FakeOcr(("Invoice 4711", "total 93 EUR"))
    monkeypatch.setitem(sys.modules, "rapidocr", ocr.module())
    small, words = look(picture("PNG", (4000, 1000), "red"), PICTURE, reading=True)
    assert words == "Invoice 4711\ntotal 93 EUR"
    assert small.startswith(b"RIFF")
    (shown,) = ocr.shown
    assert shown.shape == (READ_SIDE // 4, READ_SIDE, 3)
    assert shown[0, 0].tolist() == [0, 0, 255], "blue first, as it is taught with"


def test_a_picture_without_text_has_no_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rapidocr", FakeOcr(None).module())
    assert look(picture(), PICTURE, reading=True)[1] == ""


def pypdf(pages: list[Any]) -> ModuleType:
    """pypdf as far as it is used: a page is its text, or what is raised for it."""

    def text(page: Any) -> str:
        if isinstance(page, Exception):
            raise page
        return str(page)

    module = ModuleType("pypdf")
    module.__spec__ = SimpleNamespace()  # type: ignore[assignment]
    read = [SimpleNamespace(extract_text=lambda page=page: text(page)) for page in pages]
    module.PdfReader = lambda stream: SimpleNamespace(pages=read)  # type: ignore[attr-defined]
    return module


def test_the_first_pages_of_a_pdf_are_read_where_the_extra_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pypdf", pypdf(["one", "two"] + ["x"] * 100))
    assert look(b"%PDF", PDF, reading=False) == (b"", "\n".join(["one", "two", *["x"] * (looking.PAGES - 2)]))
    monkeypatch.setitem(sys.modules, "pypdf", pypdf(["a" * looking.WORDS, AssertionError("read too far")]))
    assert len(look(b"%PDF", PDF, reading=False)[1]) == looking.WORDS
    monkeypatch.setitem(sys.modules, "pypdf", pypdf([KeyError("/Root")]))
    with pytest.raises(Unreadable):
        look(b"%PDF", PDF, reading=False)


def test_without_that_extra_a_pdf_has_no_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert look(b"%PDF", PDF, reading=False) == (b"", "")
