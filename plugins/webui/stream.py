"""The live stream of one page, as server-sent events.

A page that opens or comes back brings a cursor.  It is told what happened since, the turn under way as it stands, and
from there on each notice once.  Where that cannot be promised it is told ``sync_required`` and loads its thread afresh.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable

import trio

from homed.errors import Denied, HomedError

from .context import Data, Site, Who
from .hub import DELTAS, PASSING, Notice, Watcher
from .pieces import Op
from .reading import mapping, string
from .view import Gap, ThreadView

log = logging.getLogger(__name__)

GATHER = 0.04
"""Seconds in which deltas are gathered into one event: quick to the eye, and well inside the 100 ms that a stop has."""
SHARE = 3.0
"""Rendering takes at most 1/(1+SHARE) of the time: a long growing block is shown less often."""
JOIN_EVENTS = 50
"""Events of history that a joining stream reads to know which questions its page has."""

OPENING = b"retry: 1500\n\n"
HEARTBEAT = b": heartbeat\nevent: beat\ndata: {}\n\n"
SYNC = Op("sync_required", {})


def frame(op: Op, cursor: str = "") -> bytes:
    """One operation as a server-sent event; ``cursor`` becomes its id."""
    head = f"id: {cursor}\n" if cursor else ""
    return f"{head}event: {op.name}\ndata: {json.dumps(op.data, ensure_ascii=False)}\n\n".encode()


class EventStream:
    """An async iterator of bytes for one page.

    It joins the hub when first asked and leaves it in `aclose`, which the server calls however the response ends.
    """

    def __init__(self, site: Site, person: Who, view: ThreadView, *, thread: str, cursor: str) -> None:
        self._site = site
        self._who = person
        self._view = view
        self._thread = thread
        self._cursor = cursor
        self._watcher: Watcher | None = None
        self._upto = 0
        self._had = 0
        self._pause = GATHER
        self._ended = False
        self._known_at = trio.current_time()

    def __aiter__(self) -> EventStream:
        return self

    async def aclose(self) -> None:
        """Leave the hub."""
        if self._watcher is not None:
            self._site.hub.leave(self._watcher)
            self._watcher, self._ended = None, True
            self._site.limits.streams.leave(self._who.account)
        await trio.lowlevel.checkpoint()

    async def __anext__(self) -> bytes:
        """The next bytes: the state at the start, then what happens, then a heartbeat where nothing does."""
        if self._ended:
            raise StopAsyncIteration
        try:
            if self._watcher is None:
                self._site.limits.streams.check(self._who.account)  # again: others began since it was asked for
                self._site.limits.streams.count(self._who.account)
                self._watcher = self._site.hub.join(self._thread, owner=self._who.hears_daemon)
                return OPENING + await self._join()
            return await self._next(self._watcher)
        except Gap:
            return self._end(SYNC)
        except Denied:
            return self._end(Op("logged_out", {}))
        except HomedError as error:
            log.warning("the stream of a page ends: %s", error)
            return self._end(SYNC)

    async def _join(self) -> bytes:
        missed = self._missed()
        if not self._thread and not self._cursor:
            return b""  # a new page, which knows of nothing yet
        if missed is None:
            return self._end(SYNC)  # no need to ask for anything
        if not self._thread:
            self._upto = self._had = self._site.hub.latest
            return self._frames([op for notice in missed for op in self._view.feed(notice)], self._upto)
        history = await self._history()
        # only now: what came in the meantime is in the history, and only the live step of that is shown whole
        missed = self._missed()
        if missed is None:
            return self._end(SYNC)
        self._upto = int(history["seq"])
        self._had = min(self._upto, self._site.hub.latest)
        return self._frames(self._view.resume(history, missed) + self._waited(history), self._had)

    def _waited(self, history: Data) -> list[Op]:
        """How far the turn under way is while it has nothing of its step yet: a page shows it beneath all else."""
        live = mapping(history.get("live"))
        found = self._site.hub.progress(string(live, "turn"), self._thread, owner=self._who.hears_daemon)
        if found is None or live.get("text") or live.get("reasoning"):
            return []  # the hub may be behind the history
        return self._view.feed(found)

    def _missed(self) -> list[Notice] | None:
        return self._site.hub.missed(self._cursor, self._thread, owner=self._who.hears_daemon)

    async def _next(self, watcher: Watcher) -> bytes:
        await self._known()
        deadline = trio.current_time() + self._site.heartbeat
        while (left := deadline - trio.current_time()) > 0:
            await watcher.wait(left)
            if watcher.closed:
                raise StopAsyncIteration
            if watcher.overrun:
                return self._end(SYNC)
            if (out := await self._batch(watcher)) is not None:
                return out
        await self._known()
        return HEARTBEAT

    async def _known(self) -> None:
        """Now and then, however much there is to tell: whether it is still told to who began it.  Raises Denied."""
        if trio.current_time() >= self._known_at + self._site.heartbeat:
            await self._site.known(self._who.session, self._who.key)
            self._known_at = trio.current_time()

    async def _batch(self, watcher: Watcher) -> bytes | None:
        """What waits, as frames; None if there was nothing to tell."""
        notices = watcher.take()
        if notices and all(notice.type in DELTAS for notice in notices):
            await trio.sleep(self._pause)
            notices += watcher.take()
        fresh = [notice for notice in notices if self._is_news(notice)]
        if not fresh:
            return None
        began = trio.current_time()
        ops = [op for notice in fresh for op in self._view.feed(notice)] + self._view.flush()
        self._pause = max(GATHER, (trio.current_time() - began) * SHARE)
        if self._view.unsaid:
            ops = self._view.tell_said(await self._history()) + ops
        self._upto = max(self._upto, fresh[-1].seq)
        return self._frames(ops, fresh[-1].seq) or None

    def _is_news(self, notice: Notice) -> bool:
        """After the history; or before it, but still on its way when the history came, and so not told by `resume`."""
        return notice.seq > self._upto or (notice.seq > self._had and notice.type not in PASSING)

    async def _history(self) -> Data:
        asked = {"peer": self._who.peer, "thread": self._thread, "limit": JOIN_EVENTS}
        history: Data = await self._site.kernel.call("io.history", asked)
        return history

    def _frames(self, ops: Iterable[Op], seq: int) -> bytes:
        """The operations as frames, told once each; only the last has the cursor, as all of them belong to it."""
        told: list[Op] = []
        for op in ops:
            if op.data or op not in told:
                told.append(op)
        cursor = self._site.hub.cursor(seq)
        return b"".join(frame(op, cursor if op is told[-1] else "") for op in told)

    def _end(self, op: Op) -> bytes:
        self._ended = True
        return frame(op)
