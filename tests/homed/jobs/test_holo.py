"""holo-memory's files: what goes out is what it knows, and what is edited by hand comes back as a revision."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from homed.memory import stable, tombstones
from homed.store.rows import Tx
from tests.homed.jobs.test_carrying import filled, into, out
from tests.kit.forgetting import World


def changed(folder: Path, name: str, change: Callable[[list[dict[str, Any]]], None]) -> None:
    found = json.loads((folder / name).read_text("utf-8"))
    change(found["records"])
    (folder / name).write_text(json.dumps(found, ensure_ascii=False), "utf-8")


async def records(here: World) -> dict[str, stable.Record]:
    def read(tx: Tx) -> dict[str, stable.Record]:
        return {record.text: record for record in stable.select(tx, "1 ORDER BY seq")}

    return await here.store.read(read)


async def test_the_files_say_what_the_records_say(tmp_path: Path) -> None:
    async with filled(tmp_path / "one") as here:
        done = await out(here, tmp_path / "holo", format="holo")
        known = await records(here)
    assert {path.name for path in (tmp_path / "holo").iterdir()} == {
        "l1.json", "l2.json", "l3.json", "injections.jsonl",
    }  # fmt: skip
    found = json.loads((tmp_path / "holo" / "l2.json").read_text("utf-8"))["records"]
    assert [one["id"] for one in found] == [record.id for record in known.values()]
    cat = next(one for one in found if "cat" in one["text"])
    assert (cat["layer"], cat["scope"], cat["source"]["excerpt"]) == ("l2", "user", "My cat is called Mirabelle")
    berta = next(one for one in found if "Berta" in one["text"])
    assert [old["text"] for old in berta["history"]] == ["The user's name is Berta."]
    assert berta["revision"] == 2
    assert done.counts["l2.json"] >= len(found)
    assert json.loads((tmp_path / "holo" / "l1.json").read_text())["records"] == []


async def test_edits_by_hand_are_revisions_and_new_ones_facts_by_hand(tmp_path: Path) -> None:
    async with filled(tmp_path / "one") as here:
        await out(here, tmp_path / "holo", format="holo")

        def edit(found: list[dict[str, Any]]) -> None:
            next(one for one in found if "cat" in one["text"])["text"] = "The user has a grey cat called Mirabelle."
            found.append({"text": "The user plays the cello.", "kind": "preference", "importance": 8})
            found.append({"text": "api_key = abcdefgh12345678ijkl"})
            found.append({"text": "Something forgotten."})
            found.append({"importance": 3})
            found.append({"text": "x", "importance": "very"})

        changed(tmp_path / "holo", "l2.json", edit)
        await here.store.write(lambda tx: tombstones.bury(tx, "owner", texts=["Something forgotten."], at=1.0))
        done = await into(here, tmp_path / "holo")
        known = await records(here)
        assert (done.revised, done.taken, done.known, done.forgotten) == (1, {"records": 1}, 3, 1)
        assert done.refused == {"secret": 1, "no text": 1, "importance or tags": 1}
        grey = known["The user has a grey cat called Mirabelle."]
        assert (grey.origin, grey.revision) == ("manual", 2)
        history = await here.store.read(lambda tx: stable.history(tx, grey.id))
        assert [(old.text, old.why) for old in history] == [
            ("The user has a cat called Mirabelle.", "edited in an export")
        ]
        assert known["The user plays the cello."].importance == 8
        again = await into(here, tmp_path / "holo")
        assert (again.revised, again.taken) == (0, {"records": 0})


async def test_a_file_that_is_no_json_is_named_and_left_and_the_others_are_read(tmp_path: Path) -> None:
    async with filled(tmp_path / "one") as here:
        await out(here, tmp_path / "holo", format="holo")
        (tmp_path / "holo" / "l1.json").write_text("{ half of", "utf-8")
        (tmp_path / "holo" / "l3.json").write_text("7", "utf-8")
        before = await records(here)
        done = await into(here, tmp_path / "holo")
        assert done.refused == {"l1.json is no JSON": 1, "l3.json is no JSON": 1}
        assert done.known == len(before)
        assert await records(here) == before
    assert (tmp_path / "holo" / "l1.json").read_text("utf-8") == "{ half of"
