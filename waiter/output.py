"""The terminal as prompt-toolkit writes to it, where one glyph may be several characters."""

from __future__ import annotations

import re
from typing import TextIO

from prompt_toolkit.output.vt100 import Vt100_Output

from .cells import FILL, PRIVATE, Glyphs

_JOINERS = re.compile("[\u200d\ufe0e\ufe0f]")
_SAVE, _BACK, _RIGHT = "\x1b7", "\x1b8", "\x1b[C"


class GlyphOutput(Vt100_Output):
    """Draws the private characters of `Glyphs` as what they mean.

    A terminal may think a glyph wider or narrower than it is counted here: so its place is remembered, it is drawn, and
    the cursor goes from its place to the next cell by itself.
    """

    glyphs: Glyphs

    @classmethod
    def over(cls, stream: TextIO, glyphs: Glyphs) -> GlyphOutput:
        """An output on a terminal."""
        made = cls.from_pty(stream)
        assert isinstance(made, GlyphOutput)
        made.glyphs = glyphs
        return made

    def write(self, data: str) -> None:
        """One cell, or text without private characters."""
        if data.isascii():
            super().write(data)
        elif data == FILL:
            self.write_raw(_RIGHT)
        elif len(data) == 1 and ord(data) >= PRIVATE:
            meant = self.glyphs.meant(data)
            self.write_raw(f"{_SAVE}{meant}{_BACK}{_RIGHT}" if meant else "?")
        else:
            super().write(_JOINERS.sub("", data))  # typed just now: its parts stand side by side, as they are counted
