"""Merging and reviewing: what a model may decide, and that without one all waits for a person."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from homed.agent.complete import Completion, Question
from homed.jobs.job import Job
from homed.jobs.judging import JudgingPorts, judging
from homed.memory import entities, facts, merges
from homed.memory.distil.answers import json_object
from homed.memory.evidence import Pointer
from homed.memory.newfact import NewFact
from homed.store.rows import Tx
from tests.homed.jobs.past import Bench, Settings, bench
from tests.homed.jobs.test_extract import Model, background_of
from tests.kit.past import Said


def job(on: Bench, model: Model | None, **settings: object) -> Job:
    given = Settings(**({} if model else {"extract_enabled": False}), **settings)
    asks = model or Model("{}")
    background = background_of(on, asks, given)
    return judging(JudgingPorts(store=on.store, wall=on.wall, background=background, failpoints=on.failpoints))


async def people(on: Bench, *names: str, scope: str = "owner") -> None:
    """Somebody of each name, with a fact."""
    (event, *_) = await on.cooled(Said(question="We met some people."), scope=scope)

    def write(tx: Tx) -> None:
        for name in names:
            new = NewFact(
                scope, f"{name} plays the cello.", subject=name, subject_type="person", relation="plays", object="cello"
            )
            assert facts.put(tx, new, [Pointer(event.id)], at=on.now).outcome == "new"

    await on.store.write(write)


async def names(on: Bench) -> list[str]:
    return await on.column("SELECT name FROM entities WHERE type = 'person' ORDER BY name")


def decided(*decisions: str) -> str:
    return json.dumps({"pairs": [{"pair": number, "decision": how} for number, how in enumerate(decisions, 1)]})


async def test_without_a_model_proposals_wait_for_a_person(tmp_path: Path) -> None:
    async with bench(tmp_path) as on:
        await people(on, "Alexander Petrov", "Alexander Petrow", "Maria")
        counts = await on.run(job(on, None))
        assert counts.made == 1
        assert await on.rows("SELECT state FROM merges") == [("open",)]
        assert len(await names(on)) == 3
        assert (await on.run(job(on, None))).made == 0, "it is proposed once"


async def test_a_model_merges_two_and_their_facts_become_one(tmp_path: Path) -> None:
    async with bench(tmp_path) as on:
        await people(on, "Alexander Petrov", "Alexander Petrow", "Maria")
        model = Model(decided("merge"))
        await on.run(job(on, model))
        assert len(await names(on)) == 2
        assert "plays the cello" in model.asked[0].said[1][1]
        assert await on.column("SELECT count(*) FROM merged") == [1], "and it can be taken back"
        assert await on.column("SELECT count(*) FROM records WHERE record = 'fact'") == [2]


async def test_what_a_person_decided_while_a_model_was_asked_stays_decided(tmp_path: Path) -> None:
    async with bench(tmp_path) as on:
        await people(on, "Alexander Petrov", "Alexander Petrow")

        class Slow(Model):
            async def ask(self, plugin: str, question: Question) -> Completion:
                def reject(tx: Tx) -> None:
                    [one] = merges.proposals(tx, "owner")
                    merges.never(tx, "owner", one.first.id, one.second.id, at=on.now)

                await on.store.write(reject)
                return await super().ask(plugin, question)

        counts = await on.run(job(on, Slow(decided("merge"))))
        assert counts.drops == {"changed": 1}
        assert len(await names(on)) == 2


async def test_never_and_unsure_are_not_asked_again_at_once(tmp_path: Path) -> None:
    async with bench(tmp_path) as on:
        await people(on, "Alexander Petrov", "Alexander Petrow", "Katarina Weber", "Katharina Weber")
        model = Model(decided("never", "unsure"))
        counts = await on.run(job(on, model))
        assert counts.drops == {"never": 1, "unsure": 1}
        assert len(await names(on)) == 4
        await on.run(job(on, model))
        assert len(model.asked) == 1


async def test_a_round_has_five_and_nonsense_decides_nothing(tmp_path: Path) -> None:
    async with bench(tmp_path) as on:
        pairs = [
            (f"{first} Katarina Weberberg", f"{first} Katharina Weberberg")
            for first in ["Anna", "Bert", "Cora", "Dora", "Emil", "Fritz", "Gina"]
        ]
        await people(on, *[name for pair in pairs for name in pair])
        wrong: list[Any] = [
            {"pair": 0, "decision": "merge"}, {"pair": 6, "decision": "merge"}, {"pair": "1", "decision": "merge"},
            {"pair": 2, "decision": "delete"}, {"pair": True, "decision": "merge"}, "merge", None,
        ]  # fmt: skip
        model = Model(json.dumps({"pairs": wrong}))
        counts = await on.run(job(on, model))
        assert model.asked[0].said[1][1].count("mentioned") == 10
        assert counts.drops == {"unanswered": 5}
        assert len(await names(on)) == 14
        assert (await on.run(job(on, Model("no idea")))).drops == {"bad_json": 1, "unanswered": 5}


async def test_scopes_are_never_mixed(tmp_path: Path) -> None:
    async with bench(tmp_path) as on:
        await people(on, "Alexander Petrov")
        await people(on, "Alexander Petrow", scope="group:1")
        model = Model(decided("merge"))
        await on.run(job(on, model))
        assert model.asked == []
        assert len(await names(on)) == 2


async def test_worthless_facts_are_archived_and_kept_ones_do_not_come_again(tmp_path: Path) -> None:
    async with bench(tmp_path) as on:
        (event, *_) = await on.cooled(Said(question="We talked of this and that."))

        def write(tx: Tx) -> None:
            for n, (text, confidence) in enumerate(
                [("It was mentioned.", 0.2), ("Bob has a boat.", 0.1), ("Sure.", 0.9)]
            ):
                assert facts.put(
                    tx, NewFact("owner", text, confidence=confidence), [Pointer(event.id)], at=on.now + n
                ).record

        await on.store.write(write)
        model = Model('{"keep": [2, 9], "discard": [1, 2, "3"]}')
        counts = await on.run(job(on, model))
        assert counts.made == 1
        assert await on.rows("SELECT text, status FROM records ORDER BY seq") == [
            ("It was mentioned.", "archived"), ("Bob has a boat.", "active"), ("Sure.", "active"),
        ]  # fmt: skip
        await on.run(job(on, model))
        assert len(model.asked) == 1


async def test_the_person_who_speaks_stays(tmp_path: Path) -> None:
    async with bench(tmp_path) as on:
        await people(on, "Alexander Petrov")
        (event, *_) = await on.cooled(Said(question="My name is Alexander Petrow."))
        named = NewFact(
            "owner",
            "The user's name is Alexander Petrow.",
            subject="user",
            relation="name",
            object="Alexander Petrow",
            peer="webui:owner",
        )
        await on.store.write(lambda tx: facts.put(tx, named, [Pointer(event.id)], at=on.now))
        await on.run(job(on, Model(decided("merge"))))
        speaker = await on.store.read(lambda tx: entities.resolve(tx, "owner", "user", peer="webui:owner"))
        assert speaker is not None
        assert await names(on) == [speaker.name]


def test_an_object_is_found_in_whatever_is_round_it() -> None:
    assert json_object('<think>{"keep": [1]}</think> Sure: ```json\n{"keep": [2]}\n```', ["keep"]) == {"keep": [2]}
    for nothing in ("", "no", "{", '{"other": 1}', "[1]", "{" * 5000):
        assert json_object(nothing, ["keep"]) == {}
