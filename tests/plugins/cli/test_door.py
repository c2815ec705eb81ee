"""The listening socket: private, one at a time, and no lie about a dead one."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from homed.errors import ConfigError
from plugins.cli.door import listening


def there(path: Path) -> bool:
    return os.path.lexists(path)


def connect(path: Path) -> socket.socket:
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    sock.connect(str(path))
    return sock


async def test_folder_and_socket_are_private_and_the_file_goes_with_the_listener(tmp_path: Path) -> None:
    path = tmp_path / "run/cli.sock"
    with listening(path):
        assert os.stat(path.parent).st_mode & 0o777 == 0o700
        assert os.stat(path).st_mode & 0o777 == 0o600
        connect(path).close()
    assert not there(path)


async def test_a_stale_socket_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "cli.sock"
    dead = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    dead.bind(str(path))
    dead.close()
    with listening(path):
        connect(path).close()


async def test_a_living_one_is_left_alone_and_told(tmp_path: Path) -> None:
    path = tmp_path / "cli.sock"
    with listening(path):
        with pytest.raises(ConfigError, match="Somebody listens"), listening(path):
            raise AssertionError("two listeners")
        connect(path).close()


async def test_what_is_no_socket_is_never_deleted(tmp_path: Path) -> None:
    path = tmp_path / "cli.sock"
    path.write_text("precious")
    with pytest.raises(ConfigError, match="no socket"), listening(path):
        pass
    (tmp_path / "link").symlink_to(path)
    with pytest.raises(ConfigError, match="no socket"), listening(tmp_path / "link"):
        pass
    assert path.read_text() == "precious"


async def test_a_folder_that_others_may_write_to_is_refused(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    os.chmod(shared, 0o777)
    with pytest.raises(ConfigError, match="Others may write"), listening(shared / "cli.sock"):
        pass


async def test_a_successors_socket_is_not_removed(tmp_path: Path) -> None:
    path = tmp_path / "cli.sock"
    with listening(path):
        os.unlink(path)
        other = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        other.bind(str(path))
    assert there(path)
    other.close()


async def test_a_path_of_any_depth_works(tmp_path: Path) -> None:
    deep = tmp_path.joinpath(*["a" * 60] * 4)
    with listening(deep / "cli.sock"):
        assert there(deep / "cli.sock")


@pytest.mark.parametrize("path", ["relative.sock", "/proc/nowhere/cli.sock", "/tmp/a\0b"])
async def test_an_impossible_place_says_what_to_do(path: str) -> None:
    with pytest.raises(ConfigError) as caught, listening(Path(path)):
        pass
    assert "HOMED_SOCKET" in caught.value.hint
