"""What a call is reckoned with: the source's count, else ours; nothing where the source took nothing on."""

from __future__ import annotations

import pytest

from homed.agent.metering import ANSWER, IMAGE, Bill, Meter, whence
from homed.providers.base import (
    LOCAL,
    Assistant,
    CallDelta,
    ChatRequest,
    ContentDelta,
    Done,
    ErrorKind,
    Image,
    Part,
    ProviderError,
    ReasoningDelta,
    Source,
    System,
    ToolCall,
    ToolSpec,
    Usage,
    UsagePart,
    User,
)
from homed.spend.ports import Holding, NoSpend
from homed.spend.records import Kind, Purpose, Tokens, Whence

REFUSED = ProviderError(ErrorKind.CREDENTIAL, "bad key", status=401)
UNSENT = ProviderError(ErrorKind.TRANSIENT, "cannot be reached")
UNSENT.unsent = True
CUT = ProviderError(ErrorKind.TRANSIENT, "broke off")
LATE = ProviderError(ErrorKind.TRANSIENT, "did not begin to answer")


def bill(*parts: Part, error: ProviderError | None = None) -> Bill:
    made = Bill(500, error=error)
    for part in parts:
        made.gathered.take(part)
    return made


@pytest.mark.parametrize(
    ("made", "tokens"),
    [
        (bill(UsagePart(Usage(100, 20, 60)), Done("stop")), Tokens(100, 20, 60)),
        (bill(error=REFUSED), None),
        (bill(error=UNSENT), None),
        (bill(error=LATE), Tokens(500, 0, 0, estimated=True)),  # it may have read the prompt
        (bill(), Tokens(500, 0, 0, estimated=True)),  # cancelled
        (bill(UsagePart(Usage(100, 5)), error=CUT), Tokens(100, 5)),
        (bill(UsagePart(Usage(0, 5)), Done("stop")), Tokens(500, 5, estimated=True)),  # Ollama, with its cache warm
        (bill(ContentDelta("a b"), UsagePart(Usage(100, 0)), Done("stop")), Tokens(100, 2, estimated=True)),
        (bill(UsagePart(Usage(100, 0)), Done("stop")), Tokens(100, 0)),
        (bill(UsagePart(Usage(100, 5, 900)), Done("stop")), Tokens(100, 5, 100)),  # no more was cached than read
    ],
)
def test_what_is_owed(made: Bill, tokens: Tokens | None) -> None:
    assert made.tokens() == tokens


@pytest.mark.parametrize(
    "part", [ContentDelta("some words"), ReasoningDelta("some thoughts"), CallDelta(0, "c", "look", '{"at": "here"}')]
)
@pytest.mark.parametrize("error", [CUT, REFUSED, None])
def test_whatever_had_come_is_counted_by_us_also_when_it_broke_off(part: Part, error: ProviderError | None) -> None:
    found = bill(part, error=error).tokens()
    assert found is not None
    assert found.estimated
    assert (found.prompt, found.completion >= 2) == (500, True)


def test_all_of_a_request_is_counted() -> None:
    meter = Meter(NoSpend())
    plain = ChatRequest((System("Be brief."), User("Is it?")))
    counted = meter.request_tokens(plain)
    spec = ToolSpec("look", "Looks at a place.", {"type": "object", "properties": {"at": {"type": "string"}}})
    call = Assistant("", (ToolCall("c", "look", {"at": "the garden"}),))
    assert meter.request_tokens(ChatRequest(plain.messages, (spec,))) > counted + 10
    assert meter.request_tokens(ChatRequest((*plain.messages, call))) > counted + 5
    seen = User("Is it?", (Image("image/png", b"x"),))
    assert meter.request_tokens(ChatRequest((System("Be brief."), seen))) == counted + IMAGE


async def test_what_is_reserved_is_the_request_and_the_longest_answer() -> None:
    held: list[Tokens] = []

    class Noting(NoSpend):
        async def hold(self, purpose: Purpose, whence: Whence, tokens: Tokens) -> Holding:
            held.append(tokens)
            return await super().hold(purpose, whence, tokens)

    meter, source = Meter(Noting()), Source("a", "http://x", "m")
    for limit in (None, 64):
        request = ChatRequest((User("Is it?"),), max_tokens=limit)
        async with meter.call(Purpose(Kind.PLUGIN, "p"), source, request):
            pass
    assert [one.completion for one in held] == [ANSWER, 64]
    assert held[0].prompt == held[1].prompt > 0


@pytest.mark.parametrize(
    ("source", "found"),
    [
        (Source("a", "https://API.deepseek.com/v1", "m"), Whence("a", "m", "api.deepseek.com")),
        (Source("a", "http://[bad", "m"), Whence("a", "m", "")),
        (Source("a", "", "m", adapter=LOCAL), Whence("a", "m", "", local=True)),
    ],
)
def test_who_is_asked_is_known_by_the_host_of_its_address(source: Source, found: Whence) -> None:
    assert whence(source) == found
