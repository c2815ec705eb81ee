"""C12: a sector that the disk no longer gives is damage: read-only start, a copy with named holes, a repair past it."""

from __future__ import annotations

import errno
import json
import os
from functools import partial
from pathlib import Path

import apsw
import pytest
import trio

from homed.store import repair
from homed.store.connection import open_writer
from homed.store.damage import LABEL, Damage, keep, known
from homed.store.db import open_store
from homed.store.pages import Pages
from homed.store.problems import translate
from homed.store.rows import Damaged, ReadOnly
from homed.store.unreadable import BLOCK, read_at
from tests.homed.store.failing import lost
from tests.homed.store.files import count, make_store, put
from tests.homed.store.test_read_only import leaves

ROWS = 500
ERRORS = pytest.mark.parametrize("number", [errno.EIO, errno.EBADMSG])


@pytest.fixture
def path(tmp_path: Path) -> Path:
    made = tmp_path / "homed.db"
    trio.run(partial(make_store, made, rows=ROWS))
    connection = open_writer(made)
    connection.execute("UPDATE settings SET updated_at = 1.8e9")  # by its time a row without its table is known
    connection.close()
    return made


@ERRORS
@pytest.mark.parametrize("first", [True, False])
async def test_a_start_goes_read_only_and_shows_what_is_left(path: Path, number: int, first: bool) -> None:
    size = len(path.read_bytes())  # noqa: ASYNC240
    with lost(path, 1 if first else leaves(path)[4], number=number):
        async with open_store(path) as store:
            assert store.damage is not None
            assert (Path(store.damage.kept) / "homed.db").stat().st_size == size
            assert f"without {BLOCK} bytes" in store.damage.hint
            assert ROWS - 40 < await store.read(count) < (ROWS + 1 if first else ROWS)
            with pytest.raises(ReadOnly):
                await store.write(put("more"))


@ERRORS
def test_the_repair_goes_on_past_it(path: Path, number: int) -> None:
    gone = leaves(path)[4]
    with lost(path, gone, gone + 1, number=number):
        done = repair.repair(path, "a sector")
    (settings,) = [table for table in done.tables if table.table == "settings"]
    assert ROWS - 80 < settings.kept < ROWS


def test_the_page_scan_alone_goes_on_past_the_header_and_a_page(path: Path) -> None:
    gone = leaves(path)[4]
    with lost(path, 1, gone):
        pages = Pages(path)
        found = set(pages.leaves()) | {gone}
        keys = {row.values[0] for row in pages.entries()}
        pages.close()
    assert found
    assert ROWS - 40 < len({key for key in keys if str(key).startswith("k0")}) < ROWS


def test_frames_of_the_log_before_a_lost_one_count(path: Path) -> None:
    connection = open_writer(path)
    connection.execute("UPDATE settings SET value = 1")
    log = path.with_name("homed.db-wal")
    size = 24 + BLOCK
    pages = Pages(path)
    every = len(pages._newer)
    pages.close()
    with lost(log, (32 + size * (log.stat().st_size // size - 1)) // BLOCK + 1):
        pages = Pages(path)
        assert len(pages._newer) < every  # the last commit is not whole
        pages.close()
    with lost(log, 1):
        pages = Pages(path)
        assert not pages._newer
        assert pages.page(1).startswith(b"SQLite")
        pages.close()
    connection.close()


def test_the_copy_is_whole_but_for_the_holes_that_it_names(path: Path) -> None:
    data = path.read_bytes()
    with lost(path, 3, 4, 9):
        kept = keep(Damage(path, "sectors"))
    assert (kept.refused, kept.lost) == ("", 3 * BLOCK)
    label = json.loads((Path(kept.kept) / LABEL).read_bytes())
    assert label["holes"] == {"homed.db": [[2 * BLOCK, 2 * BLOCK], [8 * BLOCK, BLOCK]]}
    expected = bytearray(data)
    for at, length in label["holes"]["homed.db"]:
        expected[at : at + length] = bytes(length)
    assert (Path(kept.kept) / "homed.db").read_bytes() == expected
    again = known(path)
    assert again is not None
    assert (again.kept, again.lost) == (kept.kept, 3 * BLOCK)


def test_a_refusal_that_is_no_lost_sector_is_raised(path: Path) -> None:
    fd = os.open(path, os.O_RDONLY)
    with lost(path, 1, number=errno.ENOMEM), pytest.raises(OSError, match="memory"):
        read_at(fd, 10, 0)
    with lost(path, 1):
        assert read_at(fd, 10, 0) is None
        assert read_at(fd, 10, BLOCK) is not None
    os.close(fd)


@pytest.mark.parametrize(("code", "damaged"), [("READ", True), ("CORRUPTFS", True), ("WRITE", False), ("FSYNC", False)])
def test_only_what_cannot_be_read_is_damage(path: Path, code: str, damaged: bool) -> None:
    error = apsw.IOError("disk I/O error")
    setattr(error, "extendedresult", getattr(apsw, f"SQLITE_IOERR_{code}"))  # noqa: B010  # not in its type
    assert isinstance(translate(error, path), Damaged) is damaged
