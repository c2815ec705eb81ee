"""What is raised out of the nursery tree."""

from __future__ import annotations

from pathlib import Path

import pytest
import trio
import trio.testing

from homed.app import Options, serve
from homed.errors import StorageError
from homed.events import SYSTEM, Bus
from homed.lifecycle import cause_of, report_damage, report_emptied
from homed.paths import Paths
from homed.store.db import open_store
from tests.homed.store.files import make_store


def grouped(*errors: BaseException) -> BaseExceptionGroup[BaseException]:
    return BaseExceptionGroup("nursery", [BaseExceptionGroup("inner", list(errors))])


def test_a_second_signal_is_an_interrupt_and_no_group() -> None:
    assert type(cause_of(grouped(KeyboardInterrupt(), KeyboardInterrupt()))) is KeyboardInterrupt


def test_an_error_of_ours_comes_out_alone_also_beside_a_signal() -> None:
    error = StorageError("full")
    assert cause_of(grouped(error)) is error
    assert cause_of(grouped(error, KeyboardInterrupt())) is error


def test_whatever_else_keeps_its_group_and_so_its_traceback() -> None:
    first, second = ValueError("a"), StorageError("b")
    left = cause_of(grouped(first, second))
    assert isinstance(left, BaseExceptionGroup)
    assert left.subgroup(lambda e: e in (first, second)) is not None


async def test_damage_is_said_once_in_the_log_to_the_person_and_on_the_bus(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    said: list[str] = []
    path = tmp_path / "homed.db"
    await make_store(path)
    with path.open("r+b") as file:
        file.seek(2 * 4096)
        file.write(bytes(4096))
    bus = Bus()
    with bus.subscribe(frozenset({SYSTEM})) as notices:
        async with open_store(path) as store:
            await report_damage(store, bus, said.append)
        notice = await notices.__anext__()
    assert notice.data["code"] == "read_only"
    assert "doctor --repair" in str(notice.data["hint"])
    errors = [record.getMessage() for record in caplog.records if record.levelname == "ERROR"]
    assert len(errors) == len(said) == 1
    assert "read-only" in errors[0]
    assert str(tmp_path / "damaged") in errors[0]


async def test_without_damage_nothing_is_said(tmp_path: Path) -> None:
    async with open_store(tmp_path / "homed.db") as store, trio.open_nursery() as nursery:
        nursery.start_soon(report_damage, store, Bus(), pytest.fail)
        await trio.testing.wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()


@pytest.mark.parametrize("there", [True, False])
def test_a_new_database_beside_attachments_of_an_earlier_one_is_said_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, there: bool
) -> None:
    said: list[str] = []
    paths = Paths(tmp_path)
    report_emptied(paths, said.append)
    (paths.media / "ab").mkdir(parents=True)
    if there:
        paths.db.touch()
    report_emptied(paths, said.append)
    assert said == []
    (paths.media / "ab" / "cd").write_bytes(b"x")
    report_emptied(paths, said.append)
    (warned,) = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert len(said) == 1
    for text in (warned, said[0]):
        assert str(paths.db) in text
        assert "put a copy of yours in its place" in text
    paths.db.write_bytes(b"SQLite format 3")
    report_emptied(paths, pytest.fail)


def test_a_start_tells_before_it_begins_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths, said = Paths(tmp_path / "data"), list[str]()
    paths.create()
    paths.media.mkdir(exist_ok=True)
    (paths.media / "abcd").write_bytes(b"x")
    paths.db.touch()
    monkeypatch.setattr("homed.app.trio.run", lambda *_: None)
    monkeypatch.setattr("homed.app.become_subreaper", lambda: None)
    assert serve(Options(paths=paths, say=said.append)) == 0
    assert "is empty" in said[0]
