"""Where the daemon's socket is.  Handed the environment; reads only whether files are there."""

from __future__ import annotations

import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

SOCKET = Path("run/cli.sock")
SYSTEM_DATA = Path("/var/lib/homed")


@dataclass(frozen=True, slots=True)
class Places:
    """Sockets to try, in order.  ``named``: a person named this one, so no other is tried."""

    paths: tuple[Path, ...]
    named: bool


def places(environment: Mapping[str, str], *, socket: str = "", data: str = "", system: Path = SYSTEM_DATA) -> Places:
    """The flag ``--socket``; ``--data``; ``HOMED_SOCKET``; ``HOMED_DATA``; else, in this order, the runtime folder, the
    default data folder and the system's."""
    home = Path(environment.get("HOME") or "/")
    if socket:
        return Places((Path(socket),), named=True)
    if data:
        return Places((Path(data) / SOCKET,), named=True)
    if environment.get("HOMED_SOCKET"):
        return Places((Path(environment["HOMED_SOCKET"]),), named=True)
    if environment.get("HOMED_DATA"):
        return Places((Path(environment["HOMED_DATA"]) / SOCKET,), named=True)
    runtime = environment.get("XDG_RUNTIME_DIR")
    share = Path(environment.get("XDG_DATA_HOME") or home / ".local/share")
    found = (share / "homed/default" / SOCKET, system / SOCKET)
    return Places(((Path(runtime) / "homed/cli.sock", *found) if runtime else found), named=False)


def there(path: Path) -> bool:
    """Is a socket there that we may look at?"""
    try:
        return stat.S_ISSOCK(path.stat().st_mode)
    except OSError:
        return False


@dataclass(frozen=True, slots=True)
class Target:
    """A homed: sockets to try on this machine, or with ``url`` the page of one elsewhere, and the key for it.

    ``insecure``: a plain http address that is not this machine is allowed.  ``ca``: a file of certificates to trust
    instead of the system's.
    """

    name: str = ""
    places: Places | None = None
    url: str = ""
    key: str = field(default="", repr=False)
    insecure: bool = False
    ca: str = ""
