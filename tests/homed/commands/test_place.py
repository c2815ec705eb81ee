"""Which folder and which socket."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from homed.commands.place import paths_of, sockets_of
from homed.errors import InvalidInput


def args(**given: str | None) -> argparse.Namespace:
    return argparse.Namespace(**{"data": None, "profile": None, "socket": None} | given)


def test_a_named_folder_is_made_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert paths_of(args(data="mine")).data == tmp_path / "mine"


def test_a_profile_is_a_folder_below_the_data_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert paths_of(args(profile="work")).data == tmp_path / "homed" / "work"


def test_two_ways_to_name_a_folder_at_once_are_refused() -> None:
    with pytest.raises(InvalidInput, match="both"):
        paths_of(args(data="a", profile="b"))


def test_who_names_a_folder_or_a_socket_gets_no_other_daemon(tmp_path: Path) -> None:
    assert sockets_of(args(data=str(tmp_path))) == [tmp_path / "run" / "cli.sock"]
    assert sockets_of(args(socket=str(tmp_path / "s"))) == [tmp_path / "s"]
