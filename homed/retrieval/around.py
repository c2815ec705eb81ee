"""Where events stand, and what was said around them in the same conversation."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from homed.retrieval.saying import NAME, SEEN, asking, speaker
from homed.store.rows import Tx, dumps, loads

BEFORE = (0.5, 0.25)
"""What an event is lent by the one before it and by the one before that: an answer seldom repeats the question's
words, so of two that stand next to each other the later one is more often what is looked for."""

AFTER = (0.25,)
"""What it is lent by the one behind it: a question is found by its answer too, but less."""

DAY = 86400.0

FAR = max(len(BEFORE), len(AFTER))

_TALK = "o.kind IN ('user', 'assistant') AND o.text <> ''"


@dataclass(frozen=True, slots=True)
class Place:
    """Where an event stands, and in UTC seconds when; ``asking`` the share of it that asks.

    ``speaker``: the name of who said it, if known; ``voice``: what tells who said it from all others.
    """

    seq: int
    id: str
    thread: str
    layer: str
    tokens: int
    at: float = 0.0
    asking: float = 0.0
    speaker: str = ""
    voice: str = ""

    @property
    def sitting(self) -> tuple[str, int]:
        """Its conversation and the day (UTC): some conversations never end."""
        return self.thread, int(self.at // DAY)


Sides = tuple[Sequence[int], Sequence[int]]
"""The events before and after one, nearest first."""


def places(tx: Tx, scope: str, seqs: Iterable[int]) -> dict[int, Place]:
    """Those of these events that are the scope's and may be recalled."""
    rows = tx.all(
        "SELECT e.seq, e.id, e.thread, e.layer, e.tokens, e.created_at, e.kind, e.peer, p.name,"
        " iif(length(e.text) <= ?, e.text, substr(e.text, 1, ?)) FROM events e LEFT JOIN peers p ON p.id = e.peer"
        " WHERE e.seq IN (SELECT value FROM json_each(?)) AND +e.scope = ? AND +e.no_memory = 0",
        (SEEN, NAME, dumps(list(seqs)), scope),
    )
    return {row[0]: _place(*row) for row in rows}


def _place(seq: int, id_: str, thread: str, layer: str, tokens: int, at: float, *said: str) -> Place:
    kind, peer, name, text = said
    begins = speaker(text)
    return Place(seq, id_, thread, layer, tokens, at, asking(text), begins or name or "", f"{kind} {peer} {begins}")


def sides(tx: Tx, seqs: Iterable[int]) -> dict[int, Sides]:
    """What was said (no tool results, no notes) right before and after each of these events, in its conversation."""
    side = (
        "(SELECT json_group_array(seq) FROM (SELECT o.seq FROM events o WHERE o.thread = e.thread AND o.seq {} e.seq"
        f" AND {_TALK} ORDER BY o.seq {{}} LIMIT {FAR}))"
    )
    rows = tx.all(
        f"SELECT e.seq, {side.format('<', 'DESC')}, {side.format('>', 'ASC')}"
        " FROM json_each(?) j JOIN events e ON e.seq = j.value",
        (dumps(list(seqs)),),
    )
    return {seq: (loads(before), loads(after)) for seq, before, after in rows}


def sides_within(found: Mapping[int, Place]) -> dict[int, Sides]:
    """The same among these events alone, all of them counted as said."""
    threads: dict[str, list[int]] = {}
    for seq in sorted(found):
        threads.setdefault(found[seq].thread, []).append(seq)
    return {
        seq: (line[max(0, at - FAR) : at][::-1], line[at + 1 : at + 1 + FAR])
        for line in threads.values()
        for at, seq in enumerate(line)
    }


def lent(own: Mapping[int, float], beside: Mapping[int, Sides], found: Mapping[int, Place]) -> dict[int, float]:
    """Each one's own and what those with known sides lend it of theirs.

    Only along a dialogue: of what one voice says without an answer, each is a statement of its own.
    """
    sums = dict(own)
    for seq, (before, after) in beside.items():
        value = own.get(seq, 0.0)
        if value > 0:
            _give(sums, value, AFTER, _answering(seq, before, found))
            _give(sums, value, BEFORE, _answering(seq, after, found))
    return sums


def _answering(seq: int, others: Sequence[int], found: Mapping[int, Place]) -> Iterator[int]:
    """The others as long as each is said by another than the one before it."""
    last = found[seq].voice
    for other in others:
        if other not in found or found[other].voice == last:
            return
        last = found[other].voice
        yield other


def _give(sums: dict[int, float], value: float, shares: Sequence[float], others: Iterable[int]) -> None:
    for share, other in zip(shares, others, strict=False):
        sums[other] = sums.get(other, 0.0) + share * value
