"""The look as a whole: each check once, none takes another with it, and everybody hears how far it is."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing

from homed.config.definitions import CORE
from homed.errors import StorageError
from homed.jobs.memcheck import doctor
from homed.jobs.memcheck.check import Look, Unmended
from homed.jobs.memcheck.findings import Finding, Progress, Report, Status
from homed.jobs.memcheck.ondemand import DoctorPorts, MemoryDoctor
from homed.jobs.memcheck.registry import CHECKS
from homed.jobs.memcheck.room import Room
from homed.memory import stable, tombstones
from homed.paths import Paths
from homed.redact import Redactor
from homed.store.db import open_store
from homed.store.examine import LookingStore
from homed.store.rows import ReadOnly, Storage, Tx
from tests.homed.jobs.memcheck.ailing import NOW, build, harm, room
from tests.homed.jobs.memcheck.plants import Ids

BY_ID = {check.id: check for check in CHECKS}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Ids]:
    folder = tmp_path_factory.mktemp("sound") / "data"
    folder.mkdir()
    return folder, trio.run(build, folder)


@pytest.fixture
def folder(built: tuple[Path, Ids], tmp_path: Path) -> Path:
    return Path(shutil.copytree(built[0], tmp_path / "data"))


@dataclass(frozen=True)
class One(Unmended):
    """A check that does as it is told."""

    id: str = "one"
    name: str = "One"
    fails: Exception | None = None

    async def look(self, room: Room) -> Look:
        """Pass, or raise."""
        await trio.lowlevel.checkpoint()
        if self.fails is not None:
            raise self.fails
        return Look(Status.PASS, "Read 1 things: nothing wrong.", read=1)


def named(id_: str, fails: Exception | None = None) -> One:
    return One(id=id_, fails=fails)


async def examined(folder: Path, checks: Sequence[Any], **more: Any) -> Report:
    async with open_store(folder / "homed.db") as store:
        return await doctor.examine(room(store, folder), checks, **more)


async def one(folder: Path, id_: str, **more: Any) -> Finding:
    async with open_store(folder / "homed.db") as store:
        return (await doctor.examine(room(store, folder, **more), [BY_ID[id_]])).findings[0]


# -- the look ----------------------------------------------------------------------------------------------------------


def test_every_check_has_an_id_of_its_own() -> None:
    assert len(BY_ID) == len(CHECKS) > 80
    assert all(check.id.replace("_", "").isalpha() and check.name for check in CHECKS)


async def test_a_check_that_raises_is_an_error_and_the_others_go_on(tmp_path: Path) -> None:
    full = StorageError("no room left for plums", hint="Free some.", detail={"reason": "full"})
    report = await examined(
        tmp_path, [named("a"), named("b", full), named("c", ValueError("the text of a memory")), named("d")]
    )
    assert [(found.id, found.status.value) for found in report.findings] == [
        ("a", "pass"), ("b", "error"), ("c", "error"), ("d", "pass"), ("self_check", "pass")
    ]  # fmt: skip
    assert report.findings[1].fix == "Free some."
    assert "ValueError" in report.findings[2].evidence
    assert "the text of a memory" not in str(report.wire())
    assert [found.id for found in report.wrong()] == ["b", "c"]
    assert not report.clean


def test_one_that_was_left_out_or_made_twice_is_told() -> None:
    def ran(*ids: str) -> list[Finding]:
        return [Finding(id_, "A", Status.PASS, "Read.") for id_ in ids]

    assert doctor.complete(ran("a", "b"), ["a", "b"]).status is Status.PASS
    for made, wanted in (("a", "ab"), ("aba", "ab"), ("abc", "ab"), ("aa", "aa"), ("", "")):
        found = doctor.complete(ran(*made), list(wanted))
        assert (found.status, bool(found.fix)) == (Status.FAIL, True), made


async def test_a_quick_look_leaves_out_what_is_only_for_a_deep_one(folder: Path) -> None:
    async with open_store(folder / "homed.db") as store:
        quick = await doctor.examine(room(store, folder, deep=False), CHECKS)
    assert quick.clean
    deep_only = {check.id for check in CHECKS if check.deep}
    assert deep_only == {"integrity", "files_changed", "vector_texts"}
    assert {found.id for found in quick.findings} == {check.id for check in CHECKS} - deep_only | {"self_check"}


async def test_an_empty_memory_says_that_there_is_nothing_yet_and_reads_what_there_is(tmp_path: Path) -> None:
    report = await examined(tmp_path, CHECKS)
    assert report.clean
    nothing = [found for found in report.findings if not found.read]
    assert len(nothing) > 60
    assert all(found.evidence.startswith("Nothing to check yet: there are no ") for found in nothing)
    assert all(found.evidence.startswith(("Read ", "Each of ")) for found in report.findings if found.read)


async def test_progress_names_each_check_before_it_is_made_and_the_end(tmp_path: Path) -> None:
    told: list[Progress] = []
    await examined(tmp_path, [named("a"), named("b")], progress=told.append)
    assert [(at.done, at.of, at.check) for at in told] == [(0, 3, "a"), (1, 3, "b"), (2, 3, "self_check"), (3, 3, "")]


async def test_nothing_of_what_is_remembered_is_in_what_is_told(folder: Path, built: tuple[Path, Ids]) -> None:
    harm(folder, "UPDATE evidence SET hash = 'x'", "UPDATE records SET key = 'x'", "UPDATE events SET source = 'x'")
    told = str((await examined(folder, CHECKS)).wire())
    assert not [word for word in ("Hildesheim", "Wolfenb", "Жучка", "腾讯云", "Minka") if word in told]
    assert built[1]["lives"] in told


async def test_it_changes_nothing_but_for_a_repair(folder: Path) -> None:
    harm(folder, "UPDATE records SET key = 'x'", "UPDATE word_counts SET documents = 1", "DELETE FROM vectors")

    def state() -> dict[str, bytes]:
        found = {path.name: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
        return {name: data for name, data in found.items() if data and not name.endswith("-shm")}

    before = state()
    looked = room(LookingStore(folder / "homed.db"), folder, vectors=None, running=False, looking=True)
    report = await doctor.examine(looked, CHECKS)
    assert {found.id for found in report.wrong()} >= {"record_keys", "event_counts", "record_vectors"}
    assert {found.status for found in report.findings} <= {Status.PASS, Status.WARN, Status.FAIL}
    after = state()
    assert sorted(after) == sorted(before)
    assert [name for name in before if after[name] != before[name]] == []


async def test_what_was_put_right_since_the_look_is_left_alone(folder: Path, built: tuple[Path, Ids]) -> None:
    """Two repairs at once, or somebody who edits meanwhile: what is mended is what is wrong in that transaction."""
    harm(folder, "UPDATE evidence SET hash = 'x'", ("UPDATE records SET key = 'x' WHERE id = ?", (built[1]["lives"],)))
    async with open_store(folder / "homed.db") as store:
        looked = room(store, folder)
        for id_ in ("evidence_hash", "record_keys"):
            seen = await BY_ID[id_].look(looked)
            assert seen.wrong > 0
            assert await BY_ID[id_].mend(looked, seen) == seen.wrong
            assert await BY_ID[id_].mend(looked, seen) == 0, id_


# -- single checks -----------------------------------------------------------------------------------------------------


async def test_storage_that_takes_nothing_fails(folder: Path) -> None:
    found = await one(folder, "storage")
    assert (found.status, found.read > 30) == (Status.PASS, True)

    class Broken(LookingStore):
        async def write(self, fn: Any) -> Any:
            raise StorageError("no", detail={"reason": "full"})

    class Kept(LookingStore):
        async def write(self, fn: Any) -> Any:
            raise ReadOnly("no")

    for store, word in ((Broken, "Nothing can be stored"), (Kept, "read-only")):
        looked = room(store(folder / "homed.db"), folder)
        found = (await doctor.examine(looked, [BY_ID["storage"]])).findings[0]
        assert (found.status, word in found.evidence, bool(found.fix)) == (Status.FAIL, True, True)
    gone = room(LookingStore(folder / "homed.db"), folder, looking=True, paths=Paths(folder / "none"))
    found = (await doctor.examine(gone, [BY_ID["storage"]])).findings[0]
    assert (found.status, "No file can be written" in found.evidence) == (Status.FAIL, True)


async def test_an_index_of_the_database_that_disagrees_with_its_table_is_found_by_a_deep_look(folder: Path) -> None:
    harm(
        folder, "DROP INDEX records_by_key", "CREATE INDEX records_by_key ON records (scope, text)",
        "PRAGMA writable_schema = ON",
        "UPDATE sqlite_schema SET sql = 'CREATE INDEX records_by_key ON records (scope, key)'"
        " WHERE name = 'records_by_key'",
    )  # fmt: skip
    found = await one(folder, "integrity")
    assert (found.status, "--repair" in found.fix) == (Status.FAIL, True)


async def test_facts_of_a_model_that_seldom_quotes_are_a_warning(folder: Path, built: tuple[Path, Ids]) -> None:
    assert (await one(folder, "source_coverage")).evidence.startswith("Of 4 records that hold 2 show their source")
    copies = [
        f"INSERT INTO records (id, scope, record, kind, text, key, origin, extractor, created_at, updated_at)"
        f" VALUES ('fact_{n:016x}', 'owner', 'fact', 'fact', 't{n}', 'k{n}', 'auto', 'model', 1, 1)"
        for n in range(20)
    ]
    harm(folder, *copies)
    found = await one(folder, "source_coverage")
    assert (found.status, "extract_source" in found.fix) == (Status.WARN, True)


async def test_more_records_than_a_scope_may_have_are_a_warning(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(stable.CAPS, "fact", 2)
    found = await one(folder, "caps")
    assert (found.status, found.wrong, found.ids, found.read) == (Status.WARN, 2, ("owner",), 5)


async def test_what_was_forgotten_and_is_there_again_is_hidden(folder: Path, built: tuple[Path, Ids]) -> None:
    def forget(tx: Tx) -> None:
        tombstones.bury(tx, "owner", texts=["the user's dog is called Rex"], at=90.0)
        tombstones.bury_ids(tx, "owner", "record", [built[1]["dog"]], at=90.0)
        known = stable.get(tx, built[1]["server"])
        assert known is not None
        tombstones.bury(tx, "owner", texts=[known.text], at=90.0)  # a person wrote it by hand since

    async with open_store(folder / "homed.db") as store:
        await store.write(forget)
        looked = room(store, folder)
        found = (await doctor.examine(looked, [BY_ID["forgotten_again"]])).findings[0]
        assert (found.status, found.ids) == (Status.FAIL, (built[1]["dog"],))
        assert (await doctor.examine(looked, [BY_ID["forgotten_again"]], repair=True)).clean
        assert await store.read(lambda tx: tx.value("SELECT status FROM records WHERE id = ?", (built[1]["dog"],))) == (
            "hidden"
        )


async def test_without_an_embedder_what_waits_is_no_fault(folder: Path) -> None:
    harm(folder, "DELETE FROM vectors", "INSERT INTO vector_todo SELECT 'event', seq, 0 FROM events")
    async with open_store(folder / "homed.db") as store:
        without = room(store, folder, vectors=None, running=False, now=NOW + 1e6)
        looked = [BY_ID["vectors_waiting"], BY_ID["event_vectors"], BY_ID["vector_texts"]]
        assert (await doctor.examine(without, looked)).clean
        late = await doctor.examine(room(store, folder, now=NOW + 1e6), looked)
    assert [(found.id, found.status.value) for found in late.wrong()] == [("vectors_waiting", "warn")]


async def test_a_job_that_runs_is_no_run_that_never_ended(folder: Path) -> None:
    harm(folder, f"INSERT INTO job_runs (job, started_at, state) VALUES ('distil', {NOW - 60}, 'running')")
    assert (await one(folder, "runs", busy=lambda: ["distil"])).status is Status.PASS
    assert (await one(folder, "runs", busy=lambda: ["prune"])).status is Status.FAIL
    assert (await one(folder, "runs", looking=True)).status is Status.PASS, "nobody knows what an unreachable one does"
    long = await one(folder, "runs", busy=lambda: ["distil"], now=NOW + 7 * 3600)
    assert (long.status, long.wrong) == (Status.FAIL, 1)


async def test_ids_that_went_rightly_are_no_fault_of_the_ledger(folder: Path, built: tuple[Path, Ids]) -> None:
    """Forgotten, thrown out for want of room: the id stays in what turns were told, and is known to be deleted."""
    async with open_store(folder / "homed.db") as store:
        await store.write(lambda tx: stable.remove(tx, [built[1]["server"]]))
        looked = room(store, folder)
        assert (await doctor.examine(looked, [BY_ID["injected_ids"]])).clean
        assert await store.read(lambda tx: tx.value("SELECT id FROM injected_gone")) == built[1]["server"]
        await store.write(lambda tx: tx.execute("DELETE FROM injections"))
        assert await store.read(lambda tx: tx.value("SELECT count(*) FROM injected_gone")) == 0


# -- on demand ---------------------------------------------------------------------------------------------------------


class Bus:
    """Remembers notices."""

    def __init__(self) -> None:
        self.posted: list[dict[str, object]] = []

    def post(self, type_: str, *, data: dict[str, object]) -> object:
        """Remember it."""
        assert type_ == "memory"
        self.posted.append(data)
        return None


def demanded(store: Storage, folder: Path, bus: Bus | None = None) -> MemoryDoctor:
    return MemoryDoctor(
        DoctorPorts(
            store=store, paths=Paths(folder), redactor=Redactor(), definitions=lambda: CORE, bus=bus, wall=lambda: NOW,
        )
    )  # fmt: skip


async def test_it_is_loaded_when_asked_and_a_short_look_posts_nothing(
    folder: Path, mock_clock: trio.testing.MockClock
) -> None:
    bus = Bus()
    async with open_store(folder / "homed.db") as store:
        report = await demanded(store, folder, bus).examine()
    assert report.clean
    assert bus.posted == []


async def test_a_look_of_more_than_a_second_is_heard_of_also_when_it_is_cut_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, autojump_clock: trio.testing.MockClock
) -> None:
    @dataclass(frozen=True)
    class Slow(One):
        async def look(self, room: Room) -> Look:
            await trio.sleep(0.8)
            return await super().look(room)

    from homed.jobs.memcheck import registry

    monkeypatch.setattr(registry, "CHECKS", tuple(Slow(id=f"c{n}") for n in "abcd"))
    bus, store = Bus(), LookingStore(tmp_path / "none.db")
    doctor_ = demanded(store, tmp_path, bus)
    await doctor_.examine()
    assert [(one["phase"], one["done"], one["total"], one["kind"]) for one in bus.posted] == [
        ("looking", 2, 5, "cc"), ("looking", 4, 5, "self_check"), ("end", 4, 5, "self_check")
    ]  # fmt: skip
    bus.posted.clear()
    with trio.move_on_after(2.0):
        await doctor_.examine(deep=True)
    assert [one["phase"] for one in bus.posted] == ["looking", "end"]


async def test_of_deep_looks_one_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    running = most = 0

    @dataclass(frozen=True)
    class Counting(One):
        async def look(self, room: Room) -> Look:
            nonlocal running, most
            running += 1
            most = max(most, running)
            await trio.testing.wait_all_tasks_blocked()
            running -= 1
            return await super().look(room)

    from homed.jobs.memcheck import registry

    monkeypatch.setattr(registry, "CHECKS", (Counting(),))
    doctor_ = demanded(LookingStore(tmp_path / "none.db"), tmp_path)
    async with trio.open_nursery() as nursery:
        for _ in range(3):
            nursery.start_soon(lambda: doctor_.examine(deep=True))
    assert most == 1
