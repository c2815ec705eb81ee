"""The environment: flag over variable over file; every fault at once, each with its place."""

from __future__ import annotations

from pathlib import Path

import pytest

from homed.config.environment import child_environment, read_environment
from homed.errors import ConfigError


def toml(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "homed.toml"
    path.write_text(text)
    return path


def test_a_flag_beats_a_variable_beats_the_file(tmp_path: Path) -> None:
    path = toml(tmp_path, '[core.agent]\nmax_tool_turns = 2\nresult_limit = 2000\n[core.log]\nlevel = "error"\n')
    env = {"HOMED__CORE__AGENT__MAX_TOOL_TURNS": "3", "HOMED__CORE__LOG__LEVEL": "warning"}
    found = read_environment(path, env=env, flags={"core.log.level": "debug"}).overrides
    assert {key: (o.value, o.source) for key, o in found.items()} == {
        "core.agent.max_tool_turns": ("3", "env"),
        "core.agent.result_limit": (2000, "file"),
        "core.log.level": ("debug", "flag"),
    }


def test_an_unknown_core_key_names_the_line_and_the_nearest(tmp_path: Path) -> None:
    path = toml(tmp_path, "[core.agent]\nmax_tool_turn = 2\n")
    with pytest.raises(ConfigError, match=f"{path} line 2: there is no setting 'core.agent.max_tool_turn'") as caught:
        read_environment(path, env={})
    assert "core.agent.max_tool_turns" in caught.value.hint


def test_a_key_outside_core_and_plugin_is_unknown(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"line 1: there is no setting 'listen'"):
        read_environment(toml(tmp_path, 'listen = "x"\n'), env={})


def test_a_wrong_type_names_the_line(tmp_path: Path) -> None:
    path = toml(tmp_path, '[core.agent]\n\nmax_tool_turns = "many"\n')
    with pytest.raises(ConfigError, match=f"{path} line 3: core.agent.max_tool_turns must be a whole number"):
        read_environment(path, env={})


def test_a_bad_variable_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"environment variable HOMED__CORE__AGENT__MAX_TOOL_TURNS: .* between 1 and"):
        read_environment(tmp_path / "no.toml", env={"HOMED__CORE__AGENT__MAX_TOOL_TURNS": "0"})


def test_all_faults_are_told_at_once(tmp_path: Path) -> None:
    path = toml(tmp_path, '[core.agent]\nmax_tool_turns = "x"\nnonsense = 1\n')
    with pytest.raises(ConfigError) as caught:
        read_environment(path, env={"HOMED__CORE__LOG__LEVEL": "loud"})
    message = str(caught.value)
    assert "3 settings are wrong" in message
    assert all(place in message for place in ("line 2", "line 3", "HOMED__CORE__LOG__LEVEL"))


def test_plugin_keys_wait_for_their_definitions(tmp_path: Path) -> None:
    found = read_environment(tmp_path / "no.toml", env={"HOMED__PLUGIN__WEBUI__LISTEN": "[::1]:80"})
    assert found.overrides["plugin.webui.listen"].text


def test_secrets_of_the_environment_are_kept_apart_from_settings(tmp_path: Path) -> None:
    env = {"HOMED_SECRET__LLM__OPENAI__API_KEY": "k", "HOMED_SOCKET": "/s", "HOMED_DATA": "/d"}
    found = read_environment(tmp_path / "no.toml", env=env)
    assert (found.secrets, found.overrides, found.socket) == ({"llm.openai.api_key": "k"}, {}, "/s")


def test_a_child_inherits_no_secret() -> None:
    """D6: an allow-list, so that a key exported in the person's shell reaches no plugin."""
    env = {
        "PATH": "/bin", "HOME": "/h", "LANG": "C", "LC_ALL": "C", "TZ": "UTC", "XDG_RUNTIME_DIR": "/r", "TERM": "x",
        "OPENAI_API_KEY": "sk-1", "HOMED_SECRET__X": "s", "HOMED__CORE__WEB__PASSWORD": "p", "LD_PRELOAD": "x.so",
        "PYTHONPATH": "/evil", "SSH_AUTH_SOCK": "/a",
    }  # fmt: skip
    assert set(child_environment(env)) == {"PATH", "HOME", "LANG", "LC_ALL", "TZ", "XDG_RUNTIME_DIR", "TERM"}


def test_the_key_of_another_memory_is_taken_over_unless_ours_is_set(tmp_path: Path) -> None:
    key, name = "core.memory.embedding_api_key", "HOMED__CORE__MEMORY__EMBEDDING_API_KEY"
    env = {"DSH_HOLO_EMBEDDING_API_KEY": "theirs"}
    found = read_environment(tmp_path / "none", env=env).overrides[key]
    assert (found.value, found.place) == ("theirs", "environment variable DSH_HOLO_EMBEDDING_API_KEY")
    assert read_environment(tmp_path / "none", env={**env, name: "ours"}).overrides[key].value == "ours"
