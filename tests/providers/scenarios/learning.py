"""What a source is found to be: its models, what works, and what a refusal teaches."""

from __future__ import annotations

import json

import pytest

from homed.providers import listing
from homed.providers.base import Assistant, Audio, ChatRequest, ErrorKind, Message, ProviderError, ToolResult, User
from homed.providers.guarded import UNSHOWN
from homed.providers.http import Limits
from homed.providers.trial import try_out
from tests.kit.fake_script import Call
from tests.providers.scenario import Book
from tests.providers.scenarios.pictures import PNG
from tests.providers.stage import LOOK, Case, hear

BOOK = Book("Learning")
scenario = BOOK.scenario


@scenario()
async def models_are_listed(case: Case) -> None:
    """The models of a source are listed by the names they are asked with."""
    case.fake.insist(models=("b-model", "a-model", "c-model"))
    found = await listing.fetch(case.stage.http, case.source(), case.fake.key, Limits())
    assert [one.id.removesuffix(":latest") for one in found] == ["a-model", "b-model", "c-model"]
    if case.wire in ("anthropic", "gemini"):
        assert {one.context_window for one in found} == {case.fake.contract.context}


@scenario(needs=("key",))
async def models_are_not_listed_for_others(case: Case) -> None:
    """Without the right key no models are listed, and that is said."""
    with pytest.raises(ProviderError) as caught:
        await listing.fetch(case.stage.http, case.source(), "sk-wrong-9876543210fedcba", Limits())
    assert caught.value.kind is ErrorKind.CREDENTIAL
    assert "sk-wrong" not in caught.value.message


@scenario()
async def source_is_tried_out(case: Case) -> None:
    """Trying a source out tells how fast it is and what works: streams, thoughts, tools, pictures, counts."""
    sees = "vision" not in case.wired.lacks
    case.fake.insist(vision=sees)
    case.fake.when("Count from one", {"say": "one two three four five", "think": "easy"})
    case.fake.when("report_number", {"calls": [{"name": "report_number", "args": {"number": 7}}]})
    case.fake.when("colour", {"say": "Red."})
    trial = await try_out(case.guarded()[0])
    assert trial.ok, trial
    assert (trial.streaming, trial.reasoning, trial.tools, trial.usage) == (True, True, True, True)
    assert trial.images is (True if sees else None)
    assert 0 < trial.latency_ms <= trial.total_ms
    assert trial.error == ""


@scenario("A17", unless={"ollama": "its refusal does not name its window"})
async def window_is_learnt(case: Case) -> None:
    """The window that a refusal names is the source's from then on."""
    case.fake.insist(context=10_000)
    guarded, learnt = case.guarded(context_window=200_000)
    heard = await hear(guarded, ChatRequest((User("word " * 12_000),)))
    assert heard.failure.kind is ErrorKind.CONTEXT_FULL
    assert learnt == [10_000]
    assert guarded.source.context_window == 10_000


@scenario("A2")
async def refused_history_never_goes_again(case: Case) -> None:
    """A history that a server refused for reasons of its own never goes out again as it was."""
    case.fake.call_tools(Call("look", {"at": "a"}), think="hm")
    guarded, _ = case.guarded()
    first = await hear(guarded, ChatRequest((User("go"),), (LOOK,)))
    history: list[Message] = [User("go"), first.message, ToolResult(first.ids[0], "look", "seen here")]
    case.fake.misbehave(status=400, message="Something about this conversation is not as it should be")
    refused = await hear(guarded, ChatRequest(tuple(history), (LOOK,)))
    assert refused.failure.kind is ErrorKind.BAD_REQUEST
    before = json.dumps(case.sent.body)
    case.fake.say("now I see")
    after = await hear(guarded, ChatRequest((*history, User("again?")), (LOOK,)))
    assert after.text == "now I see", after
    assert json.dumps(case.sent.body) != before
    assert case.sent.calls == []
    told = " ".join(text for _, text in case.sent.said)
    assert "look" in told
    assert "seen here" in told


@scenario("E17", unless={"anthropic": "all its models see", "deepseek": "it is known to be blind"})
async def blindness_is_learnt(case: Case) -> None:
    """A model that turns out to be blind is asked without pictures, and told that there were some."""
    case.fake.insist(vision=False)
    case.fake.say("I cannot see it")
    guarded, _ = case.guarded(vision=True)
    request = ChatRequest((User("what is this?", (PNG,)), Assistant("hm"), User("well?")))
    heard = await hear(guarded, request)
    if heard.error is not None:  # this time it was only learnt
        heard = await hear(guarded, request)
    assert heard.text == "I cannot see it", heard
    assert case.sent.pictures == []
    assert any(UNSHOWN in text for _, text in case.sent.said)


@scenario(needs=("audio",))
async def recording_of_a_person(case: Case) -> None:
    """A recording reaches a model that hears."""
    case.fake.insist(audio=True, vision=True)
    case.fake.say("a bird")
    wav = Audio("audio/wav", b"RIFF" + bytes(60))
    await case.good(User("what is this?", (), (wav,)), audio=True)
    assert "UklGRgAAAAAA" in json.dumps(case.sent.body)
