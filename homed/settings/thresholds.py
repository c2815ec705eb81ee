"""Thresholds: settings that each prevent one failure.  Whoever moves one says why, and that stays written down.

A threshold that somebody moved months ago, for a reason nobody knows any more, is one that nobody dares to move back.
So the registry takes no other value without a reason, on whatever path it comes; where a value is given from outside
the database nobody can be asked, and it is noted at the start where it was given.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from homed.clock import WallClock
from homed.config.definitions import (
    ACTIVE_CHARS,
    ACTIVE_IMPORTANCE,
    EMBEDDING_BASELINE,
    EXTRACT_MAX_TRANSCRIPT,
    EXTRACT_MIN_TURN,
    INJECT_MAX_CHARS,
    INJECT_MIN_SCORE,
    QUERY_TIMEOUT,
    RRF_CONSTANT,
    SOURCE_EXCERPT,
    Definition,
)
from homed.errors import ConfigError, StorageError
from homed.redact import redact
from homed.settings.views import SettingView
from homed.store.rows import Storage, Tx, dumps, loads

_log = logging.getLogger(__name__)

PREVENTS: Mapping[str, str] = {
    INJECT_MIN_SCORE: "notes that share no more than a few weak words with what was said",
    INJECT_MAX_CHARS: "notes that crowd out the conversation and delay the first word",
    ACTIVE_CHARS: "notes that always stand there outweighing the question",
    ACTIVE_IMPORTANCE: "what hardly matters being carried along with every message",
    EXTRACT_MIN_TURN: "summaries of small talk",
    EXTRACT_MAX_TRANSCRIPT: "a background question that is too long for its model",
    EMBEDDING_BASELINE: "texts that have nothing to do with each other counting as near",
    QUERY_TIMEOUT: "a slow embedding endpoint delaying every answer",
    SOURCE_EXCERPT: "a database that swells with copies of what was said",
    RRF_CONSTANT: "the first few of one channel deciding the whole ranking",
}
"""Key → the failure that it prevents, as the end of "it prevents …"."""

BELOW: tuple[tuple[str, str], ...] = ((ACTIVE_CHARS, INJECT_MAX_CHARS),)
"""Pairs of keys of which the first must be less than the second."""

REASON = 500
"""Characters of a reason at the most."""
KEPT = 1000
"""Changes that are kept, the newest."""
SHOWN = 20
"""Of one threshold that are shown, the newest first."""

OUTSIDE = "set in "
"""What a reason begins with that nobody could be asked for."""


@dataclass(frozen=True, slots=True)
class Because:
    """Why settings are changed, and by whom.  Only thresholds ask."""

    reason: str = ""
    peer: str = ""


NOT_SAID = Because()


@dataclass(frozen=True, slots=True)
class Change:
    """A threshold was moved.  ``at``: UTC seconds; ``peer`` '' where nobody was asked."""

    key: str
    was: object
    now: object
    reason: str
    peer: str = ""
    at: float = 0.0

    def wire(self) -> dict[str, object]:
        """For answers."""
        return {"was": self.was, "now": self.now, "reason": self.reason, "peer": self.peer, "at": self.at}


@dataclass(frozen=True, slots=True)
class ThresholdView:
    """One for people: the setting, the failure that it prevents, and how it came to be what it is, newest first."""

    setting: SettingView
    prevents: str
    changes: tuple[Change, ...]

    def wire(self) -> dict[str, object]:
        """As ``memory.thresholds`` has it."""
        one, definition = self.setting, self.setting.definition
        return {
            "key": one.key, "value": one.value, "default": definition.default, "type": definition.type,
            "minimum": definition.minimum, "maximum": definition.maximum, "name": definition.name,
            "description": definition.description, "source": one.source, "place": one.place,
            "prevents": self.prevents, "changes": [change.wire() for change in self.changes],
        }  # fmt: skip


def moving(get: Callable[[str], object], changes: Iterable[tuple[Definition, object]], why: Because) -> list[Change]:
    """What is to be noted of these changes (None: the default again) while ``get`` still gives what was.

    Raises as `moved` and `in_order`.
    """
    before = {key: get(key) for key in PREVENTS}
    after = {d.key: d.default if value is None else value for d, value in changes if d.key in before}
    in_order(before, after)
    return moved(before, after, why)


def moved(before: Mapping[str, object], after: Mapping[str, object], why: Because) -> list[Change]:
    """The thresholds among these settings that get another value: what is to be noted of it.

    Raises ``ConfigError``, which names the key and the failure, where nobody says why; ``detail`` has ``needs``,
    ``keys`` and ``prevents``.
    """
    keys = [key for key in after if key in PREVENTS and after[key] != before[key]]
    reason = " ".join(redact(why.reason).split())
    if keys and not any(map(str.isalnum, reason)):  # dots, and what nobody can see, say nothing
        first, failure, others = keys[0], PREVENTS[keys[0]], ", ".join(keys[1:])
        said = f"{first} prevents {failure}: a change of it needs a reason."
        raise ConfigError(
            f"{first} prevents {failure}: a change of it needs a reason. So do {others}." if others else said,
            hint='Say why, which is kept: `homed config set KEY VALUE --reason "…"`, in waiter'
            " `/settings set KEY VALUE --reason …`; on the page there is a field.",
            detail={"key": first, "keys": keys, "needs": "reason", "prevents": failure},
        )
    if keys and len(reason) > REASON:
        raise ConfigError(f"A reason may have {REASON} characters at most.", detail={"needs": "reason", "keys": keys})
    return [Change(key, before[key], after[key], reason, why.peer) for key in keys]


def explained(
    tx: Tx, given: Iterable[tuple[Definition, object]], moved: Iterable[Change], why: Because
) -> list[Change]:
    """What a reason says of thresholds that were ``given`` and not ``moved``: to be noted of those that came to their
    value without anybody saying why, so that whoever hears of them from the health check can say it."""
    reason = " ".join(redact(why.reason).split())[:REASON]
    if not any(map(str.isalnum, reason)):
        return []
    known, noted = last(tx), {one.key for one in moved}
    found: list[Change] = []
    for definition, value in given:
        if value is None or definition.key in noted:
            continue
        before = known.get(definition.key)
        was = definition.default if before is None else before.now
        if definition.key in PREVENTS and (was != value or (before is not None and not before.reason.strip())):
            found.append(Change(definition.key, was, value, reason, why.peer))
    return found


def faults(values: Mapping[str, object]) -> list[tuple[str, str]]:
    """(key, sentence) for each threshold that is out of order with another one.  A value by itself is in its range
    already: nothing else is stored or taken from outside."""
    return [
        (low, f"{low} must be less than {high}; they are {values[low]} and {values[high]}.")
        for low, high in BELOW
        if not _less(values[low], values[high])
    ]


def in_order(before: Mapping[str, object], after: Mapping[str, object]) -> None:
    """Raises ``ConfigError`` where a change brings thresholds out of order that were in order before."""
    known = [key for key, _ in faults(before)]
    for key, sentence in faults({**before, **after}):
        if key not in known:
            raise ConfigError(sentence, detail={"key": key})


def _less(low: object, high: object) -> bool:
    return isinstance(low, (int, float)) and isinstance(high, (int, float)) and low < high


def note(tx: Tx, changes: Iterable[Change], at: float) -> None:
    """Write them down; the oldest go where there are too many."""
    rows = [(one.key, dumps(one.was), dumps(one.now), one.reason, one.peer, at) for one in changes]
    if rows:
        tx.many("INSERT INTO threshold_changes (key, was, now, reason, peer, at) VALUES (?, ?, ?, ?, ?, ?)", rows)
        tx.execute("DELETE FROM threshold_changes WHERE seq <= (SELECT max(seq) FROM threshold_changes) - ?", (KEPT,))


def last(tx: Tx) -> dict[str, Change]:
    """The last change of each key."""
    rows = tx.all(
        "SELECT key, was, now, reason, peer, at FROM threshold_changes"
        " WHERE seq IN (SELECT max(seq) FROM threshold_changes GROUP BY key)"
    )
    return {row[0]: _change(*row) for row in rows}


def changes(tx: Tx) -> dict[str, tuple[Change, ...]]:
    """Key → its newest changes, the newest first."""
    found: dict[str, list[Change]] = {}
    for row in tx.all("SELECT key, was, now, reason, peer, at FROM threshold_changes ORDER BY seq DESC"):
        of_key = found.setdefault(row[0], [])
        if len(of_key) < SHOWN:
            of_key.append(_change(*row))
    return {key: tuple(of_key) for key, of_key in found.items()}


def _change(key: str, was: str, now: str, reason: str, peer: str, at: float) -> Change:
    return Change(key, loads(was), loads(now), reason, peer, at)


def views(view: Callable[[str], SettingView], known: Mapping[str, tuple[Change, ...]]) -> list[ThresholdView]:
    """Each of them; ``known``: its changes."""
    return [ThresholdView(view(key), prevents, known.get(key, ())) for key, prevents in PREVENTS.items()]


async def note_unasked(view: Callable[[str], SettingView], store: Storage, wall: WallClock) -> None:
    """Note which thresholds were moved while nobody could be asked why; once at a start, by whoever may write.

    Raises nothing: a database that takes nothing any more keeps homed from nothing.  Cancelled, the next start does it.
    """
    shown = [view(key) for key in PREVENTS]
    try:
        if found := unnoted(shown, await store.read(last)):
            now = wall()
            await store.write(lambda tx: note(tx, found, now))
    except StorageError as error:
        _log.warning("what moved the thresholds is not noted: %s", error.message)


def unnoted(shown: Iterable[SettingView], known: Mapping[str, Change]) -> list[Change]:
    """Thresholds that are not what was last noted of them: something moved them of which no change is known.

    ``shown``: of each threshold; one without a change is known by its default.
    """
    found: list[Change] = []
    for view in shown:
        before = known.get(view.key)
        was = view.definition.default if before is None else before.now
        if view.value != was:
            found.append(Change(view.key, was, view.value, _unasked(view, before)))
    return found


def _unasked(view: SettingView, before: Change | None) -> str:
    if view.place:
        return f"{OUTSIDE}{view.place}"
    if before is not None and before.reason.startswith(OUTSIDE):
        return f"no longer {before.reason}"
    return "stored before reasons were asked for" if before is None else "found changed at a start"
