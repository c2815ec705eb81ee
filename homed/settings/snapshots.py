"""What the model settings were before each change, so that a source that breaks every turn can be rolled back.  Pure.

A snapshot holds no key: only a keyed digest of it, by which is told whether the key of then is still that of now.  A
key that is replaced stays in the secrets file under its digest for as long as a snapshot names it; one that a person
removed is gone.  What a person's own headers hold may be a key as well, and is treated as one.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from homed.config.definitions import LLM_SOURCES
from homed.settings.apart import SECRETS, live, owner, slot_of, slots_in, sources_of
from homed.settings.apart import apart as values_apart
from homed.settings.views import MASK

PREFIX = "core.llm."
"""Settings that are kept."""
PEPPER = "snapshots.pepper"
"""The secret that digests of keys are made with: without it a short key could be guessed from them."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The stored model settings before ``changed`` were.  ``keys``: slot (``apart.slot_of``) → digest of its secret.

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
        """Slot → digest of what is in it."""
        return {
            slot: self.digest(value)
            for name, value in self.secrets.items()
            if (slot := slot_of(name)) is not None and value
        }


def replaced(slot: str, digest: str) -> str:
    """The name under which a secret stays that was replaced."""
    return f"{live(slot)}@{digest}"


def label(slot: str) -> str:
    """A slot as people are told of it, like a field of its source."""
    source, header = owner(slot)
    return f"{source}.headers.{header}" if header else f"{source}.api_key"


def take(stored: Mapping[str, object], ring: KeyRing, *, at: float, changed: Iterable[str]) -> Snapshot:
    """The state as it is."""
    settings = {key: values_apart(value)[0] for key, value in sorted(stored.items()) if key.startswith(PREFIX)}
    return Snapshot(0, at, tuple(changed), settings, ring.keys())


def keeping(changes: Mapping[str, str | None], ring: KeyRing, *, forget: bool = True) -> dict[str, str | None]:
    """The same changes of secrets, with the keys they replace put aside, and those of a removed one removed.

    ``forget`` False: a roll back, which takes keys away for a while and has put them aside itself.
    """
    found = dict(changes)
    for name, value in changes.items():
        slot, old = slot_of(name), ring.secrets.get(name, "")
        if slot is None or value == old:
            continue
        if value:
            if old:
                found[replaced(slot, ring.digest(old))] = old
        elif forget:
            found |= dict.fromkeys(_aside(ring.secrets, slot))
    return found


def unneeded(secrets: Iterable[str], kept: Sequence[Snapshot]) -> list[str]:
    """Names of replaced keys that no snapshot needs any more."""
    needed = {replaced(slot, digest) for snapshot in kept for slot, digest in snapshot.keys.items()}
    return [name for name in secrets if name.startswith(SECRETS) and "@" in name and name not in needed]


def differences(then: Snapshot, now: Snapshot) -> list[Difference]:
    """What a roll back to ``then`` would change, source by source and field by field; of secrets that they differ."""
    found: list[Difference] = []
    for key in sorted(then.settings.keys() | now.settings.keys()):
        old, new = then.settings.get(key), now.settings.get(key)
        if key == LLM_SOURCES:
            found += _of_sources(_named(old), _named(new))
        elif old != new:
            found.append(Difference(key, old, new))
    for slot in sorted(then.keys.keys() | now.keys.keys()):
        if then.keys.get(slot) != now.keys.get(slot):
            found.append(Difference(label(slot), _shown_key(then, slot), _shown_key(now, slot)))
    return found


def plan(then: Snapshot, now: Snapshot, stored: Mapping[str, object], ring: KeyRing) -> Plan:
    """How to come back to ``then``.  A key is sent nowhere but where it was given for: else it is put aside."""
    changes: dict[str, object] = dict.fromkeys(now.settings.keys() - then.settings.keys())
    changes |= {key: value for key, value in then.settings.items() if now.settings.get(key) != value}
    notes: list[str] = []
    old, new = _named(then.settings.get(LLM_SOURCES)), _named(stored.get(LLM_SOURCES))
    named = slots_in(then.settings.get(LLM_SOURCES))
    unknown = (
        set(named) - then.keys.keys()
    )  # taken before the values of headers were secrets: nobody knows which it was
    secrets: dict[str, str | None] = {}
    for slot in sorted(old.keys() | now.keys.keys() | then.keys.keys() | set(named)):
        name = owner(slot)[0]
        place = {where(source) for source in (old.get(name), new.get(name)) if source}
        of = _Slot(slot, moved=len(place) > 1, gone=name not in old, unknown=slot in unknown)
        secrets |= _secret_of(of, then, ring, notes)
    return Plan(changes, secrets, tuple(notes))


@dataclass(frozen=True, slots=True)
class _Slot:
    """``moved``: the source is on another server now; ``gone``: then it was not there; ``unknown``: what it held."""

    slot: str
    moved: bool
    gone: bool
    unknown: bool

    def __str__(self) -> str:
        source, header = owner(self.slot)
        return f"The header {header} of {source}" if header else f"The key of {source}"


def _secret_of(of: _Slot, then: Snapshot, ring: KeyRing, notes: list[str]) -> dict[str, str | None]:
    slot = of.slot
    wanted, present = then.keys.get(slot, ""), ring.secrets.get(live(slot), "")
    if (ring.digest(present) if present else "") == wanted and not of.unknown:
        return {}
    aside: dict[str, str | None] = {replaced(slot, ring.digest(present)): present} if present else {}
    if kept := ring.secrets.get(replaced(slot, wanted), "") if wanted else "":
        return {**aside, live(slot): kept}
    if not wanted and not of.unknown:  # there was none then
        return {**aside, live(slot): None}
    if of.gone:
        return {}
    if present and not of.moved:
        if not of.unknown:
            notes.append(f"{of} is the present one: the one of then is gone.")
        return {}
    notes.append(f"{of} is gone: give it again.")
    return {**aside, live(slot): None} if present else {}


def where(source: Mapping[str, object]) -> tuple[str, str]:
    """The server that a source's key is sent to."""
    try:
        parts = urlsplit(str(source.get("base_url") or ""))
    except ValueError:
        return "", ""
    return parts.scheme, parts.netloc.lower()


def _aside(secrets: Iterable[str], slot: str) -> list[str]:
    return [name for name in secrets if name.startswith(replaced(slot, ""))]


def _named(sources: object) -> dict[str, Mapping[str, object]]:
    return {str(entry.get("name", "")): entry for entry in sources_of(sources)}


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


def _shown_key(of: Snapshot, slot: str) -> str:
    digest = of.keys.get(slot, "")
    return f"{MASK} ({digest[:4]})" if digest else ""
