"""Sources as they stand in the settings, and as people are shown them.  Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, fields, replace

from homed.errors import ConfigError, InvalidInput
from homed.providers.base import Source
from homed.providers.checking import place
from homed.settings.views import MASK


def shown(stored: object) -> object:
    """The stored sources for people: the values of their own headers are masked, since they may be keys."""
    return [_shown(entry) for entry in stored] if isinstance(stored, list | tuple) else stored


def _shown(entry: object) -> object:
    options = entry.get("options") if isinstance(entry, Mapping) else None
    if not isinstance(entry, Mapping) or not isinstance(options, Mapping):
        return entry
    return {**entry, "options": shown_options(options)}


def shown_options(options: Mapping[str, object]) -> dict[str, object]:
    """The same for the options of one."""
    headers = options.get("headers")
    if not headers:
        return dict(options)
    return {**options, "headers": dict.fromkeys(headers, MASK) if isinstance(headers, Mapping) else MASK}


def unmasked(source: Source, old: Source | None) -> Source:
    """A source that came back from a person: a header shown as a mask keeps the value it had.

    Its value may be a key, and was given for the server of ``old``: InvalidInput when it would go to another one.
    """
    given = source.options.get("headers")
    if not isinstance(given, Mapping) or not (masked := [name for name, value in given.items() if value == MASK]):
        return source
    had = old.options.get("headers") if old is not None and place(old) == place(source) else None
    known = had if isinstance(had, Mapping) else {}
    if lost := sorted(set(masked) - known.keys()):
        raise InvalidInput(
            f"The value of the header {lost[0]} of {source.name} is not known for this address.",
            hint="Give it again, or take the header out.",
        )
    headers = {**given, **{name: known[name] for name in masked}}
    return replace(source, options={**source.options, "headers": headers})


def secret_name(name: str) -> str:
    """Where the key of a source stands among the secrets."""
    return f"llm.{name}.api_key"


def to_settings(sources: Iterable[Source]) -> list[dict[str, object]]:
    """The sources as JSON."""
    return [to_setting(source) for source in sources]


def to_setting(source: Source) -> dict[str, object]:
    """One of them."""
    return {**asdict(source), "options": dict(source.options)}


def from_setting(entry: object) -> Source:
    """One of them back; ConfigError for what is none."""
    if not isinstance(entry, Mapping):
        raise ConfigError("it is not a table.")
    known = {f.name: f.type for f in fields(Source)}
    if unknown := sorted(set(map(str, entry)) - set(known)):
        raise ConfigError(f"unknown: {', '.join(unknown)}.")
    for name in ("name", "base_url", "model"):
        if name not in entry:
            raise ConfigError(f"{name} is missing.")
    for name, value in entry.items():
        wanted = {"str": str, "int": int, "bool": bool}.get(str(known[name]), Mapping)
        if not isinstance(value, wanted) or (isinstance(value, bool) and wanted is not bool):
            raise ConfigError(f"{name} has the wrong type.")
    return Source(**entry)
