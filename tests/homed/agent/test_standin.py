"""When the source in use does not answer: who does, what the person is told, what is sent to whom (kernel.md §7)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import trio

from homed.agent.weight import Sizes
from homed.memory import events, ledger
from homed.memory.records import EventKind, InputState
from homed.providers.base import ChatRequest, ErrorKind, ProviderError, System, ToolResult
from tests.kit.builders import OWNER, FakeHost, Setup, calls, fails, hangs, message, running_agent, says
from tests.kit.fleet import Fleet, Member
from tests.kit.past import Past, Said, long_text, put

BUSY = ProviderError(ErrorKind.TRANSIENT, "a (a.example) answered HTTP 503: overloaded", status=503)
SOON = ProviderError(ErrorKind.TRANSIENT, "a answered HTTP 529: overloaded", status=529, retry_after=0)
LATER = ProviderError(ErrorKind.TRANSIENT, "a answered HTTP 429: slow down", status=429, retry_after=20)
KEY = ProviderError(ErrorKind.CREDENTIAL, "a (a.example) answered HTTP 401: bad key", status=401, hint="Check the key.")
FULL = ProviderError(ErrorKind.CONTEXT_FULL, "a: maximum context length exceeded", status=400)
WRONG = ProviderError(ErrorKind.BAD_REQUEST, "a answered HTTP 400: messages.3 is wrong", status=400, hint="Look.")

SIZES = Sizes()


async def give(_: Mapping[str, Any]) -> object:
    await trio.lowlevel.checkpoint()
    return "given"


def size(request: ChatRequest) -> int:
    return sum(SIZES.of(m.text) for m in request.messages if not isinstance(m, System))


async def test_a_refused_key_is_not_tried_again_another_answers_and_the_person_is_told_which(tmp_path: Path) -> None:
    fleet = Fleet(Member("a", fails(KEY)), Member("b", says("from b")))
    async with running_agent(tmp_path, Setup(model=fleet)) as agent:
        done = await agent.ask("hi")
        assert done.outcome is not None
        assert (done.state, done.outcome.text) == (InputState.ANSWERED, "from b")
        assert fleet.asked == {"a": 1, "b": 1}
        (told,) = [note for note in agent.of("system") if note["code"] == "fallback"]
        assert told["message"] == "a (a.example) answered HTTP 401: bad key b answers instead."
        (answer,) = [e for e in (await agent.history(done.thread))["events"] if e["kind"] == "assistant"]
        assert answer["data"]["source"] == "b"
        (note,) = [e for e in (await agent.history(done.thread))["events"] if e["kind"] == "note"]
        assert note["text"] == told["message"], "also for who reads it later"
        assert answer["data"]["instead_of"] == [{"source": "a", "why": KEY.message}]
        assert agent.of("agent_llm_chain")[0]["source"] == "b"


async def test_a_source_in_trouble_is_left_alone_for_a_while_with_its_reason(tmp_path: Path) -> None:
    fleet = Fleet(Member("a", fails(KEY)), Member("b"))
    async with running_agent(tmp_path, Setup(model=fleet)) as agent:
        done = await agent.ask("hi")
        await agent.ask("and again", thread=done.thread)
        assert fleet.asked == {"a": 1, "b": 2}
        trouble = agent.chain.troubles.of("a")
        assert trouble is not None
        assert "bad key" in trouble.why
        agent.chain.troubles.clear("a")  # as when its key is changed
        await agent.ask("once more", thread=done.thread)
        assert fleet.asked == {"a": 2, "b": 2}


async def test_a_turn_stays_with_who_stood_in_to_its_end(tmp_path: Path) -> None:
    host = FakeHost()
    host.tool("look", give)
    fleet = Fleet(Member("a", fails(KEY)), Member("b", calls(("look", "{}")), says("done")))
    async with running_agent(tmp_path, Setup(model=fleet, host=host)) as agent:
        done = await agent.ask("look")
        assert done.outcome is not None
        assert done.outcome.text == "done"
        assert fleet.asked == {"a": 1, "b": 2}
        assert len(agent.of("system")) == 1, "told once"


async def test_two_tries_then_the_next_source(tmp_path: Path) -> None:
    fleet = Fleet(Member("a", fails(SOON), fails(SOON)), Member("b", says("from b")))
    async with running_agent(tmp_path, Setup(model=fleet)) as agent:
        with trio.fail_after(60):
            done = await agent.ask("hi")
        assert done.outcome is not None
        assert done.outcome.text == "from b"
        assert fleet.asked == {"a": 2, "b": 1}
        assert [note["code"] for note in agent.of("system")] == ["retrying", "fallback"]


async def test_what_is_too_long_for_one_source_is_never_sent_to_the_next(tmp_path: Path) -> None:
    """E5"""
    fleet = Fleet(Member("a", fails(FULL), fails(FULL), fails(FULL)), Member("b", says("never")))
    async with running_agent(tmp_path, Setup(model=fleet)) as agent:
        past = Past(said=[Said(question=long_text(800, f"q{n}"), answer=long_text(800, f"a{n}")) for n in range(8)])
        await agent.store.write(partial(put, past=past))
        done = await agent.ask("q3?")
        assert done.outcome is not None
        assert done.state is InputState.FAILED
        assert "room was made 2 times" in done.outcome.error
        assert "context_window of a" in done.outcome.hint
        assert fleet.asked == {"a": 3, "b": 0}
        sizes = [size(request) for request in fleet["a"].requests]
        assert sizes == sorted(sizes, reverse=True), "and never sent again unchanged"
        assert sizes[0] > sizes[1] > sizes[2]


async def test_a_smaller_stand_in_gets_a_request_of_its_own_size_without_tools_it_does_not_take(tmp_path: Path) -> None:
    host = FakeHost()
    host.tool("look", give)
    small = Member("b", says("ok"), context_window=4096, tools=False)
    fleet = Fleet(Member("a", fails(KEY), context_window=128_000), small)
    async with running_agent(tmp_path, Setup(model=fleet, host=host)) as agent:
        past = Past(said=[Said(question=long_text(900, f"q{n}"), answer=long_text(900, f"a{n}")) for n in range(8)])
        await agent.store.write(partial(put, past=past))
        done = await agent.ask("q3?")
        assert done.state is InputState.ANSWERED
        (large,), (fitting,) = fleet["a"].requests, small.requests
        assert size(large) > 4096
        assert size(fitting) < 0.8 * 4096
        assert [t.name for t in large.tools] == ["look"]
        assert fitting.tools == ()
        assert "q3 lorem" in str(fitting.messages), "what is relevant stays"
        entries = await agent.store.read(lambda tx: ledger.of_turn(tx, done.turn))
        chosen = [one.data["window"] for one in entries if one.kind == "select"]
        assert chosen == [128_000, 4096], "also what it is told is chosen for the room it has"
        assert not [one for one in entries if one.kind == "guard" and one.data["why"] == "gathered"]
        assert not [one for one in entries if one.kind == "sink"], "nothing leaves the window for a stand-in"


async def test_what_came_before_it_broke_is_kept_and_nobody_is_asked_again(tmp_path: Path) -> None:
    fleet = Fleet(Member("a", fails(BUSY, "Half an ", "answer")), Member("b", says("never")))
    async with running_agent(tmp_path, Setup(model=fleet)) as agent:
        done = await agent.ask("hi")
        assert done.outcome is not None
        assert done.state is InputState.FAILED
        assert done.outcome.text == "Half an answer"
        assert "overloaded" in done.outcome.error
        assert fleet.asked == {"a": 1, "b": 0}
        (partial_,) = [e for e in (await agent.history(done.thread))["events"] if e["kind"] == "assistant"]
        assert partial_["data"]["partial"] is True


async def test_what_was_withheld_was_not_shown_so_another_may_say_it(tmp_path: Path) -> None:
    host = FakeHost()

    async def check(_: Mapping[str, Any]) -> Mapping[str, object]:
        await trio.lowlevel.checkpoint()
        return {}

    host.stage("post_action", check, on_failure="closed")
    half = ProviderError(ErrorKind.CREDENTIAL, "a: the account has no credit left", status=402)
    fleet = Fleet(Member("a", fails(half, "Half an ")), Member("b", says("A whole answer.")))
    async with running_agent(tmp_path, Setup(model=fleet, host=host)) as agent:
        done = await agent.ask("hi")
        assert done.outcome is not None
        assert done.outcome.text == "A whole answer."
        assert "Half" not in str(agent.of("content_delta"))


async def test_a_request_that_is_wrong_goes_to_nobody_else_and_the_sources_own_words_are_told(tmp_path: Path) -> None:
    fleet = Fleet(Member("a", fails(WRONG)), Member("b", says("never")))
    async with running_agent(tmp_path, Setup(model=fleet)) as agent:
        done = await agent.ask("hi")
        assert done.outcome is not None
        assert (done.outcome.error, done.outcome.hint) == (WRONG.message, WRONG.hint)
        assert fleet.asked == {"a": 1, "b": 0}


async def test_when_nobody_answers_every_ones_words_are_told(tmp_path: Path) -> None:
    other = ProviderError(ErrorKind.CREDENTIAL, "b answered HTTP 403: not here", status=403)
    fleet = Fleet(Member("a", fails(KEY)), Member("b", fails(other)))
    async with running_agent(tmp_path, Setup(model=fleet)) as agent:
        done = await agent.ask("hi")
        assert done.outcome is not None
        assert done.outcome.error == f"{other.message} Before that: {KEY.message}"
        again = await agent.ask("hi", thread=done.thread)
        assert again.state is InputState.ANSWERED, "those who all are in trouble are all asked again"


async def test_a_long_wait_is_nobodys_while_another_could_answer(tmp_path: Path) -> None:
    fleet = Fleet(Member("a", fails(LATER)), Member("b", says("at once")))
    async with running_agent(tmp_path, Setup(model=fleet)) as agent:
        with trio.fail_after(15):  # the wait that it must not make takes 20 s
            done = await agent.ask("hi")
        assert done.outcome is not None
        assert done.outcome.text == "at once"


@pytest.mark.parametrize("error", [LATER, BUSY])
async def test_a_stop_works_while_it_waits_and_is_no_failure(tmp_path: Path, error: ProviderError) -> None:
    """A23"""
    fleet = Fleet(Member("a", fails(error), hangs()))
    async with running_agent(tmp_path, Setup(model=fleet)) as agent:
        receipt = await agent.conversations.inject(OWNER, message("hi"))
        await agent.until(lambda: [n for n in agent.of("system") if n["code"] == "retrying"])
        with trio.fail_after(60):
            assert await agent.conversations.stop(OWNER, receipt.input.thread)
            done = await agent.conversations.wait(OWNER, receipt.input.id)
        assert done.state is InputState.STOPPED
        assert agent.chain.troubles.of("a") is None
        assert fleet.asked == {"a": 1}


async def test_no_tool_runs_twice_because_the_answer_to_it_came_from_another(tmp_path: Path) -> None:
    host = FakeHost()
    host.tool("look", give)
    fleet = Fleet(Member("a", calls(("look", "{}")), fails(KEY)), Member("b", says("seen")))
    async with running_agent(tmp_path, Setup(model=fleet, host=host)) as agent:
        done = await agent.ask("look")
        assert done.outcome is not None
        assert done.outcome.text == "seen"
        assert len(host.invoked()) == 1
        result = fleet["b"].requests[0].messages[-1]
        assert isinstance(result, ToolResult)
        assert result.text == "given"
        stored = await agent.store.read(lambda tx: events.of_turn(tx, done.turn))
        assert [e.data["source"] for e in stored if e.kind is EventKind.ASSISTANT] == ["a", "b"]
