"""Deleting a conversation: what runs in it is stopped, what waits gets its outcome, and then nothing of it is left.

First it is hidden, in one small transaction; then it is removed in pieces, by a task of its own, which the next start
goes on with.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from typing import Protocol

import trio

from homed import events as notices
from homed.agent.archive import visible
from homed.agent.lanes import Lanes
from homed.agent.ports import AgentPorts
from homed.agent.turn import Turn
from homed.agent.views import ending_view
from homed.errors import HomedError, NotFound, StorageError, Unavailable
from homed.identity.roles import Identity
from homed.memory import removal, threads
from homed.memory.records import Input, InputState, Outcome, Thread
from homed.retrieval import index
from homed.store.rows import Tx

log = logging.getLogger(__name__)

STOP_LIMIT = 20.0
"""Seconds that a running turn may take to end once it was told to stop: its tools, and the commit of its outcome."""

HIDE_LIMIT = 10.0
"""Seconds that hiding it may take, shielded: the deletion is done or not begun."""

STOPPED = "The conversation was deleted."
_LATER = "Nobody sees the conversation any more; what is left of it is removed at the next start."


class Waiters(Protocol):
    """Those who wait for an input; ``Endings``."""

    def watched(self, input_id: str) -> AbstractContextManager[trio.Event]:
        """The event of its end."""
        ...

    def wake(self, input_id: str, ended: Input | None = None) -> None:
        """It has ended, like this."""
        ...


@dataclass(slots=True)
class _Wait:
    """For the end of a removal."""

    done: trio.Event = field(default_factory=trio.Event)
    error: HomedError | None = None


class Deletion:
    """Deletes threads, while ``run`` does."""

    def __init__(
        self,
        ports: AgentPorts,
        lanes: Lanes,
        waiters: Waiters,
        collect: Callable[[], Awaitable[object]],
        leave: Callable[[str], Awaitable[None]],
    ) -> None:
        """``collect`` removes the files that nothing names any more, ``leave`` the agents that a thread has made."""
        self._ports = ports
        self._lanes = lanes
        self._waiters = waiters
        self._collect = collect
        self._leave = leave
        self._waits: dict[str, _Wait] = {}
        self._wake = trio.Event()
        self._over = False

    async def run(self) -> None:
        """Remove what is hidden, also what an earlier run left.  Cancelled: the rest waits for the next start."""
        try:
            while True:
                self._wake = trio.Event()
                for thread in await self._hidden():
                    await self._removal(thread)
                await self._wake.wait()
        finally:
            self._over = True
            for wait in self._waits.values():
                wait.error = wait.error or self._stopping()
                wait.done.set()

    async def delete(self, who: Identity | None, thread: str) -> dict[str, object]:
        """Remove a thread with everything that was said in it; ``{events, files}``, how many of each are gone.

        ``who``: only one that this peer may see; None: any, for whoever forgets on this machine's owner's behalf.

        Raises NotFound, Unavailable when its turn does not end in time (then nothing is deleted), StorageError.
        Cancelled before it is hidden: nothing is deleted, but its turn is stopped.  Cancelled later: it is removed all
        the same.
        """
        await self._ports.store.read(lambda tx: _found(tx, who, thread))
        with ExitStack() as stack:
            with self._lanes.shut(thread) as quiet:
                with trio.move_on_after(STOP_LIMIT) as limit:
                    await quiet.wait()
                    await self._stop(thread)
                if limit.cancelled_caught:
                    raise Unavailable("What runs in this conversation does not end.", hint="Try again in a moment.")
                await self._leave(thread)  # now, when nothing of it makes further ones
                events, files = await self._ports.store.read(lambda tx: removal.size(tx, thread))
                wait = stack.enter_context(self._waiting(thread))
                await self._hide(who, thread)
            self._wake.set()
            await wait.done.wait()
        if wait.error is not None:
            raise wait.error
        return {"events": events, "files": files}

    async def _stop(self, thread: str) -> None:
        """Every turn of it, also those that stand still."""
        while (turn := self._alive(thread)) is not None:
            with self._waiters.watched(turn.input.id) as ended:
                turn.stop()
                if self._alive(thread) is not None:
                    await ended.wait()

    def _alive(self, thread: str) -> Turn | None:
        lane = self._lanes.get(thread)
        return next((turn for turn in lane.turns.values() if not turn.over), None) if lane else None

    @contextmanager
    def _waiting(self, thread: str) -> Iterator[_Wait]:
        """From before it is hidden: the removal may end before whoever hid it hears that it is hidden."""
        if thread in self._waits:
            raise Unavailable("This conversation is being deleted.")
        if self._over:
            raise self._stopping()
        wait = self._waits[thread] = _Wait()
        try:
            yield wait
        finally:
            del self._waits[thread]

    async def _hide(self, who: Identity | None, thread: str) -> None:
        def write(tx: Tx) -> Thread:
            found = _found(tx, who, thread)
            removal.hide(tx, thread)
            return found

        with trio.move_on_after(HIDE_LIMIT, shield=True):
            found = await self._ports.store.write(write)
            for input_ in self._lanes.take(thread):
                self._end(input_)
            data: dict[str, object] = {"title": "", "channel": found.channel, "created": False, "deleted": True}
            self._ports.bus.post(notices.THREAD, thread=thread, scope=found.scope, data=data)
            self._ports.failpoints.reach("thread.deleted")
            return
        raise StorageError("The conversation could not be deleted in time.", hint="Is the disk full or hanging?")

    async def _hidden(self) -> list[str]:
        try:
            return await self._ports.store.read(removal.hidden)
        except StorageError as error:
            log.warning("conversations that were being deleted were not looked for: %s", error.message)
            return []

    async def _removal(self, thread: str) -> None:
        """Remove one and tell whoever waits; what goes wrong ends this one only."""
        error: HomedError | None = None
        try:
            await self._remove(thread)
        except HomedError as refused:
            log.error("a deleted conversation could not be removed whole: %s", refused)
            error = refused
        except Exception:
            log.exception("a deleted conversation could not be removed whole")
            error = StorageError("Something in homed itself went wrong.", hint=_LATER)
        wait = self._waits.get(thread)
        if wait is not None:
            wait.error = error
            wait.done.set()

    async def _remove(self, thread: str) -> None:
        store = self._ports.store
        while await store.write(lambda tx: removal.remove_some(tx, thread)):
            self._ports.failpoints.reach("thread.removing")
            while await store.write(index.erase):
                pass  # with each piece: its text is kept until then
        while await store.write(index.erase) or await store.write(index.tidy):
            pass
        await self._ports.erased()
        if not await store.empty_log():
            log.warning("a deleted conversation may stand in the database's log until the next checkpoint")
        await self._collect()

    def _stopping(self) -> Unavailable:
        return Unavailable("homed is stopping.", hint=_LATER)

    def _end(self, input_: Input) -> None:
        """One that waited: nothing of it is stored any more, but whoever waits for it hears how it ended."""
        outcome = Outcome(InputState.STOPPED, error=STOPPED)
        data = {"phase": "end", "input": input_.id, **ending_view(outcome)}
        self._ports.bus.post(notices.TURN, thread=input_.thread, turn=input_.turn, scope=input_.scope, data=data)
        self._waiters.wake(input_.id, replace(input_, state=InputState.STOPPED, outcome=outcome))


def _found(tx: Tx, who: Identity | None, thread: str) -> Thread:
    found = visible(tx, who, thread) if who is not None else threads.get(tx, thread)
    if found is None or not found.scope:
        raise NotFound(f"There is no thread {thread}.", hint="It may have been removed.")
    return found
