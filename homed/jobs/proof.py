"""Proof that what was forgotten stands in no file any more; and what is done about where it still does."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Protocol

import trio

from homed.errors import HomedError
from homed.jobs.searching import DATABASE, LEFT_OUT, Found, Searcher, blank_logs
from homed.memory.needles import Needles
from homed.store.rows import Storage, Tx, dumps

COPIES = ("backups", "replaced", "damaged")


@dataclass(frozen=True, slots=True)
class Copy:
    """A copy of before that a forgetting does not reach."""

    name: str
    at: float


def copies(data: Path) -> list[Copy]:
    """Backups (also what is made into one just now), databases that restores replaced, and kept damaged ones, by name
    and date.  Blocks."""
    found: list[Copy] = []
    for folder in COPIES:
        for _ in range(3):  # one that gets its name, or is thinned out, while it is looked at: it is looked again
            with suppress(FileNotFoundError):
                found += [
                    Copy(f"{folder}/{path.name}", path.stat().st_mtime) for path in sorted((data / folder).iterdir())
                ]
                break
    return found


MOST_ROWS = 20


async def still_said(store: Storage, found: Found, needles: Needles) -> list[dict[str, object]]:
    """Rows that hold what was found in the database: others' words, mostly.  ``{table, column, count, ids}``."""
    numbers = sorted({number for name, number, _ in found.places if DATABASE.fullmatch(name)})[:64]
    sentences = [needles.sentences[number] for number in numbers]
    if not sentences:
        return []
    columns = await store.read(_text_columns)
    said = []
    for table, column, key in columns:
        rows = await store.read(partial(_holding, where=(table, column, key), sentences=sentences))
        if rows:
            ids = [str(row) for row in rows[:MOST_ROWS]] if key in ("id", "record") else []
            said.append({"table": table, "column": column, "count": len(rows), "ids": ids})
    return said


def _text_columns(tx: Tx) -> list[tuple[str, str, str]]:
    """Every column of text in our own tables, with what names a row."""
    listed = tx.all(
        "SELECT t.name, c.name, c.pk, (SELECT p.name FROM pragma_table_info(t.name) p WHERE p.name IN ('id', 'record')"
        " LIMIT 1) FROM pragma_table_list t JOIN pragma_table_info(t.name) c WHERE t.schema = 'main' AND t.type ="
        " 'table' AND t.name NOT LIKE 'sqlite_%' AND c.type = 'TEXT'"
    )
    return [(table, column, key or column) for table, column, _, key in listed]


def _holding(tx: Tx, where: tuple[str, str, str], sentences: Sequence[str]) -> list[object]:
    table, column, key = where
    holds = f'EXISTS (SELECT 1 FROM json_each(?) WHERE instr("{table}"."{column}", value))'
    rows = tx.all(f'SELECT "{key}" FROM "{table}" WHERE {holds} LIMIT 1000', (dumps(list(sentences)),))
    return [row[0] for row in rows]


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """What was removed, and what a search of every file said afterwards.

    ``clean``: it was looked for, and stands nowhere that a forgetting reaches.  ``found``: file → how often, where it
    still stands; ``said``: the rows of others that hold it.  ``resumed``: a crash cut it off, and what was removed
    before is not known any more, so it was not looked for; every page of the database was overwritten where it is free.
    ``copies``: backups and the like of before, which are out of reach.
    """

    id: str
    kind: str
    removed: Mapping[str, int]
    sentences: int = 0
    short: int = 0
    left_out: int = 0
    files: int = 0
    bytes: int = 0
    scrubbed: int = 0
    log_lines: int = 0
    found: Mapping[str, int] = field(default_factory=dict)
    said: Sequence[Mapping[str, object]] = ()
    unread: Sequence[str] = ()
    copies: Sequence[Copy] = ()
    resumed: bool = False
    problem: str = ""
    ms: int = 0

    @property
    def clean(self) -> bool:
        """Whether nothing is left that could be found."""
        return not (self.found or self.unread or self.problem or self.resumed)

    def wire(self) -> dict[str, object]:
        """For the API and ``--json``."""
        return {
            "id": self.id, "kind": self.kind, "clean": self.clean, "removed": dict(self.removed),
            "searched": {
                "sentences": self.sentences, "short": self.short, "left_out": self.left_out, "files": self.files,
                "bytes": self.bytes, "not_in": list(LEFT_OUT),
            },
            "scrubbed": self.scrubbed, "log_lines": self.log_lines, "found": dict(self.found),
            "said": [dict(one) for one in self.said], "unread": list(self.unread),
            "copies": [{"name": copy.name, "at": copy.at} for copy in self.copies],
            "resumed": self.resumed, "problem": self.problem, "ms": self.ms,
        }  # fmt: skip


class ScrubbingStore(Storage, Protocol):
    """``Storage`` that can overwrite what is free on its pages."""

    async def scrub(self, pages: Collection[int] | None = None) -> int | None:
        """See ``Store.scrub``."""
        ...


PATIENCE = 30
"""Times that the log is tried to be emptied, each with what a connection waits besides: a backup reads for as long."""


async def emptied(store: ScrubbingStore, pages: Collection[int] | None = ()) -> int | None:
    """Empty the log and overwrite what is free on these pages; None when readers were in the way all the time."""
    for attempt in range(PATIENCE):
        if await store.empty_log() and (done := await store.scrub(pages)) is not None:
            return done
        await trio.sleep(min(5.0, 0.1 * 2**attempt))
    return None


async def look(
    search: Searcher, store: ScrubbingStore, data: Path, needles: Needles
) -> tuple[Found, int, int, list[dict[str, object]], str]:
    """Look for it; blank our logs and overwrite free places where it is; look again.

    What is found then, bytes overwritten, lines blanked, rows that still say it, and what went wrong.
    """
    if not needles.sentences:
        return Found(), 0, 0, [], ""
    try:
        found = await search(needles)
        lines = await trio.to_thread.run_sync(blank_logs, data, found, needles)
        scrubbed = 0
        if found.pages or lines:
            scrubbed = await emptied(store, found.pages) or 0
            found = await search(needles)
        said = await still_said(store, found, needles)
        return found, scrubbed, lines, said, ""
    except (HomedError, OSError) as error:
        return Found(), 0, 0, [], error.message if isinstance(error, HomedError) else str(error.strerror)
