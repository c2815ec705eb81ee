"""A conversation is found again by what was said in it, by whoever said it, and by nobody else."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from homed.agent.intake import Message
from homed.memory.chains import ANSWER, Place, ending
from tests.kit.builders import GUEST, OWNER, Agent, FakeModel, Setup, running_agent, says


async def say(agent: Agent, text: str, place: Place) -> str:
    """Say something and wait for the answer; the thread it is in."""
    given = Message(text=text, channel="webui", place=place)
    receipt = await agent.conversations.inject(OWNER, given)
    await agent.conversations.wait(OWNER, receipt.input.id)
    return receipt.input.thread


async def test_the_next_message_goes_where_the_one_before_is(tmp_path: Path) -> None:
    model = FakeModel(says("one"), says("two"), says("three"))
    async with running_agent(tmp_path, Setup(model=model)) as agent:
        thread = await say(agent, "a", Place("c1", "s1", opening="The beginning."))
        assert await say(agent, "b", Place("c2", "s2", "c1", "s1", "one", "Not again.")) == thread
        assert await say(agent, "c", Place("c3", "s3", "c2", "s2", "edited by hand")) == thread
        texts = [event["text"] for event in (await agent.history(thread))["events"] if event["kind"] == "user"]
        assert texts == ["The beginning.\n\na", "b", "c"]


async def test_of_several_the_one_that_was_answered_so(tmp_path: Path) -> None:
    model = FakeModel(says("red"), says("blue"), *[says("ok")] * 4)
    async with running_agent(tmp_path, Setup(model=model)) as agent:
        red, blue = [await say(agent, "colour?", Place("c1", "s1")) for _ in range(2)]
        assert await say(agent, "x", Place("c2", "s2", "c1", "s1", "It is\nred")) == red
        assert await say(agent, "y", Place("c3", "s3", "c1", "s1", "blue")) == blue
        assert await say(agent, "z", Place("c4", "s4", "c1", "s1", "green")) == blue, "the newest"


async def test_without_its_beginning_by_the_last_exchange_alone(tmp_path: Path) -> None:
    model = FakeModel(says("red"), *[says("ok")] * 3)
    async with running_agent(tmp_path, Setup(model=model)) as agent:
        thread = await say(agent, "colour?", Place("c1", "s1"))
        assert await say(agent, "x", Place("cut", "s2", "unknown", "s1", "red")) == thread
        assert await say(agent, "y", Place("cut2", "s3", "unknown", "s1", "green")) != thread
        assert await say(agent, "z", Place("cut3", "s4", "unknown", "unknown", "red")) != thread


async def test_nobody_finds_what_another_said_and_it_goes_with_the_conversation(tmp_path: Path) -> None:
    async with running_agent(tmp_path, Setup(model=FakeModel(*[says("red")] * 5))) as agent:
        thread = await say(agent, "colour?", Place("c1", "s1"))
        for other in (GUEST, replace(GUEST, peer="webui:lounge", plugin="webui"), replace(OWNER, peer="webui:second")):
            asked = Message(text="and?", channel=other.plugin, place=Place("c2", "s2", "c1", "s1", "red"))
            assert (await agent.conversations.inject(other, asked)).input.thread != thread
        await agent.conversations.delete(OWNER, thread)
        assert await agent.store.read(lambda tx: tx.all("SELECT chain FROM input_chains")) == [("c2",)] * 3
        assert await say(agent, "x", Place("c3", "s3", "c1", "s1", "red")) != thread


def test_an_end_has_no_white_space_and_is_short() -> None:
    assert ending("a b\n c") == "abc"
    assert len(ending("x " * 5000)) == ANSWER
