"""The files of holo-memory: ``l1.json`` summaries, ``l2.json`` facts, ``l3.json`` capsules, ``injections.jsonl``.

Readable, diffable, to be edited by hand: what is read back (``holoread``, ``holotake``) and differs is a revision, what
is new a record.  A file that is no JSON is put aside, never overwritten.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence

from homed.memory import entities, injections, repeats, stable
from homed.memory.injections import Injection
from homed.memory.stable import COLUMNS, Record
from homed.store.rows import SqlValue, Tx, dumps

FILES: Mapping[str, str] = {"l1.json": "summary", "l2.json": "fact", "l3.json": "capsule"}
LAYERS = {"summary": "l1", "fact": "l2", "capsule": "l3"}
EXTRACTORS = {"model": "llm", "rules": "fallback", "fallback": "fallback", "manual": "manual"}

INJECTIONS = 1000
INJECTIONS_BYTES = 1_000_000
"""The newest of these go out, as the original keeps them."""

QUERY = 200
"""Characters of a question that go out with what was told before it."""

PAGE = 200


def dump(tx: Tx, scopes: str | None, redact: Callable[[str], str]) -> dict[str, str]:
    """The files' texts by name.  What a person hid is in none of them: neither where another record said it before, nor
    where one that does not hold any more says it."""
    where = "1" if scopes is None else "scope IN (SELECT value FROM json_each(?))"
    params: tuple[SqlValue, ...] = () if scopes is None else (scopes,)
    texts = {}
    beside, taken_in = repeats.hidden_beside(tx), repeats.combined_into_hidden(tx)
    for name, record in FILES.items():
        found = tx.all(
            f"SELECT {COLUMNS} FROM records WHERE record = '{record}' AND status <> 'hidden' AND {where} ORDER BY seq",
            params,
        )
        there = [one for one in map(stable.from_row, found) if one.id not in taken_in]
        records = [
            shown(tx, one, redact, beside.get(one.id, ()))
            for one in there
            if one.status == "active" or not repeats.says(f"{one.title}\n{one.text}", beside.get(one.id, ()))
        ]
        texts[name] = json.dumps({"format": "holo", "version": 1, "records": records}, ensure_ascii=False, indent=1)
        texts[name] += "\n"
    texts["injections.jsonl"] = _injections(tx, where, params, redact)
    return texts


def shown(tx: Tx, record: Record, redact: Callable[[str], str], hidden: Sequence[frozenset[str]]) -> dict[str, object]:
    """A record in the original's shape, with our own id and what the original has no place for in ``homed``.

    ``hidden``: words of what is hidden beside it (``repeats.hidden_beside``): no text of before and no excerpt says it.
    """
    members = [row[0] for row in tx.all("SELECT record FROM members WHERE capsule = ?", (record.id,))]
    return {
        "id": record.id, "layer": LAYERS[record.record], "kind": record.kind, "title": redact(record.title) or None,
        "text": redact(record.text), "scope": record.reach, "projectKey": record.project or None,
        "tags": list(record.tags), "importance": record.importance, "confidence": round(record.confidence, 3),
        "createdAt": record.created_at, "updatedAt": record.updated_at, "citedCount": record.cited,
        "lastCitedAt": record.cited_at, "revision": record.revision, "history": _history(tx, record.id, redact, hidden),
        "source": _source(tx, record, redact, hidden), "textHash": text_hash(record.text),
        "extractor": EXTRACTORS[record.extractor], **({"memberIds": members} if members else {}),
        "homed": _ours(tx, record, redact),
    }  # fmt: skip


def _ours(tx: Tx, record: Record, redact: Callable[[str], str]) -> dict[str, object]:
    """What the original has no place for: whose it is, whether it holds, what took its place (unless that is hidden),
    and of a fact what it says of what, and of which time."""
    newer = "SELECT id FROM records WHERE id = ? AND status <> 'hidden'"
    subject, subject_type = _named(tx, record.subject)
    more = {
        "observer": record.observer, "observed": record.observed,
        "supersededBy": tx.value(newer, (record.superseded_by,)) if record.superseded_by else None,
        "level": record.level if record.level != "explicit" else None, "subject": redact(subject),
        "subjectType": subject_type, "relation": record.relation, "object": redact(record.object),
        "objectType": _named(tx, record.object_entity)[1], "validFrom": record.valid_from,
        "validUntil": record.valid_until,
    }  # fmt: skip
    said = {name: value for name, value in more.items() if value not in (None, "")}
    return {"scope": record.scope, "status": record.status, **said}


def _named(tx: Tx, entity: str | None) -> tuple[str, str]:
    """The name and type of what a fact is about; whoever speaks by the word that means them anywhere."""
    found = entities.get(tx, entity) if entity else None
    if found is None:
        return "", ""
    return entities.SELF_NAME if entities.speaks(tx, found.id) else found.name, found.type


def text_hash(text: str) -> str:
    """As the original marks a text."""
    return f"sha256:{hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()}"


def _history(
    tx: Tx, record: str, redact: Callable[[str], str], hidden: Sequence[frozenset[str]]
) -> list[dict[str, object]]:
    return [
        {"revision": r.revision, "text": redact(r.text), "title": redact(r.title) or None, "importance": r.importance,
         "tags": list(r.tags), "updatedAt": r.at, "source": r.why}
        for r in stable.history(tx, record)
        if not repeats.says(f"{r.title}\n{r.text}", hidden)
    ]  # fmt: skip


def _source(
    tx: Tx, record: Record, redact: Callable[[str], str], hidden: Sequence[frozenset[str]]
) -> dict[str, object] | None:
    row = tx.one(
        "SELECT e.thread, e.turn, e.seq, e.kind, v.excerpt, v.hash FROM evidence v JOIN events e ON e.id = v.event"
        " WHERE v.record = ? ORDER BY v.first IS NULL, v.id LIMIT 1",
        (record.id,),
    )
    if row is None:
        return None if record.origin == "auto" else {"origin": record.origin}
    thread, turn, seq, kind, excerpt, hash_ = row
    found = {"origin": record.origin, "sessionId": thread, "turnId": turn, "seqStart": seq, "seqEnd": seq, "role": kind}
    if not excerpt or repeats.says(excerpt, hidden):  # the place alone: the words are where they were said
        return found
    return {**found, "excerpt": redact(excerpt), "excerptHash": f"sha256:{hash_}"}


def _injections(tx: Tx, where: str, params: tuple[SqlValue, ...], redact: Callable[[str], str]) -> str:
    """The newest of the ledger, oldest first, with the question as the turn's input has it now."""
    rows = tx.all(f"SELECT turn, seq FROM injections WHERE {where} ORDER BY seq DESC LIMIT ?", (*params, INJECTIONS))
    lines: list[str] = []
    room = INJECTIONS_BYTES
    for at in range(0, len(rows), PAGE):
        some = rows[at : at + PAGE]
        asked = injections.questions(tx, [turn for turn, _ in some])
        for told in injections.by_seq(tx, [seq for _, seq in some]):
            line = dumps(_injection(told, redact(asked.get(told.turn, "")))) + "\n"
            room -= len(line.encode("utf-8", "surrogatepass"))
            if room < 0:
                return "".join(reversed(lines))
            lines.append(line)
    return "".join(reversed(lines))


def _injection(told: Injection, question: str) -> dict[str, object]:
    """A row in the original's shape; what it has no place for in ``lines``."""
    counts = {LAYERS[record]: told.counts.get(record, 0) for record in LAYERS}
    return {
        "ts": told.at, "sessionId": told.thread, "turnId": told.turn, "query": " ".join(question.split())[:QUERY],
        "mode": told.mode, **counts, "chars": told.chars, "ids": [line.id for line in told.lines],
        "revs": [line.revision for line in told.lines], "ms": told.ms, "channels": dict(told.channels),
        "late": list(told.late), "below": told.below, "cut": told.cut,
        "lines": [
            {"band": line.band, "why": line.why, "score": line.score, "rel": line.relevance, "evidence": line.evidence}
            for line in told.lines
        ],
    }  # fmt: skip
