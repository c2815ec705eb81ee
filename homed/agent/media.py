"""Attachments as a model gets them: pictures where it can see, text as fenced data, anything else by name, type, size.

What a person attached is data, never instructions: it taints a turn as a tool's result from outside does
(``Turn.tainted_for``).
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Sequence

import trio

from homed.agent.attached import Attached
from homed.agent.filelimits import FileLimits
from homed.agent.notes import neutral
from homed.agent.ports import RedactorPort
from homed.agent.sounds import HEAD, RECORDING_BYTES, RECORDINGS, sound
from homed.errors import HomedError, NotFound
from homed.memory import blocks
from homed.memory.blocks import Block
from homed.memory.filetypes import IMAGES, JUDGED, decoded, dimensions
from homed.memory.records import Event
from homed.memory.shorten import ends
from homed.memory.tokens import estimate_tokens
from homed.providers.adapters import audio_of
from homed.providers.base import Audio, Image, Source
from homed.store.files import MediaFiles
from homed.store.rows import Storage

log = logging.getLogger(__name__)

IMAGE_TOKENS = 1000
"""What a picture is counted as.  One of 1024 × 1024 costs 765 at OpenAI (85 + 4 tiles of 170, its vision guide) and
1 398 at Anthropic (width × height / 750, likewise): between the two, without a table for each model.
"""

SHOWN = 16_000
"""Characters of one text file; of a longer one head and tail."""

OLDER = 1_000
READ = 1024 * 1024
"""Bytes of a text file that are read; of a longer one the end is not looked at."""

BLIND = "this model cannot see images"
DEAF = "this model cannot be sent such recordings"
EARLIER = "shown earlier, not attached again"
TOO_LARGE = "too large to be shown to a model"
GONE = "its file is missing or damaged"
UNSHOWN = "its content is not shown"
UNCHECKED = "not shown, since it could not be checked"

Redact = Callable[[str], str]

_BINARY = re.compile(r"(?:audio|video|font)/.*|application/(?:pdf|zip|gzip|octet-stream)")
_IN_NAME = str.maketrans('<>"[]', "‹›'()")


class Media:
    """Reads attachments for prompts."""

    def __init__(
        self,
        store: Storage,
        files: MediaFiles,
        redactor: RedactorPort,
        limits: Callable[[], FileLimits] = FileLimits,
    ) -> None:
        self._store = store
        self._limits = limits
        self._files = files
        self._redactor = redactor

    async def load(self, events: Sequence[Event], source: Source) -> Attached:
        """The files of these events (oldest first) as this source can take them; nothing is read if there are none.

        A file that is gone is said to be; never raises for one.
        """
        with_files = [event for event in events if event.data.get("files")]
        if not with_files:
            return Attached()
        found = await self._store.read(lambda tx: blocks.of_events(tx, [event.id for event in with_files]))
        loading = _Loading(self._files, self._redactor, source, self._limits())
        for event in reversed(with_files):
            await loading.event(event, found.get(event.id, []))
        return Attached(loading.texts, loading.images, loading.audio)

    async def text(self, id_: str, *, scope: str, thread: str) -> str:
        """The text of an attachment as ``load`` shows it, but uncut, for a model that works in ``thread``.

        Of a file larger than ``READ`` its beginning.  NotFound if there is no such file there, or it is no text.
        """
        found = await self._store.read(lambda tx: blocks.readable(tx, id_, scope=scope, thread=thread))
        if found is None:
            raise NotFound(f"There is no text {id_} here.")
        data = await self._files.read(found.hash, 0, min(READ, found.bytes))
        text = await trio.to_thread.run_sync(text_of, found, data, self._redactor.redact)
        if text is None:
            raise NotFound(f"{found.name} is no text.")
        return text


class _Loading:
    """One prompt's files, newest message first."""

    def __init__(self, files: MediaFiles, redactor: RedactorPort, source: Source, limits: FileLimits) -> None:
        self._files = files
        self._redactor = redactor
        self._source = source
        self._limits = limits
        self._images_left = limits.images
        self._texts_left = limits.texts
        self.texts: dict[str, str] = {}
        self._recordings_left = RECORDINGS
        self.images: dict[str, tuple[Image, ...]] = {}
        self.audio: dict[str, tuple[Audio, ...]] = {}

    async def event(self, event: Event, found: Sequence[Block]) -> None:
        parts: list[str] = []
        pictures: list[Image] = []
        sounds: list[Audio] = []
        for block in found:
            if event.data.get("withheld"):
                parts.append(label(block, UNCHECKED))
                continue
            try:
                if block.media_type in IMAGES:
                    parts.append(await self._image(block, pictures))
                elif block.media_type.startswith("audio/"):
                    parts.append(await self._recording(block, sounds))
                else:
                    parts.append(await self._other(block))
            except HomedError as error:
                log.warning("attachment %s: %s", block.id, error)
                parts.append(label(block, GONE))
        if parts:
            self.texts[event.id] = "\n".join(parts)
        if pictures:
            self.images[event.id] = tuple(pictures)
        if sounds:
            self.audio[event.id] = tuple(sounds)

    async def _image(self, block: Block, pictures: list[Image]) -> str:
        if self._source.vision and self._images_left and block.bytes <= self._limits.image_bytes:
            data = await self._files.read(block.hash)
            self._images_left -= 1
            pictures.append(Image(block.media_type, data))
            return label(block, size=dimensions(data))
        why = BLIND if not self._source.vision else TOO_LARGE if block.bytes > self._limits.image_bytes else EARLIER
        return label(block, why, size=dimensions(await self._files.read(block.hash, 0, min(JUDGED, block.bytes))))

    async def _recording(self, block: Block, sounds: list[Audio]) -> str:
        kind = sound(block.media_type, await self._files.read(block.hash, 0, min(HEAD, block.bytes)))
        if not self._source.audio or kind not in audio_of(self._source.adapter):
            return label(block, DEAF)
        if block.bytes > RECORDING_BYTES or not self._recordings_left:
            return label(block, TOO_LARGE if block.bytes > RECORDING_BYTES else EARLIER)
        self._recordings_left -= 1
        sounds.append(Audio(kind, await self._files.read(block.hash)))
        return label(block)

    async def _other(self, block: Block) -> str:
        data = await self._files.read(block.hash, 0, min(READ, block.bytes))
        limit = self._limits.text if self._texts_left else min(OLDER, self._limits.text)
        shown = await trio.to_thread.run_sync(described, block, data, limit, self._redactor.redact)
        if shown is None:
            return label(block, UNSHOWN)
        self._texts_left = max(0, self._texts_left - 1)
        return shown


def described(block: Block, data: bytes, limit: int, redact: Redact) -> str | None:
    """A text file as fenced data, ``limit`` characters of it; None if it is no text.  ``data``: its first ``READ``."""
    text = text_of(block, data, redact)
    if text is None:
        return None
    rest = block.bytes - len(data)
    if len(text) > limit or rest > 0:
        tail = 0 if rest > 0 else limit // 4
        head = min(len(text), limit - tail)
        more = f'; read on with result_read(id="{block.id}", offset={head})' if len(text) > limit else ""
        text = ends(text, head, tail, f"{more}; {rest} bytes more can not be read" if rest > 0 else more)
    inside = neutral(text)
    return f'<data source="attached file {_shown_name(block)}, {size_text(block.bytes)}">\n{inside}\n</data>'


def text_of(block: Block, data: bytes, redact: Redact) -> str | None:
    """The text in the first bytes of a file, without secrets; None if it is no text."""
    if _BINARY.fullmatch(block.media_type):
        return None
    text = decoded(data, whole=len(data) >= block.bytes)
    return None if text is None else redact(text)


def label(block: Block, note: str = "", *, size: tuple[int, int] | None = None) -> str:
    """``[image cat.png, png, 640×480, 120 KB: note]``"""
    picture = block.media_type in IMAGES
    what = "image" if picture else "recording" if block.media_type.startswith("audio/") else "file"
    kind = block.media_type.removeprefix("image/") if picture else block.media_type
    shape = [f"{size[0]}×{size[1]}"] if size else []
    said = ", ".join([_shown_name(block), kind, *shape, size_text(block.bytes)])
    return f"[{what} {said}{f': {note}' if note else ''}]"


def tokens_of(block: Block, head: bytes, shown_chars: int = SHOWN) -> int:
    """What the file costs in a prompt at the most; ``head`` is its first ``JUDGED`` bytes."""
    if block.media_type in IMAGES:
        return IMAGE_TOKENS + estimate_tokens(label(block, BLIND, size=(10_000, 10_000)))
    shown = described(block, head, shown_chars, _as_it_is)
    return estimate_tokens(label(block, UNSHOWN) if shown is None else shown)


def size_text(size: int) -> str:
    """``300 bytes``, ``120 KB``, ``1.2 MB``."""
    if size < 1024:
        return f"{size} bytes"
    return f"{size / 1024:.0f} KB" if size < 1024 * 1000 else f"{size / 1024 / 1024:.1f} MB"


def _shown_name(block: Block) -> str:
    return block.name.translate(_IN_NAME)


def _as_it_is(text: str) -> str:
    return text
