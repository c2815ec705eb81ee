"""What an untrusted file is: its name made harmless, its type by its bytes, a picture's size, text decoded.  Pure."""

from __future__ import annotations

import codecs
import re
import unicodedata
from collections.abc import Callable

IMAGES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
"""The pictures we show and send on: what every browser and every model that sees takes."""

SMALL_TYPE = "image/webp"
"""Of the small pictures that we make of others."""

TEXT = "text/plain"
BYTES = "application/octet-stream"

NAME_BYTES = 255
"""UTF-8 bytes of a file name, as file systems have it."""

JUDGED = 256 * 1024
"""Bytes from the beginning of a file that are looked at to tell text from anything else."""

SEGMENTS = 1_000
"""Parts of a JPEG before its frame that are looked at; a camera writes some ten."""

_FILLING_ENDS = re.compile(rb"[^\xff]")
_TYPE = re.compile(r"[a-z0-9][a-z0-9!#$&^_.+-]{0,63}/[a-z0-9][a-z0-9!#$&^_.+-]{0,63}")
# What a browser may run as a page of ours, or draw with scripts in it, is never named so: it is text.
_ACTIVE = re.compile(r"image/.*|.*(?:html|xml|javascript|ecmascript|flash|xsl).*|multipart/.*|message/.*")
_BARRED = re.compile(r'[\\/:*?"<>|]')
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]")
_RESERVED = frozenset({"", ".", ".."})
_HAN = re.compile(r"[\u3000-\u303f\u4e00-\u9fff\uff00-\uffef]")
_BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


def clean_name(name: str) -> str:
    """A file's name fit to be shown and saved under: the last part of a path, one line, no control characters and none
    that change the direction of text; ``file`` if nothing is left.  The ending survives shortening.
    """
    last = re.split(r"[\\/]", name)[-1]
    kept = "".join(c if c == " " or unicodedata.category(c)[0] not in "CZ" else " " for c in last)
    kept = " ".join(_BARRED.sub("_", kept).split())
    if kept.strip(". ") in _RESERVED:
        return "file"
    return _shortened(kept)


def _shortened(name: str) -> str:
    if len(name.encode()) <= NAME_BYTES:
        return name
    stem, dot, ending = name.rpartition(".")
    ending = dot + ending if dot and len(ending.encode()) <= 16 else ""
    room = NAME_BYTES - len(ending.encode())
    return (stem if ending else name).encode()[:room].decode(errors="ignore").rstrip() + ending


def type_of(head: bytes, declared: str) -> str:
    """The media type of a file that begins with ``head`` (``JUDGED`` bytes, or all of it).

    A picture is one by its first bytes alone.  What is declared counts only where it can do no harm.
    """
    if picture := _picture(head):
        return picture
    said = declared.partition(";")[0].strip().lower()
    if not _TYPE.fullmatch(said) or _ACTIVE.fullmatch(said):
        said = BYTES
    if said in (BYTES, TEXT):
        return TEXT if decoded(head, whole=len(head) < JUDGED) is not None else BYTES
    return said


def _picture(head: bytes) -> str:
    if head.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if head.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if head.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    return "image/webp" if head[:4] == b"RIFF" and head[8:12] == b"WEBP" else ""


def decoded(data: bytes, *, whole: bool) -> str | None:
    """The text in these bytes, or None if they are no text.  ``whole`` false: the file goes on, so the last character
    may be cut.

    UTF-8, UTF-16 with a mark, GB 18030 (if it gives mostly Chinese) and Windows-1252, in this order.
    """
    for mark, encoding in _BOMS:
        if data.startswith(mark):
            return _plain(_decode(data, encoding, whole=whole))
    text = _plain(_decode(data, "utf-8", whole=whole))
    if text is not None or b"\x00" in data:
        return text
    chinese = _plain(_decode(data, "gb18030", whole=whole))
    wide = [c for c in chinese or "" if ord(c) > 127]
    if chinese is not None and wide and 10 * sum(1 for c in wide if _HAN.match(c)) >= 9 * len(wide):
        return chinese
    western = _plain(_decode(data, "cp1252", whole=whole))
    odd = sum(1 for c in western or "" if ord(c) > 127)
    return western if western is not None and 3 * odd <= len(western) else None


def _decode(data: bytes, encoding: str, *, whole: bool) -> str | None:
    try:
        return codecs.getincrementaldecoder(encoding)("strict").decode(data, final=whole)
    except UnicodeDecodeError:
        return None


def _plain(text: str | None) -> str | None:
    return None if text is None or _CONTROL.search(text) else text


def dimensions(data: bytes) -> tuple[int, int] | None:
    """Width and height of a picture in pixels, as its header says; None if it does not say so where it should.

    Looks at the first ``JUDGED`` bytes, in some milliseconds whatever they are.
    """
    reader = _SIZES.get(_picture(data))
    found = reader(data[:JUDGED]) if reader else None
    return found if found and all(0 < n < 1 << 24 for n in found) else None


def _png(data: bytes) -> tuple[int, int] | None:
    return (_big(data[16:20]), _big(data[20:24])) if data[12:16] == b"IHDR" and len(data) >= 24 else None


def _gif(data: bytes) -> tuple[int, int] | None:
    return (_little(data[6:8]), _little(data[8:10])) if len(data) >= 10 else None


def _jpeg(data: bytes) -> tuple[int, int] | None:
    at = 2
    for _ in range(SEGMENTS):
        if at + 9 > len(data) or data[at] != 0xFF:
            return None
        end = _FILLING_ENDS.search(data, at)
        if end is None or end.start() + 8 > len(data):
            return None
        at = end.start() - 1
        marker = data[at + 1]
        if 0xD0 <= marker <= 0xD8 or marker == 0x01:  # markers without a body
            at += 2
        elif 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):  # start of frame
            return _big(data[at + 7 : at + 9]), _big(data[at + 5 : at + 7])
        else:
            at += 2 + max(2, _big(data[at + 2 : at + 4]))
    return None


def _webp(data: bytes) -> tuple[int, int] | None:
    kind, body = data[12:16], data[20:30]
    if len(body) < 10:
        return None
    if kind == b"VP8X":
        return 1 + _little(body[4:7]), 1 + _little(body[7:10])
    if kind == b"VP8L" and body[0] == 0x2F:
        bits = _little(body[1:5])
        return 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
    if kind == b"VP8 " and body[3:6] == b"\x9d\x01\x2a":
        return _little(body[6:8]) & 0x3FFF, _little(body[8:10]) & 0x3FFF
    return None


def _big(data: bytes) -> int:
    return int.from_bytes(data, "big")


def _little(data: bytes) -> int:
    return int.from_bytes(data, "little")


_SIZES: dict[str, Callable[[bytes], tuple[int, int] | None]] = {
    "image/png": _png, "image/jpeg": _jpeg, "image/gif": _gif, "image/webp": _webp,
}  # fmt: skip
