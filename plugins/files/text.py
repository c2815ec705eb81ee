"""Bytes to text and back without changing what was not edited: encoding, byte order mark and line ends are kept.

Pure.
"""

from __future__ import annotations

import codecs
from dataclasses import dataclass, replace

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_GUESSES = ("utf-8", "gb18030", "latin-1")
"""Tried in this order for a file without a mark; the first that gives the same bytes back wins."""


class NotText(Exception):
    """The bytes are no text in any encoding we know."""


@dataclass(frozen=True, slots=True)
class Text:
    """A decoded file.  ``text`` is exact: its line ends are those of the file."""

    text: str
    encoding: str = "utf-8"
    mark: bytes = b""

    @property
    def newline(self) -> str:
        """``\\r\\n`` if every line ends so, else ``\\n``."""
        ends = self.text.count("\n")
        return "\r\n" if ends and self.text.count("\r\n") == ends else "\n"

    def native(self, text: str) -> str:
        """``text`` with the line ends of this file, so that what a model writes with ``\\n`` fits in."""
        return text.replace("\r\n", "\n").replace("\n", "\r\n") if self.newline == "\r\n" else text

    def with_text(self, text: str) -> Text:
        """The same file with other content."""
        return replace(self, text=text)

    def encode(self) -> bytes:
        """The bytes to write.  Raises UnicodeEncodeError if the encoding lacks a character."""
        return self.mark + self.text.encode(self.encoding)


def decode(data: bytes) -> Text:
    """Decode so that ``decode(data).encode() == data``.  Raises NotText for binary data."""
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return _exact(data, mark, encoding)
    if b"\0" in data:
        raise NotText
    for encoding in _GUESSES:
        try:
            return _exact(data, b"", encoding)
        except NotText:
            continue
    raise NotText


def _exact(data: bytes, mark: bytes, encoding: str) -> Text:
    try:
        found = Text(data[len(mark) :].decode(encoding), encoding, mark)
        same = found.encode() == data
    except UnicodeError:
        raise NotText from None
    if not same:
        raise NotText
    return found
