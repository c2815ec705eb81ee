"""What was typed before."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from waiter.inputs import KEPT, Inputs, history_path, worth_keeping


def test_inputs_come_back_newest_first_and_the_file_is_ones_own(tmp_path: Path) -> None:
    path = history_path({"HOME": str(tmp_path)}, "local")
    inputs = Inputs(path)
    for text in ("one", "two\nlines 你好", " private", "/settings set plugin.x.password s3cret", "/remote https://h"):
        inputs.append_string(text)
    assert list(Inputs(path).load_history_strings()) == ["two\nlines 你好", "one"]
    assert inputs.get_strings() == ["one", "two\nlines 你好"]
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert b"private" not in path.read_bytes()
    assert b"s3cret" not in path.read_bytes()


def test_each_homed_has_its_own(tmp_path: Path) -> None:
    env = {"HOME": "/h", "XDG_STATE_HOME": str(tmp_path)}
    assert history_path(env, "a") != history_path(env, "b")
    assert history_path(env, "https://h/secret").name.count("secret") == 0


def test_the_file_is_cut_and_broken_lines_are_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "x.inputs"
    path.write_text("".join(f'"{n}"\n' for n in range(2 * KEPT)) + "{broken\n7\n", "utf-8")
    found = list(Inputs(path).load_history_strings())
    assert (found[0], len(found)) == (str(2 * KEPT - 1), KEPT - 2)
    assert len(path.read_text("utf-8").splitlines()) == KEPT


def test_without_a_place_to_write_typing_goes_on(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", "utf-8")
    inputs = Inputs(tmp_path / "file" / "x.inputs")
    inputs.append_string("one")
    assert inputs.get_strings() == ["one"]
    assert list(inputs.load_history_strings()) == []


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "victim").write_text("", "utf-8")
    os.symlink(tmp_path / "victim", tmp_path / "x.inputs")
    Inputs(tmp_path / "x.inputs").append_string("one")
    assert (tmp_path / "victim").read_text("utf-8") == ""


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("a", True),
        ("", False),
        ("\n", False),
        ("\ta", False),
        ("x" * 30_000, False),
        ("/settings get a", True),
        ("/settings  set a hk_s", False),
        ("/SETTINGS \t set a hk_s", False),
        ("/remote  https://h", False),
    ],
)
def test_what_is_worth_keeping(text: str, kept: bool) -> None:
    assert worth_keeping(text) is kept
