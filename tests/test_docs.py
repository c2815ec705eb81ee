"""Documentation is tested: every method, notice, setting, command and tool appears where people look for it."""

from __future__ import annotations

import argparse
import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from homed import events
from homed.commands.parser import build
from homed.config.definitions import CORE
from homed.wire import methods, version

ROOT = Path(__file__).parent.parent
WIRE = (ROOT / "docs" / "wire.md").read_text("utf-8")
OPERATIONS = (ROOT / "docs" / "operations.md").read_text("utf-8")
PLUGINS = sorted(p.parent for p in (ROOT / "plugins").glob("*/plugin.json"))


def test_every_method_is_in_the_wire_document() -> None:
    named = [*methods.TO_PLUGIN, *methods.TO_KERNEL]
    assert len(named) > 100, "it really looked"
    assert [method for method in named if f"`{method}`" not in WIRE] == []


ROOMS = "|".join(sorted({method.partition(".")[0] for method in methods.TO_KERNEL}))


def test_the_wire_document_names_no_method_that_is_not_there() -> None:
    known = {*methods.TO_KERNEL, *methods.CAPABILITIES, *methods.TO_PLUGIN, methods.SETTINGS_CHANGED}
    named = re.findall(rf"`((?:{ROOMS})\.[a-z_]+)`", WIRE)
    assert len(named) > 100, "it really looked"
    assert [method for method in named if method not in known] == []


def test_every_notice_is_in_the_wire_document() -> None:
    assert events.TYPES
    assert [notice for notice in events.TYPES if f"`{notice}`" not in WIRE] == []


def test_every_setting_is_documented() -> None:
    document = (ROOT / "docs" / "config.md").read_text("utf-8")
    assert CORE
    assert [d.key for d in CORE if f"`{d.key}`" not in document] == []


def leaf_commands(
    parser: argparse.ArgumentParser, path: str = "homed"
) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """Every command that does something, with the words that call it."""
    subs = [a for a in parser._actions if isinstance(a, argparse._SubParsersAction)]
    for action in subs:
        for name, sub in action.choices.items():
            yield from leaf_commands(sub, f"{path} {name}")
    if not subs:
        yield path, parser


def test_every_command_is_documented_and_its_help_has_an_example() -> None:
    commands = list(leaf_commands(build()))
    assert len(commands) > 50, "it really looked"
    assert [words for words, _ in commands if f"`{words}" not in OPERATIONS] == []
    assert [words for words, parser in commands if "Example" not in (parser.epilog or "")] == []


@pytest.mark.parametrize("folder", PLUGINS, ids=lambda p: p.name)
def test_every_built_in_plugin_and_tool_is_in_the_plugin_document(folder: Path) -> None:
    manifest = json.loads((folder / "plugin.json").read_text("utf-8"))
    document = (ROOT / "docs" / "plugins.md").read_text("utf-8")
    assert f"`{manifest['name']}`" in document
    for tool in manifest.get("tools", []):
        assert f"`{tool['name']}`" in document


def test_the_version_is_the_same_everywhere() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert project["version"] == version.CORE
    assert "## [Unreleased]" in (ROOT / "CHANGELOG.md").read_text("utf-8")


def test_every_make_target_says_what_it_does() -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    wanted = ["run", "install", "test", "test-fast", "lint", "format", "bench", "soak", "build", "build-cli", "clean"]
    assert [t for t in wanted if not re.search(rf"^{t}:.*## \S", makefile, re.M)] == []


@pytest.mark.parametrize("page", sorted((ROOT / "docs").rglob("*.md")), ids=lambda p: p.name)
def test_links_between_documents_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", page.read_text("utf-8")):
        assert (page.parent / target).exists(), f"{page.name} → {target}"
