"""C12: what a rebuild saves of a database damaged in every way a disk can think of, and that it loses nothing else."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import apsw
import pytest
import trio

from homed.errors import StorageError
from homed.memory import inputs, threads
from homed.memory.records import EventKind, InputState, NewEvent, NewInput, Outcome
from homed.store import damage, repair
from homed.store.connection import open_writer
from homed.store.db import open_store
from homed.store.pages import Pages
from homed.store.repair import finish_swap
from homed.store.rows import Tx
from tests.homed.store.files import fingerprint, set_version

PAGE = 4096
TURNS = 120
LONG = "long words with 中文 and 🌍 " * 600
"""Needs overflow pages."""


def fill(tx: Tx) -> None:
    """Threads, inputs and events as the kernel stores them, two of them very long; and settings."""
    for n in range(TURNS):
        if n % 10 == 0:
            thread = threads.create(tx, scope="owner", channel="webui", title=f"thread {n}", at=float(n))
        text = LONG if n in (3, 77) else f"question {n} about the garden 花园 " * 5
        given, _ = inputs.accept(tx, NewInput(thread.id, "owner", "webui", "webui:owner", "owner", text), at=n + 0.5)
        begun = inputs.begin(tx, given.id, turn=f"turn_{n:016x}", at=float(n))
        said = NewEvent(EventKind.ASSISTANT, f"answer {n} " * 20, {"final": True})
        inputs.finish(
            tx, begun.id, Outcome(InputState.ANSWERED, said.text), [NewEvent(EventKind.USER, text), said], at=float(n)
        )
    tx.many(
        "INSERT INTO settings (key, value, updated_at) VALUES (?, ?, 0)",
        [(f"plugin.x.k{n:05}", f'"{"v" * 200}"') for n in range(100)],
    )
    tx.execute("INSERT INTO peers VALUES ('webui:owner', 'webui', 'Me', 'owner', 1.0, 2.0, '')")


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The bytes of a sound, closed database."""
    path = tmp_path_factory.mktemp("sound") / "homed.db"

    async def main() -> None:
        async with open_store(path) as store:
            await store.write(fill)

    trio.run(main)
    return path.read_bytes()


@pytest.fixture
def path(tmp_path: Path, sound: bytes) -> Path:
    made = tmp_path / "homed.db"
    made.write_bytes(sound)
    return made


def root(path: Path, name: str) -> int:
    return int(ask(path, f"SELECT rootpage FROM sqlite_schema WHERE name = '{name}'")[0][0])


def ask(path: Path, sql: str) -> list[tuple[Any, ...]]:
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        return list(connection.execute(sql))
    finally:
        connection.close()


def zero(path: Path, *numbers: int) -> None:
    with path.open("r+b") as file:
        for number in numbers:
            file.seek((number - 1) * PAGE)
            file.write(bytes(PAGE))


def counts(path: Path) -> dict[str, int]:
    names = ("threads", "inputs", "turns", "events", "settings", "peers")
    return {name: int(ask(path, f"SELECT count(*) FROM {name}")[0][0]) for name in names}


def test_a_sound_file_comes_out_the_same_whole_and_the_old_one_is_kept(path: Path, sound: bytes) -> None:
    before = (
        counts(path),
        ask(path, "SELECT * FROM events ORDER BY seq"),
        ask(path, "SELECT * FROM inputs ORDER BY seq"),
    )
    done = repair.repair(path, "asked")
    assert (
        counts(path),
        ask(path, "SELECT * FROM events ORDER BY seq"),
        ask(path, "SELECT * FROM inputs ORDER BY seq"),
    ) == before
    assert {table.lost for table in done.tables} == {0}
    assert done.mended == {}
    assert (done.kept / "homed.db").read_bytes() == sound
    assert sorted(file.name for file in path.parent.iterdir()) == ["damaged", "homed.db"]
    assert path.stat().st_mode & 0o777 == 0o600
    assert done.kept.stat().st_mode & 0o777 == 0o700


def test_c12_page_three_of_zeros_loses_nothing_that_stands_elsewhere(path: Path) -> None:
    before = counts(path)
    zero(path, 3)
    done = repair.repair(path, "page 3")
    assert counts(path) == before
    assert done.kept.is_dir()


@pytest.mark.parametrize("table", ["events", "inputs", "turns", "threads"])
def test_a_lost_root_loses_no_row_because_the_leaves_are_found_without_it(path: Path, table: str) -> None:
    before = counts(path)
    leaf = table == "threads"  # of one page only: there the rows themselves are gone
    zero(path, root(path, table))
    done = repair.repair(path, "root")
    after = counts(path)
    assert after == before
    assert done.mended == ({"conversations whose name was lost": 12} if leaf else {})
    assert ask(path, "PRAGMA integrity_check") == [("ok",)]
    assert ask(path, "PRAGMA foreign_key_check") == []


def leaves(path: Path, table: str) -> list[int]:
    pages = Pages(path)
    try:
        return pages.tree(root(path, table))[1]
    finally:
        pages.close()


def test_two_lost_leaves_lose_their_own_rows_only_and_the_loss_is_counted(path: Path) -> None:
    found = leaves(path, "events")
    lost = found[4], found[20]
    pages = Pages(path)
    gone = {row.rowid for number in lost for row in pages.rows(number)}
    pages.close()
    kept = {seq for (seq,) in ask(path, "SELECT seq FROM events")} - gone
    zero(path, *lost)
    done = repair.repair(path, "two leaves")
    assert {seq for (seq,) in ask(path, "SELECT seq FROM events")} == kept
    assert {t.table: t.lost for t in done.tables}["events"] == len(gone) > 0


def test_a_lost_first_page_still_gives_up_every_conversation(path: Path) -> None:
    before = counts(path)
    zero(path, 1)
    done = repair.repair(path, "first page")
    after = counts(path)
    assert {name: after[name] for name in ("threads", "inputs", "turns", "events", "peers")} == {
        name: before[name] for name in ("threads", "inputs", "turns", "events", "peers")
    }
    assert {t.table: t.lost for t in done.tables}["events"] is None


def test_a_lost_first_page_still_gives_up_what_stands_in_tables_without_rowids(path: Path) -> None:
    at, tables = 1_795_998_048.25, ("settings", "seeds", "grants", "accesses", "loose_files")
    connection = apsw.Connection(str(path))
    connection.execute("UPDATE settings SET updated_at = ?", (at,))
    connection.execute("INSERT INTO settings VALUES ('core.agent.persona', ?, ?)", (f'"{LONG}"', at))
    connection.execute("INSERT INTO seeds VALUES ('grants.cli', ?)", (at,))
    connection.execute("INSERT INTO grants VALUES ('cli', 'events.notices', ?)", (at,))
    connection.execute("INSERT INTO accesses SELECT 'turn_' || seq, id, ? FROM events WHERE seq < 50", (at,))
    connection.execute("INSERT OR REPLACE INTO loose_files VALUES (?)", ("0a" * 32,))
    before = {table: sorted(connection.execute(f"SELECT * FROM {table}").fetchall()) for table in tables}
    connection.close()
    zero(path, 1)
    repair.repair(path, "first page")
    assert {table: sorted(ask(path, f"SELECT * FROM {table}")) for table in tables} == before


def test_a_file_cut_short_gives_what_is_left(path: Path, sound: bytes) -> None:
    os.truncate(path, len(sound) // PAGE * 3 // 4 * PAGE)
    repair.repair(path, "cut")
    after = counts(path)
    assert 0 < after["events"] < 2 * TURNS
    assert ask(path, "PRAGMA integrity_check") == [("ok",)]


def test_what_stood_only_in_the_log_is_saved_too(tmp_path: Path, sound: bytes) -> None:
    live, path = tmp_path / "live" / "homed.db", tmp_path / "copy" / "homed.db"

    async def main() -> None:
        async with open_store(live) as store:
            await store.write(fill)
            path.parent.mkdir()
            path.write_bytes(live.read_bytes())
            path.with_name("homed.db-wal").write_bytes(live.with_name("homed.db-wal").read_bytes())

    trio.run(main)
    assert path.with_name("homed.db-wal").stat().st_size > 100 * PAGE
    pages = Pages(path)
    assert sum(1 for number in pages.leaves() for _ in pages.rows(number)) > 3 * TURNS
    pages.close()
    zero(path, 1)
    done = repair.repair(path, "log")
    assert counts(path)["events"] == 2 * TURNS
    assert (done.kept / "homed.db-wal").exists()
    assert not path.with_name("homed.db-wal").exists()


def test_numbers_of_lost_events_are_not_given_again(path: Path) -> None:
    last = max(leaves(path, "events"))
    zero(path, last)
    repair.repair(path, "last leaf")
    connection = open_writer(path)
    try:
        assert connection.execute("SELECT seq FROM sqlite_sequence WHERE name = 'events'").get == 2 * TURNS
    finally:
        connection.close()


@pytest.mark.parametrize("seed", range(12))
def test_random_damage_never_breaks_the_rebuild_and_what_it_keeps_was_there(path: Path, seed: int) -> None:
    before: dict[str, str] = dict(ask(path, "SELECT id, text FROM events"))
    dice, data = random.Random(seed), bytearray(path.read_bytes())
    for _ in range(dice.randint(1, 6)):
        at, size = dice.randrange(PAGE, len(data)), dice.choice((1, 16, 300, PAGE, 3 * PAGE))
        data[at : at + size] = dice.randbytes(min(size, len(data) - at))
    path.write_bytes(data)
    repair.repair(path, "random")
    after: dict[str, str] = dict(ask(path, "SELECT id, text FROM events"))
    assert after.keys() <= before.keys()
    assert sum(after[key] == before[key] for key in after) >= len(before) - 60
    assert ask(path, "PRAGMA integrity_check") == [("ok",)]
    assert ask(path, "PRAGMA foreign_key_check") == []


def test_what_is_no_database_of_ours_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "homed.db"
    path.write_text("my only copy of a poem\n" * 1000)
    before = fingerprint(tmp_path)
    with pytest.raises(StorageError) as refused:
        repair.repair(path, "poem")
    assert refused.value.detail["reason"] == "nothing_to_save"
    assert fingerprint(tmp_path) == before


def test_a_database_of_another_program_or_a_later_version_is_not_touched(path: Path) -> None:
    set_version(path, 99)
    before = fingerprint(path.parent)
    with pytest.raises(StorageError) as refused:
        repair.repair(path, "newer")
    assert refused.value.detail["reason"] == "newer_schema"
    assert fingerprint(path.parent) == before


def test_a_rebuild_that_does_not_pass_its_checks_changes_nothing(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(repair.INVARIANTS, "nonsense", "SELECT 1")
    before = fingerprint(path.parent)
    with pytest.raises(StorageError, match="nonsense"):
        repair.repair(path, "asked")
    assert fingerprint(path.parent) == before


class Cut(Exception):
    """The power goes."""


def cut_at(monkeypatch: pytest.MonkeyPatch, target: object, name: str, nth: int) -> None:
    """Let the ``nth`` call of ``target.name`` not happen, nor anything after it."""
    real: Callable[..., object] = getattr(target, name)
    calls = iter(range(1, 1000))

    def call(*args: object, **named: object) -> object:
        if next(calls) >= nth:
            raise Cut
        return real(*args, **named)

    monkeypatch.setattr(target, name, call)


@pytest.mark.parametrize("nth", range(1, 6))
def test_a_power_cut_at_any_step_of_the_change_leaves_one_whole_database(
    path: Path, sound: bytes, nth: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    path.with_name("homed.db-wal").write_bytes(b"the log of the old one, which must never meet the new one" * 10)
    expected = counts_of(sound, path.parent)
    with monkeypatch.context() as patch:
        cut_at(patch, Path, "replace", nth)
        with suppress(Cut):
            repair.repair(path, "cut")
    finish_swap(path)
    finish_swap(path)
    if not (path.parent / "damaged").exists() or not list((path.parent / "damaged").glob("*/homed.db")):
        assert path.read_bytes() == sound, "cut off before the new one counted: the old one as it was"
    else:
        assert not path.with_name("homed.db-wal").exists()
        assert next((path.parent / "damaged").glob("*/homed.db")).read_bytes() == sound
    path.with_name("homed.db-wal").unlink(missing_ok=True)
    assert counts(path) == expected


def counts_of(data: bytes, folder: Path) -> dict[str, int]:
    copy = folder / "copy.db"
    copy.write_bytes(data)
    found = counts(copy)
    for file in folder.glob("copy.db*"):
        file.unlink()
    return found


def test_the_copy_that_a_start_kept_is_used_and_not_made_twice(path: Path) -> None:
    zero(path, 3)
    kept = damage.keep(damage.Damage(path, "page 3"))
    assert damage.keep(damage.Damage(path, "page 3")).kept == kept.kept
    assert str(repair.repair(path, "page 3").kept) == kept.kept
    assert len(list((path.parent / "damaged").iterdir())) == 1


def test_the_file_of_an_attachment_whose_event_is_lost_stays(path: Path) -> None:
    lost = leaves(path, "events")[4]
    pages = Pages(path)
    seq = next(iter(pages.rows(lost))).rowid
    pages.close()
    connection = apsw.Connection(str(path))
    connection.execute(
        "INSERT INTO blocks (id, hash, media_type, bytes, event, holder_layer, created_at)"
        " SELECT 'b', 'the hash', 'image/png', 1, id, layer, 0 FROM events WHERE seq = ?",
        (seq,),
    )
    connection.execute("INSERT INTO loose_files VALUES ('let go before')")
    connection.close()
    zero(path, lost)
    done = repair.repair(path, "leaf")
    assert done.mended["rows that belonged to something lost"] == 1
    assert ask(path, "SELECT hash FROM loose_files") == [("let go before",)]


def test_everything_is_indexed_anew(path: Path) -> None:
    zero(path, 3)
    repair.repair(path, "page 3")
    assert ask(path, "SELECT mark, backlog FROM word_marks") == [(2 * TURNS, 2 * TURNS)]
    assert ask(path, "SELECT count(*) FROM word_counts") == [(0,)]


def test_settings_on_both_sides_of_a_lost_page_are_saved(path: Path) -> None:
    pages = ask(path, "SELECT pageno FROM dbstat WHERE name = 'settings' AND pagetype = 'leaf' ORDER BY path")
    assert len(pages) > 4
    zero(path, pages[2][0])
    repair.repair(path, "settings")
    keys = {key for (key,) in ask(path, "SELECT key FROM settings")}
    assert {"plugin.x.k00000", "plugin.x.k00099"} <= keys
    assert 100 - 30 < len(keys) < 100
