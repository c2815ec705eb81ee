"""Forgetting what a person wants forgotten, wherever it stands, and proving it.

First the wish is stored, in one small transaction; then a task of its own removes it bit by bit, so that others write
between, and a start goes on with what a crash cut off.  In this order: the rows and all that rests on them; the words
in the indexes, vectors, files; the log of the database; then every file of the data folder is searched for what was
removed, and where a page still has bytes of it they are overwritten.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Protocol

import trio

from homed import events as notices
from homed.clock import WallClock, system_wall_clock
from homed.errors import HomedError, StorageError, Unavailable
from homed.failpoints import Failpoints, NoFailpoints
from homed.jobs import proof
from homed.jobs.forget_rows import Rows, list_
from homed.jobs.proof import Proof, ScrubbingStore
from homed.jobs.searching import Searcher, blank_all_logs
from homed.memory import forget_agents, forget_peer, forget_reads, forget_todo, forgets, needles, removal
from homed.memory.forget import Gone
from homed.memory.forget_todo import Todo
from homed.memory.forgets import Preview, Request
from homed.retrieval import index
from homed.store.rows import Tx

log = logging.getLogger(__name__)

ASK_LIMIT = 10.0
"""Seconds that storing a wish may take, shielded: it is stored, or nothing happens."""

_LATER = "What is left of it is removed at the next start."


class Bus(Protocol):
    """``homed.events.Bus``."""

    def post(self, type_: str, *, data: dict[str, object]) -> object:
        """Post a notice."""
        ...


class DeleteThread(Protocol):
    """Stops what runs in a conversation and removes it; ``Conversations``.  NotFound when it is gone."""

    async def __call__(self, thread: str) -> None:
        """Returns once nothing of it is left."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgetPorts:
    """What it works with.

    ``erasers``: each takes some of what is left of deleted rows out of an index (``index.erase``, …); called with one
    transaction each until it returns nothing.  ``forget_vectors``: no file holds a vector any more that was deleted.
    ``collect``: removes files that no row names.
    """

    store: ScrubbingStore
    data: Path
    search: Searcher
    collect: Callable[[], Awaitable[object]]
    delete_thread: DeleteThread
    erasers: Sequence[Callable[[Tx], object]] = (index.erase, index.tidy)
    forget_vectors: Callable[[], Awaitable[object]] = trio.lowlevel.checkpoint
    bus: Bus | None = None
    wall: WallClock = system_wall_clock
    failpoints: Failpoints = field(default_factory=NoFailpoints)


@dataclass(slots=True)
class _Wait:
    """For the end of one."""

    done: trio.Event = field(default_factory=trio.Event)
    proof: Proof | None = None
    error: HomedError | None = None


class Forgetting:
    """Forgets, while ``run`` does."""

    def __init__(self, ports: ForgetPorts) -> None:
        self._ports = ports
        self._waits: defaultdict[str, list[_Wait]] = defaultdict(list)
        # Stored by this run, and nothing of them done by another or by a try that failed.
        self._asked: set[str] = set()
        self._begun = ""
        # Held while a wish is stored and somebody begins to wait for it, while one is begun, and while those who wait
        # are told.
        self._gate = trio.Lock()
        self._wake = trio.Event()
        self._over = False

    async def run(self) -> None:
        """Do what waits, also what an earlier run left.  Cancelled: the rest waits for the next start."""
        try:
            while True:
                self._wake = trio.Event()
                for request in await self._waiting():
                    await self._one(request)
                await self._wake.wait()
        finally:
            self._over = True
            for asked in list(self._waits):
                self._answer(asked, None, Unavailable("homed is stopping.", hint=_LATER))

    async def preview(
        self, kind: str, target: str, *, wide: bool = False, scopes: Collection[str] | None = None
    ) -> Preview:
        """What would go; nothing is changed.  ``scopes``: only what belongs to them (None: to any).

        Raises NotFound; Conflict with ``candidates`` when the end of an id means several.
        """

        def read(tx: Tx) -> Preview:
            return forgets.preview(tx, kind, forgets.resolve(tx, kind, target, scopes), wide=wide)

        return await self._ports.store.read(read)

    async def forget(
        self, kind: str, target: str, *, wide: bool = False, scopes: Collection[str] | None = None
    ) -> Proof:
        """Forget it, and prove that it is gone.

        ``kind``: event, fact (any record), entity, peer, thread.  ``wide``: of an event the whole turn, of a fact or an
        entity the messages it comes from too.  Raises NotFound, Conflict (ambiguous, or being answered), StorageError.
        Cancelled before the wish is stored: nothing happens.  Cancelled later: it is forgotten all the same.
        """
        at = self._ports.wall()

        def find(tx: Tx) -> tuple[str, Todo]:
            found = forgets.resolve(tx, kind, target, scopes)
            return found, forget_todo.find(tx, kind, found, wide=wide)

        meant, todo = await self._ports.store.read(find)  # by reading: it may be much

        def write(tx: Tx) -> tuple[Request, bool]:
            known = {request.id for request in forgets.waiting(tx)}
            target = forgets.resolve(tx, kind, meant, scopes)
            request = forgets.ask(tx, kind, target, wide=wide, at=at, begun=self._begun)
            forget_todo.put(tx, request.id, todo)
            return request, request.id not in known

        async with self._gate:
            if self._over:
                raise Unavailable("homed is stopping.", hint="Nothing was forgotten; ask again.")
            (request, new), wait = await self._stored(write), _Wait()
            if new:
                self._asked.add(request.id)
            self._waits[request.id].append(wait)
        self._ports.failpoints.reach("forget.asked")
        self._wake.set()
        await wait.done.wait()
        if wait.error is not None:
            raise wait.error
        assert wait.proof is not None
        return wait.proof

    async def forget_text(self, text: str) -> Proof:
        """Take a text out of what is no memory; see ``forget_text.forget_text``."""
        from homed.jobs.forget_text import forget_text  # seldom

        return await forget_text(self._ports, text)

    async def _stored(self, write: Callable[[Tx], tuple[Request, bool]]) -> tuple[Request, bool]:
        with trio.move_on_after(ASK_LIMIT, shield=True):
            return await self._ports.store.write(write)
        raise StorageError("The wish could not be stored in time.", hint="Is the disk full or hanging?")

    def _answer(self, request: str, done: Proof | None, error: HomedError | None) -> None:
        for wait in self._waits.pop(request, []):
            wait.proof, wait.error = done, error
            wait.done.set()

    async def _waiting(self) -> list[Request]:
        try:
            requests = await self._ports.store.read(forgets.waiting)
        except StorageError as error:
            log.warning("what was to be forgotten was not looked for: %s", error.message)
            return []
        for request in requests:  # all of them before the first: that may take what another is found by
            if request.id not in self._asked:
                try:
                    await list_(self._ports, request)
                except Exception:
                    log.exception("%s was not listed; it is tried again when it is its turn", request.id)
        return requests

    async def _one(self, request: Request) -> None:
        """Do one and tell whoever waits; what goes wrong ends this one only."""
        done: Proof | None = None
        error: HomedError | None = None
        try:
            done = await self.do(await self._begin(request), resumed=request.id not in self._asked)
        except HomedError as refused:
            log.error("%s could not be done whole: %s", request.id, refused)
            error = refused
        except Exception:
            log.exception("%s could not be done whole", request.id)
            error = StorageError("Something in homed itself went wrong.", hint=_LATER)
        async with self._gate:
            self._begun = ""
            self._asked.discard(request.id)
            self._answer(request.id, done, error)

    async def _begin(self, request: Request) -> Request:
        """It as it is now: somebody may have asked for it again.  Who asks from now on has a wish of their own."""
        async with self._gate:
            now = await self._ports.store.read(lambda tx: forgets.get(tx, request.id))
            self._begun = request.id
        return now or request

    async def do(self, request: Request, *, resumed: bool = False) -> Proof:
        """Remove it and prove it; whatever was removed already is no fault.  ``resumed``: a crash cut it off."""
        ports, begun, gone = self._ports, trio.current_time(), Gone()
        self._tell(request, "removing", gone)
        names = await Rows(ports, request, gone).remove()
        ports.failpoints.reach("forget.removed")
        await self.wipe(gone)
        await self._close(request)
        ports.failpoints.reach("forget.wiped")
        emptied = await proof.emptied(ports.store, None if resumed else ())
        lines = await trio.to_thread.run_sync(blank_all_logs, ports.data) if resumed else 0
        titles = await ports.store.read(forget_reads.titles)
        repeating = await trio.to_thread.run_sync(needles.repeating, titles, gone.texts)
        sought = needles.of_texts(gone.texts, names=[*names, *repeating])
        self._tell(request, "searching", gone)
        found, scrubbed, blanked, said, problem = await proof.look(ports.search, ports.store, ports.data, sought)
        if emptied is None:
            problem = problem or "Something reads the database all the time, so its log could not be emptied."
        ports.failpoints.reach("forget.searched")
        at = ports.wall()
        await ports.store.write(lambda tx: forgets.done(tx, request, at=at))
        counts = {name: number for name, number in sorted(gone.counts.items()) if number}
        self._tell(request, "end", gone)
        return Proof(
            id=request.id, kind=request.kind, removed=counts, sentences=len(sought.sentences), short=sought.short,
            left_out=sought.left_out + (not gone.whole), files=found.files, bytes=found.bytes,
            scrubbed=scrubbed + (emptied or 0), log_lines=lines + blanked, found=found.by_file, said=said,
            unread=found.unread, copies=await trio.to_thread.run_sync(proof.copies, ports.data), resumed=resumed,
            problem=problem, ms=round(1000 * (trio.current_time() - begun)),
        )  # fmt: skip

    async def wipe(self, gone: Gone) -> None:
        """Take what is gone out of the indexes, vectors and files; for whoever removed rows by other ways, too."""
        ports = self._ports
        for eraser in ports.erasers:
            while await ports.store.write(eraser):
                pass
        await ports.forget_vectors()
        await ports.store.write(partial(forgets.blank_notes, texts=gone.texts[:200]))
        await ports.collect()

    async def _close(self, request: Request) -> None:
        """Once the indexes are done: what is named by a peer's own scope, the name in the wish, and those with it: what
        is looked for from now on is not to stand there."""

        def write(tx: Tx) -> None:
            forget_todo.clear(tx, request.id)
            if request.kind == "peer" and (peer := forgets.peer_of(tx, request)):
                forget_peer.remove_scopes(tx, peer)
                forgets.disguise(tx, request)

        await self._ports.store.write(write)

    def _tell(self, request: Request, phase: str, gone: Gone) -> None:
        if self._ports.bus is not None:
            data: dict[str, object] = {
                "what": "forget", "kind": request.kind, "phase": phase, "events": gone.counts["events"],
            }  # fmt: skip
            self._ports.bus.post(notices.MEMORY, data=data)


async def delete_quietly(store: ScrubbingStore, thread: str) -> None:
    """``DeleteThread`` where no daemon runs: nobody is in it.  With the agents that were made in it."""
    for agent in await store.read(lambda tx: forget_agents.below(tx, thread)):
        await _delete_alone(store, agent)
    await _delete_alone(store, thread)


async def _delete_alone(store: ScrubbingStore, thread: str) -> None:
    if await store.read(lambda tx: tx.value("SELECT scope <> '' FROM threads WHERE id = ?", (thread,))):
        await store.write(lambda tx: removal.hide(tx, thread))
    while await store.write(lambda tx: removal.remove_some(tx, thread)):
        pass
