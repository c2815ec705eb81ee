"""The Trio side: stays connected, hands on what is told, does what is wanted."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import trio
import trio.testing

from homed.errors import TimedOut
from homed.wire.stream import Connection, NoHandler
from tests.waiter.fake_homed import Caller, FakeHomed
from tests.waiter.far_homed import KEY, far_homed
from waiter.connections import Directory
from waiter.messages import (
    Call,
    Dial,
    Down,
    Effect,
    Export,
    Heard,
    Lost,
    Message,
    Refused,
    Replied,
    Tag,
    Told,
    Turned,
    Up,
    Upload,
    Wanted,
)
from waiter.words import Words
from waiter.worker import Worker, _beat


class Running:
    """A worker, and what it told."""

    def __init__(self, home: Path, socket: Path) -> None:
        self.told: list[Message] = []
        self._news = trio.Event()
        self.worker = Worker(self._take, Directory({"HOME": str(home)}, socket=str(socket)), Words())

    def _take(self, message: Message) -> None:
        self.told.append(message)
        self._news.set()

    async def expect(self, what: type[Message] | Callable[[Message], bool]) -> Message:
        """Wait for such a message and take it with all before it."""
        fits = (lambda message: isinstance(message, what)) if isinstance(what, type) else what
        with trio.fail_after(60):
            while True:
                for at, message in enumerate(self.told):
                    if fits(message):
                        del self.told[: at + 1]
                        return message
                self._news = trio.Event()
                await self._news.wait()

    async def ask(self, effect: Effect, what: type[Message]) -> Message:
        self.worker.submit(effect)
        return await self.expect(what)


@asynccontextmanager
async def running(home: Path, socket: Path, dial: Dial | None = Dial()) -> AsyncIterator[Running]:  # noqa: B008
    made = Running(home, socket)
    if dial is not None:
        made.worker.submit(dial)  # before it runs, as the program does
    async with trio.open_nursery() as nursery:
        nursery.start_soon(made.worker.run)
        yield made
        made.worker.leave()


async def test_it_connects_calls_and_hands_on_what_is_told(homed: FakeHomed, tmp_path: Path) -> None:
    def tell(caller: Caller, _params: object) -> object:
        caller.event("system", message="hi")
        caller.socket.sendall(caller.peer.notify("event.lost", {"count": 3}))
        return {"threads": []}

    homed.answers["threads"] = tell
    async with running(tmp_path, homed.path) as play:
        assert await play.expect(Turned) == Turned("")
        assert await play.expect(Up) == Up("cli:owner", "0")
        assert await play.ask(Call(Tag("x", "y", 2), "threads"), Heard)
        assert await play.expect(Lost) == Lost(3)
        assert await play.expect(Replied) == Replied(Tag("x", "y", 2), {"threads": []})
        refused = await play.ask(Call(Tag("x"), "nothing"), Refused)
        assert isinstance(refused, Refused)
        assert refused.code == "not_found"
    assert [name for name, _ in homed.calls][:2] == ["hello", "subscribe"]


async def test_it_comes_back_by_itself_and_calls_without_a_connection_are_told_so(
    homed: FakeHomed, tmp_path: Path
) -> None:
    async with running(tmp_path, homed.path) as play:
        await play.expect(Up)
        await trio.to_thread.run_sync(homed.stop)
        down = await play.expect(Down)
        assert isinstance(down, Down)
        assert not down.final
        refused = await play.ask(Call(Tag("chat", "m"), "chat"), Refused)
        assert isinstance(refused, Refused)
        assert refused.code == "lost"
        await trio.to_thread.run_sync(homed.start)
        await play.expect(Up)


async def test_nobody_there_is_told_with_advice_and_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "cli.sock"
    async with running(tmp_path, path) as play:
        down = await play.expect(Down)
        assert isinstance(down, Down)
        assert "homed does not answer" in down.error
        assert "Start it" in down.hint
        with FakeHomed(path):
            await play.expect(Up)


async def test_another_protocol_is_no_use_dialling_again(homed: FakeHomed, tmp_path: Path) -> None:
    homed.answers["hello"] = lambda _caller, _params: {"protocol": 9}
    async with running(tmp_path, homed.path) as play:
        down = await play.expect(Down)
        assert isinstance(down, Down)
        assert down.final
        assert "protocol 9" in down.error


async def test_from_here_to_a_homed_elsewhere_and_back(homed: FakeHomed, tmp_path: Path) -> None:
    async with far_homed() as far, running(tmp_path, homed.path) as play:
        await play.expect(Up)
        assert await play.ask(Dial(url=far.url), Wanted) == Wanted(far.url)
        turned = await play.ask(Dial(url=far.url, key=KEY), Turned)
        assert turned == Turned(f"127.0.0.1:{far.port}")
        assert await play.expect(Up) == Up("webui:owner", "0")
        play.worker.submit(Dial(url=far.url, key="hk_wrong"))
        down = await play.expect(lambda message: isinstance(message, Down) and message.final)
        assert isinstance(down, Down)
        assert "refuses this key" in down.error
        play.worker.submit(Dial())
        assert await play.expect(Up) == Up("cli:owner", "0")


async def test_an_address_that_will_not_do_leaves_the_connection_as_it_is(homed: FakeHomed, tmp_path: Path) -> None:
    async with running(tmp_path, homed.path) as play:
        await play.expect(Up)
        for dial in (Dial(url="http://far.example", key=KEY), Dial(name="nope")):
            told = await play.ask(dial, Told)
            assert isinstance(told, Told)
            assert told.kind == "error"
        await play.ask(Call(Tag("x"), "history"), Replied)


async def test_a_far_connection_that_dies_is_dialled_again(tmp_path: Path) -> None:
    async with far_homed() as far, running(tmp_path, tmp_path / "none", None) as play:
        play.worker.submit(Dial(url=far.url, key=KEY))
        await play.expect(Up)
        await far.sockets[0].aclose()
        await play.expect(Down)
        await play.expect(Up)
        assert len(far.sockets) == 2


async def test_a_fault_of_its_own_is_no_failed_connection_and_ends_it(
    homed: FakeHomed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    failures: list[Exception] = [trio.BrokenResourceError(), OSError("gone"), TypeError("a fault")]

    async def fails(_connection: Connection) -> Up:
        raise failures.pop(0)

    monkeypatch.setattr("waiter.worker._greet", fails)
    told: list[Message] = []
    worker = Worker(told.append, Directory({"HOME": str(tmp_path)}, socket=str(homed.path)), Words())
    worker.submit(Dial())
    with trio.fail_after(60), pytest.RaisesGroup(TypeError, flatten_subgroups=True, allow_unwrapped=True):
        await worker.run()
    downs = [one.error for one in told if isinstance(one, Down)]
    assert downs == ["The connection failed: BrokenResourceError.", "The connection failed: OSError."]


async def test_files_and_exports_tell_what_came_of_them(homed: FakeHomed, tmp_path: Path) -> None:
    async with running(tmp_path, homed.path) as play:
        await play.expect(Up)
        told = await play.ask(Upload(str(tmp_path / "none")), Told)
        assert isinstance(told, Told)
        assert told.kind == "error"
        told = await play.ask(Export("th", "T", str(tmp_path / "a.md")), Told)
        assert told == Told(f"Written to {tmp_path / 'a.md'} (0 entries).")


async def test_silence_ends_a_connection(autojump_clock: trio.testing.MockClock) -> None:
    near, _far = trio.testing.memory_stream_pair()
    async with trio.open_nursery() as nursery:
        connection = Connection(near, near, NoHandler(), on_unanswered=lambda _method: None)
        await nursery.start(connection.run)
        with pytest.raises(TimedOut):
            await _beat(connection)
        nursery.cancel_scope.cancel()
