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
from homed.jobs.proof import Proof, ScrubbingStore
from homed.jobs.searching import Searcher, blank_all_logs
from homed.memory import forget, forget_agents, forget_peer, forget_reads, forgets, needles, removal, repeats
from homed.memory.forget import Gone
from homed.memory.forgets import Preview, Request
from homed.retrieval import index
from homed.store.rows import Tx

log = logging.getLogger(__name__)

EVENTS = 16
"""Events removed with one transaction: some 20 ms of the writer with all that rests on them."""

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
        self._asked: set[str] = set()
        # Held while a wish is stored and somebody begins to wait for it, and while those who wait are told.
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

        def write(tx: Tx) -> Request:
            return forgets.ask(tx, kind, forgets.resolve(tx, kind, target, scopes), wide=wide, at=at)

        async with self._gate:
            if self._over:
                raise Unavailable("homed is stopping.", hint="Nothing was forgotten; ask again.")
            request, wait = await self._stored(write), _Wait()
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

    async def _stored(self, write: Callable[[Tx], Request]) -> Request:
        with trio.move_on_after(ASK_LIMIT, shield=True):
            return await self._ports.store.write(write)
        raise StorageError("The wish could not be stored in time.", hint="Is the disk full or hanging?")

    def _answer(self, request: str, done: Proof | None, error: HomedError | None) -> None:
        for wait in self._waits.pop(request, []):
            wait.proof, wait.error = done, error
            wait.done.set()

    async def _waiting(self) -> list[Request]:
        try:
            return await self._ports.store.read(forgets.waiting)
        except StorageError as error:
            log.warning("what was to be forgotten was not looked for: %s", error.message)
            return []

    async def _one(self, request: Request) -> None:
        """Do one and tell whoever waits; what goes wrong ends this one only."""
        done: Proof | None = None
        error: HomedError | None = None
        try:
            done = await self.do(request, resumed=request.id not in self._asked)
        except HomedError as refused:
            log.error("%s could not be done whole: %s", request.id, refused)
            error = refused
        except Exception:
            log.exception("%s could not be done whole", request.id)
            error = StorageError("Something in homed itself went wrong.", hint=_LATER)
        async with self._gate:
            self._answer(request.id, done, error)

    async def do(self, request: Request, *, resumed: bool = False) -> Proof:
        """Remove it and prove it; whatever was removed already is no fault.  ``resumed``: a crash cut it off."""
        ports, begun, gone = self._ports, trio.current_time(), Gone()
        names = await self._remove(request, gone)
        ports.failpoints.reach("forget.removed")
        await self.wipe(gone)
        await self._close(request)
        ports.failpoints.reach("forget.wiped")
        emptied = await proof.emptied(ports.store, None if resumed else ())
        lines = await trio.to_thread.run_sync(blank_all_logs, ports.data) if resumed else 0
        sought = needles.of_texts(gone.texts, names=names)
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

    # -- the rows --------------------------------------------------------------------------------------------------

    async def _remove(self, request: Request, gone: Gone) -> list[str]:
        """Remove the rows; returns names that are looked for besides what was said."""
        self._tell(request, "removing", gone)
        return await _REMOVERS[request.kind](self, request, gone)

    async def _events(self, request: Request, gone: Gone, ids: Sequence[str]) -> None:
        for start in range(0, len(ids), EVENTS):
            some, at = ids[start : start + EVENTS], self._ports.wall()
            await self._piece(request, gone, lambda tx, s=some, at=at: forget.remove_events(tx, s, at=at))  # type: ignore[misc]

    async def _records(self, request: Request, gone: Gone, ids: Sequence[str]) -> None:
        for start in range(0, len(ids), EVENTS):
            some, at = ids[start : start + EVENTS], self._ports.wall()
            await self._piece(request, gone, lambda tx, s=some, at=at: forget.remove_records(tx, s, at=at))  # type: ignore[misc]

    async def _piece(self, request: Request, gone: Gone, remove: Callable[[Tx], Gone]) -> Gone:
        def write(tx: Tx) -> Gone:
            piece = remove(tx)
            forgets.count(tx, request, piece.counts)
            forgets.blank_notes(tx, piece.texts)  # here: after a crash nobody knows the texts any more
            return piece

        piece = await self._ports.store.write(write)
        gone.add(piece)
        self._ports.failpoints.reach("forget.removing")
        return piece

    async def _event(self, request: Request, gone: Gone) -> list[str]:
        store, target = self._ports.store, request.target
        if request.wide:
            left = await store.read(lambda tx: forget_agents.left(tx, target))
            await self._events(request, gone, left.events)  # before the agents, by whose tasks they are found
            for thread in left.threads:
                gone.note(*await store.read(lambda tx, one=thread: forget_agents.briefs(tx, one)))  # type: ignore[misc]
                await self._whole_thread(request, gone, thread)
        ids = await store.read(lambda tx: forgets.events_of(tx, target, wide=request.wide))
        # itself last: by it a start that goes on finds the others
        await self._events(request, gone, sorted(ids, key=lambda one: one == target))
        return []

    async def _fact(self, request: Request, gone: Gone) -> list[str]:
        await self._repeating(request, gone, request.target)
        await self._with_sources(request, gone, [request.target])
        return []

    async def _repeating(self, request: Request, gone: Gone, record: str) -> None:
        """What repeats a record, before itself: by it a start that goes on finds what is left of them."""
        await self._piece(request, gone, partial(repeats.cut, record=record))
        await self._records(request, gone, await self._ports.store.read(lambda tx: repeats.of_id(tx, record).ids))

    async def _entity(self, request: Request, gone: Gone) -> list[str]:
        store, target = self._ports.store, request.target
        names, scope = await store.read(lambda tx: forget_reads.named(tx, target))
        records = await store.read(lambda tx: forget.records_of(tx, target))
        for record in records:
            await self._repeating(request, gone, record)
        await self._with_sources(request, gone, records)
        if request.wide and names:
            await self._events(request, gone, await self._saying(scope, names))
        await self._piece(request, gone, lambda tx: forget.remove_entity(tx, target, at=request.at))
        return names

    async def _with_sources(self, request: Request, gone: Gone, records: Sequence[str]) -> None:
        """Records; with what they rest on, if that is wanted."""
        events = await self._ports.store.read(lambda tx: forget_reads.sources(tx, records)) if request.wide else []
        await self._records(request, gone, records)
        await self._events(request, gone, events)

    async def _saying(self, scope: str, names: Sequence[str]) -> list[str]:
        """Events of the scope in which one of these names stands, with what belongs to each."""
        found: dict[str, None] = {}
        after: int | None = 0
        while after is not None:
            ids, after = await self._ports.store.read(
                partial(forget_reads.holding, scope=scope, names=names, after=after)
            )
            found |= dict.fromkeys(ids)
        return list(found)

    async def _peer(self, request: Request, gone: Gone) -> list[str]:
        store = self._ports.store
        peer = await store.write(lambda tx: forgets.peer_of(tx, request))
        if not peer:
            return []
        names = await store.read(lambda tx: forget_peer.names(tx, peer))
        for thread in await store.read(lambda tx: forget_peer.threads(tx, peer)):
            await self._whole_thread(request, gone, thread)
        after = 0
        while True:
            ids, after = await store.read(partial(forget_peer.events, peer=peer, after=after, upto=request.upto))
            await self._events(request, gone, ids)
            if not after:
                break
        await self._records(request, gone, await store.read(lambda tx: forget_peer.records(tx, peer)))
        while sum((await self._piece(request, gone, lambda tx: _inputs(tx, peer, request.at))).counts.values()):
            pass
        await self._piece(request, gone, lambda tx: forget_peer.remove_traces(tx, peer, at=request.at))
        return names

    async def _close(self, request: Request) -> None:
        """Once the indexes are done: what is named by a peer's own scope, and the name in the wish."""

        def write(tx: Tx) -> None:
            if peer := forgets.peer_of(tx, request):
                forget_peer.remove_scopes(tx, peer)
                forgets.disguise(tx, request)

        if request.kind == "peer":
            await self._ports.store.write(write)

    async def _thread(self, request: Request, gone: Gone) -> list[str]:
        await self._whole_thread(request, gone, request.target)
        return []

    async def _whole_thread(self, request: Request, gone: Gone, thread: str) -> None:
        """All of a conversation: its messages first, so that one knows what to look for, then what is left of it."""
        store = self._ports.store
        while ids := await store.read(lambda tx: forget_reads.of_thread(tx, thread)):
            await self._events(request, gone, ids)
        try:
            await self._ports.delete_thread(thread)
        except HomedError as error:
            if error.code != "not_found":
                raise

    def _tell(self, request: Request, phase: str, gone: Gone) -> None:
        if self._ports.bus is not None:
            data: dict[str, object] = {
                "what": "forget", "kind": request.kind, "phase": phase, "events": gone.counts["events"],
            }  # fmt: skip
            self._ports.bus.post(notices.MEMORY, data=data)


_REMOVERS: dict[str, Callable[[Forgetting, Request, Gone], Awaitable[list[str]]]] = {
    "event": Forgetting._event, "fact": Forgetting._fact, "entity": Forgetting._entity, "peer": Forgetting._peer,
    "thread": Forgetting._thread,
}  # fmt: skip


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


def _inputs(tx: Tx, peer: str, until: float) -> Gone:
    return forget_peer.remove_inputs(tx, peer, until=until)
