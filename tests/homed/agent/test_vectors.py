"""Turns and vectors: found by meaning where there are any, by words at once where there are none, whatever hangs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import trio

from homed.agent import sinking
from homed.agent.ports import AgentPorts
from homed.memory import ledger
from homed.memory.records import InputState
from homed.retrieval.asking import Question
from homed.retrieval.embed.failed import EmbedFailed
from homed.retrieval.embed.fake import FakeEmbedder
from homed.retrieval.rank import Ranker
from tests.kit.builders import Agent, FakeHost, FakeModel, FakeSettings, Setup, calls, running_agent, says
from tests.kit.dense import FakeDense
from tests.kit.past import Past, Said, long_text, put, remember

MEANT = "The violoncello lessons of our girl are on Tuesdays."
ASKED = "When has my daughter music class?"


class Meaning:
    """An embedder for which what is meant, asked or not, is one thing, and all else another."""

    def __init__(self) -> None:
        self.fake = FakeEmbedder()
        self.dense = FakeDense()
        self.ranker = Ranker(lambda: self.fake, self.dense)

    def near(self, seq: int, text: str, kind: str = "event") -> None:
        """The item has the vector of this text."""
        self.dense.put(seq, self.fake.vector(text).tolist(), kind=kind)


def told(agent: Agent) -> str:
    """Everything of the last request but instructions and the message."""
    return "\n".join(message.text for message in agent.model.requests[-1].messages[1:-1])


async def test_what_shares_no_word_is_found_by_its_vector(tmp_path: Path) -> None:
    given = Meaning()
    async with running_agent(tmp_path, Setup(ranker=given.ranker)) as agent:
        (event, _) = await remember(agent.store, MEANT, layer="cold")
        await agent.ask(ASKED)
        assert "violoncello" not in told(agent)
        given.near(event.seq, ASKED)
        await agent.ask(ASKED)
        assert MEANT in told(agent)
        assert agent.of("recall")[-1]["late"] == []


@pytest.mark.parametrize("trouble", ["hangs", "fails", "is broken", "is not there"])
async def test_whatever_an_embedder_does_words_are_found_and_the_turn_goes_on(tmp_path: Path, trouble: str) -> None:
    """B12, B13"""
    given = Meaning()
    ranker: Ranker = given.ranker
    if trouble == "hangs":
        given.fake.hang = True
    elif trouble == "fails":
        given.fake.failure = EmbedFailed("The endpoint says no.")
    elif trouble == "is broken":
        given.fake.failure = ZeroDivisionError("a defect")  # type: ignore[assignment]
    else:
        ranker = Ranker(lambda: None, given.dense)
    async with running_agent(tmp_path, Setup(ranker=ranker)) as agent:
        await remember(agent.store, "My daughter Ida plays the cello.", layer="cold")
        began = trio.current_time()
        done = await agent.ask("What does my daughter Ida play?")
        assert done.state is InputState.ANSWERED
        assert trio.current_time() - began < 1.2 + 1.0, "and the time that a busy machine takes"
        assert "cello" in told(agent)
        assert agent.of("recall")[0]["late"] == ([] if trouble == "is not there" else ["vector"])


async def test_an_embedder_that_hangs_is_not_waited_for_again_and_again(tmp_path: Path) -> None:
    """B12: after three time-outs nobody waits."""
    given = Meaning()
    given.fake.hang = True
    settings = FakeSettings(**{"core.memory.recall_deadline": 0.6})
    async with running_agent(tmp_path, Setup(ranker=given.ranker, settings=settings)) as agent:
        for number in range(5):
            await agent.ask(f"Hello number {number}")
        assert len(given.fake.asked) == 3
        assert [one["late"] for one in agent.of("recall")] == [["vector"]] * 5


async def test_a_turn_asks_for_its_vector_once_however_often_it_selects(tmp_path: Path) -> None:
    given = Meaning()
    host = FakeHost()
    host.tool("look", page)
    script = [calls(("look", f'{{"at": {number}}}'), ids=[f"c{number}"]) for number in range(8)]
    model = FakeModel(*script, says("done"), context_window=12_000)
    settings = FakeSettings(**{"core.agent.max_tool_turns": 20})
    async with running_agent(tmp_path, Setup(ranker=given.ranker, model=model, host=host, settings=settings)) as agent:
        done = await agent.ask("Look around")
        kinds = await agent.store.read(lambda tx: [one.kind for one in ledger.of_turn(tx, done.turn)])
        assert kinds.count("select") > 1, "it had to make room"
        assert given.fake.asked.count("Look around") == 1


async def page(_: Mapping[str, Any]) -> object:
    await trio.lowlevel.checkpoint()
    return long_text(3_000, "page")


async def test_what_has_a_vector_and_what_has_none_yet_are_weighed_together(tmp_path: Path) -> None:
    """The dense vector may follow a moment later."""
    given = Meaning()
    async with running_agent(tmp_path, Setup(ranker=given.ranker)) as agent:
        (first, _) = await remember(agent.store, MEANT, layer="cold")
        await remember(agent.store, "My daughter has music class in May too.", layer="cold")
        given.near(first.seq, ASKED)
        await agent.ask(ASKED)
        assert MEANT in told(agent)
        assert "in May too" in told(agent)


async def test_what_a_conversation_means_is_not_sunk(tmp_path: Path) -> None:
    """The best score over the last inputs of live conversations, by vectors too."""
    given = Meaning()
    async with running_agent(tmp_path, Setup(ranker=given.ranker)) as agent:

        def fill(tx: Any) -> list[int]:
            (meant, _) = put(tx, Past(said=[Said(question=MEANT)], at=1.0))
            for number in range(20):
                put(tx, Past(said=[Said(question=f"filler {number} about nothing")], at=2.0 + number))
            return [meant.seq]

        (seq,) = await agent.store.write(fill)
        ports: AgentPorts = agent.conversations._loop._recall._ports
        level = sinking._Level("owner", 6, 2, 30_000)
        for near, stays in ((False, False), (True, True)):
            if near:
                given.near(seq, ASKED)
            question = await given.ranker.ask(ASKED)
            talk = sinking._Talk((), (question, Question("something else")), frozenset())
            plan = await agent.store.read(lambda tx, talk=talk: sinking._plan(tx, ports.ranker, level, talk))  # type: ignore[misc]
            sunk = await agent.store.read(
                lambda tx, plan=plan: tx.value("SELECT id FROM events WHERE seq = ?", (seq,)) in plan.ids  # type: ignore[misc]
            )
            assert sunk is not stays


async def test_each_commit_wakes_what_makes_vectors(tmp_path: Path) -> None:
    """A new memory is searchable at once, and soon by its vector."""
    woken: list[int] = []
    async with running_agent(tmp_path, Setup(stored=lambda: woken.append(1))) as agent:
        await agent.ask("hello")
        assert len(woken) >= 2, "the message, and the answer"
