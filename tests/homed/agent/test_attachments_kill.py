"""kill -9 while a file is uploaded, taken, heard or deleted: files and rows agree afterwards, and nothing is lost.

The state is looked at with sqlite3 and the folder's own listing, without any of the code under test.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.kit.attach_child import SHARED, SMALL, content
from tests.kit.turn_child import Order, Zygote, zygote

MESSAGES = ("one", "two", "three")
TIMES = {
    "upload.piece": (1, 3, 5, 7), "upload.placed": (1, 2, 3, 4), "upload.stored": (1, 2, 4),
    "accept.before_commit": (1, 2), "accept.after_commit": (1, 2), "turn.begun": (1, 2, 3),
    "thread.deleted": (1, 2), "thread.removing": range(1, 9), "see.looked": range(1, 6), "see.kept": range(1, 6),
    "store.before_commit": range(1, 20, 3), "store.after_commit": range(2, 20, 3),
}  # fmt: skip
KILLS = [(name, nth) for name, times in TIMES.items() for nth in times]


@pytest.fixture(scope="module")
def children() -> Iterator[Zygote]:
    with zygote("tests.kit.attach_child") as ready:
        yield ready


@pytest.mark.kill
@pytest.mark.parametrize(("name", "nth"), KILLS)
def test_killed_anywhere_every_file_has_its_rows_and_every_row_its_file(
    tmp_path: Path, children: Zygote, name: str, nth: int
) -> None:
    """E50: one owner for each file at every moment; what was accepted is there whole after the next start."""
    assert children.run(Order(str(tmp_path), name, nth, MESSAGES)) == Zygote.KILLED
    check_rows(tmp_path)
    assert children.run(Order(str(tmp_path), messages=MESSAGES)) == 0
    check_rows(tmp_path)
    check_end(tmp_path)


def rows(folder: Path, sql: str) -> list[tuple[Any, ...]]:
    connection = sqlite3.connect(folder / "homed.db")
    try:
        return connection.execute(sql).fetchall()
    finally:
        connection.close()


def files(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in (folder / "media").glob("??/*")}


def small(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in (folder / "media").glob("small-??/*")}


def check_rows(folder: Path) -> None:
    """What must hold at every moment, also right after the kill."""
    assert rows(folder, "PRAGMA integrity_check") == [("ok",)]
    assert rows(folder, "PRAGMA foreign_key_check") == []
    both = rows(folder, "SELECT id FROM blocks INTERSECT SELECT id FROM uploads")
    assert both == [], "an owner before and an owner after, never two"
    named = {hash_ for (hash_,) in rows(folder, "SELECT hash FROM blocks UNION SELECT hash FROM uploads")}
    loose = {hash_ for (hash_,) in rows(folder, "SELECT hash FROM loose_files")}
    there = files(folder)
    assert named <= there.keys(), "a row without its file"
    assert there.keys() <= named | loose, "a file that nobody will ever remove"
    assert named.isdisjoint(loose)
    assert all(hashlib.sha256(data).hexdigest() == name for name, data in there.items())
    assert small(folder).keys() <= named | loose, "a small picture that nobody will ever remove"
    accepted = folder / "accepted.log"
    for text in accepted.read_text().splitlines() if accepted.exists() else ():
        owned = rows(
            folder,
            "SELECT b.name FROM inputs i JOIN events e ON e.turn = i.turn JOIN blocks b ON b.event = e.id"
            f" WHERE i.client_msg_id = '{text}' UNION ALL SELECT u.name FROM inputs i JOIN uploads u ON u.input = i.id"
            f" WHERE i.client_msg_id = '{text}'",
        )
        known = rows(folder, f"SELECT id FROM inputs WHERE client_msg_id = '{text}'")
        assert not known or sorted(owned) == [(name,) for name in sorted((f"{text}.txt", "shared.png"))]


def check_end(folder: Path) -> None:
    """What must hold once everything has been sent, answered and deleted, and a start has cleared up."""
    assert rows(folder, "SELECT client_msg_id, state FROM inputs") == [("three", "answered")]
    held = rows(folder, "SELECT name, bytes FROM blocks ORDER BY place")
    assert held == [("three.txt", len(content("three"))), ("shared.png", len(SHARED))]
    assert list((folder / "media" / "incoming").iterdir()) == []
    assert rows(folder, "SELECT * FROM loose_files") == []
    kept = {hashlib.sha256(data).hexdigest() for data in (content("three"), SHARED)}
    waiting = {hash_ for (hash_,) in rows(folder, "SELECT hash FROM uploads WHERE input = ''")}
    assert files(folder).keys() == kept | waiting, "what was uploaded before the crash and not sent goes after a day"
    assert small(folder) == {hashlib.sha256(SHARED).hexdigest(): SMALL}
    assert rows(folder, "SELECT seen FROM blocks") == [("done",), ("done",)]
    read = content("three").decode().strip()
    said = f"three.txt\nshared.png\n{read}\nwords of the picture"
    assert rows(folder, "SELECT words FROM events WHERE words <> ''") == [(said,)], "each was looked into once"
