"""What a person is shown before a plugin is installed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from homed.host.review import Machine, Present, Review, compared, review
from homed.host.states import Trust
from homed.wire.package import open_package
from tests.homed.wire.zips import good

HERE = Machine("0.2.0", "linux")


def looked_at(
    tmp_path: Path, present: Present | None = None, taken: dict[str, str] | None = None, **fields: Any
) -> Review:
    return review(open_package(good(tmp_path / "x.hmap", **fields)), HERE, present, taken or {})


def tool(name: str, cls: str = "write", **more: object) -> dict[str, object]:
    return {"name": name, "description": "Does.", "class": cls, **more}


def test_a_harmless_one_has_no_warning(tmp_path: Path) -> None:
    found = looked_at(tmp_path, tools=[tool("a")])
    assert (found.refused, found.warnings, found.name) == ("", (), "hello")
    assert found.wire()["replaces"] is None


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"capabilities": ["admin"]}, "asks for admin, which only plugins that come with homed can have"),
        ({"stages": [{"stage": "on_input"}]}, "passes through every turn"),
        ({"stages": [{"stage": "after_toolcall", "scope": "own-tools", "on_failure": "closed"}]}, "is held back"),
        ({"tools": [tool("a", "read"), tool("b", "read", confirm=True)]}, "nobody is asked before they run: a."),
        ({"surprise": 1}, "surprise"),
    ],
)
def test_what_speaks_against_it_is_said(tmp_path: Path, fields: dict[str, Any], why: str) -> None:
    (warning,) = looked_at(tmp_path, **fields).warnings
    assert why in warning


def test_a_tool_of_anothers_name_is_said_and_its_own_is_not(tmp_path: Path) -> None:
    fields: dict[str, Any] = {"tools": [tool("a"), tool("b")]}
    found = looked_at(tmp_path, taken={"a": "timer", "b": "hello"}, **fields)
    assert found.warnings == ("Its tool a is taken by the plugin timer: it will not run beside it.",)


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"entry": "SKILL.md"}, "skill_install"),
        ({"platforms": ["win32"]}, "runs on win32, and this is linux"),
        ({"min_version": "0.3"}, "needs homed 0.3 or later, and this is 0.2.0"),
    ],
)
def test_what_cannot_be_installed_says_why(tmp_path: Path, fields: dict[str, Any], why: str) -> None:
    assert why in looked_at(tmp_path, **fields).refused


def test_the_name_of_a_built_in_one_is_refused(tmp_path: Path) -> None:
    assert "comes with homed" in looked_at(tmp_path, Present("1.0", Trust.PACKAGED)).refused


def test_what_was_granted_before_is_shown_as_such(tmp_path: Path) -> None:
    present = Present("0.9", Trust.EXTERNAL, frozenset({"io"}))
    found = looked_at(tmp_path, present, capabilities=["io", "llm", "admin"])
    shown = found.wire()["capabilities"]
    assert isinstance(shown, list)
    assert [(one["name"], one["granted"], one["allowed"]) for one in shown] == [
        ("io", True, True), ("llm", False, True), ("admin", False, False),
    ]  # fmt: skip
    assert found.grantable == {"io", "llm"}
    assert found.wire()["replaces"] == {"version": "0.9", "how": "newer"}


@pytest.mark.parametrize(
    ("new", "old", "how"),
    [
        ("1.10", "1.9", "newer"),
        ("1.0", "1.0.1", "older"),
        ("1.0", "1.0", "same"),
        ("1.0", "1.0.0", "other"),
        ("1.0-rc1", "1.0", "other"),
        ("banana", "1.0", "older"),
    ],
)
def test_versions_are_compared_by_their_numbers(new: str, old: str, how: str) -> None:
    assert compared(new, old) == how
