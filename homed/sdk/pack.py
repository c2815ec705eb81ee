"""What goes into ``plugin.json`` from the decorators: tool schemas out of type hints and docstrings, stages, outputs.

Run when a plugin is packed, never when it starts.
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from homed.errors import ConfigError
from homed.sdk.hints import schema
from homed.sdk.plugin import Plugin, Tool
from homed.sdk.runtime import registrations

_ARGS = re.compile(r"^(Args|Arguments|Parameters):\s*$")
_ARG = re.compile(r"^(\w+)\s*(?:\([^)]*\))?:\s*(.*)$")
_SECTION = re.compile(r"^(Returns|Raises|Yields|Examples?|Note|Notes):\s*$")
_OPTIONS = ("guest", "parallel_safe", "confirm", "no_memory", "untrusted")


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
    for name, parameter in tool.parameters.items():
        properties[name] = _property(tool, name)
        if name in about:
            properties[name]["description"] = about[name]
        if parameter.default is not inspect.Parameter.empty:
            properties[name]["default"] = parameter.default
    required = [name for name, p in tool.parameters.items() if p.default is inspect.Parameter.empty]
    result: dict[str, Any] = {"type": "object", "properties": properties, "additionalProperties": False}
    return result | ({"required": required} if required else {})


def _property(tool: Tool, name: str) -> dict[str, Any]:
    if name not in tool.hints:
        raise ConfigError(f"The parameter {name} of {tool.name} has no type.", hint="Write one: str, int, …")
    try:
        return schema(tool.hints[name])
    except TypeError as error:
        hint = "Use str, int, float, bool, list, dict, Literal, a TypedDict, or a union of them."
        raise ConfigError(f"The parameter {name} of {tool.name}: {error}.", hint=hint) from error


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
