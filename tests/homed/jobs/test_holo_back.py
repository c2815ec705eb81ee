"""holo-memory's files out of one memory, into another, and out again; and what the health check says of what came."""

from __future__ import annotations

from pathlib import Path

import pytest

from homed.jobs.memcheck import doctor
from homed.jobs.memcheck.findings import Status
from homed.jobs.memcheck.registry import CHECKS
from homed.memory import stable
from homed.store.rows import Tx
from tests.homed.jobs.memcheck import ailing
from tests.homed.jobs.test_carrying import into, out
from tests.kit.forgetting import World, world
from tests.kit.holofiles import FILES, NOW, everything, exported, given, lived_in, original


async def test_out_of_one_memory_into_an_empty_one_and_out_again_is_the_same(tmp_path: Path) -> None:
    async with world(tmp_path / "one") as here:
        await lived_in(here)
        await out(here, tmp_path / "first", format="holo")
        graph = await here.store.read(lambda tx: tx.all(GRAPH))
    first = exported(tmp_path / "first")
    assert [len(first[name]) for name in FILES.values()] == [2, 8, 1]
    async with world(tmp_path / "two") as here:
        done = await into(here, tmp_path / "first")
        assert (done.taken, done.refused, done.known) == ({"summaries": 2, "facts": 8, "capsules": 1}, {}, 0)
        await out(here, tmp_path / "second", format="holo")
        assert await here.store.read(lambda tx: tx.all(GRAPH)) == graph, "what facts are about came along"
        assert await here.value("SELECT count(*) FROM records WHERE untrusted = 0") == 0
        before = await everything(here)
        assert (await into(here, tmp_path / "second")).known == (await into(here, tmp_path / "first")).known == 11
        assert await everything(here) == before
    second = exported(tmp_path / "second")
    for name, listed in first.items():
        for one, other in zip(listed, second[name], strict=True):
            assert other.pop("source") == {"origin": "import"}, "the place is of another memory"
            one.pop("source")
            assert other == one


GRAPH = (
    "SELECT r.text, s.name, s.type, r.relation, r.object, o.name, o.type FROM records r LEFT JOIN entities s"
    " ON s.id = r.subject LEFT JOIN entities o ON o.id = r.object_entity ORDER BY r.text"
)


@pytest.mark.parametrize("form", ["ours", "original"])
async def test_the_health_check_finds_nothing_wrong_with_what_came(tmp_path: Path, form: str) -> None:
    async with world(tmp_path / "one") as here:
        await lived_in(here)
        await out(here, tmp_path / "ours", format="holo")
    given(tmp_path / "original", **original())
    async with world(tmp_path / "two") as here:
        await here.say("Something of my own.")
        peer = (
            "INSERT INTO peers (id, plugin, role, created_at, seen_at) VALUES ('telegram:7', 'telegram', 'guest', 1, 1)"
        )
        await here.store.write(lambda tx: tx.execute(peer))  # whose memory comes along is somebody here
        before = await health(here)
        await into(here, tmp_path / form)
        await here.store.write(cited_once)  # by an answer here, after it had been cited elsewhere
        assert await health(here) == before


async def health(here: World) -> list[dict[str, tuple[str, tuple[str, ...]]]]:
    """What the quick and the deep look find wrong."""
    await ailing.vectors(here.store)
    found = []
    for deep in (False, True):
        room = ailing.room(here.store, here.folder, now=NOW, deep=deep)
        report = await doctor.examine(room, CHECKS)
        found.append({one.id: (one.evidence, one.ids) for one in report.findings if one.status is not Status.PASS})
    return found


def cited_once(tx: Tx) -> None:
    record = tx.value("SELECT id FROM records WHERE cited > 0 LIMIT 1")
    turn = tx.value("SELECT id FROM turns LIMIT 1")
    tx.execute("INSERT INTO citations (record, turn, at) VALUES (?, ?, 190)", (record, turn))
    stable.cite(tx, [record], at=190.0)


async def test_what_came_out_of_files_goes_on_with_an_export_of_all_that_is_remembered(tmp_path: Path) -> None:
    """A record that a pass made is nothing without its evidence; one from a file never had any."""
    given(tmp_path / "holo", **original())
    async with world(tmp_path / "one") as here:
        await into(here, tmp_path / "holo")
        before = (await everything(here))[:3]
        await out(here, tmp_path / "all")
    async with world(tmp_path / "two") as here:
        done = await into(here, tmp_path / "all")
        assert (done.refused, done.taken["records"]) == ({}, 4)
        assert (await everything(here))[:3] == before


async def test_facts_of_a_file_do_not_speak_against_the_model_that_reads_here(tmp_path: Path) -> None:
    letters = "abcdefghijklmnopqrstuvwxyz"
    listed = [{"text": f"Thing {one * 5} is known.", "extractor": "llm"} for one in letters]
    async with world(tmp_path / "one") as here:
        assert (await into(here, given(tmp_path / "holo", fact=listed))).taken == {"facts": 26}
        assert "source_coverage" not in (await health(here))[0]
