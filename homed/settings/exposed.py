"""Keys in settings that are no passwords: such a setting is shown, copied into backups and told to models.

So none is stored there on any path, and `homed doctor` names what stands there already or comes from outside.  Only
what can hardly be anything else counts (`homed.redact.certain`): a persona may speak of passwords.  An address may hold
one, since some servers take theirs nowhere else; that is told, and not refused.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from homed.config.definitions import EMBEDDING_BASE_URL, LLM_SOURCES, Definition
from homed.errors import ConfigError, HomedError
from homed.redact import certain
from homed.settings.apart import apart

if TYPE_CHECKING:
    from homed.settings.registry import Settings

_log = logging.getLogger(__name__)

TYPES = ("string", "text", "list")
_ADDRESS = "base_url"

HINT = (
    "Take it out: keys belong to a model source (`homed models add NAME --api-key K`, the Models page) or into a"
    " setting of type password, which are never shown."
)


def refuse(definition: Definition, value: object, before: object) -> object:
    """``value``; ``ConfigError`` that names the setting, never the key, where it holds one that ``before`` does not.

    What stands there already keeps nobody from changing the rest.
    """
    name = definition.key
    if definition.type not in TYPES:
        return value
    had = _keys(name, before, addresses=True)
    for key, kind in _keys(name, value).items():
        if key not in had:
            raise ConfigError(
                f"{name} would hold what looks like a secret ({kind}), and is shown to whoever sees settings.",
                hint=HINT,
                detail={"key": name, "looks_like": kind},
            )
    return value


def exposed(definitions: Iterable[Definition], get: Callable[[str], object]) -> list[str]:
    """The settings whose value, as ``get`` gives it, holds a key, also in an address: they were stored by an earlier
    homed, or come from outside."""
    return sorted(d.key for d in definitions if d.type in TYPES and _keys(d.key, get(d.key), addresses=True))


async def everywhere(settings: Settings, get: Callable[[str], object] | None = None) -> list[str]:
    """The same of all settings (``get``: what is in force, where they do not know it themselves), and of what the
    models' were before, which can be looked at and brought back.  Raises nothing of ours."""
    found = exposed(settings.definitions(), get or settings.get)
    try:
        before = [view.snapshot for view in await settings.snapshots()]
    except HomedError:  # the database's own checks tell
        return found
    return found + [
        f"{key} (snapshot {one.id})"
        for one in before
        for key, value in one.settings.items()
        if _keys(key, value, addresses=True)
    ]


def warn(keys: Iterable[str]) -> None:
    """Log what was found: it does not keep homed from starting."""
    for key in keys:
        _log.warning("%s holds what looks like a key, and is shown: take it out; `homed doctor` says how", key)


def _keys(setting: str, value: object, *, addresses: bool = False) -> dict[str, str]:
    value = apart(value)[0] if setting == LLM_SOURCES else value  # headers' values go to the secrets
    whole = {_ADDRESS: value} if setting == EMBEDDING_BASE_URL else value
    return {key: kind for text in _texts(whole, addresses) for key, kind in certain(text).items()}


def _texts(value: object, addresses: bool) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for name, one in value.items():
            yield str(name)
            if addresses or name != _ADDRESS or not isinstance(one, str) or "://" not in one:
                yield from _texts(one, addresses)
    elif isinstance(value, list | tuple):
        for one in value:
            yield from _texts(one, addresses)
