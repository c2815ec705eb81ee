"""Sources as they stand in the settings, and as people are shown them.  Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, fields, replace

from homed.errors import ConfigError, InvalidInput
from homed.providers.base import Source
from homed.providers.checking import place
from homed.redact import telling_words
from homed.settings.apart import apart, headers_of, live, masked_options, whole_options
from homed.settings.views import MASK

shown_options = masked_options
"""Options for people: the values of the person's own headers are masked, since they may be keys."""


def shown(stored: object) -> object:
    """The stored sources for people, the same way."""
    return apart(stored)[0]


def masked(value: object) -> bool:
    """Whether sources for people have something in them that is masked."""
    entries = value if isinstance(value, list | tuple) else ()
    options = [entry.get("options") for entry in entries if isinstance(entry, Mapping)]
    headers = [each.get("headers") for each in options if isinstance(each, Mapping)]
    return any(MASK in (each.values() if isinstance(each, Mapping) else (each,)) for each in headers)


def unmasked(source: Source, old: Source | None) -> Source:
    """A source that came back from a person: a header shown as a mask keeps the value it had.

    Its value may be a key, and was given for the server of ``old``: InvalidInput when it would go to another one.
    """
    given = source.options.get("headers")
    if not isinstance(given, Mapping) or not (masked := [name for name, value in given.items() if value == MASK]):
        return source
    had = old.options.get("headers") if old is not None and place(old) == place(source) else None
    known = {name: value for name, value in had.items() if value != MASK} if isinstance(had, Mapping) else {}
    if lost := sorted(set(masked) - known.keys()):
        raise InvalidInput(
            f"The value of the header {lost[0]} of {source.name} is not known for this address.",
            hint="Give it again, or take the header out.",
        )
    headers = {**given, **{name: known[name] for name in masked}}
    return replace(source, options={**source.options, "headers": headers})


def secret_name(name: str) -> str:
    """Where the key of a source stands among the secrets."""
    return live(name)


def whole(source: Source, secret: Callable[[str], str | None]) -> Source:
    """A stored source with the values of its headers; ``MASK`` stays where there is none any more."""
    return replace(source, options=whole_options(source.name, source.options, secret))


def without_value(source: Source) -> list[str]:
    """The headers that are not sent, for nobody knows their values: the secrets did not come along with a backup."""
    return sorted(name for name, value in headers_of({"options": source.options}).items() if value == MASK)


def telling(source: Source) -> list[str]:
    """What of its headers' values is to be kept out of logs and texts."""
    headers = headers_of({"options": source.options})
    return [word for name, value in headers.items() if value != MASK for word in telling_words(str(name), str(value))]


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
