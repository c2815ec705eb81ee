"""What is written to the terminal for a glyph of many characters."""

from __future__ import annotations

from prompt_toolkit.data_structures import Size

from waiter.cells import FILL, PRIVATE, Glyphs
from waiter.output import GlyphOutput


class Stream:
    """A terminal's stream that keeps what is written."""

    encoding = "utf-8"

    def __init__(self) -> None:
        self.written = ""

    def write(self, data: str) -> int:
        self.written += data
        return len(data)

    def flush(self) -> None:
        """Nothing."""

    def isatty(self) -> bool:
        return True

    def fileno(self) -> int:
        return -1


def written(*cells: str, glyphs: Glyphs) -> str:
    stream = Stream()
    output = GlyphOutput(stream, lambda: Size(24, 80), term="xterm")  # type: ignore[arg-type]
    output.glyphs = glyphs
    for cell in cells:
        output.write(cell)
    output.flush()
    return stream.written


def test_a_glyph_is_drawn_and_the_cursor_goes_on_from_its_own_place_cell_by_cell() -> None:
    glyphs = Glyphs()
    made = glyphs.fit("👩‍👩‍👧b")
    assert written(*made, glyphs=glyphs) == "\x1b7👩‍👩‍👧\x1b8\x1b[C\x1b[Cb"


def test_what_nobody_made_is_no_glyph_and_typed_joiners_are_left_out() -> None:
    glyphs = Glyphs()
    assert written(chr(PRIVATE + 7), "你", "x", "\x1b", "👩\u200d", FILL, glyphs=glyphs) == "?你x?👩\x1b[C"
