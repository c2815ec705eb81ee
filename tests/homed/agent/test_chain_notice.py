"""``agent_llm_chain`` after each model call: what it carries, and what it never does."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import trio

from homed.providers.base import CallDelta, ContentDelta, Done, Opaque, ReasoningDelta, Usage, UsagePart
from tests.kit.builders import Answer, FakeHost, FakeModel, Setup, running_agent, says

SECRET = "sk-proj-abcdefghijklmnop1234567890"
SIGNED = "signed-thought-canary"


async def test_it_carries_each_step_and_neither_secrets_nor_what_the_source_wants_back(tmp_path: Path) -> None:
    async def give(_: Mapping[str, Any]) -> object:
        await trio.lowlevel.checkpoint()
        return "given"

    host = FakeHost()
    host.tool("look", give)
    first = Answer(
        [
            ReasoningDelta(f"I know {SECRET}."), ContentDelta(f"The key is {SECRET}."), CallDelta(0, "c0", "look"),
            CallDelta(0, arguments=json.dumps({"password": "hunter2hunter2", "at": SECRET})),
            UsagePart(Usage(12, 3, 2)), Opaque("anthropic", json.dumps([{"signature": SIGNED}])), Done("tool_calls"),
        ]
    )  # fmt: skip
    async with running_agent(tmp_path, Setup(model=FakeModel(first, says("done")), host=host)) as agent:
        await agent.ask("hi")
        told = agent.of("agent_llm_chain")
        assert [one["step"] for one in told] == [told[0]["step"], told[0]["step"] + 1]
        assert {"step", "text", "reasoning", "calls", "usage", "source", "model"} <= told[0].keys()
        assert told[0]["usage"] == {"prompt": 12, "completion": 3, "cached": 2}
        assert [(call["call"], call["tool"]) for call in told[0]["calls"]] == [("c0", "look")]
        assert told[0]["text"] == "The key is [secret:key]."
        assert told[0]["calls"][0]["args"] == {"password": "[secret:password]", "at": "[secret:key]"}
        assert told[1]["text"] == "done"
        everything = json.dumps([[notice.type, dict(notice.data)] for notice in agent.notices])
        for canary in (SECRET, SIGNED, "hunter2hunter2"):
            assert canary not in everything
