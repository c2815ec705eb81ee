"""Looking back: the list of threads, pages of history, single events word for word; a new title for a thread."""

from __future__ import annotations

import logging
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

import trio

from homed import events as notices
from homed.agent import views
from homed.agent.approvals import Approvals
from homed.agent.explain import recalls, recalls_now
from homed.agent.fitting import size
from homed.agent.lane import Lane
from homed.agent.lanes import Lanes
from homed.agent.ports import AgentPorts
from homed.errors import InvalidInput, NotFound, StorageError
from homed.identity.roles import Identity, visible_scopes
from homed.memory import blocks, events, inputs, passes, threads
from homed.memory.records import Event, Input, Thread, is_draft
from homed.memory.temporary import seen
from homed.retrieval.terms import term
from homed.retrieval.words import Words
from homed.store.rows import Reader, Tx

if TYPE_CHECKING:
    from homed.memory.children import Progress

log = logging.getLogger(__name__)

SLICE = 200_000
"""Characters of one answer of ``event`` at the most, and without a wish."""

SLICE_BYTES = 700_000
"""Bytes that they may take in JSON: with the rest of the answer they fit one line of the wire."""


MOST_WORDS = 16
"""Words of a search that are looked up."""

MOST_FOUND = 500
"""Events that have them all, the newest, whose threads are listed: some 20 ms."""


class Archive:
    """What is stored of the conversations, with what runs in them now.  What ``who`` may not see is NotFound."""

    def __init__(self, ports: AgentPorts, lanes: Lanes, approvals: Approvals) -> None:
        self._ports = ports
        self._lanes = lanes
        self._approvals = approvals

    async def threads(
        self, who: Identity, query: str = "", limit: int = 50, before: float | None = None
    ) -> dict[str, object]:
        """This peer's threads, last used first; as ``io.threads``."""
        scopes, asked = visible_scopes(who), max(1, min(limit, 500))
        known: Collection[str] = ()
        try:
            known = await self._ports.store.read(lambda tx: by_words(tx, scopes, query))
        except StorageError as error:
            if error.detail.get("reason") != "index_damaged":
                raise
            log.warning("a conversation was looked for by letters only: %s", error.message)
        found, more = await self._ports.store.read(lambda tx: threads.list_(tx, scopes, query, asked, before, known))
        listed = [views.thread_view(thread, busy=self._busy(thread.id)) for thread in found]
        return {"threads": listed, "more": more}

    async def history(
        self, who: Identity, thread: str, before: int | None = None, limit: int = 50
    ) -> dict[str, object]:
        """A page of a thread and what runs in it now; as ``io.history``.

        Taken between two writes of the turn, so that ``seq`` is exact: notices after it are news, those before are in.
        """
        asked = max(1, min(limit, 500))
        # the connection first: the turn waits at the gate for as long as one page takes, not for others' reads
        async with self._ports.store.reader() as reader:
            while True:
                lane = self._lanes.get(thread)
                async with lane.gate if lane else trio.Lock():
                    known = _waiting(lane)
                    stored = await self._page(reader, who, thread, before, asked)
                    if self._lanes.get(thread) is lane and _waiting(lane) == known:
                        break
        turn, still = (lane.running, lane.suspended) if lane else (None, [])
        page = views.bounded(views.shown(stored), stored.ended)
        return {
            "thread": views.thread_view(stored.thread, busy=self._busy(thread)),
            **page,
            "more": stored.more or page["more"],
            "live": views.live_view(turn, 1 + len(still)),
            "suspended": [views.live_view(one, 1 + len(still)) for one in still],
            "agents": [views.agent_view(one) for one in stored.agents],
            "recalls": [*stored.recalls, *recalls_now(turn)],
            "written": [views.written_view(of, made) for of, made in stored.written.items()],
            "queued": views.queued_view(known, stored.brought),
            "approvals": self._approvals.list_(who, thread),
            "seq": self._ports.bus.seq,
        }

    async def _page(self, reader: Reader, who: Identity, thread: str, before: int | None, limit: int) -> views.Stored:
        def read(tx: Tx) -> views.Stored:
            found = visible(tx, who, thread)
            page, more = events.history(tx, thread, before=before, limit=limit)
            ended = inputs.ended_before(tx, {event.turn for event in page}, before=before)
            files = blocks.of_events(tx, [event.id for event in page if event.data.get("files")])
            told = recalls(tx, {event.turn for event in page})
            made = _agents(tx, thread, {event.turn for event in page})
            kept = {input_.turn: passes.written(tx, input_.turn) for input_ in ended if input_.turn}
            return views.Stored(found, page, more, ended, files, blocks.waiting_in(tx, thread), told, made, kept)

        return await reader.read(read)

    async def event(self, who: Identity, id_: str, offset: int = 0, length: int = SLICE) -> dict[str, object]:
        """One event word for word, a slice of its text; as ``io.event``.  ``offset`` and ``length`` are characters.

        An answer that has not been sent yet is not there.
        """

        def read(tx: Tx) -> tuple[Event, Sequence[blocks.Block]]:
            row = tx.one(f"SELECT {events.COLUMNS} FROM events WHERE id = ?", (id_,))
            found = events.from_row(row) if row else None
            thread = threads.get(tx, found.thread) if found else None
            if not found or not thread or not seen(tx, thread.scope, visible_scopes(who)) or is_draft(found):
                raise NotFound("There is no such event.")
            return found, blocks.of_events(tx, [id_]).get(id_, [])

        found, files = await self._ports.store.read(read)
        text = found.text
        asked = text[max(0, offset) :][: max(1, min(length, SLICE))]
        while size(asked) > SLICE_BYTES:
            asked = asked[: len(asked) // 2]
        return {"event": views.whole_event_view(found, files), "text": asked, "offset": offset, "of": len(text)}

    async def rename(self, who: Identity, thread: str, title: str) -> None:
        """Give a thread another title, one line of at most 200 characters."""
        clean = self._ports.redactor.redact(" ".join(title.split())[:200])
        if not clean:
            raise InvalidInput("The title is empty.")

        def write(tx: Tx) -> Thread:
            found = visible(tx, who, thread)
            threads.rename(tx, thread, clean)
            return found

        found = await self._ports.store.write(write)
        data = {"title": clean, "channel": found.channel, "created": False}
        self._ports.bus.post(notices.THREAD, thread=thread, scope=found.scope, data=data)

    def _busy(self, thread: str) -> bool:
        lane = self._lanes.get(thread)
        return bool(lane and (lane.running or lane.suspended or lane.waiting))


def by_words(tx: Tx, scopes: Collection[str], query: str) -> set[str]:
    """Threads in which all the query's words were said, in any form of them, longer ago than is searched by letters."""
    until = threads.looked_through(tx)
    wanted = list(dict.fromkeys(Words().tokens(query)))[:MOST_WORDS] if until > 0 else []
    found: set[str] = set()
    for scope in scopes if wanted else ():
        all_of_them = " AND ".join(f'"{term(scope, word)}"' for word in wanted if '"' not in word)
        rows = tx.all(
            "SELECT DISTINCT e.thread FROM (SELECT rowid FROM word_index WHERE word_index MATCH ? AND rowid <= ?"
            " ORDER BY rowid DESC LIMIT ?) w JOIN events e ON e.seq = w.rowid"
            " WHERE e.scope = ? AND e.kind IN ('user', 'assistant')",
            (all_of_them, until, MOST_FOUND, scope),
        )
        found |= {str(thread) for (thread,) in rows}
    return found


def visible(tx: Tx, who: Identity, thread: str) -> Thread:
    """The thread, if this peer may see it; else NotFound."""
    found = threads.get(tx, thread)
    if found is None or not seen(tx, found.scope, visible_scopes(who)):
        raise NotFound("There is no such conversation.")
    return found


def _agents(tx: Tx, thread: str, turns: Collection[str]) -> Sequence[Progress]:
    """What these turns gave agents to do."""
    if tx.value("SELECT 1 FROM child_tasks WHERE front = ? LIMIT 1", (thread,)) is None:
        return ()
    from homed.memory.children import progress  # loaded where there are some

    return progress(tx, thread, turns)


def _waiting(lane: Lane | None) -> list[Input]:
    """Accepted inputs of a lane that stand in no history yet, the one that runs first."""
    if lane is None:
        return []
    turn = lane.running
    return [*([turn.input] if turn and not turn.heard else []), *lane.waiting]
