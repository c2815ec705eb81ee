"""The seven stages of a turn: calls the plugins' handlers and applies what they changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from itertools import groupby

import trio

from homed import events as notices
from homed.agent.fields import Reply, merge, visible
from homed.agent.journal import Journal
from homed.agent.ports import AgentPorts
from homed.agent.turn import Turn
from homed.config.definitions import STAGE_TIMEOUT
from homed.errors import HomedError, TimedOut
from homed.host.registry import StageEntry
from homed.host.states import Trust
from homed.wire.methods import STAGE_INVOKE

PROVIDES = ("stages",)
NEEDS = ("events", "identity", "segment")

CLOSED = "closed"
OWN_TOOLS = "own-tools"
NOT_RUNNING = "it is not running"
NO_ROOM = "there was no room to show it the conversation"
CHECKING_ANSWERS = ("post_action", "before_output")


@dataclass(frozen=True, slots=True)
class Staged:
    """What a stage left.  ``closed`` names the plugin whose failure closes the stage: its text must be withheld.

    ``why`` says in a clause how that one failed.  Nothing in it is the plugin's own: that may quote what it withheld.
    """

    fields: Mapping[str, object]
    response: str | None = None
    closed: str = ""
    why: str = ""

    @property
    def remedy(self) -> str:
        """What a person can do about ``closed``."""
        if self.why == NOT_RUNNING:
            return f"Start it again: homed plugin start {self.closed}"
        if self.why == NO_ROOM:
            return "Try again; a new conversation takes less room."
        return f"Its log says more: homed plugin logs {self.closed}"

    def text(self, name: str) -> str:
        """A text field; empty when it is not set."""
        value = self.fields.get(name)
        return value if isinstance(value, str) else ""

    def elements(self, name: str) -> list[Mapping[str, object]]:
        """A list field."""
        value = self.fields.get(name)
        return [e for e in value if isinstance(e, dict)] if isinstance(value, list) else []


class _Context:
    """What the handlers of one order group are shown.  In the segment it is written once, when the first one asks."""

    def __init__(self, ports: AgentPorts, fields: Mapping[str, object]) -> None:
        self._ports, self._fields = ports, fields
        self._limit = ports.settings.float(STAGE_TIMEOUT)
        self._held = AsyncExitStack()
        self._writing = trio.Lock()
        self._seq = 0

    async def __aenter__(self) -> _Context:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._held.aclose()

    def own_tools(self, entry: StageEntry) -> Mapping[str, object] | None:
        """What a handler that is there for its plugin's own tools is shown; None for any other."""
        if entry.scope != OWN_TOOLS:
            return None
        names = frozenset(n for n, tool in self._ports.host.registry.tools().items() if tool.plugin == entry.plugin)
        return visible(entry.stage, self._fields, external=entry.trust is not Trust.PACKAGED, own_tools=names)

    async def shown(self, entry: StageEntry, own_tools: Mapping[str, object] | None) -> Mapping[str, object]:
        """The part of the handler's params that says what it is shown."""
        if own_tools is not None:
            return {"fields": own_tools}
        external = entry.trust is not Trust.PACKAGED
        if external or not self._ports.host.segment.reads(entry.plugin):
            return {"fields": visible(entry.stage, self._fields, external=external, own_tools=None)}
        async with self._writing:
            if not self._seq:
                held = self._ports.host.segment.held(self._fields, timeout=self._limit)
                self._seq = await self._held.enter_async_context(held)
        return {"seq": self._seq}


class Stages:
    """Runs stages for turns."""

    def __init__(self, ports: AgentPorts, journal: Journal) -> None:
        self._ports = ports
        self._journal = journal
        self._seq = 0

    def checker(self, *stages: str) -> str:
        """The plugin without which one of these stages lets nothing pass; empty if there is none."""
        for stage in stages:
            for entry in self._ports.host.registry.stages(stage):
                if entry.on_failure == CLOSED:
                    return entry.plugin
        return ""

    def any(self, stage: str) -> bool:
        """Whether some plugin takes part in this stage, whatever the tool."""
        return bool(self._groups(stage, ""))

    async def run(
        self, turn: Turn, stage: str, fields: Mapping[str, object] | None = None, *, owner: str = ""
    ) -> Staged:
        """Run every handler of ``stage`` on the turn's fields with ``fields`` over them.

        ``owner`` is the plugin whose tool is called, for handlers of scope own-tools.  Order groups run one after
        another, the handlers of one concurrently; ``extra``, ``memory`` and ``no_memory`` stay for later stages.
        """
        now: dict[str, object] = {**turn.fields, **(fields or {}), "phase": stage}
        closed = why = ""
        for group in self._groups(stage, owner):
            replies: list[Reply] = []
            failed: dict[StageEntry, str] = {}
            async with _Context(self._ports, now) as context, trio.open_nursery() as nursery:
                for entry in group:
                    nursery.start_soon(self._invoke, turn, entry, context, replies, failed)
            now, errors = merge(stage, now, replies)
            for error in errors:
                self._note(turn, error)
            now["errors"] = list(self._errors(turn))
            shut = ((entry.plugin, how) for entry, how in failed.items() if entry.on_failure == CLOSED)
            closed, why = next(shut, ("", ""))
            response = now.get("response")
            if closed or isinstance(response, str):
                break
        for name in ("extra", "memory", "no_memory"):
            if name in now:
                turn.fields[name] = now[name]
        response = now.get("response")
        return Staged(now, response if isinstance(response, str) else None, closed, why)

    def _groups(self, stage: str, owner: str) -> list[list[StageEntry]]:
        entries = [
            entry
            for entry in self._ports.host.registry.stages(stage)
            if entry.scope != OWN_TOOLS or (owner and entry.plugin == owner)
        ]
        entries.sort(key=lambda entry: (entry.order, entry.plugin))
        return [list(group) for _, group in groupby(entries, key=lambda entry: entry.order)]

    async def _invoke(
        self,
        turn: Turn,
        entry: StageEntry,
        context: _Context,
        replies: list[Reply],
        failed: dict[StageEntry, str],
    ) -> None:
        limit = self._ports.settings.float(STAGE_TIMEOUT)
        self._seq += 1
        own_tools = context.own_tools(entry)
        asked = False
        try:
            if not entry.ready:
                with trio.move_on_after(limit):  # it may be starting, or back in a second
                    await self._ports.host.wait_ready(entry.plugin)
            with turn.lend(self._ports.tokens, entry.plugin) as token:
                about = {"stage": entry.stage, "seq": self._seq, "call": token}
                call = {**about, **await context.shown(entry, own_tools)}
                asked = True
                result = await self._ports.host.call(entry.plugin, STAGE_INVOKE, call, timeout=limit)
            replies.append(Reply(entry.plugin, _changes(result), own_tools))
        except HomedError as error:
            failed[entry] = self._how(entry, error, limit) if asked or not self._up(entry) else NO_ROOM
            self._note(turn, {"stage": entry.stage, "plugin": entry.plugin, "error": error.message})

    def _up(self, entry: StageEntry) -> bool:
        return any(e.ready for e in self._ports.host.registry.stages(entry.stage) if e.plugin == entry.plugin)

    def _how(self, entry: StageEntry, error: HomedError, limit: float) -> str:
        if not self._up(entry):
            return NOT_RUNNING
        return f"it took longer than {limit:g} s" if isinstance(error, TimedOut) else "it failed"

    def _note(self, turn: Turn, error: Mapping[str, str]) -> None:
        turn.fields["errors"] = [*self._errors(turn), dict(error)]
        self._journal.post(turn, notices.STAGE, dict(error))

    def _errors(self, turn: Turn) -> Sequence[object]:
        errors = turn.fields.get("errors")
        return errors if isinstance(errors, list) else []


def _changes(result: object) -> Mapping[str, object]:
    changes = result.get("changes") if isinstance(result, Mapping) else None
    if changes is None:
        return {}
    if not isinstance(changes, Mapping):
        raise HomedError("The handler's answer is not an object of changed fields.")
    return {str(name): value for name, value in changes.items()}
