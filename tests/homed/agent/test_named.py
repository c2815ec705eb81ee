"""What names in a message lead to: what is known of them and onward, and not all of whoever it is said of."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from homed.memory.facts import NewFact
from tests.kit.builders import running_agent
from tests.kit.told import fact as told
from tests.kit.told import know, snapshot


def fact(text: str, subject: str, relation: str, object_: str, **more: Any) -> NewFact:
    return told(text, subject=subject, relation=relation, object=object_, **more)


async def test_a_name_leads_to_what_is_known_of_it_and_of_what_is_near(tmp_path: Path) -> None:
    async with running_agent(tmp_path) as agent:
        said = [
            fact("Ida's teacher is Mr Olsen.", "Ida", "teacher", "Olsen", subject_type="person", object_type="person"),
            fact("Olsen lives in Bergen.", "Olsen", "home", "Bergen", object_type="place"),
        ]
        await know(agent, *said)
        await agent.ask("Please remind me to call Ida.")
        text = snapshot(agent)
        assert "teacher is Mr Olsen" in text
        assert "lives in Bergen" in text, "two steps away"


async def test_a_name_leads_onward_and_never_back_to_all_of_whoever_it_is_said_of(tmp_path: Path) -> None:
    """Who asks how tea is made need not be told all about everybody who drinks it."""
    async with running_agent(tmp_path) as agent:
        said = [
            fact("Ida drinks tea.", "Ida", "drinks", "tea", subject_type="person", object_type="thing"),
            fact("Ida banks with Oak.", "Ida", "bank", "Oak", object_type="organisation", importance=6),
            fact("Tea is kept in the tin.", "tea", "place", "tin"),
        ]
        await know(agent, *said)
        await agent.ask("Please explain to a child how people in China harvest, dry and sell black tea.")
        text = snapshot(agent)
        assert "kept in the tin" in text, "what is said of it"
        assert "drinks" not in text
        assert "banks" not in text
        await agent.ask("Please write a letter of complaint to Oak about the noise of last Tuesday.")
        assert "Ida banks with Oak." in snapshot(agent), "what has a name of its own is told of whoever it is said"
        assert "drinks" not in snapshot(agent)


async def test_chinese_names_are_met_without_blanks(tmp_path: Path) -> None:
    async with running_agent(tmp_path) as agent:
        await know(agent, fact("小雨对花生过敏。", "小雨", "过敏", "花生", subject_type="person"))
        await agent.ask("请提醒我明天给小雨打电话")
        assert "小雨对花生过敏" in snapshot(agent)
