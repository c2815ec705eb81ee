"""What belongs to a project is told in it, and nowhere else."""

from __future__ import annotations

from pathlib import Path

from homed.agent.intake import Message
from homed.builtin.tools import builtin_tools
from homed.memory import facts, inputs
from homed.memory.newfact import NewFact
from homed.memory.projects import key
from homed.providers.base import ToolResult
from homed.retrieval import index
from homed.store.rows import Tx
from tests.kit.builders import OWNER, Agent, FakeModel, Setup, calls, running_agent, says

PARSER, OTHER = key("/home/ann/parser"), key("/home/ann/other")
RECALL = calls(("memory_recall", '{"query": "tests of the parser"}'))


def told(tx: Tx) -> None:
    for text, project in (("The tests of the parser run with make fast.", PARSER), ("Parser tests need Ida.", "")):
        new = NewFact(
            scope="owner", text=text, reach="project" if project else "user", project=project, extractor="manual",
            origin="manual",
        )  # fmt: skip
        assert facts.put(tx, new, at=1.0).outcome == "new"
    index.catch_up(tx)


async def asked(agent: Agent, project: str) -> str:
    """Everything that a turn in this project was shown, its tools' results with it."""
    message = Message(text="How do the tests of the parser run?", channel="cli", project=project)
    receipt = await agent.conversations.inject(OWNER, message)
    done = await agent.conversations.wait(OWNER, receipt.input.id)
    assert await agent.store.read(lambda tx: inputs.project_of(tx, done.turn)) == project
    messages = agent.model.requests[-1].messages
    assert any(isinstance(one, ToolResult) for one in messages)
    return "\n".join(one.text for one in messages)


async def test_a_projects_fact_is_told_and_found_there_alone(tmp_path: Path) -> None:
    script = [part for _ in range(3) for part in (RECALL, says("so"))]
    made = Setup(model=FakeModel(*script), builtins=lambda store, host: builtin_tools(store))
    async with running_agent(tmp_path, made) as agent:
        await agent.store.write(told)
        here = await asked(agent, PARSER)
        assert here.count("make fast") == 2, "in the note, and by the tool"
        for project in (OTHER, ""):
            elsewhere = await asked(agent, project)
            assert "need Ida" in elsewhere, "what is true everywhere"
            assert "make fast" not in elsewhere
