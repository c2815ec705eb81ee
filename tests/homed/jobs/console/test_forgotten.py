"""B7, the whole kind: what is hidden or forgotten is found by no channel, also after re-indexing and a restart."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from homed.agent.explain import Explanations
from homed.jobs.console.ports import Seen
from homed.jobs.console.reading import LedgerAsked, ListAsked
from homed.memory import capsules, evidence, facts, injections, stable
from homed.memory.browse import Filters
from homed.memory.capsules import NewCapsule
from homed.memory.evidence import Pointer
from homed.memory.injections import Injection, Line
from homed.memory.newfact import NewFact
from homed.memory.records import Event
from homed.retrieval import index, record_words
from homed.store.rows import Tx, dumps
from tests.kit.console import Desk, open_desk, who
from tests.kit.forgetting import World, world

SECRET = "My sister Ludmilla hides the spare key beneath the blue flowerpot."
ZH = "我妹妹柳德米拉把备用钥匙藏在蓝色花盆下面。"
TELLING = ("ludmilla", "flowerpot", "柳德米拉", "花盆")
OWNER = who()
ALL = Filters(frozenset(), statuses=frozenset())
TURN = Seen("turn_other", "th_other")


async def known(here: World, text: str) -> dict[str, str]:
    """A fact with all that repeats it: a capsule, the summary of its turn, what it took the place of, an edge of the
    graph, a line of the ledger; and another that has nothing to do with it."""
    asked, _ = await here.say(text)
    other, _ = await here.say("I water the plants on Sundays, all of them.")
    await here.store.write(lambda tx: tx.execute("UPDATE events SET layer = 'cold'"))
    return await here.store.write(lambda tx: _known(tx, text, asked, other))


def _known(tx: Tx, text: str, asked: Event, other: Event) -> dict[str, str]:
    new = NewFact(
        "owner", f"Known: {text}", subject="Ludmilla", subject_type="person", relation="keeps", object="flowerpot",
        object_type="thing",
    )  # fmt: skip
    fact = facts.put(tx, new, [evidence.find(asked, text)], at=10.0).record
    old = facts.put(
        tx, replace(new, text=f"Once: {text}", object="door mat", object_type=""), [Pointer(asked.id)], at=9.0
    )
    stable.update(tx, old.record, {"status": "superseded", "superseded_by": fact}, at=11.0)
    plants = facts.put(tx, NewFact("owner", "The user waters the plants on Sundays."), [Pointer(other.id)], at=10.0)
    capsule = capsules.put_capsule(
        tx, NewCapsule("owner", "profile", "The user", f"{text} Waters the plants.", members=(fact, plants.record)),
        [Pointer(asked.id), Pointer(other.id)], at=12.0,
    )  # fmt: skip
    summary = stable.insert(
        tx,
        {"scope": "owner", "record": "summary", "kind": "turn", "text": f"{text}\n-\nNoted.", "key": "k",
         "origin": "auto", "extractor": "fallback", "tags": dumps(["ludmilla"])},
        at=13.0,
    )  # fmt: skip
    tx.execute("INSERT INTO evidence (record, event, at) VALUES (?, ?, 13.0)", (summary, asked.id))
    lines = tuple(Line(id_, kind, 1, score=0.5) for id_, kind in ((fact, "fact"), (summary, "summary")))
    turn = str(tx.value("SELECT turn FROM events WHERE id = ?", (other.id,)))
    injections.record(tx, Injection(turn, "owner", other.thread, 14.0, "hit", 100, lines=lines))
    told = dumps({"facts": [fact, summary]})
    tx.execute(
        "INSERT INTO ledger (turn, scope, thread, kind, at, data) VALUES (?, 'owner', ?, 'recall', 14.0, ?)",
        (turn, other.thread, told),
    )
    index.catch_up(tx)
    return {"fact": fact, "old": old.record, "capsule": capsule.record, "summary": summary, "asked": asked.id}


async def everything(desk: Desk, seen: Seen = TURN, *, words: str = SECRET) -> dict[str, str]:
    """What each way of looking shows, as text, for a turn or a person; by words, by vectors, and by looking through."""
    read, found = desk.console.reading, dict[str, Mapping[str, object]]()
    for query in ("", words, "Ludmilla flowerpot", "花盆 钥匙"):
        for sort in ("newest", "importance", "cited"):
            asked = ListAsked(ALL, query, sort, limit=100)
            found[f"records {query[:8]} {sort}"] = (await read.records(OWNER, asked, seen)).answer
        found[f"cold {query[:8]}"] = (await read.cold(OWNER, query, before="", limit=100, seen=seen)).answer
    for record in (await read.records(OWNER, ListAsked(ALL, limit=100), seen)).answer["records"]:  # type: ignore[attr-defined]
        opened = (await read.record(OWNER, record["id"], history=True, seen=seen)).answer
        found[f"record {record['id']}"] = {**opened, "evidence": []}
        found[f"cold evidence of {record['id']}"] = {"evidence": opened["evidence"]}
    found["explained"] = await Explanations(desk.store).explain(OWNER, "last")
    found["graph"] = (await read.graph(OWNER, "", depth=3, limit=200)).answer
    found["injections"] = (await read.injections(OWNER, LedgerAsked(100), seen)).answer
    found["stats"] = await desk.console.stats.stats(OWNER)
    return {name: json.dumps(answer, ensure_ascii=False).lower() for name, answer in found.items()}


def telling(found: Mapping[str, str]) -> list[str]:
    """Where words of it stand."""
    return [name for name, text in found.items() if any(word in text for word in TELLING)]


async def reindexed(desk: Desk) -> None:
    """All words and vectors made anew from what there is."""

    def again(tx: Tx) -> None:
        index.give_up(tx)
        while index.broken(tx):
            index.tidy(tx)
        while index.backfill(tx):
            pass
        record_words.work_off(tx)
        tx.execute("DELETE FROM vectors")
        tx.execute("INSERT OR IGNORE INTO vector_todo (kind, item) SELECT 'record', seq FROM records")
        tx.execute("INSERT OR IGNORE INTO vector_todo (kind, item) SELECT 'event', seq FROM events")

    await desk.store.write(again)
    await desk.vectorise()


@pytest.mark.parametrize("text", [SECRET, ZH])
async def test_what_is_hidden_is_found_by_nothing_and_comes_back_by_a_persons_word(tmp_path: Path, text: str) -> None:
    async with world(tmp_path) as here, open_desk(tmp_path, here.store) as desk:
        ids = await known(here, text)
        await desk.vectorise()
        everywhere = telling(await everything(desk, words=text))
        assert len(everywhere) > 15
        assert {"explained", "graph", "injections"} <= {*everywhere}
        hidden = await desk.console.changing.hide(OWNER, ids["fact"])
        assert hidden["along"] == [ids["summary"]]
        assert hidden["shortened"] == [ids["capsule"]]
        await desk.console.changing.hide(OWNER, ids["old"])
        for _ in range(2):
            left = await everything(desk, words=text)
            # what was said stays what was said, until it is forgotten
            assert [name for name in telling(left) if not name.startswith("cold")] == []
            await reindexed(desk)
    async with world(tmp_path) as here, open_desk(tmp_path, here.store) as desk:
        left = await everything(desk, Seen(), words=text)
        # a person sees in the history of the capsule what was taken out of it
        assert {name.split("_")[0] for name in telling(left) if not name.startswith("cold")} == {"record capsule"}
        asked = ListAsked(replace(ALL, statuses=frozenset({"hidden"})), limit=9)
        assert (await desk.console.reading.records(OWNER, asked, Seen())).answer["of"] == 3
        assert (await desk.console.reading.records(OWNER, asked, TURN)).answer["of"] == 0
        assert (await desk.console.changing.restore(OWNER, ids["old"]))["along"] == []
        back = await desk.console.changing.restore(OWNER, ids["fact"])
        assert (back["along"], back["shortened"]) == ([ids["summary"]], [ids["capsule"]])
        assert len(telling(await everything(desk, words=text))) > 15


@pytest.mark.parametrize("text", [SECRET, ZH])
async def test_what_is_forgotten_is_nowhere_and_its_ids_stay_in_the_ledger(tmp_path: Path, text: str) -> None:
    async with world(tmp_path) as here, open_desk(tmp_path, here.store) as desk:
        ids = await known(here, text)
        await desk.vectorise()
        await desk.console.changing.hide(OWNER, ids["old"])
        proof = await here.forgetting.forget("fact", ids["fact"], wide=True)
        assert proof.clean
        for _ in range(2):
            for seen in (TURN, Seen()):
                assert telling(await everything(desk, seen, words=text)) == []
            await reindexed(desk)
    async with world(tmp_path) as here, open_desk(tmp_path, here.store) as desk:
        for seen in (TURN, Seen()):
            assert telling(await everything(desk, seen, words=text)) == []
        rows: Any = (await desk.console.reading.injections(OWNER, LedgerAsked(), Seen())).answer["injections"]
        (row,) = rows
        assert [(line["id"], line["gone"], line["text"]) for line in row["lines"]] == [
            (ids["fact"], True, "(deleted)"), (ids["summary"], True, "(deleted)"),
        ]  # fmt: skip
        again = await here.store.write(
            lambda tx: facts.put(tx, NewFact("owner", f"Known: {text}"), [_any(tx)], at=99.0)
        )
        assert again.why == "forgotten"


def _any(tx: Tx) -> Pointer:
    return Pointer(str(tx.value("SELECT id FROM events ORDER BY seq DESC LIMIT 1")))


async def test_a_fact_that_is_forgotten_without_its_messages_is_said_by_those_alone(tmp_path: Path) -> None:
    async with world(tmp_path) as here, open_desk(tmp_path, here.store) as desk:
        ids = await known(here, SECRET)
        await here.forgetting.forget("fact", ids["old"])
        seen = await here.forgetting.preview("fact", ids["fact"])
        assert set(seen.records) == {ids["fact"]}  # the summary went with the one that said the same
        await here.forgetting.forget("fact", ids["fact"])
        for seen_by in (TURN, Seen()):
            left = telling(await everything(desk, seen_by))
            assert [name for name in left if not name.startswith("cold")] == []
            assert left


@pytest.mark.parametrize(("kind", "goes"), [("summary", 1), ("capsule", 2)])
async def test_any_record_can_be_forgotten_and_the_preview_says_what_goes(tmp_path: Path, kind: str, goes: int) -> None:
    async with world(tmp_path) as here, open_desk(tmp_path, here.store) as desk:
        ids = await known(here, SECRET)
        seen = await here.forgetting.preview("fact", ids[kind][-8:])
        assert (seen.target, seen.counts["records"], seen.stays > 0) == (ids[kind], goes, True)
        await here.forgetting.forget("fact", ids[kind])
        check: Callable[[Tx], object] = lambda tx: tx.value("SELECT 1 FROM records WHERE id = ?", (ids[kind],))  # noqa: E731
        assert await desk.store.read(check) is None
