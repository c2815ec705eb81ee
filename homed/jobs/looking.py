"""The process that looks into one file (``python -m homed.jobs.looking KIND``); only `eyes` starts it.

The file comes on stdin, whole; the answer goes to stdout: a line of JSON ``{"picture": bytes, "words": text}`` and
then the small picture.  What a stranger sent is decoded here, by libraries in C: so within limits of memory and time,
without a way to the daemon's memory, and at the lowest rank among programs.  Whatever goes wrong is an exit code.
"""

from __future__ import annotations

import importlib.util
import io
import json
import os
import resource
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from PIL.Image import Image

PICTURE, PDF = "picture", "pdf"
KINDS = (PICTURE, PDF)

SIDE = 512
"""Pixels of a small picture's longer side: twice the height a list shows, for screens with two pixels a point."""

PIXELS = 64_000_000
"""Pixels of a picture that is decoded at all, a JPEG's after it was halved as often as it helps.  A bomb has more; in
memory these are 256 MB, and there are three copies for a moment."""

MEMORY = {PICTURE: 1 << 30, PDF: 1 << 30, "ocr": 6 << 30}
"""Bytes of addresses; onnxruntime reserves far more than it uses."""

SECONDS = 60
"""Of the processor."""

READ_SIDE = 2048
"""Pixels of the longer side in which text is looked for: small print of a page still has some 15 in height."""

PAGES = 50
"""Of a PDF that are read."""

WORDS = 16_000
"""Characters of words at the most; ``homed.memory.media`` keeps no more."""

BROKEN = 65
"""Exit code for a file that is not what it should be (EX_DATAERR of sysexits.h)."""


def main(argv: Sequence[str]) -> int:
    """Answer for the file on stdin."""
    (kind,) = argv
    reading = kind == PICTURE and importlib.util.find_spec("rapidocr") is not None
    _limit("ocr" if reading else kind)
    data = sys.stdin.buffer.read()
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # a library that prints must not print into the answer
    try:
        small, words = look(data, kind, reading=reading)
    except (Unreadable, MemoryError):
        return BROKEN
    answers.write(json.dumps({"picture": len(small), "words": words[:WORDS]}).encode() + b"\n" + small)
    answers.close()
    return 0


class Unreadable(Exception):
    """The file is broken, too large, or a trap."""


def look(data: bytes, kind: str, *, reading: bool) -> tuple[bytes, str]:
    """The small picture (WebP; empty where there is none) and the words.  Raises Unreadable."""
    if kind == PDF:
        return b"", pdf_words(data)
    image = opened(data)
    return small_of(image), _recognised(image) if reading else ""


def opened(data: bytes) -> Image:
    """The first picture in a file, upright, not larger than text is looked for in.  Raises Unreadable."""
    from PIL import Image, ImageOps

    Image.MAX_IMAGE_PIXELS = None  # looked at here, before anything is decoded
    try:
        image = Image.open(io.BytesIO(data), formats=("PNG", "JPEG", "GIF", "WEBP"))
        image.draft("RGB", (READ_SIDE, READ_SIDE))
        if image.width * image.height > PIXELS:
            raise Unreadable
        image.load()
        upright = ImageOps.exif_transpose(image)
        plain = upright.convert("RGBA" if "A" in upright.getbands() or "transparency" in upright.info else "RGB")
        plain.thumbnail((READ_SIDE, READ_SIDE))
    except Exception as error:  # a file made to break Pillow raises anything
        raise Unreadable from error
    return plain


def small_of(image: Image) -> bytes:
    """As WebP of at most ``SIDE`` pixels, without what the camera said of place and time."""
    small = image.copy()
    small.thumbnail((SIDE, SIDE))
    out = io.BytesIO()
    small.save(out, "WEBP", quality=80)
    return out.getvalue()


def _recognised(image: Image) -> str:
    """The text in a picture, by rapidocr."""
    import numpy as np
    from rapidocr import RapidOCR

    engine: Any = RapidOCR()
    found = engine(np.asarray(image.convert("RGB"))[:, :, ::-1])
    return "\n".join(str(line) for line in found.txts or ())


def pdf_words(data: bytes) -> str:
    """The text of the first pages, by pypdf; none where that is not installed.  Raises Unreadable."""
    if importlib.util.find_spec("pypdf") is None:
        return ""
    from pypdf import PdfReader

    parts: list[str] = []
    try:
        for page in PdfReader(io.BytesIO(data)).pages[:PAGES]:
            parts.append(page.extract_text())
            if sum(map(len, parts)) >= WORDS:
                break
    except Exception as error:  # as above
        raise Unreadable from error
    return "\n".join(parts)


def _limit(what: str) -> None:
    os.nice(19)
    for limit, value in ((resource.RLIMIT_AS, MEMORY[what]), (resource.RLIMIT_CPU, SECONDS), (resource.RLIMIT_CORE, 0)):
        resource.setrlimit(limit, (value, value))


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
