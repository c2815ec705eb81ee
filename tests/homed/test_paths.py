"""Paths: one data folder, private, found the way the documentation says."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from homed.errors import ConfigError, StorageError
from homed.paths import Paths, data_option, default_data_dir, socket_candidates


def test_default_folder_is_the_default_profile_under_xdg_data_home() -> None:
    assert default_data_dir({"XDG_DATA_HOME": "/x"}) == Path("/x/homed/default")
    assert default_data_dir({"XDG_DATA_HOME": "/x"}, "work") == Path("/x/homed/work")


def test_without_xdg_data_home_it_is_below_the_home_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/somebody")
    assert default_data_dir({}) == Path("/home/somebody/.local/share/homed/default")


def test_homed_data_names_the_folder_but_a_typed_profile_is_stronger() -> None:
    env = {"HOMED_DATA": "/d", "XDG_DATA_HOME": "/x"}
    assert default_data_dir(env) == Path("/d")
    assert default_data_dir(env, "work") == Path("/x/homed/work")


@pytest.mark.parametrize("profile", ["", "../up", "a/b", ".hidden", "x" * 65])
def test_a_profile_name_cannot_leave_the_folder(profile: str) -> None:
    with pytest.raises(ConfigError, match="profile"):
        default_data_dir({}, profile)


def test_homed_socket_is_the_only_candidate_when_set() -> None:
    assert socket_candidates({"HOMED_SOCKET": "/s", "XDG_RUNTIME_DIR": "/run/u"}) == [Path("/s")]


def test_a_named_data_folder_is_the_only_candidate() -> None:
    assert socket_candidates({"XDG_RUNTIME_DIR": "/run/u"}, Path("/d")) == [Path("/d/run/cli.sock")]


def test_candidates_go_from_the_session_to_the_system() -> None:
    found = socket_candidates({"XDG_RUNTIME_DIR": "/run/u", "XDG_DATA_HOME": "/x"})
    assert found == [
        Path("/run/u/homed/cli.sock"),
        Path("/x/homed/default/run/cli.sock"),
        Path("/var/lib/homed/run/cli.sock"),
    ]


def test_folders_are_made_for_this_user_alone(tmp_path: Path) -> None:
    paths = Paths(tmp_path / "new" / "data")
    paths.create()
    paths.create()
    for folder in (paths.data, paths.run_dir, paths.plugins, paths.plugins_data, paths.plugin_data("timer")):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_a_file_in_the_way_is_said_by_name(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("")
    with pytest.raises(StorageError, match=str(tmp_path / "data")) as caught:
        Paths(tmp_path / "data").create()
    assert "--data" in caught.value.hint


def test_a_read_only_folder_is_said_before_anything_is_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: not mode & os.W_OK)
    with pytest.raises(StorageError, match="cannot be written") as caught:
        Paths(tmp_path).create()
    assert "--data" in caught.value.hint


@pytest.mark.parametrize("name", ["", "..", "a/b", "A", "1x", "x" * 33])
def test_a_plugin_folder_stays_inside_the_data_folder(tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigError):
        Paths(tmp_path).plugin_data(name)


def test_a_hint_names_the_folder_unless_commands_use_it_by_themselves(tmp_path: Path) -> None:
    env = {"XDG_DATA_HOME": str(tmp_path), "HOMED_DATA": str(tmp_path / "mine")}
    assert data_option(tmp_path / "homed" / "default", env) == ""
    assert data_option(tmp_path / "mine", env) == f" --data {tmp_path}/mine"
    assert data_option(Path("/srv/my data"), env) == " --data '/srv/my data'"
