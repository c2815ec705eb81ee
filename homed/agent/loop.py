"""One turn: an input on its way through the stages, the model and the tools to its one outcome."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import replace

import trio

from homed import events as notices
from homed.agent.approvals import Approvals
from homed.agent.catalogue import Catalogue
from homed.agent.context import Context
from homed.agent.dispatch import Dispatch
from homed.agent.guard import Guard
from homed.agent.hearing import WITHHELD, Hearing, responded
from homed.agent.journal import Journal
from homed.agent.model import Said
from homed.agent.outputs import Outputs, only_sent
from homed.agent.pausing import Pausing
from homed.agent.ports import AgentPorts
from homed.agent.prompt import load_texts
from homed.agent.recall import Recall
from homed.agent.rejoin import Rejoin
from homed.agent.results import shown_arguments
from homed.agent.scopes import Scopes
from homed.agent.sealed import seal
from homed.agent.sinking import Sinking
from homed.agent.stages import Staged, Stages
from homed.agent.step import Step, StepPorts
from homed.agent.turn import Ended, Ending, Turn, Unstored, usage_dict
from homed.config.definitions import MAX_TOOL_TURNS
from homed.errors import HomedError
from homed.memory.records import DRAFT, EventKind, InputState, NewEvent
from homed.providers.base import ToolCall
from homed.wire.stream import homed_error

log = logging.getLogger(__name__)

NOT_SENT = "[this answer was not sent]"


class Loop:
    """Runs turns; holds nothing of any of them."""

    def __init__(self, ports: AgentPorts) -> None:
        self._ports = ports
        self._journal = Journal(ports)
        self._stages = Stages(ports, self._journal)
        outputs = Outputs(ports, self._stages)
        catalogue = self.catalogue = Catalogue(ports, outputs)
        self._hearing = Hearing(ports, self._stages)
        self._pausing = Pausing(self._journal, self._hearing)
        self.dispatch = Dispatch(ports, catalogue, self._stages, outputs, self._pausing)
        self._texts = load_texts()
        self._scopes = Scopes()
        self._recall = Recall(ports, self._scopes)
        self._context = Context(ports, catalogue, self._texts, self._recall)
        self.sinking = Sinking(ports, self._scopes)
        self._rejoin = Rejoin(ports, self._scopes)
        guard = Guard(ports, self._context, self.sinking)
        self._step = Step(
            StepPorts(ports, self._journal, self._stages, self._context, guard, self.approvals, failed_ending)
        )

    @property
    def approvals(self) -> Approvals:
        """The questions that are open."""
        return self.dispatch.approvals

    async def run(self, turn: Turn) -> Ending | None:
        """Take the input to its outcome, store and tell it; None if it had one already.  ``afterwards`` comes next.

        Raises nothing but StorageError.  Cancelled from outside (homed is stopping): the input stays unfinished in the
        store, and the next start resumes it.  Stopped by the person: the outcome is ``stopped``.
        """
        said = None if self._hearing.needed else self._hearing.heard(turn.input.text)
        if not await self._journal.begin(turn, said):
            return None
        try:
            ending = await self._ending(turn)
            await self._journal.finish(turn, ending)
        finally:
            self._scopes.release(turn.input.scope, turn.id)
        return ending

    async def _ending(self, turn: Turn) -> Ending:
        try:
            with turn.scope:
                ending = await self._answer(turn)
        except Exception as error:
            known = homed_error(error)
            if known is None:
                log.exception("turn %s failed", turn.id)
                turn.panicked = True
                known = HomedError("Something in homed itself went wrong.", hint="The log has the details.")
            turn.broke = known.code
            turn.cause = {"kind": known.code}
            ending = failed_ending(turn, known.message, known.hint)
        if not turn.heard:  # it stands in the history all the same, but not what was to be checked first
            await self._journal.heard(turn, self._hearing.unchecked(turn))
        # a stop that came with the last step, or with a failure, still counts: nothing more may reach the person
        return self._stopped(turn) if turn.stopping else ending

    def _stopped(self, turn: Turn) -> Ending:
        said = turn.live.text
        event = NewEvent(EventKind.ASSISTANT, said, {"partial": True, "final": True})
        return Ending(turn.outcome(InputState.STOPPED, said), (event,))

    async def _answer(self, turn: Turn) -> Ending:
        turn.describe()  # here, so that the stages of a resumed turn, which are not the first ones, see it too
        try:
            if not turn.heard:
                await self._hear(turn)
            if turn.draft is None:
                await self._prepare(turn)
                await self._converse(turn)
            return await self._put_out(turn)
        except Ended as jump:
            return jump.ending

    # -- before the model ------------------------------------------------------------------------------------------

    async def _hear(self, turn: Turn) -> None:
        """``on_input``; then the input stands in the window as that stage left it."""
        checked = await self._hearing.check(turn)
        await self._journal.heard(turn, checked.heard)
        if checked.ending is not None:
            raise Ended(checked.ending)

    async def _prepare(self, turn: Turn) -> None:
        """Select what of the conversation is shown, and let ``pre_action`` add to it."""
        await self._context.select(turn, await self._context.frame(turn))
        await self._stage_view(turn)

    async def _stage_view(self, turn: Turn) -> None:
        """``pre_action`` on what the turn shows: with each selection, and with what came to it while it stood still."""
        staged = await self._stages.run(
            turn, "pre_action", {"raw_message": turn.input.text, "context_msgs": self._context.as_fields(turn)}
        )
        if staged.closed:
            error = f"Not answered: {staged.closed}, which must prepare each answer, could not ({staged.why})."
            raise Ended(failed_ending(turn, error, staged.remedy))
        self._jump(turn, staged)
        self._context.apply(turn, staged)

    # -- model and tools -------------------------------------------------------------------------------------------

    async def _converse(self, turn: Turn) -> None:
        """Model and tools in turns, until the model answers in text."""
        limit = turn.frame.rounds if turn.frame else self._ports.settings.int(MAX_TOOL_TURNS)
        note = ""
        while True:
            if not note and turn.rounds >= limit:
                note = self._context.limit_note(limit)
                await self._tell_limit(turn, limit)
            if not note and (closing := self._step.closing(turn)):
                note = closing.note
                await self._tell(turn, closing.code, closing.message)
            turn.step = sum(1 for e in turn.events if e.kind is EventKind.ASSISTANT)
            said = await self._said(turn, note)
            staged = await self._post_action(turn, said, last=bool(note))
            calls = [] if note else _calls(staged)
            await self._say(turn, staged, said, calls)
            if not calls:
                return
            some_ran = await self.dispatch.round(turn, calls)
            if turn.jump is not None:
                raise Ended(responded(turn, self._ports.redactor.redact(turn.jump)))
            if not some_ran:
                note = self._texts.all_denied

    async def _said(self, turn: Turn, note: str) -> Said:
        """One model step.  What an interrupt cancels of it is forgotten, and asked again once the turn is resumed: with
        the interrupt's exchange before the turn's own messages."""
        while True:
            paused = await self._pausing.before_model(turn)
            if paused.met or paused.joined:
                await self._rejoin.add(turn, paused.met)
            if paused.met:
                await self._stage_view(turn)
            with turn.place.model():
                return await self._step.ask(turn, note)
            self._journal.reach("turn.cancelled")

    async def _post_action(self, turn: Turn, said: Said, *, last: bool) -> Staged:
        redact = self._ports.redactor
        fields = {
            "llm_text": redact.redact(said.text),
            "reasoning": redact.redact(said.reasoning),
            "token_usage": dict(usage_dict(turn.spending.usage)),
            "tool_calls": [] if last else [_call_fields(call) for call in said.calls],
        }
        staged = await self._stages.run(turn, "post_action", fields)
        if staged.closed:
            error = f"The answer was withheld: {staged.closed}, which must check it first, could not ({staged.why})."
            raise Ended(failed_ending(turn, error, staged.remedy))
        self._jump(turn, staged)
        return staged

    async def _say(self, turn: Turn, staged: Staged, said: Said, calls: list[ToolCall]) -> None:
        """Store what the model said, with the calls it made, before any of them runs."""
        redact = self._ports.redactor
        hidden = turn.withheld and not calls  # the final text has its last check still before it
        text, reasoning = staged.text("llm_text"), "" if hidden else staged.text("reasoning")
        if not text.strip() and not calls and only_sent(turn.events):
            text = self._texts.output_sent  # what there was to say went out through a channel
        elif not text.strip() and not calls:
            why = "its limit of tokens was reached" if said.reason == "length" else "no text and no tool call came"
            raise Ended(failed_ending(turn, f"The model gave no answer: {why}.", "Ask again, or choose another model."))
        shown = [
            {"id": c.id, "name": c.name, "arguments": redact.redact_json(c.arguments), "raw": _raw(c, redact.redact)}
            for c in calls
        ]
        data = {
            "calls": shown, "reasoning": reasoning, "partial": False, "final": not calls, "step": turn.step,
            "usage": turn.spending.view(), **said.answered_by(),
        }  # fmt: skip
        event = NewEvent(EventKind.ASSISTANT, text, data, opaque=self._sealed(said, text, calls))

        def tell() -> None:
            if reasoning:
                self._journal.post(turn, notices.REASONING, {"step": turn.step, "text": reasoning})
            chain = {
                "step": turn.step,
                "text": "" if hidden else text,
                "reasoning": reasoning,
                "calls": [{"call": c["id"], "tool": c["name"], "args": c["arguments"]} for c in shown],
                "usage": dict(usage_dict(said.usage)),
                **said.answered_by(),
            }
            self._journal.post(turn, notices.AGENT_LLM_CHAIN, chain)
            if calls:  # what was said stands in the history now; only a final answer is still on its way
                turn.live.text = turn.live.reasoning = ""

        if not calls and not self._stages.any("before_output"):
            turn.unstored = Unstored(event, tell)  # nothing comes between the answer and the end: one commit for both
            return
        await self._journal.add(turn, event if calls else _draft(event), tell)
        self._journal.reach("turn.call_stored")

    def _sealed(self, said: Said, text: str, calls: list[ToolCall]) -> str:
        """What the source wants back, if the message is as it was made, and as it can be stored."""
        redact = self._ports.redactor
        clean = all(redact.redact_json(call.arguments) == call.arguments for call in calls)
        return seal(said, text, calls, redact.redact) if clean else ""

    async def _tell_limit(self, turn: Turn, limit: int) -> None:
        done = self._context.done_so_far(turn)
        text = f"The limit of {limit} rounds of tool calls for one message was reached. Done so far: {done}."
        await self._tell(turn, "tool_limit", text)

    async def _tell(self, turn: Turn, code: str, text: str) -> None:
        data = {"code": code, "message": text}
        note = NewEvent(EventKind.NOTE, text, {"code": code})
        await self._journal.add(turn, note, lambda: self._journal.post(turn, notices.SYSTEM, data))

    # -- the way out -----------------------------------------------------------------------------------------------

    async def _put_out(self, turn: Turn) -> Ending:
        """``before_output`` on the stored draft; what it leaves is the answer, for everybody and ever after."""
        if turn.unstored is not None:
            await trio.lowlevel.checkpoint()  # a stop that has come counts
            event, final = turn.unstored.event, self._ports.redactor.redact(turn.unstored.event.text)
            stored = replace(event, text=final, opaque=event.opaque if final == event.text else "")
            return Ending(turn.outcome(InputState.ANSWERED, final), (stored,), turn.unstored.tell)
        draft = turn.draft
        text = draft.text if draft else ""
        staged = await self._stages.run(turn, "before_output", {"final_text": text})
        if staged.closed:
            error = f"The answer was withheld: {staged.closed}, which must check it first, could not ({staged.why})."
            outcome = turn.outcome(InputState.FAILED, error=error, hint=staged.remedy)
            return Ending(outcome, (_instead(WITHHELD.format(plugin=staged.closed)),))
        final = staged.response if staged.response is not None else staged.text("final_text")
        final = self._ports.redactor.redact(final)
        answer = NewEvent(EventKind.ASSISTANT, final, _without_code(draft.data) if draft else {"final": True})
        if draft is not None and final == draft.text:
            answer = replace(answer, opaque=draft.opaque)
        return Ending(turn.outcome(InputState.ANSWERED, final), (answer,))

    async def afterwards(self, turn: Turn, ending: Ending) -> None:
        """``after_output``, and the window made smaller if it has become too full: nothing here changes the outcome."""
        await self._stages.run(turn, "after_output", {"final_text": ending.outcome.text})
        if turn.view.budget is not None:
            await self.sinking.run(turn, turn.view.budget)

    def _jump(self, turn: Turn, staged: Staged) -> None:
        """A stage that set ``response`` ends the turn with it."""
        if staged.response is not None:
            raise Ended(responded(turn, self._ports.redactor.redact(staged.response)))


def _draft(answer: NewEvent) -> NewEvent:
    """The answer on its way to ``before_output``: what that takes out must not be found or told ever after."""
    return NewEvent(EventKind.NOTE, answer.text, {**answer.data, "code": DRAFT}, no_memory=True, opaque=answer.opaque)


def _without_code(data: Mapping[str, object]) -> dict[str, object]:
    return {key: value for key, value in data.items() if key != "code"}


def failed_ending(turn: Turn, error: str, hint: str, partial: str = "") -> Ending:
    """The turn failed; what came of an answer stays, and an answer that was on its way out does not go."""
    kind = EventKind.ASSISTANT if partial else EventKind.NOTE
    data = {"partial": True, "final": True} if partial else {"code": "no_answer"}
    event = NewEvent(kind, partial or error, data)
    if turn.draft is not None:
        event = _instead(NOT_SENT)
    return Ending(turn.outcome(InputState.FAILED, partial, error=error, hint=hint), (event,))


def _instead(text: str) -> NewEvent:
    """What stands in the place of an answer that did not go out."""
    return NewEvent(EventKind.ASSISTANT, text, {"final": True, "partial": False})


def _call_fields(call: ToolCall) -> dict[str, object]:
    fields: dict[str, object] = {"id": call.id, "name": call.name}
    if call.arguments is None:
        return fields | {"arguments": shown_arguments(None, call.raw), "raw": call.raw}
    return fields | {"arguments": dict(call.arguments)}


def _calls(staged: Staged) -> list[ToolCall]:
    found = []
    for call in staged.elements("tool_calls"):
        arguments, raw = call.get("arguments"), str(call.get("raw", ""))
        given: Mapping[str, object] | None = arguments if isinstance(arguments, dict) and not raw else None
        found.append(ToolCall(str(call["id"]), str(call.get("name", "")), given, raw))
    return found


def _raw(call: ToolCall, redact: Callable[[str], str]) -> str:
    return "" if call.arguments is not None else redact(call.raw)
