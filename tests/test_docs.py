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


@pytest.mark.parametrize("method", sorted([*methods.TO_PLUGIN, *methods.TO_KERNEL]))
def test_every_method_is_in_the_wire_document(method: str) -> None:
    assert f"`{method}`" in WIRE


ROOMS = "|".join(sorted({method.partition(".")[0] for method in methods.TO_KERNEL}))


@pytest.mark.parametrize("method", re.findall(rf"`((?:{ROOMS})\.[a-z_]+)`", WIRE))
def test_the_wire_document_names_no_method_that_is_not_there(method: str) -> None:
    to_plugins = methods.TO_PLUGIN | {methods.SETTINGS_CHANGED}
    assert method in methods.TO_KERNEL or method in methods.CAPABILITIES or method in to_plugins


@pytest.mark.parametrize("notice", sorted(events.TYPES))
def test_every_notice_is_in_the_wire_document(notice: str) -> None:
    assert f"`{notice}`" in WIRE


@pytest.mark.parametrize("key", [d.key for d in CORE])
def test_every_setting_is_documented(key: str) -> None:
    assert f"`{key}`" in (ROOT / "docs" / "config.md").read_text("utf-8")


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


COMMANDS = list(leaf_commands(build()))


@pytest.mark.parametrize(("words", "parser"), COMMANDS, ids=[words for words, _ in COMMANDS])
def test_every_command_is_documented_and_its_help_has_an_example(words: str, parser: argparse.ArgumentParser) -> None:
    assert f"`{words}" in OPERATIONS
    assert "Example" in (parser.epilog or "")


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
