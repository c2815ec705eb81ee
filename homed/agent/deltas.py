"""What is shown of an answer while it streams: without secrets, in few notices, each with the place where it belongs.

``StreamRedactor`` is pure.  A secret may come in pieces, so the last word of ASCII is held back until something else
follows, and so is what may be the beginning of more: a key block, a named value whose quotes are open, a secret of
several words that is known here.  Chinese, and every other finished word, goes out at once.
"""

from __future__ import annotations

from collections.abc import Callable

import trio

from homed.redact import open_key_block, open_value

BEAT = 0.03
"""Seconds between two notices of one stream: about 33 a second reads as continuous."""

BUFFER = 4096
"""Characters that may wait for the beat; more goes out at once."""

LONGEST_LINE = 8192
"""Characters of one line kept as context for redaction; a longer line starts a new one at a safe place."""

LONGEST_KEY = 4096
"""Characters without a break that are held back; more than any key has."""

CONTEXT = 256
"""Characters before the end of so long a line that still are context: what names a secret stands close before it."""

_KEY_CHARACTERS = "".join(map(chr, range(ord("!"), ord("~") + 1)))  # a password may have brackets and commas


def _common(a: str, b: str) -> int:
    size = min(len(a), len(b))
    for at in range(size):
        if a[at] != b[at]:
            return at
    return size


class StreamRedactor:
    """Feed it pieces, take what may be shown.  What it gave can not be taken back: it gives late rather than wrong.

    ``begun``: where in a text a secret that is known here has begun before a place, and is not whole there; -1 if none.
    """

    def __init__(self, redact: Callable[[str], str], begun: Callable[[str, int], int] = lambda *_: -1) -> None:
        self._redact = redact
        self._begun = begun
        self._line = ""
        self._shown = ""

    def feed(self, piece: str) -> str:
        """More raw text in; more clean text out, possibly none."""
        self._line += piece
        return self._take(self._safe())

    def finish(self) -> str:
        """The rest, once nothing more comes."""
        return self._take(len(self._line))

    def _safe(self) -> int:
        """How much of the line can not become part of a secret any more."""
        # stripped from the end: a search from the left tries every place of a long line, at every piece that comes
        last = self._line[-LONGEST_KEY:]
        safe = len(self._line) - len(last) + len(last.rstrip(_KEY_CHARACTERS))
        while (place := self._open(safe)) < safe:  # before it another may stand
            safe = place
        return safe

    def _open(self, safe: int) -> int:
        """Where something begins before ``safe`` whose end is held back, or has not come; ``safe`` if nothing does."""
        text = self._line[:safe]
        found = (open_key_block(text), open_value(text), self._begun(self._line, safe))
        return min([safe, *(at for at in found if at >= 0)])

    def _take(self, safe: int) -> str:
        clean = self._redact(self._line[:safe])
        more = clean[_common(clean, self._shown) :]
        self._shown = clean
        cut = self._line.rfind("\n", 0, safe) + 1
        if not cut and safe > LONGEST_LINE:
            cut = safe - CONTEXT
        if cut:
            self._line = self._line[cut:]
            self._shown = self._redact(self._line[: safe - cut])
        return more


class Coalescer:
    """Gathers small pieces into a notice about every 30 ms; they are looked through together, for a line of a few
    thousand characters takes a millisecond or two, and its pieces may be as many.

    ``show(at, text)`` is called with the offset in characters of this stream.  The first piece goes out at once.
    ``begun``: see ``StreamRedactor``.
    """

    def __init__(
        self,
        redact: Callable[[str], str],
        show: Callable[[int, str], None],
        begun: Callable[[str, int], int] = lambda *_: -1,
    ) -> None:
        self._clean = StreamRedactor(redact, begun)
        self._show = show
        self._raw = ""
        self._fed = 0
        self._at = 0
        self._last = -BEAT
        self._wake = trio.Event()

    def feed(self, piece: str) -> None:
        """Take a piece of the stream.  Sync: never waits."""
        self._raw += piece
        if not self._raw:
            return
        if len(self._raw) >= BUFFER or trio.current_time() - self._last >= BEAT:
            self.flush()
        else:
            self._wake.set()

    def flush(self) -> None:
        """Show what waits, so far as it can be shown."""
        if self._raw:
            self._give(self._taken())

    def finish(self) -> None:
        """Show everything; the stream has ended."""
        self._give(self._taken() + self._clean.finish())

    def _taken(self) -> str:
        raw, self._raw = self._raw, ""
        self._fed += len(raw)
        return self._clean.feed(raw)

    def _give(self, text: str) -> None:
        if text:
            self._show(self._at, text)
            self._at += len(text)
        if self._at or self._fed > BUFFER:  # before the first word is out, each piece may be what it waits for
            self._last = trio.current_time()

    async def beat(self) -> None:
        """Show what waits, 30 ms after it came.  Runs until cancelled; what waits then is not shown."""
        while True:
            await self._wake.wait()
            self._wake = trio.Event()
            await trio.sleep(BEAT)
            self.flush()
