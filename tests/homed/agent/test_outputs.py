"""Output channels: what they carry, in which pieces, and the truth about what became of it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from homed.agent.outputs import PIECES
from homed.agent.uploads import Piece
from homed.errors import TimedOut, Unavailable
from homed.identity.permissions import Decision, Rule
from homed.memory.records import InputState
from homed.providers.base import ToolResult
from tests.kit.builders import OWNER, Agent, FakeHost, FakeModel, Handler, Setup, calls, message, running_agent, says

TOOL = "output_send__chat"
PNG = b"\x89PNG\r\n\x1a\n" + bytes(200)


class Channel:
    """Remembers what it was handed; answers what it is told to, then ok."""

    def __init__(self, *answers: object) -> None:
        self.got: list[Any] = []
        self._answers = list(answers)

    async def send(self, params: Mapping[str, Any]) -> object:
        self.got.append(params["content"])
        answer = self._answers.pop(0) if self._answers else "ok"
        if isinstance(answer, Exception):
            raise answer
        return answer


def host_with(send: Handler, **how: Any) -> FakeHost:
    host = FakeHost()
    host.output("chat", send, **how)
    return host


async def sent(tmp_path: Path, host: FakeHost, *contents: object, thread: str = "") -> list[ToolResult]:
    """The results of sending these in one turn."""
    model = FakeModel(calls(*((TOOL, json.dumps({"content": content})) for content in contents)), says("done"))
    async with running_agent(tmp_path, Setup(model=model, host=host)) as agent:
        agent.rules.rules.append(Rule(Decision.ALLOW, tool=TOOL))
        await agent.ask("send", thread=thread)
        return [m for m in model.requests[1].messages if isinstance(m, ToolResult)]


async def test_a_type_that_the_channel_lacks_is_refused_with_its_list(tmp_path: Path) -> None:
    channel = Channel()
    content = ["hello", {"type": "image", "block": "blk_1"}]
    results = await sent(tmp_path, host_with(channel.send, caps=("text", "file")), content)
    assert results[0].is_error
    told = json.loads(results[0].text)
    assert told["reason"] == "not_carried"
    assert told["detail"] == "chat does not carry image; it carries text, file."
    assert channel.got == [], "not even the part that it carries"


async def test_a_long_text_goes_out_in_pieces_in_order(tmp_path: Path) -> None:
    channel = Channel()
    text = " ".join(f"Sentence number {n} is here." for n in range(12))
    results = await sent(tmp_path, host_with(channel.send, limit=100), text)
    assert results[0].text == "ok"
    assert len(channel.got) > 3
    assert all(len(piece) <= 100 and piece.endswith(".") for piece in channel.got)
    assert " ".join(channel.got) == text


async def test_a_text_of_too_many_pieces_is_refused_whole(tmp_path: Path) -> None:
    channel = Channel()
    text = "word " * 100 * PIECES
    results = await sent(tmp_path, host_with(channel.send, limit=100), text)
    assert results[0].is_error
    assert "too_long" in results[0].text
    assert channel.got == []


@pytest.mark.parametrize(
    ("answers", "told"),
    [
        (["ok", "queued", "ok"], "queued"),
        (["ok", "unconfirmed", "queued"], "unconfirmed"),
        (["ok", TimedOut("chat took too long."), "ok"], "unconfirmed"),
        (["ok", 4711, "ok"], "4711"),
        (["ok", "delivered to 3", "ok"], "delivered to 3"),
    ],
)
async def test_of_several_messages_the_worst_counts_and_nothing_is_made_up(
    tmp_path: Path, answers: list[object], told: str
) -> None:
    channel = Channel(*answers)
    results = await sent(tmp_path, host_with(channel.send), ["one", "two", "three"])
    assert channel.got == ["one", "two", "three"]
    assert (results[0].text, results[0].is_error) == (told, False)


async def test_what_went_out_before_a_failure_is_told(tmp_path: Path) -> None:
    channel = Channel("ok", Unavailable("The network is down."))
    results = await sent(tmp_path, host_with(channel.send), ["one", "two", "three"])
    assert results[0].is_error
    assert "of 3 messages 1 went out, then: The network is down." in results[0].text
    assert channel.got == ["one", "two"]


async def test_an_answer_that_says_nothing_is_a_failure(tmp_path: Path) -> None:
    results = await sent(tmp_path, host_with(Channel(None).send), "hi")
    assert results[0].is_error
    assert "did not say what became of the message" in results[0].text


async def upload(agent: Agent, name: str, data: bytes) -> str:
    id_, _ = await agent.uploads.receive(OWNER, Piece(data=data, name=name, last=True))
    return id_


def _open(agent: Agent) -> set[str]:
    return {str(asked["approval"]) for asked in agent.conversations.approvals(OWNER)}


async def test_a_file_of_the_conversation_is_handed_over_by_its_id(tmp_path: Path) -> None:
    channel = Channel()
    model = FakeModel(says("A picture."))
    host = host_with(channel.send, caps=("text", "image"), limit=0)
    async with running_agent(tmp_path, Setup(model=model, host=host)) as agent:
        block = await upload(agent, "cat.png", PNG)
        first = await agent.conversations.inject(OWNER, message("look", attachments=(block,)))
        await agent.conversations.wait(OWNER, first.input.id)
        content = {"type": "image", "block": block, "caption": "a cat"}
        other = {"type": "image", "block": "blk_of_somebody_else"}
        model.script += [calls(*((TOOL, json.dumps({"content": c})) for c in (content, other))), says("done")]
        asked = await agent.conversations.inject(OWNER, message("send it", thread=first.thread.id, can_ask=True))
        seen: set[str] = set()
        for _ in range(2):  # with a file in view each is asked for: it may say what nobody here wrote
            await agent.until(lambda: bool(_open(agent) - seen))
            (question,) = _open(agent) - seen
            seen.add(question)
            await agent.conversations.approve(OWNER, question, allow=True)
        await agent.conversations.wait(OWNER, asked.input.id)
        results = [m for m in model.requests[-1].messages if isinstance(m, ToolResult)]
    assert channel.got == [
        {
            "type": "image", "block": block, "name": "cat.png", "media_type": "image/png", "bytes": len(PNG),
            "caption": "a cat",
        }
    ]  # fmt: skip
    assert results[0].text == "ok"
    assert "no_file" in results[1].text


async def test_the_help_tells_what_can_be_sent_and_how(tmp_path: Path) -> None:
    model = FakeModel(calls((TOOL + "_help", "{}")), says("done"))
    host = host_with(Channel().send, caps=("text", "image"), limit=500)
    async with running_agent(tmp_path, Setup(model=model, host=host)) as agent:
        await agent.ask("how?")
        result = next(m for m in model.requests[1].messages if isinstance(m, ToolResult))
    told = json.loads(result.text)
    assert (told["caps"], told["flags"], told["limit"]) == (["text", "image"], 5, 500)
    assert told["content"][0] == "a text"
    assert told["content"][1]["type"] == "image"


async def test_what_a_stage_takes_out_of_a_part_does_not_go_out(tmp_path: Path) -> None:
    async def clean(fields: Mapping[str, Any]) -> object:
        return {"final_text": str(fields["final_text"]).replace("secret", "***")}

    channel = Channel()
    host = host_with(channel.send, caps=("text", "structured"))
    host.stage("before_output", clean)
    results = await sent(tmp_path, host, "a secret word", {"card": "the secret"}, {"card": "plain"})
    assert channel.got == ["a *** word", {"card": "plain"}]
    assert [r.is_error for r in results] == [False, True, False]
    assert "blocked" in results[1].text


async def test_after_only_sending_there_may_be_no_more_to_say(tmp_path: Path) -> None:
    """E10: an empty answer after a round of sends is no failure; after anything else it is."""
    channel = Channel()
    host = host_with(channel.send)

    async def look(_: Mapping[str, Any]) -> object:
        return "seen"

    host.tool("look", look)
    send = (TOOL, json.dumps({"content": "hi"}))
    model = FakeModel(calls(send), says(""), calls(send, ("look", "{}")), says(""))
    async with running_agent(tmp_path, Setup(model=model, host=host)) as agent:
        agent.rules.rules.append(Rule(Decision.ALLOW, tool=TOOL))
        done = await agent.ask("send")
        assert done.outcome is not None
        assert (done.outcome.state, done.outcome.text) == (InputState.ANSWERED, "(sent)")
        mixed = await agent.ask("send and look")
        assert mixed.outcome is not None
        assert mixed.outcome.state is InputState.FAILED


async def test_a_text_of_which_a_stage_leaves_nothing_is_refused(tmp_path: Path) -> None:
    channel = Channel()
    host = host_with(channel.send)

    async def clean(_: Mapping[str, Any]) -> object:
        return {"final_text": " "}

    host.stage("before_output", clean)
    (result,) = await sent(tmp_path, host, "hello")
    assert json.loads(result.text)["reason"] == "blocked"
    assert channel.got == []
