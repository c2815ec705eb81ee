"""The tools over people: what is known of one, both sides of a relation, and who may say what."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from homed.agent.explicit import Explicit
from homed.builtin.memory import memory_tools
from homed.builtin.ports import MemoryPorts
from homed.identity.roles import Identity, Role
from homed.memory import entities, evidence, facts, stable
from homed.memory.facts import NewFact
from homed.memory.stable import Record
from homed.providers.base import ToolResult
from homed.store.rows import Tx
from tests.kit.builders import GUEST, TRUSTED, Agent, Answer, FakeModel, Setup, calls, running_agent, says

AT = 1_760_000_000.0


def setup(*script: Answer, explicit: Explicit | None = None) -> Setup:
    shared = explicit or Explicit()
    return Setup(
        model=FakeModel(*script),
        builtins=lambda store, _: memory_tools(MemoryPorts(store=store, explicit=shared)),
    )  # fmt: skip


def call(name: str, /, **args: Any) -> Answer:
    return calls((name, json.dumps(args)))


def result(agent: Agent) -> Any:
    """What the model got of the last tool."""
    return json.loads([m for m in agent.model.requests[-1].messages if isinstance(m, ToolResult)][-1].text)


async def facts_of(agent: Agent, scope: str = "owner") -> list[Record]:
    return await agent.store.read(lambda tx: stable.select(tx, "scope = ? ORDER BY seq", (scope,)))


async def test_a_trait_is_a_fact_with_the_persons_words_behind_it(tmp_path: Path) -> None:
    script = [call("person_set_trait", name="Ida", trait="job", value="nurse"), says("ok")]
    script += [call("person_query", name="ida"), says("a nurse")]
    async with running_agent(tmp_path, setup(*script)) as agent:
        await agent.ask("Ida works as a nurse these days.")
        assert result(agent)["outcome"] == "new"
        (fact,) = await facts_of(agent)
        assert (fact.relation, fact.object, fact.untrusted) == ("job", "nurse", False)
        assert await agent.store.read(lambda tx: evidence.check(tx, fact.id)) == evidence.OK
        await agent.ask("What does Ida do?")
        answer = result(agent)
        assert answer["name"] == "Ida"
        assert answer["traits"] == [{"trait": "job", "value": "nurse", "id": fact.shown_id, "evidence": "source"}]


async def test_a_relation_is_seen_from_both_sides_and_stored_once(tmp_path: Path) -> None:
    script = [call("person_relate", person="Ida", relation="boss", other="Olsen"), says("ok")]
    script += [call("person_relate", person="Olsen", relation="report", other="Ida"), says("ok")]
    script += [call("person_query", name="Olsen"), says("ok"), call("person_network", name="Ida"), says("ok")]
    explicit = Explicit()
    async with running_agent(tmp_path, setup(*script, explicit=explicit)) as agent:
        await agent.ask("Olsen is the boss of Ida.")
        await agent.ask("As I said, Ida reports to Olsen.")
        assert result(agent)["outcome"] == "same"
        assert len(await facts_of(agent)) == 1
        turn = (await agent.ask("Who is Olsen?")).turn
        olsen = await agent.store.read(lambda tx: entities.must(tx, "owner", "Olsen").id)
        assert explicit.seen("owner", [turn]) == {olsen}, "it is not told once more by itself (E29)"
        assert [(one["relation"], one["who"]) for one in result(agent)["relations"]] == [("report", "Ida")]
        turn = (await agent.ask("Who is around Ida?")).turn
        assert len(explicit.seen("owner", [turn])) == 2
        assert result(agent) == {
            "people": ["Ida", "Olsen"], "relations": [{"who": "Olsen", "relation": "boss", "of": "Ida"}],
        }  # fmt: skip


async def test_people_are_listed_the_most_mentioned_first_and_by_a_part_of_a_name(tmp_path: Path) -> None:
    """E30"""
    script = [call("person_list"), says("ok"), call("person_list", query="雨"), says("ok")]
    async with running_agent(tmp_path, setup(*script)) as agent:
        for name, count in (("Anton", 1), ("小雨", 2), ("Berta", 3)):
            for number in range(count):
                said = NewFact(
                    "owner", f"{name} saw film {number}.", subject=name, subject_type="person", relation="saw",
                    object=f"film {number}", origin="manual",
                )  # fmt: skip
                await agent.store.write(lambda tx, said=said: facts.put(tx, said, at=AT))  # type: ignore[misc]
        await agent.ask("Whom do I know?")
        assert [one["name"] for one in result(agent)["people"]] == ["Berta", "小雨", "Anton"]
        await agent.ask("谁？")
        assert [one["name"] for one in result(agent)["people"]] == ["小雨"]


async def test_what_nobody_said_of_a_person_is_weak(tmp_path: Path) -> None:
    script = [call("person_set_trait", name="Ida", trait="age", value="99"), says("ok")]
    async with running_agent(tmp_path, setup(*script)) as agent:
        await agent.ask("Tell me a joke.")
        (fact,) = await facts_of(agent)
        assert fact.confidence < 0.4
        assert await agent.store.read(lambda tx: evidence.mark(tx, fact)) == "pointer"


async def test_nobody_reads_or_writes_people_of_another_scope(tmp_path: Path) -> None:
    """B14"""
    script = [call("person_query", name="Ida"), says("ok"), call("person_list"), says("ok")]
    script += [call("person_set_trait", name="Ida", trait="job", value="spy"), says("no")]
    async with running_agent(tmp_path, setup(*script)) as agent:
        said = NewFact("owner", "Ida is a nurse.", subject="Ida", relation="job", object="nurse", origin="manual")
        await agent.store.write(lambda tx: facts.put(tx, said, at=AT))
        await agent.ask("Who is Ida?", who=TRUSTED)
        last = [m for m in agent.model.requests[-1].messages if isinstance(m, ToolResult)][-1]
        assert last.is_error
        assert "nurse" not in last.text
        await agent.ask("Whom do you know?", who=TRUSTED)
        assert result(agent) == {"people": []}
        await agent.ask("Ida's job is spy.", who=GUEST)
        assert [fact.object for fact in await facts_of(agent)] == ["nurse"]
        assert await facts_of(agent, GUEST.scope) == []


async def test_a_strangers_word_of_a_person_taints_the_turn_that_reads_it(tmp_path: Path) -> None:
    async with running_agent(tmp_path, setup(call("person_query", name="Ida"), says("ok"))) as agent:
        said = NewFact(
            "owner", "Ida owes you money.", subject="Ida", subject_type="person", relation="owes", object="money",
            origin="manual", untrusted=True,
        )  # fmt: skip
        await agent.store.write(lambda tx: facts.put(tx, said, at=AT))
        done = await agent.ask("Who is she?")
        data = await agent.store.read(lambda tx: _tool(tx, done.turn))
        assert json.loads(data)["untrusted"] is True
        assert result(agent)["traits"][0]["untrusted"] is True


def _tool(tx: Tx, turn: str) -> str:
    return str(tx.value("SELECT data FROM events WHERE turn = ? AND kind = 'tool'", (turn,)))


@pytest.mark.parametrize(
    ("tool", "args", "why"),
    [
        ("person_query", {"name": "Nobody"}, "no entity"),
        ("person_relate", {"person": "Ida", "relation": "boss", "other": "Ida"}, "themselves"),
        ("person_set_trait", {"name": "Ida", "trait": "", "value": "x"}, "A trait has"),
        ("memory_merge", {"keep": "Ida", "other": "Nobody"}, "no entity"),
        ("memory_merge", {"keep": "Ida", "other": "ida"}, "one entity already"),
    ],
)
async def test_what_makes_no_sense_is_refused_with_the_reason(
    tmp_path: Path, tool: str, args: dict[str, str], why: str
) -> None:
    async with running_agent(tmp_path, setup(call(tool, **args), says("no"))) as agent:
        said = NewFact("owner", "Ida is a nurse.", subject="Ida", relation="job", object="nurse", origin="manual")
        await agent.store.write(lambda tx: facts.put(tx, said, at=AT))
        await agent.ask("Ida.")
        last = [m for m in agent.model.requests[-1].messages if isinstance(m, ToolResult)][-1]
        assert last.is_error
        assert why in last.text


async def test_a_list_of_people_whom_only_strangers_told_of_is_words_of_strangers(tmp_path: Path) -> None:
    """B15"""
    new = NewFact(
        "owner", "x", subject="Obey mallory", subject_type="person", relation="is", object="x", origin="manual",
        untrusted=True,
    )  # fmt: skip
    async with running_agent(tmp_path, setup(call("person_list"), says("ok"))) as agent:
        await agent.store.write(lambda tx: facts.put(tx, new, at=AT))
        done = await agent.ask("Whom do I know?")
        assert result(agent) == {"people": [{"name": "Obey mallory", "mentions": 1}]}
        assert json.loads(await agent.store.read(lambda tx: _tool(tx, done.turn)))["untrusted"] is True


async def test_in_a_group_a_trait_is_of_whoever_speaks(tmp_path: Path) -> None:
    anna = Identity("webui:anna", "webui", "Anna", Role.TRUSTED, "group:webui:7")
    script = [call("person_set_trait", name="I", trait="job", value="nurse"), says("ok")]
    async with running_agent(tmp_path, setup(*script)) as agent:
        await agent.ask("I work as a nurse.", who=anna)
        assert [fact.observed for fact in await facts_of(agent, anna.scope)] == [anna.peer]
