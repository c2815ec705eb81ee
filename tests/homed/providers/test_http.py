"""Limits of time, on a clock that jumps; the rest of the driver is tested in ``test_openai`` over real sockets."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace

import httpx2
import pytest
import trio
from trio.testing import MockClock

from homed.net import open_http
from homed.providers.base import ChatRequest, ErrorKind, ProviderError, Source, User
from homed.providers.http import HttpPorts, Limits
from homed.providers.openai import openai
from homed.providers.retry import RetryPolicy
from homed.providers.sse import MAX_EVENT
from homed.providers.trial import TRIAL_LIMIT, try_out
from tests.homed.providers.kit import Said, ask

SOURCE = Source("slow", "http://x/v1", "m")
FRAME = b'data: {"choices": [{"delta": {"content": "a"}}]}\n\n'


class Slow(httpx2.AsyncBaseTransport):
    """Answers with these frames, waiting the given seconds before each; the first wait is before the headers."""

    def __init__(self, *steps: tuple[float, bytes], headers_after: float = 0.0) -> None:
        self.steps = steps
        self.headers_after = headers_after
        self.asked = 0
        self.closed = 0
        self.sent = 0
        self.keys: list[str] = []

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        self.asked += 1
        self.keys.append(request.headers.get("authorization", ""))
        await trio.sleep(self.headers_after)
        return httpx2.Response(200, stream=_Body(self))


class _Body(httpx2.AsyncByteStream):
    def __init__(self, slow: Slow) -> None:
        self._slow = slow
        self._open = True

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for wait, frame in self._slow.steps:
            await trio.sleep(wait if self._open else 0)
            if not self._open:
                return
            self._slow.sent += len(frame)
            yield frame

    async def aclose(self) -> None:
        self._slow.closed += self._open
        self._open = False


def ports(client: httpx2.AsyncClient, limits: Limits) -> HttpPorts:
    return HttpPorts(client, lambda: "", lambda: limits, jitter=lambda: 0.0, policy=RetryPolicy(attempts=1))


@pytest.mark.parametrize(
    ("slow", "after", "said"),
    [
        (Slow(headers_after=100), 20.0, "did not begin to answer within 20 s"),
        (Slow((100, FRAME), headers_after=15), 20.0, "did not begin to answer within 20 s"),
        (Slow((1, FRAME), (29, FRAME), (31, FRAME)), 60.0, "sent nothing more within 30 s"),
    ],
)
async def test_first_byte_and_idle_have_limits_of_their_own(
    slow: Slow, after: float, said: str, autojump_clock: MockClock
) -> None:
    async with open_http(slow) as client:
        provider = openai(SOURCE, ports(client, Limits(first_byte=20, idle=30)))
        begun = trio.current_time()
        with pytest.raises(ProviderError, match=said) as caught:
            await ask(provider)
    assert trio.current_time() - begun == pytest.approx(after, abs=1.1)
    assert caught.value.kind is ErrorKind.TRANSIENT
    assert slow.closed == (1 if slow.steps else 0)


async def test_a_long_answer_has_no_limit_as_a_whole(autojump_clock: MockClock) -> None:
    slow = Slow(*[(29.0, FRAME)] * 100, (29.0, b"data: [DONE]\n\n"))
    async with open_http(slow) as client:
        said = await ask(openai(SOURCE, ports(client, Limits(first_byte=30, idle=30))))
    assert said.text == "a" * 100


async def test_limits_are_asked_for_at_every_request(autojump_clock: MockClock) -> None:
    limits = [Limits(first_byte=5), Limits(first_byte=50)]
    slow = Slow((0, FRAME), (0, b"data: [DONE]\n\n"), headers_after=20)
    async with open_http(slow) as client:
        given = HttpPorts(client, lambda: "", lambda: limits.pop(0), policy=RetryPolicy(attempts=1))
        provider = openai(SOURCE, given)
        with pytest.raises(ProviderError):
            await ask(provider)
        assert (await ask(provider)).text == "a"


@pytest.mark.parametrize("at", [0.5, 1.5, 2.5, 3.5])
async def test_cancelled_at_any_point_the_answer_is_closed_and_the_slot_free(
    at: float, autojump_clock: MockClock
) -> None:
    slow = Slow((1, FRAME), (1, FRAME), (1, b"data: [DONE]\n\n"), headers_after=1)
    async with open_http(slow) as client:
        provider = openai(Source("slow", "http://x/v1", "m", max_concurrent=1), ports(client, Limits()))
        said = Said()
        with trio.move_on_after(at) as scope:
            await ask(provider, into=said)
        assert scope.cancelled_caught
        assert trio.current_time() == pytest.approx(at)
        assert slow.closed == (1 if at > 1 else 0)
        assert said.text == "a" * max(0, int(at) - 1)
        with trio.fail_after(100):
            assert (await ask(provider)).text == "aa"


async def test_waiting_for_a_slot_can_be_cancelled_and_takes_none(autojump_clock: MockClock) -> None:
    slow = Slow((1000, FRAME))
    async with open_http(slow) as client:
        source = Source("slow", "http://x/v1", "m", max_concurrent=1)
        provider = openai(source, ports(client, Limits(first_byte=2000)))
        async with trio.open_nursery() as nursery:
            nursery.start_soon(ask, provider)
            await trio.testing.wait_all_tasks_blocked()
            with trio.move_on_after(5):
                await ask(provider)
            assert slow.asked == 1
            nursery.cancel_scope.cancel()
        slow.steps = ((0, FRAME), (0, b"data: [DONE]\n\n"))
        with trio.fail_after(100):
            assert (await ask(provider)).text == "a"


async def test_who_waited_for_a_slot_asks_with_the_key_there_is_then(autojump_clock: MockClock) -> None:
    """The old one would be refused, and the source left alone for it."""
    keys, slow = ["old"], Slow((5, FRAME), (0, b"data: [DONE]\n\n"))
    async with open_http(slow) as client:
        source = Source("slow", "http://x/v1", "m", max_concurrent=1)
        provider = openai(source, replace(ports(client, Limits()), key=lambda: keys[-1]))
        async with trio.open_nursery() as nursery:
            nursery.start_soon(ask, provider)
            await trio.testing.wait_all_tasks_blocked()
            nursery.start_soon(ask, provider)
            await trio.testing.wait_all_tasks_blocked()
            keys.append("new")
    assert slow.keys == ["Bearer old", "Bearer new"]


async def test_an_error_once_raised_is_raised_again_not_swallowed(autojump_clock: MockClock) -> None:
    async with open_http(Slow(headers_after=100)) as client:
        provider = openai(SOURCE, ports(client, Limits(first_byte=1)))
        async with provider.stream(ChatRequest((User("hi"),))) as parts:
            for _ in range(2):
                with pytest.raises(ProviderError):
                    await anext(parts)


async def test_a_trial_has_a_limit_as_a_whole(autojump_clock: MockClock) -> None:
    from homed.errors import TimedOut

    async with open_http(Slow(*[(10.0, FRAME)] * 1000)) as client:
        with pytest.raises(TimedOut, match="slow did not answer"):
            await try_out(openai(SOURCE, ports(client, Limits())))
        assert trio.current_time() >= TRIAL_LIMIT


@pytest.mark.parametrize("frames", [[FRAME, b"data: " + b"x" * 65_536], [b"{" + b" " * 65_536]], ids=["sse", "json"])
async def test_a_body_without_end_is_closed_early_and_not_asked_for_again(
    autojump_clock: MockClock, frames: list[bytes]
) -> None:
    """One delta of 100 MB is no more held than a hundred thousand small ones."""
    *before, piece = frames
    slow, said = Slow(*((0.0, frame) for frame in (*before, *[piece] * 1600))), Said()
    async with open_http(slow) as client:
        provider = openai(SOURCE, replace(ports(client, Limits()), policy=RetryPolicy()))
        with pytest.raises(ProviderError, match=f"was given up: .* larger than {MAX_EVENT} bytes") as failed:
            await ask(provider, into=said)
    assert failed.value.partial == bool(before)
    assert said.text == "a" * len(before)
    assert (slow.asked, slow.closed) == (1, 1)
    assert slow.sent < MAX_EVENT + 2 * len(piece)
