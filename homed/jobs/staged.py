"""Looking through an export line by line, into a database of its own, before anything of it is taken in.

Constant memory, whatever the export holds; what is no line of ours is put aside with its file, its number and why.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from homed.errors import InvalidInput
from homed.memory import portable
from homed.memory.portable import TABLES, BadLine, Carried
from homed.memory.temporary import is_temporary
from homed.store.backup import digest
from homed.store.rows import SqlValue
from homed.store.staging import Refused, Staging

MANIFEST = "manifest.json"
MOST_MANIFEST = 4 * 1024 * 1024
_HASH = re.compile(r"[0-9a-f]{64}")
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC

ORPHANS: tuple[tuple[str, str], ...] = (
    ("events", "thread NOT IN (SELECT id FROM threads)"),
    ("blocks", "event NOT IN (SELECT id FROM events)"),
    ("entity_names", "entity NOT IN (SELECT id FROM entities)"),
    ("evidence", "record NOT IN (SELECT id FROM records) OR event NOT IN (SELECT id FROM events)"),
    (
        "evidence",
        "(SELECT scope FROM records WHERE id = evidence.record) <> (SELECT scope FROM events WHERE id = event)",
    ),
    ("records", "origin = 'auto' AND id NOT IN (SELECT record FROM evidence)"),
    ("revisions", "record NOT IN (SELECT id FROM records)"),
    ("members", "capsule NOT IN (SELECT id FROM records) OR record NOT IN (SELECT id FROM records)"),
    ("merges", "first NOT IN (SELECT id FROM entities) OR second NOT IN (SELECT id FROM entities)"),
)
"""Rows that name nothing, by table: they are put aside.  With its evidence a record goes that a
pass made: none of these is without."""

LOOSENED = (
    "UPDATE records SET subject = NULL WHERE subject IS NOT NULL"
    " AND NOT EXISTS (SELECT 1 FROM entities WHERE id = subject AND scope = records.scope)",
    "UPDATE records SET object_entity = NULL WHERE object_entity IS NOT NULL"
    " AND NOT EXISTS (SELECT 1 FROM entities WHERE id = object_entity AND scope = records.scope)",
    "UPDATE records SET superseded_by = NULL WHERE superseded_by NOT IN (SELECT id FROM records)",
)


@dataclass(slots=True)
class Looked:
    """What an export holds: rows that are good, by table, and how many were put aside, by reason."""

    counts: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    key: str = ""
    files: int = 0


def manifest_of(folder: Path) -> dict[str, Any]:
    """What an export says it is.  Raises InvalidInput for what is none, or one that a later release made."""
    try:
        with open(folder / MANIFEST, "rb", opener=lambda path, _: os.open(path, _READ)) as file:
            found = json.loads(file.read(MOST_MANIFEST))
        if found["format"] != portable.FORMAT:
            raise ValueError
        version = int(found["version"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        raise InvalidInput(f"{folder} is no export of homed's.", hint="Give the folder that was written.") from None
    if version != portable.VERSION:
        raise InvalidInput(
            f"{folder} was written in version {version} of the format; this homed knows {portable.VERSION}.",
            hint="Import it with the homed that wrote it, or a later one.",
        )
    return dict(found)


def stage(folder: Path, into: Staging, aside: Callable[[str, int, str], None], redact: Callable[[str], str]) -> Looked:
    """Put every good line of an export into ``into``; tell of every other one: file, number (from 1), why."""
    looked = Looked(key=str(manifest_of(folder).get("key", "")))
    for table in TABLES:
        for number, line in _lines(folder / table.file):
            try:
                row = _checked(table, line, folder, redact)
                into.put(table.name, table.columns, row)
                looked.counts[table.name] += 1
            except (BadLine, Refused) as error:
                looked.refused[str(error.args[0])] += 1
                aside(table.file, number, str(error.args[0]))
    _drop_orphans(into, looked, aside)
    into.keep()
    return looked


def _lines(path: Path) -> Iterator[tuple[int, bytes | None]]:
    """Every line with its number; None for one that is too long, of which nothing is kept."""
    try:
        file = open(path, "rb", opener=lambda name, _: os.open(name, _READ))  # noqa: SIM115 - closed below
    except FileNotFoundError:
        return
    with file:
        number = 0
        while piece := file.readline(portable.LONGEST):
            number += 1
            if piece.endswith(b"\n") or len(piece) < portable.LONGEST:
                if piece.strip():
                    yield number, piece
                continue
            while (piece := file.readline(portable.LONGEST)) and not piece.endswith(b"\n"):
                pass
            yield number, None


def _checked(table: Carried, line: bytes | None, folder: Path, redact: Callable[[str], str]) -> tuple[SqlValue, ...]:
    if line is None:
        raise BadLine("too long")
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError:
        raise BadLine("no UTF-8") from None
    row = portable.redacted(table, portable.values(table, text), redact)
    named = dict(zip(table.columns, row, strict=True))
    if table.name == "blocks":
        _check_file(folder, named)
    if table.name == "evidence" and named["excerpt"]:
        said = str(named["excerpt"]).encode("utf-8", "surrogatepass")
        if hashlib.sha256(said).hexdigest() != named["hash"]:
            raise BadLine("an excerpt that is not its hash's")
    if table.name in ("threads", "events") and not named["scope"]:
        raise BadLine("no scope")
    if is_temporary(str(named.get("scope", ""))):
        raise BadLine("of an agent that is not here")
    return row


def _check_file(folder: Path, block: dict[str, SqlValue]) -> None:
    hash_ = str(block["hash"])
    if not _HASH.fullmatch(hash_):
        raise BadLine("a hash that is none")
    try:
        if digest(folder / "media" / hash_[:2] / hash_) != hash_:
            raise BadLine("a file that is not its hash's")
    except OSError:
        raise BadLine("its file is missing") from None


def _drop_orphans(into: Staging, looked: Looked, aside: Callable[[str, int, str], None]) -> None:
    """Until nothing names what is not there: a row that goes may have been named by others."""
    for sql in LOOSENED[:2]:
        into.tx.execute(sql)
    dropped = True
    while dropped:
        dropped = False
        for table, where in ORPHANS:
            into.tx.execute(f"DELETE FROM {table} WHERE {where}")
            if count := into.tx.changes():
                dropped = True
                looked.counts[table] -= count
                looked.refused["it names what is not there"] += count
                aside(f"{table}.jsonl", 0, f"{count} name what is not there")
    into.tx.execute(LOOSENED[2])
    if wrong := into.tx.value(
        "SELECT count(*) FROM blocks b JOIN events e ON e.id = b.event"
        " WHERE b.holder_layer <> CASE e.layer WHEN 'archived' THEN 'stable' ELSE e.layer END"
    ):
        into.tx.execute(
            "UPDATE blocks SET holder_layer = (SELECT CASE layer WHEN 'archived' THEN 'stable' ELSE layer END FROM"
            " events WHERE id = blocks.event)"
        )
        looked.refused["a holder that is not its event's"] += int(wrong)
