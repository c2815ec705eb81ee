"""What the pages of records show, made of the kernel's answers: the history as differences, a chain in order, bars.

Pure.  Nothing here is markup: every text goes through the templates' autoescape.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any
from urllib.parse import quote

from .reading import integer, mapping, mappings, number, string, strings
from .worddiff import Piece, diff

Data = Mapping[str, Any]

KINDS: Mapping[str, tuple[str, ...]] = {
    "summary": ("turn",),
    "fact": ("fact", "preference", "decision", "convention", "entity", "todo", "correction"),
    "capsule": ("profile", "project", "thread", "open_loops"),
}
"""Sub-kinds of each kind of record."""

STATUSES = ("any", "superseded", "archived", "hidden", "quarantined")
"""Beside those that hold, which is what a list is of unless it is asked for others."""

MARKS = ("source", "pointer", "manual", "none")
SORTS = ("newest", "importance", "cited")
FILTERS = ("record", "kind", "reach", "scope", "person", "tag", "evidence", "status", "untrusted", "since", "until")
"""What narrows a list of records, beside the words that are looked for."""


DIGEST = 12
"""Digits before the folder's name in a project's key, as the kernel makes it."""


@dataclass(frozen=True, slots=True)
class Difference:
    """What one revision changed.  ``at``: when, UTC seconds; ``why``: the kernel's word; ``words``: the text, piece by
    piece; ``others``: title, importance and tags, each (name, before, after) where it differs."""

    revision: int
    at: float
    why: str
    words: tuple[Piece, ...]
    others: tuple[tuple[str, str, str], ...]

    @property
    def changed(self) -> bool:
        """Whether the text is another one."""
        return any(piece.sign != " " for piece in self.words)


def history(found: Data) -> list[Difference]:
    """What became of a record, the newest change first."""
    said = sorted(mappings(found.get("history")), key=lambda one: integer(one.get("revision")))
    if not said:
        return []
    versions: list[Data] = [*said, {**found, "at": found.get("updated_at"), "why": ""}]
    made = [_difference(before, after) for before, after in pairwise(versions)]
    return made[::-1]


def _difference(before: Data, after: Data) -> Difference:
    pairs = (
        ("title", string(before, "title"), string(after, "title")),
        ("importance", str(integer(before.get("importance"))), str(integer(after.get("importance")))),
        ("tags", ", ".join(strings(before.get("tags"))), ", ".join(strings(after.get("tags")))),
    )
    return Difference(
        revision=integer(after.get("revision")), at=number(after.get("at")), why=string(before, "why"),
        words=tuple(diff(string(before, "text"), string(after, "text"))),
        others=tuple(pair for pair in pairs if pair[1] != pair[2]),
    )  # fmt: skip


def chain(found: Data) -> list[tuple[str, Data]]:
    """What took whose place, the newest first, each with ``newer``, ``this`` or ``older``; empty for a record alone."""
    newer, older = mappings(found.get("newer")), mappings(found.get("older"))
    if not newer and not older:
        return []
    return [*(("newer", one) for one in newer[::-1]), ("this", found), *(("older", one) for one in older)]


def asked(given: Mapping[str, str]) -> dict[str, str]:
    """Of an address's query what a list of records can be asked for; what is no choice there is left out."""
    choices = {
        "record": tuple(KINDS), "status": STATUSES, "evidence": MARKS, "sort": SORTS, "reach": ("user", "project"),
        "untrusted": ("0", "1"), "kind": tuple(kind for kinds in KINDS.values() for kind in kinds),
    }  # fmt: skip
    found = {key: given.get(key, "").strip()[:200] for key in ("query", "before", "sort", *FILTERS)}
    return {key: value for key, value in found.items() if value and value in choices.get(key, (value,))}


def thread_link(one: Data) -> str:
    """The address of a conversation at a turn; empty where there is none to be read."""
    thread, turn = string(one, "thread"), string(one, "turn")
    if not thread:
        return ""
    return f"/t/{quote(thread, safe='')}" + (f"#turn-{quote(turn, safe='')}" if turn else "")


UNAVAILABLE = "source unavailable"
"""What the kernel says where no words can be read."""

GONE: Data = {"kind": "", "peer": "", "speaker": "", "title": "", "at": 0.0, "untrusted": False}
"""What is not known of a message that is not there any more."""


def evidence(found: Data) -> list[Data]:
    """What it rests on: first what it says now, then what it said before."""
    pieces = [
        {**GONE, **one, "link": thread_link(one), "hash": _hash(one), "said": string(one, "text") != UNAVAILABLE}
        for one in mappings(found.get("evidence"))
    ]
    return sorted(pieces, key=lambda one: integer(one.get("upto")))


def _hash(one: Data) -> str:
    """How its excerpt stands: ``ok``, ``bad``, ``missing`` (the message is gone), ``none`` (a pointer has none)."""
    if isinstance(one.get("hash_ok"), bool):
        return "ok" if one["hash_ok"] else "bad"
    return "missing" if one.get("state") == "missing" or not one.get("kind") else "none"


def heading(one: Data) -> str:
    """The title of a record; '' where its words begin with it anyway, as those of a summary do."""
    title = string(one, "title").strip()
    begins = string(one, "text").strip().casefold().startswith(title.rstrip("…").rstrip().casefold())
    return "" if begins else title


def folder(project: str) -> str:
    """The name of the folder that a project's key is of: without the digest that tells it from others of that name."""
    digest, _, name = project.partition("-")
    return name if name and len(digest) == DIGEST and set(digest) <= set("0123456789abcdef") else project


def triple(found: Data) -> tuple[str, str, str] | None:
    """Subject, relation and object by their names; None where the record has none, or nothing of it is shown."""
    if not string(found, "relation") or string(found, "status") == "hidden":
        return None
    object_ = string(mapping(found.get("object_entity")), "name") or string(found, "object")
    return string(mapping(found.get("subject")), "name"), string(found, "relation"), object_
