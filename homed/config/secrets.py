"""Keys and passwords in one private file.  They never go into the database, the log, an event or an error."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Mapping
from pathlib import Path

from homed.errors import ConfigError, Conflict, StorageError
from homed.redact import telling_words

_STAGED = ".staged"
"""Where the file holds what is staged, as JSON; no secret's name begins so."""
_HEADER = ".header:"
"""In the name of a secret that is the value of a model source's header, before the header's name."""
_LONGEST_KEY = 4096
"""Characters of a key's line that are read."""


_Staged = tuple[str, dict[str, str | None]]


class Secrets:
    """``secrets.json`` (0600): name → text.  One from the environment wins over the file and is never written to it.

    Small and rarely written, so it is plain blocking code; a write is atomic and on disk when it returns.  Safe to use
    from several threads.
    """

    def __init__(self, path: Path, environment: Mapping[str, str] | None = None) -> None:
        self._path = path
        self._environment = dict(environment or {})
        self._lock = threading.Lock()
        self._stored = _read(path)
        staged = self._stored.pop(_STAGED, "")
        self._staged, self._untidy = _unstaged(staged), bool(staged)

    def __repr__(self) -> str:
        return f"Secrets({str(self._path)!r}, {len(self.names())} names)"

    def get(self, name: str) -> str | None:
        """The secret, or None."""
        return self._environment.get(name, self._stored.get(name))

    def names(self) -> list[str]:
        """Every name there is, sorted; never a value."""
        return sorted({*self._environment, *self._stored})

    def known(self) -> list[str]:
        """The values themselves, for the redactor alone; of a header only the words that may be a key."""
        staged = self._staged[1] if self._staged else {}
        found = [*self._environment.items(), *self._stored.items(), *staged.items()]
        return [word for name, value in found if value for word in _telling(name, value)]

    def given(self, name: str) -> bool:
        """True if the environment gives it, so that it cannot be changed here."""
        return name in self._environment

    def set(self, name: str, value: str) -> None:
        """Store a secret.  ``Conflict`` if the environment gives it, ``StorageError`` if it cannot be written."""
        self.update({name: value})

    def delete(self, name: str) -> bool:
        """Forget a stored secret; False if there was none."""
        with self._lock:
            if name not in self._stored:
                return False
            self._replace({key: value for key, value in self._stored.items() if key != name})
            return True

    def update(self, changes: Mapping[str, str | None]) -> None:
        """Store several at once, all or none; None forgets one.  Raises as ``set``."""
        self._refuse(changes)
        with self._lock:
            content = _changed(self._stored, changes)
            if content != self._stored:
                self._replace(content)

    def stage(self, change: str, secrets: Mapping[str, str | None]) -> None:
        """Write down what is to become of several when ``change`` turns out to be made; none is changed yet.

        What was staged before is given up.  Raises as ``set``.
        """
        self._refuse(secrets)
        with self._lock:
            self._write(self._stored, (change, dict(secrets)))
            self._staged = (change, dict(secrets))

    def staged(self) -> str:
        """The change that they wait for; "" if none do."""
        return self._staged[0] if self._staged else ""

    def adopt(self) -> None:
        """That change was made: what is staged holds from now on.  Does not block; ``tidy`` is for the file."""
        staged, self._staged = self._staged, None
        if staged is not None:
            self._stored = _changed(self._stored, staged[1])

    def drop(self) -> None:
        """It was not: what is staged comes to nothing.  As ``adopt``."""
        self._staged = None

    def tidy(self) -> None:
        """Bring the file to what holds.  Until then it says the same in more words.  ``StorageError``."""
        with self._lock:
            if self._untidy and self._staged is None:
                self._replace(self._stored)

    def _refuse(self, changes: Mapping[str, str | None]) -> None:
        if outside := sorted(name for name, value in changes.items() if value and name in self._environment):
            raise Conflict(
                f"The secret {outside[0]} comes from the environment.",
                hint="Change it there, or unset the variable first.",
            )

    def _replace(self, content: dict[str, str]) -> None:
        self._write(content, self._staged)
        self._stored = content

    def _write(self, content: Mapping[str, str], staged: _Staged | None) -> None:
        if staged is not None:
            content = {**content, _STAGED: json.dumps(staged)}
        temporary = self._path.with_suffix(".new")
        try:
            # made anew with 0600 from the first byte on: never a moment in which another user can read it
            temporary.unlink(missing_ok=True)
            fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            with os.fdopen(fd, "w", encoding="utf-8") as file:
                json.dump(content, file, ensure_ascii=False, indent=1)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(self._path)
        except OSError as error:
            raise StorageError(
                f"The secrets file {self._path} cannot be written: {error.strerror}.",
                hint="Free some space or give this user write access to the data folder; nothing was changed.",
            ) from error
        self._untidy = staged is not None


def _telling(name: str, value: str) -> list[str]:
    _, header, of = name.partition(_HEADER)
    return telling_words(of.partition("@")[0], value) if header else [value]


def _changed(stored: Mapping[str, str], changes: Mapping[str, str | None]) -> dict[str, str]:
    kept = {name: value for name, value in stored.items() if name not in changes}
    return {**kept, **{name: value for name, value in changes.items() if value}}


def _unstaged(text: str) -> _Staged | None:
    """What was staged; nothing, if somebody has edited it so that it cannot be read."""
    try:
        change, secrets = json.loads(text)
        return str(change), {str(name): None if value is None else str(value) for name, value in secrets.items()}
    except (ValueError, TypeError, AttributeError):
        return None


def _read(path: Path) -> dict[str, str]:
    try:
        if path.stat().st_mode & 0o077:
            path.chmod(0o600)
        content = json.loads(path.read_bytes())
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise StorageError(
            f"The secrets file {path} cannot be read: {error.strerror}.", hint="Give this user (and no other) access."
        ) from error
    except ValueError as error:
        raise ConfigError(
            f"The secrets file {path} is not valid JSON.", hint="Restore it, or move it away and add the keys again."
        ) from error
    if not isinstance(content, dict) or not all(isinstance(value, str) for value in content.values()):
        raise ConfigError(
            f"The secrets file {path} must hold one object of names and texts.",
            hint="Restore it, or move it away and add the keys again.",
        )
    return content


def key_of(path: str) -> str:
    """The key in a file of the person's: its first line; "" where no file is named.

    ``ConfigError`` when others may read it (0600 is wanted), when it cannot be read, or holds no text.  Blocks.
    """
    if not path:
        return ""
    file = Path(path).expanduser()
    try:
        if file.stat().st_mode & 0o077:
            raise ConfigError(
                f"The key file {file} can be read by others and is not used.", hint=f"Say: chmod 600 {file}"
            )
        with file.open("r", encoding="utf-8") as lines:
            return lines.readline(_LONGEST_KEY).strip()
    except OSError as error:
        raise ConfigError(
            f"The key file {file} cannot be read: {error.strerror}.", hint="Give its whole path."
        ) from error
    except UnicodeDecodeError:
        raise ConfigError(f"The key file {file} holds no text.", hint="Its first line is to be the key.") from None
