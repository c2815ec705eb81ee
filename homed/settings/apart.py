"""The values of model sources' own headers, apart from the settings: names stay, values go to the secrets.  Pure.

Such a header often holds a token, so its value stands in neither the database nor a backup or snapshot of it.  Where
it was, the settings have ``MASK``, which no header can be: it is not ASCII.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from homed.settings.views import MASK

SECRETS = "llm."
"""How the names of secrets begin that are of model sources."""
KEY = ".api_key"
HEADER = ".header:"
"""Between a source and the name of a header of its own; a colon stands in neither."""


def slot_of(name: str) -> str | None:
    """Whose the secret ``name`` is: a source's name for its key, ``SOURCE.header:NAME`` for a header; else None.

    Values that were replaced are nobody's.
    """
    if not name.startswith(SECRETS) or "@" in name:
        return None
    rest = name.removeprefix(SECRETS)
    if HEADER in rest:
        return rest
    return rest.removesuffix(KEY) or None if rest.endswith(KEY) else None


def live(slot: str) -> str:
    """The name under which the secret in use is stored."""
    return f"{SECRETS}{slot}" if HEADER in slot else f"{SECRETS}{slot}{KEY}"


def header_slot(source: str, header: str) -> str:
    """The slot of a header."""
    return f"{source}{HEADER}{header}"


def owner(slot: str) -> tuple[str, str]:
    """The source of a slot, and the header's name, "" for the key."""
    source, _, header = slot.partition(HEADER)
    return source, header


def sources_of(value: object) -> Iterator[Mapping[str, object]]:
    """Those in a stored setting that are such."""
    yield from (entry for entry in (value if isinstance(value, list | tuple) else ()) if isinstance(entry, Mapping))


def headers_of(source: Mapping[str, object]) -> Mapping[str, object]:
    """A source's own headers."""
    options = source.get("options")
    headers = options.get("headers") if isinstance(options, Mapping) else None
    return headers if isinstance(headers, Mapping) else {}


def slots_in(value: object) -> list[str]:
    """The slots of every header in a stored setting whose value is apart."""
    return [
        header_slot(str(source.get("name", "")), str(name))
        for source in sources_of(value)
        for name, held in headers_of(source).items()
        if held == MASK
    ]


def apart(value: object) -> tuple[object, dict[str, str]]:
    """The setting without values of headers, and those, by their secrets' names.  One that is apart already is not in
    them; an empty value stays, for it tells nothing."""
    if not isinstance(value, list | tuple):
        return value, {}
    secrets: dict[str, str] = {}
    for source in sources_of(value):
        for name, held in headers_of(source).items():
            if isinstance(held, str) and held and held != MASK:
                secrets[live(header_slot(str(source.get("name", "")), str(name)))] = held
    return [_masked(entry) for entry in value], secrets


def whole_options(name: str, options: Mapping[str, object], secret: Callable[[str], str | None]) -> dict[str, object]:
    """The options of the source ``name`` with the values that are apart; ``MASK`` stays where there is none."""
    headers = options.get("headers")
    if not isinstance(headers, Mapping):
        return dict(options)
    found = {
        header: (secret(live(header_slot(name, str(header)))) or MASK) if held == MASK else held
        for header, held in headers.items()
    }
    return {**options, "headers": found}


def masked_options(options: Mapping[str, object]) -> dict[str, object]:
    """Options as people may see them and the database has them."""
    headers = options.get("headers")
    if not headers:
        return dict(options)
    if not isinstance(headers, Mapping):
        return {**options, "headers": MASK}
    return {**options, "headers": {name: MASK if held else held for name, held in headers.items()}}


def _masked(entry: object) -> object:
    options = entry.get("options") if isinstance(entry, Mapping) else None
    if not isinstance(entry, Mapping) or not isinstance(options, Mapping):
        return entry
    return {**entry, "options": masked_options(options)}
