"""A dump can be read again, whatever is in it."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from homed.config.definitions import CORE
from homed.config.dump import Line, as_toml, value_toml
from homed.config.environment import Override
from homed.config.file import read_file

PLAIN = st.one_of(
    st.booleans(), st.integers(-(2**53), 2**53), st.floats(allow_nan=False, allow_infinity=False),
    st.text(st.characters(exclude_categories=["Cs"])),
)  # fmt: skip
NAMES = st.text(st.characters(exclude_categories=["Cs"]))
VALUES = st.recursive(
    PLAIN, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3), max_leaves=6
)


@given(VALUES)
def test_every_value_comes_back(value: object) -> None:
    assert tomllib.loads(f"x = {value_toml(value)}")["x"] == value


def test_all_settings_of_the_kernel_come_back_from_their_file(tmp_path: Path) -> None:
    path = tmp_path / "homed.toml"
    path.write_text(as_toml(Line(one.key, one.default) for one in sorted(CORE, key=lambda one: one.key)), "utf-8")
    found = read_file(path)
    assert {key: value for key, (value, _) in found.items()} == {one.key: one.default for one in CORE}
    for one in CORE:
        value, place = found[one.key]
        assert Override(one.key, value, "file", place).checked(one) == one.default


def test_what_is_a_comment_sets_nothing() -> None:
    text = as_toml([Line("core.a.b", 1, ""), Line("core.a.c", "x", "a password: it is not written down"), Line("d", 2)])
    assert tomllib.loads(text) == {"core": {"a": {}}, "d": 2}
    assert "# b = 1" in text
    assert '# c = "x"  # a password' in text


def test_a_key_that_another_begins_with_is_told_and_left_out() -> None:
    text = as_toml([Line("plugin.x.a", 1), Line("plugin.x.a.b", 2)])
    assert tomllib.loads(text) == {"plugin": {"x": {"a": {"b": 2}}}}
    assert "another key begins with it" in text


@pytest.mark.parametrize("name", ["web page", "名", 'quo"te', ""])
def test_odd_names_are_quoted(name: str) -> None:
    assert tomllib.loads(as_toml([Line(f"plugin.x.{name}", 1)]))["plugin"]["x"][name] == 1


def test_what_would_steer_a_terminal_is_written_as_a_number_and_read_back() -> None:
    text = "a\x1b[2J\x9b31m\u202e\x7f\u2028你好🌍"
    written = value_toml(text)
    assert all(c.isprintable() for c in written)
    assert "你好🌍" in written
    assert tomllib.loads(f"x = {written}") == {"x": text}
