"""holo-memory's files: what goes out is what it knows, and what is edited by hand comes back as a revision."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from homed.jobs import holo
from homed.memory import capsules, hiding, injections, mutate, stable, tombstones
from homed.memory.capsules import NewCapsule
from homed.memory.evidence import Pointer
from homed.memory.injections import Injection, Line
from homed.store.rows import Tx
from tests.homed.jobs.test_carrying import filled, into, out
from tests.kit.forgetting import World, standing, world


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


async def test_edits_by_hand_are_revisions_and_new_ones_facts(tmp_path: Path) -> None:
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
        assert (done.revised, done.taken, done.known, done.forgotten) == (1, {"facts": 1}, 3, 1)
        assert done.refused == {"secret": 1, "no text": 1, "importance or tags": 1}
        grey = known["The user has a grey cat called Mirabelle."]
        assert (grey.origin, grey.revision) == ("manual", 2)
        history = await here.store.read(lambda tx: stable.history(tx, grey.id))
        assert [(old.text, old.why) for old in history] == [
            ("The user has a cat called Mirabelle.", "edited in an export")
        ]
        cello = known["The user plays the cello."]
        assert (cello.importance, cello.kind, cello.origin, cello.extractor) == (8, "preference", "import", "manual")
        again = await into(here, tmp_path / "holo")
        assert (again.revised, again.taken, again.known) == (0, {}, 5)


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


async def test_what_turns_were_told_goes_out_with_their_questions_as_they_are_now(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The original's bound: the newest thousand rows, and no more than a megabyte."""
    secret = "sk-ant-api03-" + "a1B2" * 10

    def tell(tx: Tx) -> list[Injection]:
        rows = []
        turns = "SELECT t.id, t.thread, h.scope FROM turns t JOIN threads h ON h.id = t.thread ORDER BY t.started_at"
        for number, (turn, thread, scope) in enumerate(tx.all(f"{turns} LIMIT 2")):
            lines = (Line("fact_1", "fact", 2, "immediate", "hit", 0.5, 0.6, "source", 50), Line("ev_1", "event"))
            rows.append(Injection(turn, scope, thread, 10.0 + number, "hit", 300, 4.0, ("vector",), lines=lines))
            injections.record(tx, rows[-1])
        first = rows[0].turn
        tx.execute("UPDATE inputs SET text = ? WHERE turn = ?", (f"my  key {secret} " + "word " * 90, first))
        tx.execute("UPDATE inputs SET text = '' WHERE turn = ?", (rows[1].turn,))
        return rows

    async with filled(tmp_path / "one") as here:
        rows = await here.store.write(tell)
        await out(here, tmp_path / "holo", format="holo")
        told = [json.loads(line) for line in (tmp_path / "holo" / "injections.jsonl").read_text().splitlines()]
        assert [row["turnId"] for row in told] == [row.turn for row in rows], "oldest first"
        first = told[0]
        assert (first["l1"], first["l2"], first["l3"], first["mode"], first["chars"]) == (0, 1, 0, "hit", 300)
        assert (first["ids"], first["revs"], first["late"]) == (["fact_1", "ev_1"], [2, 0], ["vector"])
        assert first["lines"][0] == {
            "band": "immediate", "why": "hit", "score": 0.5, "rel": 0.6, "evidence": "source",
        }  # fmt: skip
        assert first["query"].startswith("my key ")
        assert len(first["query"]) <= 200
        assert "a1B2" not in first["query"]
        assert told[1]["query"] == "", "forgotten"
        monkeypatch.setattr(holo, "INJECTIONS", 1)
        await out(here, tmp_path / "few", format="holo")
        assert (tmp_path / "few" / "injections.jsonl").read_text().count("\n") == 1
        monkeypatch.setattr(holo, "INJECTIONS", 1000)
        monkeypatch.setattr(holo, "INJECTIONS_BYTES", len(json.dumps(first)) + 50)
        await out(here, tmp_path / "small", format="holo")
        left = (tmp_path / "small" / "injections.jsonl").read_text().splitlines()
        assert [json.loads(line)["turnId"] for line in left] == [rows[1].turn], "the newest"


SAID = "I am allergic to hazelnuts. And I take the train at nine."
PROFILE = "Never give them hazelnuts: allergic. Takes the train at nine."


async def a_profile_of_two_facts(here: World) -> tuple[str, str]:
    """What is to be hidden, and the capsule that has said it in words of its own twice."""
    asked, _ = await here.say(SAID, answer="Noted.")
    fact = await here.learn("The user is allergic to hazelnuts.", (asked, "I am allergic to hazelnuts"))
    same = await here.learn("Hazelnuts make the user ill.", (asked, SAID))
    train = await here.learn("The user takes the train at nine.", (asked, SAID))

    def write(tx: Tx) -> str:
        new = NewCapsule("owner", "profile", "The user", PROFILE, members=(fact, train))
        made = capsules.put_capsule(tx, new, [Pointer(asked.id)], at=60.0).record
        capsule, one, other = (stable.get(tx, id_) for id_ in (made, fact, same))
        assert capsule
        assert one
        assert other
        stable.revise(tx, capsule, {"text": f"{PROFILE} Lives here."}, why="model", at=61.0)
        mutate.combine(tx, one, other, at=62.0)
        return made

    return fact, await here.store.write(write)


def hidden(tx: Tx, fact: str) -> None:
    found = stable.get(tx, fact)
    assert found
    hiding.hide(tx, found, at=70.0)


async def test_what_is_hidden_goes_out_in_no_file_nor_does_what_others_said_of_it_before(tmp_path: Path) -> None:
    async with world(tmp_path / "one") as here:
        fact, capsule = await a_profile_of_two_facts(here)
        await out(here, tmp_path / "before", format="holo")
        await here.store.write(lambda tx: hidden(tx, fact))
        await out(here, tmp_path / "after", format="holo")
        found = {one["id"]: one for one in json.loads((tmp_path / "after" / "l3.json").read_text())["records"]}
        assert found[capsule]["text"] == "Takes the train at nine. Lives here."
        assert standing(tmp_path / "before", "azelnut") != {}
        assert standing(tmp_path / "after", "azelnut") == {}
        assert "train at nine" in (tmp_path / "after" / "l2.json").read_text(), "what nobody hid goes out"

        done = await into(here, tmp_path / "before")
        assert done.refused == {"forgotten": 1} or done.forgotten == 1
        assert await here.value("SELECT text FROM records WHERE id = ?", capsule) == found[capsule]["text"]


async def test_what_is_hidden_and_then_forgotten_stands_in_no_text_of_before(tmp_path: Path) -> None:
    async with world(tmp_path / "one") as here:
        fact, capsule = await a_profile_of_two_facts(here)
        await here.store.write(lambda tx: hidden(tx, fact))
        assert "azelnut" in str(await here.value("SELECT group_concat(text) FROM revisions WHERE record = ?", capsule))
        proof = await here.forgetting.forget("fact", fact, wide=True)
        assert proof.clean, proof
        await out(here, tmp_path / "after", format="holo")
    assert standing(tmp_path / "after", "azelnut") == {}
    assert standing(tmp_path / "one", "azelnut") == {}


async def test_a_text_of_before_goes_with_what_it_says_though_the_record_says_it_no_more(tmp_path: Path) -> None:
    async with world(tmp_path / "one") as here:
        fact, capsule = await a_profile_of_two_facts(here)

        def move_on(tx: Tx) -> None:
            found = stable.get(tx, capsule)
            assert found
            stable.revise(tx, found, {"text": "Takes the train at nine. Lives here."}, why="model", at=63.0)

        await here.store.write(move_on)
        await here.forgetting.forget("fact", fact)
        texts = await here.store.read(lambda tx: [old.text for old in stable.history(tx, capsule)])
        assert texts == []
        assert await here.value("SELECT text FROM records WHERE id = ?", capsule)
