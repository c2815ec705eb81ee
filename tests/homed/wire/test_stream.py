"""A connection: calls both ways, cancellation that is followed up, and an end that leaves nobody waiting."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import pytest
import trio
import trio.testing

from homed.errors import Denied, HomedError, InvalidInput, NotFound, Stopped, TimedOut, Unavailable
from homed.wire.rpc import Notification, Response
from homed.wire.stream import Connection, Limits, NoHandler, homed_error
from homed.wire.version import MAX_LINE
from tests.kit.wires import Far, Raw, connected, echo, forever, raw, running, shut


async def test_a_call_gets_its_result() -> None:
    async with connected(Far({"echo": echo})) as (ours, _):
        assert await ours.request("echo", {"text": "你好🌍"}) == {"text": "你好🌍"}


async def test_replies_find_their_calls_in_any_order() -> None:
    gates = [trio.Event() for _ in range(3)]

    async def gated(params: Mapping[str, Any]) -> object:
        await gates[params["n"]].wait()
        if params["n"]:
            gates[params["n"] - 1].set()
        return params["n"]

    got: list[int] = []

    async def call(ours: Connection, n: int) -> None:
        got.append(await ours.request("gated", {"n": n}))

    async with connected(Far({"gated": gated})) as (ours, _), trio.open_nursery() as nursery:
        for n in range(3):
            nursery.start_soon(call, ours, n)
        gates[2].set()
    assert got == [2, 1, 0]


async def test_both_sides_may_call_while_being_called() -> None:
    far = Far()
    async with connected(far) as (ours, theirs):

        async def ask_back(params: Mapping[str, Any]) -> object:
            with pytest.raises(NotFound):
                await theirs.request("anything")
            return "asked"

        far.answers["ask"] = ask_back
        assert await ours.request("ask") == "asked"


async def test_notifications_arrive_in_order() -> None:
    far = Far({"echo": echo})
    async with connected(far) as (ours, _):
        for n in range(100):
            await ours.notify("n", {"n": n})
        await ours.request("echo")
    assert [params["n"] for _, params in far.heard] == list(range(100))


@pytest.mark.parametrize("error", [Denied("Not yours.", hint="Ask."), Stopped("Enough."), Unavailable("Later.")])
async def test_an_error_of_ours_arrives_as_itself(error: HomedError) -> None:
    async def fail(params: Mapping[str, Any]) -> object:
        async with trio.open_nursery():  # a nursery wraps it in a group
            raise error

    async with connected(Far({"fail": fail})) as (ours, _):
        with pytest.raises(type(error), match=error.message) as caught:
            await ours.request("fail")
        assert caught.value.hint == error.hint


async def test_an_unexpected_failure_is_logged_here_and_named_there(caplog: pytest.LogCaptureFixture) -> None:
    async def fail(params: Mapping[str, Any]) -> object:
        raise ZeroDivisionError("by nought")

    async with connected(Far({"fail": fail, "echo": echo})) as (ours, _):
        with pytest.raises(HomedError, match="ZeroDivisionError"):
            await ours.request("fail")
        assert await ours.request("echo", {}) == {}
    assert "by nought" in caplog.text


@pytest.mark.parametrize(("result", "reason"), [({1}, "JSON"), ("x" * MAX_LINE, "at most")])
async def test_a_result_that_cannot_be_written_is_an_error_for_the_caller(result: object, reason: str) -> None:
    async def answer(params: Mapping[str, Any]) -> object:
        return result

    async with connected(Far({"answer": answer})) as (ours, _):
        with pytest.raises(InvalidInput, match=reason):
            await ours.request("answer")


async def test_an_unknown_method_has_json_rpcs_own_code() -> None:
    async with raw() as (_, far):
        await far.stream.send_all(far.peer.request("nope", {})[1])
        response = await far.next()
        assert response.error.code == -32601


async def test_a_timeout_says_that_the_work_was_stopped(autojump_clock: trio.testing.MockClock) -> None:
    """C13: never "cancelled" when it is not."""
    async with connected(Far({"forever": forever})) as (ours, _):
        with pytest.raises(TimedOut, match="it was stopped") as caught:
            await ours.request("forever", timeout=5)
        assert caught.value.detail == {"ended": True}
        assert trio.current_time() == pytest.approx(5)
        assert ours.pending == []


async def test_a_timeout_says_that_the_work_may_still_be_running(autojump_clock: trio.testing.MockClock) -> None:
    unanswered: list[str] = []
    async with raw(on_unanswered=unanswered.append) as (ours, far):
        with pytest.raises(TimedOut, match="may still be running") as caught:
            await ours.request("hang", timeout=5)
        assert caught.value.detail == {"ended": False}
        assert trio.current_time() == pytest.approx(6)
        assert unanswered == ["hang"]
        request, cancel = await far.next(), await far.next()
        assert cancel == Notification("$/cancel", {"id": request.id})


async def test_a_reply_after_the_grace_is_no_offence(autojump_clock: trio.testing.MockClock) -> None:
    broken: list[str] = []
    async with raw(on_broken=broken.append, on_unanswered=lambda _: None) as (ours, far):
        with pytest.raises(TimedOut):
            await ours.request("slow", timeout=1)
        request = await far.next()
        await far.stream.send_all(far.peer.reply(request.id, "late"))
        await trio.testing.wait_all_tasks_blocked()
    assert broken == []


async def test_a_cancelled_call_waits_until_its_work_has_ended(autojump_clock: trio.testing.MockClock) -> None:
    """C13"""
    ended: list[float] = []

    async def tidy(params: Mapping[str, Any]) -> object:
        try:
            await trio.sleep_forever()
        finally:
            with trio.move_on_after(0.5, shield=True):
                await trio.sleep(0.4)
            ended.append(trio.current_time())

    async with connected(Far({"tidy": tidy})) as (ours, _):
        with trio.move_on_after(2) as scope:
            await ours.request("tidy")
        assert scope.cancelled_caught
        assert ended == [pytest.approx(2.4)]
        assert trio.current_time() == pytest.approx(2.4)


async def test_a_call_still_queued_is_withdrawn_and_never_sent(autojump_clock: trio.testing.MockClock) -> None:
    a, b = trio.testing.memory_stream_pair()
    gate = shut(a)
    ours, far = Connection(a, a, NoHandler()), Raw(b)
    async with running(ours):
        await ours.notify("first")
        await trio.testing.wait_all_tasks_blocked()
        with trio.move_on_after(1) as scope:
            await ours.request("second")
        assert scope.cancelled_caught
        assert trio.current_time() == pytest.approx(1), "there was nothing to wait for"
        gate.set()
        await ours.notify("third")
        assert [(await far.next()).method for _ in range(2)] == ["first", "third"]


async def test_a_cancellation_overtakes_a_full_outbox(autojump_clock: trio.testing.MockClock) -> None:
    a, b = trio.testing.memory_stream_pair()
    ours, far = Connection(a, a, NoHandler()), Raw(b)

    async def flood() -> None:
        for n in range(100):
            await ours.notify("n", {"n": n})

    async with running(ours) as nursery:
        with trio.CancelScope() as scope:
            async with trio.open_nursery() as inner:
                inner.start_soon(ours.request, "long")
                request = await far.next()
                gate = shut(a)
                nursery.start_soon(flood)
                await trio.testing.wait_all_tasks_blocked()
                scope.cancel()
                nursery.start_soon(open_when_quiet, gate)
        messages = [await far.next() for _ in range(2)]
        assert messages[1] == Notification("$/cancel", {"id": request.id})


async def open_when_quiet(gate: trio.Event) -> None:
    await trio.testing.wait_all_tasks_blocked()
    gate.set()


async def test_a_cancelled_handler_gives_exactly_one_reply() -> None:
    far_handler = Far({"forever": forever})
    async with raw(far_handler) as (_, far):
        id_, line = far.peer.request("forever", {})
        await far.stream.send_all(line + far.peer.notify("$/cancel", {"id": id_}))
        response = await far.next()
        assert isinstance(response, Response)
        assert isinstance(response.error.as_error() if response.error else None, Stopped)
        await far.stream.send_all(far.peer.notify("$/cancel", {"id": id_}))
        await trio.testing.wait_all_tasks_blocked()
        assert far.got == []


@pytest.mark.parametrize("id_", [99, "x", None, True, [1], {"a": 1}])
async def test_cancelling_what_is_not_running_does_nothing(id_: object) -> None:
    async with raw(Far({"echo": echo})) as (_, far):
        await far.stream.send_all(far.peer.notify("$/cancel", {"id": id_}))
        await far.stream.send_all(far.peer.request("echo", {})[1])
        assert isinstance(await far.next(), Response)


async def test_everybody_who_waits_is_told_when_the_far_side_goes() -> None:
    async with raw() as (ours, far):
        with pytest.RaisesGroup(pytest.RaisesExc(Unavailable), pytest.RaisesExc(Unavailable)):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(catching, ours)
                nursery.start_soon(catching, ours)
                await trio.testing.wait_all_tasks_blocked()
                assert ours.pending == ["m", "m"]
                await far.stream.aclose()
        assert ours.closed.is_set()
        with pytest.raises(Unavailable):
            await ours.request("m")
        with pytest.raises(Unavailable):
            await ours.notify("m")


async def catching(ours: Connection) -> None:
    """A caller whom no failing neighbour in the nursery cancels."""
    with trio.CancelScope(shield=True):
        await ours.request("m")


async def test_the_end_cancels_the_handlers_that_still_run() -> None:
    cancelled = trio.Event()

    async def work(params: Mapping[str, Any]) -> object:
        try:
            await trio.sleep_forever()
        finally:
            cancelled.set()

    async with raw(Far({"work": work})) as (ours, far):
        await far.stream.send_all(far.peer.request("work", {})[1])
        await trio.testing.wait_all_tasks_blocked()
        await far.stream.aclose()
        await ours.closed.wait()
        assert cancelled.is_set()


async def test_finish_answers_what_is_being_served_and_refuses_the_rest() -> None:
    gate = trio.Event()

    async def gated(params: Mapping[str, Any]) -> object:
        await gate.wait()
        return "done"

    async with raw(Far({"gated": gated})) as (ours, far):
        await far.stream.send_all(far.peer.request("gated", {})[1])
        await far.stream.send_all(far.peer.request("gated", {})[1])
        await trio.testing.wait_all_tasks_blocked()
        ours.finish()
        await far.stream.send_all(far.peer.request("gated", {})[1])
        refused = await far.next()
        assert isinstance(refused.error.as_error(), Unavailable)
        gate.set()
        assert [(await far.next()).result for _ in range(2)] == ["done", "done"]
        await ours.closed.wait()


async def test_finish_loses_no_reply_that_a_full_outbox_holds_up() -> None:
    done = trio.Event()

    async def gated(params: Mapping[str, Any]) -> object:
        await done.wait()
        return "done"

    a, b = trio.testing.memory_stream_pair()
    ours, far = Connection(a, a, Far({"gated": gated})), Raw(b)
    async with running(ours):
        for _ in range(40):
            await far.stream.send_all(far.peer.request("gated", {})[1])
        await trio.testing.wait_all_tasks_blocked()
        gate = shut(a)
        ours.finish()
        done.set()
        await trio.testing.wait_all_tasks_blocked()
        gate.set()
        assert [(await far.next()).result for _ in range(40)] == ["done"] * 40
        await ours.closed.wait()


async def test_finish_with_nothing_running_ends_at_once() -> None:
    async with raw() as (ours, _):
        ours.finish()
        await ours.closed.wait()


async def test_a_call_whose_far_side_goes_while_it_should_stop_is_not_said_to_have_ended(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async with raw() as (ours, far), trio.open_nursery() as nursery:

        async def leave() -> None:
            await far.next()
            await far.next()  # the cancellation
            await far.stream.aclose()

        nursery.start_soon(leave)
        with pytest.raises(TimedOut) as caught:
            await ours.request("anything", timeout=5)
        assert caught.value.detail == {"ended": False}


async def test_cancelling_the_run_fails_the_callers() -> None:
    a, _far = trio.testing.memory_stream_pair()
    ours = Connection(a, a, NoHandler())
    scope = trio.CancelScope()

    async def run() -> None:
        with scope:
            await ours.run()

    with trio.fail_after(60), pytest.RaisesGroup(Unavailable):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(run)
            nursery.start_soon(catching, ours)
            await trio.testing.wait_all_tasks_blocked()
            scope.cancel()
    assert ours.closed.is_set()


def test_one_error_in_groups_is_found_and_two_are_not() -> None:
    denied = Denied("no")
    assert homed_error(ExceptionGroup("a", [ExceptionGroup("b", [denied])])) is denied
    assert homed_error(ExceptionGroup("a", [denied, denied])) is None
    assert homed_error(ValueError()) is None


async def test_a_result_nobody_waits_for_is_told_whether_it_comes_at_once_or_late() -> None:
    untaken: list[object] = []
    asked, go = trio.Event(), trio.Event()

    async def stubborn(params: Mapping[str, Any]) -> object:
        asked.set()
        with trio.CancelScope(shield=True):
            await go.wait()
        return params

    a, b = trio.testing.memory_stream_pair()
    ours = Connection(a, a, NoHandler(), limits=Limits(cancel_grace=0.05))
    ours.on_untaken = untaken.append
    theirs = Connection(b, b, Far({"stubborn": stubborn}))
    async with running(ours, theirs):
        for grace_passes in (True, False):
            asked, go = trio.Event(), trio.Event()
            async with trio.open_nursery() as nursery:
                nursery.start_soon(ours.request, "stubborn", {"late": grace_passes})
                await asked.wait()
                if not grace_passes:
                    go.set()
                nursery.cancel_scope.cancel()
            go.set()
            while {"late": grace_passes} not in untaken:
                await trio.testing.wait_all_tasks_blocked()
    assert untaken == [{"late": True}, {"late": False}]


async def test_the_params_of_a_refused_call_are_told() -> None:
    untaken: list[object] = []
    a, b = trio.testing.memory_stream_pair()
    ours = Connection(a, a, Far({"forever": forever}), limits=Limits(in_flight=1))
    ours.on_untaken = untaken.append
    async with running(ours):
        far = Raw(b)
        for number in (1, 2):
            await b.send_all(far.peer.request("forever", {"number": number})[1])
        assert (await far.next()).error.message.startswith("1 calls are running")
    assert untaken == [{"number": 2}]


async def test_a_call_that_never_went_out_says_so_and_one_that_did_does_not() -> None:
    withdrawn: list[str] = []
    a, b = trio.testing.memory_stream_pair()
    gate = shut(a)
    ours = Connection(a, a, NoHandler(), limits=Limits(cancel_grace=0.05))
    async with running(ours), trio.open_nursery() as nursery:
        for name in ("first", "second"):
            nursery.start_soon(
                partial(ours.request, name, {}, on_withdrawn=lambda name=name: withdrawn.append(name))  # type: ignore[misc]
            )
            await trio.testing.wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()
    gate.set()
    assert b is not None
    assert withdrawn == ["second"]
