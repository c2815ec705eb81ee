"""Every key of the kernel takes effect while it runs, or says that it does not; plugins' keys are read by their plugin.

A reader that asks the registry each time it needs a value has the new one at once.  One that keeps what it read at its
making would not: such a read stands in a constructor or at import, and none may, unless the key says ``restart`` or its
changes are followed.
"""

from __future__ import annotations

import ast
import json
import logging
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing

from homed import lifecycle
from homed.agent.filelimits import file_limits
from homed.config.definitions import (
    CORE,
    INJECT_MAX_CHARS,
    LOG_BYTES,
    LOG_FILES,
    LOG_LEVEL,
    SEEDS,
    STAGE_TIMEOUT,
    Definition,
)  # fmt: skip
from homed.config.secrets import Secrets
from homed.errors import ConfigError
from homed.host.limits import host_limits
from homed.log import logging_to
from homed.settings.registry import Settings, open_settings
from homed.settings.thresholds import Because
from homed.store.db import open_store
from tests.homed.config.test_definitions import ROOT, key_of, keys_read, modules

PLUGINS = sorted((ROOT / "plugins").glob("*/plugin.json"))
OF_ONE_RUN = {("stages.py", STAGE_TIMEOUT): "the object is made for one run of one stage and goes with it"}
READ_FOR_OTHERS = {"lua": {"lua_memory", "lua_instructions", "http_private"}}
"""What the runner of Lua plugins reads is declared by the plugins that it runs."""
TOLD = Because("whether it holds at once")
"""A threshold is moved only by who says why."""
READS_ONCE = frozenset({"__init__", "__post_init__"})
HOSTILE: tuple[object, ...] = (
    0, -1, 1, 10**9, -(10**9), 10**400, 1e308, float("inf"), float("nan"), "0", "-1", "", "x", "1e400", True, None, [],
    {}, "\0", "1" * 100_000,
)  # fmt: skip


def another(definition: Definition) -> object:
    """A value that is not the default."""
    match definition.type:
        case "bool":
            return not definition.default
        case "select":
            return next(option for option in definition.options if option != definition.default)
        case "int" | "float" | "duration":
            assert definition.minimum is not None
            if definition.key == INJECT_MAX_CHARS:  # more than another threshold that is to stay below it
                return definition.maximum
            return definition.minimum if definition.minimum != definition.default else definition.maximum
        case "list":
            return [{"name": "x"}]
    return "Europe/Berlin" if definition.fits is not None and definition.fits("Europe/Berlin") else "EUR"


def reads_kept(tree: ast.Module) -> Iterator[str]:
    """Keys that are read where the value would be kept: in a constructor, or at import."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name in READS_ONCE:
            lazy = {id(inner) for part in ast.walk(node) if isinstance(part, ast.Lambda) for inner in ast.walk(part)}
            for inner in ast.walk(node):
                if id(inner) not in lazy and isinstance(inner, ast.Call) and isinstance(inner.func, ast.Attribute):
                    yield key_of(inner.args[0]) if inner.args else ""
    for statement in tree.body:
        if not isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield from keys_read(ast.Module([statement], []))


def test_no_reader_keeps_what_it_read_at_its_making() -> None:
    later = {definition.key for definition in CORE if definition.restart}
    kept = {(path.name, key) for path, tree in modules() for key in reads_kept(tree) if key and key not in later}
    assert kept == OF_ONE_RUN.keys()


def test_the_search_for_kept_reads_finds_them() -> None:
    source = """
x = settings.int("core.a")
class A:
    def __init__(self, s):
        self.x = s.int("core.b")
        self.y = lambda: s.int("core.c")
"""
    assert {key for key in reads_kept(ast.parse(source)) if key} == {"core.a", "core.b"}


@pytest.mark.parametrize("definition", CORE, ids=lambda d: d.key)
async def test_a_change_is_in_force_and_told_at_once_and_so_is_the_way_back(
    definition: Definition, tmp_path: Path
) -> None:
    key, secrets = definition.key, Secrets(tmp_path / "secrets.json")
    async with open_store(tmp_path / "d.db") as store, open_settings(store, {}, secrets) as settings:
        value = "open sesame" if definition.secret else another(definition)
        with settings.watch(key) as changed:
            await settings.set(key, value, why=TOLD)
            told = await changed.__anext__()
            assert told == (key, settings.get(key))
            assert settings.get(key) == value or definition.hashed
            assert settings.get(key) != definition.default
            await settings.unset(key, why=TOLD)
            assert await changed.__anext__() == (key, definition.default)
        assert settings.get(key) == definition.default


@pytest.mark.parametrize("definition", CORE, ids=lambda d: d.key)
async def test_a_value_that_is_taken_is_one_that_works(definition: Definition, tmp_path: Path) -> None:
    """A18: 0, negative, huge: refused with what is wanted, or of the right type and within the bounds."""
    secrets = Secrets(tmp_path / "secrets.json")
    async with open_store(tmp_path / "d.db") as store, open_settings(store, {}, secrets) as settings:
        for value in HOSTILE:
            refused = ""
            try:
                await settings.set(definition.key, value, why=TOLD)
            except ConfigError as error:
                refused = error.message
            assert definition.key in refused or not refused
            found = settings.get(definition.key)
            if definition.type in ("int", "float", "duration"):
                assert isinstance(found, int | float)
                assert isinstance(found, int) or definition.type != "int"
                assert definition.minimum is not None
                assert definition.maximum is not None
                assert definition.minimum <= found <= definition.maximum


@pytest.mark.parametrize("definition", [d for d in CORE if d.type in ("int", "float", "duration")], ids=lambda d: d.key)
def test_every_number_has_bounds_and_its_default_is_within(definition: Definition) -> None:
    assert definition.minimum is not None
    assert definition.maximum is not None
    assert isinstance(definition.default, int | float)
    assert definition.minimum <= definition.default <= definition.maximum


@pytest.fixture
async def settings(tmp_path: Path) -> Any:
    secrets = Secrets(tmp_path / "secrets.json")
    async with open_store(tmp_path / "d.db") as store, open_settings(store, {}, secrets) as opened:
        yield opened


@pytest.mark.parametrize("read", [host_limits, file_limits], ids=lambda read: read.__name__)
async def test_limits_are_those_of_this_moment_and_by_default_those_of_the_code(read: Any, settings: Settings) -> None:
    """The defaults stand twice: in the definition and where the limit is, for tests and for the command line."""
    before = read(settings)
    assert before == type(before)()
    prefix = "core.host." if read is host_limits else "core.files."
    for definition in (one for one in CORE if one.key.startswith(prefix) and one.key != "core.files.per_message"):
        was = read(settings)
        await settings.set(definition.key, another(definition))
        assert read(settings) != was, definition.key
    left = {name for name in before.__slots__ if getattr(read(settings), name) == getattr(before, name)}
    assert left == set()


class Nobody:
    """Stands for the host and the redactor, which have nothing to do here."""

    def settings_changed(self, *_: object) -> None:
        raise AssertionError

    def know(self, _: object) -> None:
        """Nothing is known."""


def logs(folder: Path) -> dict[str, int]:
    """Name → bytes."""
    return {path.name: path.stat().st_size for path in folder.glob("homed.log*")}


async def test_the_log_follows_its_settings(settings: Settings, tmp_path: Path) -> None:
    nobody: Any = Nobody()
    with logging_to(tmp_path / "homed.log", level="info", redact=str):
        lifecycle.apply_log(settings)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(lifecycle.follow_settings, settings, nobody, nobody, list)
            await trio.testing.wait_all_tasks_blocked()
            await settings.change({LOG_LEVEL: "debug", LOG_BYTES: 10_000, LOG_FILES: 2})
            await trio.testing.wait_all_tasks_blocked()
            nursery.cancel_scope.cancel()
        for number in range(800):
            logging.getLogger("homed.test").debug("line %d %s", number, "x" * 60)
    found = logs(tmp_path)
    assert found.keys() == {"homed.log", "homed.log.1", "homed.log.2"}
    assert max(found.values()) <= 10_000


def declared(manifest: Path) -> set[str]:
    return {setting["key"] for setting in json.loads(manifest.read_text("utf-8")).get("settings", [])}


def read_by(manifest: Path) -> set[str]:
    """Keys that a plugin's code reads of its settings: ``settings["key"]``, ``settings.get("key", …)``."""
    found: set[str] = set()
    for path in manifest.parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Subscript) and of_settings(node.value) and isinstance(node.slice, ast.Constant):
                found.add(str(node.slice.value))
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "get":
                first = node.args[0] if node.args else None
                if of_settings(node.func.value) and isinstance(first, ast.Constant):
                    found.add(str(first.value))
    return found


def of_settings(node: ast.expr) -> bool:
    return (isinstance(node, ast.Name) and node.id == "settings") or (
        isinstance(node, ast.Attribute) and node.attr == "settings"
    )


@pytest.mark.parametrize("manifest", PLUGINS, ids=lambda path: path.parent.name)
def test_every_key_of_a_plugin_is_read_by_it_and_every_key_it_reads_is_declared(manifest: Path) -> None:
    others = READ_FOR_OTHERS.get(manifest.parent.name, set())
    assert read_by(manifest) - {"settings"} == declared(manifest) | others  # "settings": a list of them, on the page


def test_seeds_are_of_keys_that_exist_and_fit() -> None:
    known: Mapping[str, Definition] = {definition.key: definition for definition in CORE}
    assert SEEDS
    assert all(isinstance(known[key].default, type(seed.fresh)) for key, seed in SEEDS.items())
