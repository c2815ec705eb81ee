"""Refusals: too busy, too long, not allowed, not understood."""

from __future__ import annotations

from collections.abc import Mapping
from email.utils import formatdate
from time import time

import trio

from homed.providers.base import ChatRequest, ErrorKind, Retrying, System, User
from homed.providers.http import HttpPorts, HttpProvider
from tests.providers.scenario import Book
from tests.providers.stage import Case

BOOK = Book("Refusals")
scenario = BOOK.scenario


async def _busy_then_good(case: Case, status: int, headers: Mapping[str, str], **more: object) -> list[Retrying]:
    case.fake.misbehave(status=status, headers=dict(headers), **more)
    case.fake.say("at last")
    heard = await case.good("hi")
    assert heard.text == "at last"
    assert len(case.fake.chats) == 2
    return heard.retries


async def _busy_for_long(case: Case, wait: str, said: str) -> None:
    case.fake.misbehave(status=429, headers={"retry-after": wait})
    error = (await case.ask("hi")).error
    assert error is not None
    assert error.kind is ErrorKind.TRANSIENT
    assert said in error.hint
    assert len(case.fake.chats) == 1


@scenario("A23")
async def busy_with_seconds(case: Case) -> None:
    """429 with Retry-After in seconds is asked again after them."""
    assert len(await _busy_then_good(case, 429, {"retry-after": "0"})) == 1


@scenario("A23")
async def busy_with_a_date(case: Case) -> None:
    """429 with Retry-After as a date in the past is asked again; one that is far off is said, and not waited for."""
    assert len(await _busy_then_good(case, 429, {"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"})) == 1
    case.fake.requests.clear()
    await _busy_for_long(case, formatdate(time() + 3600, usegmt=True), "minutes")


@scenario("A23")
async def busy_for_ever(case: Case) -> None:
    """429 with a wait of days is not slept through: it is asked once, and the person hears when to come back."""
    await _busy_for_long(case, "999999", "12 days")


@scenario("A23")
async def busy_with_nonsense(case: Case) -> None:
    """429 with a Retry-After that is no time at all is as one without."""
    for value in ("soon", "-5", "nan", "Wed, 99 Foo 2026 99:99:99 GMT"):
        case.fake.requests.clear()
        assert len(await _busy_then_good(case, 429, {"retry-after": value})) == 1


@scenario("A23")
async def overloaded(case: Case) -> None:
    """529 and 503 without a header are asked again."""
    for status in (529, 503):
        case.fake.requests.clear()
        assert len(await _busy_then_good(case, status, {})) == 1


@scenario("A23")
async def busy_twice(case: Case) -> None:
    """When it stays busy, the failure carries the source's own words."""
    for _ in range(2):
        case.fake.misbehave(status=429, message="You have used your 40 requests a minute")
    heard = await case.ask("hi")
    assert heard.failure.kind is ErrorKind.TRANSIENT
    assert "40 requests a minute" in heard.failure.message
    assert heard.failure.status == 429


@scenario("A23")
async def cancelled_while_waiting(case: Case) -> None:
    """A wait for a busy source ends at once when it is cancelled."""
    case.fake.misbehave(status=429, headers={"retry-after": "25"})
    provider = case.provider()
    ports = HttpPorts(provider._ports.client, lambda: case.fake.key)  # with waits as they are
    patient = HttpProvider(provider.source, provider._adapter, ports)
    begun = trio.current_time()
    with trio.CancelScope() as scope:
        async with patient.stream(ChatRequest((User("hi"),))) as parts:
            async for part in parts:
                assert isinstance(part, Retrying)
                assert part.wait >= 25
                scope.deadline = trio.current_time()
    assert scope.cancelled_caught
    assert trio.current_time() - begun < 20


@scenario("D6", needs=("key",))
async def wrong_key(case: Case) -> None:
    """A wrong key is a matter of credentials, not asked again, and in no text."""
    heard = await case.ask("hi", key="sk-wrong-9876543210fedcba9876")
    assert heard.failure.kind is ErrorKind.CREDENTIAL
    assert "sk-wrong" not in heard.failure.message + heard.failure.hint
    assert len(case.fake.chats) == 1


@scenario()
async def forbidden(case: Case) -> None:
    """403 is a matter of credentials, and not asked again."""
    case.fake.misbehave(status=403, message="Your account may not use this model")
    heard = await case.ask("hi")
    assert heard.failure.kind is ErrorKind.CREDENTIAL
    assert "may not use this model" in heard.failure.message
    assert len(case.fake.chats) == 1


@scenario()
async def no_credit(case: Case) -> None:
    """An account without credit is said to be one, and not asked again."""
    said = {
        "anthropic": (400, "Your credit balance is too low to access the Anthropic API."),
        "deepseek": (402, "Insufficient Balance"),
    }
    status, message = said.get(case.wire, (429, "insufficient_quota: You exceeded your current quota"))
    case.fake.misbehave(status=status, message=message)
    heard = await case.ask("hi")
    assert heard.failure.kind is ErrorKind.CREDENTIAL
    assert "credit" in heard.failure.hint
    assert len(case.fake.chats) == 1


@scenario()
async def unknown_model(case: Case) -> None:
    """A model that is not there is a bad request that names it, and not asked again."""
    heard = await case.ask("hi", model="gone-9")
    assert heard.failure.kind is ErrorKind.BAD_REQUEST
    assert "gone-9" in heard.failure.message or case.wire == "deepseek"
    assert len(case.fake.requests) == 1


@scenario(unless={"ollama": "it passes over fields it does not know"})
async def unknown_field(case: Case) -> None:
    """A field that the server does not know is a bad request that names it."""
    heard = await case.ask("hi", options={"extra": {"no_such_field": 1}})
    assert heard.failure.kind is ErrorKind.BAD_REQUEST
    assert "no_such_field" in heard.failure.message
    assert len(case.fake.chats) == 1


@scenario("A17", "A18", "F.2")
async def too_long(case: Case) -> None:
    """What is longer than the real window is told as that, never as a bad request, and not asked again."""
    case.fake.insist(context=2000)
    heard = await case.ask(System("Be brief."), User("word " * 4000), context_window=32_768)
    assert heard.failure.kind is ErrorKind.CONTEXT_FULL
    assert len(case.fake.chats) == 1


@scenario("A17", unless={"ollama": "its refusal does not name its window"})
async def real_window_is_named(case: Case) -> None:
    """The real window that a refusal names is kept with it."""
    case.fake.insist(context=12_000)
    heard = await case.ask(User("word " * 12_000), context_window=200_000)
    assert heard.failure.kind is ErrorKind.CONTEXT_FULL
    assert heard.failure.window == 12_000


@scenario()
async def too_large_a_body(case: Case) -> None:
    """413 is a request that is too long, too."""
    case.fake.misbehave(status=413, message="Request exceeds the maximum size")
    assert (await case.ask("hi")).failure.kind is ErrorKind.CONTEXT_FULL


@scenario("A15")
async def model_server_could_not_parse(case: Case) -> None:
    """500 "error parsing tool call" is the model's slip, not a fault of the line: not asked again unchanged."""
    words = "error parsing tool call: raw='{\"at\":1', err=unexpected end of JSON input"
    case.fake.misbehave(status=500, message=words)
    heard = await case.ask("hi")
    assert heard.failure.kind is ErrorKind.BAD_REQUEST
    assert "error parsing tool call" in heard.failure.message
    assert len(case.fake.chats) == 1


@scenario()
async def server_fault(case: Case) -> None:
    """500 is asked once more."""
    case.fake.misbehave(status=500, message="Internal server error")
    case.fake.say("better")
    assert (await case.good("hi")).text == "better"


@scenario(needs=("blocked",))
async def blocked_by_rules(case: Case) -> None:
    """An answer that the provider's rules forbid is told as that."""
    case.fake.misbehave(blocked=True)
    heard = await case.ask("hi")
    assert heard.said.reason == "content_filter" or heard.failure.kind is ErrorKind.REFUSED
    assert len(case.fake.chats) == 1


@scenario()
async def a_web_page(case: Case) -> None:
    """A web page where an API should be is recognised."""
    for _ in range(2):
        case.fake.misbehave(status=404, body="<html>not here</html>")
    heard = await case.ask("hi")
    assert "web page" in heard.failure.message
    assert heard.failure.kind is ErrorKind.BAD_REQUEST


@scenario()
async def nobody_there(case: Case) -> None:
    """A server that is down is said to be out of reach."""
    heard = await case.ask("hi", base_url="http://127.0.0.1:9/v1")
    assert heard.failure.kind is ErrorKind.TRANSIENT
    assert "cannot be reached" in heard.failure.message


@scenario("A23", unless=dict.fromkeys(("openai", "anthropic", "ollama", "deepseek"), "only Google says it in the body"))
async def busy_with_a_delay_in_the_body(case: Case) -> None:
    """429 whose body says when to come back is asked again then."""
    info = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "24s"}
    error = {"code": 429, "message": "Quota exceeded.", "status": "RESOURCE_EXHAUSTED", "details": [info]}
    retries = await _busy_then_good(case, 429, {}, body={"error": error})
    assert len(retries) == 1
