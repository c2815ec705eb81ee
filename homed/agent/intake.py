"""Taking a message in: checked, stored, and told to the watchers, before anything else happens with it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import trio

from homed import events as notices
from homed.agent.archive import visible
from homed.agent.borrowed import Lent
from homed.agent.levels import CRITICAL, PLUGINS, QUEUED
from homed.agent.ports import AgentPorts
from homed.agent.views import blocks_view
from homed.config.definitions import FILES_A_MESSAGE, MAX_MESSAGE
from homed.errors import InvalidInput, StorageError
from homed.identity.roles import Identity, in_group
from homed.memory import blocks, chains, inputs, threads
from homed.memory.blocks import Block
from homed.memory.chains import Place
from homed.memory.records import KERNEL as KERNEL
from homed.memory.records import Input, NewInput, Thread
from homed.memory.temporary import is_temporary
from homed.store.rows import Tx

ACCEPT_LIMIT = 10.0
"""Seconds that storing an accepted message may take, shielded: a caller who goes away must not lose it half-way."""

SIGNAL_BYTES = 32 * 1024
"""What the kernel itself raises may be so long, however short a person's messages are to be: an agent's report is."""

OURS = "\x1f"
"""Begins the keys of what the kernel raises, and stands in no id of a sender's: nobody can be there before it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """A message on its way in.  An empty ``thread`` opens a new one; ``can_ask``: its channel can show questions;
    ``untrusted``: a plugin says it within a call, not a person; ``attachments``: ids of this peer's uploads;
    ``project``: see ``Input``; ``lent``: functions that its sender lends for it; ``place``: its place in a
    conversation whose thread the sender does not know.
    """

    text: str
    channel: str
    thread: str = ""
    client_msg_id: str = ""
    no_memory: bool = False
    can_ask: bool = False
    untrusted: bool = False
    attachments: tuple[str, ...] = ()
    project: str = ""
    lent: Lent = field(default_factory=Lent)
    place: Place | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Signal:
    """An interrupt that the kernel itself raises, in a ``thread`` or in a new one.

    ``who``: on whose behalf; the turn that takes it up may do what that person may, and no more.  ``level`` 1-4 is not
    clamped.  ``mark`` says what raised it (``kernel``, ``child:ID``): it is no person's word, and no fact is made of
    it.  ``key``: a second one with the same mark and key is the first again.  ``untrusted``: it holds words of a model
    or of strangers, and taints the turn.  ``channel``: empty for that of the thread.
    """

    who: Identity
    text: str
    level: int = CRITICAL
    thread: str = ""
    mark: str = KERNEL
    key: str = ""
    channel: str = ""
    no_memory: bool = False
    can_ask: bool = False
    untrusted: bool = False


@dataclass(frozen=True, slots=True)
class Receipt:
    """What was accepted; ``duplicate`` if the same ``client_msg_id`` had been, and this is that one."""

    input: Input
    thread: Thread
    duplicate: bool
    files: tuple[Block, ...] = ()
    begun: bool = False
    """Whether the thread is a new one."""


class Intake:
    """Stores what comes in."""

    def __init__(self, ports: AgentPorts) -> None:
        self._ports = ports

    async def message(self, who: Identity, msg: Message, level: int = QUEUED) -> Receipt:
        """A message, durably accepted when this returns.  Raises InvalidInput, NotFound, StorageError."""
        text = self._checked(msg.text, alone=not msg.attachments)
        can_ask = msg.can_ask and not in_group(who)  # which of its members a question is for, nobody knows yet
        new = NewInput(
            msg.thread, who.scope, msg.channel, who.peer, who.role.value, text, msg.client_msg_id.replace(OURS, ""),
            msg.no_memory, can_ask, msg.untrusted, level, project=msg.project,
        )  # fmt: skip
        place = msg.place
        if place is not None and place.opening:
            self._checked(f"{place.opening}\n\n{text}", alone=False)
            place = replace(place, opening=self._checked(place.opening, alone=False))
        return await self._accept(who, new, msg.attachments, place)

    async def again(self, who: Identity, msg: Message) -> bool:
        """Whether this is a message that was accepted before: whoever sends it again hears of that one, and what would
        keep a new one out does not keep it out."""
        key = msg.client_msg_id.replace(OURS, "")
        if not key:
            return False
        found = await self._ports.store.read(lambda tx: inputs.sent_before(tx, msg.channel, who.peer, key))
        return found is not None

    async def signal(self, signal: Signal) -> Receipt:
        """The same for what the kernel raises."""
        who, text = signal.who, self._checked(signal.text, alone=True, least=SIGNAL_BYTES)
        key = f"{OURS}{signal.mark}:{signal.key}" if signal.key else ""
        new = NewInput(
            signal.thread, who.scope, signal.channel, who.peer, who.role.value, text, key, signal.no_memory,
            signal.can_ask and not in_group(who), signal.untrusted, signal.level, signal.mark,
        )  # fmt: skip
        return await self._accept(who, new, ())

    def _checked(self, text: str, *, alone: bool, least: int = 0) -> str:
        if alone and not text.strip():
            raise InvalidInput("The message is empty.")
        try:
            size = len(text.encode())
        except UnicodeEncodeError:
            raise InvalidInput("The message is not valid Unicode text.") from None
        if size > (longest := max(least, self._ports.settings.int(MAX_MESSAGE))):
            raise InvalidInput(
                f"The message is too long: {size} bytes; {longest} is the limit.", hint="Put it into a file."
            )
        return self._ports.redactor.redact(text.replace("\x00", ""))

    async def _accept(
        self, who: Identity, new: NewInput, attachments: tuple[str, ...], place: Place | None = None
    ) -> Receipt:
        at, most = self._ports.wall(), self._ports.settings.int(FILES_A_MESSAGE)
        self._ports.ranker.warm()  # while this is stored: the turn's recall has a deadline

        def write(tx: Tx) -> Receipt:
            placed = _placed(tx, new, place)
            thread = _thread(tx, who, placed, at)
            named = _in(placed, thread)
            accepted, duplicate = inputs.accept(tx, named, at=at)
            if duplicate and accepted.thread != thread.id:
                thread = threads.get(tx, accepted.thread) or thread
            if place is not None and not duplicate:
                chains.keep(tx, accepted.id, place)
            files = () if duplicate else tuple(blocks.take(tx, who.peer, attachments, accepted.id, most=most))
            self._ports.failpoints.reach("accept.before_commit")
            return Receipt(accepted, thread, duplicate, files, begun=not placed.thread)

        with trio.move_on_after(ACCEPT_LIMIT, shield=True):
            receipt = await self._ports.store.write(write)
            if not receipt.duplicate:
                self._tell(receipt, new_thread=receipt.begun)
            return receipt
        raise StorageError("The message could not be stored in time.", hint="Is the disk full or hanging?")

    def _tell(self, receipt: Receipt, *, new_thread: bool) -> None:
        given, bus = receipt.input, self._ports.bus
        if new_thread:
            data: dict[str, object] = {"title": receipt.thread.title, "channel": given.channel, "created": True}
            bus.post(notices.THREAD, thread=given.thread, scope=given.scope, data=data)
        data = {
            "input": given.id, "text": given.text, "peer": given.peer, "client_msg_id": given.client_msg_id,
            "blocks": blocks_view(receipt.files), **({"level": given.level} if given.level else {}),
            **({"mark": given.mark} if given.mark else {}),
        }  # fmt: skip
        bus.post(notices.RAW_INPUT, thread=given.thread, scope=given.scope, data=data)


def _in(new: NewInput, thread: Thread) -> NewInput:
    level = min(new.level, PLUGINS) if is_temporary(thread.scope) else new.level  # within an agent nothing is critical
    return replace(new, thread=thread.id, scope=thread.scope, channel=new.channel or thread.channel, level=level)


def _placed(tx: Tx, new: NewInput, place: Place | None) -> NewInput:
    """The same in the thread that it goes on in, if its place is known here; else with what stands before it."""
    if new.thread or place is None:
        return new
    if thread := chains.find(tx, new.channel, new.peer, place):
        return replace(new, thread=thread)
    return replace(new, text=f"{place.opening}\n\n{new.text}" if place.opening else new.text)


def _thread(tx: Tx, who: Identity, new: NewInput, at: float) -> Thread:
    if new.thread:
        return visible(tx, who, new.thread)
    if new.client_msg_id:
        known = tx.value(
            "SELECT thread FROM inputs WHERE channel = ? AND peer = ? AND client_msg_id = ?",
            (new.channel or KERNEL, who.peer, new.client_msg_id),
        )
        if known is not None:
            return visible(tx, who, str(known))
    return threads.create(tx, scope=who.scope, channel=new.channel or KERNEL, title="", at=at)
