"""What comes from outside the database: environment variables, ``homed.toml``, command-line flags.

The only reader of the environment besides ``paths``.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from homed.config import values
from homed.config.definitions import CORE, EMBEDDING_API_KEY, Definition
from homed.config.file import read_file
from homed.errors import ConfigError

PROVIDES = ("config",)
NEEDS = ()

PREFIX = "HOMED__"
SECRET_PREFIX = "HOMED_SECRET__"

_ELSEWHERE = {"DSH_HOLO_EMBEDDING_API_KEY": EMBEDDING_API_KEY}
"""Variables of the system whose memories can be taken over; our own name for one is stronger."""

_PASSED_ON = frozenset({"PATH", "HOME", "LANG", "TZ", "XDG_RUNTIME_DIR", "TERM", "SSL_CERT_FILE", "SSL_CERT_DIR"})


@dataclass(frozen=True, slots=True)
class Override:
    """A setting given from outside.  ``source`` is file, env or flag; ``place`` says where, for messages.

    A value of a plugin's key is checked when that plugin's definitions are known; ``text`` marks one still to be read.
    """

    key: str
    value: object
    source: str
    place: str
    text: bool = False

    def checked(self, definition: Definition) -> object:
        """The value as the definition wants it, or ``ConfigError`` naming the place."""
        if self.text and isinstance(self.value, str):
            return values.from_text(definition, self.value, place=self.place)
        return values.check(definition, self.value, place=self.place)


@dataclass(frozen=True, slots=True)
class Environment:
    """Everything read at start.  ``overrides`` by key, the strongest already chosen; ``secrets`` by name."""

    overrides: Mapping[str, Override] = field(default_factory=dict)
    secrets: Mapping[str, str] = field(default_factory=dict)
    socket: str = ""


def read_environment(
    config: Path, *, env: Mapping[str, str] | None = None, flags: Mapping[str, object] | None = None
) -> Environment:
    """Read ``homed.toml`` at ``config``, the variables and the flags; a flag beats a variable beats the file.

    Core keys are checked here.  Raises ``ConfigError`` that lists **every** fault found, each with its place.
    """
    env = os.environ if env is None else env
    found = [Override(key, value, "file", place) for key, (value, place) in read_file(config).items()]
    found += [
        Override(_key(name, PREFIX), text, "env", f"environment variable {name}", text=True)
        for name, text in env.items()
        if name.startswith(PREFIX)
    ]
    found += [
        Override(key, env[name], "env", f"environment variable {name}", text=True)
        for name, key in _ELSEWHERE.items()
        if env.get(name) and not any(override.key == key and override.source == "env" for override in found)
    ]
    found += [Override(key, value, "flag", f"option for {key}") for key, value in (flags or {}).items()]
    _check_core(found)
    secrets = {_key(name, SECRET_PREFIX): text for name, text in env.items() if name.startswith(SECRET_PREFIX)}
    return Environment({o.key: o for o in found}, secrets, env.get("HOMED_SOCKET", ""))


def child_environment(env: Mapping[str, str] | None = None) -> dict[str, str]:
    """What a child process inherits: enough to find programs and speak the person's language, and no secret."""
    env = os.environ if env is None else env
    return {name: value for name, value in env.items() if name in _PASSED_ON or name.startswith("LC_")}


def closest(key: str, known: Iterable[str]) -> str:
    """``Did you mean …?`` or nothing."""
    from difflib import get_close_matches  # for what is wrong

    near = get_close_matches(key, list(known), n=1, cutoff=0.75)
    return f"Did you mean {near[0]}? " if near else ""


def _key(name: str, prefix: str) -> str:
    return name.removeprefix(prefix).lower().replace("__", ".")


def _check_core(found: list[Override]) -> None:
    known = {definition.key: definition for definition in CORE}
    faults: list[ConfigError] = []
    for override in found:
        if override.key in known:
            try:
                override.checked(known[override.key])
            except ConfigError as error:
                faults.append(error)
        elif not override.key.startswith("plugin."):
            faults.append(unknown_key(override, known))
    if len(faults) == 1:
        raise faults[0]
    if faults:
        raise ConfigError(
            f"{len(faults)} settings are wrong:\n" + "\n".join(f"  {fault}" for fault in faults),
            hint="Nothing was started; correct them and start again.",
        )


def unknown_key(override: Override, known: Iterable[str]) -> ConfigError:
    """The error for a key that nothing defines, with the nearest one that exists."""
    return ConfigError(
        f"{override.place}: there is no setting {override.key!r}.",
        hint=closest(override.key, known) + "`homed config list` shows them all.",
        detail={"key": override.key, "place": override.place},
    )
