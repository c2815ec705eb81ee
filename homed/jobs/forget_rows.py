"""Removing the rows of one wish, bit by bit, so that others write between and a crash anywhere loses none of it.

What there is to remove is stored with the wish before the first row goes, and goes from there with the rows
(``memory.forget_todo``).  What names its own wish in each row (a peer's messages) needs no list: it is found until it
is gone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from homed.errors import HomedError
from homed.memory import forget, forget_agents, forget_peer, forget_reads, forget_todo, forgets, removal, repeats
from homed.memory.forget import Gone
from homed.memory.forget_todo import Todo
from homed.memory.forgets import Request
from homed.store.rows import Tx

if TYPE_CHECKING:
    from homed.jobs.forget import ForgetPorts

EVENTS = 16
"""Events removed with one transaction: some 20 ms of the writer with all that rests on them."""


async def list_(ports: ForgetPorts, request: Request) -> str:
    """Store what there is to remove beside what is stored already: a wish of an earlier release, or one that came with
    a backup, has no list.  Returns the target; of a peer who is known by a hash, who that is ('' for nobody here)."""
    store, about = ports.store, request.target
    if request.kind == "peer":
        about = await store.write(lambda tx: forgets.peer_of(tx, request))
    todo = await store.read(partial(forget_todo.find, kind=request.kind, target=about, wide=request.wide))
    await store.write(partial(forget_todo.put, request=request.id, todo=todo))
    return about


@dataclass(frozen=True, slots=True)
class Rows:
    """Removes those of one wish; ``gone`` knows afterwards what they said."""

    ports: ForgetPorts
    request: Request
    gone: Gone

    async def remove(self) -> list[str]:
        """Remove them; returns names that are looked for besides what was said.  Raises StorageError, Unavailable;
        cancelled, the rest is listed with the wish."""
        ports, kind = self.ports, self.request.kind
        about = await list_(ports, self.request)
        names = await self._some("name", -1)
        if kind == "entity":  # its node may go with the last record that names it
            await self._piece(lambda tx: forget.bury_entity(tx, about, at=self.request.at))
        await self._each("cut", self._cut, 1)
        for scope in await self._some("scan", -1):
            await self._scan(scope, names)
        for what in ("repeat", "record"):
            await self._each(what, lambda tx, ids: forget.remove_records(tx, ids, at=self.ports.wall()))
        await self._each("event", lambda tx, ids: forget.remove_events(tx, ids, at=self.ports.wall()))
        for thread in await self._some("thread", -1):
            await self._thread(thread)
        if kind == "entity":
            await self._piece(lambda tx: forget.remove_entity(tx, about, at=self.request.at))
        elif kind == "peer" and about:
            await self._peer(about)
        return names

    async def _some(self, what: str, limit: int) -> list[str]:
        request = self.request.id
        return await self.ports.store.read(lambda tx: forget_todo.some(tx, request, what, limit))

    async def _each(self, what: str, remove: Callable[[Tx, Sequence[str]], Gone], size: int = EVENTS) -> None:
        """Take these from the list, and remove them."""

        def take(tx: Tx, ids: Sequence[str]) -> Gone:
            piece = remove(tx, ids)
            forget_todo.drop(tx, self.request.id, what, ids)
            return piece

        while ids := await self._some(what, size):
            await self._piece(partial(take, ids=ids))

    async def _piece(self, remove: Callable[[Tx], Gone]) -> Gone:
        def write(tx: Tx) -> Gone:
            piece = remove(tx)
            forgets.count(tx, self.request, piece.counts)
            forgets.blank_notes(tx, piece.texts)  # here: after a crash nobody knows the texts any more
            return piece

        piece = await self.ports.store.write(write)
        self.gone.add(piece)
        self.ports.failpoints.reach("forget.removing")
        return piece

    def _cut(self, tx: Tx, ids: Sequence[str]) -> Gone:
        """What repeats these records; the sentences of others first, so that what says nothing else then goes whole."""
        gone = Gone()
        for record in ids:
            gone.add(repeats.cut(tx, record))
            forget_todo.put(tx, self.request.id, Todo(repeat=repeats.of_id(tx, record).ids))
        return gone

    async def _scan(self, scope: str, names: Sequence[str]) -> None:
        """List events of a scope in which one of these names stands, with what belongs to each."""
        found: dict[str, None] = {}
        after: int | None = 0
        while after is not None:
            page = partial(forget_reads.holding, scope=scope, names=names, after=after, upto=self.request.upto)
            ids, after = await self.ports.store.read(page)
            found |= dict.fromkeys(ids)

        def write(tx: Tx) -> None:
            forget_todo.put(tx, self.request.id, Todo(event=list(found)))
            forget_todo.drop(tx, self.request.id, "scan", [scope])

        await self.ports.store.write(write)

    async def _peer(self, peer: str) -> None:
        store, at = self.ports.store, self.request.at
        after = 0
        while True:
            ids, after = await store.read(partial(forget_peer.events, peer=peer, after=after, upto=self.request.upto))
            await self._events(ids)
            if not after:
                break
        records = await store.read(lambda tx: forget_peer.records(tx, peer))
        for start in range(0, len(records), EVENTS):
            some = records[start : start + EVENTS]
            await self._piece(partial(forget.remove_records, ids=some, at=self.ports.wall()))
        some_more = True
        while some_more:
            sent = partial(forget_peer.remove_inputs, peer=peer, until=at, now=self.ports.wall())
            some_more = sum((await self._piece(sent)).counts.values()) > 0
        await self._piece(partial(forget_peer.remove_traces, peer=peer, at=at))

    async def _events(self, ids: Sequence[str]) -> None:
        for start in range(0, len(ids), EVENTS):
            some = ids[start : start + EVENTS]
            await self._piece(partial(forget.remove_events, ids=some, at=self.ports.wall()))

    async def _thread(self, thread: str) -> None:
        """All of a conversation: its messages first, so that one knows what to look for, then what is left of it."""
        store, request = self.ports.store, self.request.id
        if self.request.kind in ("event", "peer"):
            await self._piece(lambda tx: Gone(texts=forget_agents.briefs(tx, thread)))
        while ids := await store.read(lambda tx: forget_reads.of_thread(tx, thread)):
            await self._events(ids)
        try:
            await self.ports.delete_thread(thread)
        except HomedError as error:
            if error.code != "not_found":
                raise
            if thread in await store.read(removal.hidden):  # a crash cut it off, and the proof is not to come before
                while await store.write(lambda tx: removal.remove_some(tx, thread)):
                    pass
        await store.write(lambda tx: forget_todo.drop(tx, request, "thread", [thread]))
