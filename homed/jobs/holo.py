"""The files of holo-memory: ``l1.json`` summaries, ``l2.json`` facts, ``l3.json`` capsules, ``injections.jsonl``.

Readable, diffable, to be edited by hand: what is read back and differs is a revision, what is new is a record by hand.
A file that is no JSON is put aside, never overwritten.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from homed.errors import HomedError
from homed.memory import facts, injections, repeats, rests, stable, tombstones
from homed.memory.hiding import HID
from homed.memory.injections import Injection
from homed.memory.newfact import NewFact
from homed.memory.normal import key as normal_key
from homed.memory.stable import COLUMNS, KINDS, Record
from homed.redact import redact as plain_redact
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

EDITED = "edited in an export"


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
        "homed": {"scope": record.scope, "status": record.status},
    }  # fmt: skip


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
        return None if record.origin != "manual" else {"origin": "manual"}
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


# -- back in -----------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Read:
    """What a file brought: records looked at, edited, new, left as they are, and refused, by reason."""

    seen: int = 0
    revised: int = 0
    new: int = 0
    same: int = 0
    refused: dict[str, int] = field(default_factory=dict)

    def refuse(self, why: str) -> None:
        """One more."""
        self.refused[why] = self.refused.get(why, 0) + 1


def parse(text: bytes) -> list[object]:
    """The records of a file; raises ValueError for what is none."""
    found = json.loads(text)
    records = found.get("records") if isinstance(found, dict) else found
    if not isinstance(records, list):
        raise ValueError("no records")
    return records


def take(tx: Tx, given: object, record: str, read: Read, *, scope: str, at: float) -> None:
    """Take one record: known and edited, a revision; unknown, a record by hand of ``scope``; else it stays as it is."""
    read.seen += 1
    if not isinstance(given, dict) or not isinstance(text := given.get("text"), str) or not text.strip():
        return read.refuse("no text")
    id_, title = str(given.get("id", "")), given.get("title") or ""
    if not isinstance(title, str) or plain_redact(f"{title}\n{text}") != f"{title}\n{text}":
        return read.refuse("secret" if isinstance(title, str) else "title")
    known = stable.get(tx, id_)
    if known is not None:
        return _revise(tx, known, given, read, at)
    return _new(tx, given, record, read, scope, at)


def _revise(tx: Tx, known: Record, given: Mapping[str, object], read: Read, at: float) -> None:
    text, title = str(given["text"]).strip(), str(given.get("title") or "")
    importance = given.get("importance", known.importance)
    if not isinstance(importance, int) or not 1 <= importance <= 10:
        return read.refuse("importance")
    if (text, title, importance) == (known.text, known.title, known.importance):
        read.same += 1
        return None
    if _forgotten(tx, known, text):
        return read.refuse("forgotten")
    if len(text) > stable.LONGEST[known.record]:
        return read.refuse("too long")
    changed: dict[str, SqlValue] = {
        "text": text, "title": title, "importance": importance, "key": normal_key(text), "origin": "manual",
        "extractor": "manual",
    }  # fmt: skip
    stable.revise(tx, known, changed, why=EDITED, at=at)
    read.revised += 1
    return None


def _forgotten(tx: Tx, known: Record, text: str) -> bool:
    """Whether a text brings back what was forgotten or hidden: a file of before that is no edit."""
    said = [text, *(rests.sentences(text) if known.record == "capsule" else ())]
    if any(tombstones.buried(tx, known.scope, one.strip()) for one in said if one.strip()):
        return True
    return any(old.text == text and old.why.startswith(f"{HID} ") for old in stable.history(tx, known.id))


def _new(tx: Tx, given: Mapping[str, object], record: str, read: Read, scope: str, at: float) -> None:
    kind, importance, tags = given.get("kind"), given.get("importance", 5), given.get("tags", [])
    if record != "fact":
        return read.refuse("only facts can be new")
    if kind not in KINDS["fact"]:
        kind = "fact"
    if not isinstance(importance, int) or not 1 <= importance <= 10 or not isinstance(tags, list):
        return read.refuse("importance or tags")
    text = str(given["text"]).strip()
    if tombstones.buried(tx, scope, text) or tombstones.known_ids(tx, scope, "record", [str(given.get("id"))]):
        return read.refuse("forgotten")
    new = NewFact(
        scope=scope, text=text, kind=str(kind), title=str(given.get("title") or ""), importance=importance,
        tags=tuple(str(tag) for tag in tags[: stable.TAGS]), origin="manual", extractor="manual", confidence=0.9,
    )  # fmt: skip
    try:
        put = facts.put(tx, new, at=at)
    except HomedError as error:
        return read.refuse(error.code)
    if put.outcome == "refused":
        return read.refuse(put.why.split(":")[0])
    read.new += put.outcome in ("new", "supersedes", "conflict")
    read.same += put.outcome in ("same", "improved")
    return None
