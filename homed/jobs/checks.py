"""What `homed doctor` finds, and the checks of the data folder: whose it is, its disk, its files, its logs."""

from __future__ import annotations

import os
import shutil
import stat
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from homed.config.environment import read_environment
from homed.config.secrets import Secrets
from homed.errors import HomedError
from homed.paths import Paths
from homed.store.damage import FOLDER, LABEL
from homed.store.filesystem import FileSystem
from homed.wire.version import CORE

LITTLE_SPACE, NO_SPACE = 500_000_000, 50_000_000
"""Bytes of free disk below which it is a warning, and below which it is bad."""
OLDEST_PYTHON, OLDEST_SQLITE = (3, 11), (3, 45)
LONGEST_LOOK = 16_000_000
"""Bytes of one log that are looked through for secrets, from its end."""


class State(StrEnum):
    """How a check came out."""

    OK = "ok"
    WARN = "warn"
    BAD = "bad"


@dataclass(frozen=True, slots=True)
class Check:
    """One thing looked at: its name, how it is, what was found in a sentence, and what to do if anything."""

    name: str
    state: State
    what: str
    hint: str = ""

    def wire(self) -> dict[str, object]:
        """As ``admin.doctor`` shows it."""
        return {"name": self.name, "state": self.state.value, "what": self.what, "hint": self.hint}


def ok(name: str, what: str) -> Check:
    """Nothing to do."""
    return Check(name, State.OK, what)


def warn(name: str, what: str, hint: str) -> Check:
    """It works, and somebody should look."""
    return Check(name, State.WARN, what, hint)


def bad(name: str, what: str, hint: str) -> Check:
    """It does not work, or is not safe."""
    return Check(name, State.BAD, what, hint)


def versions(python: tuple[int, ...], sqlite: str) -> Check:
    """Python, SQLite and homed."""
    what = f"homed {CORE}, Python {'.'.join(map(str, python[:3]))}, SQLite {sqlite}"
    if python[:2] < OLDEST_PYTHON:
        return bad(
            "versions", f"{what}: this Python is too old", "Install Python 3.11 or newer and run `make install`."
        )
    if tuple(int(part) for part in sqlite.split(".")[:2]) < OLDEST_SQLITE:
        return bad("versions", f"{what}: this SQLite is too old", "Run `make install`: it brings its own.")
    return ok("versions", what)


def folder(paths: Paths) -> Check:
    """Whose the data folder is and who may look into it."""
    data = paths.data
    try:
        seen = data.stat()
    except FileNotFoundError:
        return ok("data folder", f"{data} is not there yet: the first start makes it")
    except OSError as error:
        return bad("data folder", f"{data}: {error.strerror}", "Give this user access to it.")
    if not stat.S_ISDIR(seen.st_mode):
        return bad("data folder", f"{data} is no folder", "Move it away, or choose another with --data DIR.")
    if seen.st_uid != os.geteuid():
        return bad("data folder", f"{data} belongs to user {seen.st_uid}", f"chown -R {os.geteuid()} {data}")
    if not os.access(data, os.W_OK | os.X_OK):
        return bad("data folder", f"{data} cannot be written to", f"chmod u+rwx {data}")
    if seen.st_mode & 0o077:
        return bad("data folder", f"others may look into {data} ({stat.S_IMODE(seen.st_mode):o})", f"chmod 700 {data}")
    return ok("data folder", f"{data}, private to this user")


def space(paths: Paths, usage: Callable[[Path], tuple[int, int, int]] = shutil.disk_usage) -> Check:
    """Free disk space."""
    try:
        free = usage(paths.data)[2]
    except OSError as error:
        return warn("disk space", f"{paths.data}: {error.strerror}", "Is the disk there?")
    what = f"{free // 1_000_000} MB free"
    if free < NO_SPACE:
        return bad("disk space", what, "Free some space now: messages can soon not be stored.")
    if free < LITTLE_SPACE:
        return warn("disk space", what, "Free some space soon.")
    return ok("disk space", what)


def file_system(disk: FileSystem) -> Check:
    """Whether the disk suits a database."""
    if disk.local:
        return ok("file system", disk.name)
    return warn(
        "file system",
        f"{disk.name} is not a disk of this machine: a rollback journal is used instead of a log, which is slower",
        "Move the data folder to a local disk; a network disk that loses its locks can still damage a database.",
    )


PRIVATE_FILES = ("homed.db", "homed.db-wal", "homed.db-shm", "secrets.json", "homed.log", "homed.lock", "homed.toml")


def private_files(paths: Paths) -> Check:
    """Files that only this user may read."""
    open_ = [name for name in PRIVATE_FILES if _mode(paths.data / name) & 0o077]
    if open_:
        return bad(
            "private files", f"others may read {', '.join(open_)}", f"cd {paths.data} && chmod 600 {' '.join(open_)}"
        )
    return ok("private files", "the database, secrets and logs are this user's alone")


def _mode(file: Path) -> int:
    try:
        return stat.S_IMODE(file.stat().st_mode)
    except OSError:
        return 0


def secrets_file(paths: Paths) -> Check:
    """Whether the secrets can be read."""
    if not paths.secrets.exists():
        return ok("secrets", "none are stored")
    if _mode(paths.secrets) & 0o077:  # reading it would put that right, and nobody would hear of it
        return bad(
            "secrets", f"others may read {paths.secrets}", f"chmod 600 {paths.secrets}, and change the keys in it."
        )
    try:
        names = Secrets(paths.secrets).names()
    except HomedError as error:
        return bad("secrets", error.message, error.hint)
    return ok("secrets", f"{len(names)} stored, private")


def config_file(paths: Paths, unclaimed: Iterable[str] = ()) -> Check:
    """``homed.toml`` and the variables: readable, and every key known."""
    try:
        given = read_environment(paths.config).overrides
    except HomedError as error:
        return bad("configuration", error.message, error.hint)
    for fault in unclaimed:
        return warn("configuration", fault, f"Correct it in {paths.config} or in the environment.")
    return ok("configuration", f"{len(given)} settings from {paths.config.name} and the environment")


def exposed(keys: Sequence[str]) -> Check:
    """No setting that is shown may hold a key: one may be older than that, or be given from outside."""
    if not keys:
        return ok("settings", "no key in one that is shown")
    return warn(
        "settings", f"what looks like a key stands in {', '.join(keys)}",
        "Take it out there (`homed config set`, homed.toml, the variable or persona.md), and change the key: settings"
        " are shown, and backups hold them. A snapshot goes with later changes of the models' settings, sooner with a"
        " smaller core.llm.snapshots_kept.",
    )  # fmt: skip


def kept_aside(paths: Paths) -> Check:
    """Copies of damaged databases, which nobody removes by himself."""
    copies = [label.parent for label in (paths.data / FOLDER).glob(f"*/{LABEL}")]
    size = sum(file.stat().st_size for copy in copies for file in copy.iterdir()) // 1_000_000
    if copies:
        return warn(
            "kept aside",
            f"{len(copies)} damaged databases ({size} MB) in {paths.data / FOLDER}",
            "Remove them once nothing is missing any more.",
        )
    return ok("kept aside", "no damaged database")


def logs_clean(paths: Paths, redact: Callable[[str], str]) -> Check:
    """No log may hold a key: what is written is redacted, but a key may have been set later, or a log be older."""
    files = [*paths.data.glob("homed.log*"), *(paths.data / "logs").glob("*.log*")]
    dirty = [file.name for file in sorted(files) if any(redact(line) != line for line in _lines(file))]
    if dirty:
        return bad(
            "logs", f"something that looks like a key stands in {', '.join(dirty)}",
            "Stop homed, remove those files, and change the key.",
        )  # fmt: skip
    return ok("logs", f"{len(files)} logs, no key in them")


def adapter_scripts(paths: Paths) -> Check:
    """Bundled adapter scripts that were edited here and have a newer one beside them."""
    from homed.providers.lua.lazy import FOLDER
    from homed.providers.lua.shelf import Shelf

    found = Shelf(paths.data / FOLDER).found()
    waiting = [one for one in found if one.newer]
    if not waiting:
        return ok("adapters", f"{len(found)} scripts, {sum(one.origin == 'own' for one in found)} of your own")
    names = ", ".join(one.name for one in waiting)
    hint = f"Compare them, then remove the newer one ({waiting[0].newer}) or put it in the other's place."
    return warn("adapters", f"edited here, and a newer one is beside them: {names}", hint)


def _lines(file: Path) -> Iterator[str]:
    try:
        if not file.is_file():  # a pipe would be waited at for ever
            return
        with file.open("rb") as reading:
            reading.seek(max(0, file.stat().st_size - LONGEST_LOOK))
            for line in reading:
                yield line.decode("utf-8", "replace")
    except OSError:
        return


def of_folder(paths: Paths, disk: FileSystem, redact: Callable[[str], str], sqlite: str) -> list[Check]:
    """All of the above but the configuration."""
    first = [versions(sys.version_info[:3], sqlite), folder(paths)]
    if not paths.data.is_dir():
        return first
    return [
        *first, space(paths), file_system(disk), private_files(paths), secrets_file(paths), kept_aside(paths),
        logs_clean(paths, redact), adapter_scripts(paths),
    ]  # fmt: skip


def listening(setting: Callable[[str], object], loopback: Callable[[str], bool]) -> Check:
    """Whether the page is open to others, and whether it has a password then."""
    address, password = str(setting("plugin.webui.listen") or ""), setting("core.web.password")
    if not address or loopback(address):
        return ok("page", f"listens on {address or 'its default'}, for this machine alone")
    if not password:
        return bad(
            "page", f"listens on {address} for others, without a password",
            "Set one (`homed config set core.web.password`), or listen on 127.0.0.1.",
        )  # fmt: skip
    return ok("page", f"listens on {address}, with a password")


def plugin_states(statuses: Sequence[Mapping[str, object]]) -> Check:
    """Whether every plugin that should run does."""
    wrong = [f"{p['name']} is {p['state']} ({p['reason']})" for p in statuses if _unwell(p)]
    if wrong:
        return warn("plugins", "; ".join(wrong), "`homed plugin logs NAME` shows why.")
    return ok("plugins", f"{len(statuses)} found, none unwell")


def _unwell(plugin: Mapping[str, object]) -> bool:
    return plugin["state"] == "backoff" or str(plugin["reason"]).startswith("needs attention")
