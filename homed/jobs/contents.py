"""The checks of what is stored: the database, the word index, and the files of attachments."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from homed.jobs.checks import Check, State, bad, ok, warn
from homed.retrieval import index
from homed.store import examine
from homed.store.filesystem import FileSystem
from homed.store.rows import Tx

REPAIR = "Stop homed and run `homed doctor --repair`."


def database(tx: Tx, disk: FileSystem, *, deep: bool) -> list[Check]:
    """Everything that one look at the database tells.  ``deep`` reads all of it."""
    version, known = examine.schema_of(tx)
    first = [damage(tx, deep=deep), schema(version, known)]
    if version != known or first[0].state is State.BAD:
        return first
    return [*first, journal(examine.journal_of(tx), disk), rows(tx), words(tx)]


def damage(tx: Tx, *, deep: bool) -> Check:
    """Whether the file is sound."""
    found = examine.damage_of(tx, deep=deep)
    if found:
        return bad("database", f"damaged: {found[0].splitlines()[-1]}", REPAIR)
    return ok("database", "sound, read whole" if deep else "sound (--deep reads all of it)")


def schema(version: int, known: int) -> Check:
    """Which migrations were made."""
    if version > known:
        return bad("schema", f"version {version}, made by a newer homed", "Install the newer version again.")
    if version < known:
        return warn("schema", f"version {version} of {known}", "The next start brings it up to date.")
    return ok("schema", f"version {version}")


def journal(mode: str, disk: FileSystem) -> Check:
    """Whether transactions are kept in the way that suits the disk."""
    if (mode == "wal") == disk.local:
        return ok("journal", mode)
    return warn("journal", f"{mode} on a {disk.name} file system", "The next start changes that.")


def rows(tx: Tx) -> Check:
    """What must hold of the rows."""
    if broken := examine.broken_rules(tx):
        return bad("records", "; ".join(broken), REPAIR)
    return ok("records", "every reference is kept, one outcome an input, one holder a file")


def words(tx: Tx) -> Check:
    """Whether the word index knows every event that may be found again."""
    waiting = index.waiting(tx)
    known = int(tx.value("SELECT coalesce(sum(documents), 0) FROM word_counts"))
    drops = int(tx.value("SELECT count(*) FROM word_drops"))
    marks = "(SELECT mark FROM word_marks)", "(SELECT backlog FROM word_marks)"
    there = int(
        tx.value(
            "SELECT count(*) FROM events WHERE no_memory = 0 AND kind <> 'note'"
            f" AND seq <= {marks[0]} AND seq > {marks[1]}"
        )
    )
    if known - drops != there:
        return bad("word index", f"{known - drops} events in it, {there} should be", f"{REPAIR} It is made anew.")
    if waiting:
        return warn("word index", f"{waiting} events still to be indexed", "homed does that by itself while it runs.")
    return ok("word index", f"{there} events")


@dataclass(frozen=True, slots=True)
class Files:
    """The files that rows name, and those that are on their way out; by hash."""

    named: frozenset[str]
    loose: frozenset[str]


def files_of(tx: Tx) -> Files:
    """What the rows say of files."""
    named = tx.all("SELECT hash FROM blocks UNION SELECT hash FROM uploads WHERE hash <> ''")
    return Files(
        frozenset(row[0] for row in named), frozenset(row[0] for row in tx.all("SELECT hash FROM loose_files"))
    )


@dataclass(frozen=True, slots=True)
class Seen:
    """Hashes of files that rows name and that are not there, that are there and have another hash, and that are there
    though nothing names them; ``there``: how many there are."""

    missing: tuple[str, ...]
    wrong: tuple[str, ...]
    left: tuple[str, ...]
    there: int


def compared(said: Files, media: Path, *, deep: bool) -> Seen:
    """Hold the files against the rows.  ``deep`` reads them all, which may take minutes: outside of any transaction."""
    there = dict(_files(media))
    missing = said.named - there.keys()
    read = sorted(said.named & there.keys()) if deep else []
    wrong = tuple(name for name in read if _hash(there[name]) != name)
    return Seen(tuple(sorted(missing)), wrong, tuple(sorted(there.keys() - said.named - said.loose)), len(there))


def files(said: Files, media: Path, *, deep: bool) -> Check:
    """Whether every attachment has its file, and every file somebody who names it; see ``compared``."""
    seen = compared(said, media, deep=deep)
    if seen.missing:
        return bad(
            "attachments", f"{len(seen.missing)} of {len(said.named)} files are missing, like {seen.missing[0][:12]}…",
            "Put them back from a copy of the data folder; what was said about them is still there.",
        )  # fmt: skip
    if seen.wrong:
        return bad(
            "attachments", f"{len(seen.wrong)} files are not what they were, like {seen.wrong[0][:12]}…",
            "Put them back from a copy of the data folder.",
        )  # fmt: skip
    if seen.left:
        return warn("attachments", f"{len(seen.left)} files that nothing names", f"They can be removed from {media}.")
    return ok("attachments", f"{len(said.named)} files")


def _files(media: Path) -> Iterator[tuple[str, Path]]:
    for file in media.glob("??/*"):
        if len(file.name) == 64 and file.name.startswith(file.parent.name) and file.is_file():
            yield file.name, file


def _hash(file: Path) -> str:
    try:
        with file.open("rb") as reading:
            return hashlib.file_digest(reading, "sha256").hexdigest()
    except OSError:
        return ""
