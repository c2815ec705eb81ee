"""What else says what a record says: summaries of the turns it comes from, and sentences of capsules.

Whoever wants a record found no more wants these found no more either; otherwise they would be told in its place.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from homed.memory import rests, stable
from homed.memory.forget import Gone
from homed.memory.lawwords import FUNCTION_WORDS
from homed.memory.normal import bag, key
from homed.memory.stable import Record
from homed.store.rows import Tx

SAME = 0.5
"""Share of a record's words from which on another text says what it says."""

COMBINED = "combined"
"""What the reason of a revision begins with that took another record in; the end of that one's id follows."""

_NOBODYS = frozenset({"user", "users", "用户"})


@dataclass(frozen=True, slots=True)
class Repeats:
    """``whole``: records that say nothing else; ``parts``: capsules that say it among other things, each with the text
    that is left without it.  Of one scope, and only what holds."""

    whole: tuple[Record, ...] = ()
    parts: tuple[tuple[Record, str], ...] = ()

    @property
    def ids(self) -> list[str]:
        """Of those that go as a whole."""
        return [one.id for one in self.whole]


def of(tx: Tx, record: Record) -> Repeats:
    """What repeats this one.

    Told by its words and by those of its excerpts, which may be in another language than it is.
    """
    said = _said(tx, record)
    whole = [one for one in _beside(tx, record, "summary") if _repeats(one.text, said)]
    parts: list[tuple[Record, str]] = []
    for capsule in _holding(tx, record):
        left = _without(capsule.text, said)
        if left == capsule.text:
            continue
        if left and not _repeats(capsule.title, said):
            parts.append((capsule, left))
        else:
            whole.append(capsule)
    return Repeats(tuple(whole), tuple(parts))


def of_id(tx: Tx, record: str) -> Repeats:
    """The same of one that may be gone; what people wrote by hand is theirs, and stays.  With what a person made one
    with it, which says the same by their word."""
    known = stable.get(tx, record)
    found = of(tx, known) if known is not None else Repeats()
    whole = [*(one for one in found.whole if one.origin != "manual"), *_combined(tx, record)]
    return Repeats(
        tuple({one.id: one for one in whole}.values()),
        tuple(part for part in found.parts if part[0].origin != "manual"),
    )


def _combined(tx: Tx, record: str) -> list[Record]:
    joined = "SELECT 1 FROM revisions v WHERE v.record = ?1 AND v.why = ?2 || substr(records.id, -8)"
    return stable.select(tx, f"superseded_by = ?1 AND EXISTS ({joined}) ORDER BY seq", (record, f"{COMBINED} "))


def cut(tx: Tx, record: str) -> Gone:
    """For good: capsules lose the sentences that repeat it, and what they said before."""
    gone = Gone()
    for capsule, left in of_id(tx, record).parts:
        gone.scopes.add(capsule.scope)
        gone.note(capsule.text, *(one.text for one in stable.history(tx, capsule.id)))
        tx.execute("DELETE FROM revisions WHERE record = ?", (capsule.id,))
        tx.execute("UPDATE records SET text = ?, key = ? WHERE id = ?", (left, key(left), capsule.id))
        gone.counts["rechecked"] += 1
    return gone


def _said(tx: Tx, record: Record) -> list[frozenset[str]]:
    excerpts = [text for (text,) in tx.all("SELECT excerpt FROM evidence WHERE record = ?", (record.id,)) if text]
    found = [_words(text) for text in (record.text, *excerpts)]
    return [words for words in found if words]


def _words(text: str) -> frozenset[str]:
    return frozenset(word for word in bag(text) if word not in FUNCTION_WORDS and word not in _NOBODYS)


def _repeats(text: str, said: Sequence[frozenset[str]]) -> bool:
    there = _words(text)
    return any(len(words & there) >= SAME * len(words) for words in said)


def _without(text: str, said: Sequence[frozenset[str]]) -> str:
    """The text without the sentences that say it."""
    sentences = rests.sentences(text)
    kept = [one for one in sentences if not _repeats(one, said)]
    return text if len(kept) == len(sentences) else "".join(kept).strip()


def taken_along(tx: Tx, record: Record) -> list[Record]:
    """What was hidden with this one, in the same moment, and says nothing that another hidden fact says."""
    along = [
        one
        for kind in ("summary", "capsule")
        for one in (*_beside(tx, record, kind, "hidden"), *_members(tx, record, "hidden"))
        if one.updated_at == record.updated_at and one.record == kind
    ]
    others = [_said(tx, other) for other in _beside(tx, record, "fact", "hidden")]
    return [one for one in {one.id: one for one in along}.values() if not any(_repeats(one.text, it) for it in others)]


def _beside(tx: Tx, record: Record, kind: str, status: str = "active") -> list[Record]:
    """Records of a kind that rest on events of the same turns."""
    turns = "SELECT f.turn FROM evidence w JOIN events f ON f.id = w.event WHERE w.record = ? AND f.turn <> ''"
    return stable.select(
        tx,
        "id IN (SELECT v.record FROM evidence v JOIN events e ON e.id = v.event WHERE e.turn IN"
        f" ({turns})) AND id <> ? AND record = ? AND status = ? AND scope = ? ORDER BY seq",
        (record.id, record.id, kind, status, record.scope),
    )


def _members(tx: Tx, record: Record, status: str = "active") -> list[Record]:
    """Capsules that it is a member of."""
    holding = "id IN (SELECT capsule FROM members WHERE record = ?) AND status = ? AND scope = ? AND id <> ?"
    return stable.select(tx, holding, (record.id, status, record.scope, record.id))


def _holding(tx: Tx, record: Record) -> list[Record]:
    """Active capsules that it is a member of, or that rest on the same turns."""
    return list({one.id: one for one in (*_members(tx, record), *_beside(tx, record, "capsule"))}.values())
