"""Ranking of the stable layer: facts, summaries and capsules by words and vectors, entities by vectors alone."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from homed.memory.ports import Dense
from homed.retrieval import channels, fuse, lexical
from homed.retrieval.asking import Question
from homed.retrieval.channels import POOL
from homed.retrieval.fuse import Fusion
from homed.store.rows import Tx, dumps

KINDS = ("summary", "fact", "capsule")

CHARACTERS = 4
"""Of a token, about."""

DAY = 86_400.0

SETTLED = 0.30
"""Relevance from which on a record's rank counts in full: the first of what is hardly relevant is no better for it."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which records: ``kinds`` of summary, fact and capsule; of the ``project``'s own only this one's.

    For people who look through what there is: ``statuses`` besides those that hold, and ``anywhere``: of any project.
    """

    scope: str
    kinds: frozenset[str]
    now: float
    project: str = ""
    statuses: frozenset[str] = frozenset({"active"})
    anywhere: bool = False


@dataclass(frozen=True, slots=True)
class Ranked:
    """A record or an entity and what it is ranked by; ``parts`` what each channel gave to it.

    ``relevance``, 0..1: how much the question is about it, whatever else counts; what the gate of injection looks at.
    """

    seq: int
    id: str
    score: float
    parts: Mapping[str, float]
    relevance: float = 0.0


@dataclass(frozen=True, slots=True)
class _Standing:
    """What of a record counts beside its words."""

    id: str
    tokens: int
    importance: int
    cited: int
    updated_at: float
    project: str


def records(tx: Tx, dense: Dense, question: Question, wanted: Wanted, *, limit: int, fusion: Fusion) -> list[Ranked]:
    """The records that hold and that the question is about, best first; of equal ones the newest.

    What was superseded, archived, hidden or put in quarantine is no longer one that holds.  How important a record is,
    how often it was cited and how new it is weigh a little, but never more than an exact symbol does.
    """

    def read(seqs: Sequence[int]) -> dict[int, _Standing]:
        return _standing(tx, wanted, seqs)

    asked = lexical.ask(tx, scope=wanted.scope, query=question.text, source=lexical.RECORDS)
    matched = lexical.candidates(tx, asked)
    most = max(POOL, limit)
    pool: dict[int, _Standing] = {}
    for ranking in (
        channels.best(lexical.weights(matched)),
        channels.nearest(tx, dense, question, wanted.scope, ("record",), most + POOL),
    ):
        pool |= channels.enough(read, ranking, lambda _: True, most)
    filled = lexical.filled(tx, asked, matched, pool)
    near = channels.closeness(tx, dense, question, wanted.scope, ("record",), pool)
    tokens = {seq: one.tokens for seq, one in pool.items()}
    parts, means = _means(asked, filled, tokens, near, fusion)
    relevant = _relevant(means, near)
    scores = _scores(means, relevant, {seq: _prior(pool[seq], wanted.now) for seq in means})
    if not asked.plain:
        relevant = _relevant(_means(asked, filled, tokens, near, fusion, unasked=True)[1], near)
    if shares := lexical.exact_shares(asked, filled):
        relevant, scores = fuse.exact_first(relevant, shares), fuse.exact_first(scores, shares)
    ranked = sorted(scores, key=lambda seq: (-scores[seq], -pool[seq].updated_at, pool[seq].id))
    return [
        Ranked(
            seq, pool[seq].id, scores[seq], {name: values.get(seq, 0.0) for name, values in parts.items()},
            relevant.get(seq, 0.0),
        )
        for seq in ranked[:limit]
        if scores[seq] > 0
    ]  # fmt: skip


def _means(
    asked: lexical.Asked,
    matched: lexical.Matched,
    tokens: Mapping[int, int],
    near: Mapping[int, float],
    fusion: Fusion,
    *,
    unasked: bool = False,
) -> tuple[dict[str, Mapping[int, float]], dict[int, float]]:
    """What each channel gives, and their mean: for the order, or for what is told unasked."""
    parts: dict[str, Mapping[int, float]] = {"words": lexical.coverage(asked, matched, tokens, unasked=unasked)}
    if near:
        parts["vectors"] = {**parts["words"], **near}
    if near and not asked.known(unasked=unasked):
        del parts["words"]
    return parts, channels.means(parts, fusion, lexical.certainty(asked, matched, unasked=unasked))


def _relevant(means: Mapping[int, float], near: Mapping[int, float]) -> dict[int, float]:
    return {seq: max(fuse.relevance(mean), fuse.relevance(near.get(seq, 0.0))) for seq, mean in means.items()}


def _scores(means: Mapping[int, float], relevant: Mapping[int, float], priors: Mapping[int, float]) -> dict[int, float]:
    """What each is ranked by, 0..1: half its rank among the others, as far as it is relevant at all, half how relevant
    it is; times what else counts."""
    most = max(means.values(), default=0.0)
    if most <= 0:
        return {}
    return {
        seq: min(1.0, (0.5 * mean / most * min(1.0, relevant[seq] / SETTLED) + 0.5 * relevant[seq]) * priors[seq])
        for seq, mean in means.items()
    }


def entities(tx: Tx, dense: Dense, question: Question, scope: str, *, limit: int) -> list[Ranked]:
    """The entities whose names are nearest to the question, with their calibrated cosines."""
    near = channels.nearest(tx, dense, question, scope, ("entity",), limit)
    close = channels.closeness(tx, dense, question, scope, ("entity",), near)
    ids: dict[int, str] = dict(
        tx.all(
            "SELECT seq, id FROM entities WHERE seq IN (SELECT value FROM json_each(?)) AND +scope = ?",
            (dumps(near), scope),
        )
    )
    return [Ranked(seq, ids[seq], close[seq], {"vectors": close[seq]}) for seq in near if seq in ids and seq in close]


def _standing(tx: Tx, wanted: Wanted, seqs: Collection[int]) -> dict[int, _Standing]:
    rows = tx.all(
        "SELECT seq, id, length(title) + length(text), importance, cited, updated_at, project FROM records"
        " WHERE seq IN (SELECT value FROM json_each(?1)) AND +scope = ?2"
        " AND +status IN (SELECT value FROM json_each(?5)) AND +record IN (SELECT value FROM json_each(?3))"
        " AND (?6 OR +reach = 'user' OR project = ?4)",
        (
            dumps(list(seqs)), wanted.scope, dumps(sorted(wanted.kinds)), wanted.project,
            dumps(sorted(wanted.statuses)), int(wanted.anywhere),
        ),
    )  # fmt: skip
    return {seq: _Standing(id_, length // CHARACTERS, *more) for seq, id_, length, *more in rows}


def _prior(one: _Standing, now: float) -> float:
    """As the evidence memory has it: 3 % a step of importance, 5 % a doubling of citations, 10 % for what is new, and
    10 % for what is of the project that is worked in (of another none is here)."""
    age = max(0.0, now - one.updated_at) / DAY
    cited = 1 + min(0.15, 0.05 * math.log2(1 + one.cited))
    return (1 + 0.03 * (one.importance - 5)) * cited * (1 + 0.10 * 2 ** (-age / 30)) * (1.1 if one.project else 1.0)
