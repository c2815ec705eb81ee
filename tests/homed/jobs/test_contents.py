"""Each check of what is stored, green and red."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest
import trio

from homed.jobs import contents
from homed.jobs.checks import Check, State
from homed.memory import events, inputs, threads
from homed.memory.records import EventKind, InputState, NewEvent, NewInput, Outcome
from homed.retrieval import index
from homed.retrieval.without import words_only
from homed.store.db import open_store
from homed.store.examine import LookingStore, reading
from homed.store.filesystem import FileSystem
from homed.store.readers import READERS
from homed.store.rows import ReadOnly, Tx
from tests.homed.store.files import fingerprint

LOCAL = FileSystem("ext4", True)
QUINCE = NewEvent(EventKind.USER, "quince and medlar")


def fill(tx: Tx) -> None:
    thread = threads.create(tx, scope="owner", channel="webui", title="t", at=0.0)
    for n in range(20):
        given, _ = inputs.accept(tx, NewInput(thread.id, "owner", "webui", "webui:owner", "owner", f"plum {n}"), at=1.0)
        begun = inputs.begin(tx, given.id, turn=f"turn_{n:016x}", at=1.0)
        said = [NewEvent(EventKind.USER, f"plum {n}"), NewEvent(EventKind.ASSISTANT, "pear", {"final": True})]
        inputs.finish(tx, begun.id, Outcome(InputState.ANSWERED, "pear"), said, at=2.0)
    index.catch_up(tx)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    made = tmp_path / "homed.db"

    async def main() -> None:
        async with open_store(made) as store:
            await store.write(fill)

    trio.run(main)
    return made


def change(path: Path, *statements: str) -> None:
    connection = apsw.Connection(str(path))
    for statement in statements:
        connection.execute(statement)
    connection.close()


def look(path: Path, check: Callable[[Tx], Check]) -> Check:
    with reading(path) as tx:
        return check(tx)


def states(path: Path, *, deep: bool = False) -> dict[str, State]:
    with reading(path) as tx:
        return {check.name: check.state for check in contents.database(tx, LOCAL, deep=deep)}


def test_a_sound_one_is_sound_in_every_way_and_looking_changes_nothing(path: Path) -> None:
    before = path.read_bytes()
    assert set(states(path, deep=True).values()) == {State.OK}
    assert path.read_bytes() == before
    assert list(fingerprint(path.parent)) == ["homed.db"]


def test_a_page_of_zeros(path: Path) -> None:
    with path.open("r+b") as file:
        file.seek(2 * 4096)
        file.write(bytes(4096))
    assert states(path)["database"] is State.BAD


def test_an_index_that_disagrees_with_its_table_is_found_by_a_deep_look_only(path: Path) -> None:
    change(path, "DROP INDEX turns_by_thread", "CREATE INDEX turns_by_thread ON turns (thread, ended_at)")
    change(
        path, "PRAGMA writable_schema = ON",
        "UPDATE sqlite_schema SET sql = 'CREATE INDEX turns_by_thread ON turns (thread, started_at)'"
        " WHERE name = 'turns_by_thread'",
    )  # fmt: skip
    assert states(path)["database"] is State.OK
    assert states(path, deep=True)["database"] is State.BAD


def test_schema_versions(path: Path) -> None:
    assert contents.schema(3, 3).state is State.OK
    assert contents.schema(9, 3).state is State.BAD
    assert contents.schema(1, 3).state is State.WARN
    change(path, "PRAGMA user_version = 1")
    assert set(states(path)) == {"database", "schema"}, "the tables of another version are not looked into"


def test_the_journal_suits_the_disk() -> None:
    assert contents.journal("wal", LOCAL).state is State.OK
    assert contents.journal("delete", LOCAL).state is State.WARN
    assert contents.journal("wal", FileSystem("nfs4", False)).state is State.WARN
    assert contents.journal("delete", FileSystem("nfs4", False)).state is State.OK


@pytest.mark.parametrize(
    "harm",
    [
        ["DELETE FROM threads"],
        ["PRAGMA ignore_check_constraints = ON", "UPDATE inputs SET outcome = NULL WHERE seq = 3"],
        [
            "INSERT INTO blocks (id, hash, media_type, bytes, event, holder_layer, created_at)"
            " SELECT 'b', 'h', 'text/plain', 1, id, 'cold', 0 FROM events LIMIT 1"
        ],
    ],
)
def test_rows_that_break_the_rules(path: Path, harm: list[str]) -> None:
    assert look(path, contents.rows).state is State.OK
    change(path, *harm)
    assert look(path, contents.rows).state is State.BAD


async def test_the_word_index(path: Path) -> None:
    assert look(path, contents.words).what == "40 events"
    async with open_store(path) as store:
        await store.write(lambda tx: tx.execute("UPDATE word_marks SET backlog = mark, version = 0"))
        await store.write(lambda tx: tx.execute("DELETE FROM word_counts"))
    assert look(path, contents.words).state is State.WARN, "still to be indexed"
    async with open_store(path) as store:
        while await store.write(index.backfill):
            pass
    assert look(path, contents.words).state is State.OK
    change(path, "UPDATE word_counts SET documents = documents - 1")
    assert look(path, contents.words).state is State.BAD
    change(path, "UPDATE word_counts SET documents = documents + 1", "DELETE FROM events WHERE seq = 3")
    assert look(path, contents.words).state is State.OK, "its words leave with the next write"


def attach(path: Path, media: Path, data: bytes) -> Path:
    name = hashlib.sha256(data).hexdigest()
    change(
        path,
        "INSERT INTO blocks (id, hash, media_type, bytes, event, holder_layer, created_at)"
        f" SELECT '{name[:8]}', '{name}', 'text/plain', 1, id, layer, 0 FROM events LIMIT 1",
    )
    file = media / name[:2] / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(data)
    return file


def files(path: Path, media: Path, *, deep: bool = False) -> Check:
    with reading(path) as tx:
        said = contents.files_of(tx)
    return contents.files(said, media, deep=deep)


def test_attachments_both_ways(path: Path, tmp_path: Path) -> None:
    media = tmp_path / "media"
    assert files(path, media, deep=True).state is State.OK
    file = attach(path, media, b"a plum")
    assert files(path, media, deep=True).what == "1 files"
    file.write_bytes(b"a pear")
    assert files(path, media).state is State.OK
    assert files(path, media, deep=True).state is State.BAD
    stray = media / "ab" / ("ab" * 32)
    stray.parent.mkdir()
    stray.touch()
    assert files(path, media).state is State.WARN
    change(path, f"INSERT INTO loose_files VALUES ('{stray.name}')")
    assert files(path, media).state is State.OK, "it is on its way out"
    file.unlink()
    assert files(path, media).state is State.BAD


async def test_a_look_at_a_file_that_is_not_there_is_a_look_at_an_empty_one(tmp_path: Path) -> None:
    store = LookingStore(tmp_path / "none.db")
    assert await store.read(lambda tx: tx.value("SELECT count(*) FROM events")) == 0
    with pytest.raises(ReadOnly):
        await store.write(lambda tx: tx.value("SELECT 1"))
    assert fingerprint(tmp_path) == {}


async def test_a_sound_index_is_sound_also_for_who_searched_before_it_was_written_to(path: Path) -> None:
    """FTS5 keeps what a connection knew of the index, and SQLite's check compares that with what is there now."""

    def searched(tx: Tx) -> object:
        return words_only().search(tx, scope="owner", layer="context", query="plum quince", limit=5)

    def more(tx: Tx) -> None:
        thread = threads.create(tx, scope="owner", channel="webui", title="t", at=0.0)
        given, _ = inputs.accept(tx, NewInput(thread.id, "owner", "webui", "webui:owner", "owner", "quince"), at=1.0)
        events.append(tx, inputs.begin(tx, given.id, turn=f"turn_{given.id}", at=1.0), QUINCE, at=1.0)
        index.catch_up(tx)

    async with open_store(path) as store:
        for _ in range(20):  # in between segments are merged: what a reader knew of is gone
            await store.read(searched)
            for _ in range(2):
                await store.write(more)
            for _ in range(READERS):
                assert (await store.read(lambda tx: contents.damage(tx, deep=False))).state is State.OK
