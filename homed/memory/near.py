"""Which of the facts that are known a new statement is held against.

All of them are looked at, few closely: to take two texts apart is a hundred times dearer than to see that they share
no word, and whoever is known for years has thousands of facts.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection

from homed.memory import dedupe, stable
from homed.memory.lawwords import FUNCTION_WORDS
from homed.memory.newfact import NewFact
from homed.memory.normal import UNSPACED, bag, folded, is_run, jaccard, pairs, tokens
from homed.memory.relations import CONTRARY
from homed.memory.stable import Record
from homed.store.rows import SqlValue, Tx, dumps

_WORD = re.compile(rf"[{UNSPACED}]+|(?:(?![{UNSPACED}])\w)+")

_POOL = "scope = ? AND record = 'fact' AND reach = ? AND project = ? AND observer = ? AND observed = ?"


def spoken_of(tx: Tx, scope: str, text: str, *, project: str = "", limit: int = 12) -> list[Record]:
    """Facts that hold now and that a text may speak of, nearest first: to show a model that may correct them.

    A shared word weighs by how few of the facts have it.  Some 30 ms for a thousand facts: words are taken as they
    stand, since it is a hint and no judgement.
    """
    words = _roughly(text) - FUNCTION_WORDS
    rows = tx.all(
        "SELECT id, text FROM records WHERE scope = ? AND record = 'fact' AND status = 'active'"
        " AND (reach = 'user' OR project = ?)",
        (scope, project),
    )
    shared = {id_: words & _roughly(said) for id_, said in rows}
    having = Counter(word for found in shared.values() for word in found)
    weight = {word: math.log(1 + len(rows) / count) for word, count in having.items()}
    ranked = sorted(
        ((sum(weight[word] for word in found), id_) for id_, found in shared.items() if found), reverse=True
    )
    order = {id_: place for place, (_, id_) in enumerate(ranked[:limit])}
    found = stable.select(tx, "id IN (SELECT value FROM json_each(?))", (dumps(list(order)),))
    return sorted(found, key=lambda record: order[record.id])


def _roughly(text: str) -> set[str]:
    """The words of a text, of scripts without blanks the pairs of characters."""
    found: set[str] = set()
    for word in _WORD.findall(text.casefold()):
        if word.isascii() or not is_run(word):
            found.add(word)
        else:
            found.update(pairs(word))
    return found


def near(
    tx: Tx, new: NewFact, subject: str | None, events: Collection[str], functional: Collection[str]
) -> list[Record]:
    """Those that could be the same as ``new`` or its rival, active ones first.

    ``subject``: its entity; ``events``: ids of those it rests on.  History is among them only where it rests on one of
    these too, what is quarantined only where ``new`` is untrusted, what is hidden never.
    """
    pool = (new.scope, new.reach, new.project, new.observer, new.observed)
    ids = {*_alike(tx, new, pool), *_of_subject(tx, new, subject, pool, functional), *_told(tx, pool, events)}
    found = stable.select(tx, "id IN (SELECT value FROM json_each(?))", (dumps(sorted(ids)),))
    order = {"active": 0, "superseded": 1, "archived": 2, "quarantined": 3}
    return sorted(found, key=lambda record: (order.get(record.status, 4), -record.seq))


def _of_subject(
    tx: Tx, new: NewFact, subject: str | None, pool: tuple[str, ...], functional: Collection[str]
) -> list[str]:
    """Ids of those in the same words, of the one it says it replaces, and of those that say the same of its subject, or
    the contrary: of what can have many values those with its own, as far as their letters tell."""
    doubted = " OR (status = 'quarantined' AND (key = :key OR subject = :subject))" if new.untrusted else ""
    names = ("scope", "reach", "project", "observer", "observed")
    params: dict[str, SqlValue] = {
        **dict(zip(names, pool, strict=True)), "key": dedupe.key(new.text), "replaces": new.replaces,
        "subject": subject, "relation": new.relation or None, "contrary": CONTRARY.get(new.relation),
    }  # fmt: skip
    rows = tx.all(
        "SELECT id, key = :key OR id = :replaces OR status = 'quarantined', object FROM records"
        " WHERE scope = :scope AND record = 'fact' AND reach = :reach AND project = :project AND observer = :observer"
        " AND observed = :observed AND (status IN ('active', 'archived') AND (key = :key OR id = :replaces"
        f" OR (subject = :subject AND relation IN (:relation, :contrary))){doubted})",
        params,
    )
    pieces = () if new.relation in functional else _pieces(new.object)
    return [id_ for id_, at_once, value in rows if at_once or _has(folded(value), pieces)]


def _told(tx: Tx, pool: tuple[str, ...], events: Collection[str]) -> list[str]:
    """Ids of the history that these events have told already."""
    rows = tx.all(
        f"SELECT id FROM records WHERE {_POOL} AND status = 'superseded' AND id IN"
        " (SELECT record FROM evidence WHERE event IN (SELECT value FROM json_each(?)))",
        (*pool, dumps(sorted(events))),
    )
    return [str(id_) for (id_,) in rows]


def _alike(tx: Tx, new: NewFact, pool: tuple[str, ...]) -> list[str]:
    """Ids of active records with nearly the same words, or that like what it dislikes.

    Two texts that share enough words share most of the shorter words letter by letter, and to look for those is some
    thirty times faster than to take a text apart.
    """
    mine = bag(new.text)
    words = [word for word in mine if word.isalpha()]
    enough = math.ceil(dedupe.THRESHOLD * len(mine)) - (len(mine) - len(words))
    topic = dedupe.topic(new.text) if dedupe.stance(new.text) else frozenset()
    found: list[str] = []
    for id_, text in tx.all(f"SELECT id, text FROM records WHERE {_POOL} AND status = 'active'", pool):
        plain = folded(text)
        alike = sum(word in plain for word in words) >= enough and jaccard(mine, bag(text)) >= dedupe.THRESHOLD
        if alike or (topic and _has(plain.replace("ё", "е"), topic) and dedupe.contradicts(text, new.text)):
            found.append(id_)
    return found


def _pieces(value: str) -> list[str]:
    """What every way to write a value has in it (see ``dedupe.same_value``)."""
    found: list[str] = []
    for token in tokens(value):
        if is_run(token):
            found += token
        elif token.isalpha():  # of a word that may be declined only the beginning is sure
            found.append(token if token.isascii() else token[:3])
    return found


def _has(plain: str, pieces: Collection[str]) -> bool:
    return all(piece in plain for piece in pieces)
