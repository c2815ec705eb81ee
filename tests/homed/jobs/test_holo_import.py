"""holo-memory's files into a memory that has not their records: what a record says of itself comes along, whoever wrote
the file, and nothing of it counts for more than it is."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from homed.memory import bounds, browse, capsules, hiding, opened, origins, stable
from homed.memory.capsules import NewCapsule
from homed.memory.evidence import Pointer, digest
from homed.store.rows import Tx
from tests.homed.jobs.test_carrying import into
from tests.kit.forgetting import world
from tests.kit.holofiles import NOW, everything, given, only, original, records


async def test_the_originals_files_come_in_with_all_that_their_records_say(tmp_path: Path) -> None:
    async with world(tmp_path / "one") as here:
        done = await into(here, given(tmp_path / "holo", **original()))
        assert (done.taken, done.refused) == ({"summaries": 1, "facts": 2, "capsules": 1}, {})
        found = await records(here)
        pnpm, sails = found["这个项目用 pnpm。"], found["The user sails."]
        assert (pnpm.scope, pnpm.record, pnpm.kind, pnpm.reach, pnpm.project) == (
            "owner", "fact", "convention", "project", "0123456789ab-shop",
        )  # fmt: skip
        assert (pnpm.tags, pnpm.importance, pnpm.confidence) == (("build", "npm"), 8, 0.9)
        assert (pnpm.created_at, pnpm.updated_at, pnpm.cited, pnpm.cited_at) == (110.5, 130.0, 4, 140.0)
        assert (pnpm.origin, pnpm.extractor, pnpm.untrusted, pnpm.status) == ("import", "model", True, "active")
        assert (pnpm.id[:5], pnpm.shown_id, len(pnpm.id)) == ("fact_", "9f3c1a7b", 21)
        history = await here.store.read(lambda tx: stable.history(tx, pnpm.id))
        assert [(one.revision, one.text, one.importance, one.tags, one.at) for one in history] == [
            (2, "这个项目用 yarn。", 6, ("npm",), 120.0), (1, "这个项目用 npm。", 5, (), 110.5),
        ]  # fmt: skip
        assert pnpm.revision == 3
        assert (sails.kind, sails.created_at, sails.updated_at, sails.extractor) == ("fact", NOW, NOW, "fallback")
        turn, shop = found["用户要装依赖\npnpm install\n装好了"], found["A shop, built with pnpm."]
        assert (turn.record, turn.title, turn.shown_id, turn.tags) == ("summary", "装依赖", "0a1b2c3d", ("pnpm",))
        assert (shop.kind, shop.title, shop.shown_id, shop.importance) == ("project", "The shop", "aabbccdd", 7)
        members = await here.store.read(lambda tx: tx.all("SELECT record FROM members WHERE capsule = ?", (shop.id,)))
        assert {id_ for (id_,) in members} == {pnpm.id, turn.id}
        assert await here.value("SELECT count(*) FROM evidence") == 0


async def test_nothing_is_said_to_be_where_it_is_not(tmp_path: Path) -> None:
    async with world(tmp_path / "one") as here:
        await into(here, given(tmp_path / "holo", **original()))

        def read(tx: Tx) -> list[tuple[str, str, list[object]]]:
            found = [opened.open_(tx, one) for one in stable.select(tx, "1")]
            return [(one.mark, one.source, list(one.said)) for one in found]

        assert await here.store.read(read) == [("", "source unavailable", [])] * 4
        pages = await here.store.read(
            lambda tx: {mark: browse.page(tx, browse.Filters(frozenset({"owner"}), evidence=mark)).of
                        for mark in browse.MARKED}
        )  # fmt: skip
        assert pages == {"manual": 0, "source": 0, "pointer": 0, "none": 4}


async def test_the_same_files_again_change_nothing_and_edited_ones_are_revisions(tmp_path: Path) -> None:
    files = original()
    async with world(tmp_path / "one") as here:
        await into(here, given(tmp_path / "holo", **files))
        before = await everything(here)
        again = await into(here, tmp_path / "holo")
        assert (again.taken, again.revised, again.known, again.refused) == ({}, 0, 4, {})
        assert await everything(here) == before

        files["fact"][1]["text"] = "The user sails on Sundays."
        files["capsule"][0]["title"] = "The web shop"
        edited = await into(here, given(tmp_path / "holo", **files))
        assert (edited.taken, edited.revised, edited.known) == ({}, 2, 2)
        sails = (await records(here))["The user sails on Sundays."]
        assert (sails.revision, sails.shown_id) == (2, "00000001")
        assert (sails.origin, sails.untrusted) == ("import", True), "a file makes nothing a person's word"
        older = await into(here, given(tmp_path / "holo", **original()))
        assert (older.taken, older.revised, older.known) == ({}, 0, 4), "what is of before is no edit"
        assert (await here.store.read(lambda tx: stable.get(tx, sails.id))) == sails


async def test_words_that_stand_here_are_evidence_and_only_where_they_stand(tmp_path: Path) -> None:
    said = "We deploy on Tuesdays, never on Fridays."
    async with world(tmp_path / "one") as here:
        asked, answer = await here.say(said, answer=f"Noted: {said}")
        await here.say(said)
        source = {
            "origin": "auto", "sessionId": asked.thread, "turnId": asked.turn, "seqStart": asked.seq,
            "seqEnd": asked.seq, "role": "user", "excerpt": "never on Fridays",
            "excerptHash": f"sha256:{digest('never on Fridays')}",
        }  # fmt: skip
        wrong: list[Mapping[str, object]] = [
            {"excerptHash": f"sha256:{digest('never on Mondays')}"}, {"turnId": "turn_of_nobody"},
            {"sessionId": "thr_of_nobody"}, {"role": "note"}, {"role": ["user"]}, {"excerptHash": 7},
            {"excerpt": "NEVER on Fridays", "excerptHash": digest("NEVER on Fridays")}, {"excerpt": ""},
        ]  # fmt: skip
        texts = [f"Deploys are never on Fridays, rule {chr(97 + n) * 3}." for n in range(len(wrong))]
        listed = [{"text": "Releases go out on Tuesdays.", "source": source}]
        listed += [{"text": text, "source": {**source, **one}} for text, one in zip(texts, wrong, strict=True)]
        done = await into(here, given(tmp_path / "holo", fact=listed))
        assert sum(done.taken.values()) == len(listed), done
        found = await records(here)

        def read(tx: Tx) -> dict[str, tuple[str, str]]:
            one = {text: opened.open_(tx, record) for text, record in found.items()}
            return {text: (it.mark, it.source) for text, it in one.items()}

        marks = await here.store.read(read)
        assert marks.pop("Releases go out on Tuesdays.") == ("source", "")
        assert set(marks.values()) == {("", "source unavailable")}
        rows = await here.store.read(lambda tx: tx.all("SELECT event, first, excerpt FROM evidence"))
        assert rows == [(asked.id, said.index("never"), "never on Fridays")]
        release = found["Releases go out on Tuesdays."]
        whose = await here.store.read(lambda tx: origins.of_record(tx, release))
        assert whose == origins.NOBODY_KNOWS, "the words are there; that they mean this is the file's word"
        assert answer.turn == asked.turn
        await here.forgetting.forget("event", asked.id)
        assert "Releases go out on Tuesdays." not in await records(here), "what it rested on is forgotten"


async def test_what_was_forgotten_or_hidden_comes_back_in_no_record_and_in_no_history(tmp_path: Path) -> None:
    async with world(tmp_path / "one") as here:
        asked, _ = await here.say("I am allergic to hazelnuts.")
        hidden = await here.learn("The user is allergic to hazelnuts.", asked)
        gone = await here.learn("The user has a brother in Oslo.", asked)

        def hide(tx: Tx) -> None:
            found = stable.get(tx, hidden)
            assert found
            hiding.hide(tx, found, at=60.0)

        await here.store.write(hide)
        await here.forgetting.forget("fact", gone)
        listed: list[dict[str, object]] = [
            {"id": gone, "text": "Other words of the same."},
            {"text": "The user has a brother in Oslo."},
            {"text": "the USER is allergic to hazelnuts!"},
            {"id": "l2_20260101_12345678", "text": "The user rows.", "revision": 3, "history": [
                {"revision": 2, "text": "The user has a brother in Oslo.", "source": "model"},
                {"revision": 1, "text": "The user ran.", "source": "model"},
            ]},
        ]  # fmt: skip
        capsule = {"title": "Family", "kind": "profile", "text": "Rows. The user has a brother in Oslo."}
        about = {"id": "l3_20260101_87654321", "title": "Food", "text": "Likes rice. Is allergic to hazelnuts.",
                 "memberIds": [hidden, "l2_20260101_12345678"]}  # fmt: skip
        alone = {"title": "Health", "text": "Is allergic to hazelnuts.", "memberIds": [hidden]}
        known = {"id": hidden, "text": "The user is allergic to hazelnuts.", "source": None}
        files: dict[str, list[Any]] = {
            "summary": [{"text": "Talked.\nThe user has a brother in Oslo."}],
            "fact": [*listed, known],
        }
        done = await into(here, given(tmp_path / "holo", **files, capsule=[capsule, about, alone]))
        assert done.forgotten == 6
        assert done.taken == {"facts": 1, "capsules": 1}
        found = await records(here)
        assert found["The user is allergic to hazelnuts."].status == "hidden"
        food = found["Likes rice."]
        assert food.revision == 2
        rows = found["The user rows."]
        history = await here.store.read(lambda tx: stable.history(tx, rows.id))
        assert [(one.revision, one.text) for one in history] == [(2, "The user ran.")], "what is missing leaves no hole"
        before = await everything(here)
        again = await into(here, tmp_path / "holo")
        assert (again.taken, again.revised, again.forgotten) == ({}, 0, 7)
        assert await everything(here) == before


async def test_a_peer_who_was_forgotten_comes_back_in_no_file(tmp_path: Path) -> None:
    async with world(tmp_path / "one") as here:
        await here.say("I sail.", scope="guest:telegram:7", peer="telegram:7")
        await here.forgetting.forget("peer", "telegram:7")
        listed = [
            {"text": "The user sails.", "homed": {"scope": "guest:telegram:7"}},
            {"text": "Somebody sails.", "homed": {"scope": "group:telegram:1", "observed": "telegram:7"}},
            {"text": "Another one sails.", "homed": {"scope": "group:telegram:1", "observed": "telegram:8"}},
        ]
        done = await into(here, given(tmp_path / "holo", fact=listed))
        assert (done.forgotten, done.taken) == (2, {"facts": 1})
        found = await only(here)
        assert (found.scope, found.observed) == ("group:telegram:1", "telegram:8")


async def test_what_a_file_says_takes_the_place_of_nothing_that_a_person_said(tmp_path: Path) -> None:
    async with world(tmp_path / "one") as here:
        asked, _ = await here.say("My name is Anna. I love coffee.")
        coffee = await here.learn("The user loves coffee.", asked)
        name = await here.learn("The user's name is Anna.", asked, subject="user", relation="name", object="Anna")

        def make(tx: Tx) -> str:
            new = NewCapsule("owner", "profile", "The user", "Anna, who loves coffee.")
            return capsules.put_capsule(tx, new, [Pointer(asked.id)], at=60.0).record

        profile = await here.store.write(make)
        files: dict[str, list[Any]] = {
            "fact": [
                {"text": "The user's name is Mallory.", "confidence": 1.0, "importance": 10, "createdAt": 190.0},
                {"text": "The user's name is ANNA.", "importance": 10, "confidence": 1.0},
                {"id": name, "homed": {"scope": "guest:telegram:9"}, "text": "The user's name is Eve."},
            ],
            "capsule": [
                {"title": "The user", "kind": "profile", "text": "Mallory, who loves tea."},
                {"id": coffee, "title": "Another kind", "text": "An id of a fact."},
            ],
        }
        done = await into(here, given(tmp_path / "holo", **files))
        found = await records(here)
        assert found["The user's name is Anna."].status == "active"
        assert not found["The user's name is Anna."].untrusted
        assert found["The user's name is Mallory."].status == "quarantined"
        assert found["Anna, who loves coffee."].id == profile
        eve = found["The user's name is Eve."]
        assert (eve.scope, eve.id != name) == ("guest:telegram:9", True)
        assert found["An id of a fact."].id not in (coffee, eve.id)
        assert done.refused == {"another of the same matter is here": 1}
        assert (done.known, done.revised) == (1, 0)
        before = await everything(here)
        again = await into(here, tmp_path / "holo")
        assert (again.taken, again.revised) == ({}, 0)
        assert await everything(here) == before


async def test_an_id_is_of_one_record_and_so_are_its_last_eight_digits(tmp_path: Path) -> None:
    mine = "fact_00112233aabbccdd"
    listed = [
        {"id": mine, "text": "The user rows."},
        {"id": mine, "text": "The user does not row at all, says the second."},
        {"id": "l2_20260101_aabbccdd", "text": "The user sails."},
        {"id": "fact_99999999aabbccdd", "text": "The user dives."},
        {"id": "summary_00112233aabb0000", "text": "The user climbs."},
        {"id": "../../etc", "text": "The user flies."},
        {"id": {"no": "id"}, "text": "The user runs."},
        {"id": "x" * 5000, "text": "The user walks."},
    ]
    async with world(tmp_path / "one") as here:
        done = await into(here, given(tmp_path / "holo", fact=listed))
        assert done.refused == {"its id was there before": 1}
        found = await records(here)
        assert found["The user rows."].id == mine
        shown = [one.shown_id for one in found.values()]
        assert len(found) == len(set(shown)) == 7
        assert all(one.id.startswith("fact_") and len(one.id) == 21 for one in found.values())
        again = await into(here, tmp_path / "holo")
        assert (again.taken, again.revised, again.known) == ({}, 0, 7)


async def test_nothing_that_is_here_goes_for_what_comes(tmp_path: Path) -> None:
    async with world(tmp_path / "one") as here:
        asked, _ = await here.say("I like many things.")
        for number in range(3):
            await here.learn(f"Thing {chr(97 + number) * 4} is liked.", asked, importance=1)
        await here.store.write(lambda tx: bounds.put(tx, {"fact": 5, "summary": 2}))
        cited = {"citedCount": 1000, "lastCitedAt": 199}
        listed = [{"text": f"Word {chr(97 + n) * 5} is known.", "importance": 1 + n % 10, **cited} for n in range(26)]
        summaries = [{"text": f"Turn {chr(97 + n) * 5}", "createdAt": n + 1} for n in range(4)]
        done = await into(here, given(tmp_path / "holo", fact=listed, summary=summaries))
        assert done.taken == {"facts": 2, "summaries": 2}
        assert done.refused == {"no room for it": 26}
        found = await records(here)
        assert sum("is liked" in text for text in found) == 3
        assert [one.importance for text, one in found.items() if "is known" in text] == [10, 10]
        assert {one.created_at for one in found.values() if one.record == "summary"} == {3.0, 4.0}, "the newest"


async def test_secrets_come_in_nowhere(tmp_path: Path) -> None:
    secret = "sk-ant-api03-" + "a1B2" * 10
    files: dict[str, list[Any]] = {
        "summary": [{"text": f"Set the key {secret}\nran it\ndone", "title": secret, "tags": [secret, "run"]}],
        "fact": [
            {"text": f"The key is {secret}."}, {"text": "A fact.", "title": f"x {secret}"},
            {"text": "Another fact.", "tags": [secret]},
            {"text": "One more.", "scope": "project", "projectKey": secret},
            {"text": "Kept, all the same.", "revision": 3, "history": [
                {"revision": 2, "text": f"Was {secret}"},
                {"revision": 1, "text": "Was before.", "source": f"for {secret}", "tags": [secret]},
            ], "homed": {"subject": secret, "relation": "knows", "object": f"at {secret}"}},
        ],
        "capsule": [{"title": "T", "text": f"password: {secret}"}],
    }  # fmt: skip
    async with world(tmp_path / "one") as here:
        done = await into(here, given(tmp_path / "holo", **files))
        assert (done.taken, done.refused) == ({"summaries": 1, "facts": 1}, {"secret": 5})
        assert "a1B2" not in repr(await everything(here))
        kept = (await records(here))["Kept, all the same."]
        history = await here.store.read(lambda tx: stable.history(tx, kept.id))
        assert [(one.revision, one.text, one.why, one.tags) for one in history] == [(2, "Was before.", "import", ())]


async def test_a_project_reaches_no_further_and_no_agents_scope_is_written(tmp_path: Path) -> None:
    listed: list[Any] = [
        {"text": "Of no project.", "scope": "project"},
        {"text": "Of a wrong one.", "scope": "project", "projectKey": "a b"},
        {"text": "Of another word.", "scope": "everywhere"}, {"text": "Of an agent.", "homed": {"scope": "temp:x"}},
        {"text": "Of a scope that is none.", "homed": {"scope": "../owner"}},
        {"text": "Of a state.", "homed": {"status": "hidden"}}, {"text": "Of a shape.", "homed": [1], "scope": "user"},
        7, None, [], "text", {"text": {}}, {"text": " \u200b\n"}, {"text": "x" * 601}, {"text": "y" * 10**6},
        {"text": "With a title.", "title": 5}, {"text": "With tags.", "tags": "a"}, {"text": "!?"},
    ]  # fmt: skip
    async with world(tmp_path / "one") as here:
        done = await into(here, given(tmp_path / "holo", fact=listed))
        assert done.taken == {"facts": 1}
        assert done.refused == {
            "without its project": 3, "of an agent that is not here": 1, "a scope that is none": 1,
            "a status that is none": 1, "no text": 7, "too long": 2, "title": 1, "importance or tags": 1,
        }  # fmt: skip
        assert (await only(here)).text == "Of a shape."


async def test_history_that_did_not_hold_there_does_not_hold_here_and_leads_nowhere_round(tmp_path: Path) -> None:
    listed = [
        {"id": "l2_1_00000001", "text": "The user lives in Rome.",
         "homed": {"status": "superseded", "supersededBy": "l2_1_00000002"}},
        {"id": "l2_1_00000002", "text": "The user lives in Oslo."},
        {"id": "l2_1_00000003", "text": "One.", "homed": {"status": "superseded", "supersededBy": "l2_1_00000004"}},
        {"id": "l2_1_00000004", "text": "Two.", "homed": {"status": "superseded", "supersededBy": "l2_1_00000003"}},
        {"id": "l2_1_00000005", "text": "Five.", "homed": {"status": "superseded", "supersededBy": "l2_1_00000005"}},
        {"id": "l2_1_00000006", "text": "Worthless.", "homed": {"status": "archived", "supersededBy": 5}},
        {"id": "l2_1_00000007", "text": "Doubted.", "homed": {"status": "quarantined"}},
    ]  # fmt: skip
    async with world(tmp_path / "one") as here:
        await into(here, given(tmp_path / "holo", fact=listed))
        found = {one.shown_id[-1]: one for one in (await records(here)).values()}
        assert [found[str(n)].status for n in range(1, 8)] == [
            "superseded", "active", "superseded", "superseded", "superseded", "archived", "quarantined",
        ]  # fmt: skip
        assert found["1"].superseded_by == found["2"].id
        assert found["3"].superseded_by == found["4"].id
        assert [found[n].superseded_by for n in "4567"] == [None] * 4
        before = await everything(here)
        assert (await into(here, tmp_path / "holo")).taken == {}
        assert await everything(here) == before


async def test_files_that_are_none_of_any_record_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = given(tmp_path / "holo", fact=[{"text": "Kept."}])
    (folder / "l1.json").write_text("[" * 100_000, "utf-8")
    (folder / "l3.json").write_text('[{"text": "x"}, NaN, {"importance": 1' + "0" * 6000 + "}]", "utf-8")
    async with world(tmp_path / "one") as here:
        done = await into(here, folder)
        assert (done.taken, done.refused) == ({"facts": 1, "capsules": 1}, {"l1.json is no JSON": 1, "no text": 2})
        monkeypatch.setattr("homed.jobs.importing.MOST_HOLO", 10)
        done = await into(here, folder)
        assert done.refused == {f"l{number}.json is too large": 1 for number in (1, 2, 3)}


async def test_of_two_places_that_say_it_only_the_one_that_is_named_is_evidence(tmp_path: Path) -> None:
    async with world(tmp_path / "one") as here:
        one, _ = await here.say("We deploy on Tuesdays.")
        two, _ = await here.say("I say it again: We deploy on Tuesdays.")
        await here.store.write(lambda tx: tx.execute("UPDATE events SET turn = ? WHERE id = ?", (one.turn, two.id)))
        source = {
            "sessionId": one.thread, "turnId": one.turn, "role": "user", "excerpt": "We deploy on Tuesdays.",
            "excerptHash": f"sha256:{digest('We deploy on Tuesdays.')}",
        }  # fmt: skip
        named = {**source, "seqStart": two.seq, "seqEnd": two.seq}
        listed = [{"text": "Somewhere it was said.", "source": source}, {"text": "There it was said.", "source": named}]
        await into(here, given(tmp_path / "holo", fact=listed))
        rows = await here.store.read(
            lambda tx: tx.all("SELECT r.text, v.event, v.first FROM evidence v JOIN records r ON r.id = v.record")
        )
        assert rows == [("There it was said.", two.id, 16)]


async def test_numbers_of_a_history_fit_and_its_reasons_are_none_that_homed_goes_by(tmp_path: Path) -> None:
    whys = ["hid fact_0011223344556677", "restored", "combined aabbccdd", "hidden away", None, {"sessionId": "s"}]
    history = [
        {"revision": 2 * n, "text": f"Was {chr(96 + n) * 3}.", "source": why, "updatedAt": 10.0 * n}
        for n, why in enumerate(whys, 1)
    ]
    many = [{"revision": n, "text": f"Once {n}."} for n in range(1, 60)]
    listed = [
        {"text": "The user rows.", "revision": 1, "history": history},
        {"text": "The user sails.", "revision": 60, "history": many},
        {
            "text": "The user dives.",
            "revision": 10**400,
            "history": [7, {"revision": -1, "text": "x"}, {"revision": 1}],
        },
    ]
    async with world(tmp_path / "one") as here:
        await into(here, given(tmp_path / "holo", fact=listed))
        found = await records(here)
        kept = await here.store.read(lambda tx: {text: stable.history(tx, one.id) for text, one in found.items()})
        rows = kept["The user rows."]
        assert found["The user rows."].revision == 7
        assert [(one.revision, one.at) for one in rows] == [(n, 10.0 * n) for n in range(6, 0, -1)]
        assert [one.why for one in rows] == ["import", "import", "hidden away", "import", "import", "import"]
        assert [one.revision for one in kept["The user sails."]] == list(range(59, 39, -1)), "the newest twenty"
        assert (found["The user dives."].revision, kept["The user dives."]) == (1, [])


async def test_what_did_not_hold_or_is_older_takes_the_place_of_nothing_in_the_same_files(tmp_path: Path) -> None:
    files: dict[str, list[Any]] = {
        "fact": [
            {"id": "l2_1_00000001", "text": "The user lives in Rome.", "createdAt": 10},
            {"id": "l2_1_00000002", "text": "The user lives in ROME!", "createdAt": 15},
            {"id": "l2_1_00000003", "text": "The user lives in Oslo.", "createdAt": 20},
            {"text": "The user lives in Bergen.", "createdAt": 30, "homed": {"status": "archived"}},
        ],
        "capsule": [
            {"title": "The boat", "text": "It is blue now.", "updatedAt": 90, "createdAt": 50},
            {"title": "The boat", "text": "It is red.", "updatedAt": 80, "createdAt": 60},
            {"title": "The crew", "text": "Three."},
            {"title": "The crew", "text": "Four."},
            {"title": "The boat", "text": "It was sold.", "homed": {"status": "archived"}, "createdAt": 70},
        ],
    }
    async with world(tmp_path / "one") as here:
        done = await into(here, given(tmp_path / "holo", **files))
        found = {text: one.status for text, one in (await records(here)).items()}
        assert found == {
            "The user lives in Rome.": "superseded", "The user lives in Oslo.": "active",
            "The user lives in Bergen.": "archived", "It is blue now.": "active", "It was sold.": "archived",
            "Four.": "active",
        }  # fmt: skip
        assert done.refused == {"older than what is here": 1}
        before = await everything(here)
        again = await into(here, tmp_path / "holo")
        assert (again.taken, again.revised, again.known) == ({}, 0, 8)
        assert await everything(here) == before
