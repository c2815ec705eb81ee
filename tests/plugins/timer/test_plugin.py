"""The timer tools through the SDK."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import pytest
import trio

from homed.errors import ConfigError, NotFound, Unavailable
from homed.sdk.testing import Harness, harness
from plugins.timer.book import Timer, save
from plugins.timer.clockwork import Due
from plugins.timer.plugin import MAX_TIMERS, OWNER, build, tell
from plugins.timer.requests import MAX_TEXT

NOW = datetime(2026, 3, 7, 17, tzinfo=UTC).timestamp()  # noon in New York, the day before clocks are changed
NEW_YORK = "America/New_York"


class Wall:
    """A clock that stands still until it is set."""

    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> float:
        return self.now


@asynccontextmanager
async def timers(folder: Path, wall: Wall | None = None, **settings: object) -> AsyncIterator[Harness]:
    async with harness(build(wall or Wall()), settings={"zone": NEW_YORK, **settings}, data_dir=folder) as kernel:
        kernel.reply("io.interrupt", {"input": "in", "thread": "thr_test"})
        yield kernel


async def good(kernel: Harness, tool: str, /, **args: Any) -> dict[str, Any]:
    result = await kernel.invoke(tool, **args)
    assert not result.is_error, result
    content: dict[str, Any] = result.content
    return content


async def test_a_timer_that_is_set_is_listed_survives_a_restart_and_can_be_cancelled(tmp_path: Path) -> None:
    async with timers(tmp_path) as kernel:
        made = await good(kernel, "timer_set", text="  茶 🍵 ", at="2026-03-08 02:30")
        assert made["next"] == f"2026-03-08 03:30 {NEW_YORK}"  # 02:30 is not there that night
        daily = await good(kernel, "timer_set", text="daily", cron="0 9 * * *", zone="Asia/Shanghai")
        assert (daily["next"], daily["cron"]) == ("2026-03-08 09:00 Asia/Shanghai", "0 9 * * *")
    async with timers(tmp_path) as kernel:
        listed = await good(kernel, "timer_list")
        assert listed["timers"] == [daily, made]
        assert listed["now"] == f"2026-03-07 12:00 {NEW_YORK}"
        assert (await good(kernel, "timer_cancel", id=made["id"]))["cancelled"]["text"] == "茶 🍵"
    stored = json.loads((tmp_path / "timers.json").read_text())
    assert [timer["id"] for timer in stored["timers"]] == [daily["id"]]
    assert stored["timers"][0]["zone"] == "Asia/Shanghai"


async def test_a_due_timer_is_a_message_in_the_thread_that_made_it(tmp_path: Path) -> None:
    wall = Wall()
    async with timers(tmp_path, wall) as kernel:
        made = await good(kernel, "timer_set", text="tea", seconds=90)
        wall.now += 91
        await good(kernel, "timer_set", text="later", seconds=900)  # a change makes it look at the clock
        call = await kernel.wait_call("io.interrupt")
    assert call.params == {
        "peer": OWNER, "thread": "thr_test", "client_msg_id": f"{made['id']}@{NOW + 90:.0f}", "can_ask": False,
        "level": 3, "text": f"[timer {made['id']}, set for 2026-03-07 12:01 {NEW_YORK}]\ntea",
    }  # fmt: skip


def alarms(kernel: Harness) -> list[float | None]:
    """When it asked to be woken, in that order; None where it took that back."""
    names = ("core.schedule_set", "core.schedule_clear")
    return [call.params.get("at") for call in kernel.calls if call.method in names and call.params["name"] == "due"]


async def test_it_asks_to_be_woken_for_the_next_timer_before_that_is_on_disk(tmp_path: Path) -> None:
    async with timers(tmp_path) as kernel:
        on_disk: list[bool] = []

        def woken(_: Any) -> object:
            on_disk.append((tmp_path / "timers.json").exists())
            return {"at": 0}

        kernel.reply("core.schedule_set", woken)
        first = await good(kernel, "timer_set", text="noon", seconds=900)
        await good(kernel, "timer_set", text="later", seconds=1800)
        await good(kernel, "timer_set", text="sooner", seconds=60)
        await trio.testing.wait_all_tasks_blocked(0.05)
        assert alarms(kernel) == [NOW + 900, NOW + 60]
        assert on_disk[0] is False
        for timer in (await good(kernel, "timer_list"))["timers"]:
            await good(kernel, "timer_cancel", id=timer["id"])
        with trio.fail_after(60):
            await kernel.wait_call("core.schedule_clear")
        assert first["next_utc"] == NOW + 900


async def test_woken_by_its_schedule_it_stays_until_what_is_due_is_told(tmp_path: Path) -> None:
    wall = Wall()
    save(tmp_path / "timers.json", {"t1": Timer("t1", "tea", NOW + 90, "", NEW_YORK, "th", 0)})
    async with timers(tmp_path, wall) as kernel:
        await trio.testing.wait_all_tasks_blocked(0.05)
        assert alarms(kernel) == [NOW + 90]
        wall.now += 90
        await kernel.due("due", at=NOW + 90)
        assert [call.params["thread"] for call in kernel.calls if call.method == "io.interrupt"] == ["th"]
        assert "t1" not in (tmp_path / "timers.json").read_text()
        await kernel.due("look")


async def test_a_refused_timer_has_it_woken_again(tmp_path: Path) -> None:
    save(tmp_path / "timers.json", {"t1": Timer("t1", "tea", NOW - 1, "", NEW_YORK, "th", 0)})
    async with harness(build(Wall()), start=False) as kernel:
        kernel.reply("io.interrupt", Unavailable("The conversation is full."))
        await kernel.start({"zone": NEW_YORK}, tmp_path)
        with trio.fail_after(60):
            await kernel.due("due", at=NOW - 1)
        at = alarms(kernel)[-1]
        assert at is not None
        assert 0 < at - NOW <= 5


async def test_missed_timers_are_reported_at_start(tmp_path: Path) -> None:
    save(tmp_path / "timers.json", {"t1": Timer("t1", "tea", NOW - 3_600, "", NEW_YORK, "th", 0)})
    async with timers(tmp_path) as kernel:
        call = await kernel.wait_call("io.interrupt")
    assert call.params["text"].startswith(f"[timer t1, missed: it was for 2026-03-07 11:00 {NEW_YORK}]")


async def test_a_timer_whose_thread_is_gone_opens_a_new_one(tmp_path: Path) -> None:
    save(tmp_path / "timers.json", {"t1": Timer("t1", "tea", NOW - 1, "", NEW_YORK, "gone", 0)})
    told = trio.Event()
    async with harness(build(Wall()), start=False) as kernel:

        def inject(params: Any) -> object:
            if "thread" in params:
                return NotFound("There is no such thread.")
            told.set()
            return {"input": "in", "thread": "new"}

        kernel.reply("io.interrupt", inject)
        await kernel.start({"zone": NEW_YORK}, tmp_path)
        with trio.fail_after(60):
            await told.wait()


async def test_a_refused_timer_is_logged_and_kept(tmp_path: Path) -> None:
    save(tmp_path / "timers.json", {"t1": Timer("t1", "tea", NOW - 1, "", NEW_YORK, "th", 0)})
    async with harness(build(Wall()), start=False) as kernel:
        kernel.reply("io.interrupt", Unavailable("homed is stopping."))
        await kernel.start({"zone": NEW_YORK}, tmp_path)
        assert "could not be told" in (await kernel.wait_call("core.log")).params["message"]
    assert "t1" in (tmp_path / "timers.json").read_text()


async def test_the_log_names_a_refusal_once_however_long_it_goes_on(tmp_path: Path) -> None:
    due = Due(Timer("t1", "tea", NOW, "", NEW_YORK, "th", 0), "tea", "t1@0")
    logged: list[str] = []

    class Refusing:
        async def call(self, method: str, params: object) -> object:
            raise Unavailable("The conversation is full.")

        async def log(self, level: str, message: str) -> None:
            logged.append(message)

    for refusals in range(3):
        assert not await tell(cast("Any", Refusing()), replace(due, refusals=refusals))
    assert logged == ["timer t1 could not be told and is tried again: The conversation is full."]


async def test_one_timer_with_a_zone_that_is_gone_is_kept_aside_and_the_others_go_on(tmp_path: Path) -> None:
    path = tmp_path / "timers.json"
    good_one = Timer("t1", "tea", NOW - 1, "", NEW_YORK, "thr_test", 0)
    save(path, {"t0": replace(good_one, id="t0", zone="US/Obsolete", cron="0 9 * * *"), "t1": good_one})
    async with timers(tmp_path) as kernel:
        said = (await kernel.wait_call("core.log")).params["message"]
        assert "timer t0 is kept aside" in said
        assert "US/Obsolete" in said
        assert "tea" in (await kernel.wait_call("io.interrupt")).params["text"]
        await good(kernel, "timer_set", text="later", seconds=900)
        shown = (await good(kernel, "timer_list"))["timers"]
        assert [timer.get("problem", "")[:15] for timer in shown] == ["", "'US/Obsolete' i"]
        assert json.loads(path.read_text())["timers"][0]["zone"] == "US/Obsolete"
        assert (await good(kernel, "timer_cancel", id="t0"))["cancelled"]["id"] == "t0"
        assert "US/Obsolete" not in path.read_text()


@pytest.mark.parametrize("role", ["trusted", "guest", ""])
async def test_only_the_owner_may_set_see_and_cancel(tmp_path: Path, role: str) -> None:
    save(tmp_path / "timers.json", {"t1": Timer("t1", "secret", NOW + 99, "", NEW_YORK, "th", 0)})
    async with timers(tmp_path) as kernel:
        kernel.context["role"] = role
        assert (await kernel.invoke("timer_set", text="x", seconds=5)).is_error
        assert (await good(kernel, "timer_list"))["timers"] == []
        cancelled = await kernel.invoke("timer_cancel", id="t1")
        assert cancelled.is_error
        assert "secret" not in cancelled.content
        kernel.context["role"] = "owner"
        assert len((await good(kernel, "timer_list"))["timers"]) == 1


@pytest.mark.parametrize(
    ("args", "reason"),
    [
        ({"text": "x"}, "exactly one"),
        ({"text": "x", "seconds": 5, "at": "2026-03-08"}, "exactly one"),
        ({"text": "", "seconds": 5}, "empty"),
        ({"text": "x" * (MAX_TEXT + 1), "seconds": 5}, "longer than"),
        ({"text": "x", "seconds": -5}, "in the past"),
        ({"text": "x", "at": "2026-03-07 11:00"}, "It is now 2026-03-07 12:00"),
        ({"text": "x", "at": "tomorrow"}, "is no time"),
        ({"text": "x", "at": "9990-12-31 23:59"}, "ten years"),
        ({"text": "x", "at": "9999-12-31 23:59"}, "out of range"),
        ({"text": "x", "at": "0001-01-01"}, ""),
        ({"text": "x", "seconds": 1e300}, "ten years"),
        ({"text": "x", "cron": "0 0 30 2 *"}, "never fires"),
        ({"text": "x", "cron": "often"}, "five fields"),
        ({"text": "x", "seconds": 5, "zone": "Mars/Olympus"}, "no time zone"),
        ({"text": "x", "at": "2027-01-01", "zone": "../etc/passwd"}, "no time zone"),
    ],
)
async def test_what_makes_no_sense_is_refused_with_a_reason(tmp_path: Path, args: dict[str, Any], reason: str) -> None:
    async with timers(tmp_path) as kernel:
        result = await kernel.invoke("timer_set", **args)
    assert result.is_error
    assert reason in result.content
    assert not (tmp_path / "timers.json").exists()


async def test_an_offset_in_the_time_wins_over_the_zone(tmp_path: Path) -> None:
    async with timers(tmp_path) as kernel:
        made = await good(kernel, "timer_set", text="x", at="2026-03-08T12:00+08:00")
    assert made["next_utc"] == datetime(2026, 3, 8, 4, tzinfo=UTC).timestamp()


async def test_there_is_a_limit_to_how_many(tmp_path: Path) -> None:
    many = {f"t{n}": Timer(f"t{n}", "x", NOW + 99, "", "UTC", "th", 0) for n in range(MAX_TIMERS)}
    save(tmp_path / "timers.json", many)
    async with timers(tmp_path) as kernel:
        assert "Cancel some" in (await kernel.invoke("timer_set", text="x", seconds=5)).content


@pytest.mark.parametrize(("zone", "content"), [("Nowhere", None), (NEW_YORK, "broken")])
async def test_a_wrong_zone_or_file_stops_the_plugin_with_what_to_do(
    tmp_path: Path, zone: str, content: str | None
) -> None:
    if content is not None:
        (tmp_path / "timers.json").write_text(content)
    async with harness(build(Wall()), start=False) as kernel:
        with pytest.raises(ConfigError):
            await kernel.start({"zone": zone}, tmp_path)
