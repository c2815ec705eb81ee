"""``waiter.yaml``: homeds by name.

    home:  {url: "https://home.example:8443", api_key: hk_…}
    work:  {socket: /run/homed/cli.sock}

Beside ``api_key`` an entry with ``url`` may hold ``ca`` (a file of certificates) and ``insecure: true``; instead of
``socket`` there may be ``data``, a data folder.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from pathlib import Path

from homed.errors import ConfigError, InvalidInput

from .endpoint import SOCKET, Places, Target, places
from .messages import Dial

KEY = "HOMED_API_KEY"
_KNOWN = {"socket", "data", "url", "api_key", "ca", "insecure"}


class NeedsKey(InvalidInput):
    """No key is known for this URL."""

    def __init__(self, url: str) -> None:
        super().__init__(f"No API key for {url}.", hint=f"Give it with --api-key, {KEY} or in waiter.yaml.")
        self.url = url


def config_path(environment: Mapping[str, str]) -> Path:
    """Where the file is."""
    home = Path(environment.get("HOME") or "/")
    return Path(environment.get("XDG_CONFIG_HOME") or home / ".config") / "homed" / "waiter.yaml"


def load(path: Path) -> dict[str, Target]:
    """Every connection by name; none without a file.  Raises ConfigError naming the file and what is wrong."""
    try:
        with path.open("rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            raw = file.read(1 << 20)
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror or error}.") from error
    import yaml  # only whoever has the file pays for it

    try:
        found = yaml.safe_load(raw)
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        mark = getattr(error, "problem_mark", None)
        place = f" (line {mark.line + 1})" if mark is not None else ""
        raise ConfigError(f"{path} is no YAML{place}.") from None  # the parser's words would show a key
    if found is None:
        return {}
    if not isinstance(found, dict):
        raise ConfigError(f"{path} must hold names with connections.")
    made = {str(name): _target(path, str(name), entry) for name, entry in found.items()}
    if any(target.key for target in made.values()) and stat.S_IMODE(mode) & 0o077:
        raise ConfigError(f"{path} holds keys and others may read it.", hint=f"chmod 600 {path}")
    return made


def _target(path: Path, name: str, entry: object) -> Target:
    if not isinstance(entry, dict):
        raise ConfigError(f"{path}: {name} must hold url and api_key, or socket.")
    if unknown := sorted(map(str, set(entry) - _KNOWN)):
        raise ConfigError(f"{path}: {name} holds {', '.join(unknown)}, which nobody knows.")
    texts = {key: str(value) for key, value in entry.items() if key != "insecure"}
    if sum(key in texts for key in ("socket", "data", "url")) != 1:
        raise ConfigError(f"{path}: {name} needs one of url, socket and data.")
    if "url" in texts:
        ca = str(Path(texts["ca"]).expanduser()) if "ca" in texts else ""
        return Target(name, None, texts["url"], texts.get("api_key", ""), entry.get("insecure") is True, ca)
    where = Path(texts["socket"]) if "socket" in texts else Path(texts["data"]) / SOCKET
    return Target(name, Places((where.expanduser(),), named=True))


class Directory:
    """Finds the homed that is meant, by name, by URL, or on this machine."""

    def __init__(
        self, environment: Mapping[str, str], *, socket: str = "", data: str = "", insecure: bool = False
    ) -> None:
        self._environment = environment
        self._local = places(environment, socket=socket, data=data)
        self._insecure = insecure
        self._given_to = ""

    @property
    def place(self) -> str:
        """The homed on this machine, as a name for files that belong to it."""
        return str(self._local.paths[0]) if self._local.named else "local"

    def names(self) -> tuple[str, ...]:
        """Named connections.  Raises ConfigError."""
        return tuple(load(config_path(self._environment)))

    def find(self, dial: Dial) -> Target:
        """Raises NeedsKey, InvalidInput for an unknown name, ConfigError.

        The key of the environment is for one homed, the first that it is used for: it is shown to no other.
        """
        if not dial.name and not dial.url:
            return Target("", self._local)
        known = load(config_path(self._environment))
        if dial.name:
            if dial.name not in known:
                there = ", ".join(known) or "none"
                hint = f"Known are: {there}. They stand in {config_path(self._environment)}."
                raise InvalidInput(f"There is no connection {dial.name[:60]!r}.", hint=hint)
            target = known[dial.name]
        else:
            same = [target for target in known.values() if target.url.rstrip("/") == dial.url.rstrip("/")]
            target = same[0] if same else Target("", None, dial.url, "", self._insecure)
        if not target.url:
            return target
        place = target.url.rstrip("/")
        given = self._environment.get(KEY, "") if self._given_to in ("", place) else ""
        key = dial.key or (given or target.key if dial.url else target.key or given)
        if not key:
            raise NeedsKey(target.url)
        if key == given:
            self._given_to = place
        name = target.name or target.url.partition("://")[2].rstrip("/") or target.url
        return Target(name, None, target.url, key, target.insecure or self._insecure, target.ca)
