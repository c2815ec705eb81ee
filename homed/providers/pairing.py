"""Every tool call has its one result right behind it, before anything is sent (faults A1–A4, A6, A7).  Pure.

Strict servers answer 400 to a call without a result and to a result without a call, and go on doing so for ever,
because the same history is sent again.  So the last step before each request, on every adapter's path, is ``repair``;
``check`` says whether anything is left wrong, and a history that fails it is not sent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from homed.providers.base import Assistant, Message, ToolCall, ToolResult

NO_RESULT = "Interrupted: there is no result of this call."
NO_TEXT = "(no output)"
NO_ERROR_TEXT = "The tool failed without saying why."


@dataclass(frozen=True, slots=True)
class Repaired:
    """A history that passes ``check``, and a note for each thing that was put right; no notes, nothing changed."""

    messages: tuple[Message, ...]
    notes: tuple[str, ...]


def check(messages: Sequence[Message]) -> list[str]:
    """What a strict server would refuse about calls and results, in both directions; empty when all is well."""
    problems: list[str] = []
    waiting: list[str] = []
    for place, message in enumerate(messages):
        if isinstance(message, ToolResult):
            if message.call_id in waiting:
                waiting.remove(message.call_id)
            else:
                problems.append(f"message {place}: a result for {message.call_id!r}, which nothing before it called")
            if not message.text:
                problems.append(f"message {place}: an empty result")
            continue
        problems += [f"message {place}: the call {id_!r} before it has no result" for id_ in waiting]
        waiting = [call.id for call in message.calls] if isinstance(message, Assistant) else []
        if not all(waiting) or len(set(waiting)) != len(waiting):
            problems.append(f"message {place}: calls without an id of their own")
    problems += [f"at the end: the call {id_!r} has no result" for id_ in waiting]
    return problems


def repair(messages: Sequence[Message]) -> Repaired:
    """Make the history pass ``check`` with as little change as possible.

    Results go right behind their call, in call order; a call without one gets a synthetic error result; a result that
    answers nothing is left out; missing and doubled ids are replaced (by the same ones each time); a result's text is
    never empty; an assistant message that says and calls nothing is left out.
    """
    return _Repair(messages).run()


class _Repair:
    """One pass over a history; ``run`` once."""

    def __init__(self, messages: Sequence[Message]) -> None:
        self._messages = messages
        self._used: set[int] = set()  # places of results that have found their call
        self._out: list[Message] = []
        self._notes: list[str] = []

    def run(self) -> Repaired:
        for place, message in enumerate(self._messages):
            if isinstance(message, Assistant) and message.calls:
                self._calls(place, message)
            elif isinstance(message, Assistant) and not message.text:
                self._notes.append(f"message {place}: an assistant message with nothing in it was left out")
            elif not isinstance(message, ToolResult):
                self._out.append(message)
            elif place not in self._used:
                self._notes.append(f"message {place}: a result for {message.call_id!r} without its call was left out")
        return Repaired(tuple(self._out), tuple(self._notes))

    def _calls(self, place: int, message: Assistant) -> None:
        """An assistant message with calls, and all their results behind it."""
        candidates = self._results_after(place)
        answers = self._match(message.calls, candidates)
        calls = self._with_ids(place, message.calls)
        found = [at for at in answers if at is not None]
        if found != list(range(place + 1, place + 1 + len(found))):
            self._notes.append(f"message {place}: its results were put right behind it, in call order")
        self._out.append(message if calls == message.calls else replace(message, calls=calls))
        for call, at in zip(calls, answers, strict=True):
            self._out.append(self._result(place, call, at))

    def _results_after(self, place: int) -> list[int]:
        """Places of the results between this message and the next one with calls."""
        found: list[int] = []
        for at in range(place + 1, len(self._messages)):
            message = self._messages[at]
            if isinstance(message, Assistant) and message.calls:
                break
            if isinstance(message, ToolResult):
                found.append(at)
        return found

    def _match(self, calls: Sequence[ToolCall], candidates: Sequence[int]) -> list[int | None]:
        """For each call the place of its result: by id, then, for results with no id, by name, then in order."""
        answers: list[int | None] = [None] * len(calls)
        free = list(candidates)
        for by in (self._same_id, self._same_name, self._nameless):
            for n, call in enumerate(calls):
                if answers[n] is None:
                    answers[n] = next((at for at in free if by(call, at)), None)
                    if (at := answers[n]) is not None:
                        free.remove(at)
        self._used.update(at for at in answers if at is not None)
        return answers

    def _at(self, at: int) -> ToolResult:
        message = self._messages[at]
        assert isinstance(message, ToolResult)
        return message

    def _same_id(self, call: ToolCall, at: int) -> bool:
        return bool(call.id) and self._at(at).call_id == call.id

    def _same_name(self, call: ToolCall, at: int) -> bool:
        return not self._at(at).call_id and self._at(at).name == call.name

    def _nameless(self, _: ToolCall, at: int) -> bool:
        result = self._at(at)
        return not result.call_id and not result.name

    def _with_ids(self, place: int, calls: tuple[ToolCall, ...]) -> tuple[ToolCall, ...]:
        taken = {call.id for call in calls}
        seen: set[str] = set()
        made: list[ToolCall] = []
        for n, call in enumerate(calls):
            id_ = call.id
            if not id_ or id_ in seen:
                id_ = next(new for k in range(len(calls) + 1) if (new := f"call_{place}_{n}_{k}") not in taken)
                self._notes.append(f"message {place}: call {n} had no id of its own and was given {id_!r}")
                taken.add(id_)
            seen.add(id_)
            made.append(call if id_ == call.id else replace(call, id=id_))
        return tuple(made)

    def _result(self, place: int, call: ToolCall, at: int | None) -> ToolResult:
        if at is None:
            self._notes.append(f"message {place}: the call {call.id!r} had no result and was marked as interrupted")
            return ToolResult(call.id, call.name, NO_RESULT, is_error=True)
        result = self._at(at)
        text = result.text or (NO_ERROR_TEXT if result.is_error else NO_TEXT)
        fixed = ToolResult(call.id, result.name or call.name, text, result.is_error)
        if fixed == result:
            return result
        if fixed.text != result.text:
            self._notes.append(f"message {at}: an empty result was given a text")
        if fixed.call_id != result.call_id or fixed.name != result.name:
            self._notes.append(f"message {at}: a result was given the id and name of its call")
        return fixed
