"""A connection whose far side sends garbage, asks too much or reads nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
import trio
import trio.testing

from homed.errors import ProtocolError, Unavailable
from homed.wire.rpc import Peer
from homed.wire.stream import Connection, Limits, NoHandler
from homed.wire.version import MAX_LINE
from tests.kit.wires import Far, Raw, echo, forever, raw, running, shut


async def test_garbage_is_heard_of_and_survived(autojump_clock: trio.testing.MockClock) -> None:
    """C2: a banner, invalid UTF-8 and a line without end."""
    broken: list[str] = []
    async with raw(Far({"echo": echo}), on_broken=broken.append) as (_, far):
        await far.stream.send_all("hello 🔄\n".encode() + b"\xff\xfe\n" + b"x" * (2 * MAX_LINE) + b"\n")
        await far.stream.send_all(far.peer.request("echo", {"a": 1})[1])
        assert (await far.next()).result == {"a": 1}
    assert [reason.split(":")[0].split(" at ")[0] for reason in broken] == [
        "no JSON", "invalid UTF-8", f"a line over {MAX_LINE} bytes",
    ]  # fmt: skip


async def test_too_much_garbage_ends_the_conversation() -> None:
    """C2: logged and bounded."""
    a, b = trio.testing.memory_stream_pair()
    broken: list[str] = []
    ours = Connection(a, a, NoHandler(), limits=Limits(broken=10), on_broken=broken.append)
    await b.send_all(b"garbage\n" * 1000)
    with trio.fail_after(60), pytest.raises(ProtocolError, match="10 unreadable lines"):
        await ours.run()
    assert len(broken) == 10
    assert ours.closed.is_set()


async def test_garbage_now_and_then_is_borne(autojump_clock: trio.testing.MockClock) -> None:
    async with raw(limits=Limits(broken=10, broken_window=60), on_broken=lambda _: None, within=3600) as (ours, far):
        for _ in range(100):
            await far.stream.send_all(b"garbage\n")
            await trio.sleep(7)
        assert not ours.closed.is_set()


async def test_an_unreadable_request_is_refused_by_its_id() -> None:
    async with raw(on_broken=lambda _: None) as (_, far):
        id_, _ = far.peer.request("m", {})
        await far.stream.send_all(b'{"jsonrpc":"2.0","id":%d,"method":"m","params":[]}\n' % id_)
        response = await far.next()
        assert response.id == id_
        assert response.error.code == -32600


async def test_a_notification_that_the_handler_chokes_on_counts_as_garbage() -> None:
    class Choking(Far):
        def notification(self, method: str, params: Mapping[str, Any]) -> None:
            self.heard.append((method, {"n": params["n"]}))

    broken: list[str] = []
    handler = Choking()
    async with raw(handler, on_broken=broken.append) as (_, far):
        await far.stream.send_all(far.peer.notify("count", {}) + far.peer.notify("count", {"n": 1}))
        await trio.testing.wait_all_tasks_blocked()
    assert handler.heard == [("count", {"n": 1})]
    assert broken == ["a notification was not understood: KeyError"]


async def test_a_line_that_cannot_be_read_is_logged_without_what_stands_in_it(caplog: pytest.LogCaptureFixture) -> None:
    class Choking(Far):
        def notification(self, method: str, params: Mapping[str, Any]) -> None:
            raise ValueError(f"{method} {params}")

    caplog.set_level("DEBUG")
    key = "k3y-of-no-known-shape"
    a, b = trio.testing.memory_stream_pair()
    for line in [
        f'{{"jsonrpc":"2.0","id":1,"method":"admin.models_add","params":{{"api_key":"{key}',
        f'{{"api_key":"{key}"}}',
        f'{{"jsonrpc":"2.0","method":"{key}","params":{{"api_key":"{key}"}}}}',
        f'{{"jsonrpc":"2.0","method":"{key}","params":["{key}"]}}',
        f'{{"jsonrpc":"2.0","id":"{key}","result":1}}',
        f'{{"jsonrpc":"2.0","id":null,"error":{{"code":1,"message":"{key}"}}}}',
        f'{{"jsonrpc":"2.0","{key}":{key}}}',
    ]:
        await b.send_all(line.encode() + b"\n")
    with trio.fail_after(60), pytest.raises(ProtocolError) as caught:
        await Connection(a, a, Choking(), limits=Limits(broken=7)).run()
    assert len([record for record in caplog.records if record.levelname == "WARNING"]) == 7
    assert key not in caplog.text + str(caught.value)


async def test_calls_over_the_limit_are_refused_and_the_reader_reads_on() -> None:
    async with raw(Far({"forever": forever}), limits=Limits(in_flight=2)) as (_, far):
        first, _ = ids = [far.peer.request("forever", {}) for _ in range(2)]
        third, line = far.peer.request("forever", {})
        await far.stream.send_all(b"".join(line for _, line in ids) + line)
        refused = await far.next()
        assert refused.id == third
        assert isinstance(refused.error.as_error(), Unavailable)
        await far.stream.send_all(far.peer.notify("$/cancel", {"id": first[0]}))
        assert (await far.next()).id == first[0]


async def test_a_far_side_that_asks_and_never_reads_piles_up_no_answers() -> None:
    served = 0

    async def count(params: Mapping[str, Any]) -> object:
        nonlocal served
        await trio.lowlevel.checkpoint()
        served += 1
        return params

    a, b = trio.testing.memory_stream_pair()
    shut(a)
    ours = Connection(a, a, Far({"count": count}), limits=Limits(in_flight=4))
    async with running(ours):
        peer = Peer()
        for _ in range(500):
            await b.send_all(peer.request("count", {})[1])
        await trio.testing.wait_all_tasks_blocked()
        assert served < 50


async def test_an_id_in_use_is_refused() -> None:
    async with raw(Far({"forever": forever})) as (_, far):
        _, line = far.peer.request("forever", {})
        await far.stream.send_all(line + line)
        response = await far.next()
        assert response.error.as_error().code == "conflict"


async def test_a_far_side_that_reads_nothing_holds_up_only_who_writes_to_it(
    autojump_clock: trio.testing.MockClock,
) -> None:
    a, b = trio.testing.lockstep_stream_pair()
    heard = Far()
    ours, far = Connection(a, a, heard), Raw(b)
    async with running(ours):
        with trio.move_on_after(1) as scope:
            for _ in range(1000):
                await ours.notify("n")
        assert scope.cancelled_caught
        await far.stream.send_all(far.peer.notify("still", {}))
        await trio.testing.wait_all_tasks_blocked()
        assert heard.heard == [("still", {})]
