"""What goes into ``plugin.json`` from the decorators: tool schemas out of type hints and docstrings, stages, outputs.

Run when a plugin is packed, never when it starts: only here is pydantic imported.
"""

from __future__ import annotations

import inspect
import json
import re
import types
import typing
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, NotRequired, Required, Union

from pydantic import TypeAdapter
from pydantic.errors import PydanticSchemaGenerationError
from typing_extensions import is_typeddict  # knows its own TypedDict, which pydantic wants before Python 3.12

from homed.errors import ConfigError
from homed.sdk.plugin import Plugin, Tool
from homed.sdk.runtime import registrations

_ARGS = re.compile(r"^(Args|Arguments|Parameters):\s*$")
_ARG = re.compile(r"^(\w+)\s*(?:\([^)]*\))?:\s*(.*)$")
_SECTION = re.compile(r"^(Returns|Raises|Yields|Examples?|Note|Notes):\s*$")
_OPTIONS = ("guest", "parallel_safe", "confirm", "no_memory", "untrusted")
_PLAIN = (str, int, float, bool, type(None), dict, list, object)


def describe(plugin: Plugin) -> dict[str, Any]:
    """The manifest's generated fields (``tools``, …).  Raises `ConfigError` naming tool and parameter."""
    described = registrations(plugin)
    described["tools"] = [describe_tool(tool, plugin.folder) for tool in plugin.tools.values()]
    return described


def describe_json(plugin: Plugin) -> str:
    """`describe` as JSON text."""
    return json.dumps(describe(plugin), ensure_ascii=False, indent=2) + "\n"


def describe_tool(tool: Tool, folder: Path) -> dict[str, Any]:
    """One entry of ``tools``."""
    text, about = _docstring(tool.function)
    beside = folder / "tools" / f"{tool.name}.md"
    if beside.is_file():
        text = beside.read_text(encoding="utf-8").strip()
    if not text:
        hint = f"Write a docstring, or tools/{tool.name}.md."
        raise ConfigError(f"The tool {tool.name} has no description.", hint=hint)
    unknown = sorted(set(about) - set(tool.parameters))
    if unknown:
        raise ConfigError(f"The docstring of {tool.name} describes {', '.join(unknown)}, which it does not take.")
    options = tool.options
    entry: dict[str, Any] = {
        "name": tool.name,
        "description": text,
        "parameters": _parameters(tool, about),
        "class": options.get("cls", "write"),
        "timeout": options.get("timeout", 60),
    }
    return entry | {key: True for key in _OPTIONS if options.get(key)}


def _parameters(tool: Tool, about: Mapping[str, str]) -> dict[str, Any]:
    properties: dict[str, Any] = {}
    definitions: dict[str, Any] = {}
    for name, parameter in tool.parameters.items():
        if name not in tool.hints:
            raise ConfigError(f"The parameter {name} of {tool.name} has no type.", hint="Write one: str, int, …")
        schema = _schema(tool, name)
        definitions |= schema.pop("$defs", {})
        if text := about.get(name) or _annotated_text(tool.hints[name]):
            schema["description"] = text
        if parameter.default is not inspect.Parameter.empty:
            schema["default"] = parameter.default
        properties[name] = schema
    required = [name for name, p in tool.parameters.items() if p.default is inspect.Parameter.empty]
    result: dict[str, Any] = {"type": "object", "properties": properties, "additionalProperties": False}
    if required:
        result["required"] = required
    return result | ({"$defs": definitions} if definitions else {})


def _schema(tool: Tool, name: str) -> dict[str, Any]:
    hint = tool.hints[name]
    problem = f"The parameter {name} of {tool.name} has the type {hint}, which JSON cannot hold."
    if not _is_json(hint):
        raise ConfigError(problem, hint="Use str, int, float, bool, list, dict, Literal, a TypedDict, or a union.")
    try:
        return _untitled(TypeAdapter(hint).json_schema())
    except PydanticSchemaGenerationError as error:
        raise ConfigError(problem) from error


def _is_json(hint: Any) -> bool:
    """Whether values of this type are what ``json.loads`` gives."""
    if hint in _PLAIN or hint is Any:
        return True
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if origin is Literal:
        return all(isinstance(value, _PLAIN[:5]) for value in args)
    if origin in (Annotated, Required, NotRequired):
        return _is_json(args[0])
    if origin in (Union, types.UnionType, list, dict, Sequence, Mapping, Iterable):
        return all(_is_json(part) for part in args)
    if is_typeddict(hint):
        return all(_is_json(part) for part in typing.get_type_hints(hint, include_extras=True).values())
    return False


def _untitled(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema without pydantic's titles, which cost tokens and say nothing; a property called ``title`` stays."""
    kept: dict[str, Any] = {}
    for key, value in schema.items():
        if key == "title":
            continue
        if key in ("properties", "$defs"):
            kept[key] = {name: _untitled(part) for name, part in value.items()}
        elif isinstance(value, dict):
            kept[key] = _untitled(value) if key != "default" else value
        elif isinstance(value, list):
            kept[key] = [_untitled(part) if isinstance(part, dict) and key != "enum" else part for part in value]
        else:
            kept[key] = value
    return kept


def _annotated_text(hint: Any) -> str:
    """The first text in ``Annotated[type, "text"]``."""
    if typing.get_origin(hint) is not Annotated:
        return ""
    return next((part for part in hint.__metadata__ if isinstance(part, str)), "")


def _docstring(function: Any) -> tuple[str, dict[str, str]]:
    """The text of a docstring up to its ``Args:``, and what that section says of each argument."""
    text: list[str] = []
    about: dict[str, str] = {}
    where, current = "text", ""
    for line in (inspect.getdoc(function) or "").splitlines():
        if _ARGS.match(line):
            where = "args"
        elif _SECTION.match(line):
            where = "text" if where == "text" else "rest"
            if where == "text":
                text.append(line)
        elif where == "text":
            text.append(line)
        elif where == "args" and (match := _ARG.match(line.strip())) and len(line) - len(line.lstrip()) <= 4:
            current = match[1]
            about[current] = match[2]
        elif where == "args" and line.strip() and current:
            about[current] = f"{about[current]} {line.strip()}".strip()
    return "\n".join(text).strip(), about
