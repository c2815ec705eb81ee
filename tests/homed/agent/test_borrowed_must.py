"""A function that must be called: the model is told, offered nothing else, asked again, and fails the turn at last."""

from __future__ import annotations

from pathlib import Path

import pytest

from homed.agent.borrowed import Function, Lent
from homed.agent.step import MUST_TRIES
from homed.memory.records import InputState
from homed.providers.base import ErrorKind, ProviderError
from homed.providers.fallback import Policy
from tests.homed.agent.test_borrowed import LOOK, begin, handed
from tests.kit.builders import OWNER, FakeModel, Setup, calls, fails, running_agent, says

HEAR = Function("hear", "Hears.", {"type": "object"})
LOOKS = calls(("look", "{}"), text="I look.")


async def test_it_is_all_that_is_offered_until_it_is_called(tmp_path: Path) -> None:
    model = FakeModel(says("I would rather talk."), LOOKS, says("Seen."))
    async with running_agent(tmp_path, Setup(model=model)) as agent:
        input_ = await begin(agent, "look", Lent((LOOK, HEAR), must=frozenset({"look"})))
        (call,) = await handed(agent, input_)
        assert call.name == "look"
        assert agent.of("content_delta") == [], "what it said instead is not shown"
        await agent.conversations.answer(OWNER, {call.id: "a bird"})
        done = await agent.conversations.wait(OWNER, input_)
        assert done.outcome is not None
        assert done.outcome.text == "Seen."
        assert [[spec.name for spec in request.tools] for request in model.requests[:2]] == [["look"], ["look"]]
        assert all("call look" in request.messages[-1].text for request in model.requests[:2])
        assert {"look", "hear"} <= {spec.name for spec in model.requests[2].tools}
        assert "call look" not in model.requests[2].messages[-1].text
        texts = [event["text"] for event in (await agent.history(done.thread))["events"]]
        assert texts == ["look", "I look.", "a bird", "Seen."]


async def test_any_of_several_will_do(tmp_path: Path) -> None:
    async with running_agent(tmp_path, Setup(model=FakeModel(calls(("hear", "{}")), says("ok")))) as agent:
        input_ = await begin(agent, "x", Lent((LOOK, HEAR), must=frozenset({"look", "hear"})))
        (call,) = await handed(agent, input_)
        await agent.conversations.answer(OWNER, {call.id: "a bird"})
        assert (await agent.conversations.wait(OWNER, input_)).state is InputState.ANSWERED


async def test_a_model_that_does_not_call_it_fails_the_turn(tmp_path: Path) -> None:
    async with running_agent(tmp_path, Setup(model=FakeModel(*[says("no")] * 9))) as agent:
        input_ = await begin(agent, "x", Lent((LOOK,), must=frozenset({"look"})))
        done = await agent.conversations.wait(OWNER, input_)
        assert done.outcome is not None
        assert (done.state, done.outcome.cause) == (InputState.FAILED, {"kind": "no_call"})
        assert "did not call look" in done.outcome.error
        assert len(agent.model.requests) == MUST_TRIES


@pytest.mark.parametrize(
    ("error", "cause"),
    [
        (ProviderError(ErrorKind.TRANSIENT, "slow down", status=429, retry_after=900.0),
         {"kind": "transient", "status": 429, "retry_after": 900.0}),
        (ProviderError(ErrorKind.BAD_REQUEST, "no", status=400), {"kind": "bad_request", "status": 400}),
    ],
)  # fmt: skip
async def test_an_outcome_tells_what_kind_of_failure_it_was(
    tmp_path: Path, error: ProviderError, cause: dict[str, object]
) -> None:
    async with running_agent(tmp_path, Setup(model=FakeModel(*[fails(error)] * 4), policy=Policy(attempts=1))) as agent:
        done = await agent.ask("x")
        assert done.outcome is not None
        assert done.outcome.cause == cause
