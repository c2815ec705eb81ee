"""Runs the ``main.lua`` of one folder as a plugin of its own, and loads it anew when one of its files has changed."""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import trio

from homed import sdk
from homed.errors import HomedError
from homed.sdk.plugin import Plugin, Stage, Tool
from homed.wire.manifest import Manifest, StageSpec, load_manifest, parse_tools
from homed.wire.version import CORE

from .services import Services, none
from .source import Source
from .state import Limits, LuaFailed, Serve, State, end_process

POLL = 0.5
"""Seconds between two looks at the files."""
_DRAIN = 5.0
"""Seconds that calls under way get to end on the code that began them."""
_LAST = 3.0
"""Seconds for ``stop()``; the SDK's own limit is a second more."""
_MEMORY = (8, 64, 512)
_INSTRUCTIONS = (1, 500, 10_000)
log = logging.getLogger("lua")

_ABOUT = ("thread", "channel", "peer", "role", "scope", "turn")


@dataclass(frozen=True)
class LuaTool(Tool):
    """A tool whose arguments are what its schema says; the kernel has checked them."""

    def bind(self, args: Mapping[str, Any]) -> dict[str, Any]:
        """All of them, in one table."""
        return {"args": dict(args)}


@dataclass
class _Loaded:
    """One version of the code.  ``calls`` are those under way on it."""

    state: State
    source: Source
    tools: dict[str, dict[str, Any]]
    stages: dict[str, dict[str, Any]]
    events: frozenset[str]
    calls: set[trio.CancelScope] = field(default_factory=set)
    idle: trio.Event = field(default_factory=trio.Event)

    async def quiet(self) -> None:
        """Wait until no call is under way."""
        while self.calls:
            self.idle = trio.Event()
            await self.idle.wait()


class Runner:
    """The plugin of one folder.  ``plugin`` is what the SDK runs."""

    def __init__(
        self,
        folder: Path,
        *,
        poll: float = POLL,
        drain: float = _DRAIN,
        give_up: Callable[[float], object] = end_process,
    ) -> None:
        """Raises `ConfigError` for a manifest that is wrong, or says what no Lua plugin can have."""
        self._folder = folder
        self._poll, self._drain, self._give_up = poll, drain, give_up
        self._manifest = load_manifest(folder)
        _check(self._manifest)
        self._loaded: _Loaded | None = None
        self._failed: Source | None = None
        """The files of a version that could not be loaded: a change of these is worth another try."""
        self._open = trio.Event()
        self._kernel: sdk.Kernel | None = None
        self.plugin = Plugin(self._manifest.name, folder=folder)
        self._declare()

    def _declare(self) -> None:
        plugin = self.plugin
        for tool in self._manifest.tools:
            plugin.tools[tool.name] = self._tool(tool.name)
        for stage in self._manifest.stages:
            plugin.stages[stage.stage] = Stage(stage, self._stage_handler(stage.stage))
        for name in self._manifest.inputs:
            plugin.input(name)
        for schedule in self._manifest.schedules:
            plugin.schedule(schedule.name)(self._due)
        plugin.on_start(self._start)
        plugin.main(self._run)
        plugin.on("event")(self._event)
        plugin.on("settings")(self._setting)

    # Loading

    async def _start(self, kernel: sdk.Kernel) -> None:
        self._kernel = kernel
        try:
            loaded = await self._load(Source(self._folder), kernel.settings, Services(kernel))
        except LuaFailed as error:
            raise sdk.ConfigError(f"{error}.", hint="Mend the file and start the plugin again.") from error
        self._loaded = loaded
        self.plugin.tools.update({name: self._tool(name) for name in loaded.tools})
        await self._register(loaded)
        self._open.set()

    async def _load(self, source: Source, settings: Mapping[str, Any], serve: Serve) -> _Loaded:
        """Run the code in a state of its own, beside the one at work.  Raises `LuaFailed`; nothing has changed then."""
        try:
            text = source.main()
        except LookupError as error:
            raise LuaFailed(str(error.args[0])) from error
        state = await trio.to_thread.run_sync(self._new_state, source, limits(settings))
        about = {"name": self._manifest.name, "version": self._manifest.version, "core_version": CORE}
        await state.tell("meta", about)
        await state.tell("settings", dict(settings))
        found = await state.run("main", text, serve=serve)
        loaded = _Loaded(
            state, source,
            {entry["name"]: entry for entry in found["tools"]},
            {entry["stage"]: entry for entry in found["stages"]},
            frozenset(found["events"]),
        )  # fmt: skip
        _compare(self._manifest, loaded.tools, loaded.stages)
        return loaded

    def _new_state(self, source: Source, bounds: Limits) -> State:
        return State(source.module, bounds, give_up=self._give_up)

    async def _register(self, loaded: _Loaded) -> None:
        """Tell the kernel what there is now: tools where they are not in the manifest, and what to hear of."""
        kernel = self._ready()
        if self._manifest.dynamic_tools:
            static = {tool.name for tool in self._manifest.tools}
            await kernel.set_tools(entry for name, entry in loaded.tools.items() if name not in static)
        types = loaded.events - {"settings", "schedule"}
        if types:
            await kernel.subscribe(types, content="events.content" in self._manifest.capabilities)

    async def describe(self) -> dict[str, Any]:
        """The generated fields of the manifest, as ``start(sdk)`` registers them with the default settings.

        Raises `ConfigError`.
        """
        settings = {setting.key: setting.default for setting in self._manifest.settings}
        source = Source(self._folder)
        try:
            state = self._new_state(source, limits(settings))
            await state.tell("settings", settings)
            found = await state.run("main", source.main(), serve=none)
        except (LuaFailed, LookupError) as error:
            raise sdk.ConfigError(f"{error}.") from error
        tools = [{"parameters": _NO_PARAMETERS, "class": "write", "timeout": 60, **entry} for entry in found["tools"]]
        if errors := parse_tools(tools)[1]:
            raise sdk.ConfigError("; ".join(errors))
        # Lua tables have no order: names first, the rest by name, so that the same code gives the same text
        plain = json.loads(json.dumps(sorted(tools, key=lambda tool: str(tool["name"])), sort_keys=True))
        ordered = [{key: tool[key] for key in _KEYS if key in tool} for tool in plain]
        return {"tools": ordered, "stages": found["stages"], "outputs": [], "inputs": list(self._manifest.inputs)}

    # At work

    async def _run(self, _kernel: sdk.Kernel) -> None:
        try:
            await self._watch()
        finally:
            with trio.CancelScope(shield=True, deadline=trio.current_time() + _LAST):
                await self._farewell(self._now())

    async def _watch(self) -> None:
        """Load anew what has changed, once nobody writes it any more."""
        while True:
            await trio.sleep(self._poll)
            source = self._failed or self._now().source
            if source.changed():
                before = source.prints()
                await trio.sleep(self._poll)
                if before == source.prints():
                    await self._reload()

    async def _reload(self) -> None:
        """The new code runs its ``start`` first; if that fails, the old one has lost nothing and goes on.

        Then new calls wait, those under way end, the old code is told to stop, and all is registered at once.
        """
        old = self._now()
        self._failed = source = Source(self._folder)
        try:
            new = await self._load(source, self._ready().settings, Services(self._ready()))
        except LuaFailed as error:
            log.error("%s: the code before it goes on\n%s", error, error.traceback)
            return
        self._failed = None
        self._open = trio.Event()
        try:
            await self._drained(old)
            await self._farewell(old)
            self._loaded = new
            await self._tell_settings(new)  # one may have changed since it was loaded
            if self._manifest.dynamic_tools:
                self.plugin.tools.clear()
                self.plugin.tools.update({name: self._tool(name) for name in new.tools})
            await self._register(new)
        except HomedError as error:
            log.error("the kernel does not take what is registered: %s", error)
        finally:
            self._open.set()
        log.info("loaded anew: %d tools, %d stages", len(new.tools), len(new.stages))

    async def _drained(self, old: _Loaded) -> None:
        with trio.move_on_after(self._drain):
            await old.quiet()
        for scope in old.calls:
            scope.cancel()
        await old.quiet()

    async def _farewell(self, loaded: _Loaded) -> None:
        try:
            await loaded.state.run("stop", serve=Services(self._ready()))
        except LuaFailed as error:
            log.error("stop(): %s\n%s", error, error.traceback)
        loaded.state.close()

    @asynccontextmanager
    async def _calling(self) -> AsyncIterator[_Loaded]:
        """One call on the code as it is now; ended by a reload that has waited long enough."""
        await self._open.wait()
        loaded = self._now()
        scope = trio.CancelScope()
        loaded.calls.add(scope)
        try:
            with scope:
                yield loaded
        finally:
            loaded.calls.discard(scope)
            if not loaded.calls:
                loaded.idle.set()
        if scope.cancelled_caught:
            raise sdk.ToolError(
                "The plugin's code was replaced while this ran, and it was stopped.",
                hint="What it had done by then stays done.",
            )

    async def _invoke(self, kind: str, name: str, value: object, ctx: sdk.Context) -> Any:
        about = {key: getattr(ctx, key) for key in _ABOUT}
        async with self._calling() as loaded:
            if name not in (loaded.tools if kind == "tool" else loaded.stages):
                raise sdk.ToolError(f"main.lua has no {name} any more.")
            try:
                return await loaded.state.run(kind, name, _dump(value), _dump(about), serve=Services(ctx))
            except LuaFailed as error:
                log.error("%s: %s\n%s", name, error, error.traceback)
                raise sdk.ToolError(str(error)) from error

    def _tool(self, name: str) -> Tool:
        async def call(ctx: sdk.Context, args: dict[str, Any]) -> Any:
            return await self._invoke("tool", name, args, ctx)

        return LuaTool(name, call, {})

    def _stage_handler(self, name: str) -> Callable[..., Any]:
        async def handle(ctx: sdk.Context, fields: Mapping[str, Any]) -> Any:
            return await self._invoke("stage", name, dict(fields), ctx)

        return handle

    async def _event(self, notice: sdk.Notice) -> None:
        if self._loaded is None or notice.type not in self._loaded.events - {"settings", "schedule"}:
            return
        told = {
            "seq": notice.seq, "at": notice.at, "type": notice.type, "thread": notice.thread, "turn": notice.turn,
            "scope": notice.scope, "data": dict(notice.data),
        }  # fmt: skip
        await self._hear(notice.type, told)

    async def _due(self, _kernel: sdk.Kernel, due: sdk.Due) -> None:
        await self._hear("schedule", {"name": due.name, "at": due.at, "missed": due.missed})

    async def _setting(self, key: str, value: object) -> None:
        if self._loaded is None or self._kernel is None:
            return
        await self._open.wait()
        await self._tell_settings(self._now())
        if "settings" in self._now().events:
            await self._hear("settings", {"key": key, "value": value})

    async def _tell_settings(self, loaded: _Loaded) -> None:
        try:
            await loaded.state.tell("settings", dict(self._ready().settings))
        except LuaFailed as error:
            log.error("the settings: %s", error)

    async def _hear(self, name: str, told: Mapping[str, Any]) -> None:
        async with self._calling() as loaded:
            try:
                await loaded.state.run("event", name, _dump(told), serve=Services(self._ready()))
            except LuaFailed as error:
                log.error("the handler of %s: %s\n%s", name, error, error.traceback)

    def _now(self) -> _Loaded:
        if self._loaded is None:
            raise sdk.ToolError("main.lua is not loaded.")
        return self._loaded

    def _ready(self) -> sdk.Kernel:
        if self._kernel is None:
            raise sdk.ToolError("The plugin has not started.")
        return self._kernel


_KEYS = (
    "name", "description", "parameters", "class", "timeout",
    "guest", "parallel_safe", "confirm", "no_memory", "untrusted",
)  # fmt: skip
_NO_PARAMETERS: dict[str, Any] = {"type": "object", "properties": {}, "additionalProperties": False}


def limits(settings: Mapping[str, Any]) -> Limits:
    """The limits of a state; settings a person may give: ``lua_memory`` in MiB, ``lua_instructions`` in millions."""
    memory = _within(settings.get("lua_memory"), *_MEMORY)
    instructions = _within(settings.get("lua_instructions"), *_INSTRUCTIONS)
    # 500 million take some ten seconds; who is allowed more computes longer
    seconds = 10.0 * max(1.0, instructions / _INSTRUCTIONS[1])
    return Limits(memory=memory << 20, instructions=instructions * 1_000_000, seconds=seconds)


def _within(value: object, low: int, default: int, high: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        return default
    return min(max(value, low), high)


def _check(manifest: Manifest) -> None:
    """Refuse what the manifest of a Lua plugin cannot say."""
    if manifest.outputs:
        raise sdk.ConfigError("A Lua plugin has no outputs.", hint="Write this one in another language.")
    if any(setting.key == "http_private" and setting.default for setting in manifest.settings):
        raise sdk.ConfigError("http_private is off until a person turns it on.", hint="Leave out its default.")


def _compare(manifest: Manifest, tools: Mapping[str, Mapping[str, Any]], stages: Mapping[str, Any]) -> None:
    """Raises `LuaFailed` where the code registers other things than the manifest lets it."""
    hint = "; write plugin.json anew: python -m homed.sdk manifest DIR"
    static = {tool.name for tool in manifest.tools}
    _differ("tool", static, set(tools) & static if manifest.dynamic_tools else set(tools), hint)
    _usable([dict(tool) for tool in tools.values()])
    declared = {str((s.stage, s.scope, s.order, s.on_failure)) for s in manifest.stages}
    _differ("stage", declared, {str(_stage(entry)) for entry in stages.values()}, hint)


def _stage(entry: Mapping[str, Any]) -> tuple[Any, Any, Any, Any]:
    usual = StageSpec("")
    names = ("stage", "scope", "order", "on_failure")
    stage, scope, order, on_failure = (entry.get(name, getattr(usual, name)) for name in names)
    return stage, scope, order, on_failure


def _usable(tools: list[dict[str, Any]]) -> None:
    if errors := parse_tools(tools)[1]:
        raise LuaFailed("; ".join(errors))


def _differ(what: str, declared: set[str], registered: set[str], hint: str) -> None:
    wrong = [
        f"the {what} {name} stands in plugin.json and main.lua does not register it" for name in declared - registered
    ]
    wrong += [f"main.lua registers the {what} {name}, which is not in plugin.json" for name in registered - declared]
    if wrong:
        raise LuaFailed("; ".join(sorted(wrong)) + hint)


def _dump(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, default=_plain).encode("utf-8", "replace")


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"no JSON for {type(value).__name__}")
