"""What else says what a record says: summaries of the turns it comes from, and sentences of capsules.

Whoever wants a record found no more wants these found no more either; otherwise they would be told in its place.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from homed.memory import forget_before, rests, stable
from homed.memory.forget import Gone
from homed.memory.lawwords import FUNCTION_WORDS
from homed.memory.normal import bag, key
from homed.memory.stable import Record, Revision
from homed.store.rows import Tx, dumps

SAME = 0.5
"""Share of a record's words from which on another text says what it says."""

COMBINED = "combined"
"""What the reason of a revision begins with that took another record in; the end of that one's id follows."""

_TURNS = "SELECT f.turn FROM evidence w JOIN events f ON f.id = w.event WHERE w.record = ? AND f.turn <> ''"
"""Those that a record rests on."""

_NOBODYS = frozenset({"user", "users", "用户"})


@dataclass(frozen=True, slots=True)
class Repeats:
    """``whole``: records that say nothing else; ``parts``: capsules that say it among other things, each with the text
    that is left without it.  Of one scope."""

    whole: tuple[Record, ...] = ()
    parts: tuple[tuple[Record, str], ...] = ()

    @property
    def ids(self) -> list[str]:
        """Of those that go as a whole."""
        return [one.id for one in self.whole]


def of(tx: Tx, record: Record, status: str = "active") -> Repeats:
    """What repeats this one, among what holds (``status`` '': also what is hidden, in quarantine or history).

    Told by its words and by those of its excerpts, which may be in another language than it is.
    """
    said = _said(tx, record)
    whole = [one for one in _beside(tx, record, "summary", status) if _repeats(one.text, said)]
    parts: list[tuple[Record, str]] = []
    for capsule in _holding(tx, record, status):
        left = _without(capsule.text, said)
        if left == capsule.text:
            continue
        if left and not _repeats(capsule.title, said):
            parts.append((capsule, left))
        else:
            whole.append(capsule)
    return Repeats(tuple(whole), tuple(parts))


def of_id(tx: Tx, record: str) -> Repeats:
    """The same of one that may be gone, whether it holds or not: it could be brought back.  What people wrote by hand
    is theirs, and stays.  With what a person made one with it, which says the same by their word."""
    known = stable.get(tx, record)
    found = of(tx, known, "") if known is not None else Repeats()
    whole = [*(one for one in found.whole if one.origin != "manual"), *_combined(tx, record)]
    return Repeats(
        tuple({one.id: one for one in whole}.values()),
        tuple(part for part in found.parts if part[0].origin != "manual"),
    )


def _combined(tx: Tx, record: str) -> list[Record]:
    joined = "SELECT 1 FROM revisions v WHERE v.record = ?1 AND v.why = ?2 || substr(records.id, -8)"
    return stable.select(tx, f"superseded_by = ?1 AND EXISTS ({joined}) ORDER BY seq", (record, f"{COMBINED} "))


def cut(tx: Tx, record: str) -> Gone:
    """For good: capsules lose the sentences that repeat it, and what they said before but what is to come back with
    something that is hidden."""
    gone = Gone()
    for capsule, left in of_id(tx, record).parts:
        gone.scopes.add(capsule.scope)
        texts = (capsule.text, *forget_before.drop(tx, capsule.id))
        # what stays of it must not be looked for afterwards
        stays = "".join((left, *(one.text for one in stable.history(tx, capsule.id))))
        gone.note(*(one for text in texts for one in rests.sentences(text) if one.strip() not in stays))
        tx.execute("UPDATE records SET text = ?, key = ? WHERE id = ?", (left, key(left), capsule.id))
        gone.counts["rechecked"] += 1
    if (known := stable.get(tx, record)) is not None:
        _cut_before(tx, known, gone)
    return gone


def _cut_before(tx: Tx, record: Record, gone: Gone) -> None:
    """What summaries and capsules said before goes where it says it, too: they may have lost it long ago, when it was
    hidden or when a newer text took the place of theirs."""
    said = _said(tx, record)
    holding = "record IN ('summary', 'capsule') AND scope = ? AND id <> ? AND id IN"
    near = stable.select(
        tx,
        f"{holding} (SELECT capsule FROM members WHERE record = ? UNION SELECT v.record FROM evidence v JOIN events e"
        f" ON e.id = v.event WHERE e.turn IN ({_TURNS})) ORDER BY seq",
        (record.scope, record.id, record.id, record.id),
    )

    def shorten(old: Revision) -> str:
        if not says(f"{old.title}\n{old.text}", said):
            return old.text
        return "" if _repeats(old.title, said) else _without(old.text, said)

    for one in near:
        for text in forget_before.cut(tx, one.id, shorten):
            gone.note(*(one for one in rests.sentences(text) if _repeats(one, said)))
            gone.counts["revisions"] += 1


def hidden_said(tx: Tx, record: Record) -> list[tuple[Record, str]]:
    """The hidden facts that a summary or a capsule says, each with the text that is left without this and those before
    it: '' where it says nothing else."""
    if record.record == "fact":
        return []
    hidden = _hidden_near(tx, record)
    text, found = record.text, []
    for one in hidden:
        said = _said(tx, one)
        if record.record == "summary" or _repeats(record.title, said):
            left = "" if _repeats(f"{record.title}\n{text}", said) else text
        else:
            left = _without(text, said)
        if left != text:
            found.append((one, left))
            text = left
    return found


def _hidden_near(tx: Tx, record: Record) -> list[Record]:
    """Hidden facts of the turns that it rests on, and hidden records that it is made of."""
    return stable.select(
        tx,
        "status = 'hidden' AND scope = ? AND id <> ? AND (id IN (SELECT record FROM members WHERE capsule = ?) OR"
        " record = 'fact' AND id IN (SELECT v.record FROM evidence v JOIN events e ON e.id = v.event WHERE e.turn IN"
        f" ({_TURNS}))) ORDER BY seq",
        (record.scope, record.id, record.id, record.id),
    )


def says(text: str, said: Sequence[frozenset[str]]) -> bool:
    """Whether a sentence of a text says what these words say (as `hidden_beside` has them)."""
    return any(_repeats(sentence, said) for sentence in rests.sentences(text))


def hidden_beside(tx: Tx) -> dict[str, list[frozenset[str]]]:
    """The words of what is hidden, by the id of each record that may say it too: one that rests on the same turns, or
    that it is a member of.  In every scope."""
    rows = tx.all(
        "SELECT w.record, h.id FROM records h JOIN evidence v ON v.record = h.id JOIN events e ON e.id = v.event"
        " JOIN events f ON f.turn = e.turn AND f.turn <> '' JOIN evidence w ON w.event = f.id AND w.record <> h.id"
        " WHERE h.status = 'hidden' AND h.record = 'fact'"
        " UNION SELECT m.capsule, h.id FROM members m JOIN records h ON h.id = m.record WHERE h.status = 'hidden'"
    )
    hidden = stable.select(tx, "id IN (SELECT value FROM json_each(?))", (dumps(sorted({id_ for _, id_ in rows})),))
    words = {one.id: _said(tx, one) for one in hidden}
    found: dict[str, list[frozenset[str]]] = {}
    for record, id_ in rows:
        found.setdefault(str(record), []).extend(words[id_])
    return found


def combined_into_hidden(tx: Tx) -> frozenset[str]:
    """The ids of what a person made one with a record that is hidden now: it says the same."""
    rows = tx.all(
        "SELECT g.id FROM records g JOIN records k ON k.id = g.superseded_by JOIN revisions v ON v.record = k.id"
        " WHERE k.status = 'hidden' AND v.why = ? || substr(g.id, -8)",
        (f"{COMBINED} ",),
    )
    return frozenset(str(id_) for (id_,) in rows)


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


def taken_along(tx: Tx, record: Record) -> tuple[list[Record], list[tuple[Record, Record]]]:
    """What was hidden with this one, in the same moment: that which says nothing that another hidden fact says, and
    the others, each with such a fact."""
    along = [
        one
        for kind in ("summary", "capsule")
        for one in (*_beside(tx, record, kind, "hidden"), *_members(tx, record, "hidden"))
        if one.updated_at == record.updated_at and one.record == kind
    ]
    free: list[Record] = []
    held: list[tuple[Record, Record]] = []
    for one in {one.id: one for one in along}.values():
        # of the turns of each: a summary or a capsule may be of more than the record is
        near = (other for other in _hidden_near(tx, one) if other.id != record.id)
        other = next((other for other in near if _repeats(one.text, _said(tx, other))), None)
        if other is None:
            free.append(one)
        else:
            held.append((one, other))
    return free, held


def _beside(tx: Tx, record: Record, kind: str, status: str = "active") -> list[Record]:
    """Records of a kind that rest on events of the same turns."""
    return stable.select(
        tx,
        "id IN (SELECT v.record FROM evidence v JOIN events e ON e.id = v.event WHERE e.turn IN"
        f" ({_TURNS})) AND id <> ? AND record = ? AND ? IN (status, '') AND scope = ? ORDER BY seq",
        (record.id, record.id, kind, status, record.scope),
    )


def _members(tx: Tx, record: Record, status: str = "active") -> list[Record]:
    """Capsules that it is a member of."""
    holding = "id IN (SELECT capsule FROM members WHERE record = ?) AND ? IN (status, '') AND scope = ? AND id <> ?"
    return stable.select(tx, holding, (record.id, status, record.scope, record.id))


def _holding(tx: Tx, record: Record, status: str) -> list[Record]:
    """Capsules that it is a member of, or that rest on the same turns."""
    found = (*_members(tx, record, status), *_beside(tx, record, "capsule", status))
    return list({one.id: one for one in found}.values())
