"""What a plugin declares: `Plugin` and its decorators.  Nothing runs here; ``homed.sdk.runtime`` does that."""

from __future__ import annotations

import inspect
import sys
import typing
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, TypedDict, TypeVar, Unpack

from homed.errors import HomedError
from homed.wire.carried import BITS
from homed.wire.manifest import NAME, ON_FAILURE, STAGE_SCOPES, STAGES, TOOL_CLASSES, OutputSpec, StageSpec

if TYPE_CHECKING:
    from homed.sdk.client import Context, Kernel

F = TypeVar("F", bound=Callable[..., Any])
ToolF = TypeVar("ToolF", bound="Callable[Concatenate[Context, ...], Any]")
StageF = TypeVar("StageF", bound="Callable[[Context, Mapping[str, Any]], Any]")
CleanerF = TypeVar("CleanerF", bound="Callable[[Sequence[str]], Any]")
OutputF = TypeVar("OutputF", bound="Callable[[Context, Any], Any]")
StartF = TypeVar("StartF", bound="Callable[[Kernel], Any]")
MainF = TypeVar("MainF", bound="Callable[[Kernel], Awaitable[None]]")

SIGNALS = ("event", "lost", "passed", "settings")
"""What `Plugin.on` takes: a notice, a count of lost notices, a changed setting (key, value)."""


class ToolError(HomedError):
    """Raise it in a tool: the model reads the message (and ``hint``) as the tool's failed result."""

    code = "tool"


class ToolOptions(TypedDict, total=False):
    """Options of ``@plugin.tool``; they go into the manifest and bind what the kernel allows.

    ``cls``: read, write (default) or dangerous.  ``guest``: a guest may call it (packaged plugins, class read only).
    ``parallel_safe``: two calls may run at once.  ``timeout``: seconds, 60 by default.  ``confirm``: an owner is always
    asked.  ``no_memory``: its result is not remembered.  ``untrusted``: its output comes from strangers.  ``name``: if
    not the function's.
    """

    cls: str
    guest: bool
    parallel_safe: bool
    timeout: float
    confirm: bool
    no_memory: bool
    untrusted: bool
    name: str


@dataclass(frozen=True)
class Tool:
    """A declared tool: its function, whose first parameter is the context, and its options."""

    name: str
    function: Callable[..., Any]
    options: ToolOptions

    @cached_property
    def parameters(self) -> Mapping[str, inspect.Parameter]:
        """The parameters a model fills, by name: all but the context."""
        found = list(inspect.signature(self.function).parameters.values())
        plain = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
        if not found or any(parameter.kind not in plain for parameter in found):
            raise TypeError(f"tool {self.name}: the first parameter is the context, then named ones; no * or **")
        return {parameter.name: parameter for parameter in found[1:]}

    @cached_property
    def hints(self) -> Mapping[str, Any]:
        """The resolved type hints, ``Annotated`` kept."""
        return typing.get_type_hints(self.function, include_extras=True)

    def bind(self, args: Mapping[str, Any]) -> dict[str, Any]:
        """The keyword arguments of one call.  Raises `ToolError` naming what is missing or unknown.

        The kernel has checked types already; here only 3.0 becomes 3 where a whole number is wanted.
        """
        unknown = sorted(set(args) - set(self.parameters))
        if unknown:
            known = ", ".join(self.parameters) or "none"
            raise ToolError(f"{self.name} has no argument {', '.join(unknown)}.", hint=f"Its arguments are: {known}.")
        empty = inspect.Parameter.empty
        missing = [name for name, p in self.parameters.items() if p.default is empty and name not in args]
        if missing:
            raise ToolError(f"{self.name} needs the argument {', '.join(missing)}.")
        return {name: self._whole(name, value) for name, value in args.items()}

    def _whole(self, name: str, value: Any) -> Any:
        if isinstance(value, float) and value.is_integer() and self.hints.get(name) is int:
            return int(value)
        return value


@dataclass(frozen=True)
class Stage:
    """A declared stage handler."""

    spec: StageSpec
    function: Callable[..., Any]


@dataclass(frozen=True)
class Output:
    """A declared way out."""

    spec: OutputSpec
    function: Callable[..., Any]


@dataclass
class _Hooks:
    start: list[Callable[..., Any]] = field(default_factory=list)
    main: list[Callable[..., Awaitable[None]]] = field(default_factory=list)
    on: dict[str, list[Callable[..., Any]]] = field(default_factory=dict)
    around: list[Callable[[], AbstractAsyncContextManager[None]]] = field(default_factory=list)
    """Entered before the first word to the kernel and left after the last: what handlers stand on."""


class Plugin:
    """A plugin: made once in its module, filled by decorators, handed to ``sdk.run``.

    ``folder`` is where ``plugin.json`` stands; by default the folder of the module that makes the plugin.
    """

    def __init__(self, name: str, *, folder: Path | None = None) -> None:
        if not NAME.fullmatch(name):
            raise ValueError(f"a plugin's name matches {NAME.pattern}; {name!r} does not")
        self.name = name
        self.folder = folder or Path(sys._getframe(1).f_globals.get("__file__", ".")).resolve().parent
        self.tools: dict[str, Tool] = {}
        self.stages: dict[str, Stage] = {}
        self.outputs: dict[str, Output] = {}
        self.schedules: dict[str, Callable[..., Any]] = {}
        self.dynamic: Callable[..., Any] | None = None
        """What is called for a tool of ``Kernel.set_tools``."""
        self.inputs: list[str] = []
        self.cleaners: dict[str, Callable[..., Any]] = {}
        self.hooks = _Hooks()

    def tool(self, **options: Unpack[ToolOptions]) -> Callable[[ToolF], ToolF]:
        """Declare a tool.  Async functions run on Trio, plain ones in a thread; the first parameter is the `Context`.

        The result is text or anything JSON-able, or either in a `WithFiles`.  The description is the docstring, or
        ``tools/NAME.md`` in the folder.
        """
        if (cls := options.get("cls", "write")) not in TOOL_CLASSES:
            raise ValueError(f"cls is one of {', '.join(TOOL_CLASSES)}, not {cls!r}")

        def declare(function: ToolF) -> ToolF:
            tool = Tool(options.get("name") or function.__name__, function, options)
            _ = tool.parameters  # a wrong signature fails here, at the author's desk
            self._add(self.tools, tool.name, tool)
            return function

        return declare

    def stage(
        self, stage: str, *, scope: str = "global", order: int = 0, on_failure: str = "open"
    ) -> Callable[[StageF], StageF]:
        """Declare the handler of a stage: ``handler(ctx, fields)`` returns the changed fields, or None."""
        for value, known in ((stage, STAGES), (scope, STAGE_SCOPES), (on_failure, ON_FAILURE)):
            if value not in known:
                raise ValueError(f"{value!r} is none of {', '.join(known)}")

        def declare(function: StageF) -> StageF:
            self._add(self.stages, stage, Stage(StageSpec(stage, scope, order, on_failure), function))
            return function

        return declare

    def output(
        self, name: str, *, caps: tuple[str, ...] = ("text",), description: str = "", format: str = "", limit: int = 0
    ) -> Callable[[OutputF], OutputF]:
        """Declare a way out: ``send(ctx, content)`` returns ``"ok"``, ``"queued"`` or ``"unconfirmed"``, or a mapping
        with ``status`` and ``id``.

        ``caps``: of text, file, image, audio and structured what it carries; what it does not is refused before it
        comes here.  ``content`` is a string of at most ``limit`` characters (0: any), or, of the other kinds, an object
        with its ``type``; media name a ``block``, whose bytes ``ctx.io.block`` has.
        """

        def declare(function: OutputF) -> OutputF:
            if unknown := [cap for cap in caps if cap not in BITS]:
                raise ValueError(f"{unknown[0]!r} is none of {', '.join(BITS)}")
            self._add(self.outputs, name, Output(OutputSpec(name, caps, description, format, limit), function))
            return function

        return declare

    def cleaner(self, channel: str) -> Callable[[CleanerF], CleanerF]:
        """Declare what takes a channel's template noise (footers, quoted headers) out of texts: ``clean(texts)``.

        ``channel`` is an `input` of this plugin.  It gets a list of texts and returns as many, in the same order and
        none longer than it was.  homed asks before vectors are made; what is stored and shown stays as it came.
        """

        def declare(function: CleanerF) -> CleanerF:
            self._add(self.cleaners, channel, function)
            return function

        return declare

    def schedule(self, name: str) -> Callable[[F], F]:
        """Declare what is done when a schedule is due: ``function(kernel, due)`` with a `Due`.

        Those of the manifest's ``schedules`` come by themselves; others are set with `Kernel.schedule`.  The plugin is
        not stopped as idle before the function returns.
        """
        if not NAME.fullmatch(name):
            raise ValueError(f"a schedule's name matches {NAME.pattern}; {name!r} does not")

        def declare(function: F) -> F:
            self._add(self.schedules, name, function)
            return function

        return declare

    def dynamic_tools(self, function: F) -> F:
        """Declare what is done for tools that stand in no manifest: ``function(ctx, name, args)``, result as a tool's.

        `Kernel.set_tools` lists them; the manifest says ``"dynamic_tools": true``.
        """
        if self.dynamic is not None:
            raise ValueError(f"{self.name}: dynamic tools have one function")
        self.dynamic = function
        return function

    def input(self, name: str) -> Callable[[MainF], MainF]:
        """Declare a channel that this plugin brings messages in by.

        As a decorator, of the async ``function(kernel)`` that listens there: it runs as those of `main` do.
        """
        if name in self.inputs:
            raise ValueError(f"{self.name}: the input {name!r} is declared twice")
        self.inputs.append(name)
        return self.main

    def on_start(self, function: StartF) -> StartF:
        """Run ``function(kernel)`` before the plugin counts as ready; a `ConfigError` stops it with that message."""
        self.hooks.start.append(function)
        return function

    def main(self, function: MainF) -> MainF:
        """Run the async ``function(kernel)`` from start to stop, where it is cancelled.  Its failure is a crash."""
        self.hooks.main.append(function)
        return function

    def on(self, signal: str) -> Callable[[F], F]:
        """Hear of something: ``event`` (a `Notice`), ``lost`` (a count), ``settings`` (key, value); one at a time.

        ``passed`` (a number): there is nothing more up to that notice, where the last of them was lost or not wanted.
        """
        if signal not in SIGNALS:
            raise ValueError(f"{signal!r} is none of {', '.join(SIGNALS)}")

        def declare(function: F) -> F:
            self.hooks.on.setdefault(signal, []).append(function)
            return function

        return declare

    def _add(self, into: dict[str, Any], name: str, value: object) -> None:
        if name in into:
            raise ValueError(f"{self.name}: {name!r} is declared twice")
        into[name] = value
