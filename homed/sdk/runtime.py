"""Runs a plugin over one connection to the kernel: answers its calls, keeps its tasks, stops cleanly."""

from __future__ import annotations

import functools
import inspect
import logging
import os
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import trio

from homed.errors import ConfigError, HomedError, InvalidInput, NotFound, ProtocolError, Stopped
from homed.sdk.areas import Areas, BulkLink, Fields
from homed.sdk.client import Context, Due, Invocation, Kernel, Notice
from homed.sdk.files import WithFiles, send
from homed.sdk.plugin import Plugin
from homed.sdk.ring import Item, RingFds, RingLink
from homed.wire import methods
from homed.wire.stream import Connection, homed_error, unknown_method
from homed.wire.version import CORE, PROTOCOL

log = logging.getLogger(__name__)

_NOTICES = 4096
"""Notices that may wait for a slow ``@on`` handler (a minute of a fast stream); then the oldest are lost, counted."""
_NO_RINGS: Mapping[str, RingFds] = {}
_THREADS = 16
"""Plain-function handlers at once; the kernel sends fewer."""


class Runtime:
    """The plugin's end of the wire; the `Handler` of its connection.  ``connect`` it, then run ``work`` beside it."""

    def __init__(self, plugin: Plugin, rings: Mapping[str, RingFds] = _NO_RINGS, areas: Areas | None = None) -> None:
        self._plugin = plugin
        self._rings, self._areas = rings, areas or Areas()
        self._bulk: BulkLink | None = None
        self._connection: Connection | None = None
        self._link: RingLink | None = None
        self._kernel: Kernel | None = None
        self._settings: dict[str, Any] = {}
        self._calls: set[trio.CancelScope] = set()
        self._threads = trio.CapacityLimiter(_THREADS)
        self._work = trio.CancelScope()
        self._started = trio.Event()
        self._worked = trio.Event()
        self._signals: deque[tuple[str, tuple[Any, ...]]] = deque()
        self._lost = 0
        self._wake = trio.Event()
        self._hearing = trio.Lock()
        self._answers: dict[str, Callable[[Mapping[str, Any]], Awaitable[object]]] = {
            methods.HANDSHAKE: self._handshake,
            methods.INIT: self._init,
            methods.START: self._start,
            methods.STOP: self._stop,
            methods.PING: self._ping,
            methods.TOOL_INVOKE: self._tool,
            methods.STAGE_INVOKE: self._stage,
            methods.OUTPUT_INVOKE: self._output,
            methods.CLEANER_INVOKE: self._clean,
            methods.SCHEDULE_INVOKE: self._schedule,
            methods.TRACKER_RESTORE: self._restore,
        }

    def connect(self, connection: Connection) -> None:
        """Say which connection this runtime answers on."""
        self._connection = connection
        self._bulk = BulkLink(connection, self._areas.arena)
        connection.on_untaken = self._bulk.untaken
        self._link = RingLink(self._bulk, self._rings)

    async def work(self) -> None:
        """Deliver signals and, once started, run the ``@main`` tasks, until ``plugin.stop`` or cancelled.

        A failing ``@main`` raises out of here: the plugin crashes, and the kernel decides about a restart.
        """
        try:
            with self._work:
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(self._pump)
                    if self._link is not None:
                        nursery.start_soon(self._link.run, self._follow)
                    await self._started.wait()
                    for main in self._plugin.hooks.main:
                        nursery.start_soon(main, self._ready())
        finally:
            self._worked.set()

    async def request(self, method: str, params: Mapping[str, Any]) -> object:
        """Answer one call of the kernel."""
        answer = self._answers.get(method)
        if answer is None or self._bulk is None:
            raise unknown_method(method)
        return await self._bulk.answered(await answer(self._bulk.lent(params)))

    def notification(self, method: str, params: Mapping[str, Any]) -> None:
        """Queue a notice or a changed setting for the ``@on`` handlers."""
        match method:
            case methods.EVENT:
                names = ("seq", "at", "type", "thread", "turn", "scope", "data")
                self._signal("event", Notice(**{name: params[name] for name in names if name in params}))
            case methods.EVENT_LOST:
                self._signal("lost", params.get("count", 0))
            case methods.SETTINGS_CHANGED:
                self._settings[params["key"]] = params.get("value")
                self._signal("settings", params["key"], params.get("value"))
            case _:
                log.debug("unknown notification %s", method)

    # Lifecycle

    async def _handshake(self, params: Mapping[str, Any]) -> object:
        theirs = params.get("protocol")
        if theirs != PROTOCOL:
            raise ProtocolError(
                f"homed {params.get('core_version', '?')} speaks plugin protocol {theirs}, "
                f"the SDK {CORE} of plugin {self._plugin.name} speaks {PROTOCOL}.",
                hint="Install the plugin and homed in versions that go together.",
            )
        if params.get("name") != self._plugin.name:
            raise ConfigError(
                f"plugin.json says {params.get('name')!r}, the plugin itself says {self._plugin.name!r}.",
                hint="Use one name in plugin.json and in sdk.Plugin(…).",
            )
        return {"protocol": PROTOCOL, "sdk": f"python/{CORE}", "pid": os.getpid(), "areas": self._areas.names}

    async def _init(self, params: Mapping[str, Any]) -> object:
        if self._link is None or self._kernel is not None:
            raise ProtocolError("plugin.init comes once, after the handshake.")
        self._settings.update(params.get("config", {}))
        data_dir = Path(params["data_dir"])
        self._kernel = Kernel(self._link, settings=self._settings, data_dir=data_dir)
        return registrations(self._plugin)

    async def _start(self, _params: Mapping[str, Any]) -> object:
        for hook in self._plugin.hooks.start:
            await self._call(hook, self._ready())
        self._started.set()
        return {}

    async def _stop(self, _params: Mapping[str, Any]) -> object:
        self._work.cancel()
        for scope in self._calls:
            scope.cancel()
        await self._worked.wait()
        if self._connection is not None:
            self._connection.finish()
        return {}

    async def _ping(self, _params: Mapping[str, Any]) -> object:
        await trio.lowlevel.checkpoint()
        return {}

    # Invocations

    async def _tool(self, params: Mapping[str, Any]) -> object:
        name = _name(params, "tool")
        tool, dynamic = self._plugin.tools.get(name), self._plugin.dynamic
        if tool is None and dynamic is None:
            raise NotFound(f"The plugin {self._plugin.name} has no tool {name!r}.")
        args = params.get("args", {})
        if not isinstance(args, dict):
            raise InvalidInput("args must be an object.")
        try:
            if tool is not None:
                content = await self._invoke(tool.function, self._context(params), **tool.bind(args))
            elif dynamic is not None:
                content = await self._invoke(dynamic, self._context(params), name, args)
            if isinstance(content, WithFiles):
                return await self._invoke(self._with_files, params, content)
        except Exception as error:
            known = homed_error(error)
            if self._work.cancel_called and isinstance(known, Stopped):
                raise  # plugin.stop ended it: that is no result of the tool
            if known is None:
                log.exception("the tool %s failed", name)
            text = f"{type(error).__name__}: {error}" if known is None else str(known)
            return {"content": text, "is_error": True}
        return {"content": "" if content is None else content, "is_error": False}

    async def _with_files(self, params: Mapping[str, Any], result: WithFiles) -> object:
        call, raw = str(params.get("call", "")), self._areas.arena is not None
        ids = [await send(self._ready(), call, file, raw=raw) for file in result.files]
        return {"content": "" if result.content is None else result.content, "is_error": False, "files": ids}

    async def _schedule(self, params: Mapping[str, Any]) -> object:
        name = _name(params, "name")
        function = self._plugin.schedules.get(name)
        if function is None:
            raise NotFound(f"The plugin {self._plugin.name} does nothing at {name!r}.")
        await self._invoke(function, self._ready(), Due(name, float(params["due"]), int(params.get("missed", 0))))
        return {}

    async def _restore(self, params: Mapping[str, Any]) -> object:
        from homed.sdk.tracking.restore import restore  # few plugins change files

        return await self._invoke(restore, self._ready(), params)

    async def _stage(self, params: Mapping[str, Any]) -> object:
        stage = self._plugin.stages.get(_name(params, "stage"))
        if stage is None:
            raise NotFound(f"The plugin {self._plugin.name} has no handler for {params['stage']!r}.")
        changes = await self._invoke(stage.function, self._context(params), self._fields(params))
        if changes is not None and not isinstance(changes, Mapping):
            raise HomedError(f"The handler of {params['stage']} returned no mapping of changed fields.")
        return {"changes": dict(changes or {})}

    def _fields(self, params: Mapping[str, Any]) -> Mapping[str, Any]:
        """The stage's context: what came with the call, or stands in the segment."""
        segment, seq = self._areas.segment, params.get("seq")
        if "fields" in params or segment is None or not isinstance(seq, int):
            fields: Mapping[str, Any] = params.get("fields", {})
            return fields
        return Fields(segment.fields(seq))

    async def _output(self, params: Mapping[str, Any]) -> object:
        output = self._plugin.outputs.get(_name(params, "output"))
        if output is None:
            raise NotFound(f"The plugin {self._plugin.name} has no output {params['output']!r}.")
        sent = await self._invoke(output.function, self._context(params), params.get("content"))
        answer = {"status": sent} if isinstance(sent, str) else sent
        if not isinstance(answer, Mapping) or answer.get("status") not in ("ok", "queued", "unconfirmed"):
            raise HomedError(f"The output {params['output']} returned {sent!r}, not ok, queued or unconfirmed.")
        return dict(answer)

    async def _clean(self, params: Mapping[str, Any]) -> object:
        cleaner = self._plugin.cleaners.get(_name(params, "cleaner"))
        if cleaner is None:
            raise NotFound(f"The plugin {self._plugin.name} cleans no channel {params['cleaner']!r}.")
        texts = list(params.get("texts", []))
        cleaned = await self._invoke(cleaner, texts)
        if not isinstance(cleaned, (list, tuple)) or not all(isinstance(text, str) for text in cleaned):
            raise HomedError(f"The cleaner of {params['cleaner']} returned no list of texts.")
        if len(cleaned) != len(texts):
            raise HomedError(f"The cleaner of {params['cleaner']} made {len(cleaned)} texts of {len(texts)}.")
        return {"texts": list(cleaned)}

    async def _invoke(self, function: Callable[..., Any], *args: Any, **named: Any) -> Any:
        """Call a handler so that ``plugin.stop`` can cancel it."""
        scope = trio.CancelScope()
        self._calls.add(scope)
        try:
            with scope:
                return await self._call(function, *args, **named)
        finally:
            self._calls.discard(scope)
        raise Stopped(f"The plugin {self._plugin.name} is stopping.")

    async def _call(self, function: Callable[..., Any], *args: Any, **named: Any) -> Any:
        """Call a handler: async on Trio, plain in a thread, which a cancellation cannot end and therefore waits for.

        What would end the process, such as ``sys.exit``, fails this call only: others run beside it.
        """
        call = functools.partial(function, *args, **named)
        try:
            if inspect.iscoroutinefunction(function):
                return await call()
            return await trio.to_thread.run_sync(call, limiter=self._threads)
        except (Exception, trio.Cancelled, KeyboardInterrupt):
            raise
        except BaseExceptionGroup as group:
            if (ours := group.subgroup((trio.Cancelled, KeyboardInterrupt))) is not None:
                raise ours from None
            raise _would_end(group) from group
        except BaseException as error:
            raise _would_end(error) from error

    def _context(self, params: Mapping[str, Any]) -> Context:
        about = params.get("context", {})
        names = ("thread", "channel", "peer", "role", "scope", "turn")
        texts = {name: str(about[name]) for name in names if name in about}
        if "thread" in params:
            texts["thread"] = str(params["thread"])
        return Context(self._ready(), Invocation(str(params.get("call", "")), **texts, timeout=params.get("timeout")))

    def _ready(self) -> Kernel:
        if self._kernel is None:
            raise ProtocolError("The plugin is not initialised: plugin.init comes first.")
        return self._kernel

    # Signals

    def _signal(self, name: str, *args: Any) -> None:
        if name not in self._plugin.hooks.on:
            return
        if len(self._signals) >= _NOTICES:
            self._signals.popleft()
            self._lost += 1
        self._signals.append((name, args))
        self._wake.set()

    async def _pump(self) -> None:
        while True:
            await self._wake.wait()
            self._wake = trio.Event()
            while self._signals or self._lost:
                async with self._hearing:
                    if self._lost:
                        lost, self._lost = self._lost, 0
                        await self._hear("lost", (lost,))
                    if self._signals:
                        await self._hear(*self._signals.popleft())

    async def _follow(self, items: list[Item], seq: int) -> None:
        """Hand on what a ring brought, and how far it was read where the last of it was nothing for us."""
        async with self._hearing:
            last: Item = 0
            for last in items:
                if isinstance(last, int):
                    await self._hear("lost", (last,))
                else:
                    await self._hear("event", (last,))
            if isinstance(last, int) or last.seq < seq:
                await self._hear("passed", (seq,))

    async def _hear(self, name: str, args: tuple[Any, ...]) -> None:
        for handler in self._plugin.hooks.on.get(name, ()):
            try:
                await self._call(handler, *args)
            except Exception:
                log.exception("the handler of %s failed", name)


def _would_end(error: BaseException) -> HomedError:
    """The failure of a call whose handler raised what would have ended the process."""
    log.error("a handler would have ended the plugin", exc_info=error)
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return HomedError(f"{type(error).__name__}: {error}")


def registrations(plugin: Plugin) -> dict[str, Any]:
    """What the plugin registers, as ``plugin.init`` answers it."""
    stages = [stage.spec for stage in plugin.stages.values()]
    outputs = [output.spec for output in plugin.outputs.values()]
    return {
        "tools": list(plugin.tools),
        "stages": [{"stage": s.stage, "scope": s.scope, "order": s.order, "on_failure": s.on_failure} for s in stages],
        "outputs": [
            {
                "name": o.name,
                "caps": list(o.caps),
                "description": o.description,
                "format": o.format,
                "limit": o.limit,
            }
            for o in outputs
        ],
        "inputs": list(plugin.inputs),
        "cleaners": list(plugin.cleaners),
        "schedules": list(plugin.schedules),
    }


def _name(params: Mapping[str, Any], key: str) -> str:
    value = params.get(key)
    if not isinstance(value, str):
        raise InvalidInput(f"{key} must be a name.")
    return value


async def serve(
    plugin: Plugin,
    receive: trio.abc.ReceiveStream,
    send: trio.abc.SendStream,
    rings: Mapping[str, RingFds] = _NO_RINGS,
    areas: Areas | None = None,
) -> None:
    """Run ``plugin`` against the kernel behind these streams until it says stop or goes; ``rings`` bring its notices.

    When this returns, every handler, ``@main`` task and program they started has ended.
    """
    runtime = Runtime(plugin, rings, areas)
    connection = Connection(receive, send, runtime)
    runtime.connect(connection)
    async with AsyncExitStack() as stack:
        for around in plugin.hooks.around:
            await stack.enter_async_context(around())
        nursery = await stack.enter_async_context(trio.open_nursery())
        nursery.start_soon(runtime.work)
        await connection.run()
        nursery.cancel_scope.cancel()
