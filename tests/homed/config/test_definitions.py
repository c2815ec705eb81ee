"""Every setting is read by somebody, every key that is read exists, and the documentation tells of each (E12)."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from homed.config import definitions
from homed.config.definitions import CORE, Definition
from homed.config.values import plain

ROOT = Path(__file__).parents[3]
READS = frozenset({"get", "int", "float", "str", "bool"})
NAMES = {name: value for name, value in vars(definitions).items() if isinstance(value, str) and value[:5] == "core."}
LOOKS_LIKE_A_KEY = re.compile(r"core\.(?:agent|llm|web|log|memory|usermodel|spend)\.[a-z_.]+")


def modules() -> Iterator[tuple[Path, ast.Module]]:
    for path in sorted((ROOT / "homed").rglob("*.py")):
        if path.parent.name != "definitions":
            yield path, ast.parse(path.read_text("utf-8"))


def keys_read(tree: ast.Module) -> set[str]:
    """Keys given to a reading method of the settings, also through a local name for that method."""
    aliases = {
        target.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Attribute) and node.value.attr in READS
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    found: set[str] = set()
    for node in ast.walk(tree):
        if not (isinstance(node, ast.Call) and node.args):
            continue
        reads = isinstance(node.func, ast.Attribute) and node.func.attr in READS
        if reads or (isinstance(node.func, ast.Name) and node.func.id in aliases):
            found |= {key_of(node.args[0])}
    return found - {""}


def key_of(node: ast.expr) -> str:
    if isinstance(node, ast.Name):
        return NAMES.get(node.id, "")
    is_key = isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.startswith("core.")
    return str(node.value) if is_key and isinstance(node, ast.Constant) else ""


def test_every_core_key_has_a_reader_and_every_key_that_is_read_is_defined() -> None:
    """E12: a key that was registered, shown and never read."""
    read = set().union(*(keys_read(tree) for _, tree in modules()))
    assert read == {definition.key for definition in CORE}


def test_the_search_for_readers_finds_what_it_should_and_nothing_else() -> None:
    source = """
x = settings.int(MAX_TOOL_TURNS)
read = self._settings.float
y = read(IDLE_TIMEOUT)
settings.set(PERSONA, "")            # writing is no reading
text = "core.log.level"              # naming is no reading
z = settings.str("core.llm.current")
"""
    assert keys_read(ast.parse(source)) == {
        "core.agent.max_tool_turns", "core.llm.idle_timeout", "core.llm.current",
    }  # fmt: skip


def test_every_key_that_a_message_names_exists() -> None:
    defined = {definition.key for definition in CORE}
    named = {
        (path.name, key)
        for path, tree in modules()
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
        for key in LOOKS_LIKE_A_KEY.findall(node.value)
    }
    assert {(name, key) for name, key in named if key.rstrip("._") not in defined} == set()
    assert named


def test_no_two_definitions_share_a_key() -> None:
    assert len({definition.key for definition in CORE}) == len(CORE)


def row(definition: Definition) -> str:
    """The line of a setting in docs/config.md."""
    default = "none" if definition.secret else f"`{json.dumps(definition.default, ensure_ascii=False)}`"
    limits = ""
    if definition.minimum is not None and definition.maximum is not None:
        limits = f" {plain(definition.minimum)} to {plain(definition.maximum)}."
    if definition.options:
        limits = f" One of {', '.join(definition.options)}."
    return f"| `{definition.key}` | {definition.type} | {default} | {definition.description}{limits} |"


@pytest.mark.parametrize("definition", CORE, ids=lambda d: d.key)
def test_the_documentation_has_the_line_of_each_setting(definition: Definition) -> None:
    assert row(definition) in (ROOT / "docs" / "config.md").read_text("utf-8").splitlines()


def test_the_documentation_names_no_core_setting_that_is_not_there() -> None:
    named = re.findall(r"^\| `(core\.[a-z_.]+)`", (ROOT / "docs" / "config.md").read_text("utf-8"), re.M)
    assert sorted(named) == sorted(definition.key for definition in CORE)
