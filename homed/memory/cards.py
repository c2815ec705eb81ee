"""Records as they are shown to people and programs: the shapes of the console's answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from homed.memory.injections import Injection, Line
from homed.memory.opened import Opened, Said
from homed.memory.stable import Record, Revision

Redact = Callable[[str], str]
"""Takes secrets out: what is stored is redacted already, but maybe by an earlier release, which knew fewer kinds."""

QUESTION = 200
"""Characters of a question in the ledger, and of a line in a list of it."""

DELETED, HIDDEN = "(deleted)", "(hidden)"
"""What stands where a line of the ledger had the words of something that is not there any more, or not shown."""


def card(record: Record, mark: str, names: Mapping[str, str], redact: Redact) -> dict[str, object]:
    """A record as lists have it.  ``names``: of entities by id.  Of what is hidden only that it is there."""
    shown = record.status != "hidden"
    return {
        "id": record.id, "shown": record.shown_id, "record": record.record, "kind": record.kind,
        "title": redact(record.title) if shown else "", "text": redact(record.text) if shown else HIDDEN,
        "scope": record.scope, "reach": record.reach, "project": record.project, "status": record.status,
        "mark": mark, "untrusted": record.untrusted, "origin": record.origin, "extractor": record.extractor,
        "level": record.level, "observed": record.observed, "tags": list(record.tags) if shown else [],
        "importance": record.importance, "confidence": round(record.confidence, 3), "times": record.times,
        "cited": record.cited, "cited_at": record.cited_at, "revision": record.revision, "recheck": record.recheck,
        "subject": _named(record.subject, names) if shown else None, "relation": record.relation if shown else "",
        "object": redact(record.object) if shown else "",
        "object_entity": _named(record.object_entity, names) if shown else None,
        "superseded_by": record.superseded_by, "valid_from": record.valid_from, "valid_until": record.valid_until,
        "created_at": record.created_at, "updated_at": record.updated_at,
    }  # fmt: skip


def brief(record: Record, redact: Redact) -> dict[str, object]:
    """A record beside another one."""
    shown = record.status != "hidden"
    return {
        "id": record.id, "shown": record.shown_id, "record": record.record, "kind": record.kind,
        "title": redact(record.title) if shown else "", "text": redact(record.text) if shown else HIDDEN,
        "status": record.status, "revision": record.revision, "valid_from": record.valid_from,
        "valid_until": record.valid_until, "created_at": record.created_at, "updated_at": record.updated_at,
        "superseded_by": record.superseded_by, "untrusted": record.untrusted,
    }  # fmt: skip


def said(one: Said, names: Mapping[str, str], redact: Redact) -> dict[str, object]:
    """A piece of evidence.  The excerpt itself is as it is stored: a hash is of it."""
    event = one.event
    place: dict[str, object] = {"event": one.item.event}
    if event is not None:
        place |= {
            "thread": event.thread, "title": redact(one.title), "channel": event.channel, "turn": event.turn,
            "kind": event.kind.value, "peer": event.peer, "speaker": names.get(event.peer, ""),
            "at": event.created_at, "layer": event.layer, "untrusted": bool(event.data.get("untrusted")),
        }  # fmt: skip
    return {
        **place, "first": one.item.first, "last": one.item.last, "text": redact(one.text), "hash_ok": one.hash_ok,
        "state": one.item.state or "pointer", "before": redact(one.before), "after": redact(one.after), "of": one.of,
        "upto": one.upto, "found_at": one.item.at,
    }  # fmt: skip


def revision(one: Revision, redact: Redact) -> dict[str, object]:
    """What a record said before.  ``at``: since when it had said so, UTC seconds."""
    return {
        "revision": one.revision, "title": redact(one.title), "text": redact(one.text), "importance": one.importance,
        "tags": list(one.tags), "why": one.why, "at": one.at,
    }  # fmt: skip


def opened(found: Opened, names: Mapping[str, str], speakers: Mapping[str, str], redact: Redact) -> dict[str, object]:
    """The result of ``memory.record``.  Of what is hidden neither what it said before: only where it comes from."""
    shown = found.record.status != "hidden"
    return {
        **card(found.record, found.mark, names, redact),
        "source": found.source,
        "evidence": [said(one, speakers, redact) for one in found.said],
        "history": [revision(one, redact) for one in found.revisions] if shown else [],
        "older": [brief(one, redact) for one in found.older],
        "newer": [brief(one, redact) for one in found.newer],
        "members": [brief(one, redact) for one in found.members],
        "capsules": [brief(one, redact) for one in found.capsules],
        "scenes": found.scenes if shown else [],
        "citations": [
            {"turn": one.turn, "thread": one.thread, "title": redact(one.title), "at": one.at} for one in found.cited
        ],
        "injections": [_told(one, found.record.id, found.titles, redact) for one in found.told],
    }


@dataclass(frozen=True, slots=True)
class Then:
    """What a row of the ledger names: its ``title``, its ``question``; ``known``: its records as they stand now;
    ``words``: what those said at the revision that was told, where they say something else by now; ``gone``: ids that
    are nowhere any more; ``most`` characters of a text."""

    title: str
    question: str
    known: Mapping[str, Record]
    words: Mapping[tuple[str, int], str]
    gone: frozenset[str]
    most: int = QUESTION


def injection(one: Injection, then: Then, redact: Redact) -> dict[str, object]:
    """A row of the ledger."""
    return {
        "seq": one.seq, "turn": one.turn, "thread": one.thread, "title": redact(then.title), "at": one.at,
        "query": _short(redact(then.question), QUESTION), "mode": one.mode, "counts": one.counts, "chars": one.chars,
        "ms": round(one.ms, 1), "late": list(one.late), "below": one.below, "cut": one.cut,
        "channels": dict(one.channels),
        "lines": [
            {
                "id": line.id, "shown": line.id[-8:], "record": line.record, "revision": line.revision,
                "band": line.band, "why": line.why, "score": line.score, "relevance": line.relevance,
                "evidence": line.evidence, "chars": line.chars, "shortened": line.shortened,
                "gone": line.id in then.gone, **_line(line, then, redact),
            }
            for line in one.lines
        ],
    }  # fmt: skip


def _line(line: Line, then: Then, redact: Redact) -> dict[str, object]:
    """The words of a line, as it was told them where they are kept: never those that a person took away."""
    record, gone = then.known.get(line.id), line.id in then.gone
    if gone or record is None:
        return {"text": DELETED if gone else "", "kind": "", "status": "", "now": 0, "as_told": False}
    was = record.text if record.revision == line.revision else then.words.get((line.id, line.revision))
    text = HIDDEN if record.status == "hidden" else _short(redact(record.text if was is None else was), then.most)
    as_told = was is not None and record.status != "hidden"
    return {"text": text, "kind": record.kind, "status": record.status, "now": record.revision, "as_told": as_told}


def _told(one: Injection, id_: str, titles: Mapping[str, str], redact: Redact) -> dict[str, object]:
    line = next(line for line in one.lines if line.id == id_)
    return {
        "seq": one.seq, "turn": one.turn, "thread": one.thread, "title": redact(titles.get(one.thread, "")),
        "at": one.at, "mode": one.mode, "band": line.band, "why": line.why, "score": line.score,
        "relevance": line.relevance, "revision": line.revision, "evidence": line.evidence, "place": _place(one, id_),
    }  # fmt: skip


def _place(one: Injection, id_: str) -> int:
    return 1 + next(at for at, line in enumerate(one.lines) if line.id == id_)


def _short(text: str, most: int) -> str:
    plain = " ".join(text[: most * 4].split())
    return plain if len(plain) <= most else f"{plain[: most - 1]}…"


def _named(entity: str | None, names: Mapping[str, str]) -> dict[str, str] | None:
    return {"id": entity, "name": names.get(entity, "")} if entity else None
