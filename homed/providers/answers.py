"""What the decoders of all wires share: how a body is cut into pieces, how much an answer may be, text out of pieces.

Sans-io and pure.  Whether a body is a stream of events, lines of JSON or one JSON object is told by its first
character, not by what was asked for or by the label: some gateways stream to a plain request, and some answer a
streaming one whole (E16).
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from homed.providers.base import CallDelta, ContentDelta, Done, Opaque, Part, ReasoningDelta, Usage, UsagePart
from homed.providers.failures import BrokenOff, Endless, Unreadable
from homed.providers.sse import MAX_EVENT, SseDecoder

Json = Mapping[str, object]

MAX_ANSWER = 512 * 1024
"""UTF-8 bytes of text, reasoning and arguments in one answer: far more than any model says, a bound for one that never
ends, and little enough to be shown to stage handlers in one wire line."""
MAX_CALLS = 64
"""Tool calls in one answer; each has a result to be stored and sent back, whether it ran or not."""
MAX_OPAQUE = 256 * 1024
"""Characters of what a source wants back byte for byte; of more, nothing is kept, and it does without."""


LONGEST_REASON = 60
"""Characters of the word by which a source says why its answer ended."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A finished piece of a body: an event's data, a line, or (``whole``) all of it."""

    text: str
    event: str = ""
    whole: bool = False


class Framing:
    """Bytes in, pieces out.  ``lines``: a body that begins with a brace is one JSON object a line."""

    def __init__(self, *, lines: bool = False) -> None:
        self._lines = lines
        self._sse: SseDecoder | None = None
        self._held: list[bytes] | None = None
        self._size = 0
        self._first_line = True

    def feed(self, chunk: bytes) -> Iterator[Piece]:
        """Yield what this chunk completes.  Raises Unreadable, Endless; iterate it to the end."""
        if self._sse is None and self._held is None:
            chunk = chunk.lstrip()
            if not chunk:
                return
            self._begin(chunk)
        if self._sse is not None:
            for event in self._sse.feed(chunk):
                if event.data.strip():
                    yield Piece(event.data, event.event)
        elif self._held is not None:
            yield from self._hold(chunk)

    def end(self) -> Iterator[Piece]:
        """Yield what is left when the body has ended."""
        if self._sse is not None:
            for event in self._sse.end():
                if event.data.strip():
                    yield Piece(event.data, event.event)
        elif self._held:
            yield Piece(decoded(b"".join(self._held)), whole=not self._lines)
            self._held = []

    def _begin(self, first: bytes) -> None:
        if first[:1] == b"<":
            raise Unreadable("it is a web page, not an API's answer")
        if first[:1] in (b"{", b"["):
            self._held = []
            self._lines = self._lines and first[:1] == b"{"
        else:
            self._sse = SseDecoder()

    def _hold(self, chunk: bytes) -> Iterator[Piece]:
        assert self._held is not None
        first, *rest = chunk.split(b"\n") if self._lines else [chunk]
        self._keep(first)
        for at, piece in enumerate(rest):
            line = b"".join(self._held).strip()
            if self._first_line and line and not _whole(line):  # one object over many lines, for people to read
                self._lines = False
                self._keep(b"\n".join([b"", *rest[at:]]))
                return
            self._held, self._size = [], 0
            self._first_line = self._first_line and not line
            if line:
                yield Piece(decoded(line))
            self._keep(piece)

    def _keep(self, piece: bytes) -> None:
        assert self._held is not None
        self._size += len(piece)
        if self._size > MAX_EVENT:
            raise Endless(f"it is larger than {MAX_EVENT} bytes")
        if piece:
            self._held.append(piece)


class Decoding(ABC):
    """Reads one answer: ``feed`` it the body's bytes, then ``end``; iterate what they return to the end.

    Raises Unreadable, Endless, Reported, BrokenOff; parts yielded before stay good.
    """

    def __init__(self, *, lines: bool = False) -> None:
        self._framing = Framing(lines=lines)
        self._told = 0
        self.reason = ""
        self.usage: Usage | None = None
        self.finished = False
        """True once the last part is out; what still comes can be left unread."""

    def feed(self, chunk: bytes) -> Iterator[Part]:
        """Yield the parts that this chunk completes."""
        for piece in self._framing.feed(chunk):
            yield from self._weighed(piece)

    def end(self) -> Iterator[Part]:
        """Yield what is left when the body has ended."""
        if not self.finished:
            for piece in self._framing.end():
                try:
                    yield from self._weighed(piece)
                except Unreadable as error:
                    if piece.whole:
                        raise
                    raise BrokenOff from error
        if not self.finished:
            if not self.reason:
                raise BrokenOff
            yield from self._finish()

    @abstractmethod
    def _take(self, piece: Piece) -> Iterator[Part]:
        """The parts of one piece; calls ``_finish`` when it was the last."""

    def _tail(self) -> Iterator[Part]:
        """What comes before the usage when all has been said."""
        return iter(())

    def _finish(self) -> Iterator[Part]:
        yield from self._tail()
        if self.usage is not None:
            yield UsagePart(self.usage)
        yield Done(worded(self.reason))
        self.finished = True

    def _weighed(self, piece: Piece) -> Iterator[Part]:
        if self.finished:
            return
        for part in self._take(piece):
            self._weigh(part)
            yield part

    def _weigh(self, part: Part) -> None:
        match part:
            case ContentDelta(text) | ReasoningDelta(text):
                self._told += len(text.encode())
            case CallDelta(_, id_, name, arguments):
                self._told += len((id_ + name + arguments).encode())
        if self._told > MAX_ANSWER:
            raise Endless(f"it is longer than {MAX_ANSWER} bytes")


class Joiner:
    """Text that comes in pieces, as text: a surrogate pair cut between two of them is joined again.

    A half that stays alone becomes U+FFFD: neither the store nor the wire takes it.
    """

    def __init__(self) -> None:
        self._half = ""

    def take(self, piece: object) -> str:
        """What ``piece`` completes; nothing for what is no text."""
        text = self._half + piece if isinstance(piece, str) else ""
        if not text:
            return ""
        self._half = text[-1] if "\ud800" <= text[-1] <= "\udbff" else ""
        return text[: len(text) - len(self._half)].encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def kept(wire: str, value: object) -> Iterator[Opaque]:
    """The opaque part that holds ``value``; none if it is too much, or no wire could carry it."""
    try:
        data = json.dumps(value, separators=(",", ":"), allow_nan=False)
    except (ValueError, RecursionError):
        return
    if len(data) <= MAX_OPAQUE:
        yield Opaque(wire, data)


def plain(value: object) -> str:
    """A whole text as text; empty for anything else."""
    return Joiner().take(value)


def worded(reason: object) -> str:
    """Why an answer ended, as it may go into a log and over the wire: a source's own word is one of a few letters."""
    return plain(reason)[:LONGEST_REASON] or "stop"


def count(value: object) -> int:
    """A number of tokens that can be one, else 0."""
    return int(value) if isinstance(value, (int, float)) and 0 < value < 10**12 else 0


def json_object(text: str) -> Json:
    """The JSON object that ``text`` is; raises Unreadable."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        raise Unreadable(f"it is broken JSON: {text[:80]!r}") from None
    if not isinstance(value, dict):
        raise Unreadable(f"it is not a JSON object: {text[:80]!r}")
    return value


def decoded(raw: bytes) -> str:
    """Bytes as UTF-8; raises Unreadable."""
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        raise Unreadable("it is not UTF-8") from None


def _whole(line: bytes) -> bool:
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True
