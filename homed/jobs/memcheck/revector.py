"""Making some vectors anew, to see whether those that are kept are of the same texts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from homed.jobs.memcheck.room import Room
from homed.jobs.memcheck.rows import Found
from homed.retrieval.embed.chunk import chunks
from homed.retrieval.vectors import rows
from homed.retrieval.vectors.texts import Source, sources
from homed.store.rows import Tx

if TYPE_CHECKING:
    from numpy.typing import NDArray

KINDS = ("record", "entity", "event")


async def compared(room: Room, most: int, alike: float) -> Found:
    """Up to ``most`` vectors, spread over all, against new ones of what their items say now.

    Nothing is read where there is no embedder, or nothing is kept in its space.  Raises HomedError when it fails.
    """
    embedder = room.vectors.embedder if room.vectors is not None else None
    if embedder is None or room.vectors is None:
        return Found()
    space = embedder.space
    kept = await room.store.read(lambda tx: _kept(tx, space.fingerprint, most))
    texts = await room.vectors.texts([source for source, _ in kept])
    pieces = [next(iter(chunks(text)), "") for text in texts]
    named = [(source, vector, piece) for (source, vector), piece in zip(kept, pieces, strict=True) if piece]
    if not named:
        return Found()
    made = await embedder.embed([piece for _, _, piece in named])
    lengths = np.maximum(np.linalg.norm(made, axis=1), 1e-9)
    cosines = (made / lengths[:, None] * np.stack([vector for _, vector, _ in named])).sum(axis=1)
    wrong = [
        f"{source.kind} {source.item}"
        for (source, _, _), cosine in zip(named, cosines.tolist(), strict=True)
        if not cosine >= alike
    ]
    return Found(len(named), len(named), len(wrong), [], wrong)


def _kept(tx: Tx, fingerprint: str, most: int) -> list[tuple[Source, NDArray[np.float32]]]:
    """First vectors of items whose vector is not waited for, with what they are made of now."""
    known = rows.space_of(tx, fingerprint)
    if known is None:
        return []
    found: list[tuple[Source, NDArray[np.float32]]] = []
    for kind in KINDS:
        some = _spread(tx, kind, known[0], max(1, most // len(KINDS)))
        made = sources(tx, kind, [item for item, _ in some], pictures=False)
        vectors = rows.decoded([data for _, data in some], known[1])
        found += [(made[item], vectors[at]) for at, (item, _) in enumerate(some) if item in made]
    return found


def _spread(tx: Tx, kind: str, space: int, most: int) -> Sequence[tuple[int, bytes]]:
    where = (
        "v.kind = ? AND v.space = ? AND v.part = 0 AND NOT EXISTS"
        " (SELECT 1 FROM vector_todo t WHERE t.kind = v.kind AND t.item = v.item)"
    )
    count = int(tx.value(f"SELECT count(*) FROM vectors v WHERE {where}", (kind, space)))
    step = max(1, count // most)
    found = tx.all(
        f"SELECT item, data FROM (SELECT v.item, v.data, row_number() OVER (ORDER BY v.item DESC) AS place"
        f" FROM vectors v WHERE {where}) WHERE place % ? = 0 LIMIT ?",
        (kind, space, step, most),
    )
    return [(int(item), bytes(data)) for item, data in found]
