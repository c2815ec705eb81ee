"""Deleting a conversation: what runs in it is stopped, what waits gets its outcome, and then nothing of it is left."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Protocol

import trio

from homed import events as notices
from homed.agent.archive import visible
from homed.agent.lanes import Lanes
from homed.agent.ports import AgentPorts
from homed.agent.views import ending_view
from homed.errors import StorageError, Unavailable
from homed.identity.roles import Identity
from homed.memory import threads
from homed.memory.records import Input, InputState, Outcome, Thread
from homed.retrieval import index
from homed.store.rows import Tx

log = logging.getLogger(__name__)

STOP_LIMIT = 20.0
"""Seconds that a running turn may take to end once it was told to stop: its tools, and the commit of its outcome."""

DELETE_LIMIT = 600.0
"""Seconds that removing it may take, shielded: begun, it is done to its end.  10 000 events take some 15 s, nearly all
of it for their words, in pieces between which others write.
"""

STOPPED = "The conversation was deleted."


class Waiters(Protocol):
    """Those who wait for an input; ``Conversations``."""

    def watched(self, input_id: str) -> AbstractContextManager[trio.Event]:
        """The event of its end."""
        ...

    def wake(self, input_id: str, ended: Input | None = None) -> None:
        """It has ended, like this."""
        ...


class Deletion:
    """Deletes threads."""

    def __init__(
        self, ports: AgentPorts, lanes: Lanes, waiters: Waiters, collect: Callable[[], Awaitable[object]]
    ) -> None:
        """``collect`` removes the files that nothing names any more."""
        self._ports = ports
        self._lanes = lanes
        self._waiters = waiters
        self._collect = collect

    async def delete(self, who: Identity, thread: str) -> dict[str, object]:
        """Remove a thread with everything that was said in it; ``{events, files}``, how many of each are gone.

        Raises NotFound, Unavailable when its turn does not end in time (then nothing is deleted), StorageError.
        Cancelled before the turn has ended: nothing is deleted, but the turn is stopped.
        """
        await self._ports.store.read(lambda tx: visible(tx, who, thread))
        with self._lanes.shut(thread) as quiet:
            with trio.move_on_after(STOP_LIMIT) as limit:
                await quiet.wait()
                await self._stop(thread)
            if limit.cancelled_caught:
                raise Unavailable("What runs in this conversation does not end.", hint="Try again in a moment.")
            with trio.move_on_after(DELETE_LIMIT, shield=True):
                return await self._remove(who, thread)
        raise StorageError("The conversation could not be deleted in time.", hint="Is the disk full or hanging?")

    async def _stop(self, thread: str) -> None:
        while (lane := self._lanes.get(thread)) is not None and (turn := lane.running) is not None:
            with self._waiters.watched(turn.input.id) as ended:
                turn.stop()
                if lane.running is turn:
                    await ended.wait()

    async def _remove(self, who: Identity, thread: str) -> dict[str, object]:
        def write(tx: Tx) -> tuple[Thread, int, int]:
            found = visible(tx, who, thread)
            count, files = threads.delete(tx, thread)
            return found, count, files

        store = self._ports.store
        found, count, files = await store.write(write)
        for input_ in self._lanes.take(thread):
            self._end(input_)
        data: dict[str, object] = {"title": "", "channel": found.channel, "created": False, "deleted": True}
        self._ports.bus.post(notices.THREAD, thread=thread, scope=found.scope, data=data)
        self._ports.failpoints.reach("thread.deleted")
        while await store.write(index.erase) or await store.write(index.tidy):
            pass  # bit by bit: others write in between
        if not await store.empty_log():
            log.warning("a deleted conversation may stand in the database's log until the next checkpoint")
        await self._collect()
        return {"events": count, "files": files}

    def _end(self, input_: Input) -> None:
        """One that waited: nothing of it is stored any more, but whoever waits for it hears how it ended."""
        outcome = Outcome(InputState.STOPPED, error=STOPPED)
        data = {"phase": "end", "input": input_.id, **ending_view(outcome)}
        self._ports.bus.post(notices.TURN, thread=input_.thread, turn=input_.turn, scope=input_.scope, data=data)
        self._waiters.wake(input_.id, replace(input_, state=InputState.STOPPED, outcome=outcome))
