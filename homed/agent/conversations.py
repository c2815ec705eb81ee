"""Conversations: take a message in, wait for its outcome, stop it.  What the kernel's io methods call."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, suppress

import trio

from homed.agent.archive import Archive, visible
from homed.agent.background import Background
from homed.agent.borrowed import Borrowed, Handed, Lending, named
from homed.agent.calling import Calling
from homed.agent.deletion import Deletion
from homed.agent.dump import dump
from homed.agent.endings import Endings
from homed.agent.indexing import keep_index
from homed.agent.intake import KERNEL, Intake, Signal
from homed.agent.intake import Message as Message
from homed.agent.intake import Receipt as Receipt
from homed.agent.lane import Lane
from homed.agent.lanes import Lanes
from homed.agent.levels import BACKGROUND, clamped
from homed.agent.loop import Loop
from homed.agent.offspring import Offspring
from homed.agent.pausing import who_of
from homed.agent.ports import AgentPorts
from homed.agent.recovery import recover, settle
from homed.agent.schedule import Way
from homed.agent.turn import Turn
from homed.agent.uploads import Uploads
from homed.clock import new_id
from homed.errors import HomedError, InvalidInput, NotFound, Unavailable
from homed.identity.roles import Identity, visible_scopes
from homed.memory import inputs
from homed.memory.records import Input, Thread
from homed.memory.temporary import seen
from homed.store.rows import Tx

log = logging.getLogger(__name__)

START_LIMIT = 30.0
"""Seconds a message waits, right after the start, until unfinished ones have been taken up."""


class Conversations:
    """All conversations.  Works while ``run`` does."""

    def __init__(self, ports: AgentPorts, uploads: Uploads) -> None:
        self._ports = ports
        self._uploads = uploads
        self._loop = Loop(ports)
        self._entry = Intake(ports)
        self.children = Offspring(ports, self)
        self._lending = Lending()
        self._endings = Endings(ports, self.children, self._lending, self.signal)
        self._lanes = Lanes(self._make, self._work, self._endings.dropped, self._endings.turn)
        self._background = Background(self._lanes)
        self._deletion = Deletion(ports, self._lanes, self._endings, uploads.collect, self.children.leave)
        self.archive = Archive(ports, self._lanes, self._loop.approvals)
        self.sinking = self._loop.sinking
        self.calling = Calling(self._lanes, self._loop.dispatch, self._loop.catalogue)
        self._ready = trio.Event()
        self._closed = False

    # -- lifetime --------------------------------------------------------------------------------------------------

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Wait for the plugins that are starting, take up what an earlier run left unfinished, then work.

        Cancelled: turns that run are left unfinished in the store, and the next start resumes them.
        """
        async with trio.open_nursery() as nursery:
            task_status.started()
            await self._uploads.prepare()
            await settle(self._ports)
            self._lanes.open(nursery)
            await self.children.begin()
            resumed, reported = await recover(self._ports)
            self._lanes.restore(resumed)
            for input_ in reported:
                self._endings.wake(input_.id)
            nursery.start_soon(self._deletion.run)
            self._ready.set()
            nursery.start_soon(keep_index, self._ports.store)
            nursery.start_soon(self.children.settle)
            await trio.sleep_forever()

    def close_intake(self) -> None:
        """Accept nothing more and begin no further turn; what was accepted is resumed at the next start."""
        self._closed = True
        self._lanes.close()

    async def wait_idle(self) -> None:
        """Wait until no turn runs; after ``close_intake`` that stays so."""
        await self._lanes.wait_idle()

    @property
    def counts(self) -> dict[str, int]:
        """``{busy, queued, suspended}``: turns that run, inputs that wait, turns that stand still."""
        busy, queued, suspended = self._lanes.counts
        return {"busy": busy, "queued": queued, "suspended": suspended}

    # -- in --------------------------------------------------------------------------------------------------------

    async def inject(self, who: Identity, message: Message) -> Receipt:
        """Accept a message durably and queue it.

        Raises InvalidInput for text that is too long, or empty without attachments, NotFound for a thread or an upload
        that this peer may not see, Unavailable when homed is stopping or 256 wait already.  Cancelled: it is either not
        accepted at all, or accepted and done.
        """
        await self._intake()
        message = self.children.route(who, message)
        again = self._lanes.full(message.thread) and await self._entry.again(who, message)
        with self._lanes.place(message.thread, room=again):
            functions = named(message.lent.functions, self._loop.catalogue.entries().keys())
            receipt = await self._entry.message(who, message)
            if functions and not receipt.duplicate:
                self._lending.lend(Borrowed(who, receipt.input.id, functions, message.lent))
            if message.place is not None and not receipt.duplicate:
                self._given_up(who, receipt.input.thread)
            self._take(receipt)
        return receipt

    def _given_up(self, who: Identity, thread: str) -> None:
        """A program that says something new instead of bringing results will not bring them: its turn is over."""
        lane = self._lanes.get(thread)
        turn = lane.running if lane else None
        if turn is not None and turn.borrowed is not None and turn.borrowed.of(who) and turn.borrowed.waiting:
            turn.stop()

    async def interrupt(
        self, who: Identity, message: Message, level: int, *, critical: bool = False
    ) -> tuple[Receipt, int, Way]:
        """Accept a message that does not wait its turn; what counts of its level, and how it comes in.

        Where nothing runs it begins; what runs at a lower level stands still for it; into a turn of its own level it is
        put before the next model call; else it waits by its level.  ``critical``: whoever sends it may use level 4.
        Raises what ``inject`` does, but for 256 that wait: then the oldest of the lowest level is dropped.
        """
        counts = clamped(level, critical=critical)
        await self._intake()
        message = self.children.route(who, message)
        again = counts <= BACKGROUND and await self._entry.again(who, message)
        with self._lanes.place(message.thread, room=True):
            if not again:
                self._background.admit(who, message, counts)
            receipt = await self._entry.message(who, message, counts)
            return receipt, counts, self._take(receipt)

    async def signal(self, signal: Signal) -> Receipt:
        """Raise an interrupt of the kernel's own.  Raises as ``interrupt``; cancelled, it is raised or not."""
        await self._intake()
        with self._lanes.place(signal.thread, room=True):
            receipt = await self._entry.signal(signal)
            self._take(receipt)
        return receipt

    async def signal_all(self, text: str, *, mark: str = KERNEL) -> int:
        """Raise one of level 4 in every thread that has work, on behalf of whoever is answered there; in how many."""
        told = 0
        for lane in self._lanes.all():
            turn = lane.running
            if turn is None:
                continue
            with suppress(Unavailable, NotFound):  # it is being deleted, or homed is stopping
                await self.signal(Signal(who=turn.who, text=text, thread=lane.thread, mark=mark))
                told += 1
        return told

    async def _intake(self) -> None:
        if not self._ready.is_set():
            with trio.move_on_after(START_LIMIT):
                await self._ready.wait()
        if self._closed or not self._ready.is_set():
            state = "stopping" if self._closed else "still starting"
            raise Unavailable(f"homed is {state} and takes no messages now.", hint="Try again in a moment.")

    def _take(self, receipt: Receipt) -> Way:
        """Give an accepted input to its thread; sync, so that nothing comes between that and its being stored."""
        given, way = receipt.input, Way.WAITS
        # a duplicate too, if the store failed under its turn: who sends it again wants it answered; but never twice
        if not given.state.terminal and not self._lanes.holds(given):
            way = self._lanes.put(given)
        self._ports.failpoints.reach("accept.after_commit")
        return way

    def _make(self, input_: Input, gate: trio.Lock) -> Turn:
        turn = Turn(input_.turn or new_id("turn"), input_, who_of(input_), gate=gate)
        self.children.bind(turn)
        turn.borrowed = self._lending.bind(turn.input.id, lambda: turn.spending.view())
        return turn

    async def _work(self, turn: Turn) -> None:
        try:
            ending = await self._loop.run(turn)
            if ending is not None:
                # before after_output: who waits for the answer does not wait for its statistics
                await self._endings.turn(turn, ending)
                await self._loop.afterwards(turn, ending)
        except Exception as error:
            known, what = (
                isinstance(error, HomedError),
                "went wrong after its end" if turn.over else "could not be stored",
            )
            log.error("turn %s %s: %s", turn.id, what, error, exc_info=None if known else error)
            if not turn.over:  # else it has its outcome, and nobody is told another one
                self._endings.unstored(turn, error)
        finally:
            for input_ in (turn.input, *turn.joined):
                self._endings.wake(input_.id)

    # -- out -------------------------------------------------------------------------------------------------------

    async def wait(self, who: Identity, input_id: str) -> Input:
        """The input once it has its outcome.  Cancelled: nothing is left behind.

        Raises NotFound for one this peer may not see, and Unavailable when its turn ended without a stored outcome
        because homed is stopping or the store failed: it is taken up when it is sent again, or at the next start.
        """

        async def look() -> tuple[Input, bool]:
            found = await self._ports.store.read(lambda tx: _input(tx, who, input_id))
            if found is None:
                raise NotFound(f"There is no input {input_id}.")
            return found, not self._ready.is_set() or self._lanes.holds(found)

        ended = await self._endings.wait(input_id, look)
        if ended is not None:
            return ended
        raise Unavailable(
            "homed stopped working on this message before it was answered.", hint="It is taken up at the next start."
        )

    async def calls_of(self, who: Identity, input_id: str) -> tuple[Sequence[Handed], Mapping[str, object]]:
        """The calls that the program is to make which lent functions for this input, once there are some; none once its
        turn is over, or if it lent none.  And the turn's usage so far."""
        borrowed = self._lending.seen(who, input_id)
        return await borrowed.handed() if borrowed is not None else ((), {})

    async def answer(self, who: Identity, results: Mapping[str, str]) -> tuple[Input, Mapping[str, object]]:
        """Give the results of such calls, by their ids, to the turn that waits for them; its input, and the usage that
        was told with the calls.

        Raises NotFound where none of this peer's waits for any of them, InvalidInput unless they are all it waits for.
        """
        borrowed = self._lending.answer(who, results)
        found = await self._ports.store.read(lambda tx: _input(tx, who, borrowed.input))
        if found is None:
            raise NotFound("There is no such conversation any more.")
        return found, borrowed.told

    def watched(self, input_id: str) -> AbstractContextManager[trio.Event]:
        """The event of this input's end, for the length of the block."""
        return self._endings.watched(input_id)

    async def stop(self, who: Identity, thread: str, turn: str = "", *, input_: str = "") -> bool:
        """Stop the turn that runs in a thread, at once, or the named one, also if it stands still; or that of an input,
        also if it has yet to begin.  False if it does not run.  Raises NotFound."""
        await self._see(who, thread)
        if input_:
            lane = self._lanes.get(thread)
            if lane is not None and lane.unwant(input_):
                return True
            of_it = [one.id for one in lane.turns.values() if one.input.id == input_] if lane else []
            if not of_it:
                return False
            turn = of_it[0]
        below = await self.children.stop(thread, turn)
        lane = self._lanes.get(thread)
        if lane is None:
            return below
        found = [t for t in lane.turns.values() if t.id == turn and not t.over] if turn else [lane.running]
        return any(t is not None and t.stop() for t in found) or below

    def dump(self) -> dict[str, object]:
        """What runs, is suspended and waits in every thread, by ids and levels; as ``admin.threads``."""
        return dump(self._lanes)

    async def delete(self, who: Identity, thread: str) -> dict[str, object]:
        """Stop what runs in a thread and remove it whole; as ``io.thread_delete``.  See ``Deletion.delete``."""
        await self._intake()
        await self._see(who, thread)
        return await self._delete(who, thread)

    async def forget(self, thread: str) -> None:
        """Remove any thread, as ``delete`` does: for ``homed.jobs.forget``."""
        await self._delete(None, thread)

    async def _delete(self, who: Identity | None, thread: str) -> dict[str, object]:
        done = await self._deletion.delete(who, thread)
        self.children.gone(thread)
        return done

    def lane(self, thread: str) -> Lane | None:
        """What works in a thread, if something does."""
        return self._lanes.get(thread)

    def turn_of(self, thread: str, turn: str) -> Turn | None:
        """A turn that is under way."""
        lane = self._lanes.get(thread)
        return next((one for one in lane.turns.values() if one.id == turn), None) if lane else None

    # -- questions -------------------------------------------------------------------------------------------------

    def approvals(self, who: Identity) -> list[dict[str, object]]:
        """The open questions this peer may see."""
        return self._loop.approvals.list_(who)

    async def approve(self, who: Identity, approval: str, *, allow: bool, remember: str = "once") -> None:
        """Answer one.  Raises NotFound, Denied, or InvalidInput for an unknown ``remember``."""
        if remember not in ("once", "thread"):
            raise InvalidInput(f"remember is once or thread, not {remember!r}.")
        await self._loop.approvals.answer(who, approval, allow=allow, remember=remember)

    async def _see(self, who: Identity, thread: str) -> Thread:
        return await self._ports.store.read(lambda tx: visible(tx, who, thread))


def _input(tx: Tx, who: Identity, id_: str) -> Input | None:
    found = inputs.get(tx, id_)
    return found if found is not None and seen(tx, found.scope, visible_scopes(who)) else None
