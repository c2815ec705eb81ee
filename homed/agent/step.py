"""One model step: the source that answers, the gate before the money, and what is done when something fails.

What happens to a failure is ``providers.fallback``'s to say; here it is done.  The request is made anew for each
source: windows, pictures and tools differ.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import trio

from homed import events as notices
from homed.agent.approvals import Approvals
from homed.agent.context import Context
from homed.agent.guard import Guard
from homed.agent.journal import Journal
from homed.agent.metering import Meter
from homed.agent.model import Broken, Model, Said
from homed.agent.ports import AgentPorts
from homed.agent.repeats import ENOUGH
from homed.agent.stages import CHECKING_ANSWERS, Stages
from homed.agent.turn import Ended, Ending, Turn
from homed.host.registry import ToolEntry
from homed.host.states import Trust
from homed.identity.permissions import DANGEROUS
from homed.memory.records import EventKind, NewEvent
from homed.providers.base import ChatRequest, Provider, ProviderError
from homed.providers.chain import Course
from homed.providers.fallback import Again, Failed, GiveUp, Keep, MakeRoom, Next, TellModel
from homed.spend.ports import OverLimit
from homed.spend.records import Cost, Tokens

MUST_TRIES = 3
"""Times that a model is asked for a call that a program wants, before the turn fails."""

YES_LIMIT = 10.0
"""Seconds, shielded, that writing down a person's yes may take; without it they are asked again."""

GO_ON = "spend"
"""What the question is called whether a day may go on past its limit."""

_ASKED = ToolEntry(
    GO_ON, "kernel", "Go on past today's limit of what models may cost.", {"type": "object", "properties": {}},
    DANGEROUS, guest=False, parallel_safe=False, timeout=0.0, confirm=True, no_memory=False, untrusted=False,
    trust=Trust.PACKAGED,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Closing:
    """Why a turn takes its last step: the ``note`` to the model, what the person is told, and its code."""

    note: str
    code: str
    message: str


@dataclass(frozen=True, slots=True)
class StepPorts:
    """What a step touches of the loop it is a part of; ``failed``: the ending of a turn whose model gave no answer,
    from the error, what to do, and what came of the answer."""

    agent: AgentPorts
    journal: Journal
    stages: Stages
    context: Context
    guard: Guard
    approvals: Approvals
    failed: Callable[[Turn, str, str, str], Ending]


class Step:
    """Asks for one answer of the model, with text or tool calls; holds nothing of any turn."""

    def __init__(self, ports: StepPorts) -> None:
        self._ports = ports
        self._journal = ports.journal
        self._guard = ports.guard
        self._context = ports.context
        self._chain = ports.agent.chain
        self._redact = ports.agent.redactor.redact
        self._model = Model(ports.agent, ports.journal)
        self._meter = Meter(ports.agent.spend)

    async def ask(self, turn: Turn, note: str) -> Said:
        """What the model says next.  With a ``note`` it is told that, and offered no tools.

        Raises Ended when no source gives an answer or a limit of spend holds, Overfull when the turn cannot be made to
        fit.  Cancelled: the connection is closed, what came is paid, and the turn's ``live`` holds what was shown.
        """
        last = bool(note)  # what is noted below after a failure asks for the call again, so tools stay on offer
        course, missed = self._chain.course(first=turn.asks.source.name if turn.asks and turn.stood_in else ""), 0
        while True:
            must = frozenset() if last or turn.borrowed is None else turn.borrowed.must
            turn.muted = bool(must)
            self._withhold(turn)
            await self._turn_to(turn, course.provider)
            said_to = note or (self._context.must_note(must) if must else "")
            request = await self._guard.request(turn, course.provider, said_to, last=last)
            if must:
                request = replace(request, tools=tuple(tool for tool in request.tools if tool.name in must))
            self._journal.reach("turn.before_model")
            try:
                said = await self._paid(turn, course.provider, request)
            except Broken as broken:
                note = await self._recover(turn, course, broken, note)
                continue
            self._journal.reach("turn.after_model")
            if must and not any(call.name in must for call in said.calls):
                missed = self._missed(turn, must, missed)
                continue
            if turn.borrowed is not None:
                turn.borrowed.must -= must
            self._chain.answered(course)
            source = course.provider.source
            said.source, said.model, said.instead_of = source.name, source.model, tuple(course.gone)
            return said

    def _missed(self, turn: Turn, must: frozenset[str], times: int) -> int:
        """What had to be called was not; raises Ended when that is enough."""
        if times + 1 >= MUST_TRIES:
            turn.cause = {"kind": "no_call"}
            error = f"The model did not call {' or '.join(sorted(must))}, though it had to."
            raise Ended(self._ports.failed(turn, error, "Ask again, or choose another model.", ""))
        return times + 1

    def closing(self, turn: Turn) -> Closing | None:
        """Whether the next step is to be this turn's last, without tools, and why."""
        if turn.counters.repeated >= ENOUGH:
            message = "The same tool calls were made again and again; the answer is asked for without them."
            return Closing(self._context.texts.tool_repeat, "tool_repeat", message)
        used = turn.spending.usage.prompt + turn.spending.usage.completion
        left = self._ports.agent.spend.turn_left(used)
        if left is None or not turn.rounds or left > 2 * turn.asked:
            return None
        message = f"This message has used {used} tokens and is near its limit; the answer is asked for without tools."
        return Closing(self._context.spend_note(used), "spend_limit", message)

    def _withhold(self, turn: Turn) -> None:
        """Show nothing of the answer while it grows, if some plugin must check it first; say so once."""
        checker = self._ports.stages.checker(*CHECKING_ANSWERS)
        if checker and not turn.withheld:
            turn.withheld = True
            data = {"code": "withheld", "message": f"The answer is shown when {checker} has checked it."}
            self._journal.post(turn, notices.SYSTEM, data)

    async def _turn_to(self, turn: Turn, provider: Provider) -> None:
        """The turn asks this source from here on; for a smaller one what is shown is selected anew, nothing is lost."""
        before, turn.asks = turn.asks, provider
        if before is not None and before.source == provider.source:
            return
        frame, view = await self._context.frame(turn), turn.view
        if view.budget is None or frame.budget.available >= view.budget.available:
            return
        view.room = min(view.room, frame.budget.available)
        await self._context.select(turn, frame)

    async def _paid(self, turn: Turn, provider: Provider, request: ChatRequest) -> Said:
        """The call, through the gate; raises Ended when it is shut and nobody opens it."""

        def paid(tokens: Tokens, cost: Cost) -> None:
            turn.spending.add(tokens, cost)
            turn.asked = tokens.total

        while True:
            try:
                async with self._meter.call(turn.purpose, provider.source, request, paid=paid, owed=turn.owed) as bill:
                    try:
                        return await self._model.ask(turn, provider, bill.request, bill.gathered)
                    except Broken as broken:
                        bill.error = broken.error
                        raise
            except OverLimit as over:
                await self._go_on(turn, over)

    async def _go_on(self, turn: Turn, over: OverLimit) -> None:
        """Ask the person whether the day may go on past its limit; raises Ended if not."""
        said = ""
        if over.ask:
            reason = f"{over.message} Go on, with {over.ask.more} more?"
            with turn.place.answering():
                denial = await self._ports.approvals.ask(turn, _ASKED, {"more": over.ask.more}, reason, day=True)
                if not denial:
                    with trio.move_on_after(YES_LIMIT, shield=True):  # it counts, whatever else comes in now
                        await self._ports.agent.spend.go_on(over.ask)
            if not denial:
                await trio.lowlevel.checkpoint()  # what has waited for the answer goes first: no call is begun for it
                return
            # Why there was no yes; the question itself would only say the failure again.
            said = denial.removeprefix(reason).removesuffix(", so it was not run.").strip(" .")
        hint = f"{said}. {over.hint}" if said else over.hint
        turn.cause = {"kind": "spend"}
        raise Ended(self._ports.failed(turn, over.message, hint, ""))

    async def _recover(self, turn: Turn, course: Course, broken: Broken, note: str) -> str:
        """The note to ask again with, of whichever source; raises Ended when this failure is final, Overfull when no
        room can be made.  Cancelled while it waits: nothing is left."""
        error = broken.error
        verdict = self._chain.decide(_failed(turn, course, error))
        match verdict:
            case Again(wait):
                message = f"The model source is busy ({self._redact(error.message)}); again in {wait:.0f} s."
                self._journal.post(turn, notices.SYSTEM, {"code": "retrying", "message": message})
                course.attempt += 1
                await trio.sleep(wait)
            case Next():
                await self._stand_in(turn, course, verdict, error)
            case MakeRoom():
                await self._guard.context_full(turn, course.provider, last=bool(note))
            case TellModel():
                turn.counters.unparsed += 1
                return self._context.unparsed_note(error.message)
            case Keep() | GiveUp():
                raise self._final(turn, course, broken)
        return note

    async def _stand_in(self, turn: Turn, course: Course, verdict: Next, error: ProviderError) -> None:
        """Another source answers; the person is told which, and why, now and whenever they read it again."""
        self._chain.leave(course, verdict, error)
        turn.stood_in = True
        name = course.provider.source.name
        message = f"{self._redact(error.message)} {name} answers instead."
        data = {"code": "fallback", "message": message}
        note = NewEvent(EventKind.NOTE, message, {"code": "fallback"})
        await self._journal.add(turn, note, lambda: self._journal.post(turn, notices.SYSTEM, data))

    def _final(self, turn: Turn, course: Course, broken: Broken) -> Exception:
        error = broken.error
        turn.cause = _cause(error)
        if error.kind is error.kind.CONTEXT_FULL and not broken.said.text:
            return self._guard.too_often(course.provider)
        before = "".join(f" Before that: {why}" for _, why in course.gone)
        partial = "" if turn.withheld else self._redact(broken.said.text)
        return Ended(self._ports.failed(turn, self._redact(f"{error.message}{before}"), error.hint, partial))


def _cause(error: ProviderError) -> dict[str, object]:
    wait = {} if error.retry_after is None else {"retry_after": error.retry_after}
    return {"kind": error.kind.value, "status": error.status, **wait}


def _failed(turn: Turn, course: Course, error: ProviderError) -> Failed:
    return Failed(
        kind=error.kind, attempt=course.attempt, status=error.status, retry_after=error.retry_after,
        shown=bool(turn.live.text or turn.live.reasoning), others=len(course.rest),
        recoveries=turn.view.recoveries, unparsed=error.unparsed, told=bool(turn.counters.unparsed),
    )  # fmt: skip
