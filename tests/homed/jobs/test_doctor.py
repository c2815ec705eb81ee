"""The whole look: what is put together, and what a deep one adds."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import pytest
import trio

from homed.errors import StorageError, Unavailable
from homed.jobs import contents, doctor
from homed.jobs.checks import Check, State, ok
from homed.jobs.doctor import Patient, examine, is_loopback
from homed.paths import Paths
from homed.providers.base import Source
from homed.providers.local.models import EMBEDDED
from homed.store.db import open_store
from homed.store.examine import LookingStore
from homed.store.filesystem import FileSystem
from homed.store.rows import Tx

T = TypeVar("T")


@dataclass(frozen=True)
class Tried:
    ok: bool
    error: str = ""
    hint: str = ""


@pytest.fixture
def patient(tmp_path: Path) -> Patient:
    paths = Paths(tmp_path / "data")
    paths.create()
    values: dict[str, object] = {"plugin.webui.listen": "127.0.0.1:8080"}
    return Patient(
        paths=paths, disk=FileSystem("ext4", True), redact=str, read=LookingStore(paths.db).read, setting=values.get,
        source=Source("a", "http://x", "m"), daemon=[ok("daemon", "not running")],
    )  # fmt: skip


async def named(patient: Patient, *, deep: bool = False) -> dict[str, Check]:
    found = await examine(patient, deep=deep)
    names = [check.name for check in found]
    assert len(set(names)) == len(names)
    return {check.name: check for check in found}


async def test_a_healthy_installation_has_nothing_bad_and_every_check_once(patient: Patient) -> None:
    fresh = await named(patient)
    assert {check.state for check in fresh.values()} == {State.OK}
    async with open_store(patient.paths.db):
        pass
    used = await named(patient, deep=True)
    assert {check.state for check in used.values()} == {State.OK}
    assert used.keys() - fresh.keys() == {"schema", "journal", "records", "word index", "attachments"}


async def test_what_a_running_daemon_met_counts_even_if_a_quick_look_does_not_see_it(patient: Patient) -> None:
    async with open_store(patient.paths.db):
        pass
    found = await named(replace(patient, damage="The database is damaged."))
    assert found["database"].state is State.BAD
    assert "--repair" in found["database"].hint


@pytest.mark.parametrize(
    ("reason", "hint"), [("corrupt", "--repair"), ("not_a_database", "--repair"), ("newer_schema", "the error's own")]
)
async def test_a_database_that_cannot_be_read_is_one_check_with_the_hint_that_helps(
    patient: Patient, reason: str, hint: str
) -> None:
    async def refuse(_: Callable[[Tx], T]) -> T:
        raise StorageError("no", hint="the error's own", detail={"reason": reason})

    patient.paths.db.write_bytes(b"something")
    found = await named(replace(patient, read=refuse))
    assert (found["database"].state, hint in found["database"].hint) == (State.BAD, True)


async def test_the_model_is_asked_only_in_a_deep_look(patient: Patient) -> None:
    asked: list[str] = []

    async def trial(name: str) -> Any:
        asked.append(name)
        return Tried(ok=len(asked) == 1, error="401", hint="Is the key right?")

    patient = replace(patient, trial=trial)
    assert (await named(patient))["model"].state is State.OK
    assert asked == []
    assert (await named(patient, deep=True))["model"].what == "a answered"
    second = (await named(patient, deep=True))["model"]
    assert (second.state, second.hint) == (State.BAD, "Is the key right?")


async def test_a_trial_that_fails_is_a_finding(patient: Patient) -> None:
    async def trial(_: str) -> Any:
        raise Unavailable("no network", hint="plug it in")

    assert (await named(replace(patient, trial=trial), deep=True))["model"].hint == "plug it in"


async def test_without_a_model_there_is_something_to_do(patient: Patient) -> None:
    assert (await named(replace(patient, source=None)))["model"].state is State.WARN


async def test_the_built_in_model_s_file(patient: Patient, monkeypatch: pytest.MonkeyPatch) -> None:
    patient = replace(patient, source=EMBEDDED)

    class Lost:
        def __init__(self, _: Path) -> None: ...

        def present(self) -> bool:
            return False

        def ready(self, **_: object) -> Path:
            raise Unavailable("The file is damaged.", hint="Run `make install`.")

    monkeypatch.setattr(doctor, "Weights", Lost)
    for deep in (False, True):
        found = (await named(patient, deep=deep))["model"]
        assert (found.state, found.hint) == (State.BAD, "Run `make install`.")


@pytest.mark.parametrize("deep", [False, True])
async def test_a_model_s_own_file_that_is_gone_or_another_s_is_bad_without_asking_it(
    patient: Patient, tmp_path: Path, deep: bool
) -> None:
    file = tmp_path / "mine.gguf"
    patient = replace(patient, source=Source("mine", "", "mine", adapter="local", path=str(file)))
    gone = (await named(patient, deep=deep))["model"]
    assert gone.state is State.BAD
    assert str(file) in gone.what
    file.write_bytes(b"something else")
    assert (await named(patient, deep=deep))["model"].state is State.BAD
    file.write_bytes(struct.pack("<4sIQQ", b"GGUF", 3, 1, 0))
    assert (await named(patient, deep=deep))["model"].state is State.OK


@pytest.mark.parametrize(
    ("address", "loopback"),
    [
        ("127.0.0.1:80", True), ("localhost:80", True), ("[::1]:80", True), ("8080", True), (":8080", True),
        ("0.0.0.0:80", False), ("[::]:80", False), ("192.168.1.2:80", False), ("myhost:80", False),
    ],
)  # fmt: skip
def test_loopback(address: str, loopback: bool) -> None:
    assert is_loopback(address) is loopback


async def test_files_are_read_outside_of_any_transaction_and_one_deleted_meanwhile_is_no_fault(
    patient: Patient, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_store(patient.paths.db) as store:
        name = hashlib.sha256(b"a plum").hexdigest()
        file = patient.paths.media / name[:2] / name
        file.parent.mkdir(parents=True)
        await store.write(
            lambda tx: tx.execute(
                "INSERT INTO uploads (id, peer, name, media_type, bytes, hash, created_at)"
                " VALUES ('u', 'cli:owner', 'a', 'text/plain', 6, ?, 1.0)",
                (name,),
            )
        )
        reads = 0

        async def read(fn: Callable[[Tx], T]) -> T:
            nonlocal reads
            reads += 1
            try:
                return await store.read(fn)
            finally:
                reads -= 1

        looked = contents.files

        def files(said: contents.Files, media: Path, *, deep: bool) -> Check:
            assert reads == 0, "nobody waits for the disk in a transaction"
            return looked(said, media, deep=deep)

        monkeypatch.setattr(contents, "files", files)
        used = replace(patient, read=read)
        assert (await named(used, deep=True))["attachments"].state is State.BAD
        found = looked

        def deleted_meanwhile(said: contents.Files, media: Path, *, deep: bool) -> Check:
            if said.named:
                trio.from_thread.run(store.write, lambda tx: tx.execute("DELETE FROM uploads"))
            return found(said, media, deep=deep)

        monkeypatch.setattr(contents, "files", deleted_meanwhile)
        assert (await named(used, deep=True))["attachments"].state is State.OK


@pytest.mark.parametrize(("running", "words"), [(True, "stop homed to have all of it read"), (False, "read whole")])
async def test_a_running_daemon_on_a_disk_without_a_log_is_not_kept_from_storing(
    patient: Patient, running: bool, words: str
) -> None:
    async with open_store(patient.paths.db):
        pass
    found = await named(replace(patient, disk=FileSystem("nfs4", False), running=running), deep=True)
    assert words in found["database"].what
