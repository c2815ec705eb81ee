"""``plugin.json``: what a plugin says about itself before anybody runs it.

Reading one collects *every* error with its place, so that an author fixes a file in one go.  Frozen dataclasses, no
validation library: the SDK reads it too and must stay light.
"""

from __future__ import annotations

import json
import re
import shlex
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from homed.errors import ConfigError
from homed.wire.carried import BITS
from homed.wire.facilities import FACILITIES
from homed.wire.fields import Reader
from homed.wire.methods import CAPABILITIES, CORE
from homed.wire.rpc import loads
from homed.wire.schema import problems
from homed.wire.settings import SETTING_TYPES as SETTING_TYPES
from homed.wire.settings import SettingSpec as SettingSpec
from homed.wire.settings import fits as fits
from homed.wire.settings import read_setting

FILE_NAME = "plugin.json"
LUA = "main.lua"
"""The entry of a plugin in Lua."""
SKILL = "SKILL.md"
"""The entry of what is a skill: read by the model, not run."""
NAME = re.compile(r"[a-z][a-z0-9_]{0,31}")
OUTPUT_NAME = re.compile(rf"(?!.*_help$){NAME.pattern}")
"""The tool of an output and that of its help share their beginning: one's name must not be the other's."""
TOOL_NAME = re.compile(r"[a-zA-Z][a-zA-Z0-9_-]{0,63}")
"""What every model service takes as a function name."""

TOOL_CLASSES = ("read", "write", "dangerous")
STAGES = (
    "on_input", "pre_action", "post_action", "before_toolcall", "after_toolcall", "before_output", "after_output",
)  # fmt: skip
STAGE_SCOPES = ("global", "own-tools")
ON_FAILURE = ("open", "closed")
RESTARTS = ("always", "on-failure", "never")
ACTIVATIONS = ("eager", "lazy")

_VERSION = re.compile(r"[0-9]{1,9}(\.[0-9]{1,9}){0,3}")
MAX_BYTES = 1 << 20
_KNOWN = frozenset(
    {
        "name", "name_zh", "name_en", "version", "description", "author", "license", "homepage", "repository", "entry",
        "platforms", "min_version", "tags", "needs", "capabilities", "activation", "tools", "stages", "outputs",
        "inputs", "cleaners", "settings", "restart", "in_flight", "enabled", "idle_stop", "dynamic_tools", "schedules",
        "$schema",
    }
)  # fmt: skip
_MAX_TIMEOUT = 3600.0
_IDLE_STOP = 600.0
_MOST_IDLE = 7 * 86_400.0
MOST_OFTEN, MOST_SELDOM = 10.0, 366 * 86_400.0
"""Seconds between two calls of a schedule."""
_MAX_IN_FLIGHT = 64
_LONGEST_MESSAGE = 1_000_000


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """One tool as the model and the permission policy see it.  ``timeout`` in seconds; ``guest``: a guest may call it;
    ``confirm``: an owner is always asked; ``untrusted``: its output comes from strangers (the web, a mail)."""

    name: str
    description: str
    parameters: Mapping[str, Any]
    tool_class: str = "write"
    guest: bool = False
    parallel_safe: bool = False
    timeout: float = 60.0
    confirm: bool = False
    no_memory: bool = False
    untrusted: bool = False


@dataclass(frozen=True, slots=True)
class StageSpec:
    """A handler in the turn.  Lower ``order`` runs earlier; ``on_failure`` closed: what was not checked is withheld."""

    stage: str
    scope: str = "global"
    order: int = 0
    on_failure: str = "open"


@dataclass(frozen=True, slots=True)
class OutputSpec:
    """A way out to people: ``caps`` says what it carries (``wire.carried``), ``format`` how text should be written,
    ``limit`` how many characters one message may have (0: any): longer ones come in pieces."""

    name: str
    caps: tuple[str, ...] = ("text",)
    description: str = ""
    format: str = ""
    limit: int = 0


@dataclass(frozen=True, slots=True)
class ScheduleSpec:
    """The kernel calls the plugin by this name every so many seconds, and starts it for that."""

    name: str
    every: float


@dataclass(frozen=True, slots=True)
class Manifest:
    """A valid ``plugin.json``.  ``warnings`` are things to mend that stop nothing."""

    name: str
    version: str
    entry: str
    description: str = ""
    name_zh: str = ""
    name_en: str = ""
    author: str = ""
    license: str = ""
    homepage: str = ""
    repository: str = ""
    min_version: str = ""
    platforms: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    capabilities: tuple[str, ...] = ()
    activation: str = "eager"
    restart: str = "on-failure"
    in_flight: int = 4
    enabled: bool = True
    idle_stop: float = _IDLE_STOP
    """Seconds without a call after which a lazy plugin is stopped."""
    dynamic_tools: bool = False
    """Its tools are known only while it runs; the last list is kept for its version."""
    schedules: tuple[ScheduleSpec, ...] = ()
    tools: tuple[ToolSpec, ...] = ()
    stages: tuple[StageSpec, ...] = ()
    outputs: tuple[OutputSpec, ...] = ()
    inputs: tuple[str, ...] = ()
    cleaners: tuple[str, ...] = ()
    """Those of ``inputs`` whose texts it cleans of template noise before vectors are made of them."""
    settings: tuple[SettingSpec, ...] = ()
    warnings: tuple[str, ...] = field(default=(), compare=False)

    def argv(self, folder: Path) -> tuple[str, ...]:
        """The command of ``entry``, to be run with ``folder`` as working folder.

        ``python`` means the interpreter that runs homed; a first word with a slash is a file in ``folder``.
        ``main.lua`` is run by the runner of the built-in plugin lua.  Raises `ConfigError` for a skill: no program.
        """
        if self.entry == LUA:
            # -P: a file in the plugin's folder must not stand in for a module of the runner.
            return (sys.executable, "-P", "-m", "homed_plugins.lua", str(folder))
        if self.entry == SKILL:
            raise ConfigError(f"{self.name} is a skill, no program.", hint="Install it as a skill: skill_install.")
        first, *rest = shlex.split(self.entry)
        if first in ("python", "python3"):
            first = sys.executable
        elif "/" in first:
            first = str(folder / first)
        return (first, *rest)


def load_manifest(folder: Path) -> Manifest:
    """Read ``folder/plugin.json``.  Raises `ConfigError` whose ``detail["errors"]`` lists everything that is wrong."""
    manifest, errors = read_manifest(folder)
    if manifest is None:
        count = "1 error" if len(errors) == 1 else f"{len(errors)} errors"
        raise ConfigError(
            f"{folder / FILE_NAME} has {count}: {'; '.join(errors)}.",
            hint="Mend the file; `python -m homed.sdk check DIR` checks it.",
            detail={"errors": list(errors)},
        )
    return manifest


def read_manifest(folder: Path) -> tuple[Manifest | None, tuple[str, ...]]:
    """The manifest and no errors, or None and every error, each beginning with its place (``tools[2].timeout: …``)."""
    path = folder / FILE_NAME
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        return None, (f"{FILE_NAME}: there is no such file",)
    except OSError as error:
        return None, (f"{FILE_NAME}: cannot be read ({error.strerror})",)
    return decode_manifest(data)


def decode_manifest(data: bytes) -> tuple[Manifest | None, tuple[str, ...]]:
    """The same for the file's bytes."""
    if len(data) > MAX_BYTES:
        return None, (f"{FILE_NAME}: over {MAX_BYTES} bytes",)
    try:
        text = data.decode()
        json.loads(text)  # which says where it is wrong
        value = loads(text)  # what Python alone takes for JSON no model's server would: NaN, half a character
    except UnicodeDecodeError as error:
        return None, (f"{FILE_NAME}: invalid UTF-8 at byte {error.start}",)
    except json.JSONDecodeError as error:
        return None, (f"{FILE_NAME}: line {error.lineno}, column {error.colno}: {error.msg}",)
    except (RecursionError, ValueError) as error:
        return None, (f"{FILE_NAME}: no usable JSON ({str(error).removeprefix('no JSON: ')})",)
    return parse_manifest(value)


def parse_manifest(value: object) -> tuple[Manifest | None, tuple[str, ...]]:
    """The same for a value already read."""
    if not isinstance(value, dict):
        return None, (f"{FILE_NAME}: must hold an object",)
    reader = Reader(value)
    manifest = Manifest(
        name=reader.text("name", pattern=NAME, required=True),
        version=reader.text("version", required=True),
        entry=reader.text("entry", required=True),
        **{key: reader.text(key) for key in _TEXTS},
        min_version=reader.text("min_version", pattern=_VERSION),
        platforms=reader.names("platforms"),
        tags=reader.names("tags"),
        needs=_among(reader, "needs", FACILITIES),
        capabilities=_among(reader, "capabilities", CAPABILITIES - {CORE}),
        activation=reader.choice("activation", ACTIVATIONS, "eager"),
        restart=reader.choice("restart", RESTARTS, "on-failure"),
        in_flight=int(reader.number("in_flight", 4, low=1, high=_MAX_IN_FLIGHT, whole=True)),
        enabled=reader.flag("enabled", default=True),
        idle_stop=reader.number("idle_stop", _IDLE_STOP, low=1, high=_MOST_IDLE),
        dynamic_tools=reader.flag("dynamic_tools"),
        schedules=tuple(_schedule(part) for part in reader.parts("schedules", unique="name")),
        tools=tuple(_tool(part) for part in reader.parts("tools", unique="name")),
        stages=tuple(_stage(part) for part in reader.parts("stages", unique="stage")),
        outputs=tuple(_output(part) for part in reader.parts("outputs", unique="name")),
        inputs=reader.names("inputs"),
        cleaners=reader.names("cleaners"),
        settings=tuple(read_setting(part) for part in reader.parts("settings", unique="key")),
        warnings=reader.unknown(_KNOWN),
    )
    _check_entry(reader, manifest.entry)
    _check_lazy(reader, manifest)
    for channel in manifest.cleaners:
        if channel not in manifest.inputs:
            reader.wrong("cleaners", f"{channel!r} is none of its inputs: a plugin cleans its own channels only")
    return (None, tuple(reader.errors)) if reader.errors else (manifest, ())


def _among(reader: Reader, key: str, known: frozenset[str]) -> tuple[str, ...]:
    """Names that must be known ones."""
    names = reader.names(key)
    for name in names:
        if name not in known:
            reader.wrong(key, f"{name!r} is none of {', '.join(sorted(known))}")
    return names


def parse_tools(value: object) -> tuple[tuple[ToolSpec, ...], tuple[str, ...]]:
    """A list as a manifest's ``tools``, from a plugin that runs: the tools, and every error with its place."""
    reader = Reader({"tools": value})
    tools = tuple(_tool(part) for part in reader.parts("tools", unique="name"))
    return tools, tuple(reader.errors)


_TEXTS = ("description", "name_zh", "name_en", "author", "license", "homepage", "repository")


def _check_entry(reader: Reader, entry: str) -> None:
    try:
        words = shlex.split(entry)
    except ValueError as error:
        reader.wrong("entry", f"cannot be split into words ({error})")
        return
    if entry and not words:
        reader.wrong("entry", "is empty")
    if any("\0" in word for word in words) or (words and (words[0].startswith("/") or ".." in words[0].split("/"))):
        reader.wrong("entry", "must be `python …`, a program on PATH, or a file inside the plugin's folder")


def _check_lazy(reader: Reader, manifest: Manifest) -> None:
    """Who takes part in every turn, or brings messages in, must be there before anybody asks for it."""
    if manifest.activation == "lazy" and (manifest.inputs or any(s.scope == "global" for s in manifest.stages)):
        reader.wrong("activation", "a plugin with inputs or global stages must be eager")


def _schedule(part: Reader) -> ScheduleSpec:
    return ScheduleSpec(
        name=part.text("name", pattern=NAME, required=True),
        every=part.number("every", 0, low=MOST_OFTEN, high=MOST_SELDOM),
    )


def _tool(part: Reader) -> ToolSpec:
    parameters = part.value("parameters", {"type": "object", "properties": {}})
    for problem in problems(parameters):
        part.wrong("parameters", problem)
    return ToolSpec(
        name=part.text("name", pattern=TOOL_NAME, required=True),
        description=part.text("description", required=True),
        parameters=parameters if isinstance(parameters, dict) else {},
        tool_class=part.choice("class", TOOL_CLASSES, "write"),
        guest=part.flag("guest"),
        parallel_safe=part.flag("parallel_safe"),
        timeout=part.number("timeout", 60, low=0.1, high=_MAX_TIMEOUT),
        confirm=part.flag("confirm"),
        no_memory=part.flag("no_memory"),
        untrusted=part.flag("untrusted"),
    )


def _stage(part: Reader) -> StageSpec:
    return StageSpec(
        stage=part.choice("stage", STAGES, ""),
        scope=part.choice("scope", STAGE_SCOPES, "global"),
        order=int(part.number("order", 0, low=-1_000_000, high=1_000_000, whole=True)),
        on_failure=part.choice("on_failure", ON_FAILURE, "open"),
    )


def _output(part: Reader) -> OutputSpec:
    return OutputSpec(
        name=part.text("name", pattern=OUTPUT_NAME, required=True),
        caps=_among(part, "caps", frozenset(BITS)) or ("text",),
        description=part.text("description"),
        format=part.text("format"),
        limit=int(part.number("limit", 0, low=0, high=_LONGEST_MESSAGE, whole=True)),
    )
