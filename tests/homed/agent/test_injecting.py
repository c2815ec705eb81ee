"""What is told unasked: within its bounds, in the ledger with its turn, once, cited, never fed back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from homed.agent.explain import Explanations
from homed.memory import citations, injections, stable
from homed.providers.base import System
from homed.retrieval import index
from homed.retrieval.rank import Ranker
from homed.store.rows import Tx
from tests.kit.builders import GUEST, OWNER, Agent, FakeSettings, Setup, running_agent, says
from tests.kit.cast import MAIN, agents, one, quiet, spawn
from tests.kit.past import remember
from tests.kit.told import AT, CELLO, RULE, fact, know, rows, snapshot, summed


async def test_a_turn_that_is_told_something_has_one_row_line_by_line(tmp_path: Path) -> None:
    async with running_agent(tmp_path) as agent:
        (cello,) = await know(agent, CELLO)
        (cold, *_) = await remember(agent.store, "The cello teacher is strict.", layer="cold")
        done = await agent.ask("What does Ida play, the cello?")
        (row,) = await rows(agent, done.turn)
        assert (row.mode, row.chars, row.thread, row.scope) == ("hit", len(snapshot(agent)), done.thread, "owner")
        assert [(line.id, line.record, line.why, line.revision) for line in row.lines] == [
            (cello, "fact", "hit", 1), (cold.id, "event", "cold", 0),
        ]  # fmt: skip
        first = row.lines[0]
        assert (first.band, first.evidence, first.shortened) == ("immediate", "manual", False)
        assert first.relevance > 0.45
        assert 0 < first.score <= 1
        assert first.chars == len(f"- [fact · manual] Ida plays the cello. (id:{cello[-8:]})")
        assert row.channels == {"words": 1}
        assert row.late == ()
        assert await agent.store.read(lambda tx: injections.questions(tx, [done.turn])) == {done.turn: done.text}
        told: Any = (await Explanations(agent.store).explain(OWNER, done.turn))["injections"]
        assert (told[0]["mode"], told[0]["counts"], told[0]["lines"][0]["id"]) == (
            "hit",
            {"fact": 1, "event": 1},
            cello,
        )
        (notice,) = agent.of("recall")
        assert (notice["mode"], notice["counts"], notice["facts"]) == ("hit", {"fact": 1}, [cello])
        (shown,) = (await agent.history(done.thread))["recalls"]
        assert (shown["mode"], shown["counts"], shown["chars"]) == ("hit", {"fact": 1}, row.chars)


async def test_a_turn_that_is_told_nothing_has_no_row(tmp_path: Path) -> None:
    async with running_agent(tmp_path) as agent:
        await know(agent, CELLO)
        done = await agent.ask("Please write a poem about the sea.")
        assert snapshot(agent) == ""
        assert await rows(agent, done.turn) == []
        assert [type(m) for m in agent.model.requests[0].messages][:1] == [System]
        assert agent.of("recall")[0]["mode"] == ""
        assert (await Explanations(agent.store).explain(OWNER, done.turn))["injections"] == []


async def test_what_shares_a_word_with_the_message_is_not_told_and_it_is_kept_that_it_was_found(tmp_path: Path) -> None:
    async with running_agent(tmp_path) as agent:
        (mill,) = await know(agent, fact("The old mill burned down in spring."))
        done = await agent.ask("Which spring onions, herbs and radishes grow best on a shady balcony?")
        assert await rows(agent, done.turn) == []
        entries: Any = (await Explanations(agent.store).explain(OWNER, done.turn))["entries"]
        (known,) = [entry["data"]["known"] for entry in entries if entry["kind"] == "recall"]
        assert known["below"] == 1
        assert 0 < known["sunk"][mill] < 0.12


async def test_a_summary_of_a_turn_that_stands_in_view_is_not_told(tmp_path: Path) -> None:
    async with running_agent(tmp_path) as agent:
        first = await agent.ask("Remember that I am allergic to peanuts.")

        made = await agent.store.write(lambda tx: summed(tx, first.turn, "Allergic to peanuts\n-\nok"))
        done = await agent.ask("What am I allergic to? Peanuts?", thread=first.thread)
        assert await rows(agent, done.turn) == []
        elsewhere = await agent.ask("What am I allergic to? Peanuts?")
        (row,) = await rows(agent, elsewhere.turn)
        assert made in {line.id for line in row.lines}


async def test_what_always_matters_is_told_whatever_the_message_is_about_and_once(tmp_path: Path) -> None:
    async with running_agent(tmp_path) as agent:
        (rule,) = await know(agent, RULE)
        done = await agent.ask("Please write a poem about the sea.")
        (row,) = await rows(agent, done.turn)
        assert (row.mode, [(line.id, line.band, line.why) for line in row.lines]) == (
            "background", [(rule, "background", "active")],
        )  # fmt: skip
        again = await agent.ask("And one about the moon, please.", thread=done.thread)
        assert await rows(agent, again.turn) == [], "it stands before the model"
        assert "metric units" in "\n".join(m.text for m in agent.model.requests[-1].messages)
        elsewhere = await agent.ask("Please write one about rain.")
        assert len(await rows(agent, elsewhere.turn)) == 1


@pytest.mark.parametrize(
    ("key", "value"), [("core.memory.active_window_enabled", False), ("core.memory.inject_enabled", False),
                       ("core.memory.active_window_min_importance", 9)],
)  # fmt: skip
async def test_what_is_switched_off_is_not_told(tmp_path: Path, key: str, value: object) -> None:
    async with running_agent(tmp_path, Setup(settings=FakeSettings(**{key: value}))) as agent:
        await know(agent, RULE)
        done = await agent.ask("Please write a poem about the sea.")
        assert (snapshot(agent), await rows(agent, done.turn)) == ("", [])


async def test_without_recall_by_itself_nothing_beyond_the_window_is_told(tmp_path: Path) -> None:
    async with running_agent(tmp_path, Setup(settings=FakeSettings(**{"core.memory.inject_enabled": False}))) as agent:
        await know(agent, CELLO)
        await remember(agent.store, "Ida's cello teacher is strict.", layer="cold")
        await agent.ask("What does Ida play, the cello?")
        assert snapshot(agent) == ""
        assert agent.of("recall")[0]["late"] == []


async def test_all_of_it_stays_within_its_characters(tmp_path: Path) -> None:
    settings = FakeSettings(**{"core.memory.inject_max_chars": 600, "core.memory.inject_facts": 20})
    async with running_agent(tmp_path, Setup(settings=settings)) as agent:
        await know(agent, RULE, *(fact(f"Ida saw the film number {n} " + "with many friends " * 8) for n in range(9)))
        done = await agent.ask("Which film did Ida see with friends?")
        (row,) = await rows(agent, done.turn)
        assert row.chars == len(snapshot(agent)) <= 600
        assert row.cut > 0
        assert [line.why for line in row.lines].count("active") == 1, "its room was kept"


# -- once, and not again -----------------------------------------------------------------------------------------------


async def test_what_stands_in_view_is_told_again_when_it_says_something_else(tmp_path: Path) -> None:
    async with running_agent(tmp_path) as agent:
        (cello,) = await know(agent, CELLO)
        thread = (await agent.ask("What does Ida play?")).thread
        second = await agent.ask("So what does Ida play?", thread=thread)
        assert await rows(agent, second.turn) == []
        before = "\n".join(m.text for m in agent.model.requests[-1].messages)
        assert before.count(f"(id:{cello[-8:]})") == 1

        def revise(tx: Tx) -> None:
            record = stable.find(tx, "owner", cello)
            stable.revise(tx, record, {"text": "Ida plays the cello and the harp."}, why="edited", at=AT)
            index.catch_up(tx)

        await agent.store.write(revise)
        third = await agent.ask("What does Ida play now?", thread=thread)
        (row,) = await rows(agent, third.turn)
        assert [(line.id, line.revision) for line in row.lines] == [(cello, 2)]


async def test_after_eight_turns_it_is_told_once_more(tmp_path: Path) -> None:
    async with running_agent(tmp_path) as agent:
        await know(agent, CELLO)
        thread = (await agent.ask("What does Ida play?")).thread
        for number in range(7):
            await agent.ask(f"Tell me a tale of dragons, number {number}.", thread=thread)
        ninth = await agent.ask("What does Ida play?", thread=thread)
        assert await rows(agent, ninth.turn) == []
        tenth = await agent.ask("What does Ida play?", thread=thread)
        assert len(await rows(agent, tenth.turn)) == 1


async def test_the_beginning_of_a_prompt_stays_as_it_was(tmp_path: Path) -> None:
    """What was told is rendered from the ledger at its place, the same each time: a source's cache keeps it."""
    async with running_agent(tmp_path) as agent:
        await know(agent, CELLO, RULE)
        thread = (await agent.ask("What does Ida play?")).thread
        await agent.ask("Tell me a tale of dragons.", thread=thread)
        await agent.ask("Tell me another one of giants.", thread=thread)
        second, third = agent.model.requests[1].messages, agent.model.requests[2].messages
        assert third[: len(second) - 1] == second[:-1]
        assert "In short" not in second[1].text
        assert "cello" in second[1].text


async def test_an_answer_that_repeats_its_notes_feeds_nothing_back(tmp_path: Path) -> None:
    """B1: the block itself, echoed word for word, makes no record, and is no fence where it is shown again."""
    async with running_agent(tmp_path) as agent:
        await know(agent, CELLO)
        await agent.ask("What does Ida play?")
        block = snapshot(agent)
        agent.model.script = [says(block), says("ok"), says("ok")]
        echoed = await agent.ask("What does Ida play, again?")
        count = (
            "SELECT (SELECT count(*) FROM records), (SELECT max(times) FROM records), (SELECT count(*) FROM evidence)"
        )
        assert await agent.store.read(lambda tx: tx.one(count)) == (1, 1, 0)
        await agent.store.write(
            lambda tx: tx.execute("UPDATE events SET layer = 'cold' WHERE turn = ?", (echoed.turn,))
        )
        await agent.ask("Which instrument does Ida play, the cello?")
        told = snapshot(agent)
        assert "you said" in told, "the echo is told, as what was said"
        assert told.count("<data") == told.count("</data>") == 1


# -- who is told -------------------------------------------------------------------------------------------------------


async def test_no_scope_is_told_of_another_and_no_row_names_it(tmp_path: Path) -> None:
    """B14"""
    async with running_agent(tmp_path) as agent:
        await know(agent, CELLO, RULE)
        (theirs,) = await know(agent, fact("Ida plays the harp.", scope=GUEST.scope, kind="preference", importance=9))
        for text in ("What does Ida play?", "继续", "Please write a poem about the sea."):
            done = await agent.ask(text, who=GUEST)
            assert {line.id for row in await rows(agent, done.turn) for line in row.lines} <= {theirs}
        assert await agent.store.read(lambda tx: [one.turn for one in injections.of_scopes(tx, ["owner"])]) == []


@pytest.mark.parametrize("wanted", [False, True])
async def test_an_agent_that_an_agent_made_is_told_only_if_that_is_wanted(tmp_path: Path, wanted: bool) -> None:
    settings = FakeSettings(**{"core.memory.inject_subagents": wanted})
    scripts = {MAIN: [one(spawn("What does Ida play?")), says("done")], "helper": [says("the cello")]}
    async with agents(tmp_path, scripts, settings=settings) as (agent, cast):
        await know(agent, CELLO, RULE)
        await agent.ask("Please ask a helper about lighthouses.")
        await quiet(agent)
        text = "\n".join(cast.heard("helper"))
        assert ("Ida plays the cello." in text) is wanted
        assert ("metric units" in text) is wanted


# -- late and failing --------------------------------------------------------------------------------------------------


async def test_what_fails_is_noted_and_the_turn_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any, **__: Any) -> Any:
        raise ZeroDivisionError("a defect in the ranker")

    async with running_agent(tmp_path) as agent:
        await know(agent, CELLO)
        await remember(agent.store, "Ida's cello teacher is strict.", layer="cold")
        monkeypatch.setattr(Ranker, "records", broken)
        done = await agent.ask("Is Ida's cello teacher strict?")
        (row,) = await rows(agent, done.turn)
        assert (row.late, {line.record for line in row.lines}) == (("facts",), {"event"})


# -- citations ---------------------------------------------------------------------------------------------------------


async def cited(agent: Agent, record: str) -> int:
    found = await agent.store.read(lambda tx: stable.get(tx, record))
    assert found is not None
    return found.cited


async def test_an_answer_that_names_what_it_was_told_is_counted_with_its_turn(tmp_path: Path) -> None:
    async with running_agent(tmp_path) as agent:
        cello, rule = await know(agent, CELLO, fact("The mill burned down in 1911."))
        agent.model.script = [says(f"The cello (id:{cello[-8:]}), and id:{cello[-8:]}; not id:{rule[-8:]}.")]
        done = await agent.ask("What does Ida play?")
        assert (await cited(agent, cello), await cited(agent, rule)) == (1, 0)
        made = await agent.store.read(lambda tx: citations.of_turn(tx, done.turn))
        assert [one.record for one in made] == [cello]


async def test_a_private_turn_counts_nothing(tmp_path: Path) -> None:
    async with running_agent(tmp_path) as agent:
        (cello,) = await know(agent, CELLO)
        agent.model.script = [says(f"The cello (id:{cello[-8:]}).")]
        await agent.ask("What does Ida play?", no_memory=True)
        assert await cited(agent, cello) == 0


async def test_what_was_looked_up_with_a_tool_counts(tmp_path: Path) -> None:
    async with agents(tmp_path, {}) as (agent, cast):
        (cello,) = await know(agent, CELLO)
        looking = one(("memory_recall", '{"query": "cello"}'))
        cast.scripts = {MAIN: [looking, says(f"The cello, id:{cello[-8:]}.")]}
        done = await agent.ask("Please look it up.")
        assert await rows(agent, done.turn) == []
        assert await cited(agent, cello) == 1
