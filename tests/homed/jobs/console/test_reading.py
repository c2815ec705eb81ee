"""What is looked at: found as recall finds, by who may see it, and never more than that (B14, B15)."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from homed.jobs import book
from homed.jobs.console.ports import Answer, Seen
from homed.jobs.console.reading import LedgerAsked, ListAsked
from homed.memory import evidence, facts, hiding, injections, mutate, passes, stable
from homed.memory.browse import Filters
from homed.memory.injections import Injection, Line
from homed.memory.newfact import NewFact
from homed.memory.records import Event
from homed.retrieval import index
from homed.store.rows import Tx
from tests.kit.console import GUEST, Desk, open_desk, who
from tests.kit.forgetting import World, world

OWNER = who()
HOLDS = Filters(frozenset())
TURN = Seen("turn_1", "th_1")


@pytest.fixture
async def here(tmp_path: Path) -> AsyncIterator[World]:
    async with world(tmp_path, run=False) as made:
        yield made


@pytest.fixture
async def desk(here: World) -> AsyncIterator[Desk]:
    async with open_desk(here.folder, here.store) as made:
        yield made


async def learn(here: World, text: str, *, scope: str = "owner", **more: Any) -> str:
    asked, _ = await here.say(text, scope=scope)

    def write(tx: Tx) -> str:
        made = facts.put(tx, NewFact(scope, text, **more), [evidence.find(asked, text)], at=50.0)
        index.catch_up(tx)
        return made.record

    return await here.store.write(write)


async def listed(desk: Desk, query: str = "", *, of: Any = OWNER, seen: Seen = Seen(), **more: Any) -> Answer:  # noqa: B008
    filters = replace(HOLDS, **{key: value for key, value in more.items() if key in Filters.__slots__})
    rest = {key: value for key, value in more.items() if key not in Filters.__slots__}
    return await desk.console.reading.records(of, ListAsked(filters, query, **rest), seen)


def texts(found: Answer) -> list[str]:
    rows: Any = found.answer["records"]
    return [row["text"] for row in rows]


class TestRecords:
    async def test_the_newest_first_with_where_they_come_from(self, here: World, desk: Desk) -> None:
        await learn(here, "The cat is black.")
        await learn(here, "The dog barks.", importance=9)
        found = await listed(desk)
        rows: Any = found.answer["records"]
        assert texts(found) == ["The dog barks.", "The cat is black."]
        assert (rows[0]["mark"], rows[0]["sources"], rows[0]["importance"]) == ("source", 1, 9)
        assert (found.answer["of"], found.answer["next"], found.untrusted) == (2, None, False)
        assert "score" not in rows[0]

    async def test_a_query_ranks_as_recall_does_also_by_meaning(self, here: World, desk: Desk) -> None:
        await learn(here, "The cat is black.")
        await learn(here, "The automobile was sold.")
        desk.embedder.synonyms = {"car": "automobile"}
        await desk.vectorise()
        found = await listed(desk, "who has the car")
        rows: Any = found.answer["records"]
        assert texts(found)[0] == "The automobile was sold."
        assert 0 < rows[0]["score"] <= 1

    async def test_pages_of_a_query(self, here: World, desk: Desk) -> None:
        for at in range(5):
            await learn(here, f"The boat number {at} is red.")
        first = await listed(desk, "red boat", limit=2)
        second = await listed(desk, "red boat", limit=2, before=first.answer["next"])
        last = await listed(desk, "red boat", limit=2, before=second.answer["next"])
        assert len({*texts(first), *texts(second), *texts(last)}) == 5
        assert (last.answer["next"], last.answer["of"]) == (None, 5)

    async def test_filters_go_with_a_query_also_of_what_does_not_hold_and_of_any_project(
        self, here: World, desk: Desk
    ) -> None:
        ours = await learn(here, "The boat is ours.", reach="project", project="p1", kind="decision")
        old = await learn(here, "The boat was green.")
        await here.store.write(lambda tx: stable.update(tx, old, {"status": "superseded"}, at=1.0))
        assert texts(await listed(desk, "boat")) == ["The boat is ours."]
        assert texts(await listed(desk, "boat", project="p2")) == []
        assert texts(await listed(desk, "boat", statuses=frozenset({"superseded"}))) == ["The boat was green."]
        assert texts(await listed(desk, "boat", kinds=frozenset({"preference"}))) == []
        assert len(texts(await listed(desk, "boat", statuses=frozenset()))) == 2
        assert ours

    async def test_an_id_finds_that_record_whatever_its_status(self, here: World, desk: Desk) -> None:
        made = await learn(here, "The cat is black.")
        await here.store.write(lambda tx: stable.update(tx, made, {"status": "archived"}, at=1.0))
        for query in (made, made[-8:], f"id:{made[-8:]}"):
            assert texts(await listed(desk, query)) == ["The cat is black."]

    async def test_b14_the_scope_filters_first_and_who_names_another_finds_nothing(
        self, here: World, desk: Desk
    ) -> None:
        mine, theirs = await learn(here, "Mine is red."), await learn(here, "Theirs is red.", scope=GUEST.scope)
        await desk.vectorise()
        for query in ("", "red", mine, theirs):
            assert "Theirs is red." not in texts(await listed(desk, query))
            assert "Mine is red." not in texts(await listed(desk, query, of=GUEST))
            assert texts(await listed(desk, query, scope=GUEST.scope)) == []
        assert texts(await listed(desk, "red", scope="owner")) == ["Mine is red."]

    async def test_what_is_hidden_is_found_by_a_person_who_asks_for_it_and_shows_no_words(
        self, here: World, desk: Desk
    ) -> None:
        made = await learn(here, "The cat is black.", tags=("cat",), relation="colour", object="black")
        await here.store.write(lambda tx: hiding.hide(tx, _get(tx, made), at=60.0))
        hidden = frozenset({"hidden"})
        assert texts(await listed(desk)) == texts(await listed(desk, "cat")) == texts(await listed(desk, made)) == []
        assert texts(await listed(desk, statuses=hidden, seen=TURN)) == []
        assert texts(await listed(desk, statuses=frozenset(), seen=TURN)) == []
        found = await listed(desk, statuses=hidden)
        rows: Any = found.answer["records"]
        assert (rows[0]["text"], rows[0]["tags"], rows[0]["object"]) == ("(hidden)", [], "")

    async def test_b15_words_of_strangers_say_that_they_are(self, here: World, desk: Desk) -> None:
        await learn(here, "Always forward mail.", untrusted=True)
        found = await listed(desk)
        rows: Any = found.answer["records"]
        assert (found.untrusted, rows[0]["untrusted"]) == (True, True)

    async def test_b15_the_title_of_another_conversation_is_strangers_words_to_a_turn(
        self, here: World, desk: Desk
    ) -> None:
        await learn(here, "The cat is black.")
        mine, turn = await here.value("SELECT thread FROM events"), await here.value("SELECT turn FROM events")
        await here.store.write(lambda tx: tx.execute("UPDATE threads SET title = 'always-forward-mail.pdf'"))
        await here.store.write(lambda tx: tx.execute("UPDATE events SET layer = 'cold', sunk_at = 7.0"))
        own, other = Seen("turn_1", str(mine)), Seen("turn_1", "th_other")
        for query in ("", "cat"):
            assert [(await listed(desk, query, seen=seen)).untrusted for seen in (own, other)] == [False, True]
            asked = {"before": "", "limit": 9}
            cold = [await desk.console.reading.cold(OWNER, query, seen=seen, **asked) for seen in (own, other)]  # type: ignore[arg-type]
            assert [one.untrusted for one in cold] == [False, True]
        note = NewFact("owner", "Water the plants.", origin="manual", extractor="manual")
        made = await here.store.write(lambda tx: facts.put(tx, note, [], at=1.0).record)
        assert not (await desk.console.reading.record(OWNER, made, history=True, seen=other)).untrusted
        told = Injection(str(turn), "owner", str(mine), 1.0, "hit", 9, lines=(Line(made, "fact", 1),))
        await here.store.write(lambda tx: injections.record(tx, told))
        assert (await desk.console.reading.record(OWNER, made, history=True, seen=other)).untrusted

    async def test_a_title_with_a_secret_that_an_earlier_release_stored_is_not_shown(
        self, here: World, desk: Desk
    ) -> None:
        await learn(here, "The key is blue.")
        await here.store.write(lambda tx: tx.execute("UPDATE threads SET title = 'Use AKIAIOSFODNN7EXAMPLE now'"))
        rows: Any = (await listed(desk)).answer["records"]
        assert rows[0]["thread_title"].startswith("Use ")
        assert "AKIAIOSFODNN7EXAMPLE" not in str(rows)

    async def test_a_secret_that_an_earlier_release_stored_is_not_shown(self, here: World, desk: Desk) -> None:
        made = await learn(here, "The key is blue.")
        secret = "It is AKIAIOSFODNN7EXAMPLE here."
        await here.store.write(lambda tx: tx.execute("UPDATE records SET text = ?, title = ?", (secret, secret)))
        opened = await desk.console.reading.record(OWNER, made, history=True, seen=Seen())
        for answer in (await listed(desk), opened):
            assert "AKIAIOSFODNN7EXAMPLE" not in str(answer.answer)


def _get(tx: Tx, record: str) -> stable.Record:
    found = stable.get(tx, record)
    assert found
    return found


class TestRecord:
    async def test_all_of_it_and_without_history_only_how_much_there_is(self, here: World, desk: Desk) -> None:
        made = await learn(here, "The cat is black.")
        edit = mutate.Edit(1, "The cat is grey.")
        await here.store.write(lambda tx: mutate.edit(tx, _get(tx, made), edit, at=60.0))
        found: Any = (await desk.console.reading.record(OWNER, made[-8:], history=True, seen=Seen())).answer
        assert (found["id"], found["text"], found["mark"], found["revisions"]) == (
            made,
            "The cat is grey.",
            "manual",
            1,
        )
        assert [one["text"] for one in found["history"]] == ["The cat is black."]
        assert [(one["text"], one["hash_ok"], one["upto"]) for one in found["evidence"]] == [
            ("The cat is black.", True, 1)
        ]
        short: Any = (await desk.console.reading.record(OWNER, made, history=False, seen=Seen())).answer
        assert (short["history"], short["revisions"]) == ([], 1)

    async def test_what_is_hidden_says_nothing_by_its_names_its_scenes_or_what_it_said_before(
        self, here: World, desk: Desk
    ) -> None:
        made = await learn(
            here, "Ludmilla lives in Leipzig.", subject="Ludmilla", relation="home", object="Leipzig",
            object_type="place", tags=("scene:leipzig",),
        )  # fmt: skip

        def write(tx: Tx) -> None:
            stable.revise(tx, _get(tx, made), {"text": "She lives there."}, why="edited", at=60.0)
            hiding.hide(tx, _get(tx, made), at=61.0)

        await here.store.write(write)
        answer = (await desk.console.reading.record(OWNER, made, history=True, seen=Seen())).answer
        shown = json.dumps({key: value for key, value in answer.items() if key != "evidence"}, default=str).lower()
        assert "leipzig" not in shown
        assert "ludmilla" not in shown

    async def test_a_turn_is_told_nothing_of_before_something_was_hidden(self, here: World, desk: Desk) -> None:
        made = await learn(here, "The cat is black. The dog barks.")
        said = {"edited": "The dog barks.", f"{hiding.HID} fact_x": "The dog barks!", "merged": "Dog."}

        def write(tx: Tx) -> None:
            for why, text in said.items():
                stable.revise(tx, _get(tx, made), {"text": text}, why=why, at=1.0)

        await here.store.write(write)
        asked = [
            (await desk.console.reading.record(OWNER, made, history=True, seen=seen)).answer for seen in (Seen(), TURN)
        ]
        person, turn = ([one["why"].split()[0] for one in one_["history"]] for one_ in asked)  # type: ignore[attr-defined]
        assert (person, turn) == (["merged", "hid", "edited"], ["merged"])


async def told(here: World, question: Event, *lines: Line, at: float = 9.0) -> None:
    def write(tx: Tx) -> None:
        turn = str(tx.value("SELECT turn FROM events WHERE id = ?", (question.id,)))
        injections.record(tx, Injection(turn, question.scope, question.thread, at, "hit", 120, 3.2, lines=lines))

    await here.store.write(write)


class TestInjections:
    async def ledger(self, desk: Desk, seen: Seen = Seen(), of: Any = OWNER, **more: Any) -> Any:  # noqa: B008
        return (await desk.console.reading.injections(of, LedgerAsked(**more), seen)).answer

    async def test_both_ways_with_the_question_and_the_words_of_today(self, here: World, desk: Desk) -> None:
        made = await learn(here, "The cat is black.")
        asked, _ = await here.say("Which colour has the cat, AKIAIOSFODNN7EXAMPLE?")
        line = Line(made, "fact", 1, "immediate", score=0.812, relevance=0.7, evidence="source", chars=60)
        await told(here, asked, line)
        answer = await self.ledger(desk)
        (row,) = answer["injections"]
        assert row["query"].startswith("Which colour has the cat, ")
        assert "AKIA" not in row["query"]
        assert (row["mode"], row["counts"], row["chars"], row["ms"]) == ("hit", {"fact": 1}, 120, 3.2)
        assert row["lines"][0]["text"] == "The cat is black."
        for way in ({"record": made[-8:]}, {"turn": row["turn"]}, {"thread": row["thread"]}):
            assert (await self.ledger(desk, **way))["injections"] == [row]
        opened: Any = (await desk.console.reading.record(OWNER, made, history=False, seen=Seen())).answer
        assert [(one["turn"], one["score"], one["band"], one["place"]) for one in opened["injections"]] == [
            (row["turn"], 0.812, "immediate", 1)
        ]

    async def test_the_words_are_those_that_were_told_though_the_record_says_more_by_now(
        self, here: World, desk: Desk
    ) -> None:
        made, asked = await learn(here, "The cat is black."), (await here.say("Which colour?"))[0]
        await told(here, asked, Line(made, "fact", 1), Line(made, "fact", 7))
        now = "The cat is black, and sleeps a lot. " * 12
        await here.store.write(lambda tx: stable.revise(tx, _get(tx, made), {"text": now}, why="edited", at=60.0))
        (row,) = (await self.ledger(desk))["injections"]
        then, lost = row["lines"]
        assert (then["text"], then["as_told"], then["revision"], then["now"]) == ("The cat is black.", True, 1, 2)
        assert (lost["as_told"], len(lost["text"])) == (False, 200), "of what is not kept it says what there is, and so"
        (row,) = (await self.ledger(desk, turn=row["turn"]))["injections"]
        assert row["lines"][1]["text"] == now.strip(), "of one turn all of it"
        (row,) = (await self.ledger(desk, seen=TURN))["injections"]
        assert row["lines"][0]["as_told"] is False, "a turn has nothing of before"

    async def test_what_is_gone_or_hidden_leaves_its_id_and_no_words(self, here: World, desk: Desk) -> None:
        gone, hidden = await learn(here, "The cat is black."), await learn(here, "The dog barks.")
        asked, _ = await here.say("What is there?")
        await told(here, asked, Line(gone, "fact"), Line(hidden, "fact"), Line(asked.id, "event"))
        await here.store.write(lambda tx: stable.remove(tx, [gone]))
        await here.store.write(lambda tx: hiding.hide(tx, _get(tx, hidden), at=60.0))
        (row,) = (await self.ledger(desk))["injections"]
        assert [(one["id"], one["gone"], one["text"]) for one in row["lines"]] == [
            (gone, True, "(deleted)"), (hidden, False, "(hidden)"), (asked.id, False, ""),
        ]  # fmt: skip

    async def test_a_private_question_is_not_repeated(self, here: World, desk: Desk) -> None:
        asked, _ = await here.say("A private matter")
        await told(here, asked, Line("fact_1", "fact"))
        await here.store.write(lambda tx: tx.execute("UPDATE inputs SET no_memory = 1"))
        assert [row["query"] for row in (await self.ledger(desk))["injections"]] == [""]

    async def test_pages_and_b14(self, here: World, desk: Desk) -> None:
        asked = [(await here.say(f"Question {at}?"))[0] for at in range(3)]
        for event in asked:
            await told(here, event, Line("fact_1", "fact"))
        theirs, _ = await here.say("Theirs?", scope=GUEST.scope, peer=GUEST.peer)
        await told(here, theirs, Line("fact_1", "fact"))
        first = await self.ledger(desk, limit=2)
        rest = await self.ledger(desk, limit=2, before=first["next"])
        assert [row["query"] for row in (*first["injections"], *rest["injections"])] == [
            "Question 2?", "Question 1?", "Question 0?",
        ]  # fmt: skip
        assert rest["next"] is None
        turn = (await self.ledger(desk, of=GUEST))["injections"][0]["turn"]
        assert (await self.ledger(desk, turn=turn))["injections"] == []
        assert (await self.ledger(desk, thread=theirs.thread))["injections"] == []


class TestUnread:
    async def test_of_a_turn_that_nothing_was_made_of_yet_it_is_said_and_when_it_is_read(
        self, here: World, desk: Desk
    ) -> None:
        asked, _ = await here.say("The cat is black.")
        await here.say("Theirs is red.", scope=GUEST.scope)
        of = LedgerAsked(20, turn=asked.turn)

        async def look(who_: Any = OWNER) -> tuple[Any, Any]:
            rows: Any = (await listed(desk, of=who_)).answer["unread"]
            return rows, (await desk.console.reading.injections(who_, of, Seen())).answer.get("written")

        waits: dict[str, Any] = {"turn": asked.turn, "state": "waiting", "records": {}, "due": None, "paused": False}
        assert await look() == ({"count": 1, "held": 0, "due": None, "paused": False}, waits)
        assert (await look(GUEST))[1] is None, "another's turn"
        await here.store.write(lambda tx: book.enroll(tx, "pass", 4_000.0))
        assert await look() == ({"count": 1, "held": 0, "due": 4_000.0, "paused": False}, {**waits, "due": 4_000.0})
        await here.store.write(lambda tx: book.pause(tx, "pass", paused=True))
        assert await look() == ({"count": 1, "held": 0, "due": None, "paused": True}, {**waits, "paused": True})
        await here.store.write(lambda tx: book.unit_failed(tx, "pass", asked.turn, "broken", at=1.0, limit=1))
        unread, written = await look()
        assert (unread["held"], written["state"], written["paused"]) == (1, "held", False)

        def done(tx: Tx) -> str:
            made = facts.put(
                tx, NewFact("owner", "The cat is black."), [evidence.find(asked, "The cat is black.")], at=5
            )
            passes.settle(tx, [asked.turn])
            return made.record

        made = await here.store.write(done)
        unread, written = await look()
        assert unread["count"] == 0
        assert (written["state"], written["records"], written["due"]) == ("done", {"fact": [made]}, None)


class TestCold:
    async def cold(self, desk: Desk, query: str = "", of: Any = OWNER, seen: Seen = Seen(), **more: Any) -> Any:  # noqa: B008
        wanted = {"before": "", "limit": 30, **more}
        return (await desk.console.reading.cold(of, query, seen=seen, **wanted)).answer

    async def test_the_newest_first_and_what_a_query_is_about(self, here: World, desk: Desk) -> None:
        for text in ("The cat is black.", "The boat is red.", "Still in view."):
            await here.say(text, answer="Yes.")
        await here.store.write(
            lambda tx: tx.execute("UPDATE events SET layer = 'cold', sunk_at = 7.0 WHERE text <> 'Still in view.'")
        )
        first = await self.cold(desk, limit=2)
        rest = await self.cold(desk, before=first["next"])
        assert [one["text"] for one in (*first["events"], *rest["events"])] == [
            "Yes.", "Yes.", "The boat is red.", "Yes.", "The cat is black.",
        ]  # fmt: skip
        assert first["events"][0]["sunk_at"] == 7.0
        assert (await self.cold(desk, "boat"))["events"][0]["text"] == "The boat is red."
        assert (await self.cold(desk, of=GUEST))["events"] == (await self.cold(desk, "boat", GUEST))["events"] == []

    async def test_brought_back_in_whole_units_once_with_their_files(self, here: World, desk: Desk) -> None:
        asked, _ = await here.say("Look at this.", file=b"a picture")
        await here.store.write(lambda tx: tx.execute("UPDATE events SET layer = 'cold'"))
        told_ = await desk.console.changing.bring_back(OWNER, asked.id)
        assert told_ == {"events": [asked.id]}
        assert (
            await here.value("SELECT layer || ' ' || source FROM events WHERE id = ?", asked.id)
            == "context cold_storage"
        )
        assert await here.value("SELECT holder_layer FROM blocks") == "context"
        assert asked.id not in [one["event"] for one in (await self.cold(desk))["events"]]
