"""Each kind of damage is found by its check, which says what to do; a repair mends what is safe, and all is well."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import trio

from homed.jobs.memcheck import doctor
from homed.jobs.memcheck.findings import Finding, Report, Status
from homed.jobs.memcheck.registry import CHECKS
from homed.store.db import open_store
from tests.homed.jobs.memcheck.ailing import KEY, build, room
from tests.homed.jobs.memcheck.plants import PLANTS, Ids, Plant

BY_ID = {check.id: check for check in CHECKS}
UNPLANTED = {"storage", "integrity", "source_coverage", "forgotten_again", "caps"}
"""Those with tests of their own."""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Ids]:
    folder = tmp_path_factory.mktemp("sound") / "data"
    folder.mkdir()
    return folder, trio.run(build, folder)


@pytest.fixture
def folder(built: tuple[Path, Ids], tmp_path: Path) -> Path:
    return Path(shutil.copytree(built[0], tmp_path / "data"))


async def look(folder: Path, *ids: str, repair: bool = False) -> Report:
    """With these checks alone, or all."""
    checks = [BY_ID[id_] for id_ in ids] or CHECKS
    async with open_store(folder / "homed.db") as store:
        return await doctor.examine(room(store, folder), checks, repair=repair)


def told(report: Report, id_: str) -> Finding:
    return next(one for one in report.findings if one.id == id_)


def test_there_is_damage_for_every_check() -> None:
    assert {plant.check for plant in PLANTS} == {check.id for check in CHECKS} - UNPLANTED
    assert len({str(plant) for plant in PLANTS}) == len(PLANTS) >= 20


async def test_a_sound_memory_is_sound_in_every_way(folder: Path) -> None:
    report = await look(folder)
    assert report.wrong() == []
    assert report.clean
    assert report.read > 300
    assert len(report.findings) == len(CHECKS) + 1


@pytest.mark.parametrize("plant", PLANTS, ids=str)
async def test_damage_is_found_and_mended_or_left_with_what_to_do(
    plant: Plant, built: tuple[Path, Ids], folder: Path
) -> None:
    assert told(await look(folder, plant.check), plant.check).status is Status.PASS
    plant.do(folder, built[1])
    found = told(await look(folder, plant.check), plant.check)
    assert (found.status.value, bool(found.fix)) == (plant.status, True), found
    assert found.read >= found.wrong >= 1
    assert found.ids
    mended = told(await look(folder, plant.check, repair=True), plant.check)
    if plant.left:
        assert mended.status.value == plant.status
        return
    assert (mended.status, mended.mends > 0, mended.mended[:7]) == (Status.PASS, True, "Mended:"), mended
    assert told(await look(folder, plant.check), plant.check).status is Status.PASS


@pytest.mark.parametrize("plant", [plant for plant in PLANTS if not plant.left], ids=str)
async def test_after_a_repair_nothing_at_all_is_wrong(plant: Plant, built: tuple[Path, Ids], folder: Path) -> None:
    plant.do(folder, built[1])
    await look(folder, repair=True)
    wrong = [(one.id, one.evidence) for one in (await look(folder)).wrong()]
    assert [id_ for id_, _ in wrong] == ([plant.then] if plant.then else []), wrong


async def test_all_at_once(built: tuple[Path, Ids], folder: Path) -> None:
    for plant in PLANTS:
        if not plant.alone:
            plant.do(folder, built[1])
    wanted = {plant.check for plant in PLANTS if not plant.alone}
    found = {one.id for one in (await look(folder)).wrong()}
    one_row = {"evidence_hash", "evidence_text", "evidence_span", "secrets_quotes", "quote_texts"}
    assert found >= wanted - one_row, "of what is wrong with one quote the first is told"
    await look(folder, repair=True)
    left = {one.id for one in (await look(folder)).wrong()}
    assert left <= {plant.check for plant in PLANTS if plant.left}
    assert KEY.encode() not in (folder / "homed.db").read_bytes()
