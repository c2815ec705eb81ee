"""homed.toml: flat keys with their lines; a fault names file and line."""

from __future__ import annotations

from pathlib import Path

import pytest

from homed.config.file import read_file
from homed.errors import ConfigError


def write(tmp_path: Path, text: str | bytes) -> Path:
    path = tmp_path / "homed.toml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_no_file_is_no_settings(tmp_path: Path) -> None:
    assert read_file(tmp_path / "homed.toml") == {}


def test_keys_are_flat_and_know_their_line(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        '# mine\n[core.agent]\nmax_tool_turns = 5\n\n[plugin.webui]\n"listen" = "127.0.0.1:1"\n'
        '[core]\nlog.level = "debug"\n[[core.llm.sources]]\nname = "a"\n',
    )
    assert read_file(path) == {
        "core.agent.max_tool_turns": (5, f"{path} line 3"),
        "plugin.webui.listen": ("127.0.0.1:1", f"{path} line 6"),
        "core.log.level": ("debug", f"{path} line 8"),
        "core.llm.sources": ([{"name": "a"}], f"{path} line 9"),
    }


@pytest.mark.parametrize("text", ["[core\nx = 1", "x = ", "x = 1\nx = 2", "[core]\nlevel = debug\n"])
def test_a_syntax_error_names_file_line_and_remedy(tmp_path: Path, text: str) -> None:
    path = write(tmp_path, text)
    with pytest.raises(ConfigError, match=f"{path}.*(line|end of document)") as caught:
        read_file(path)
    assert caught.value.hint


def test_bytes_that_are_not_utf8_are_refused_with_their_line(tmp_path: Path) -> None:
    path = write(tmp_path, b"a = 1\nb = '\xff'\n")
    with pytest.raises(ConfigError, match=f"{path} line 2: not UTF-8"):
        read_file(path)


def test_a_folder_in_its_place_is_said(tmp_path: Path) -> None:
    (tmp_path / "homed.toml").mkdir()
    with pytest.raises(ConfigError, match="cannot be read"):
        read_file(tmp_path / "homed.toml")


def test_a_huge_file_is_refused_unparsed(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="larger"):
        read_file(write(tmp_path, b"#" * 1_000_001))
