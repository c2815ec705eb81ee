"""Where everything lives: one data folder, and the names inside it."""

from __future__ import annotations

import hashlib
import os
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from homed.errors import ConfigError, StorageError

SYSTEM_DATA = Path("/var/lib/homed")
PROFILE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
PLUGIN_NAME = re.compile(r"[a-z][a-z0-9_]{0,31}")


@dataclass(frozen=True, slots=True)
class Paths:
    """The files of one data folder.  ``data`` is absolute; nothing exists before ``create``."""

    data: Path

    @property
    def family(self) -> str:
        """What the marks of all processes of this folder begin with."""
        return hashlib.sha256(str(self.data.resolve()).encode()).hexdigest()[:8]

    @property
    def db(self) -> Path:
        """The one SQLite file."""
        return self.data / "homed.db"

    @property
    def config(self) -> Path:
        """``homed.toml``, written by people; may be absent."""
        return self.data / "homed.toml"

    @property
    def persona(self) -> Path:
        """``persona.md``, written by people; may be absent."""
        return self.data / "persona.md"

    @property
    def secrets(self) -> Path:
        """Keys and passwords, 0600."""
        return self.data / "secrets.json"

    @property
    def lock(self) -> Path:
        """Held while a daemon runs on this folder."""
        return self.data / "homed.lock"

    @property
    def log(self) -> Path:
        """The daemon's log; older ones stand beside it with a number."""
        return self.data / "homed.log"

    @property
    def run_dir(self) -> Path:
        """Sockets."""
        return self.data / "run"

    @property
    def socket(self) -> Path:
        """Where the cli plugin listens unless ``HOMED_SOCKET`` says otherwise."""
        return self.run_dir / "cli.sock"

    @property
    def plugins(self) -> Path:
        """External plugins, one folder each."""
        return self.data / "plugins"

    @property
    def plugins_data(self) -> Path:
        """The folders that plugins keep their own files in."""
        return self.data / "plugin-data"

    @property
    def textlog(self) -> Path:
        """What was said, as files, a day each; made from the database, and anew when something is forgotten."""
        return self.data / "textlog"

    @property
    def cassettes(self) -> Path:
        """Recordings of what sources were asked and answered, for tests."""
        return self.data / "cassettes"

    @property
    def tracker(self) -> Path:
        """What files held before tools changed them."""
        return self.data / "tracker"

    @property
    def vectors(self) -> Path:
        """Indexes of vectors, made from the rows of the database; may be removed at any time."""
        return self.data / "vectors"

    @property
    def media(self) -> Path:
        """The bytes of attachments, in files named by their sha256."""
        return self.data / "media"

    def plugin_data(self, name: str) -> Path:
        """The folder of plugin ``name``, made if it is not there (0700).  A name that is no plugin name is refused."""
        if not PLUGIN_NAME.fullmatch(name):
            raise ConfigError(
                f"{name!r} cannot be a plugin's name.",
                hint="Use a small letter, then small letters, digits and underscores, 32 at most.",
            )
        return _private_folder(self.plugins_data / name)

    def create(self) -> None:
        """Make the folders that are missing, private to this user; ``StorageError`` when that cannot be done."""
        for folder in (self.data, self.run_dir, self.plugins, self.plugins_data, self.media):
            _private_folder(folder)
        if not os.access(self.data, os.W_OK | os.X_OK):
            raise StorageError(
                f"The data folder {self.data} cannot be written to.",
                hint="Give this user write access to it, or choose another with --data DIR.",
            )


def _private_folder(folder: Path) -> Path:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise StorageError(
            f"The folder {folder} cannot be made: {error.strerror}.",
            hint="Free the name or the disk, give this user write access, or choose another place with --data DIR.",
        ) from error
    return folder


def default_data_dir(env: Mapping[str, str] | None = None, profile: str = "default") -> Path:
    """The folder used without ``--data``: ``$HOMED_DATA``, or ``$XDG_DATA_HOME/homed/PROFILE``.

    A ``profile`` other than the default wins over ``HOMED_DATA``: it was typed, the variable may be forgotten.
    """
    env = os.environ if env is None else env
    if not PROFILE_NAME.fullmatch(profile):
        raise ConfigError(
            f"{profile!r} cannot be a profile's name.", hint="Use letters, digits, dots, dashes and underscores."
        )
    if profile == "default" and env.get("HOMED_DATA"):
        return Path(env["HOMED_DATA"]).expanduser().absolute()
    base = Path(env.get("XDG_DATA_HOME") or "~/.local/share").expanduser()
    return base.absolute() / "homed" / profile


def data_option(data: Path, env: Mapping[str, str] | None = None) -> str:
    """What to type after a command so that it is about ``data``: `` --data DIR``, or nothing for the default folder.

    ``HOMED_DATA`` does not count: the terminal the command is typed in may not have it.
    """
    env = os.environ if env is None else env
    known = {name: value for name, value in env.items() if name != "HOMED_DATA"}
    return "" if data == default_data_dir(known) else f" --data {shlex.quote(str(data))}"


def socket_candidates(env: Mapping[str, str] | None = None, data: Path | None = None) -> list[Path]:
    """Where a client looks for a running daemon's socket, best first.

    ``HOMED_SOCKET`` alone if it is set: who names a socket does not want another daemon to answer.
    """
    env = os.environ if env is None else env
    if env.get("HOMED_SOCKET"):
        return [Path(env["HOMED_SOCKET"]).expanduser().absolute()]
    own = Paths(data or default_data_dir(env)).socket
    if data is not None:
        return [own]
    runtime = env.get("XDG_RUNTIME_DIR")
    found = [Path(runtime) / "homed" / "cli.sock"] if runtime else []
    return [*found, own, Paths(SYSTEM_DATA).socket]
