"""What was forgotten is not made again.  Only keyed hashes are kept: of a statement in three forms, or of an event.

The key lies in a table of its own, is made once, and goes into no export.  Whoever has the whole database can try out
guesses; whoever has a copy of these hashes alone can not.  Where a backup of another house was put back there are the
keys of both, one behind the other: hashes are made with the first, and looked for with each.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Collection, Iterable

from homed.memory.normal import bag, normal
from homed.memory.relations import canonical
from homed.store.rows import Tx, dumps

KEY = 32
"""Bytes of a key."""


def bury(
    tx: Tx, scope: str, *, texts: Iterable[str] = (), triples: Iterable[tuple[str, str, str]] = (),
    events: Iterable[str] = (), at: float,
) -> None:  # fmt: skip
    """None of these is made again in this scope by itself: statements, triples (subject's name, relation, object), and
    whatever would rest on these events alone."""
    key = keys(tx)[0]
    forms = [form for text in texts for form in _forms(text)]
    forms += [_triple(*triple) for triple in triples]
    forms += [f"event:{event}" for event in events]
    _put(tx, key, scope, forms, at)


def bury_ids(tx: Tx, scope: str, what: str, ids: Iterable[str], *, at: float) -> None:
    """These (``record``, ``entity``) do not come back from an export, whatever they say or are called."""
    _put(tx, keys(tx)[0], scope, [f"{what}:{id_}" for id_ in ids], at)


def _put(tx: Tx, key: bytes, scope: str, forms: Iterable[str], at: float) -> None:
    tx.many(
        "INSERT OR REPLACE INTO tombstones (scope, hash, at) VALUES (?, ?, ?)",
        [(scope, _hash(key, scope, form), at) for form in forms],
    )


def buried(tx: Tx, scope: str, text: str, triple: tuple[str, str, str] | None = None) -> bool:
    """True when this statement was forgotten: in these words, in another order of them, or as this triple."""
    if not _any(tx, scope):
        return False
    forms = [*_forms(text), *([_triple(*triple)] if triple else ())]
    return bool(_found(tx, scope, forms))


def events(tx: Tx, scope: str, ids: Collection[str]) -> frozenset[str]:
    """Those of these events that nothing may rest on any more."""
    return known_ids(tx, scope, "event", ids)


def known_ids(tx: Tx, scope: str, what: str, ids: Collection[str]) -> frozenset[str]:
    """Those of these (``event``, or as ``bury_ids``) that were removed."""
    if not ids or not _any(tx, scope):
        return frozenset()
    by_form = {f"{what}:{id_}": id_ for id_ in ids}
    return frozenset(by_form[form] for form in _found(tx, scope, by_form))


def lift(tx: Tx, scope: str, text: str, triple: tuple[str, str, str] | None = None) -> None:
    """A person wrote it again by hand: it may be kept again."""
    forms = [*_forms(text), *([_triple(*triple)] if triple else ())]
    hashes = [(scope, _hash(key, scope, form)) for key in keys(tx) for form in forms]
    tx.many("DELETE FROM tombstones WHERE scope = ? AND hash = ?", hashes)


def _any(tx: Tx, scope: str) -> bool:
    return tx.value("SELECT 1 FROM tombstones WHERE scope = ? LIMIT 1", (scope,)) is not None


def _found(tx: Tx, scope: str, forms: Iterable[str]) -> list[str]:
    row = tx.one("SELECT key FROM memory_key")
    if row is None:
        return []
    forms = list(forms)
    hashes = {_hash(key, scope, form): form for key in _parts(row[0]) for form in forms}
    rows = tx.all(
        "SELECT hash FROM tombstones WHERE scope = ? AND hash IN (SELECT value FROM json_each(?))",
        (scope, dumps(sorted(hashes))),
    )
    return [hashes[hash_] for (hash_,) in rows]


def keys(tx: Tx) -> list[bytes]:
    """The keys of hashes, made where there is none yet: that with which they are made first."""
    tx.execute("INSERT OR IGNORE INTO memory_key (one, key) VALUES (1, ?)", (secrets.token_bytes(KEY),))
    return _parts(tx.value("SELECT key FROM memory_key"))


def key_ids(tx: Tx) -> list[str]:
    """What names each key that is here, without telling it; none where nothing was forgotten yet."""
    key = tx.value("SELECT key FROM memory_key")
    return [hashlib.sha256(b"tombstones" + one).hexdigest()[:16] for one in _parts(key)] if key else []


def _parts(key: bytes) -> list[bytes]:
    return [key[at : at + KEY] for at in range(0, len(key), KEY)]


def _hash(key: bytes, scope: str, form: str) -> str:
    return hmac.new(key, f"{scope}\0{form}".encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()


def _forms(text: str) -> list[str]:
    return [f"text:{normal(text)}", f"words:{' '.join(sorted(bag(text)))}"]


def _triple(subject: str, relation: str, object_: str) -> str:
    return f"triple:{normal(subject)}|{canonical(relation)}|{normal(object_)}"
