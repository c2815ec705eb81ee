"""The listening socket: private to its user, one listener at a time, a dead one's file is cleared away."""

from __future__ import annotations

import os
import socket
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import trio

from homed.sdk import ConfigError

BACKLOG = 32
_HINT = "Set HOMED_SOCKET to a path in a folder of your own."


@contextmanager
def listening(path: Path) -> Iterator[trio.SocketListener]:
    """Listen at ``path`` for the length of the block; afterwards the file is gone.

    The folder is made 0700 if it is missing, the socket is 0600.  Raises ConfigError with what to do when the place
    cannot be used or somebody listens there already.
    """
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
    try:
        mine = _bind(sock, path)
    except BaseException:
        sock.close()
        raise
    try:
        yield trio.SocketListener(trio.socket.from_stdlib_socket(sock))
    finally:
        sock.close()
        with suppress(OSError):
            if path.lstat().st_ino == mine:  # not that of a successor
                path.unlink()


def _bind(sock: socket.socket, path: Path) -> int:
    """Bind and listen; returns the socket file's inode number."""
    if not path.is_absolute() or "\0" in str(path):
        raise ConfigError(f"The socket {str(path)!r} is no absolute path.", hint=_HINT)
    try:
        with _folder(path.parent) as folder:
            address = f"/proc/self/fd/{folder}/{path.name}"  # short, however deep the folder lies
            _clear(path, folder, address)
            sock.bind(address)
            os.chmod(path.name, 0o600, dir_fd=folder)
            sock.listen(BACKLOG)  # only now can anybody connect
            return os.stat(path.name, dir_fd=folder, follow_symlinks=False).st_ino
    except OSError as error:
        raise ConfigError(f"The socket {path} cannot be made: {error.strerror or error}.", hint=_HINT) from error


@contextmanager
def _folder(folder: Path) -> Iterator[int]:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        info = os.fstat(fd)
        if info.st_uid not in (os.getuid(), 0) or info.st_mode & 0o022:
            raise ConfigError(f"Others may write to {folder}, where the socket should be.", hint=_HINT)
        yield fd
    finally:
        os.close(fd)


def _clear(path: Path, folder: int, address: str) -> None:
    """Remove the file of a listener that died.  Raises ConfigError for a living one, or for what is no socket."""
    try:
        info = os.stat(path.name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(info.st_mode):
        raise ConfigError(
            f"{path} is there and is no socket.", hint="Move it away, or set HOMED_SOCKET to another path."
        )
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.setblocking(False)
        try:
            probe.connect(address)
        except (ConnectionRefusedError, FileNotFoundError):
            with suppress(FileNotFoundError):
                os.unlink(path.name, dir_fd=folder)
            return
        except BlockingIOError:
            pass  # its queue is full: very much alive
    raise ConfigError(
        f"Somebody listens at {path} already.", hint="Stop that homed, or set HOMED_SOCKET to another path."
    )
