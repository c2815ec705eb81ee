"""Texts without their channel's template noise, as its own plugin strips it, before vectors are made of them.

Footers, banners and quoted headers that stand in each message of a channel make all its vectors alike.  The memory
engine is the caller; the word index is made inside a transaction of the store, which waits for no plugin.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import trio

from homed.errors import HomedError
from homed.host.registry import CleanerEntry
from homed.wire.cleaner import unclean
from homed.wire.methods import CLEANER_INVOKE

_log = logging.getLogger(__name__)

CALL_LIMIT = 10.0
"""Seconds that one call may take; it carries so many texts with so many characters together at the most."""
MOST_TEXTS = 64
MOST_CHARACTERS = 1 << 18
LONGEST = 1 << 16
"""Characters of a text that is cleaned; a longer one is no message with a footer."""


class CleanersPort(Protocol):
    """Who cleans what."""

    def cleaner(self, channel: str) -> CleanerEntry | None:
        """The cleaner of a channel, if it has one."""
        ...


class HostPort(Protocol):
    """The host, as far as it is used here."""

    @property
    def registry(self) -> CleanersPort:
        """The live registry."""
        ...

    async def call(self, plugin: str, method: str, params: Mapping[str, object], *, timeout: float) -> object:
        """Call a plugin; raises `HomedError`."""
        ...


@dataclass(frozen=True, slots=True)
class Cleaned:
    """As many texts as were given, in their order.  ``failed`` says why some are as they came; empty if none failed."""

    texts: tuple[str, ...]
    failed: str = ""


async def cleaned(host: HostPort, channel: str, texts: Sequence[str]) -> Cleaned:
    """``texts``, all of which came in by ``channel``, as its cleaner leaves them; without one, as they are.

    For vectors only: what comes back is a plugin's word, and is neither stored as the text nor shown.  A cleaner that
    is not running, fails, is late (``CALL_LIMIT``), or answers other than `unclean` allows leaves the texts of that
    call as they are, and is not asked for the rest.  Raises nothing of its own; may be cancelled.
    """
    await trio.lowlevel.checkpoint()
    result, entry = list(texts), host.registry.cleaner(channel)
    if entry is None:
        return Cleaned(tuple(result))
    if not entry.ready:
        return Cleaned(tuple(result), f"{entry.plugin} is not running")
    for places in _batches(texts):
        given = [texts[place] for place in places]
        try:
            params = {"cleaner": entry.name, "texts": given}
            answer = await host.call(entry.plugin, CLEANER_INVOKE, params, timeout=CALL_LIMIT)
            failed = unclean(given, answer)
        except HomedError as error:
            failed = error.message
        if failed:
            _log.warning("the texts of %s stay as they came: its cleaner failed: %s", channel, failed[:300])
            return Cleaned(tuple(result), failed)
        for place, text in zip(places, _texts(answer), strict=True):
            result[place] = text
    return Cleaned(tuple(result))


def _texts(answer: object) -> Sequence[str]:
    return answer["texts"] if isinstance(answer, Mapping) else ()


def _batches(texts: Sequence[str]) -> Iterator[list[int]]:
    """The places of the texts to clean, so many as one call carries at a time."""
    batch: list[int] = []
    size = 0
    for place, text in enumerate(texts):
        if not text or len(text) > LONGEST:
            continue
        if batch and (len(batch) == MOST_TEXTS or size + len(text) > MOST_CHARACTERS):
            yield batch
            batch, size = [], 0
        batch.append(place)
        size += len(text)
    if batch:
        yield batch
