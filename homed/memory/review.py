"""Facts that may be worth nothing: found in batches, judged by a model or a person, archived, never destroyed."""

from __future__ import annotations

from collections.abc import Collection

from homed.memory import stable
from homed.memory.relations import EMPTY
from homed.memory.stable import Record
from homed.memory.temporary import is_temporary
from homed.store.rows import Tx, dumps

DOUBTFUL = 0.3
"""Confidence below which a fact is looked at again."""

BATCH = 10
KEPT = 0.4
"""Confidence of what was judged and kept: medium, so that it does not come again."""


def batch(tx: Tx, scope: str, *, limit: int = BATCH, after: int = 0) -> list[Record]:
    """The next facts to judge, in the order they were stored, of a seq above ``after``: of little confidence, or with a
    relation that says nothing ("mentioned"), or that have lost some of their evidence.  What people wrote by hand is
    theirs to judge."""
    return stable.select(
        tx,
        "scope = ? AND record = 'fact' AND status = 'active' AND origin <> 'manual' AND seq > ?"
        " AND (confidence < ? OR recheck = 1 OR (relation IN (SELECT value FROM json_each(?)) AND confidence < ?))"
        " ORDER BY seq LIMIT ?",
        (scope, after, DOUBTFUL, dumps(sorted(EMPTY)), KEPT, limit),
    )


def scopes(tx: Tx) -> list[str]:
    """Scopes that have facts, but for temporary ones: what an agent keeps for itself is not worth a model call."""
    rows = tx.all("SELECT DISTINCT scope FROM records WHERE record = 'fact'")
    return [str(scope) for (scope,) in rows if not is_temporary(scope)]


def settle(tx: Tx, scope: str, *, keep: Collection[str] = (), discard: Collection[str] = (), at: float) -> int:
    """Archive what was judged worthless, and make surer what was kept; ids of this scope, others are left alone.

    Returns how many were archived.  What is in both is kept.
    """
    among = "scope = ? AND record = 'fact' AND status = 'active' AND id IN (SELECT value FROM json_each(?))"
    tx.execute(
        f"UPDATE records SET confidence = max(confidence, ?), recheck = 0, updated_at = ? WHERE {among}",
        (KEPT, at, scope, dumps(sorted(keep))),
    )
    gone = dumps(sorted(set(discard) - set(keep)))
    tx.execute(f"UPDATE records SET status = 'archived', updated_at = ? WHERE {among}", (at, scope, gone))
    return tx.changes()
