"""One round of tool calls: permission, arguments, stages, the plugin's own process, the stored result.

Every call ends with exactly one stored result, in whatever way it ends; one that fails, fails alone.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import trio

from homed import events as notices
from homed.agent import repeats
from homed.agent.approvals import Approvals
from homed.agent.arguments import check
from homed.agent.borrowed import ANY, Borrowed
from homed.agent.catalogue import Catalogue
from homed.agent.fitting import fitted_text
from homed.agent.handed import NO_FILES, Handed, handed, left, listed, taken
from homed.agent.journal import COMMIT_LIMIT, cut
from homed.agent.outputs import Outputs
from homed.agent.pausing import Pausing
from homed.agent.ports import AgentPorts, FromOutside
from homed.agent.results import EMPTY, as_text, error_text, refusal, shown_arguments
from homed.agent.stages import Stages
from homed.agent.turn import Link, LiveCall, Turn
from homed.agent.views import EVENT_BYTES, blocks_view
from homed.config.definitions import GUEST_TOOL_CALLS, MAX_TOOL_CALLS, REPEAT_CALLS, TOOL_TIMEOUT
from homed.errors import HomedError
from homed.host.registry import ToolEntry
from homed.identity.permissions import Decision
from homed.identity.roles import Role
from homed.memory.blocks import Block
from homed.memory.records import EventKind, NewEvent
from homed.providers.base import ToolCall
from homed.wire.methods import TOOL_INVOKE

PROVIDES = ("tools",)
NEEDS = ("identity", "stages")

log = logging.getLogger(__name__)

DEPTH = 4
"""Tool calls one within the other, the model's own included."""

OK, ERROR, DENIED, INTERRUPTED = "ok", "error", "denied", "interrupted"

CUT_SHORT = "interrupted, no result: the call it was made within ended first; it may or may not have had an effect"


@dataclass(frozen=True, slots=True)
class Result:
    """How one call ended.  ``untrusted``: its text is not ours or the person's; ``no_memory``: nor to be remembered.

    ``repeated``: it was not run, for it was the same again.  ``files``: what the tool gives back beside the text.
    """

    status: str
    text: str
    untrusted: bool = False
    no_memory: bool = False
    repeated: bool = False
    files: Handed = NO_FILES


@dataclass(frozen=True, slots=True)
class _Case:
    """One call on its way.  ``above``: the call within which a plugin makes it; None for the model's own.

    ``alone``: nothing else of the turn runs while it waits for a person.
    """

    call: ToolCall
    entry: ToolEntry | None
    shown: LiveCall
    began: float
    above: Link | None = None
    alone: bool = False


class Refused(Exception):
    """Ends one call before it runs, or where it failed."""

    def __init__(self, result: Result) -> None:
        super().__init__(result.text)
        self.result = result


class Dispatch:
    """Runs the calls of turns."""

    def __init__(
        self, ports: AgentPorts, catalogue: Catalogue, stages: Stages, outputs: Outputs, pausing: Pausing
    ) -> None:
        self._ports = ports
        self._catalogue = catalogue
        self._pausing = pausing
        self._stages = stages
        self._outputs = outputs
        self._journal = pausing.journal
        self.approvals = Approvals(ports)

    async def round(self, turn: Turn, calls: Sequence[ToolCall]) -> bool:
        """Run one answer's calls; True unless every one of them was denied.

        Concurrent only if all are parallel-safe; results are stored as they come and shown to the model in call order.
        Cancelled: finished calls are stored, the others are left open for the turn's end to close.
        """
        entries, borrowed = self._catalogue.entries(turn), turn.borrowed
        cases = [self._case(call, entries.get(call.name)) for call in calls]
        turn.live.calls = [case.shown for case in cases]
        turn.begun.clear()  # ids may come again in another step
        ended: list[Result] = []
        together = all(case.entry and case.entry.parallel_safe for case in cases)
        beside = cases if together else []
        if borrowed is not None and borrowed.parallel:  # those run elsewhere, whatever runs here meanwhile
            beside = [case for case in cases if together or borrowed.owns(case.call.name)]
            borrowed.expect(case.call.id for case in cases if borrowed.owns(case.call.name))
        if len(cases) > 1 and beside:
            async with trio.open_nursery() as nursery:
                for case in beside:
                    nursery.start_soon(self._one, turn, case, ended)
                for case in cases:
                    if case not in beside:
                        await self._one(turn, case, ended)
        else:
            for case in cases:
                await self._one(turn, replace(case, alone=True), ended)
        return any(result.status != DENIED for result in ended)

    async def within(self, turn: Turn, above: Link, call: ToolCall) -> Result:
        """Run a call that the plugin of ``above`` makes: the way of a model's own, with that turn's rights and limits.

        Its result is stored too, also when it is cut short; then Cancelled goes on.
        """
        case = self._case(call, self._catalogue.entries().get(call.name), above)
        turn.live.calls.append(case.shown)
        ended: list[Result] = []
        try:
            await self._one(turn, case, ended)
        except BaseException as error:  # Cancelled, alone or in a group
            if not ended and not isinstance(error, Exception):
                with trio.move_on_after(COMMIT_LIMIT, shield=True):
                    await self._store(turn, case, Result(INTERRUPTED, cut(turn, call.id, CUT_SHORT)))
            raise
        return ended[0]

    def _case(self, call: ToolCall, entry: ToolEntry | None, above: Link | None = None) -> _Case:
        args = self._ports.redactor.redact_json(shown_arguments(call.arguments, call.raw))
        plugin = entry.plugin if entry else ""
        shown = LiveCall(call.id, call.name, plugin, args, within=above.call if above else "")
        return _Case(call, entry, shown, trio.current_time(), above)

    async def _one(self, turn: Turn, case: _Case, ended: list[Result]) -> None:
        name = case.call.name
        self._tell(turn, case, 0)
        try:
            result = await self._result(turn, case)
        except Refused as refused:
            result = refused.result
        except HomedError as error:
            result = Result(ERROR, error_text(name, error))
        except Exception as error:
            log.exception("tool %s failed", name)
            result = Result(ERROR, error_text(name, error))
        if turn.borrowed is not None:
            turn.borrowed.settled(case.call.id)
        self._journal.reach("turn.tool_done")
        ended.append(await self._store(turn, case, result))

    async def _store(self, turn: Turn, case: _Case, result: Result) -> Result:
        """Store a result, tell the watchers, and return it as it is stored."""
        entry, shown, above = case.entry, case.shown, case.above
        took = round((trio.current_time() - case.began) * 1000)
        files, said = await taken(self._ports.store, turn, result.files) if result.files else (result.files, "")
        stored = replace(
            result,
            text=self._ports.redactor.redact("\n".join(filter(None, (result.text, said)))) or EMPTY,
            untrusted=result.untrusted or bool(entry and entry.untrusted),
            no_memory=result.no_memory or bool(entry and entry.no_memory),
            files=files,
        )
        data = {
            "call_id": case.call.id, "name": case.call.name, "status": stored.status, "args": shown.args, "ms": took,
            "untrusted": stored.untrusted, **({"within": above.call, "by": above.plugin} if above else {}),
            **({repeats.REPEATED: True} if result.repeated else {}), **({"files": len(files.ids)} if files else {}),
        }  # fmt: skip
        if above:
            above.taint(untrusted=stored.untrusted, no_memory=stored.no_memory)
        said_before = stored.status == DENIED and self._again_denied(turn)

        def tell(kept: Sequence[Block]) -> None:
            shown.files = blocks_view(kept)
            shown.status = stored.status
            shown.result = "" if said_before else fitted_text(stored.text, EVENT_BYTES)
            self._tell(turn, case, took)

        new = NewEvent(EventKind.TOOL, stored.text, data, no_memory=stored.no_memory)
        await self._journal.add_result(turn, new, files, tell)
        self._journal.reach("turn.result_stored")
        return stored

    def _again_denied(self, turn: Turn) -> bool:
        """Count a denial; True if a guest has been told why already: the further ones just end, without a word."""
        turn.counters.denied += 1
        return turn.who.role is Role.GUEST and turn.counters.denied > 1

    async def _result(self, turn: Turn, case: _Case) -> Result:
        call, entry = case.call, case.entry
        self._count(turn)
        if case.above is None:
            self._refuse_again(turn, call)
        if entry is None:
            known = ", ".join(e.name for e in await self._catalogue.offered(turn)) or "none"
            return Result(ERROR, refusal("unknown_tool", field=call.name, hint=f"Tools there are: {known}."))
        if case.above:
            self._bound(entry, case.above)
        unseen = case.above is None and entry.name not in turn.view.tools
        checked = check(self._schema(turn, entry), call.arguments, call.raw, unseen=unseen)
        if checked.refusal:
            return Result(ERROR, checked.refusal)
        staged = await self._stages.run(
            turn,
            "before_toolcall",
            {"tool_calls": [{"id": call.id, "name": call.name, "arguments": dict(checked.arguments)}]},
            owner=entry.plugin,
        )
        if staged.closed:
            return Result(DENIED, f"denied: {staged.closed}, which must check every call, could not ({staged.why}).")
        if staged.response is not None:
            return Result(DENIED, staged.response or "denied by a plugin")
        arguments = self._rewritten(self._schema(turn, entry), call, staged.elements("tool_calls"))
        case.shown.args = self._ports.redactor.redact_json(dict(arguments))
        await self._permit(turn, self._catalogue.as_called(entry, arguments), case)
        result = await self._invoke(turn, case, entry, arguments)
        return await self._after(turn, call, entry, result)

    def _bound(self, entry: ToolEntry, above: Link) -> None:
        """Calls within calls end: not too deep, and into no plugin that waits for one of its own already."""
        if len(above.chain) >= DEPTH:
            raise Refused(Result(DENIED, f"denied: {DEPTH} tool calls one within the other are the limit."))
        in_plugin = not self._catalogue.builtin(entry.name) and not self._outputs.owns(entry.name)
        if in_plugin and any(link.plugin == entry.plugin for link in above.chain):
            why = f"denied: {entry.name} is a tool of {entry.plugin}, which this call came through already."
            raise Refused(Result(DENIED, why))

    def most(self, turn: Turn) -> int:
        """Calls that one message may lead to."""
        settings = self._ports.settings
        return settings.int(GUEST_TOOL_CALLS) if turn.who.role is Role.GUEST else settings.int(MAX_TOOL_CALLS)

    def _count(self, turn: Turn) -> None:
        turn.counters.calls += 1
        limit = self.most(turn)
        if turn.counters.calls > limit:
            raise Refused(Result(DENIED, f"denied: the limit of {limit} tool calls for one message is reached."))

    def _refuse_again(self, turn: Turn, call: ToolCall) -> None:
        """The same call again and again gives nothing new: it is refused, and after a few the turn ends (D7)."""
        args = self._ports.redactor.redact_json(call.arguments)
        raw = self._ports.redactor.redact(call.raw) if call.arguments is None else ""
        key = repeats.key_of(call.name, args, raw)
        if count := repeats.again(key, repeats.made(turn.events), self._ports.settings.int(REPEAT_CALLS)):
            turn.counters.repeated += 1
            raise Refused(Result(ERROR, repeats.hint(call.name, count), repeated=True))

    def _rewritten(
        self, schema: Mapping[str, object], call: ToolCall, left: Sequence[Mapping[str, object]]
    ) -> Mapping[str, object]:
        """The arguments as the handlers left them, checked again; a call they took out is denied."""
        mine = next((element for element in left if element["id"] == call.id), None)
        if mine is None or mine.get("name") != call.name:
            raise Refused(Result(DENIED, "denied: a plugin took this call out."))
        arguments = mine.get("arguments")
        checked = check(schema, arguments if isinstance(arguments, dict) else None, str(arguments))
        if checked.refusal:
            raise Refused(Result(ERROR, checked.refusal))
        return checked.arguments

    async def _permit(self, turn: Turn, entry: ToolEntry, case: _Case) -> None:
        """Let the call pass, ask a person, or raise Refused."""
        while True:
            rules = await self._ports.rules.list_()
            verdict = self._catalogue.verdict(turn, entry, rules, within=case.above is not None)
            if verdict.decision is Decision.ALLOW:
                return
            asks = verdict.decision is Decision.ASK
            denial = await self._asked(turn, entry, case, verdict.reason) if asks else verdict.reason
            if denial:
                raise Refused(Result(DENIED, f"denied: {denial}"))
            if denial == "":
                return

    async def _asked(self, turn: Turn, entry: ToolEntry, case: _Case, reason: str) -> str | None:
        """Ask a person: why not, or "" for a yes.  None: something more urgent came first, and the question is open."""
        args = case.shown.args if isinstance(case.shown.args, dict) else {}
        if case.above:
            reason = f"{reason} {case.above.plugin} asks for it, in {case.above.tool}."
        if not case.alone:
            return await self.approvals.ask(turn, entry, args, reason)
        with turn.place.asking():
            return await self.approvals.ask(turn, entry, args, reason)
        await self._pausing.aside(turn)
        return None

    async def _invoke(self, turn: Turn, case: _Case, entry: ToolEntry, arguments: Mapping[str, object]) -> Result:
        await trio.lowlevel.checkpoint_if_cancelled()  # a stop that came with a person's yes counts
        turn.begun.add(case.call.id)
        if entry.untrusted:
            turn.took_in(entry.name)
        if turn.borrowed is not None and turn.borrowed.owns(entry.name):
            return await self._handed_over(turn, turn.borrowed, case, arguments)
        if builtin := self._catalogue.builtin(entry.name):
            answer = await self._catalogue.run(turn, builtin, arguments)
            outside = isinstance(answer, FromOutside)
            if outside:
                turn.took_in(entry.name)
            return Result(OK, as_text(answer.content if isinstance(answer, FromOutside) else answer) or EMPTY, outside)
        if self._outputs.owns(entry.name):
            done, text = await self._outputs.run(turn, entry.name, arguments)
            return Result(OK if done else ERROR, text)
        return await self._in_plugin(turn, case, entry, arguments)

    def _schema(self, turn: Turn, entry: ToolEntry) -> Mapping[str, object]:
        return ANY if turn.borrowed is not None and turn.borrowed.owns(entry.name) else entry.parameters

    async def _handed_over(
        self, turn: Turn, borrowed: Borrowed, case: _Case, arguments: Mapping[str, object]
    ) -> Result:
        """Have the program that lent the function call it; if nothing comes back, it is gone, and so is who asked."""
        clean = self._ports.redactor.redact_json(dict(arguments))
        text = await borrowed.call(case.call.id, case.call.name, clean if isinstance(clean, dict) else {})
        if text is None:
            turn.stop()
            await trio.lowlevel.checkpoint()
        return Result(OK, text or EMPTY)

    async def _in_plugin(self, turn: Turn, case: _Case, entry: ToolEntry, arguments: Mapping[str, object]) -> Result:
        """Call the plugin; what it has called meanwhile ends with its own call, however that ends."""
        timeout, failed = entry.timeout or self._ports.settings.float(TOOL_TIMEOUT), ""
        params = {
            "tool": entry.name, "args": dict(arguments), "timeout": timeout, "context": turn.context.as_params(),
        }  # fmt: skip
        answer, files = None, NO_FILES
        async with trio.open_nursery() as nursery:
            link = Link(case.call.id, entry.name, entry.plugin, nursery, case.above)
            if entry.parallel_safe:  # it has others beside it, and what it calls must not meet what they call
                link.inside = case.above.inside.below if case.above else turn.inside
            with turn.linked(link) as within, turn.lend(self._ports.tokens, entry.plugin, within) as token:
                try:
                    answer = await self._ports.host.call(
                        entry.plugin, TOOL_INVOKE, {**params, "call": token}, timeout=timeout
                    )
                    files = handed(answer, turn, within)
                except HomedError as error:  # not through the nursery, which would wrap it
                    failed = error_text(entry.name, error)
                except Exception as error:
                    log.exception("tool %s failed", entry.name)
                    failed = error_text(entry.name, error)
            nursery.cancel_scope.cancel()
        if failed:
            raise Refused(Result(ERROR, failed, link.untrusted, link.no_memory))
        result = _from_plugin(entry.name, answer)
        return replace(result, untrusted=link.untrusted, no_memory=link.no_memory, files=files)

    async def _after(self, turn: Turn, call: ToolCall, entry: ToolEntry, result: Result) -> Result:
        element = {
            "id": call.id, "name": call.name, "text": self._ports.redactor.redact(result.text),
            "is_error": result.status != OK,
            **(await listed(self._ports.store, self._ports.redactor, result.files) if result.files else {}),
        }  # fmt: skip
        staged = await self._stages.run(turn, "after_toolcall", {"tool_results": [element]}, owner=entry.plugin)
        if staged.closed:
            who = f"{staged.closed}, which must check every result, could not ({staged.why})"
            return Result(ERROR, f"[withheld: {who}]")
        if staged.response is not None:
            turn.jump = staged.response
        mine = next((e for e in staged.elements("tool_results") if e["id"] == call.id), None)
        if mine is None:
            return replace(result, text="[a plugin took this result out]", files=NO_FILES)
        return replace(result, text=str(mine.get("text", "")) or EMPTY, files=left(result.files, element, mine))

    def _tell(self, turn: Turn, case: _Case, ms: int) -> None:
        tool_class = case.entry.tool_class if case.entry else ""
        data = case.shown.view() | {"step": turn.step, "class": tool_class, "ms": ms}
        self._journal.post(turn, notices.TOOL_CALL, data)


def _from_plugin(name: str, answer: object) -> Result:
    """The plugin's answer as a result; success is what it says, never assumed (E13)."""
    if not isinstance(answer, Mapping):
        return Result(ERROR, f"error: {name} gave an answer that is no result.")
    text = as_text(answer.get("content"))
    if answer.get("is_error"):
        return Result(ERROR, text.strip() or f"error: {name} failed without a message")
    return Result(OK, text or EMPTY)
