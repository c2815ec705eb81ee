"""Conversations: take a message in, wait for its outcome, stop it.  What the kernel's io methods call."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

import trio

from homed import events as notices
from homed.agent.archive import Archive, visible
from homed.agent.calling import Calling
from homed.agent.deletion import Deletion
from homed.agent.indexing import keep_index
from homed.agent.lanes import Lanes
from homed.agent.levels import clamped
from homed.agent.loop import Loop
from homed.agent.ports import AgentPorts
from homed.agent.recovery import recover, settle
from homed.agent.turn import Turn
from homed.agent.uploads import Uploads
from homed.agent.views import blocks_view
from homed.clock import new_id
from homed.errors import HomedError, InvalidInput, NotFound, StorageError, Unavailable
from homed.identity.roles import Identity, Role, in_group, visible_scopes
from homed.memory import blocks, inputs, threads
from homed.memory.blocks import Block
from homed.memory.records import Input, NewInput, Thread
from homed.store.rows import Tx

log = logging.getLogger(__name__)

LONGEST = 256 * 1024
"""UTF-8 bytes of one message; longer text belongs in a file."""

ACCEPT_LIMIT = 10.0
"""Seconds that storing an accepted message may take, shielded: a caller who goes away must not lose it half-way."""

START_LIMIT = 30.0
"""Seconds a message waits, right after the start, until unfinished ones have been taken up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """A message on its way in.  An empty ``thread`` opens a new one; ``can_ask``: its channel can show questions;
    ``untrusted``: a plugin says it within a call, not a person; ``attachments``: ids of this peer's uploads.
    """

    text: str
    channel: str
    thread: str = ""
    client_msg_id: str = ""
    no_memory: bool = False
    can_ask: bool = False
    untrusted: bool = False
    attachments: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Receipt:
    """What was accepted; ``duplicate`` if the same ``client_msg_id`` had been, and this is that one."""

    input: Input
    thread: Thread
    duplicate: bool
    files: tuple[Block, ...] = ()


@dataclass(slots=True)
class _Ended:
    """Set when an input's turn is over; kept as long as somebody looks at that input.  ``input``: how it ended, if that
    is known here."""

    event: trio.Event = field(default_factory=trio.Event)
    watchers: int = 0
    input: Input | None = None


class Conversations:
    """All conversations.  Works while ``run`` does."""

    def __init__(self, ports: AgentPorts, uploads: Uploads) -> None:
        self._ports = ports
        self._uploads = uploads
        self._loop = Loop(ports)
        self._lanes = Lanes(self._make, self._work)
        self._deletion = Deletion(ports, self._lanes, self, uploads.collect)
        self.archive = Archive(ports, self._lanes, self._loop.approvals)
        self.sinking = self._loop.sinking
        self.calling = Calling(self._lanes, self._loop.dispatch, self._loop.catalogue)
        self._ready = trio.Event()
        self._ended: dict[str, _Ended] = {}
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
            resumed, reported = await recover(self._ports)
            for input_ in resumed:
                self._lanes.put(input_)
            for input_ in reported:
                self.wake(input_.id)
            nursery.start_soon(self._deletion.run)
            self._ready.set()
            nursery.start_soon(keep_index, self._ports.store)
            await trio.sleep_forever()

    def close_intake(self) -> None:
        """Accept nothing more and begin no further turn; what was accepted is resumed at the next start."""
        self._closed = True
        self._lanes.closed = True

    async def wait_idle(self) -> None:
        """Wait until no turn runs; after ``close_intake`` that stays so."""
        await self._lanes.wait_idle()

    @property
    def counts(self) -> dict[str, int]:
        """``{busy, queued}``: turns that run, inputs that wait."""
        busy, queued = self._lanes.counts
        return {"busy": busy, "queued": queued}

    # -- in --------------------------------------------------------------------------------------------------------

    async def inject(self, who: Identity, message: Message) -> Receipt:
        """Accept a message durably and queue it.

        Raises InvalidInput for text that is too long, or empty without attachments, NotFound for a thread or an upload
        that this peer may not see, Unavailable when homed is stopping or 256 wait already.  Cancelled: it is either not
        accepted at all, or accepted and done.
        """
        text = self._checked(message.text, alone=not message.attachments)
        await self._intake()
        with self._lanes.place(message.thread):
            receipt = await self._accept(who, message, self._ports.redactor.redact(text))
            if not receipt.duplicate:
                self._tell(receipt, new_thread=not message.thread)
            # a duplicate too, if the store failed under its turn: who sends it again wants it answered; but never twice
            if not receipt.input.state.terminal and not self._lanes.holds(receipt.input):
                self._lanes.put(receipt.input)
        self._ports.failpoints.reach("accept.after_commit")
        return receipt

    async def interrupt(self, who: Identity, message: Message, level: int) -> tuple[Receipt, int]:
        """Begin a turn with a message now, of a level that is clamped here too; what counts of it is returned.

        Only where no turn runs or waits: Unavailable says so where one does, and nothing is stored then.  To suspend a
        turn and take it up again needs the scheduler, which is not there yet.  Raises otherwise what ``inject`` does.
        """
        counts = clamped(level)
        await self._intake()
        if message.thread:
            await self._see(who, message.thread)
            lane = self._lanes.get(message.thread)
            if lane is not None and (lane.running or lane.waiting):
                raise Unavailable(
                    "A turn is under way in this conversation, and homed cannot suspend one for another yet.",
                    hint="Send it with io.inject to have it next, or end what runs with io.stop.",
                    detail={"busy": True, "level": counts},
                )
        return await self.inject(who, message), counts

    def _checked(self, text: str, *, alone: bool) -> str:
        if alone and not text.strip():
            raise InvalidInput("The message is empty.")
        try:
            size = len(text.encode())
        except UnicodeEncodeError:
            raise InvalidInput("The message is not valid Unicode text.") from None
        if size > LONGEST:
            raise InvalidInput(
                f"The message is too long: {size} bytes; {LONGEST} is the limit.", hint="Put it into a file."
            )
        return text.replace("\x00", "")

    async def _intake(self) -> None:
        if not self._ready.is_set():
            with trio.move_on_after(START_LIMIT):
                await self._ready.wait()
        if self._closed or not self._ready.is_set():
            state = "stopping" if self._closed else "still starting"
            raise Unavailable(f"homed is {state} and takes no messages now.", hint="Try again in a moment.")

    async def _accept(self, who: Identity, msg: Message, text: str) -> Receipt:
        at = self._ports.wall()

        can_ask = msg.can_ask and not in_group(who)  # which of its members a question is for, nobody knows yet

        def write(tx: Tx) -> Receipt:
            thread = self._thread(tx, who, msg, at)
            new = NewInput(
                thread.id, thread.scope, msg.channel, who.peer, who.role.value, text, msg.client_msg_id, msg.no_memory,
                can_ask, msg.untrusted,
            )  # fmt: skip
            accepted, duplicate = inputs.accept(tx, new, at=at)
            if duplicate and accepted.thread != thread.id:
                thread = threads.get(tx, accepted.thread) or thread
            files = () if duplicate else tuple(blocks.take(tx, who.peer, msg.attachments, accepted.id))
            self._ports.failpoints.reach("accept.before_commit")
            return Receipt(accepted, thread, duplicate, files)

        with trio.move_on_after(ACCEPT_LIMIT, shield=True):
            return await self._ports.store.write(write)
        raise StorageError("The message could not be stored in time.", hint="Is the disk full or hanging?")

    def _thread(self, tx: Tx, who: Identity, msg: Message, at: float) -> Thread:
        if msg.thread:
            return visible(tx, who, msg.thread)
        if msg.client_msg_id:
            known = tx.value(
                "SELECT thread FROM inputs WHERE channel = ? AND peer = ? AND client_msg_id = ?",
                (msg.channel, who.peer, msg.client_msg_id),
            )
            if known is not None:
                return visible(tx, who, str(known))
        return threads.create(tx, scope=who.scope, channel=msg.channel, title="", at=at)

    def _tell(self, receipt: Receipt, *, new_thread: bool) -> None:
        given, bus = receipt.input, self._ports.bus
        if new_thread:
            data: dict[str, object] = {"title": receipt.thread.title, "channel": given.channel, "created": True}
            bus.post(notices.THREAD, thread=given.thread, scope=given.scope, data=data)
        data = {
            "input": given.id, "text": given.text, "peer": given.peer, "client_msg_id": given.client_msg_id,
            "blocks": blocks_view(receipt.files),
        }  # fmt: skip
        bus.post(notices.RAW_INPUT, thread=given.thread, scope=given.scope, data=data)

    def _make(self, input_: Input, gate: trio.Lock) -> Turn:
        role = Role(input_.role)
        who = Identity(input_.peer, input_.peer.partition(":")[0], "", role, input_.scope)
        return Turn(input_.turn or new_id("turn"), input_, who, gate=gate)

    async def _work(self, turn: Turn) -> None:
        try:
            ending = await self._loop.run(turn)
            if ending is not None:
                # before after_output: who waits for the answer does not wait for its statistics
                self.wake(turn.input.id, replace(turn.input, state=ending.outcome.state, outcome=ending.outcome))
                await self._loop.afterwards(turn, ending)
        except Exception as error:
            # the store failed under the turn: its input stays unfinished, until it is sent again or the next start
            known = isinstance(error, HomedError)
            log.error("turn %s could not be stored: %s", turn.id, error, exc_info=None if known else error)
            told = error if isinstance(error, HomedError) else HomedError("Something in homed itself went wrong.")
            data = {"input": turn.input.id, "error": told.message, "hint": told.hint}
            self._ports.bus.post(
                notices.AGENT_ERROR, thread=turn.input.thread, turn=turn.id, scope=turn.input.scope, data=data
            )
        finally:
            self.wake(turn.input.id)

    def wake(self, input_id: str, ended: Input | None = None) -> None:
        """Those who wait for this input are told how it ended, or look again."""
        known = self._ended.pop(input_id, None)
        if known is not None:
            known.input = ended
            known.event.set()

    # -- out -------------------------------------------------------------------------------------------------------

    async def wait(self, who: Identity, input_id: str) -> Input:
        """The input once it has its outcome.  Cancelled: nothing is left behind.

        Raises NotFound for one this peer may not see, and Unavailable when its turn ended without a stored outcome
        because homed is stopping or the store failed: it is taken up when it is sent again, or at the next start.
        """
        for last in (False, True):
            with self._looked_at(input_id) as ended:
                found = await self._ports.store.read(lambda tx: inputs.get(tx, input_id))
                if found is None or found.scope not in visible_scopes(who):
                    raise NotFound(f"There is no input {input_id}.")
                if found.state.terminal:
                    return found
                if not last and (not self._ready.is_set() or self._lanes.holds(found)):
                    await ended.event.wait()
                    if ended.input is not None:
                        return ended.input
        raise Unavailable(
            "homed stopped working on this message before it was answered.", hint="It is taken up at the next start."
        )

    @contextmanager
    def watched(self, input_id: str) -> Iterator[trio.Event]:
        """The event of this input's end, for the length of the block."""
        with self._looked_at(input_id) as ended:
            yield ended.event

    @contextmanager
    def _looked_at(self, input_id: str) -> Iterator[_Ended]:
        """How this input ends, from before its state is read: the end may come while it is being read."""
        ended = self._ended.setdefault(input_id, _Ended())
        ended.watchers += 1
        try:
            yield ended
        finally:
            ended.watchers -= 1
            if not ended.watchers and self._ended.get(input_id) is ended:
                del self._ended[input_id]

    async def stop(self, who: Identity, thread: str) -> bool:
        """Stop the turn that runs in a thread, at once.  False if none does.  Raises NotFound."""
        await self._see(who, thread)
        lane = self._lanes.get(thread)
        return bool(lane and lane.running and lane.running.stop())

    async def delete(self, who: Identity, thread: str) -> dict[str, object]:
        """Stop what runs in a thread and remove it whole; as ``io.thread_delete``.  See ``Deletion.delete``."""
        await self._intake()
        return await self._deletion.delete(who, thread)

    async def forget(self, thread: str) -> None:
        """Remove any thread, as ``delete`` does: for ``homed.jobs.forget``."""
        await self._deletion.delete(None, thread)

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
