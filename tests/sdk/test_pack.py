"""From decorators to manifest entries."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import pytest
from jsonschema import Draft202012Validator

from homed import sdk
from homed.sdk.pack import describe, describe_json
from homed.wire.manifest import parse_manifest


def packed(tmp_path: Path, function: Any, **options: Any) -> dict[str, Any]:
    plugin = sdk.Plugin("a", folder=tmp_path)
    plugin.tool(**options)(function)
    (tool,) = describe(plugin)["tools"]
    assert isinstance(tool, dict)
    return tool


async def search(ctx: sdk.Context, pattern: str, path: Annotated[str, "Where to look."] = ".", limit: int = 20) -> str:
    """Search files.

    Finds lines that match.

    Args:
        pattern: A regular expression; a long
            explanation of it.
        limit (int): At most so many.

    Returns:
        The lines.
    """
    return ""


def test_a_docstring_becomes_description_and_parameters(tmp_path: Path) -> None:
    assert packed(tmp_path, search, cls="read", timeout=5, parallel_safe=True) == {
        "name": "search",
        "description": "Search files.\n\nFinds lines that match.",
        "parameters": {
            "type": "object",
            "properties": {
                "pattern": {"type": "string", "description": "A regular expression; a long explanation of it."},
                "path": {"type": "string", "description": "Where to look.", "default": "."},
                "limit": {"type": "integer", "description": "At most so many.", "default": 20},
            },
            "additionalProperties": False,
            "required": ["pattern"],
        },
        "class": "read",
        "timeout": 5,
        "parallel_safe": True,
    }


def test_what_is_packed_is_a_valid_manifest_and_a_valid_schema(tmp_path: Path) -> None:
    plugin = sdk.Plugin("a", folder=tmp_path)
    plugin.tool()(search)
    plugin.input("in")
    handler: Any = search
    plugin.stage("on_input", on_failure="closed")(handler)
    plugin.output("out", caps=("text", "image"))(handler)
    described = json.loads(describe_json(plugin))
    manifest, errors = parse_manifest({"name": "a", "version": "1", "entry": "python x", **described})
    assert errors == ()
    assert manifest
    assert manifest.stages[0].on_failure == "closed"
    assert manifest.outputs[0].caps == ("text", "image")
    Draft202012Validator.check_schema(dict(manifest.tools[0].parameters))


def test_a_file_beside_the_module_takes_the_docstrings_place(tmp_path: Path) -> None:
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools" / "search.md").write_text("Find text. 找文字。\n", encoding="utf-8")
    tool = packed(tmp_path, search)
    assert tool["description"] == "Find text. 找文字。"
    assert tool["parameters"]["properties"]["limit"]["description"] == "At most so many."


async def no_words(ctx: sdk.Context) -> None: ...


async def no_type(ctx: sdk.Context, a) -> None:  # type: ignore[no-untyped-def]
    """A."""


async def odd_type(ctx: sdk.Context, a: Path) -> None:
    """A."""


async def stale_words(ctx: sdk.Context, a: str) -> None:
    """A.

    Args:
        b: Renamed since.
    """


@pytest.mark.parametrize(
    ("function", "problem"),
    [
        (no_words, "The tool no_words has no description"),
        (no_type, "The parameter a of no_type has no type"),
        (odd_type, "The parameter a of odd_type: JSON has no Path"),
        (stale_words, "describes b, which it does not take"),
    ],
)
def test_what_cannot_be_packed_is_named(tmp_path: Path, function: Any, problem: str) -> None:
    with pytest.raises(sdk.ConfigError, match=problem):
        packed(tmp_path, function)
