"""What a call is reckoned with: the source's count, else ours; nothing where the source took nothing on."""

from __future__ import annotations

from dataclasses import replace

import pytest

from homed.agent.metering import (
    ANSWER,
    IMAGE,
    LEAST,
    TRIAL,
    UNSAID,
    Bill,
    Meter,
    can_answer,
    metered,
    whence,
)
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
from homed.providers.fake import FakeProvider
from homed.providers.trial import try_out
from homed.spend.ports import Holding, NoSpend, OverLimit, Settlement
from homed.spend.records import Cost, Kind, Purpose, Tokens, Whence


class Noting(NoSpend):
    """Writes down what goes through it; ``room`` is what it leaves an answer."""

    def __init__(self, room: int | None = None, *, refuse: bool = False) -> None:
        self.room = room
        self.refuse = refuse
        self.held: list[tuple[Purpose, Tokens, int]] = []
        self.settled: list[Tokens] = []

    async def hold(self, purpose: Purpose, whence: Whence, tokens: Tokens, *, can: int = 0) -> Holding:
        if self.refuse:
            raise OverLimit("Used up.", hint="", limit="day_tokens")
        self.held.append((purpose, tokens, can))
        free = await super().hold(purpose, whence, tokens)
        return Noted(self, free)


class Noted:
    def __init__(self, on: Noting, free: Holding) -> None:
        self._on, self._free, self.room = on, free, on.room

    def settling(self, tokens: Tokens) -> tuple[Settlement, Cost]:
        return self._free.settling(tokens)

    async def settle(self, tokens: Tokens) -> Cost:
        self._on.settled.append(tokens)
        return await self._free.settle(tokens)

    async def release(self) -> None:
        await self._free.release()


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
    noting = Noting()
    meter, source = Meter(noting), Source("a", "http://x", "m")
    for limit in (None, 64):
        request = ChatRequest((User("Is it?"),), max_tokens=limit)
        async with meter.call(Purpose(Kind.PLUGIN, "p"), source, request) as made:
            assert made.request == request
    assert [(tokens.completion, can) for _, tokens, can in noting.held] == [(ANSWER, UNSAID), (64, 64)]
    assert noting.held[0][1].prompt == noting.held[1][1].prompt > 0


async def test_an_answer_is_limited_to_the_room_that_is_left() -> None:
    request = ChatRequest((User("Is it?"),))
    async with Meter(Noting(room=5000)).call(TRIAL, Source("a", "http://x", "m"), request) as made:
        assert made.request == replace(request, max_tokens=5000)


@pytest.mark.parametrize(
    ("source", "asked", "tokens"),
    [
        (Source("a", "http://x", "m"), 100, UNSAID),
        (Source("a", "http://x", "m", options={"max_tokens": 500}), 100, 500),
        (Source("a", "http://x", "m", "anthropic", options={"thinking": 2000}), 100, UNSAID + 2000),
        (Source("a", "http://x", "m", "anthropic", options={"thinking": 2000, "max_tokens": 4096}), 100, 4096),
        (Source("a", "http://x", "m", context_window=9000), 6000, 3000),
        (Source("a", "http://x", "m", context_window=9000), 8999, LEAST),
    ],
)
def test_what_a_source_can_answer(source: Source, asked: int, tokens: int) -> None:
    assert can_answer(source, asked) == tokens


async def test_the_questions_of_a_trial_go_through_the_gate() -> None:
    noting = Noting()
    said = (ContentDelta("one two"), UsagePart(Usage(7, 2)), Done("stop"))
    fake = FakeProvider(said, said)
    trial = await try_out(metered(noting)(fake))
    assert (trial.ok, trial.usage) == (True, True)
    assert [purpose.who for purpose, _, _ in noting.held] == ["models test"] * 2
    assert noting.settled == [Tokens(7, 2)] * 2
    refused = Noting(refuse=True)
    with pytest.raises(OverLimit):
        await try_out(metered(refused)(fake))
    assert refused.settled == []


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
