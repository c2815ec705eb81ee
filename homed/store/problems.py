"""What apsw and the operating system say, turned into one clear StorageError with what to do."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw

from homed.errors import StorageError
from homed.store.rows import Damaged, Full

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_READ_ONLY = frozenset({errno.EROFS, errno.EACCES, errno.EPERM})
_UNREADABLE = frozenset(
    {apsw.SQLITE_IOERR_READ, apsw.SQLITE_IOERR_CORRUPTFS, apsw.SQLITE_IOERR_DATA, apsw.SQLITE_IOERR_IN_PAGE}
)
"""SQLite's codes for bytes that the disk has lost; one that cannot be written to is another matter."""


class Interrupted(StorageError):
    """A read was interrupted because its caller was cancelled; only the reader pool ever sees it."""


def corrupt(path: Path, what: str = "") -> StorageError:
    """The file's content is damaged; it is left as it is."""
    found = f" ({what})" if what else ""
    return Damaged(
        f"The database {path} is damaged{found}.",
        hint="Nothing was changed. `homed doctor --repair` keeps it aside and saves what can be saved.",
        detail={"reason": "corrupt", "path": str(path)},
    )


def unreadable(path: Path) -> StorageError:
    """The disk has lost a part of the file: damage like any other."""
    return corrupt(path, "the disk has lost a part of it; see the system's log (dmesg)")


def nothing_to_save(path: Path) -> StorageError:
    """A repair found no row of ours."""
    return _error(
        "nothing_to_save",
        f"Nothing of homed's could be read from {path}.",
        "Nothing was changed. Move the file away to start empty, or put a copy of yours in its place.",
        path,
    )


def not_mended(path: Path, what: str) -> StorageError:
    """The rebuilt file did not pass its checks."""
    return _error(
        "not_mended",
        f"The rebuilt database did not pass its own checks ({what}); {path} was left as it was.",
        f"Please report this, with the output of `sqlite3 {path.name} .recover` if you can.",
        path,
    )


def index_damaged(path: Path, what: str) -> StorageError:
    """A search index disagrees with itself.  It holds nothing of its own and can be made anew."""
    return _error(
        "index_damaged",
        f"The search index in {path} is damaged ({what}).",
        "Nothing that was said is lost. homed makes the index anew, at the latest when it starts again.",
        path,
    )


def not_a_database(path: Path) -> StorageError:
    """There is a file, but not one of SQLite's."""
    return _error(
        "not_a_database",
        f"{path} is not a database.",
        "Nothing was changed. Move that file away, or give another data folder with --data.",
        path,
    )


def foreign(path: Path) -> StorageError:
    """A SQLite file, but another program's."""
    return _error(
        "foreign",
        f"{path} is a database of another program.",
        "Nothing was changed. Give another data folder with --data.",
        path,
    )


def log_without_database(path: Path) -> StorageError:
    """The -wal file holds data but its database is gone: opening would make SQLite delete it."""
    return _error(
        "log_without_database",
        f"{path} is missing or empty, but its log {path.name}-wal holds data.",
        f"Nothing was changed. Put {path.name} back beside its log, or move the log away to start empty.",
        path,
    )


def newer(path: Path, found: int, known: int) -> StorageError:
    """A later release made this file."""
    return _error(
        "newer_schema",
        f"The database {path} was made by a newer version of homed (schema {found}, this one knows {known}).",
        "Nothing was changed. Install the newer version again, or give another data folder with --data.",
        path,
    )


def read_only(path: Path) -> StorageError:
    """File, folder or file system cannot be written."""
    return _error(
        "read_only",
        f"The database {path} cannot be opened for writing.",
        f"Check owner and permissions of {path.parent} and the files in it, and whether the file system is read-only.",
        path,
    )


def journal(path: Path, mode: str) -> StorageError:
    """SQLite would not change the journal mode: somebody else has the file open."""
    return _error(
        "busy",
        f"The database {path} stays in journal mode {mode}, which does not suit this disk.",
        "Close other programs that have it open (a backup, sqlite3) and start again.",
        path,
    )


def full(path: Path) -> StorageError:
    """No space left, a quota, or the database's own limit."""
    return Full(
        f"There is no space left for the database {path}.",
        hint="What was being stored was not stored. Free some disk space and try again.",
        detail={"reason": "full", "path": str(path)},
    )


def closed() -> StorageError:
    """The store was used after its end."""
    return StorageError("The store is closed.", hint="homed is shutting down.", detail={"reason": "closed"})


def rolled_back(path: Path, cause: BaseException) -> StorageError:
    """The whole batch was taken back.  A new object each time: every caller of the batch raises its own."""
    if isinstance(cause, apsw.Error | OSError):
        error = translate(cause, path)
    elif isinstance(cause, StorageError):
        error = type(cause)(cause.message, hint=cause.hint, detail=cause.detail)
    else:
        error = _error("rolled_back", f"Nothing was stored: {cause}", "Try again; if it stays, restart homed.", path)
    error.__cause__ = cause
    return error


def translate(error: apsw.Error | OSError, path: Path) -> StorageError:
    """The StorageError for a foreign error met while working on ``path``."""
    if isinstance(error, OSError):
        return _from_os(error.errno or 0, str(error), path)
    if isinstance(error, apsw.InterruptError):
        return Interrupted("The read was interrupted.")
    if isinstance(error, apsw.CorruptError):
        if getattr(error, "extendedresult", 0) == apsw.SQLITE_CORRUPT_VTAB:
            return index_damaged(path, str(error))
        return corrupt(path, str(error))
    if isinstance(error, apsw.NotADBError):
        return not_a_database(path)
    if isinstance(error, apsw.FullError):
        return full(path)
    if isinstance(error, apsw.ReadOnlyError | apsw.PermissionsError | apsw.CantOpenError):
        return read_only(path)
    if isinstance(error, apsw.BusyError | apsw.LockedError):
        return _error(
            "busy",
            f"The database {path} is held by another process.",
            "Close other programs that have it open (a second homed, a backup, sqlite3) and try again.",
            path,
        )
    if isinstance(error, apsw.IOError):
        if getattr(error, "extendedresult", 0) in _UNREADABLE:
            return unreadable(path)
        return _from_os(0, str(error), path)
    return StorageError(
        f"The database refused a statement: {error}",
        hint="This is a fault in homed; please report it.",
        detail={"reason": "statement", "kind": type(error).__name__},
    )


@contextmanager
def translated(path: Path) -> Iterator[None]:
    """Turn every apsw and OS error of the block into a StorageError."""
    try:
        yield
    except (apsw.Error, OSError) as error:
        raise translate(error, path) from error
    except UnicodeDecodeError as error:  # a text that SQLite hands out as it lies there, damaged or not
        raise corrupt(path, "a text in it is not UTF-8") from error


def _from_os(number: int, text: str, path: Path) -> StorageError:
    if number in _FULL:
        return full(path)
    if number in _READ_ONLY:
        return read_only(path)
    return _error(
        "io",
        f"The disk refused while working on {path}: {text}",
        "Check the disk: its free space, your quota, the system's log (dmesg). Nothing that was reported as stored is"
        " affected.",
        path,
    )


def _error(reason: str, message: str, hint: str, path: Path) -> StorageError:
    return StorageError(message, hint=hint, detail={"reason": reason, "path": str(path)})
