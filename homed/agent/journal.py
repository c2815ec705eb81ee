"""The durable side of a turn: every write, and the notices that follow from it.

A commit is shielded (a stop must not tear the record of what was already done) and has a limit of its own.  Each write
and the notices it causes happen under the turn's gate, so that a history read under the same gate sees both or neither.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import trio

from homed import events as notices
from homed.agent.frame import progress
from homed.agent.handed import Handed
from homed.agent.ports import AgentPorts
from homed.agent.turn import Ending, Turn
from homed.agent.views import ending_view
from homed.errors import StorageError
from homed.memory import blocks, citations, events, injections, inputs, ledger, threads
from homed.memory.blocks import Block
from homed.memory.injections import Injection
from homed.memory.origins import OUTSIDE
from homed.memory.records import DRAFT, Event, EventKind, Input, NewEvent, Outcome, is_inner
from homed.retrieval import index
from homed.spend.ports import Settlement
from homed.store.rows import Tx

T = TypeVar("T")

COMMIT_LIMIT = 10.0
"""Seconds a commit may take, shielded, before the turn is told that the disk does not answer."""

INTERRUPTED = "interrupted, no result: homed ended while this tool was running; it may or may not have had an effect"
STOPPED = "interrupted, no result: the person stopped this; it may or may not have had an effect"
NOT_BEGUN = "not run: the person stopped this before it began"

CONTENT = frozenset(
    {
        notices.CONTENT_DELTA, notices.REASONING_DELTA, notices.REASONING, notices.TOOL_CALL, notices.AGENT_LLM_CHAIN,
    }
)  # fmt: skip
"""What nobody sees any more once the person has pressed stop."""


@dataclass(frozen=True, slots=True)
class Heard:
    """What of a message goes into the window, and the name it gives a thread that has none."""

    text: str
    title: str
    withheld: bool = False
    """A plugin that must check the message first could not: the text only says so, and its files are not shown."""


@dataclass(frozen=True, slots=True)
class _Aside:
    """What a commit stores beside what it is for: what is owed, entries of the ledger, what the turn was told."""

    owed: tuple[Settlement, ...]
    noted: tuple[tuple[str, Mapping[str, object]], ...]
    told: tuple[Injection, ...]


class Journal:
    """Writes a turn's events and tells the watchers."""

    def __init__(self, ports: AgentPorts) -> None:
        self._ports = ports

    def post(self, turn: Turn, type_: str, data: Mapping[str, object]) -> None:
        """Tell the watchers, unless the person has stopped this turn and it is more of its content."""
        if turn.stopping and type_ in CONTENT and data.get("status") != "interrupted":
            return
        given = turn.input
        self._ports.bus.post(type_, thread=given.thread, turn=turn.id, scope=given.scope, data=data)
        if turn.frame is not None and (shown := progress(turn.frame, type_, data)) is not None:
            front = turn.frame.front
            self._ports.bus.post(notices.CHILD, thread=front.thread, turn=front.turn, scope=front.scope, data=shown)

    def reach(self, name: str) -> None:
        """Pass a failpoint."""
        self._ports.failpoints.reach(name)

    async def commit(self, turn: Turn, fn: Callable[[Tx], T], after: Callable[[T], None]) -> T:
        """Write, then run ``after`` (sync, no failing), both under the gate.  Raises StorageError past the limit."""
        with trio.move_on_after(COMMIT_LIMIT, shield=True):
            async with turn.gate:
                # as they are now: what is noted while the disk writes belongs to the next commit
                owed, noted, told = tuple(turn.owed), tuple(turn.ledger), tuple(turn.injections)
                aside = _Aside(owed, noted, told)
                result = await self._ports.store.write(lambda tx: self._indexed(turn, tx, fn, aside))
                del turn.owed[: len(owed)], turn.ledger[: len(noted)], turn.injections[: len(told)]
                after(result)
                self._ports.stored()
                return result
        raise StorageError("The database did not answer in time.", hint="Is the disk full or hanging?")

    def _indexed(self, turn: Turn, tx: Tx, fn: Callable[[Tx], T], aside: _Aside) -> T:
        """What is stored can be found at once; and what the turn was shown, and what it cost, is recorded with what
        came of it."""
        for told in aside.told:  # first, since what ends the turn counts which of it the answer cites
            injections.record(tx, told)
        result = fn(tx)
        for settle in aside.owed:
            settle(tx)
        at = self._ports.wall()
        for kind, data in aside.noted:
            ledger.record(tx, turn.input, kind, data, at=at)
        index.catch_up(tx)
        return result

    async def begin(self, turn: Turn, heard: Heard | None = None) -> bool:
        """Mark the input as running and close calls that a crash left open.  False if it already has its outcome.

        With ``heard`` its message, which no stage has to see first, goes into the window in the same commit.
        """
        at = self._ports.wall()

        def write(tx: Tx) -> tuple[Input, list[Event], str, list[Input]] | None:
            known = inputs.get(tx, turn.input.id)
            if known is None or known.state.terminal:
                return None
            begun = inputs.begin(tx, known.id, turn=turn.id, at=at)
            for call in events.dangling_calls(tx, begun.turn):
                events.append(tx, begun, interrupted(call), at=at)
            stored, named = events.of_turn(tx, begun.turn), ""
            if heard is not None and not any(event.kind is EventKind.USER for event in stored):
                event, named = _put_in(tx, begun, heard, at=at, no_memory=begun.no_memory)
                begun = replace(begun, text=heard.text)
                stored.append(event)
            return begun, stored, named, inputs.joined(tx, begun.turn)

        def after(result: tuple[Input, list[Event], str, list[Input]] | None) -> None:
            if result is None:
                return
            turn.input, turn.events, turn.joined = result[0], result[1], result[3]
            turn.id = turn.input.turn
            turn.resume()
            turn.began = trio.current_time()
            data = {"phase": "start", "input": turn.input.id, "state": turn.input.state.value}
            self.post(turn, notices.TURN, data | ({"level": turn.input.level} if turn.input.level else {}))
            if result[2]:
                self._tell_title(turn, result[2])

        found = await self.commit(turn, write, after)
        self.reach("turn.begun")
        return found is not None

    async def heard(self, turn: Turn, heard: Heard) -> None:
        """Replace the accepted text by what ``on_input`` left, and put it into the window; name a new thread by it."""
        at = self._ports.wall()

        def write(tx: Tx) -> tuple[Event, str]:
            return _put_in(tx, turn.input, heard, at=at, no_memory=turn.no_memory)

        def after(result: tuple[Event, str]) -> None:
            turn.input = replace(turn.input, text=heard.text)
            turn.events.append(result[0])
            if result[1]:
                self._tell_title(turn, result[1])

        await self.commit(turn, write, after)

    async def join(self, turn: Turn, given: Input, heard: Heard, *, no_memory: bool) -> None:
        """Put the message of another input into the turn's own events, and have it end with the turn.

        ``no_memory``: a stage said that it is private, and so is what answers it: nothing of the turn is remembered.
        """
        at = self._ports.wall()

        def write(tx: Tx) -> tuple[Input, Event]:
            joined = inputs.join(tx, given.id, turn=turn.id)
            event, _ = _put_in(tx, joined, heard, at=at, no_memory=no_memory or turn.no_memory, inserted=True)
            return replace(joined, text=heard.text), event

        def after(result: tuple[Input, Event]) -> None:
            turn.join(result[0])
            turn.events.append(result[1])
            if no_memory:
                turn.fields["no_memory"] = True
            self.post(turn, notices.TURN, {"phase": "joined", "input": given.id})

        await self.commit(turn, write, after)
        self.reach("turn.joined")

    def suspended(self, turn: Turn, by: str) -> None:
        """Tell that the turn stands still for the input ``by``; what it showed of its answer stays as it is."""
        self.post(turn, notices.TURN, {"phase": "suspended", "input": turn.input.id, "by": by})
        self.reach("turn.suspended")

    def resumed(self, turn: Turn, step: int) -> None:
        """Tell that it goes on: the text of that step begins anew."""
        self.post(turn, notices.TURN, {"phase": "resumed", "input": turn.input.id, "step": step})
        self.reach("turn.resumed")

    def _tell_title(self, turn: Turn, title: str) -> None:
        data = {"title": title, "channel": turn.input.channel, "created": False}
        self.post(turn, notices.THREAD, data)

    async def add(self, turn: Turn, new: NewEvent, after: Callable[[], None] = lambda: None) -> Event:
        """Store one event of the turn, then tell the watchers by ``after``."""
        at = self._ports.wall()
        marked = replace(_said(turn, new), no_memory=new.no_memory or turn.no_memory)

        def done(event: Event) -> None:
            (turn.inner if is_inner(event) else turn.events).append(event)
            after()

        return await self.commit(turn, lambda tx: events.append(tx, turn.input, marked, at=at), done)

    async def add_result(
        self, turn: Turn, new: NewEvent, files: Handed, after: Callable[[Sequence[Block]], None]
    ) -> Event:
        """Store the result of a call and the files it gives back in one commit; ``after`` is told what they became."""
        at = self._ports.wall()
        marked = replace(new, no_memory=new.no_memory or turn.no_memory)

        def write(tx: Tx) -> tuple[Event, Sequence[Block]]:
            event = events.append(tx, turn.input, marked, at=at)
            if not files:
                return event, ()
            event = blocks.adopt_attached(tx, event, files.owner, files.ids, at=at)
            return event, blocks.of_events(tx, [event.id]).get(event.id, ())

        def done(stored: tuple[Event, Sequence[Block]]) -> None:
            (turn.inner if is_inner(stored[0]) else turn.events).append(stored[0])
            after(stored[1])

        return (await self.commit(turn, write, done))[0]

    async def finish(self, turn: Turn, ending: Ending) -> None:
        """Store the one outcome and what comes with it, then tell; a second outcome is refused by the store."""
        turn.committing = True
        self.reach("turn.before_finish")
        at = self._ports.wall()

        def write(tx: Tx) -> tuple[list[Event], bool]:
            left = [interrupted(call, cut(turn, str(call.get("id")))) for call in events.dangling_calls(tx, turn.id)]
            last = [*left, *(_said(turn, event) for event in ending.events)]
            blocks.drop_of_turn(tx, turn.id)
            stored = inputs.finish(tx, turn.input.id, ending.outcome, last, at=at, no_memory=turn.no_memory)
            if not turn.no_memory:
                _cite(tx, turn, ending.outcome.text, at)
            return stored, turn.no_memory and _unnamed(tx, turn)

        def after(result: tuple[list[Event], bool]) -> None:
            turn.over = True
            turn.events.extend(result[0])
            if result[1]:
                self._tell_title(turn, "")
            ending.tell()
            self._tell_interrupted(turn)
            self._tell_end(turn, ending)

        await self.commit(turn, write, after)

    def _tell_interrupted(self, turn: Turn) -> None:
        for call in turn.live.calls:
            if call.status == "running":
                call.status, call.result = "interrupted", cut(turn, call.call)
                self.post(turn, notices.TOOL_CALL, call.view() | {"step": turn.live.step, "class": "", "ms": 0})

    def _tell_end(self, turn: Turn, ending: Ending) -> None:
        outcome, given = ending.outcome, turn.input
        self.reach("turn.finished")
        self.reach("output.before_send")
        if outcome.text:
            self.post(
                turn, notices.AGENT_OUTPUT, {"input": given.id, "text": outcome.text, "state": outcome.state.value}
            )
        if outcome.error:
            self.post(turn, notices.AGENT_ERROR, {"input": given.id, "error": outcome.error, "hint": outcome.hint})
        for joined in turn.joined:
            self._tell_joined(turn, joined, outcome)
        self.post(turn, notices.TURN, {"phase": "end", "input": given.id, **ending_view(outcome)})
        self.reach("output.sent")

    def _tell_joined(self, turn: Turn, joined: Input, outcome: Outcome) -> None:
        """Its end, before the turn's own: the answer is told once in a channel, and to another channel too."""
        if outcome.text and joined.channel != turn.input.channel:
            data = {"input": joined.id, "text": outcome.text, "state": outcome.state.value, "with": turn.input.id}
            self.post(turn, notices.AGENT_OUTPUT, data)
        self.post(
            turn, notices.TURN, {"phase": "end", "input": joined.id, "with": turn.input.id, **ending_view(outcome)}
        )


def _put_in(
    tx: Tx, given: Input, heard: Heard, *, at: float, no_memory: bool, inserted: bool = False
) -> tuple[Event, str]:
    """The message as an event with its files, and the name its thread got by it; empty if it had one."""
    inputs.replace_text(tx, given.id, heard.text)
    brought = blocks.of_input(tx, given.id)
    data: dict[str, object] = {"input": given.id}
    data |= {"untrusted": True} if given.untrusted else {}
    data |= {"files": len(brought)} if brought else {}
    data |= {"withheld": True} if heard.withheld else {}
    data |= {"inserted": True} if inserted else {}
    data |= {"mark": given.mark} if given.mark else {}
    new = NewEvent(EventKind.USER, heard.text, data, peer=given.peer, no_memory=no_memory)
    thread = threads.get(tx, given.thread)
    title = heard.title or (brought[0].name if brought else "")
    # a name stands in lists, and before events in other conversations' prompts: nothing private gives one
    named = thread is not None and not thread.title and bool(title) and not no_memory
    if named:
        threads.rename(tx, given.thread, title)
    event = events.append(tx, given, new, at=at)
    return blocks.adopt(tx, event, given.id, at=at) if brought else event, title if named else ""


def _said(turn: Turn, new: NewEvent) -> NewEvent:
    """With what from outside stands behind it, where it is an answer, or one on its way out: that says so already when
    it goes."""
    answer = new.kind is EventKind.ASSISTANT or new.data.get("code") == DRAFT
    if not answer or OUTSIDE in new.data:
        return new
    return replace(new, data={**new.data, OUTSIDE: sorted(turn.behind)})


def _cite(tx: Tx, turn: Turn, answer: str, at: float) -> None:
    given = turn.input
    citations.count(tx, scope=given.scope, thread=given.thread, turn=turn.id, answer=answer, at=at)


def _unnamed(tx: Tx, turn: Turn) -> bool:
    """Take away the name that the turn's message gave its thread before anybody said that it is private."""
    said = [event for event in turn.events if event.kind is EventKind.USER]
    files = blocks.of_events(tx, [event.id for event in said])
    names = {title_of(event.text) for event in said} | {block.name for found in files.values() for block in found}
    thread = threads.get(tx, turn.input.thread)
    if thread is None or not thread.title or thread.title not in names:
        return False
    threads.rename(tx, thread.id, "")
    return True


def title_of(text: str, words: int = 8, longest: int = 48) -> str:
    """A conversation's name: the first words of its first message, with an ellipsis where more followed."""
    said = text.split()
    title = " ".join(said[:words])
    if len(title) <= longest and len(said) <= words:
        return title
    return title[: longest - 1].rstrip(" ,.;:，。；：、") + "…"


def cut(turn: Turn, call: str, otherwise: str = INTERRUPTED) -> str:
    """What is said of a call that got no result; ``otherwise``: where it was not the person who stopped it."""
    if not turn.stopping:
        return otherwise
    return STOPPED if call in turn.begun else NOT_BEGUN


def interrupted(call: Mapping[str, object], why: str = INTERRUPTED) -> NewEvent:
    """The synthetic result of a call that never got one (A3)."""
    data = {
        "call_id": str(call.get("id", "")), "name": str(call.get("name", "")), "status": "interrupted",
        "args": call.get("arguments") or {},
    }  # fmt: skip
    return NewEvent(EventKind.TOOL, why, data)
