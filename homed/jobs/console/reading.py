"""Looking: records listed, found and opened, the ledger of what turns were told, the graph, the cold layer.

Whatever is asked, the scopes that somebody may see come first and filter everything; who sees none finds nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from homed.agent import reading
from homed.agent.asking import asked
from homed.agent.fitting import fitted_text
from homed.identity.roles import Identity, visible_scopes
from homed.jobs.console.ports import Answer, ConsolePorts, Seen
from homed.memory import browse, cards, entities, figures, injections, network, opened, speakers
from homed.memory import events as table
from homed.memory.browse import Filters, Sort
from homed.memory.cards import Then
from homed.memory.injections import Injection
from homed.memory.opened import Opened
from homed.memory.records import DRAFT, Event, shows_files
from homed.memory.stable import Record
from homed.retrieval.asking import Question
from homed.retrieval.stable import KINDS, Wanted
from homed.store.rows import SqlValue, Tx, dumps

RANKED = 400
"""Records that a search looks at, the most relevant."""

MOST_SAID = 1_000
"""Characters of a line of one turn: a record's text has fewer."""

PIECE = 2_000
"""Bytes of a text in a list of the cold layer."""

_AMONG = "(SELECT value FROM json_each(?))"


@dataclass(frozen=True, slots=True)
class ListAsked:
    """``filters`` without their scopes, which are whoever's who asks."""

    filters: Filters
    query: str = ""
    sort: Sort = "newest"
    before: str = ""
    limit: int = 50
    scope: str = ""


@dataclass(frozen=True, slots=True)
class LedgerAsked:
    """Of one ``record`` (whole id or its end), ``turn`` or ``thread``, or of all."""

    limit: int = 20
    before: int | None = None
    thread: str = ""
    record: str = ""
    turn: str = ""


class Reading:
    """All that is looked at; nothing here changes anything."""

    def __init__(self, ports: ConsolePorts) -> None:
        self._ports = ports

    async def records(self, who: Identity, wanted: ListAsked, seen: Seen) -> Answer:
        """The result of ``memory.records``.  Raises InvalidInput for a ``before`` of another list."""
        scopes = visible_scopes(who) if not wanted.scope else visible_scopes(who) & {wanted.scope}
        filters = replace(wanted.filters, scopes=scopes, statuses=_statuses(wanted.filters.statuses, seen))
        question = await asked(self._ports.ranker, wanted.query) if wanted.query.strip() else None
        wanted = replace(wanted, filters=filters)
        return await self._ports.store.read(lambda tx: self._listed(tx, wanted, question, seen))

    async def record(self, who: Identity, id_: str, *, history: bool, seen: Seen) -> Answer:
        """The result of ``memory.record``.  Raises NotFound; Conflict with ``candidates``."""
        scopes = visible_scopes(who)

        def read(tx: Tx) -> Answer:
            found = opened.open_(tx, opened.find(tx, scopes, id_, hidden=seen.person))
            return self._opened(tx, found if seen.person else opened.for_turn(found), history=history)

        return await self._ports.store.read(read)

    async def injections(self, who: Identity, wanted: LedgerAsked, seen: Seen) -> Answer:
        """The result of ``memory.injections``.  Raises NotFound; Conflict with ``candidates``."""
        scopes = visible_scopes(who)
        return await self._ports.store.read(lambda tx: self._ledger(tx, scopes, wanted, seen))

    async def graph(self, who: Identity, center: str, *, depth: int, limit: int) -> Answer:
        """The result of ``memory.graph``.  Raises NotFound for a center that is not there."""
        scope = network.must_scope(visible_scopes(who))

        def read(tx: Tx) -> Answer:
            if center:
                return self._network(network.around(tx, scope, center, depth=depth, limit=limit))
            return self._network(network.best(tx, scope, limit=limit))

        return await self._ports.store.read(read)

    async def cold(self, who: Identity, query: str, *, before: str, limit: int, seen: Seen) -> Answer:
        """The result of ``memory.cold``."""
        scopes = visible_scopes(who)
        question = await asked(self._ports.ranker, query) if query.strip() else None

        def read(tx: Tx) -> Answer:
            if question is None:
                found = _coldest(tx, scopes, int(before) if before.isdecimal() else None, limit + 1)
                return self._cold(tx, [(event, None) for event in found[:limit]], seen, more=len(found) > limit)
            return self._cold(tx, self._found_cold(tx, scopes, question, limit, seen), seen, more=False)

        return await self._ports.store.read(read)

    # -- records -----------------------------------------------------------------------------------------------------

    def _listed(self, tx: Tx, wanted: ListAsked, question: Question | None, seen: Seen) -> Answer:
        if question is None:
            page = browse.page(tx, wanted.filters, sort=wanted.sort, before=wanted.before, limit=wanted.limit)
            return self._page(tx, page.records, {}, (page.next, page.of, wanted.filters.scopes), seen)
        scores = self._ranked(tx, wanted.filters, question)
        known = browse.among(tx, wanted.filters, scores)
        named = [one for one in browse.named(tx, wanted.filters, question.text) if _passes(wanted.filters, one)]
        order = [*named, *(known[id_] for id_ in scores if id_ in known and known[id_] not in named)]
        start = int(wanted.before) if wanted.before.isdecimal() else 0
        shown = order[start : start + wanted.limit]
        more = str(start + wanted.limit) if len(order) > start + wanted.limit else ""
        scores = {**dict.fromkeys((one.id for one in named), 1.0), **scores}
        return self._page(tx, shown, scores, (more, len(order), wanted.filters.scopes), seen)

    def _ranked(self, tx: Tx, filters: Filters, question: Question) -> dict[str, float]:
        """By relevance, the most relevant first, of each of the scopes."""
        hits: list[tuple[str, float]] = []
        for scope in sorted(filters.scopes):
            wanted = Wanted(
                scope, filters.records or frozenset(KINDS), self._ports.wall(), filters.project,
                statuses=filters.statuses or ALL_SHOWN, anywhere=not filters.project,
            )  # fmt: skip
            found = self._ports.ranker.records(tx, wanted=wanted, query=question, limit=RANKED)
            hits += [(hit.id, hit.score) for hit in found]
        return dict(sorted(hits, key=lambda hit: -hit[1]))

    def _page(
        self,
        tx: Tx,
        records: Sequence[Record],
        scores: Mapping[str, float],
        rest: tuple[str | None, int, Collection[str]],
        seen: Seen,
    ) -> Answer:
        """``rest``: where the next page begins, how many there are in all, and of which scopes."""
        names, scopes = _entities(tx, records), rest[2]
        redact = self._ports.redactor.redact
        origins = _origins(tx, [record.id for record in records], redact)
        listed = [
            {
                **cards.card(record, browse.mark(tx, record), names, redact),
                **origins.get(record.id, _NO_ORIGIN),
                **({"score": round(scores[record.id], 3)} if record.id in scores else {}),
            }
            for record in records
        ]
        titled = any(_strange(str(one["thread_title"]), str(one["thread"]), seen) for one in listed)
        untrusted = titled or any(record.untrusted for record in records)
        waits = figures.unread(tx, scopes)
        return Answer({"records": listed, "next": rest[0] or None, "of": rest[1], "unread": waits}, untrusted)

    def _opened(self, tx: Tx, found: Opened, *, history: bool) -> Answer:
        record = found.record
        people = speakers.names(tx, record.scope, [one.event.peer for one in found.said if one.event])
        shown = cards.opened(found, _entities(tx, [record]), people, self._ports.redactor.redact)
        if not history:
            shown["history"] = []
        beside = (record, *found.older, *found.newer, *found.members, *found.capsules)
        outside = any(one.untrusted for one in beside) or any(_outside(one.event) for one in found.said if one.event)
        beside_words = found.said or found.cited or found.told  # with the titles of their conversations
        return Answer({**shown, "revisions": len(found.revisions)}, outside or bool(beside_words))

    # -- the ledger --------------------------------------------------------------------------------------------------

    def _ledger(self, tx: Tx, scopes: Collection[str], wanted: LedgerAsked, seen: Seen) -> Answer:
        redact = self._ports.redactor.redact
        found = [one for one in _rows(tx, frozenset(scopes), wanted, seen) if one.scope in scopes]
        shown = found[: wanted.limit]
        ids = {line.id for one in shown for line in one.lines}
        asked_ = injections.questions(tx, {one.turn for one in shown})
        private = _private(tx, {one.turn for one in shown})
        kept = {turn: text for turn, text in asked_.items() if turn not in private}
        titles = opened.titles(tx, {one.thread for one in shown})
        known = {record.id: record for record in _known(tx, scopes, ids)}
        gone = frozenset(injections.gone(tx, ids))
        words = injections.words(tx, _other(shown, known)) if seen.person else {}  # of before something was hidden, too
        most = MOST_SAID if wanted.turn else cards.QUESTION  # of one turn there is room for all
        rows = [
            cards.injection(
                one, Then(titles.get(one.thread, ""), kept.get(one.turn, ""), known, words, gone, most), redact
            )
            for one in shown
        ]  # fmt: skip
        answer = {"injections": rows, "next": shown[-1].seq if len(found) > wanted.limit else None}
        written = figures.of_turn(tx, scopes, wanted.turn) if wanted.turn else None
        return Answer(answer | ({"written": written} if written else {}), untrusted=bool(rows))

    # -- the graph ---------------------------------------------------------------------------------------------------

    def _network(self, found: network.Network) -> Answer:
        redact = self._ports.redactor.redact
        nodes = [
            {
                "id": one.id, "name": redact(one.name), "type": one.type, "mentions": one.mentions,
                "distance": found.distance.get(one.id, 0), "untrusted": one.id in found.doubtful,
            }
            for one in found.nodes
        ]  # fmt: skip
        edges = [
            {
                "record": one.id, "shown": one.shown_id, "from": one.subject, "to": one.object_entity,
                "value": "" if one.object_entity else redact(one.object), "relation": one.relation,
                "text": redact(one.text), "confidence": round(one.confidence, 3), "status": one.status,
                "importance": one.importance, "untrusted": one.untrusted, "valid_from": one.valid_from,
                "valid_until": one.valid_until,
            }
            for one in found.edges
        ]  # fmt: skip
        untrusted = bool(found.doubtful) or any(one.untrusted for one in found.edges)
        return Answer({"center": found.center, "nodes": nodes, "edges": edges, "more": found.more}, untrusted)

    # -- the cold layer ----------------------------------------------------------------------------------------------

    def _found_cold(
        self, tx: Tx, scopes: Collection[str], question: Question, limit: int, seen: Seen
    ) -> list[tuple[Event, float | None]]:
        hits: list[tuple[Event, float | None]] = []
        for scope in sorted(scopes):
            found = self._ports.ranker.search(tx, scope=scope, layer="cold", query=question, limit=limit + 4)
            events = reading.by_ids(tx, scope, [hit.id for hit in found])
            hits += [(events[hit.id], hit.score) for hit in found if hit.id in events]
        mine = [hit for hit in hits if not seen.turn or hit[0].turn != seen.turn]
        return sorted(mine, key=lambda hit: -(hit[1] or 0.0))[:limit]

    def _cold(self, tx: Tx, found: Sequence[tuple[Event, float | None]], seen: Seen, *, more: bool) -> Answer:
        events = [event for event, _ in found]
        places = reading.places_of(tx, events)
        redact = self._ports.redactor.redact
        sunk: dict[str, float] = dict(
            tx.all(f"SELECT id, sunk_at FROM events WHERE id IN {_AMONG}", (dumps([event.id for event in events]),))
        )
        rows = [
            {
                "event": one.id, "seq": one.seq, "at": one.created_at, "thread": one.thread,
                "title": redact(places[one.thread].title) if one.thread in places else "", "channel": one.channel,
                "turn": one.turn, "kind": one.kind.value, "peer": one.peer, "sunk_at": sunk.get(one.id) or None,
                "untrusted": _outside(one), "text": fitted_text(redact(one.text), PIECE), "of": len(one.text),
                **({} if score is None else {"score": round(score, 3)}),
            }
            for one, score in found
        ]  # fmt: skip
        next_ = str(events[-1].seq) if more else None
        titled = any(_strange(str(row["title"]), str(row["thread"]), seen) for row in rows)
        return Answer({"events": rows, "next": next_}, titled or any(_outside(event) for event in events))


ALL_SHOWN = frozenset({"active", "superseded", "archived", "quarantined"})
"""Every status but hidden, which must be asked for by its name, and by a person."""

_NO_ORIGIN: Mapping[str, object] = {"sources": 0, "thread": "", "thread_title": ""}


def _statuses(wanted: frozenset[str], seen: Seen) -> frozenset[str]:
    asked_ = wanted or ALL_SHOWN
    return asked_ if seen.person else (asked_ & ALL_SHOWN or frozenset({"none"}))


def _passes(filters: Filters, record: Record) -> bool:
    """Whoever gives an id means that one, whatever else is filtered by; but what is hidden must be asked for."""
    return record.status != "hidden" or "hidden" in filters.statuses


def _entities(tx: Tx, records: Sequence[Record]) -> dict[str, str]:
    """Names of the entities that these records name."""
    ids = {end for one in records for end in (one.subject, one.object_entity) if end}
    rows = tx.all(f"SELECT {entities.COLUMNS} FROM entities WHERE id IN {_AMONG}", (dumps(sorted(ids)),))
    return {entity.id: entity.name for entity in map(entities.from_row, rows)}


def _strange(title: str, thread: str, seen: Seen) -> bool:
    """Whether the title of a conversation is strangers' words for whoever looks: to a turn of another one it is, for it
    may be the name of a file, or what a plugin thought of."""
    return not seen.person and bool(title) and thread != seen.thread


def _origins(tx: Tx, ids: Sequence[str], redact: Callable[[str], str]) -> dict[str, dict[str, object]]:
    """How many pieces of evidence each of these has, and the conversation of the newest."""
    rows = tx.all(
        "SELECT v.record, count(*), e.thread, h.title, max(e.seq) FROM evidence v JOIN events e ON e.id = v.event"
        f" JOIN threads h ON h.id = e.thread WHERE v.record IN {_AMONG} GROUP BY v.record",
        (dumps(list(ids)),),
    )
    return {
        id_: {"sources": count, "thread": thread, "thread_title": redact(title)}
        for id_, count, thread, title, _ in rows
    }


def _known(tx: Tx, scopes: Collection[str], ids: Collection[str]) -> list[Record]:
    everything = Filters(frozenset(scopes), statuses=frozenset())
    return list(browse.among(tx, everything, ids).values())


def _other(shown: Collection[Injection], known: Mapping[str, Record]) -> set[tuple[str, int]]:
    """Of what was told, what says something else by now, with the revision that was told."""
    lines = [line for one in shown for line in one.lines if line.id in known]
    return {(line.id, line.revision) for line in lines if known[line.id].revision != line.revision}


def _rows(tx: Tx, scopes: frozenset[str], wanted: LedgerAsked, seen: Seen) -> list[Injection]:
    more = wanted.limit + 1
    if wanted.record:
        record = opened.find(tx, scopes, wanted.record, hidden=seen.person)
        return injections.of_record(tx, record.id, limit=more, before=wanted.before)
    if wanted.turn:
        return injections.of_turn(tx, wanted.turn)
    return injections.of_scopes(tx, scopes, thread=wanted.thread, limit=more, before=wanted.before)


def _private(tx: Tx, turns: Collection[str]) -> frozenset[str]:
    """Those of these turns whose question is private to its conversation: it is shown there alone."""
    rows = tx.all(
        f"SELECT t.id FROM turns t JOIN inputs i ON i.id = t.input WHERE t.id IN {_AMONG} AND i.no_memory = 1",
        (dumps(sorted(turns)),),
    )
    return frozenset(str(turn) for (turn,) in rows)


def _coldest(tx: Tx, scopes: Collection[str], before: int | None, limit: int) -> list[Event]:
    """Cold events, the newest first."""
    found: list[Event] = []
    for scope in sorted(scopes):
        params: tuple[SqlValue, ...] = (scope, (1 << 62) if before is None else before, DRAFT, limit)
        rows = tx.all(
            f"SELECT {table.COLUMNS} FROM events WHERE scope = ? AND layer = 'cold' AND seq < ? AND no_memory = 0"
            " AND NOT (kind = 'note' AND coalesce(json_extract(data, '$.code'), '') = ?)"
            f" AND {table.NOT_REMOVED} ORDER BY seq DESC LIMIT ?",
            params,
        )
        found += map(table.from_row, rows)
    return sorted(found, key=lambda event: -event.seq)[:limit]


def _outside(event: Event) -> bool:
    return bool(event.data.get("untrusted")) or shows_files(event)
