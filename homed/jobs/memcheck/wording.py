"""Whether what is stored is found by its words: the two word indexes, and a search for what is rare in some records.

They hold nothing of their own: what is wrong with one is mended by making both anew.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from homed.errors import StorageError
from homed.jobs.memcheck.check import Check, Look, RowCheck, judged, written
from homed.jobs.memcheck.findings import Status
from homed.jobs.memcheck.room import Room
from homed.jobs.memcheck.rows import BYTES, Found, Judge, Rows
from homed.memory.stable import select
from homed.retrieval import index, stable
from homed.retrieval.asking import Question
from homed.retrieval.fuse import SUM
from homed.retrieval.stable import Wanted
from homed.retrieval.terms import term
from homed.retrieval.without import NoVectors
from homed.retrieval.words import Words
from homed.store.rows import Row, Tx, loads

TERMS = 16
"""Of one text that are looked for."""

SAMPLE = 2_000
"""Messages that a deep look takes apart, the newest: it costs a millisecond each, and the index's own counts and
SQLite's check of it speak for the others."""

QUICK = 400
"""The same of a quick look, of records too."""

DEAR = BYTES // 20
"""Bytes that a text counts at the least, so that no more than twenty are looked for in one read."""

ANEW = "Repair makes the word indexes anew, from what is stored; until that is done less is found."

INDEXED = "e.no_memory = 0 AND e.kind <> 'note' AND e.seq <= m.mark AND e.seq > m.backlog"
_EVENTS = "events e CROSS JOIN word_marks m"


_MakeRows = Callable[[Room], Rows]


def _lacks(tx: Tx, table: str, seq: int, terms: list[str]) -> bool:
    """Whether the index does not find this row by all of these; a damaged one finds nothing."""
    if not terms:
        return False
    step = max(1, len(terms) // TERMS)
    match = " AND ".join('"' + one.replace('"', '""') + '"' for one in terms[::step][:TERMS])
    try:
        return tx.value(f"SELECT 1 FROM {table} WHERE rowid = ? AND {table} MATCH ?", (seq, match)) is None
    except StorageError as error:
        if error.detail.get("reason") != "index_damaged":
            raise
        return True


def _event_words() -> Judge:
    words = Words()

    def judge(tx: Tx, row: Row) -> bool:
        seq, scope, kind, text, data = row
        said = index.document(kind, text, loads(data) or {})
        return _lacks(tx, "word_index", seq, _terms(words, scope, said))

    return judge


def _record_words() -> Judge:
    words = Words()

    def judge(tx: Tx, row: Row) -> bool:
        seq, scope, text = row
        return _lacks(tx, "record_index", seq, _terms(words, scope, text))

    return judge


def _terms(words: Words, scope: str, text: str) -> list[str]:
    return [term(scope, word) for word in dict.fromkeys(words.tokens(text))]


@dataclass(frozen=True, slots=True, kw_only=True)
class WordCheck:
    """A ``RowCheck`` of an index, mended by making both anew."""

    inner: RowCheck
    deep: bool = False
    repairable: bool = True

    @property
    def id(self) -> str:
        """See ``Check``."""
        return self.inner.id

    @property
    def name(self) -> str:
        """See ``Check``."""
        return self.inner.name

    async def look(self, room: Room) -> Look:
        """See ``Check``."""
        return await self.inner.look(room)

    async def mend(self, room: Room, look: Look) -> int:
        """See ``Check``.  Cut off, the next start goes on."""
        del look
        count = await written(room, _give_up)
        while await written(room, index.backfill):
            pass
        await written(room, index.catch_up)
        return count


def _give_up(tx: Tx) -> int:
    index.give_up(tx)
    return int(tx.value("SELECT (SELECT count(*) FROM events) + (SELECT count(*) FROM records)"))


def _rows(make: Callable[[], Judge], source: str, also: tuple[str, ...], where: str, most: int = 0) -> _MakeRows:
    """Each walk takes words apart with a judge of its own, which remembers stems.  ``most``: the newest alone."""
    key = also[0]
    name = key.partition(".")[0]

    def of(room: Room) -> Rows:
        newest = most if room.deep else QUICK
        table = source.split()[0]
        last = f"coalesce((SELECT seq FROM {table} ORDER BY seq DESC LIMIT 1 OFFSET {newest}), 0)" if newest else "0"
        return Rows(
            source, (key,), f"{name}.id", also=also, where=f"{where} AND {key} > {last}", judge=make(),
            weight=f"octet_length({name}.text) + {DEAR}",
        )  # fmt: skip

    return of


# -- looking for something ---------------------------------------------------------------------------------------------

RARE = 3
"""Records of a scope that may have a word which is rare there: any of them may come first."""

FEW, MANY = 20, 200
"""Records that are looked for: in a quick look, in a deep one."""

ASKED = 4
"""Words of one question."""

_WORDS = re.compile(r"[^\W_]{2,40}")


@dataclass(frozen=True, slots=True)
class Probe:
    """Some records are looked for by what is rare in them: each must be among the first three."""

    id: str = "recall"
    name: str = "Recall of records"
    deep: bool = False
    repairable: bool = True

    async def look(self, room: Room) -> Look:
        """See ``Check``."""
        total = Found()
        most = MANY if room.deep else FEW
        seqs = await room.store.read(lambda tx: _chosen(tx, most))
        for start in range(0, len(seqs), FEW):
            some = seqs[start : start + FEW]
            asked, missed = await room.store.read(lambda tx, some=some: _probed(tx, some, room.now))  # type: ignore[misc]
            total.read += asked
            total.wrong += len(missed)
            total.ids += missed
        total.all = total.read
        return judged(
            total, "records with a word of their own", "are not among the first three that a search for it finds", ANEW
        )

    async def mend(self, room: Room, look: Look) -> int:
        """See ``Check``."""
        return await WordCheck(inner=_RECORD_WORDS).mend(room, look)


def _chosen(tx: Tx, most: int) -> list[int]:
    """Records that hold, spread over all of them."""
    where = (
        "status = 'active' AND valid_until IS NULL"
        " AND NOT EXISTS (SELECT 1 FROM record_todo t WHERE t.seq = records.seq)"
    )
    count = int(tx.value(f"SELECT count(*) FROM records WHERE {where}"))
    step = max(1, count // most)
    rows = tx.all(
        "SELECT seq FROM (SELECT seq, row_number() OVER (ORDER BY seq DESC) AS place FROM records"
        f" WHERE {where}) WHERE (place - 1) % ? = 0 LIMIT ?",
        (step, most),
    )
    return [int(seq) for (seq,) in rows]


def _probed(tx: Tx, seqs: list[int], now: float) -> tuple[int, list[str]]:
    """How many of these have something rare, and which of those are not found by it."""
    words, asked, missed = Words(), 0, []
    for record in select(tx, f"seq IN ({', '.join(map(str, seqs))})"):
        question = _rare(tx, words, record.scope, f"{record.title}\n{record.text}")
        if not question:
            continue
        asked += 1
        wanted = Wanted(record.scope, frozenset({record.record}), now, record.project)
        found = stable.records(tx, NoVectors(), Question(question), wanted, limit=3, fusion=SUM)
        if record.id not in [one.id for one in found]:
            missed.append(record.id)
    return asked, missed


def _rare(tx: Tx, words: Words, scope: str, text: str) -> str:
    """The rarest of its words, as a question; '' when none is rare.  A word that the index lacks altogether is rare."""
    counted: dict[str, int] = {}
    for piece in dict.fromkeys(_WORDS.findall(text)):
        terms = [term(scope, word) for word in words.tokens(piece)]
        rows = [tx.value("SELECT doc FROM record_terms WHERE term = ?", (one,)) or 0 for one in terms]
        if rows and min(rows) <= RARE:
            counted[piece] = min(rows)
    return " ".join(sorted(counted, key=lambda piece: (counted[piece], -len(piece)))[:ASKED])


_EVENT_COUNT = f"(SELECT count(*) FROM {_EVENTS} WHERE {INDEXED} AND e.scope = c.scope)"
_EVENT_DROPS = "(SELECT count(*) FROM word_drops d WHERE d.scope = c.scope)"
_RECORD_COUNT = (
    "(SELECT count(*) FROM records r LEFT JOIN record_todo t ON t.seq = r.seq"
    " WHERE r.scope = c.scope AND coalesce(t.was, 'x') <> '')"
)
_RECORD_DROPS = (
    "(SELECT count(*) FROM record_todo t WHERE t.scope = c.scope AND t.was <> ''"
    " AND NOT EXISTS (SELECT 1 FROM records r WHERE r.seq = t.seq))"
)
_OF_RECORDS = ("r.seq", "r.scope", "r.title || char(10) || r.text")
_OF_EVENTS = ("e.seq", "e.scope", "e.kind", "iif(e.words = '', e.text, e.text || char(10) || e.words)", "e.data")

_RECORD_WORDS = RowCheck(
    id="record_words", name="Words of records", what="records", fault="are not found by words of their own", fix=ANEW,
    rows=_rows(
        _record_words, "records r", _OF_RECORDS, "NOT EXISTS (SELECT 1 FROM record_todo t WHERE t.seq = r.seq)"
    ),
)  # fmt: skip

CHECKS: tuple[Check, ...] = (
    WordCheck(
        inner=RowCheck(
            id="event_counts", name="How many messages are indexed", what="scopes with messages",
            fault="have more or fewer messages in the word index than there are", fix=ANEW,
            rows=Rows(
                "(SELECT scope FROM word_counts UNION SELECT DISTINCT scope FROM events) c", ("c.scope",), "c.scope",
                "coalesce((SELECT documents FROM word_counts w WHERE w.scope = c.scope), 0)"
                f" - {_EVENT_DROPS} <> {_EVENT_COUNT} OR (SELECT version FROM word_marks) = {index.BROKEN}",
                start=("",),
            ),
        )
    ),
    WordCheck(
        inner=RowCheck(
            id="record_counts", name="How many records are indexed", what="scopes with records",
            fault="have more or fewer records in the word index than there are", fix=ANEW,
            rows=Rows(
                "(SELECT scope FROM record_counts UNION SELECT DISTINCT scope FROM records) c", ("c.scope",), "c.scope",
                "coalesce((SELECT documents FROM record_counts w WHERE w.scope = c.scope), 0)"
                f" - {_RECORD_DROPS} <> {_RECORD_COUNT}",
                start=("",),
            ),
        )
    ),
    WordCheck(
        inner=RowCheck(
            id="event_words", name="Words of messages", what="messages", fault="are not found by words of their own",
            fix=ANEW,
            rows=_rows(
                _event_words, _EVENTS, _OF_EVENTS,
                f"{INDEXED} AND NOT EXISTS (SELECT 1 FROM word_drops d WHERE d.seq = e.seq)", SAMPLE,
            ),
        )
    ),
    WordCheck(inner=_RECORD_WORDS),
    RowCheck(
        id="words_waiting", name="What waits to be indexed", what="messages", fault="are still to be indexed",
        fix="homed does that by itself while it runs.", status=Status.WARN,
        rows=Rows(_EVENTS, ("e.seq",), "e.id", "e.seq <= m.backlog OR e.seq > m.mark"),
    ),
    Probe(),
)  # fmt: skip
"""In this order."""
