"""What the model settings were before each change, so that a source that breaks every turn can be rolled back.  Pure.

A snapshot holds no key: only a keyed digest of it, by which is told whether the key of then is still that of now.  A
key that is replaced stays in the secrets file under its digest for as long as a snapshot names it; one that a person
removed is gone.  What a person's own headers hold may be a key as well, so it is left out in the same way.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from homed.config.definitions import LLM_SOURCES

PREFIX = "core.llm."
"""Settings that are kept."""
SECRETS = "llm."
"""Secrets whose change counts as one of the model settings."""
PEPPER = "snapshots.pepper"
"""The secret that digests of keys are made with: without it a short key could be guessed from them."""
KEY = ".api_key"
LEFT_OUT = "••••••••"


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The stored model settings before ``changed`` were.  ``keys``: source → digest of the key it had.

    ``id`` 0 is one that is not stored; ``at`` wall-clock seconds.
    """

    id: int
    at: float
    changed: tuple[str, ...]
    settings: Mapping[str, object]
    keys: Mapping[str, str]

    def same(self, other: Snapshot) -> bool:
        """Whether both describe one state."""
        return self.settings == other.settings and self.keys == other.keys


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing that a roll back would change; None where it is not set."""

    what: str
    then: object
    now: object


@dataclass(frozen=True, slots=True)
class Plan:
    """A roll back: settings to store (None: take out), secrets to set (None: delete), and what people should know."""

    changes: Mapping[str, object]
    secrets: Mapping[str, str | None]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class KeyRing:
    """The secrets as far as they matter here.  ``given``: names that the environment gives."""

    secrets: Mapping[str, str] = field(repr=False)
    pepper: str = field(repr=False)

    def digest(self, value: str) -> str:
        """What stands for a key in a snapshot; 16 hexadecimal digits."""
        return hmac.new(self.pepper.encode(), value.encode(), hashlib.sha256).hexdigest()[:16]

    def keys(self) -> dict[str, str]:
        """Source → digest of its key."""
        return {
            source: self.digest(value)
            for name, value in self.secrets.items()
            if (source := source_of(name)) is not None and value
        }


def source_of(name: str) -> str | None:
    """The source whose key is stored under this name; None for other secrets and for keys that were replaced."""
    whole = name.startswith(SECRETS) and name.endswith(KEY)
    return name.removeprefix(SECRETS).removesuffix(KEY) or None if whole else None


def live(source: str) -> str:
    """The name under which a source's key is stored."""
    return f"{SECRETS}{source}{KEY}"


def replaced(source: str, digest: str) -> str:
    """The name under which a key stays that was replaced."""
    return f"{SECRETS}{source}{KEY}@{digest}"


def take(stored: Mapping[str, object], ring: KeyRing, *, at: float, changed: Iterable[str]) -> Snapshot:
    """The state as it is."""
    settings = {key: _without_headers(value) for key, value in sorted(stored.items()) if key.startswith(PREFIX)}
    return Snapshot(0, at, tuple(changed), settings, ring.keys())


def keeping(changes: Mapping[str, str | None], ring: KeyRing, *, forget: bool = True) -> dict[str, str | None]:
    """The same changes of secrets, with the keys they replace put aside, and those of a removed one removed.

    ``forget`` False: a roll back, which takes keys away for a while and has put them aside itself.
    """
    found = dict(changes)
    for name, value in changes.items():
        source, old = source_of(name), ring.secrets.get(name, "")
        if source is None or value == old:
            continue
        if value:
            if old:
                found[replaced(source, ring.digest(old))] = old
        elif forget:
            found |= dict.fromkeys(_aside(ring.secrets, source))
    return found


def unneeded(secrets: Iterable[str], kept: Sequence[Snapshot]) -> list[str]:
    """Names of replaced keys that no snapshot needs any more."""
    needed = {replaced(source, digest) for snapshot in kept for source, digest in snapshot.keys.items()}
    return [name for name in secrets if name.startswith(SECRETS) and f"{KEY}@" in name and name not in needed]


def differences(then: Snapshot, now: Snapshot) -> list[Difference]:
    """What a roll back to ``then`` would change, source by source and field by field; values of headers masked."""
    found: list[Difference] = []
    for key in sorted(then.settings.keys() | now.settings.keys()):
        old, new = then.settings.get(key), now.settings.get(key)
        if key == LLM_SOURCES:
            found += _of_sources(_named(old), _named(new))
        elif old != new:
            found.append(Difference(key, old, new))
    for source in sorted(then.keys.keys() | now.keys.keys()):
        if then.keys.get(source) != now.keys.get(source):
            found.append(Difference(f"{source}.api_key", _shown_key(then, source), _shown_key(now, source)))
    return found


def plan(then: Snapshot, now: Snapshot, stored: Mapping[str, object], ring: KeyRing) -> Plan:
    """How to come back to ``then``.  A key is sent nowhere but where it was given for: else it is put aside."""
    changes: dict[str, object] = dict.fromkeys(now.settings.keys() - then.settings.keys())
    changes |= {key: value for key, value in then.settings.items() if now.settings.get(key) != value}
    notes: list[str] = []
    old, new = _named(then.settings.get(LLM_SOURCES)), _named(stored.get(LLM_SOURCES))
    if LLM_SOURCES in changes and changes[LLM_SOURCES] is not None:
        changes[LLM_SOURCES] = [_with_headers(source, new.get(name, {}), notes) for name, source in old.items()]
    secrets: dict[str, str | None] = {}
    for name in sorted(old.keys() | now.keys.keys() | then.keys.keys()):
        place = {where(source) for source in (old.get(name), new.get(name)) if source}
        secrets |= _key_of(name, then, ring, moved=len(place) > 1, gone=name not in old, notes=notes)
    return Plan(changes, secrets, tuple(notes))


def _key_of(
    name: str, then: Snapshot, ring: KeyRing, *, moved: bool, gone: bool, notes: list[str]
) -> dict[str, str | None]:
    wanted, present = then.keys.get(name, ""), ring.secrets.get(live(name), "")
    if (ring.digest(present) if present else "") == wanted:
        return {}
    aside: dict[str, str | None] = {replaced(name, ring.digest(present)): present} if present else {}
    if kept := ring.secrets.get(replaced(name, wanted), "") if wanted else "":
        return {**aside, live(name): kept}
    if not wanted:  # it had none then
        return {**aside, live(name): None}
    if gone:
        return {}
    if present and not moved:
        notes.append(f"The key of {name} is the present one: the one of then is gone.")
        return {}
    notes.append(f"The key of {name} is gone: give it again.")
    return {**aside, live(name): None} if present else {}


def where(source: Mapping[str, object]) -> tuple[str, str]:
    """The server that a source's key is sent to."""
    try:
        parts = urlsplit(str(source.get("base_url") or ""))
    except ValueError:
        return "", ""
    return parts.scheme, parts.netloc.lower()


def _aside(secrets: Iterable[str], source: str) -> list[str]:
    return [name for name in secrets if name.startswith(replaced(source, ""))]


def _named(sources: object) -> dict[str, Mapping[str, object]]:
    entries = sources if isinstance(sources, list | tuple) else ()
    return {str(entry.get("name", "")): entry for entry in entries if isinstance(entry, Mapping)}


def _of_sources(
    old: Mapping[str, Mapping[str, object]], new: Mapping[str, Mapping[str, object]]
) -> Iterator[Difference]:
    for name in sorted(old.keys() | new.keys()):
        before, after = old.get(name), new.get(name)
        if before is None or after is None:
            yield Difference(name, None if before is None else _in_short(before), after and _in_short(after))
            continue
        for part in sorted(before.keys() | after.keys()):
            if before.get(part) != after.get(part):
                yield Difference(f"{name}.{part}", before.get(part), after.get(part))


def _in_short(source: Mapping[str, object]) -> str:
    return f"{source.get('model', '')} {source.get('base_url') or source.get('path') or ''}".strip()


def _shown_key(of: Snapshot, source: str) -> str:
    digest = of.keys.get(source, "")
    return f"{LEFT_OUT} ({digest[:4]})" if digest else ""


def _headers(source: object) -> Mapping[str, object]:
    options = source.get("options") if isinstance(source, Mapping) else None
    headers = options.get("headers") if isinstance(options, Mapping) else None
    return headers if isinstance(headers, Mapping) else {}


def _without_headers(value: object) -> object:
    if not isinstance(value, list | tuple):
        return value
    return [
        _put(source, dict.fromkeys(headers, LEFT_OUT)) if (headers := _headers(source)) else source for source in value
    ]


def _with_headers(source: Mapping[str, object], present: Mapping[str, object], notes: list[str]) -> object:
    """The source of then with the headers that the present one of that name and place still has."""
    wanted = _headers(source)
    if not wanted:
        return source
    found = (
        {name: text for name, text in _headers(present).items() if name in wanted}
        if where(source) == where(present)
        else {}
    )
    if lost := sorted(wanted.keys() - found.keys()):
        notes.append(f"Headers of {source.get('name')} are gone: {', '.join(lost)}.")
    return _put(source, found)


def _put(source: object, headers: Mapping[str, object]) -> object:
    assert isinstance(source, Mapping)
    options = source["options"]
    assert isinstance(options, Mapping)
    return {**source, "options": {**options, "headers": dict(headers)}}
