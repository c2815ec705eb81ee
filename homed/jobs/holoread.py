"""A record of holo-memory's files as it is read: nothing in it is believed before it was looked at.  Pure.

Anybody may have written such a file, and whatever JSON can hold may stand anywhere in it.  What a record can do without
falls to what is plain; what it cannot be taken in without has it refused, with a word that says why.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any

from homed.memory import dedupe, facts
from homed.memory.blocked import cleaned, secret_in, shortened
from homed.memory.capsules import LONGEST_TITLE
from homed.memory.forget_before import BACK, HID
from homed.memory.repeats import COMBINED
from homed.memory.seen import seen
from homed.memory.stable import KINDS, LONGEST, REVISIONS, TAGS
from homed.memory.temporary import is_temporary

PLAIN = {"summary": "turn", "fact": "fact", "capsule": "thread"}
"""The kind of a record whose own is none of ours."""

EXTRACTORS: Mapping[object, str] = {
    "llm": "model", "model": "model", "rules": "rules", "fallback": "fallback", "manual": "manual",
}  # fmt: skip
STATUSES = ("active", "superseded", "archived", "quarantined")

LONGEST_RAW = 20_000
"""Characters of a text or title that are looked at; what is longer is no record's."""

LONGEST_TAG, LONGEST_WHY = 40, 200
MOST_CITED, MOST_REVISED = 1_000_000, 1_000_000
MOST_MEMBERS = 1000
"""Of a capsule; those behind them are left out."""

DIGITS = 20
"""Digits of a whole number; no longer one is any number of a record."""

MILLISECONDS = 1e11
"""From here on a time counts these: in seconds it would be the year 5138."""

TEXT, LONG, SECRET, TITLE = "no text", "too long", "secret", "title"
NUMBERS, PROJECT = "importance or tags", "without its project"
STATUS, SCOPE, AGENT = "a status that is none", "a scope that is none", "of an agent that is not here"
WHYS = (TEXT, LONG, SECRET, TITLE, NUMBERS, PROJECT, STATUS, SCOPE, AGENT)

_SCOPE = re.compile(r"owner|temp:.*|(?:guest|trusted):[^\s:]{1,60}:\S{1,200}|group:[^\s:]{1,60}:\S{1,200}")
_PEER = re.compile(r"[^\s:]{1,60}:\S{1,200}")
_PROJECT = re.compile(r"[\w.:@+-]{1,80}")
_ID = re.compile(r"[\w.:@+-]{1,80}", re.ASCII)
_HASH = re.compile(r"(?:sha256:)?([0-9a-f]{64})")
_TAIL = re.compile(r"(?<![0-9a-z])[0-9a-f]{8}\Z")


class Refused(Exception):
    """Not taken in; ``args[0]`` says why, in words of ours only."""


@dataclass(frozen=True, slots=True)
class Source:
    """Where a record says it is from: ids of a conversation and a turn, the places of its events, whose they are, and
    what stood there with the hash of it (hex)."""

    thread: str
    turn: str
    first: int
    last: int
    role: str
    excerpt: str
    hash: str


@dataclass(frozen=True, slots=True)
class Before:
    """What a record said before, and why that was changed; ``at``: UTC seconds, None where that is not known."""

    title: str
    text: str
    importance: int
    tags: tuple[str, ...]
    why: str
    at: float | None


@dataclass(frozen=True, slots=True)
class Given:
    """A record as a file has it, looked at.  ``raw``: its text and title as they stood there.

    ``created_at``, ``updated_at``: UTC seconds, not in the future; now, where it does not say.  ``dated``: it says.
    ``before``: the newest first.  ``extractor``, ``kind``, ``level``, ``reach`` and ``status`` are words of ours.
    ``subject``, ``object``: a name, and the type of what it names, as ``NewFact`` has them.
    """

    id: str
    record: str
    kind: str
    title: str
    text: str
    raw: tuple[str, str]
    scope: str
    observer: str
    observed: str
    status: str
    superseded_by: str
    reach: str
    project: str
    tags: tuple[str, ...]
    importance: int
    confidence: float
    created_at: float
    updated_at: float
    dated: bool
    cited: int
    cited_at: float | None
    revision: int
    before: tuple[Before, ...]
    members: tuple[str, ...]
    extractor: str
    source: Source | None
    level: str = "explicit"
    subject: tuple[str, str] = ("", "")
    relation: str = ""
    object: tuple[str, str] = ("", "")
    valid: tuple[float | None, float | None] = (None, None)


def parse(text: bytes) -> list[object]:
    """The records of a file, ours or the original's; raises ValueError or RecursionError for what is none."""
    found = json.loads(text, parse_int=_whole)
    records = found.get("records") if isinstance(found, dict) else found
    if not isinstance(records, list):
        raise ValueError("no records")
    return records


def read(given: object, record: str, *, scope: str, now: float) -> Given:
    """Look at one record of the file of these.  ``scope``: of one that names none; ``now``: UTC seconds.

    Raises Refused, and nothing else, whatever ``given`` is (of what ``parse`` can return).
    """
    if not isinstance(given, dict):
        raise Refused(TEXT)
    title, text = _words(given, record)
    if record == "capsule":  # it is known by its title
        title = title or shortened(" ".join(text.split()), LONGEST_TITLE)
    tags, importance = _tags(given.get("tags")), _importance(given.get("importance"), 5)
    if tags is None or importance is None:
        raise Refused(NUMBERS)
    reach, project = _reach(given)
    ours = given.get("homed")
    about = ours if isinstance(ours, dict) else {}
    in_scope, status = about.get("scope", scope), about.get("status", "active")
    if not isinstance(in_scope, str) or not (in_scope == scope or _SCOPE.fullmatch(in_scope)):
        raise Refused(SCOPE)
    if is_temporary(in_scope):
        raise Refused(AGENT)
    if status not in STATUSES:
        raise Refused(STATUS)
    if record != "summary" and any(map(secret_in, (text, title, *tags))):
        raise Refused(SECRET)
    tags = tuple(tag for tag in tags if tag == cleaned(tag))
    created, updated = _time(given.get("createdAt"), now), _time(given.get("updatedAt"), now)
    dated = created is not None
    made = created if created is not None else updated if updated is not None else now
    before = _history(given.get("history"), record, now)
    cited = _count(given.get("citedCount"), 0, MOST_CITED)
    kind = given.get("kind")
    return Given(
        id=_id(given.get("id")), record=record, kind=str(kind) if kind in KINDS[record] else PLAIN[record],
        title=title, text=text, raw=(str(given.get("text")), str(given.get("title") or "")), scope=in_scope,
        observer=_peer(about.get("observer")), observed=_peer(about.get("observed")), status=status,
        superseded_by=_id(about.get("supersededBy")), reach=reach, project=project, tags=tags, importance=importance,
        confidence=_confidence(given.get("confidence")), created_at=made,
        updated_at=max(made, updated if updated is not None else made), dated=dated, cited=cited,
        cited_at=_time(given.get("lastCitedAt"), now) if cited else None,
        revision=max(_count(given.get("revision"), 1, MOST_REVISED), 1 + len(before)), before=before,
        members=_members(given.get("memberIds")), extractor=_extractor(given), source=_source(given.get("source")),
        **(_statement(about) if record == "fact" else {}),
    )  # fmt: skip


def names(given: Given) -> tuple[str, ...]:
    """The ids that a record may have here, the best first; none of one that came without.

    Its own, where that has our form; else one that ends in its last eight digits, by which people and answers call it;
    else one of its own all the same.  Always the same for the same, so that it is known when it comes again.
    """
    if not given.id:
        return ()
    digest = sha256(f"{given.scope}\0{given.id}".encode("utf-8", "surrogatepass")).hexdigest()
    found = [given.id] if re.fullmatch(rf"{given.record}_[0-9a-f]{{16}}", given.id) else []
    if tail := _TAIL.search(given.id):
        found.append(f"{given.record}_{digest[:8]}{tail.group()}")
    return (*found, f"{given.record}_{digest[:16]}")


def _words(given: Mapping[str, object], record: str) -> tuple[str, str]:
    """Its title and text as they may be kept."""
    raw, name = given.get("text"), given.get("title") or ""
    if raw is None and record == "summary":  # the original's three parts
        parts = [given.get(part) for part in ("request", "actions", "outcome")]
        raw = "\n".join(" ".join(part.split()) for part in parts if isinstance(part, str))
    if not isinstance(raw, str) or not raw.strip():
        raise Refused(TEXT)
    if not isinstance(name, str):
        raise Refused(TITLE)
    if len(raw) > LONGEST_RAW or len(name) > LONGEST_RAW:
        raise Refused(LONG)
    text, title = seen(raw).strip(), shortened(" ".join(seen(name).split()), LONGEST_TITLE)
    if record == "summary":  # it says what happened, so there the secret alone goes
        text, title = shortened(cleaned(text), LONGEST[record]), cleaned(title)
    if not dedupe.normal(text):
        raise Refused(TEXT)
    if len(text) > LONGEST[record]:
        raise Refused(LONG)
    return title, text


def _reach(given: Mapping[str, object]) -> tuple[str, str]:
    """How far it reaches.  What is a project's own never reaches further, whatever is wrong with it."""
    wide, key = given.get("scope"), given.get("projectKey")
    if wide in (None, "user"):
        return "user", ""
    if not isinstance(key, str) or not _PROJECT.fullmatch(key):
        raise Refused(PROJECT)
    if secret_in(key):
        raise Refused(SECRET)
    return "project", key


def _history(given: object, record: str, now: float) -> tuple[Before, ...]:
    """What can be kept of what it said before; what holds a secret, or is none of a record's, is left out."""
    found: list[tuple[int, Before]] = []
    for one in given[: REVISIONS * 10] if isinstance(given, list) else ():
        number = _count(one.get("revision"), 0, MOST_REVISED) if isinstance(one, dict) else 0
        if not number:
            continue
        try:
            title, text = _words(one, record)
        except Refused:
            continue
        tags, importance = _tags(one.get("tags")), _importance(one.get("importance"), 5)
        if any(map(secret_in, (title, text))):
            continue
        kept = tuple(tag for tag in tags or () if tag == cleaned(tag))
        why = _why(one.get("source"))
        found.append((number, Before(title, text, importance or 5, kept, why, _time(one.get("updatedAt"), now))))
    newest = dict(sorted(found, key=lambda each: each[0]))
    return tuple(newest[number] for number in sorted(newest, reverse=True)[:REVISIONS])


def _why(given: object) -> str:
    """Without those that homed goes by: here nothing was hidden by it, brought back, or made one with it."""
    why = " ".join(seen(given[:LONGEST_RAW]).split())[:LONGEST_WHY] if isinstance(given, str) else ""
    ours = why == BACK or why.split(" ")[0] in (HID, COMBINED)
    return "import" if not why or ours or secret_in(why) else why


def _statement(about: Mapping[str, object]) -> dict[str, Any]:
    """What a fact of ours says besides its words."""
    said = {name: _name(about.get(name)) for name in ("subject", "relation", "object", "subjectType", "objectType")}
    level, times = about.get("level"), [_instant(about.get(name)) for name in ("validFrom", "validUntil")]
    return {
        "level": level if level in facts.LEVELS else "explicit", "relation": said["relation"],
        "subject": (said["subject"], said["subjectType"]), "object": (said["object"], said["objectType"]),
        "valid": tuple(times),
    }  # fmt: skip


def _name(given: object) -> str:
    if not isinstance(given, str) or len(given) > LONGEST["fact"]:
        return ""
    name = " ".join(seen(given).split())
    return "" if secret_in(name) else name


def _instant(given: object) -> float | None:
    """UTC seconds of what may also be to come, in years that can be shown."""
    found = _number(given)
    return found if found is not None and -MILLISECONDS / 2 < found < MILLISECONDS else None


def _source(given: object) -> Source | None:
    if not isinstance(given, dict):
        return None
    thread, turn, role, excerpt = (given.get(name) for name in ("sessionId", "turnId", "role", "excerpt"))
    hash_ = given.get("excerptHash")
    known = _HASH.fullmatch(hash_) if isinstance(hash_, str) else None
    if known is None or not isinstance(excerpt, str) or not 0 < len(excerpt) <= LONGEST_RAW:
        return None
    if role not in ("user", "assistant", "tool") or not _id(thread) or not _id(turn):
        return None
    first = _count(given.get("seqStart"), 0, 1 << 62)
    last = _count(given.get("seqEnd"), first, 1 << 62)
    return Source(_id(thread), _id(turn), first, last, str(role), excerpt, known[1])


def _members(given: object) -> tuple[str, ...]:
    found = given[:MOST_MEMBERS] if isinstance(given, list) else []
    return tuple(dict.fromkeys(filter(None, map(_id, found))))


def _extractor(given: Mapping[str, object]) -> str:
    """Who made it; what says nothing of it somebody wrote."""
    said = given.get("extractor", "manual")
    return EXTRACTORS.get(said, "model") if isinstance(said, str) else "model"


def _id(given: object) -> str:
    return given if isinstance(given, str) and _ID.fullmatch(given) else ""


def _peer(given: object) -> str:
    return given if isinstance(given, str) and given.isprintable() and _PEER.fullmatch(given) else ""


def _tags(given: object) -> tuple[str, ...] | None:
    """None for what is no list."""
    if given is None:
        return ()
    if not isinstance(given, list):
        return None
    said = [" ".join(seen(tag[:LONGEST_RAW]).split())[:LONGEST_TAG] for tag in given[:100] if isinstance(tag, str)]
    return tuple(dict.fromkeys(filter(None, said)))[:TAGS]


def _importance(given: object, missing: int) -> int | None:
    """None for what is none."""
    if given is None:
        return missing
    found = _number(given)
    return round(found) if found is not None and 1 <= found <= 10 else None


def _confidence(given: object) -> float:
    found = _number(given)
    return found if found is not None and 0 <= found <= 1 else 0.5


def _count(given: object, least: int, most: int) -> int:
    """A whole number between these; ``least`` for anything else."""
    found = _number(given)
    return int(found) if found is not None and least <= found <= most else least


def _time(given: object, now: float) -> float | None:
    """UTC seconds, of a number or of a date as ISO 8601 has it; None for what is none, or is still to come."""
    found = _number(given)
    if isinstance(given, str) and len(given) <= 40:
        try:
            told = datetime.fromisoformat(given.strip())
            found = (told if told.tzinfo else told.replace(tzinfo=UTC)).timestamp()
        except (ValueError, OverflowError):
            return None
    if found is not None and found >= MILLISECONDS:
        found /= 1000
    return found if found is not None and 0 < found <= now else None


def _number(given: object) -> float | None:
    if isinstance(given, bool) or not isinstance(given, int | float):
        return None
    try:
        found = float(given)
    except OverflowError:
        return None
    return found if math.isfinite(found) else None


def _whole(digits: str) -> int | float:
    return int(digits) if len(digits) <= DIGITS else math.inf
