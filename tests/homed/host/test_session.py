"""The conversation with a plugin made of memory streams, under MockClock: pings, hangs, limits."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from homed.errors import TimedOut, Unavailable
from homed.events import Bus
from homed.host.life import Cause, Life, Plan
from homed.host.pluginlog import PluginLog
from homed.host.session import Session, SessionPorts
from homed.host.states import Trust
from homed.proc.spawn import Exit
from homed.wire.manifest import Manifest
from tests.kit.fake_child import FakeChild
from tests.kit.hosting import RecordingDispatcher

CAPABILITIES = frozenset({"core", "events.notices"})


class Table:
    """A session with a fake child on the other side."""

    def __init__(self, answers: dict[str, Any], tmp_path: Path, *, reads: bool = True) -> None:
        self.bus = Bus(trio.current_time)
        self.child = FakeChild(answers)
        if not reads:
            self.child._in_send.send_all_hook = trio.sleep_forever
        self.life = Life(
            Plan(Manifest("mole", "1", "x", in_flight=2), tmp_path, Trust.PACKAGED, CAPABILITIES), lambda: None
        )
        log = PluginLog(tmp_path / "mole.log", str)
        self.session = Session(self.life, self.child.as_child(), SessionPorts(self.bus, RecordingDispatcher(), log))


@asynccontextmanager
async def talking(tmp_path: Path, *, reads: bool = True, **answers: Any) -> AsyncIterator[Table]:
    table = Table({name.replace("_", "."): answer for name, answer in answers.items()}, tmp_path, reads=reads)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(table.child.run)
        nursery.start_soon(table.session.converse)
        yield table
        nursery.cancel_scope.cancel()


async def test_three_missed_pings_in_a_row_end_a_hung_plugin(autojump_clock: MockClock, tmp_path: Path) -> None:
    async with talking(tmp_path) as table:
        begun = trio.current_time()
        await table.session.ping()
        assert table.life.fate is not None
        assert table.life.fate.cause is Cause.HUNG
        assert trio.current_time() - begun == pytest.approx(45)
        assert table.child.count("plugin.ping") == 3


async def test_a_plugin_that_answers_pings_lives_and_one_answer_forgives_two_misses(
    autojump_clock: MockClock, tmp_path: Path
) -> None:
    async with talking(tmp_path, plugin_ping={}) as table, trio.open_nursery() as nursery:
        nursery.start_soon(table.session.ping)
        await trio.sleep(100)
        assert table.child.count("plugin.ping") == 7
        for _ in range(3):
            answer = table.child.answers.pop("plugin.ping")
            await trio.sleep(30)
            table.child.answers["plugin.ping"] = answer
            await trio.sleep(15)
        assert table.life.fate is None
        nursery.cancel_scope.cancel()


async def test_a_hung_call_dooms_its_plugin_one_second_after_it_was_told_to_stop(
    autojump_clock: MockClock, tmp_path: Path
) -> None:
    async with talking(tmp_path) as table:
        begun = trio.current_time()
        with pytest.raises(TimedOut, match="did not stop when told to"):
            await table.session.call("tool.invoke", {"tool": "dig"}, timeout=60)
        assert trio.current_time() - begun == pytest.approx(61)
        fate = await table.life.doomed()
        assert (fate.cause, fate.reason) == (Cause.UNANSWERED, "it did not stop tool.invoke when told to")
        assert table.child.heard[-1]["method"] == "$/cancel"


async def test_tools_that_fill_their_slots_leave_room_for_stages(autojump_clock: MockClock, tmp_path: Path) -> None:
    async with talking(tmp_path, stage_invoke={"changes": {}}) as table, trio.open_nursery() as nursery:
        for _ in range(2):
            nursery.start_soon(lambda: table.session.call("tool.invoke", {"tool": "dig"}, timeout=600))
        await wait_all_tasks_blocked()
        with pytest.raises(TimedOut, match="was busy with other calls for 5 s; this one was not started"):
            await table.session.call("tool.invoke", {"tool": "dig"}, timeout=5)
        assert await table.session.call("stage.invoke", {"stage": "on_input"}, timeout=5) == {"changes": {}}
        nursery.cancel_scope.cancel()


async def test_pending_calls_are_noted_before_their_callers_hear_of_the_end(
    autojump_clock: MockClock, tmp_path: Path
) -> None:
    async with talking(tmp_path) as table, trio.open_nursery() as nursery:
        seen: list[tuple[str, ...]] = []

        async def call() -> None:
            with pytest.raises(Unavailable, match="ended during tool"):
                await table.session.call("tool.invoke", {"tool": "dig"}, timeout=600)
            seen.append(table.session.lost)
            assert table.life.silent

        nursery.start_soon(call)
        await wait_all_tasks_blocked()
        table.child.die(Exit(-1, 9))
    assert seen == [("tool.invoke dig",)]


async def test_a_subscriber_that_is_too_slow_is_told_how_much_it_lost(
    autojump_clock: MockClock, tmp_path: Path
) -> None:
    async with talking(tmp_path) as table:
        await wait_all_tasks_blocked()
        assert table.session.subscribe(frozenset({"turn"}), content=False) == 0
        for _ in range(1500):
            table.bus.post("turn", data={"phase": "start"})
            table.bus.post("thread")
        await wait_all_tasks_blocked()
        (lost,) = [m["params"]["count"] for m in table.child.heard if m["method"] == "event.lost"]
        events = [m["params"]["seq"] for m in table.child.heard if m["method"] == "event"]
        assert lost + len(events) == 1500
        assert events == sorted(events)
        assert events[-1] == 2999


async def test_a_notice_that_fits_in_no_line_counts_as_lost_and_harms_nobody(
    autojump_clock: MockClock, tmp_path: Path
) -> None:
    async with talking(tmp_path) as table:
        await wait_all_tasks_blocked()
        table.session.subscribe(None, content=False)
        table.bus.post("turn", data={"phase": "x" * (1 << 20)})
        table.bus.post("turn", data={"phase": "end"})
        await wait_all_tasks_blocked()
        heard = [(m["method"], m["params"].get("count")) for m in table.child.heard]
        assert heard == [("event.lost", 1), ("event", None)]
        assert table.life.fate is None


async def test_a_plugin_that_dies_with_its_outbox_full_ends_like_any_other(
    autojump_clock: MockClock, tmp_path: Path
) -> None:
    async with talking(tmp_path, reads=False) as table:
        await wait_all_tasks_blocked()
        table.session.subscribe(None, content=False)
        for _ in range(100):
            table.bus.post("turn")
        await wait_all_tasks_blocked()
        table.session.settings_changed("colour", "red")
        await wait_all_tasks_blocked()
        table.child.die(Exit(-1, 9))
        assert (await table.life.doomed()).cause is Cause.BROKEN  # nobody watches the process here


async def test_a_second_subscription_replaces_the_first(autojump_clock: MockClock, tmp_path: Path) -> None:
    async with talking(tmp_path) as table:
        await wait_all_tasks_blocked()
        table.session.subscribe(frozenset({"turn"}), content=False)
        table.session.subscribe(frozenset({"thread"}), content=False)
        table.bus.post("turn")
        table.bus.post("thread")
        await wait_all_tasks_blocked()
        assert [m["params"]["type"] for m in table.child.heard] == ["thread"]


async def test_of_a_setting_changed_twice_while_the_plugin_reads_nothing_it_hears_the_last_value(
    autojump_clock: MockClock, tmp_path: Path
) -> None:
    async with talking(tmp_path) as table:
        await wait_all_tasks_blocked()
        table.session.settings_changed("colour", "red")
        table.session.settings_changed("colour", "blue")
        await wait_all_tasks_blocked()
        assert [m["params"] for m in table.child.heard] == [{"key": "colour", "value": "blue"}]
