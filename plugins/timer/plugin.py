"""The tools ``timer_set``, ``timer_list`` and ``timer_cancel``, and the task that tells what is due."""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path

import trio

from homed import sdk
from homed.errors import HomedError, NotFound, Unavailable

from . import book, requests, zones
from .book import Timer
from .clockwork import Clockwork, Due

OWNER = "timer:owner"
"""The kernel takes this peer for the owner; hence only the owner may set timers."""

MAX_TIMERS = 200

LEVEL = 3
"""A timer does not wait until an answer is whole: it is due now."""

DUE = "due"
"""The schedule for the next timer."""

LOOK = "look"
"""The manifest's schedule: once a day, whatever became of the other, say because the file came from a backup."""


class Tools:
    """The tools over one clockwork, which exists once ``start`` has read the file."""

    def __init__(self, wall: Callable[[], float]) -> None:
        self._wall = wall
        self._clockwork: Clockwork | None = None
        self._aside: dict[str, str] = {}
        """Timers that cannot be told, and why."""

    async def start(self, kernel: sdk.Kernel) -> None:
        """Read the timers of the last run, and say which of them cannot be told any more.

        Raises ConfigError for a wrong zone or a file that cannot be read.
        """
        self._zone(kernel)
        path = Path(kernel.data_dir) / "timers.json"
        try:
            timers, self._aside = await trio.to_thread.run_sync(book.load, path)
        except book.BadBook as error:
            raise sdk.ConfigError(f"{error}.", hint="Move the file away to start without timers.") from None

        async def save(timers: Mapping[str, Timer]) -> None:
            await trio.to_thread.run_sync(book.save, path, dict(timers))

        for id_, why in self._aside.items():
            await kernel.log("warning", f"timer {id_} is kept aside, it cannot be told: {why}")
        self._clockwork = Clockwork(
            timers, save, partial(tell, kernel), self._wall, self._aside, partial(arm, kernel)
        )  # fmt: skip

    async def run(self, _kernel: sdk.Kernel) -> None:
        """Tell what is due until the plugin stops."""
        await self._running().run()

    async def woken(self, _kernel: sdk.Kernel, _due: sdk.Due) -> None:
        """Something may be due: stay until it is told."""
        await self._running().settled()

    async def timer_set(
        self, ctx: sdk.Context, text: str, at: str = "", seconds: float = 0, cron: str = "", zone: str = ""
    ) -> dict[str, object]:
        """Set a timer (see tools/timer_set.md)."""
        if ctx.role != "owner":
            raise sdk.ToolError("Only the owner may set timers.")
        clockwork = self._running()
        if len(clockwork.timers) >= MAX_TIMERS:
            raise sdk.ToolError(f"There are {MAX_TIMERS} timers already.", hint="Cancel some first.")
        now = self._wall()
        told = requests.text_of(text)
        when = requests.when(at=at, seconds=seconds, expression=cron, zone_name=zone or self._zone(ctx), now=now)
        timer = Timer(f"t{secrets.token_hex(3)}", told, when.next_at, when.cron, when.zone, ctx.thread, now)
        await clockwork.put(timer)
        return view(timer)

    async def timer_list(self, ctx: sdk.Context) -> dict[str, object]:
        """List the timers (see tools/timer_list.md)."""
        timers = sorted(self._running().timers.values(), key=lambda timer: (timer.id in self._aside, timer.next_at))
        mine = timers if ctx.role == "owner" else []
        return {"now": requests.shown(self._wall(), self._zone(ctx)), "timers": [self._view(timer) for timer in mine]}

    async def timer_cancel(self, ctx: sdk.Context, id: str) -> dict[str, object]:
        """Cancel a timer (see tools/timer_cancel.md)."""
        clockwork = self._running()
        if ctx.role != "owner" or id not in clockwork.timers:
            raise sdk.ToolError(f"There is no timer {id!r}.", hint="timer_list shows them.")
        timer = clockwork.timers[id]
        await clockwork.drop(id)
        return {"cancelled": self._view(timer)}

    def _view(self, timer: Timer) -> dict[str, object]:
        why = self._aside.get(timer.id)
        return view(timer) if why is None else {"id": timer.id, "text": timer.text, "problem": why}

    def _running(self) -> Clockwork:
        if self._clockwork is None:
            raise Unavailable("The timers are not read yet.")
        return self._clockwork

    @staticmethod
    def _zone(kernel: sdk.Kernel) -> str:
        name = str(kernel.settings.get("zone") or "")
        try:
            return zones.zone(name).key if name else zones.machine_zone(os.environ.get("TZ", ""))
        except ValueError as error:
            raise sdk.ConfigError(f"plugin.timer.zone: {error}.") from None


async def tell(kernel: sdk.Kernel, due: Due) -> bool:
    """Interrupt what runs in the timer's thread with its text; in a new thread if that one is gone.  False: not now."""
    thread = due.timer.thread
    message = {"peer": OWNER, "text": due.text, "client_msg_id": due.client_msg_id, "can_ask": False, "level": LEVEL}
    try:
        await kernel.call("io.interrupt", {**message, "thread": thread} if thread else message)
    except HomedError as error:
        if error.code == "not_found" and thread:
            return await tell(kernel, due.elsewhere())
        if not due.refusals:  # once, however long it goes on
            await kernel.log("warning", f"timer {due.timer.id} could not be told and is tried again: {error.message}")
        return False
    return True


async def arm(kernel: sdk.Kernel, at: float | None) -> None:
    """Have homed start this plugin at that time, if it does not run; None: no more."""
    if at is not None:
        await kernel.schedule(DUE, at=at)
        return
    with suppress(NotFound):
        await kernel.unschedule(DUE)


def view(timer: Timer) -> dict[str, object]:
    """A timer as the model sees it: its next time in its own zone and in UTC seconds."""
    shown: dict[str, object] = {"id": timer.id, "text": timer.text, "next": requests.shown(timer.next_at, timer.zone)}
    return {**shown, "next_utc": timer.next_at, **({"cron": timer.cron} if timer.cron else {})}


def build(wall: Callable[[], float] = time.time) -> sdk.Plugin:
    """The plugin, with a state of its own."""
    made = sdk.Plugin("timer")
    tools = Tools(wall)
    made.on_start(tools.start)
    made.main(tools.run)
    made.schedule(DUE)(tools.woken)
    made.schedule(LOOK)(tools.woken)
    made.tool(cls="write")(tools.timer_set)
    made.tool(cls="read", parallel_safe=True)(tools.timer_list)
    made.tool(cls="write")(tools.timer_cancel)
    return made


plugin = build()
