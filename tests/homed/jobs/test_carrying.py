"""Export and import: what went out comes in the same; what is none of ours is put aside and never half taken in."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import trio

from homed.errors import Conflict, InvalidInput, StorageError
from homed.jobs.exporting import Exported, ExportPorts, export
from homed.jobs.importing import Imported, Importing, ImportPorts
from homed.memory import portable, stable, tombstones
from homed.memory.portable import TABLES, BadLine
from homed.redact import Redactor
from homed.store.rows import Tx
from tests.kit.failpoints import RaiseAt
from tests.kit.forgetting import World, standing, world

PICTURE = b"the bytes of a picture"
HASH = hashlib.sha256(PICTURE).hexdigest()


@asynccontextmanager
async def filled(folder: Path) -> AsyncIterator[World]:
    async with world(folder) as here:
        one, _ = await here.say("My cat is called Mirabelle. 我的猫叫米拉。", file=PICTURE)
        two, _ = await here.say("Mirabelle sleeps all day.", scope="guest:telegram:7", peer="telegram:7")
        await here.learn("The user has a cat called Mirabelle.", (one, "My cat is called Mirabelle"), subject="user",
                         relation="has", object="Mirabelle", object_type="thing")  # fmt: skip
        await here.learn("Mirabelle sleeps.", two)
        await here.learn("The user's name is Anna.", one, subject="user", relation="name", object="Anna")
        await here.learn("The user's name is Berta.", one, subject="user", relation="name", object="Berta")

        def more(tx: Tx) -> None:
            found = stable.list_(tx, "owner")[0]
            stable.revise(tx, found, {"text": "The user is called Berta."}, why="test", at=70.0)
            tombstones.bury(tx, "owner", texts=["Something forgotten."], at=80.0)

        await here.store.write(more)
        yield here


async def out(here: World, target: Path, **more: Any) -> Exported:
    ports = ExportPorts(store=here.store, media=here.folder / "media", redact=Redactor().redact, wall=lambda: 5.0)
    return await export(ports, target, **more)


def importing(here: World, **more: Any) -> Importing:
    return Importing(
        ImportPorts(
            store=here.store, data=here.folder, media=here.folder / "media", redact=Redactor().redact,
            wall=lambda: 200.0, **more,
        )
    )  # fmt: skip


async def into(here: World, source: Path) -> Imported:
    return await importing(here).import_(source)


async def content(here: World) -> dict[str, list[tuple[Any, ...]]]:
    """Every row that is carried, without what is given anew."""

    def read(tx: Tx) -> dict[str, list[tuple[Any, ...]]]:
        found = {}
        for table in TABLES:
            columns = [c for c in table.columns if c != "seq" and (table.name, c) != ("evidence", "id")]
            quoted = ", ".join(f'"{column}"' for column in columns)
            found[table.name] = sorted(tx.all(f"SELECT {quoted} FROM {table.name}"), key=repr)
        return found

    return await here.store.read(read)


def edit(folder: Path, name: str, number: int, **changed: Any) -> None:
    lines = (folder / name).read_text("utf-8").splitlines()
    lines[number] = json.dumps({**json.loads(lines[number]), **changed})
    (folder / name).write_text("\n".join(lines) + "\n", "utf-8")


async def test_what_went_out_comes_in_the_same(tmp_path: Path) -> None:
    async with filled(tmp_path / "one") as here:
        done = await out(here, tmp_path / "out")
        before = await content(here)
        assert done.counts == {table.name: len(before[table.name]) for table in TABLES}
        assert min(done.counts[name] for name in ("events", "blocks", "records", "evidence", "entities", "revisions",
                                                  "tombstones", "entity_names")) > 0  # fmt: skip
    async with world(tmp_path / "two") as here:
        taken = await into(here, tmp_path / "out")
        after = await content(here)
        # tombstones are hashes with a key that is told to nobody: they say something only where they were made
        assert after.pop("tombstones") == []
        assert after == {name: rows for name, rows in before.items() if name != "tombstones"}
        assert (taken.refused, taken.known, taken.forgotten, taken.aside) == ({}, 0, 0, "")
        assert (here.folder / "media" / HASH[:2] / HASH).read_bytes() == PICTURE
        assert await here.value("SELECT count(*) FROM vector_todo WHERE kind = 'event'") == 4
        assert await here.value("SELECT count(*) FROM records WHERE superseded_by IS NOT NULL") == 1
        again = await into(here, tmp_path / "out")
        assert (again.taken, again.revised) == ({}, 0)
        second = await out(here, tmp_path / "again")
        assert second.counts["events"] == done.counts["events"]
    for name in (f"{table}.jsonl" for table in ("events", "records", "evidence", "entities", "blocks")):
        assert (tmp_path / "again" / name).read_bytes() == (tmp_path / "out" / name).read_bytes(), name


async def test_back_into_the_same_memory_tombstones_count_and_what_was_forgotten_stays_so(tmp_path: Path) -> None:
    async with filled(tmp_path / "one") as here:
        await out(here, tmp_path / "out")
        event = str(await here.value("SELECT id FROM events WHERE text LIKE '%Mirabelle%' AND scope = 'owner'"))
        await here.forgetting.forget("event", event)
        await here.forgetting.forget("peer", "telegram:7")
        await here.store.write(lambda tx: tx.execute("DELETE FROM tombstones WHERE at = 80.0"))
        before = await content(here)
        taken = await into(here, tmp_path / "out")
        after = await content(here)
        assert await here.value("SELECT count(*) FROM events WHERE text LIKE '%Mirabelle%'") == 0
        assert await here.value("SELECT count(*) FROM records") == 0
        assert set(taken.taken) <= {"tombstones", "entity_names", "threads"}
        assert taken.taken["tombstones"] > 0
        assert taken.forgotten > 0
        after["tombstones"] = before["tombstones"] = []
        assert after == before


async def test_tombstones_of_either_house_count_where_a_backup_of_another_was_put_back(tmp_path: Path) -> None:
    async with filled(tmp_path / "one") as here:
        await out(here, tmp_path / "before")
        stones = await here.value("SELECT count(*) FROM tombstones")
        assert stones != 0
        # as restoring does: the key of the backup first
        await here.store.write(
            lambda tx: tx.execute("UPDATE memory_key SET key = CAST(? || key AS BLOB)", (b"k" * 32,))
        )
        await out(here, tmp_path / "since")
        for name in ("before", "since"):
            await here.store.write(lambda tx: tx.execute("DELETE FROM tombstones"))
            await into(here, tmp_path / name)
            assert await here.value("SELECT count(*) FROM tombstones") == stones, name
        await here.store.write(lambda tx: tx.execute("DELETE FROM tombstones"))
        await here.store.write(lambda tx: tx.execute("UPDATE memory_key SET key = substr(key, 33)"))
        await into(here, tmp_path / "since")  # a house that knows one of the two
        assert await here.value("SELECT count(*) FROM tombstones") == stones


async def test_into_another_memory_what_comes_is_older_and_cold(tmp_path: Path) -> None:
    async with filled(tmp_path / "one") as here:
        await out(here, tmp_path / "out", scopes=["owner"])
    assert "telegram:7" not in (tmp_path / "out" / "events.jsonl").read_text("utf-8")
    async with world(tmp_path / "two") as here:
        await here.say("Something of my own was here before.")
        await into(here, tmp_path / "out")
        layers = await here.store.read(lambda tx: tx.all("SELECT layer, count(*) FROM events GROUP BY layer"))
        assert layers == [("cold", 2), ("context", 2)]
        assert await here.value("SELECT holder_layer FROM blocks") == "cold"
        assert await here.value("SELECT count(*) FROM word_index WHERE word_index MATCH '\"x\"'") == 0


async def test_what_rested_on_something_forgotten_does_not_come_back_with_its_words(tmp_path: Path) -> None:
    async with world(tmp_path / "one") as here:
        lost, _ = await here.say("My cat Mirabelle hides in the flowerpot.")
        left, _ = await here.say("My cat sleeps all day long.")
        alone, _ = await here.say("Mirabelle!", scope="guest:telegram:7")
        partly = await here.learn("Mirabelle hides and sleeps all day.", lost, left)
        stays = await here.learn("The cat sleeps all day long.", (left, "cat sleeps all day long"), lost)

        def more(tx: Tx) -> None:
            tx.execute("UPDATE events SET pass = 'model'")
            tx.execute("UPDATE threads SET title = 'My cat Mirabelle hides in…' WHERE scope = 'owner'")
            tx.execute("UPDATE threads SET title = 'Mirabelle!' WHERE scope <> 'owner'")
            first = stable.get(tx, stays)
            assert first is not None
            stable.revise(tx, first, {"text": "The cat sleeps."}, why="test", at=70.0)
            tx.execute("UPDATE revisions SET text = 'In the flowerpot the cat sleeps.'")

        await here.store.write(more)
        await out(here, tmp_path / "out")
        await out(here, tmp_path / "holo", format="holo")
        await here.forgetting.forget("event", lost.id)
        await here.forgetting.forget("thread", alone.thread)
        before = await content(here)
        assert [row[0] for row in before["records"]] == [stays]
        done = await into(here, tmp_path / "out")
        await into(here, tmp_path / "holo")
        assert {**await content(here), "tombstones": []} == {**before, "tombstones": []}
        assert done.forgotten > 0
        assert await here.value("SELECT pass FROM events WHERE id = ?", left.id) == "", "it is gone through again"
    assert standing(tmp_path / "one", "Mirabelle", "flowerpot") == {}

    async with world(tmp_path / "one") as here:  # as it is after a backup of before the record: it was never here
        await here.store.write(lambda tx: tx.execute("DELETE FROM tombstones"))
        await here.store.write(lambda tx: tombstones.bury(tx, "owner", events=[lost.id], at=1.0))
        await into(here, tmp_path / "out")
        assert await here.value("SELECT count(*) FROM records WHERE id = ?", partly) == 0
        assert await here.value("SELECT count(*) FROM revisions") == 0


async def test_of_somebody_who_was_forgotten_nothing_comes_back(tmp_path: Path) -> None:
    peer = "telegram:zoya_4711"
    async with world(tmp_path / "one") as here:
        said, _ = await here.say("It is Zoyenka here, hello you.", "Hi.", scope="group:telegram:7", peer=peer)
        other, _ = await here.say("Somebody else is here too.", scope="group:telegram:7", peer="telegram:other")
        own, _ = await here.say("In private I am called Zoyenka.", "So.", scope=f"guest:{peer}", peer=peer)
        await here.learn("Whoever it is likes trains.", other, observer="telegram:other", observed=peer)
        await here.learn("By hand of Zoyenka.", own, origin="manual", extractor="manual", subject="Zoyenka",
                         subject_type="person", relation="likes", object="tea")  # fmt: skip

        def more(tx: Tx) -> None:
            tx.execute("UPDATE threads SET title = 'It is Zoyenka here, hello you.' WHERE id = ?", (said.thread,))
            for number, scope in enumerate(("group:telegram:7", f"trusted:{peer}")):
                tx.execute("INSERT INTO entities (id, scope, name, created_at, updated_at)"
                           " VALUES (?, ?, 'Zoyenka', 1, 1)", (f"ent_{number}", scope))  # fmt: skip
                tx.execute("INSERT INTO entity_names VALUES (?, ?, ?, ?)", (scope, f"@{peer}", peer, f"ent_{number}"))
                tx.execute("INSERT INTO entity_names VALUES (?, 'zoyenka', 'Zoyenka', ?)", (scope, f"ent_{number}"))

        await here.store.write(more)
        await out(here, tmp_path / "out")
        proof = await here.forgetting.forget("peer", peer)
        assert proof.clean, proof
        before = await content(here)
        assert (await into(here, tmp_path / "out")).forgotten > 0
        assert {**await content(here), "tombstones": []} == {**before, "tombstones": []}
    assert standing(tmp_path / "one", "Zoyenka", "zoya_4711", "likes trains") == {}


def put_aside(done: Imported) -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path(done.aside).read_text().splitlines()]


HOSTILE: dict[str, tuple[str, dict[str, Any], str]] = {
    "another hash": ("blocks.jsonl", {"hash": "0" * 64}, "its file is missing"),
    "a path": ("blocks.jsonl", {"hash": "../../../../etc/passwd"}, "a hash that is none"),
    "a wrong type": ("events.jsonl", {"created_at": "yesterday"}, "a value of a wrong kind"),
    "a wrong layer": ("events.jsonl", {"layer": "nowhere"}, "a value of a wrong kind"),
    "no scope": ("events.jsonl", {"scope": ""}, "no scope"),
    "a list": ("events.jsonl", {"text": ["x"]}, "text has a wrong type"),
    "too large": ("events.jsonl", {"seq": 1 << 70}, "seq is too large"),
    "an excerpt": ("evidence.jsonl", {"excerpt": "Never said."}, "an excerpt that is not its hash's"),
    "another's scope": ("records.jsonl", {"scope": "guest:other"}, "it names what is not there"),
    "a zero": ("events.jsonl", {"text": "a\0b"}, "text holds a zero character"),
    "half a character": ("events.jsonl", {"text": "a\ud83d"}, "text holds half a character"),
    "no object": ("events.jsonl", {"data": "boo"}, "data has a wrong shape"),
    "tags of tags": ("records.jsonl", {"tags": [["x"]]}, "tags has a wrong shape"),
    "a time beyond all": ("events.jsonl", {"created_at": 1e300}, "created_at is too large"),
    "an endless id": ("events.jsonl", {"id": "ev_" + "x" * 200}, "id is no id"),
}


@pytest.fixture(scope="module")
def went_out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An export, to be copied."""
    folder = tmp_path_factory.mktemp("went_out")

    async def make() -> None:
        async with filled(folder / "one") as here:
            await out(here, folder / "out")

    trio.run(make)
    return folder / "out"


@pytest.mark.parametrize("case", HOSTILE)
async def test_a_hostile_line_is_put_aside_with_its_number_and_the_rest_is_taken_in(
    tmp_path: Path, went_out: Path, case: str
) -> None:
    file, change, why = HOSTILE[case]
    shutil.copytree(went_out, tmp_path / "out")
    edit(tmp_path / "out", file, 0, **change)
    async with world(tmp_path / "two") as here:
        done = await into(here, tmp_path / "out")
        assert why in done.refused
        aside = put_aside(done)
        assert aside[0]["file"] in (file, "evidence.jsonl")
        assert aside[0]["line"] in (0, 1)
        assert "Mirabelle" not in str(aside)
        assert await here.value("SELECT count(*) FROM threads") == 2
        bare = "SELECT count(*) FROM records WHERE id NOT IN (SELECT record FROM evidence)"
        assert await here.value(bare) == 0
        assert not await here.store.read(lambda tx: tx.all("PRAGMA foreign_key_check"))
    assert [path.name for path in (tmp_path / "two" / "imports").iterdir()] == [Path(done.aside).name]


async def test_lines_that_are_no_json_too_long_or_deep(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with filled(tmp_path / "one") as here:
        await out(here, tmp_path / "out")
    monkeypatch.setattr(portable, "LONGEST", 20_000)
    with (tmp_path / "out" / "events.jsonl").open("ab") as file:
        file.write(
            b"{broken\n\n" + b"\xff\xfe\n" + b"[" * 15_000 + b"\n" + b'"' + b"x" * 90_000 + b'"\n' + b'{"seq": NaN}'
        )
    async with world(tmp_path / "two") as here:
        done = await into(here, tmp_path / "out")
        assert done.refused == {"no JSON": 3, "no UTF-8": 1, "too long": 1}
        assert [one["line"] for one in put_aside(done)] == [5, 7, 8, 9, 10]
        assert done.taken["events"] == 4


async def test_what_is_none_of_another_version_or_a_link_is_refused(tmp_path: Path) -> None:
    async with filled(tmp_path / "one") as here:
        await out(here, tmp_path / "out")
        with pytest.raises(Conflict):
            await out(here, tmp_path / "out")
        for change, error in (({"version": 2}, "version 2"), ({"format": "other"}, "no export")):
            bad = tmp_path / error
            shutil.copytree(tmp_path / "out", bad)
            edit_manifest(bad, **change)
            with pytest.raises(InvalidInput, match=error):
                await into(here, bad)
        with pytest.raises(InvalidInput):
            await into(here, tmp_path / "nowhere")
        linked = tmp_path / "linked"
        shutil.copytree(tmp_path / "out", linked)
        (linked / "events.jsonl").unlink()
        (linked / "events.jsonl").symlink_to(tmp_path / "out" / "events.jsonl")
        with pytest.raises(StorageError):
            await into(here, linked)
        assert not list((here.folder / "imports").iterdir())


async def test_a_pipe_in_the_place_of_a_file_is_not_waited_on(tmp_path: Path, went_out: Path) -> None:
    shutil.copytree(went_out, tmp_path / "out")
    (tmp_path / "out" / "media" / HASH[:2] / HASH).unlink()
    os.mkfifo(tmp_path / "out" / "media" / HASH[:2] / HASH)
    (tmp_path / "holo").mkdir()
    os.mkfifo(tmp_path / "holo" / "l2.json")
    async with world(tmp_path / "two") as here:
        assert "its file is missing" in (await into(here, tmp_path / "out")).refused
        assert (await into(here, tmp_path / "holo")).refused == {"l2.json is no plain file": 1}


def edit_manifest(folder: Path, **change: Any) -> None:
    found = json.loads((folder / "manifest.json").read_text())
    (folder / "manifest.json").write_text(json.dumps({**found, **change}))


async def test_secrets_go_neither_out_nor_in(tmp_path: Path) -> None:
    key = "sk-abcdefghijklmnop1234567890"
    async with filled(tmp_path / "one") as here:
        await here.store.write(lambda tx: tx.execute("UPDATE events SET text = text || ? WHERE seq = 1", (f" {key}",)))
        await out(here, tmp_path / "out")
    assert key not in (tmp_path / "out" / "events.jsonl").read_text("utf-8")
    edit(tmp_path / "out", "events.jsonl", 0, text=f"It is {key}")
    async with world(tmp_path / "two") as here:
        await into(here, tmp_path / "out")
        assert await here.value("SELECT count(*) FROM events WHERE instr(text, ?)", key) == 0


async def test_an_import_that_is_cut_off_is_finished_by_the_next_start(tmp_path: Path) -> None:
    async with filled(tmp_path / "one") as here:
        await out(here, tmp_path / "out")
        before = await content(here)
    for point, nth in (("import.staged", 1), ("import.taken", 1), ("import.taken", 3), ("import.placed", 1)):
        folder = tmp_path / f"{point}{nth}"
        async with world(folder) as here:
            cut = importing(here, failpoints=RaiseAt(point, StorageError("the power went"), nth))
            with pytest.raises(StorageError):
                await cut.import_(tmp_path / "out")
        async with world(folder) as here:
            resumed = await importing(here).resume()
            after = await content(here)
            if point == "import.staged":  # nothing was taken in yet, and somebody was told
                assert resumed == 0
                await into(here, tmp_path / "out")
                after = await content(here)
            assert {**after, "tombstones": []} == {**before, "tombstones": []}, (point, nth)
            assert (folder / "media" / HASH[:2] / HASH).read_bytes() == PICTURE
            assert not [path for path in (folder / "imports").iterdir() if path.is_dir()]


async def test_one_that_cannot_be_finished_holds_up_no_other_and_what_was_put_aside_stays(tmp_path: Path) -> None:
    async with filled(tmp_path / "one") as here:
        await out(here, tmp_path / "out")
    edit(tmp_path / "out", "events.jsonl", 0, text="a\0b")
    async with world(tmp_path / "two") as here:
        cut = importing(here, failpoints=RaiseAt("import.taken", StorageError("the power went"), 1))
        with pytest.raises(StorageError):
            await cut.import_(tmp_path / "out")
        broken = tmp_path / "two" / "imports" / "import_0"
        broken.mkdir()
        (broken / "ready.json").write_text("{")
        assert await importing(here).resume() == 1
        assert await here.value("SELECT count(*) FROM events") == 3
    (aside,) = (tmp_path / "two" / "imports").glob("*.jsonl")
    assert "zero character" in aside.read_text()


def test_a_line_is_read_as_it_was_written() -> None:
    table = portable.BY_NAME["revisions"]
    row = ("fact_1", 2, "", "text\nof “two” lines\u2028", 5, '["a","b"]', "", 1.5)
    assert portable.values(table, portable.line(table, row)) == row
    with pytest.raises(BadLine, match="at is too large"):
        portable.values(table, portable.line(table, row).replace("1.5", "1e999"))
    with pytest.raises(BadLine, match="without why"):
        portable.values(table, '{"record": "x", "revision": 1, "title": "", "text": "", "importance": 1, "tags": []}')
