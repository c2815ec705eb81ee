"""``plugin.json``: every error at once, each with its place, and nothing hostile gets through."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from homed.errors import ConfigError
from homed.wire.manifest import Manifest, SettingSpec, ToolSpec, fits, load_manifest, parse_manifest, read_manifest

SMALL: dict[str, Any] = {"name": "shell", "version": "1.0", "entry": "python -m homed_plugins.shell"}
TOOL: dict[str, Any] = {"name": "cmd_run", "description": "Run.", "parameters": {"type": "object", "properties": {}}}


def parsed(**more: Any) -> Manifest:
    manifest, errors = parse_manifest({**SMALL, **more})
    assert manifest is not None, errors
    return manifest


def errors_of(**more: Any) -> tuple[str, ...]:
    manifest, errors = parse_manifest({**SMALL, **more})
    assert manifest is None
    return errors


def test_the_smallest_manifest_has_the_defaults() -> None:
    manifest = parsed()
    assert (manifest.restart, manifest.activation, manifest.in_flight, manifest.enabled) == (
        "on-failure", "eager", 4, True,
    )  # fmt: skip
    assert (*manifest.tools, *manifest.stages, *manifest.outputs, *manifest.inputs, *manifest.settings) == ()
    assert manifest.warnings == ()


def test_a_full_manifest_is_read_whole() -> None:
    manifest = parsed(
        tools=[{**TOOL, "class": "dangerous", "timeout": 5, "confirm": True, "untrusted": True}],
        stages=[{"stage": "on_input", "order": -5, "on_failure": "closed"}],
        outputs=[{"name": "qq", "caps": ["text", "image"], "description": "QQ", "format": "plain"}],
        inputs=["qq"],
        settings=[{"key": "mode", "type": "select", "options": ["a", "b"], "default": "b"}],
        capabilities=["io", "events.notices"],
        name_zh="终端",
    )
    (tool,), (stage,), (output,), (setting,) = manifest.tools, manifest.stages, manifest.outputs, manifest.settings
    assert tool == ToolSpec(
        "cmd_run", "Run.", TOOL["parameters"], tool_class="dangerous", timeout=5, confirm=True, untrusted=True
    )
    assert (stage.stage, stage.scope, stage.order, stage.on_failure) == ("on_input", "global", -5, "closed")
    assert output.caps == ("text", "image")
    assert setting == SettingSpec("mode", "select", default="b", options=("a", "b"))
    assert manifest.inputs == ("qq",)
    assert manifest.name_zh == "终端"


def test_every_error_is_reported_at_once_with_its_place() -> None:
    """C15"""
    _, errors = parse_manifest(
        {
            "name": "Bad Name",
            "entry": 7,
            "tools": [TOOL, {"name": "x", "description": "", "timeout": -1, "class": "odd"}, 3, TOOL],
            "stages": [{"stage": "never"}],
            "capabilities": ["everything"],
            "in_flight": 0,
            "enabled": "yes",
        }
    )
    assert [error.split(":")[0] for error in errors] == [
        "name", "version", "entry", "capabilities", "in_flight", "enabled", "tools[1].description", "tools[1].class",
        "tools[1].timeout", "tools[2]", "tools[3].name", "stages[0].stage",
    ]  # fmt: skip
    assert "is there already" in errors[-2]


def test_unknown_keys_make_one_warning() -> None:
    manifest = parsed(zebra=1, apple=2)
    assert manifest.warnings == ("unknown keys are ignored: apple, zebra",)


@pytest.mark.parametrize(
    ("more", "place"),
    [
        ({"tools": {}}, "tools: must be a list"),
        ({"tools": [{**TOOL, "name": "a b"}]}, "tools[0].name"),
        ({"tools": [{**TOOL, "name": "a" * 65}]}, "tools[0].name"),
        ({"tools": [{**TOOL, "timeout": True}]}, "tools[0].timeout: must be a number"),
        ({"tools": [{**TOOL, "timeout": 1e9}]}, "tools[0].timeout: must be from"),
        ({"tools": [{**TOOL, "guest": 1}]}, "tools[0].guest: must be true or false"),
        ({"tools": [{**TOOL, "parameters": {"type": "string"}}]}, 'tools[0].parameters: "type" must be "object"'),
        ({"tools": [{**TOOL, "parameters": []}]}, "tools[0].parameters: must be an object"),
        ({"stages": [{"stage": "on_input", "order": 1.5}]}, "stages[0].order: must be a whole number"),
        ({"stages": [{"stage": "on_input"}, {"stage": "on_input"}]}, "stages[1].stage: 'on_input' is there already"),
        ({"outputs": [{"name": "mail"}, {"name": "mail_help"}]}, "outputs[1].name: 'mail_help' does not match"),
        ({"inputs": ["", "a"]}, "inputs: must be a list of strings"),
        ({"inputs": ["a"], "cleaners": ["a", "webui"]}, "cleaners: 'webui' is none of its inputs"),
        ({"settings": [{"key": "a", "type": "select"}]}, "settings[0].options: a select needs options"),
        ({"settings": [{"key": "a", "type": "int", "default": "1"}]}, "settings[0].default: '1' is no int"),
        ({"settings": [{"key": "A", "type": "int"}]}, "settings[0].key"),
        ({"settings": [{"key": "a"}]}, "settings[0].type: is missing"),
        ({"capabilities": ["core"]}, "capabilities: 'core' is none of"),
        ({"restart": ["always"]}, "restart: must be one of"),
        ({"entry": "/bin/sh -c true"}, "entry: must be"),
        ({"entry": "../other/plugin.bin"}, "entry: must be"),
        ({"entry": "./../../bin/sh"}, "entry: must be"),
        ({"entry": "python 'unclosed"}, "entry: cannot be split"),
        ({"entry": "  "}, "entry: is empty"),
        ({"entry": "python a\0b"}, "entry: must be"),
        ({"min_version": "latest"}, "min_version: 'latest' does not match"),
        ({"min_version": 1}, "min_version: must be a string"),
        ({"name": ""}, "name: is missing"),
        ({"name": "a/../b"}, "name: 'a/../b' does not match"),
        ({"name": "a\n"}, "name:"),
    ],
)
def test_a_wrong_field_is_named(more: dict[str, Any], place: str) -> None:
    assert any(error.startswith(place) for error in errors_of(**more)), errors_of(**more)


@given(st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=5),
    lambda part: st.lists(part, max_size=3) | st.dictionaries(
        st.sampled_from(["name", "tools", "stages", "settings", "parameters", "type", "default", "properties", "$ref"]),
        part, max_size=5,
    ),
    max_leaves=20,
))  # fmt: skip
def test_whatever_stands_in_the_file_gives_a_manifest_or_errors(value: object) -> None:
    manifest, errors = parse_manifest(value)
    assert (manifest is None) == bool(errors)
    for key in ("tools", "settings", "entry"):
        assert parse_manifest({**SMALL, key: value}) is not None


def write(folder: Path, data: bytes) -> tuple[str, ...]:
    (folder / "plugin.json").write_bytes(data)
    manifest, errors = read_manifest(folder)
    assert manifest is None
    return errors


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b'{\n  "name": }', "line 2, column 11"),
        (b"\xff{}", "invalid UTF-8 at byte 0"),
        (b"[]", "must hold an object"),
        (b"", "line 1, column 1"),
        (b"[" * 100_000, "no usable JSON"),
        (b"1" * 5000, "no usable JSON"),
        (b'{"description": "\\ud800"}', "no usable JSON (half a surrogate pair in a string)"),
        (b'{"tools": [{"parameters": {"default": NaN}}]}', "no usable JSON (NaN is no JSON)"),
        (b'{"tools": [{"parameters": {"default": 1e999}}]}', "no usable JSON (a number is out of range)"),
        (b" " * ((1 << 20) + 1), "over 1048576 bytes"),
    ],
)
def test_a_broken_file_says_where(tmp_path: Path, data: bytes, reason: str) -> None:
    """C15"""
    (error,) = write(tmp_path, data)
    assert reason in error


def test_a_missing_file_and_a_folder_in_its_place_are_said(tmp_path: Path) -> None:
    assert read_manifest(tmp_path) == (None, ("plugin.json: there is no such file",))
    (tmp_path / "plugin.json").mkdir()
    assert "cannot be read" in read_manifest(tmp_path)[1][0]


def test_loading_raises_one_error_with_all_of_them(tmp_path: Path) -> None:
    (tmp_path / "plugin.json").write_text(json.dumps({"name": "X"}))
    with pytest.raises(ConfigError, match="3 errors") as caught:
        load_manifest(tmp_path)
    assert len(caught.value.detail["errors"]) == 3  # type: ignore[arg-type]
    assert "sdk check" in caught.value.hint


def test_loading_a_good_one_gives_it(tmp_path: Path) -> None:
    (tmp_path / "plugin.json").write_text(json.dumps(SMALL))
    assert load_manifest(tmp_path) == parsed()


@pytest.mark.parametrize(
    ("entry", "argv"),
    [
        ("python -m homed_plugins.shell", (sys.executable, "-m", "homed_plugins.shell")),
        ("python3 __main__.py 'a b'", (sys.executable, "__main__.py", "a b")),
        ("./plugin.bin -v", ("/p/plugin.bin", "-v")),
        ("bin/plugin -v", ("/p/bin/plugin", "-v")),
        ("node main.js", ("node", "main.js")),
        ("main.lua", (sys.executable, "-P", "-m", "homed_plugins.lua", "/p")),
    ],
)
def test_the_entry_becomes_a_command(entry: str, argv: tuple[str, ...]) -> None:
    assert parsed(entry=entry).argv(Path("/p")) == argv


def test_a_skill_has_no_command() -> None:
    with pytest.raises(ConfigError, match="is a skill, no program"):
        parsed(entry="SKILL.md").argv(Path("/p"))


@pytest.mark.parametrize(
    ("type_", "good", "bad"),
    [
        ("string", "a", 1), ("password", "a", None), ("text", "", []), ("int", 3, True), ("int", 3, 3.0),
        ("float", 3, "3"), ("float", 3.5, True), ("bool", False, 0), ("list", [], {}), ("select", "a", "z"),
        ("duration", "5m", True), ("duration", 5, None),
    ],
)  # fmt: skip
def test_values_fit_their_settings_type(type_: str, good: object, bad: object) -> None:
    assert fits(type_, good, ("a", "b"))
    assert not fits(type_, bad, ("a", "b"))


def test_what_is_started_when_it_is_asked_for_brings_nothing_in_and_sees_no_turn_of_others() -> None:
    for more in ({"inputs": ["chat"]}, {"stages": [{"stage": "on_input"}]}):
        assert errors_of(activation="lazy", **more) == (
            "activation: a plugin with inputs or global stages must be eager",
        )
    own = parsed(activation="lazy", stages=[{"stage": "before_toolcall", "scope": "own-tools"}])
    assert (own.activation, own.idle_stop, own.dynamic_tools) == ("lazy", 600.0, False)


def test_a_facility_that_no_kernel_knows_is_an_error_naming_those_it_does() -> None:
    assert parsed(needs=["llm", "scenes"]).needs == ("llm", "scenes")
    (error,) = errors_of(needs=["llm", "telepathy"])
    assert error.startswith("needs: 'telepathy' is none of blocks, cold, config, ")


def test_a_schedule_is_no_closer_than_ten_seconds() -> None:
    (found,) = parsed(schedules=[{"name": "poll", "every": 900}]).schedules
    assert (found.name, found.every) == ("poll", 900)
    assert errors_of(schedules=[{"name": "poll", "every": 1}]) == (
        "schedules[0].every: must be from 10 to 3.16224e+07",
    )
    assert errors_of(schedules=[{"name": "poll"}]) != ()


def test_a_setting_may_have_bounds_and_need_a_restart() -> None:
    entry = {"key": "port", "type": "int", "default": 8080, "minimum": 1, "maximum": 65_535, "restart": True}
    manifest, errors = parse_manifest({**SMALL, "settings": [entry]})
    assert errors == ()
    assert manifest is not None
    (found,) = manifest.settings
    assert (found.minimum, found.maximum, found.restart) == (1, 65_535, True)


@pytest.mark.parametrize(
    ("more", "problem"),
    [
        ({"minimum": "low"}, "settings[0].minimum: must be a number"),
        ({"minimum": 5, "maximum": 1}, "settings[0].maximum: is below the minimum"),
        ({"restart": "yes"}, "settings[0].restart: "),
    ],
)
def test_bounds_that_are_none_are_named(more: dict[str, object], problem: str) -> None:
    _, errors = parse_manifest({**SMALL, "settings": [{"key": "x", "type": "int", **more}]})
    assert errors[0].startswith(problem), errors
