"""The job that looks into files: words by which their message is found, and small pictures for lists and vectors."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import trio

from homed.errors import NotFound
from homed.failpoints import Failpoints
from homed.jobs import looking
from homed.jobs.due import Interval
from homed.jobs.eyes import EyesPort, Look
from homed.jobs.job import Job, Run
from homed.memory import media
from homed.memory.filetypes import decoded
from homed.memory.media import Occurrence
from homed.retrieval import index
from homed.store.files import MediaFiles
from homed.store.rows import Storage, Tx

log = logging.getLogger(__name__)

NAME = "see"

EVERY = 300.0
"""Seconds between two looks at whether something came: the page shows the whole picture meanwhile."""

BATCH = 64
"""Files taken from the list at once."""

HEAD = 256 * 1024
"""Bytes of a text file that are read: `media.WORDS` characters take 64 KB at the most, and its kind shows in these."""

PDF = "application/pdf"


class Keeper(Protocol):
    """Who puts small pictures in their place: ``homed.agent.uploads.Uploads``."""

    async def keep_small(self, hash_: str, data: bytes) -> bool:
        """False if nothing names the file any more."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class SeeingPorts:
    """``redact``: takes secrets out of a text, which a file may hold as well."""

    store: Storage
    files: MediaFiles
    keeper: Keeper
    eyes: EyesPort
    redact: Callable[[str], str]
    failpoints: Failpoints


def seeing(ports: SeeingPorts) -> Job:
    """The job."""
    return Job(NAME, lambda: Interval(EVERY), lambda run: see(run, ports), heavy=True)


async def see(run: Run, ports: SeeingPorts) -> None:
    """Look into every file that waits, newest first.

    Each is done or still waits: cut off anywhere, the next run goes on, and a file that kills it three times is left
    alone.
    """
    tried: set[str] = set()
    while True:
        found = await ports.store.read(lambda tx: media.unseen(tx, BATCH + len(tried)))
        left = [file for file in found if file.id not in tried]
        if not left:
            return
        for file in left:
            tried.add(file.id)
            run.seen()
            await run.unit(file.id, lambda file=file: _one(run, ports, file))  # type: ignore[misc]


async def _one(run: Run, ports: SeeingPorts, file: Occurrence) -> None:
    look = await _look(ports, file)
    ports.failpoints.reach("see.looked")
    kept = bool(look.picture) and await ports.keeper.keep_small(file.hash, look.picture)
    ports.failpoints.reach("see.kept")
    # a PDF may map its signs to halves of characters, which no database stores
    whole = look.words[: media.WORDS].encode("utf-8", "replace").decode()
    words = await trio.to_thread.run_sync(ports.redact, whole) if whole.strip() else ""
    if await ports.store.write(lambda tx: _write(tx, file, words, picture=kept)):
        run.made()
    if look.broken:
        run.dropped("broken")


async def _look(ports: SeeingPorts, file: Occurrence) -> Look:
    kind = looking.PICTURE if file.is_image else looking.PDF if file.media_type == PDF else ""
    try:
        data = await ports.files.read(file.hash, 0, None if kind else HEAD)
    except NotFound:
        return Look(broken=True)
    if kind:
        return await ports.eyes.look(data, kind)
    text = await trio.to_thread.run_sync(_text, file, data)
    return Look(words=text)


def _text(file: Occurrence, data: bytes) -> str:
    if file.media_type.startswith(("audio/", "video/", "font/")):
        return ""
    return (decoded(data, whole=len(data) >= file.bytes) or "")[: media.WORDS]


def _write(tx: Tx, file: Occurrence, words: str, *, picture: bool) -> bool:
    """In one transaction: what it says is found, and it is not looked into again.  False: it is gone, or was done."""
    now = media.waiting(tx, file.id)
    if now is None:
        return False
    media.seen(tx, now, picture=picture)
    if words.strip() and now.remembered:
        index.reword(tx, now.seq, "\n".join(part for part in (media.words_of(tx, now.seq), words.strip()) if part))
    return True
