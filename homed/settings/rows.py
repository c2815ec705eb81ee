"""The tables of the settings: what is stored, what was seeded, and what the model settings were before each change."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence

from homed.config import values
from homed.settings.snapshots import Snapshot
from homed.store.rows import Tx, dumps, loads

_log = logging.getLogger(__name__)


_LAST = ".last"
"""Where a change is named that has passwords or keys in it; no setting's key begins so."""


def load(tx: Tx) -> tuple[dict[str, object], frozenset[str], str]:
    """Every stored value that is JSON, the keys that were seeded, and what `note_last` noted."""
    found: dict[str, object] = {}
    last = ""
    for key, text in tx.all("SELECT key, value FROM settings"):
        if key == _LAST:
            last = text
            continue
        try:
            found[key] = values.whole(loads(text))
        except ValueError:
            _log.warning("the stored setting %s is ignored: it is not JSON", key)
    return found, frozenset(key for (key,) in tx.all("SELECT key FROM seeds")), last


def note_last(tx: Tx, change: str, now: float) -> None:
    """Note which change this transaction is; with it, what was written down of it elsewhere comes into force."""
    _put(tx, _LAST, change, now)


def _put(tx: Tx, key: str, text: str, now: float) -> None:
    tx.execute(
        "INSERT INTO settings (key, value, updated_at) VALUES (?, ?, ?)"
        " ON CONFLICT (key) DO UPDATE SET value = excluded.value, updated_at = excluded.updated_at",
        (key, text, now),
    )


def store(tx: Tx, changes: Mapping[str, object], now: float) -> None:
    """Put values in; None takes one out."""
    for key, value in changes.items():
        if value is None:
            tx.execute("DELETE FROM settings WHERE key = ?", (key,))
            continue
        _put(tx, key, dumps(value), now)


def discard(tx: Tx, prefix: str) -> None:
    """Take out every value whose key begins so."""
    for (key,) in tx.all("SELECT key FROM settings"):
        if key.startswith(prefix):
            tx.execute("DELETE FROM settings WHERE key = ?", (key,))


def seed(tx: Tx, defaults: Mapping[str, object], now: float) -> list[str]:
    """Store first values where no marker says that it was done; the keys that were stored."""
    stored: list[str] = []
    for key, value in defaults.items():
        if tx.one("SELECT 1 FROM seeds WHERE key = ?", (key,)):
            continue
        tx.execute("INSERT INTO seeds (key, seeded_at) VALUES (?, ?)", (key, now))
        if not tx.one("SELECT 1 FROM settings WHERE key = ?", (key,)):
            store(tx, {key: value}, now)
            stored.append(key)
    return stored


def in_use(tx: Tx) -> bool:
    """Whether anything was ever said here: then the database is no fresh one, whatever rows an installer made."""
    return tx.one("SELECT 1 FROM inputs") is not None


def snapshots(tx: Tx) -> list[Snapshot]:
    """Newest first; one that cannot be read is left out and logged."""
    found: list[Snapshot] = []
    for id_, at, changed, settings, keys in tx.all(
        "SELECT id, at, changed, settings, keys FROM llm_snapshots ORDER BY id DESC"
    ):
        try:
            found.append(Snapshot(id_, at, tuple(loads(changed)), values_of(settings), texts_of(keys)))
        except (ValueError, TypeError):
            _log.warning("the snapshot %s of the model settings cannot be read", id_)
    return found


def values_of(text: str) -> dict[str, object]:
    """A JSON object of settings."""
    return {str(key): values.whole(value) for key, value in dict(loads(text)).items()}


def texts_of(text: str) -> dict[str, str]:
    """A JSON object of texts."""
    return {str(key): str(value) for key, value in dict(loads(text)).items()}


def keep_snapshot(tx: Tx, snapshot: Snapshot, dropped: Sequence[int]) -> None:
    """Add one, and take these out."""
    tx.execute(
        "INSERT INTO llm_snapshots (at, changed, settings, keys) VALUES (?, ?, ?, ?)",
        (snapshot.at, dumps(list(snapshot.changed)), dumps(snapshot.settings), dumps(snapshot.keys)),
    )
    tx.many("DELETE FROM llm_snapshots WHERE id = ?", [(id_,) for id_ in dropped])
