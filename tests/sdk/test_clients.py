"""What a client may ask, by the scopes of its key."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
import trio
import trio.testing

from homed.errors import Denied, NotFound, Unavailable
from homed.sdk.clients import CATCH_UP_SECONDS, PASSED, SHORT, Client, Clients, Person
from homed.wire.methods import ADMIN, IO, TO_KERNEL


class Kernel:
    """Answers everything with what it was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, Mapping[str, object]]] = []

    async def call(self, method: str, params: Mapping[str, object]) -> Any:
        await trio.lowlevel.checkpoint()
        self.asked.append((method, params))
        return {}


def client(*scopes: str) -> tuple[Client, Kernel]:
    kernel = Kernel()
    return Client(kernel, Person("webui:owner", scopes=frozenset(scopes))), kernel


def test_every_io_and_admin_method_passes_and_no_core_auth_or_plugin_method_does() -> None:
    assert {m for m, capability in TO_KERNEL.items() if capability in (IO, ADMIN)} <= PASSED
    assert not {m for m in PASSED if m.startswith(("core.", "auth.", "events."))}
    assert set(SHORT.values()) <= PASSED


@pytest.mark.parametrize("method", sorted(PASSED))
@pytest.mark.parametrize("scope", ["chat", "memory", "admin"])
async def test_a_key_calls_what_its_scope_says(method: str, scope: str) -> None:
    room = {"chat": ("io.",), "memory": ("memory.",), "admin": ("admin.", "plugin_mgr.")}[scope]
    one, kernel = client(scope)
    if method.startswith(room) or method == "admin.status":
        await one.request(method, {"peer": "webui:somebody", "call": "tok", "x": 1})
        assert kernel.asked == [(method, {"peer": "webui:owner", "x": 1})]
    else:
        with pytest.raises(Denied):
            await one.request(method, {})
        assert kernel.asked == []


async def test_a_key_without_chat_hears_nothing() -> None:
    for scopes, may in ((("memory", "admin"), False), (("chat",), True)):
        one, _ = client(*scopes)
        if may:
            await one.request("subscribe", {})
        else:
            with pytest.raises(Denied):
                await one.request("subscribe", {})
            with pytest.raises(Denied):
                await one.request("history", {"thread": "t"})


async def test_without_a_key_everything_passes_but_what_is_no_clients() -> None:
    one = Client(Kernel(), Person("cli:owner", owner=True))
    await one.request("admin.status", {})
    with pytest.raises(NotFound):
        await one.request("auth.check", {"session": "x"})


def test_there_is_a_limit_to_the_clients_and_leaving_makes_room() -> None:
    clients = Clients(Kernel(), limit=1)
    with clients.join(Person("a:b")):
        assert clients.full
        with pytest.raises(Unavailable), clients.join(Person("a:b")):
            pass
    with clients.join(Person("a:b")):
        pass


class Stopping(Kernel):
    """Answers a stop with the number of the last notice."""

    async def call(self, method: str, params: Mapping[str, object]) -> Any:
        await trio.lowlevel.checkpoint()
        return {"stopped": True, "seq": 7}


async def stopped(clients: Clients, client: Client, *, subscribed: bool) -> list[float]:
    """When the answer came, in seconds."""
    at: list[float] = []

    async def stop() -> None:
        await client.request("stop", {"thread": "t"})
        at.append(trio.current_time() - begun)

    if subscribed:
        await client.request("subscribe", {})
    begun = trio.current_time()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(stop)
        await trio.testing.wait_all_tasks_blocked()
        early = list(at)
        clients.offer({"seq": 7, "type": "content_delta", "thread": "t"})
        await trio.testing.wait_all_tasks_blocked()
    return early or at


async def test_a_stop_is_answered_behind_the_notices_before_it(autojump_clock: trio.abc.Clock) -> None:
    clients = Clients(Stopping())
    with clients.join(Person("a:b")) as client:
        assert await stopped(clients, client, subscribed=True) == [CATCH_UP_SECONDS], "nobody sends them: not for ever"
    with clients.join(Person("a:b")) as client:
        assert await stopped(clients, client, subscribed=True) == [0.0], "they are from before it came"
    with clients.join(Person("a:b")) as client:
        assert await stopped(clients, client, subscribed=False) == [0.0]
    fresh = Clients(Stopping())
    fresh.begin(7)
    with fresh.join(Person("a:b")) as client:
        assert await stopped(fresh, client, subscribed=True) == [0.0]


async def test_a_stop_is_answered_too_where_the_last_notice_before_it_was_lost(autojump_clock: trio.abc.Clock) -> None:
    clients = Clients(Stopping())

    async def sent(_method: str, _params: Mapping[str, object]) -> None:
        await trio.lowlevel.checkpoint()

    with clients.join(Person("a:b")) as client:
        await client.request("subscribe", {})
        begun = trio.current_time()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(client._feed.run, sent)
            nursery.start_soon(client.request, "stop", {"thread": "t"})
            await trio.testing.wait_all_tasks_blocked()
            clients.lose(1)
            clients.reach(7)
            await trio.testing.wait_all_tasks_blocked()
            await client._feed.wait_passed(7)
            nursery.cancel_scope.cancel()
        assert trio.current_time() == begun
    with clients.join(Person("c:d")) as late:
        await late.request("subscribe", {})
        await late.request("stop", {"thread": "t"})
        assert trio.current_time() == begun, "it came after that"
