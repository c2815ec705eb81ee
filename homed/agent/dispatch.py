"""One round of tool calls: permission, arguments, stages, the plugin's own process, the stored result.

Every call ends with exactly one stored result, in whatever way it ends; one that fails, fails alone.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import trio

from homed import events as notices
from homed.agent.approvals import Approvals
from homed.agent.arguments import check
from homed.agent.catalogue import Catalogue
from homed.agent.fitting import fitted_text
from homed.agent.journal import Journal
from homed.agent.outputs import Outputs
from homed.agent.ports import AgentPorts, FromOutside
from homed.agent.results import EMPTY, as_text, error_text, refusal, shown_arguments
from homed.agent.stages import Stages
from homed.agent.turn import LiveCall, Turn
from homed.agent.views import EVENT_BYTES
from homed.config.definitions import TOOL_TIMEOUT
from homed.errors import HomedError
from homed.host.registry import ToolEntry
from homed.identity.permissions import Decision
from homed.identity.roles import Role
from homed.memory.records import EventKind, NewEvent
from homed.providers.base import ToolCall
from homed.wire.methods import TOOL_INVOKE

PROVIDES = ("tools",)
NEEDS = ("identity", "stages")

log = logging.getLogger(__name__)

CALLS = 64
"""Tool calls of one turn, all rounds together, whoever asks."""

GUEST_CALLS = 8
"""The same for a guest."""

OK, ERROR, DENIED = "ok", "error", "denied"


@dataclass(frozen=True, slots=True)
class Result:
    """How one call ended.  ``untrusted``: its text is not ours or the person's."""

    status: str
    text: str
    untrusted: bool = False


class Refused(Exception):
    """Ends one call before it runs."""

    def __init__(self, result: Result) -> None:
        super().__init__(result.text)
        self.result = result


class Dispatch:
    """Runs the calls of turns."""

    def __init__(
        self, ports: AgentPorts, catalogue: Catalogue, stages: Stages, outputs: Outputs, journal: Journal
    ) -> None:
        self._ports = ports
        self._catalogue = catalogue
        self._stages = stages
        self._outputs = outputs
        self._journal = journal
        self.approvals = Approvals(ports)

    async def round(self, turn: Turn, calls: Sequence[ToolCall]) -> bool:
        """Run one answer's calls; True unless every one of them was denied.

        Concurrent only if all are parallel-safe; results are stored as they come and shown to the model in call order.
        Cancelled: finished calls are stored, the others are left open for the turn's end to close.
        """
        entries = self._catalogue.entries()
        live = [self._live(call, entries.get(call.name)) for call in calls]
        turn.live.calls = live
        before = turn.counters.denied
        together = all((entry := entries.get(call.name)) and entry.parallel_safe for call in calls)
        if together and len(calls) > 1:
            async with trio.open_nursery() as nursery:
                for call, shown in zip(calls, live, strict=True):
                    nursery.start_soon(self._one, turn, call, entries.get(call.name), shown)
        else:
            for call, shown in zip(calls, live, strict=True):
                await self._one(turn, call, entries.get(call.name), shown)
        return turn.counters.denied - before < len(calls)

    def _live(self, call: ToolCall, entry: ToolEntry | None) -> LiveCall:
        args = self._ports.redactor.redact_json(shown_arguments(call.arguments, call.raw))
        return LiveCall(call.id, call.name, entry.plugin if entry else "", args)

    async def _one(self, turn: Turn, call: ToolCall, entry: ToolEntry | None, shown: LiveCall) -> None:
        began = trio.current_time()
        self._tell(turn, entry, shown, 0)
        try:
            result = await self._result(turn, call, entry, shown)
        except Refused as refused:
            result = refused.result
        except HomedError as error:
            result = Result(ERROR, error_text(call.name, error))
        except Exception as error:
            log.exception("tool %s failed", call.name)
            result = Result(ERROR, error_text(call.name, error))
        self._journal.reach("turn.tool_done")
        await self._store(turn, call, entry, shown, result, began)

    async def _store(
        self, turn: Turn, call: ToolCall, entry: ToolEntry | None, shown: LiveCall, result: Result, began: float
    ) -> None:
        took = round((trio.current_time() - began) * 1000)
        text = self._ports.redactor.redact(result.text) or EMPTY
        data = {
            "call_id": call.id, "name": call.name, "status": result.status, "args": shown.args, "ms": took,
            "untrusted": result.untrusted or bool(entry and entry.untrusted),
        }  # fmt: skip
        no_memory = bool(entry and entry.no_memory)
        said_before = result.status == DENIED and self._again_denied(turn)

        def tell() -> None:
            shown.status = result.status
            shown.result = "" if said_before else fitted_text(text, EVENT_BYTES)
            self._tell(turn, entry, shown, took)

        await self._journal.add(turn, NewEvent(EventKind.TOOL, text, data, no_memory=no_memory), tell)
        self._journal.reach("turn.result_stored")

    def _again_denied(self, turn: Turn) -> bool:
        """Count a denial; True if a guest has been told why already: the further ones just end, without a word."""
        turn.counters.denied += 1
        return turn.who.role is Role.GUEST and turn.counters.denied > 1

    async def _result(self, turn: Turn, call: ToolCall, entry: ToolEntry | None, shown: LiveCall) -> Result:
        if entry is None:
            known = ", ".join(e.name for e in await self._catalogue.offered(turn)) or "none"
            return Result(ERROR, refusal("unknown_tool", field=call.name, hint=f"Tools there are: {known}."))
        self._count(turn)
        checked = check(entry.parameters, call.arguments, call.raw)
        if checked.refusal:
            return Result(ERROR, checked.refusal)
        staged = await self._stages.run(
            turn,
            "before_toolcall",
            {"tool_calls": [{"id": call.id, "name": call.name, "arguments": dict(checked.arguments)}]},
            owner=entry.plugin,
        )
        if staged.closed:
            return Result(DENIED, f"denied: {staged.closed}, which must check every call, failed.")
        if staged.response is not None:
            return Result(DENIED, staged.response or "denied by a plugin")
        arguments = self._rewritten(entry, call, staged.elements("tool_calls"))
        shown.args = self._ports.redactor.redact_json(dict(arguments))
        await self._permit(turn, entry, shown)
        result = await self._invoke(turn, entry, arguments)
        return await self._after(turn, call, entry, result)

    def _count(self, turn: Turn) -> None:
        turn.counters.calls += 1
        limit = GUEST_CALLS if turn.who.role is Role.GUEST else CALLS
        if turn.counters.calls > limit:
            raise Refused(Result(DENIED, f"denied: the limit of {limit} tool calls for one message is reached."))

    def _rewritten(
        self, entry: ToolEntry, call: ToolCall, left: Sequence[Mapping[str, object]]
    ) -> Mapping[str, object]:
        """The arguments as the handlers left them, checked again; a call they took out is denied."""
        mine = next((element for element in left if element["id"] == call.id), None)
        if mine is None or mine.get("name") != call.name:
            raise Refused(Result(DENIED, "denied: a plugin took this call out."))
        arguments = mine.get("arguments")
        checked = check(entry.parameters, arguments if isinstance(arguments, dict) else None, str(arguments))
        if checked.refusal:
            raise Refused(Result(ERROR, checked.refusal))
        return checked.arguments

    async def _permit(self, turn: Turn, entry: ToolEntry, shown: LiveCall) -> None:
        """Let the call pass, ask a person, or raise Refused."""
        verdict = self._catalogue.verdict(turn, entry, await self._ports.rules.list_())
        if verdict.decision is Decision.ALLOW:
            return
        denial = verdict.reason
        if verdict.decision is Decision.ASK:
            args = shown.args if isinstance(shown.args, dict) else {}
            denial = await self.approvals.ask(turn, entry, args, verdict.reason)
        if denial:
            raise Refused(Result(DENIED, f"denied: {denial}"))

    async def _invoke(self, turn: Turn, entry: ToolEntry, arguments: Mapping[str, object]) -> Result:
        turn.tainted = turn.tainted or entry.untrusted
        if builtin := self._catalogue.builtin(entry.name):
            answer = await builtin.run(turn.context, arguments)
            outside = isinstance(answer, FromOutside)
            turn.tainted = turn.tainted or outside
            return Result(OK, as_text(answer.content if isinstance(answer, FromOutside) else answer) or EMPTY, outside)
        if self._outputs.owns(entry.name):
            done, text = await self._outputs.run(turn, entry.name, arguments)
            return Result(OK if done else ERROR, text)
        timeout = entry.timeout or self._ports.settings.float(TOOL_TIMEOUT)
        with turn.lend(self._ports.tokens, entry.plugin) as token:
            params = {
                "tool": entry.name, "args": dict(arguments), "call": token, "timeout": timeout,
                "context": turn.context.as_params(),
            }  # fmt: skip
            answer = await self._ports.host.call(entry.plugin, TOOL_INVOKE, params, timeout=timeout)
        return _from_plugin(entry.name, answer)

    async def _after(self, turn: Turn, call: ToolCall, entry: ToolEntry, result: Result) -> Result:
        element = {
            "id": call.id, "name": call.name, "text": self._ports.redactor.redact(result.text),
            "is_error": result.status != OK,
        }  # fmt: skip
        staged = await self._stages.run(turn, "after_toolcall", {"tool_results": [element]}, owner=entry.plugin)
        if staged.closed:
            return Result(ERROR, f"[withheld: {staged.closed}, which must check every result, failed]")
        if staged.response is not None:
            turn.jump = staged.response
        mine = next((e for e in staged.elements("tool_results") if e["id"] == call.id), None)
        if mine is None:
            return replace(result, text="[a plugin took this result out]")
        return replace(result, text=str(mine.get("text", "")) or EMPTY)

    def _tell(self, turn: Turn, entry: ToolEntry | None, shown: LiveCall, ms: int) -> None:
        data = shown.view() | {"step": turn.step, "class": entry.tool_class if entry else "", "ms": ms}
        self._journal.post(turn, notices.TOOL_CALL, data)


def _from_plugin(name: str, answer: object) -> Result:
    """The plugin's answer as a result; success is what it says, never assumed (E13)."""
    if not isinstance(answer, Mapping):
        return Result(ERROR, f"error: {name} gave an answer that is no result.")
    text = as_text(answer.get("content"))
    if answer.get("is_error"):
        return Result(ERROR, text.strip() or f"error: {name} failed without a message")
    return Result(OK, text or EMPTY)
