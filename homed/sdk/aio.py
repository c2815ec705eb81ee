"""For authors whose library is made for asyncio: a plugin's async handlers run there, all else stays as it is.

::

    from homed import sdk
    from homed.sdk import aio

    plugin = sdk.Plugin("mail")

    @plugin.tool(cls="read")
    async def mail_list(ctx: sdk.Context, folder: str) -> list[str]:
        async with aiosomething.connect() as box:  # asyncio's
            return await box.list(folder)

    aio.run(plugin)  # in __main__.py, in place of sdk.run

In a test: ``harness(aio.adapted(plugin))``.  The event loop runs in a thread of its own, beside Trio, for as long as
the plugin does.  Stopping a call cancels its asyncio task; at the plugin's stop every task is cancelled.  ``ctx`` and
``kernel`` are the same as ever, their methods are awaited from asyncio.  Programs are still started by ``sdk.process``
only, from a plain function.
"""

from __future__ import annotations

import asyncio
import copy
import functools
import inspect
import logging
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from concurrent.futures import Future
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Any

import outcome
import trio

from homed.errors import Stopped, Unavailable
from homed.sdk.client import Context, Kernel, Link
from homed.sdk.entry import run as _run
from homed.sdk.plugin import Plugin

log = logging.getLogger(__name__)

_GRACE = 3.0
"""Seconds for cancelled tasks to come to their end; a plugin has four to tidy up."""


def run(plugin: Plugin) -> None:
    """As `homed.sdk.run`, with the async handlers on asyncio."""
    _run(adapted(plugin))


def adapted(plugin: Plugin) -> Plugin:
    """The same plugin with its async handlers run on asyncio; for `homed.sdk.run` and for the test harness."""
    driver = _Driver()
    made = copy.copy(plugin)
    on = driver.on_asyncio
    made.tools = {name: replace(tool, function=on(tool.function)) for name, tool in plugin.tools.items()}
    made.stages = {name: replace(stage, function=on(stage.function)) for name, stage in plugin.stages.items()}
    made.outputs = {name: replace(output, function=on(output.function)) for name, output in plugin.outputs.items()}
    made.cleaners = {name: on(function) for name, function in plugin.cleaners.items()}
    made.schedules = {name: on(function) for name, function in plugin.schedules.items()}
    made.dynamic = None if plugin.dynamic is None else on(plugin.dynamic)
    made.hooks = replace(
        plugin.hooks,
        start=[on(function) for function in plugin.hooks.start],
        main=[on(function) for function in plugin.hooks.main],
        on={signal: [on(function) for function in functions] for signal, functions in plugin.hooks.on.items()},
        around=[*plugin.hooks.around, driver.running],
    )
    return made


@dataclass(slots=True)
class _Job:
    """One handler on its way through asyncio."""

    done: trio.Event = field(default_factory=trio.Event)
    task: asyncio.Task[None] | None = None
    ended: outcome.Outcome[Any] | None = None
    withdrawn: bool = False


def _value(ended: outcome.Outcome[Any] | None, name: str) -> Any:
    """What a handler returned, or raise what it raised; its own cancellation is nobody's on this side."""
    if isinstance(ended, outcome.Error) and isinstance(ended.error, asyncio.CancelledError):
        raise Stopped(f"{name} was cancelled.") from ended.error
    if ended is None:
        raise Stopped(f"{name} did not run.")
    return ended.unwrap()


class _Driver:
    """An event loop of asyncio beside Trio's.  Each side only ever hands the other a function to run soon."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._portal: _Portal | None = None

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """The loop, for the length of the block; then all its tasks are cancelled."""
        token = trio.lowlevel.current_trio_token()
        ready = trio.Event()
        leave: Future[None] = Future()  # heard by the loop also if it is set before there is one
        async with trio.open_nursery() as nursery:
            self._portal = _Portal(token, nursery)
            nursery.start_soon(trio.to_thread.run_sync, self._thread, token, ready, leave)
            try:
                await ready.wait()
                yield
            finally:
                self._loop = None
                leave.set_result(None)
        self._portal = None

    def on_asyncio(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """An async function as one for Trio that runs it on asyncio; a plain one stays as it is."""
        if not inspect.iscoroutinefunction(function):
            return function

        @functools.wraps(function)
        async def bridged(*args: Any, **named: Any) -> Any:
            return await self._call(function, [self._ours(arg) for arg in args], named)

        return bridged

    def _ours(self, value: Any) -> Any:
        """A context or kernel whose calls can be awaited on asyncio; anything else is what it was."""
        if not isinstance(value, Kernel) or self._portal is None:
            return value
        ours = copy.copy(value)
        ours.__class__ = _Context if isinstance(value, Context) else _Kernel
        ours._link = _AsyncioLink(value._link, self._portal)
        return ours

    async def _call(self, function: Callable[..., Awaitable[Any]], args: list[Any], named: Mapping[str, Any]) -> Any:
        loop, portal, job = self._loop, self._portal, _Job()
        if loop is None or portal is None:
            raise Unavailable("The plugin is stopping.")

        async def work() -> None:
            # all of it, SystemExit too: asyncio would let that one end the loop
            job.ended = await outcome.acapture(function, *args, **named)
            portal.soon(job.done.set)

        def begin() -> None:
            if job.withdrawn:
                portal.soon(job.done.set)
            else:
                job.task = loop.create_task(work())

        loop.call_soon_threadsafe(begin)
        try:
            await job.done.wait()
        except trio.Cancelled:
            with trio.move_on_after(_GRACE, shield=True):
                await self._cancel(loop, job)
            if not job.done.is_set():
                log.warning("%s was cancelled and goes on", function.__name__)
            raise
        return _value(job.ended, function.__name__)

    @staticmethod
    async def _cancel(loop: asyncio.AbstractEventLoop, job: _Job) -> None:
        def cancel() -> None:
            job.withdrawn = True
            if job.task is not None:
                job.task.cancel()

        with suppress(RuntimeError):  # the loop is closed, and with it the task
            loop.call_soon_threadsafe(cancel)
            await job.done.wait()

    def _thread(self, token: trio.lowlevel.TrioToken, ready: trio.Event, leave: Future[None]) -> None:
        loop = asyncio.new_event_loop()
        try:
            loop.run_until_complete(self._main(token, ready, leave))
        finally:
            loop.close()

    async def _main(self, token: trio.lowlevel.TrioToken, ready: trio.Event, leave: Future[None]) -> None:
        self._loop = loop = asyncio.get_running_loop()
        token.run_sync_soon(ready.set)
        await asyncio.wrap_future(leave)
        left = asyncio.all_tasks(loop) - {asyncio.current_task(loop)}
        for task in left:
            task.cancel()
        if left:
            _, stubborn = await asyncio.wait(left, timeout=_GRACE)
            for task in stubborn:
                log.warning("the task %s was cancelled and does not end", task.get_name())
        with suppress(TimeoutError):
            await asyncio.wait_for(loop.shutdown_asyncgens(), _GRACE)


class _Portal:
    """The way from asyncio's thread to Trio."""

    def __init__(self, token: trio.lowlevel.TrioToken, nursery: trio.Nursery) -> None:
        self._token, self._nursery = token, nursery

    def soon(self, function: Callable[[], object]) -> None:
        """Have Trio run a plain function; without a word when Trio is over."""
        with suppress(trio.RunFinishedError):
            self._token.run_sync_soon(function)

    def start(self, function: Callable[[], Awaitable[None]], otherwise: Callable[[], None]) -> None:
        """Have Trio run an async function as a task, or call ``otherwise`` when it takes no new ones."""

        def begin() -> None:
            try:
                self._nursery.start_soon(function)
            except RuntimeError:  # closed: the plugin is leaving
                otherwise()

        try:
            self._token.run_sync_soon(begin)
        except trio.RunFinishedError:
            otherwise()


class _AsyncioLink:
    """Calls to the kernel, awaited on asyncio and made on Trio."""

    def __init__(self, link: Link, portal: _Portal) -> None:
        self._link, self._portal = link, portal

    async def request(
        self, method: str, params: Mapping[str, object] | None = None, *, timeout: float | None = None
    ) -> Any:
        """As the link's own.  Cancelled, the call is cancelled in the kernel too, and not waited for."""
        loop = asyncio.get_running_loop()
        answered: asyncio.Future[Any] = loop.create_future()
        scope = trio.CancelScope()

        def settle(value: Any, error: Exception | None) -> None:
            def put() -> None:
                if answered.done():
                    return
                if error is None:
                    answered.set_result(value)
                else:
                    answered.set_exception(error)

            with suppress(RuntimeError):  # the loop is closed: nobody waits
                loop.call_soon_threadsafe(put)

        async def ask() -> None:
            with scope:
                try:
                    value = await self._link.request(method, params, timeout=timeout)
                except Exception as error:  # noqa: BLE001 - handed to whoever waits, like any of its own
                    settle(None, error)
                else:
                    settle(value, None)
                return
            settle(None, Stopped(f"{method} was cancelled."))

        self._portal.start(ask, lambda: settle(None, Unavailable("The plugin is stopping.")))
        answered.add_done_callback(_seen)
        try:
            return await asyncio.shield(answered)
        except asyncio.CancelledError:
            self._portal.soon(scope.cancel)
            raise


def _seen(done: asyncio.Future[Any]) -> None:
    """Look at an outcome that nobody may wait for any more, so that asyncio does not complain."""
    if not done.cancelled():
        done.exception()


class _Leases(Kernel):
    @asynccontextmanager
    async def busy(self, lease: str) -> AsyncIterator[None]:
        """As `Kernel.busy`."""
        own = f"{lease[:40]}:{secrets.token_hex(4)}"  # two blocks of one name are two leases
        # not cut short: what was not answered may have been taken all the same
        taking = asyncio.ensure_future(self.call("core.busy", {"lease": own, "held": True}))
        try:
            await asyncio.shield(taking)
            yield
        except BaseException:
            asyncio.ensure_future(self._give_back(own, taking)).add_done_callback(_seen)
            raise
        await self._give_back(own, taking)

    async def _give_back(self, lease: str, taking: asyncio.Future[Any]) -> None:
        await asyncio.wait([taking])
        with suppress(Unavailable):
            await self.call("core.busy", {"lease": lease, "held": False})


class _Kernel(_Leases):
    """A `Kernel` for asyncio."""


class _Context(_Leases, Context):
    """A `Context` for asyncio."""
