"""Looking through what a scope remembers, for whoever may: by words, and by the day.  Nothing here changes anything."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import tzinfo

from homed.agent import notes, reading
from homed.agent.asking import asked
from homed.agent.daylines import LINE_BYTES, bounds, day_of
from homed.agent.daylines import line as line_of
from homed.agent.fitting import fitted_text, size
from homed.agent.ports import RedactorPort
from homed.clock import WallClock, system_wall_clock
from homed.config.zone import system_zone
from homed.identity.roles import Identity, visible_scopes
from homed.memory import events as table
from homed.memory.records import DRAFT, Event, shows_files
from homed.retrieval.asking import Question
from homed.retrieval.rank import Ranker
from homed.retrieval.without import words_only
from homed.store.rows import Storage, Tx, dumps

TEXT_BYTES = 8_000
"""Bytes of one text that was found; of a longer one head and tail, and ``io.event`` gives the whole."""

PAGE_BYTES = 400_000
"""Bytes of one answer: with the rest it fits one line of the wire."""

LAYERS: Mapping[str, tuple[str, ...]] = {"all": ("context", "cold"), "window": ("context",), "cold": ("cold",)}


@dataclass(frozen=True, slots=True)
class Remembered:
    """An answer, and whether words of strangers stand in it."""

    answer: Mapping[str, object]
    untrusted: bool


class Remembering:
    """Reads events of the scopes that somebody may see, and of no others."""

    def __init__(
        self,
        store: Storage,
        redactor: RedactorPort,
        ranker: Ranker | None = None,
        zone: Callable[[], tzinfo] = system_zone,
        wall: WallClock = system_wall_clock,
    ) -> None:
        """``zone``: the person's, in which days are counted."""
        self._zone = zone
        self._wall = wall
        self._store = store
        self._redactor = redactor
        self._ranker = ranker or words_only()

    async def search(self, who: Identity, query: str, *, limit: int, layer: str = "all", turn: str = "") -> Remembered:
        """What the query is about, best first; as ``memory.search``.

        ``turn``: the one that asks, whose own events are not told.  What is private to a conversation is not found, nor
        what was taken out of an answer.
        """
        question = await asked(self._ranker, query)
        return await self._store.read(lambda tx: self._found(tx, who, question, (limit, layer, turn)))

    def _found(self, tx: Tx, who: Identity, query: Question, asked: tuple[int, str, str]) -> Remembered:
        limit, layer, turn = asked
        hits: list[tuple[Event, float]] = []
        for scope in sorted(visible_scopes(who)):
            found = self._ranker.search(tx, scope=scope, layer=LAYERS[layer], query=query, limit=limit + reading.NOTES)
            events = reading.by_ids(tx, scope, [hit.id for hit in found])
            hits += [(events[hit.id], hit.score) for hit in found if hit.id in events]
        best = sorted(hits, key=lambda hit: -hit[1])  # of equal ones of a scope the order says which comes first
        best = [hit for hit in best if not turn or hit[0].turn != turn][:limit]
        places = reading.places_of(tx, [event for event, _ in best])
        shown = [self._shown(event, score, places) for event, score in best]
        return Remembered({"found": shown}, any(_outside(event) for event, _ in best))

    def _shown(self, event: Event, score: float, places: Mapping[str, notes.Place]) -> dict[str, object]:
        text = self._redactor.redact(event.text)
        place = places.get(event.thread, notes.Place("", event.channel))
        return {
            "id": event.id, "at": event.created_at, "thread": event.thread, "title": place.title,
            "channel": place.channel, "turn": event.turn, "kind": event.kind.value, "peer": event.peer,
            "layer": event.layer, "score": round(score, 3), "untrusted": _outside(event),
            "text": fitted_text(text, TEXT_BYTES), "of": len(text),
        }  # fmt: skip

    async def day(self, who: Identity, day: str, *, after: int, limit: int) -> Remembered:
        """What was said on a day (the person's zone), as lines of JSON in the order of time; as ``textlog.read``;
        "" is today.

        ``after``: the ``next`` of the page before.  Raises InvalidInput for what is no date.
        """
        zone = self._zone()
        day = day or day_of(self._wall(), zone)
        since, until = bounds(day, zone)
        scopes = visible_scopes(who)
        found, beyond = await self._store.read(lambda tx: _of_day(tx, scopes, (since, until, after, limit)))
        lines: list[str] = []
        taken, last = 0, after
        for event in found:
            line = line_of(event, self._redactor)
            taken += size(line) + 2
            if lines and taken > PAGE_BYTES:
                break
            lines.append(line)
            last = event.seq
        more = beyond or len(lines) < len(found)
        untrusted = any(_outside(event) for event in found[: len(lines)])
        return Remembered({"day": day, "lines": lines, "more": more, "next": last}, untrusted)


def _outside(event: Event) -> bool:
    return bool(event.data.get("untrusted")) or shows_files(event)


def _of_day(tx: Tx, scopes: Collection[str], asked: tuple[float, float, int, int]) -> tuple[Sequence[Event], bool]:
    """By the threads used since and the turns of that time: no index of the events knows their time.

    With it, whether there is more.
    """
    since, until, after, limit = asked
    found: list[Event] = []
    beyond = False
    for scope in sorted(scopes):
        turns = tx.all(
            "SELECT t.id FROM threads h JOIN turns t ON t.thread = h.id WHERE h.scope = ? AND h.updated_at >= ?"
            " AND t.started_at < ? AND (t.ended_at IS NULL OR t.ended_at >= ?)",
            (scope, since, until, since),
        )
        sizes = tx.all(
            "SELECT seq, length(text) FROM events WHERE turn IN (SELECT value FROM json_each(?)) AND +scope = ?"
            " AND seq > ? AND +created_at >= ? AND +created_at < ? AND +no_memory = 0"
            " AND NOT (+kind = 'note' AND coalesce(json_extract(data, '$.code'), '') = ?) ORDER BY seq LIMIT ?",
            (dumps([turn for (turn,) in turns]), scope, after, since, until, DRAFT, limit + 1),
        )
        # one more than a page, so that it is known whether there is more: never every text of a day at once
        room, seqs = PAGE_BYTES, []
        for seq, length in sizes[:limit]:
            if room < 0:
                break
            seqs.append(seq)
            room -= min(int(length), LINE_BYTES)
        beyond = beyond or len(seqs) < len(sizes)
        rows = tx.all(
            f"SELECT {table.COLUMNS} FROM events WHERE seq IN (SELECT value FROM json_each(?)) ORDER BY seq",
            (dumps(seqs),),
        )
        found += map(table.from_row, rows)
    return sorted(found, key=lambda event: event.seq)[:limit], beyond or len(found) > limit
