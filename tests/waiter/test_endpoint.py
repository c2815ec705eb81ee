"""Where the socket is looked for."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from homed.errors import ProtocolError, Unavailable
from tests.waiter.fake_homed import FakeHomed
from waiter.endpoint import Places, places, there
from waiter.link import dial

HOME = {"HOME": "/home/u"}


def paths(environment: dict[str, str], *, socket: str = "", data: str = "") -> list[str]:
    return [str(path) for path in places(environment, socket=socket, data=data).paths]


def test_without_a_hint_the_runtime_folder_the_data_folder_and_the_system_are_tried_in_order() -> None:
    assert paths({**HOME, "XDG_RUNTIME_DIR": "/run/user/1"}) == [
        "/run/user/1/homed/cli.sock", "/home/u/.local/share/homed/default/run/cli.sock", "/var/lib/homed/run/cli.sock",
    ]  # fmt: skip
    assert paths({**HOME, "XDG_DATA_HOME": "/data"})[0] == "/data/homed/default/run/cli.sock"


def test_what_a_person_named_is_the_only_one_flags_before_environment() -> None:
    environment = {**HOME, "HOMED_SOCKET": "/env.sock", "HOMED_DATA": "/envdata"}
    assert paths(environment, socket="/flag.sock", data="/d") == ["/flag.sock"]
    assert paths(environment, data="/d") == ["/d/run/cli.sock"]
    assert paths(environment) == ["/env.sock"]
    assert paths({**HOME, "HOMED_DATA": "/envdata"}) == ["/envdata/run/cli.sock"]
    assert places(environment).named
    assert not places(HOME).named


def test_the_first_that_answers_is_taken_and_dead_ones_are_passed_by(tmp_path: Path) -> None:
    dead, alive = tmp_path / "dead.sock", tmp_path / "alive.sock"
    with socket.socket(socket.AF_UNIX) as sock:
        sock.bind(str(dead))
    with FakeHomed(alive):
        dial(Places((tmp_path / "missing.sock", dead, alive), named=False)).close()
    with pytest.raises(Unavailable, match="does not answer"):
        dial(Places((dead,), named=True))


def test_nothing_there_names_every_place_that_was_tried(tmp_path: Path) -> None:
    with pytest.raises(Unavailable) as caught:
        dial(Places((tmp_path / "a", tmp_path / "b"), named=False))
    assert str(tmp_path / "a") in caught.value.message
    assert str(tmp_path / "b") in caught.value.message
    assert "--data" in caught.value.hint


def test_a_file_is_no_socket(tmp_path: Path) -> None:
    (tmp_path / "f").touch()
    assert not there(tmp_path / "f")
    with pytest.raises(Unavailable):
        dial(Places((tmp_path / "f",), named=True))


def test_another_protocol_is_refused_with_both_versions(tmp_path: Path) -> None:
    with FakeHomed(tmp_path / "s") as fake:
        fake.answers["hello"] = lambda caller, params: {"protocol": 99}
        with pytest.raises(ProtocolError, match="99"):
            dial(Places((fake.path,), named=True))


def test_a_path_of_any_depth_is_reached(tmp_path: Path) -> None:
    deep = tmp_path.joinpath(*["a" * 60] * 4)
    deep.mkdir(parents=True)
    with FakeHomed(deep / "cli.sock") as fake:
        dial(Places((fake.path,), named=True)).close()
