"""Writing to a person's terminal: UTF-8 bytes, nothing in them that a terminal would obey, colour only where wanted."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import BinaryIO

# C0 but tab and line feed, DEL, C1, and the characters that turn the direction of what follows.
_OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u2028\u2029]")


def harmless(text: str) -> str:
    """``text`` with everything a terminal obeys made visible: ESC as ``␛``, others as ``\\xNN`` or ``\\uNNNN``.

    What a model, a tool or a page says must not move the cursor, set the title, fill the clipboard or show ``rm`` as
    something else.  Letters, CJK, emoji with their joiners, tabs and line feeds stay to the byte.
    """
    return _OBEYED.sub(_shown, text.replace("\r\n", "\n"))


def _shown(found: re.Match[str]) -> str:
    code = ord(found.group())
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "\u2421"
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def one_line(text: str, width: int = 0) -> str:
    """Harmless and on one line; over ``width`` characters (0: any) the end is cut and marked so."""
    flat = harmless(text).replace("\n", "⏎").replace("\t", " ")
    return f"{flat[: width - 1]}…" if width and len(flat) > width else flat


def as_json(value: object, indent: int | None = None) -> str:
    """A value of the wire as JSON; ``{…}`` for one that is nested too deep for that, since a model can make one."""
    try:
        return json.dumps(value, ensure_ascii=False, indent=indent)
    except RecursionError:
        return "{…}"


def json_line(value: Mapping[str, object]) -> bytes:
    """One line of JSON; what a terminal would obey is written as ``\\uNNNN``, which reads back as it was."""
    text = json.dumps(value, ensure_ascii=False)
    return _OBEYED.sub(lambda found: f"\\u{ord(found.group()):04x}", text).encode("utf-8", "backslashreplace") + b"\n"


def wants_colour(environment: Mapping[str, str], *, tty: bool) -> bool:
    """Colour on a terminal, unless ``NO_COLOR`` is set to anything or the terminal is a dumb one."""
    return tty and not environment.get("NO_COLOR") and environment.get("TERM", "dumb") != "dumb"


@dataclass(slots=True)
class Terminal:
    """Where answers (``out``) and everything else (``err``) go; ``together``: on one screen, so lines must not mix."""

    out: BinaryIO
    err: BinaryIO
    colour: bool = False
    together: bool = False
    _column: int = 0
    _held: str = ""

    def say(self, text: str) -> None:
        """Part of the answer, on ``out``; flushed, so that it is seen as it comes.

        A final ``\r`` waits for what follows: it may be half of a line end.
        """
        text = self._held + text
        self._held = "\r" if text.endswith("\r") else ""
        text = text.removesuffix("\r")
        if text:
            self._write(self.out, harmless(text))
            self._column = 0 if text.endswith("\n") else 1

    def end_line(self) -> None:
        """Finish the answer's line if it is not finished."""
        self._held = ""
        if self._column:
            self.say("\n")

    def note(self, text: str, *, dim: bool = True) -> None:
        """A line beside the answer, on ``err``: tools, states, errors."""
        if self.together:
            self.end_line()
        shown = harmless(text)
        self._write(self.err, f"\x1b[2m{shown}\x1b[0m\n" if dim and self.colour else f"{shown}\n")

    def prompt(self, text: str) -> None:
        """An unfinished line on ``err`` that waits for the person."""
        if self.together:
            self.end_line()
        self._write(self.err, f"\x1b[1m{text}\x1b[0m" if self.colour else text)

    @staticmethod
    def _write(stream: BinaryIO, text: str) -> None:
        stream.write(text.encode("utf-8", "backslashreplace"))
        stream.flush()
