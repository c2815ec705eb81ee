"""What a plugin can do with its call token in the turn that lent it: have further tools called, and say what it read.

A call made so goes the way of a model's own (``Dispatch.within``), in the task of the call it is made in: it ends with
that one, and with the turn.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import trio

from homed.agent.catalogue import Catalogue
from homed.agent.dispatch import Dispatch, Result
from homed.agent.lanes import Lanes
from homed.agent.ports import CallContext
from homed.agent.turn import Link, Turn
from homed.clock import new_id
from homed.errors import Denied, HomedError, Stopped, Unavailable
from homed.host.registry import ToolEntry
from homed.identity.tokens import CallIdentity
from homed.providers.base import ToolCall
from homed.spend.records import Cost, Kind, Purpose, Tokens

WAITING = 16
"""Calls that one call may have running or waiting."""

BEYOND = 2 * WAITING
"""Calls past the limit of a turn after which none is taken in: they are refused, but each refusal is stored."""

END_LIMIT = 12.0
"""Seconds to wait, shielded, for a call to end whose caller has gone: it is cancelled and its result is stored."""


@dataclass(slots=True)
class _Job:
    """A call on its way: ``result`` or ``error`` once it is ``done``, neither if it was cut short."""

    done: trio.Event
    scope: trio.CancelScope
    result: Result | None = None
    error: Exception | None = None


class Calling:
    """Reaches the turns in flight by the tokens they lent."""

    def __init__(self, lanes: Lanes, dispatch: Dispatch, catalogue: Catalogue) -> None:
        self._lanes = lanes
        self._dispatch = dispatch
        self._catalogue = catalogue

    async def call(self, lent: CallIdentity, tool: str, args: Mapping[str, object]) -> Result:
        """Have a tool called within the call that lent the token; its result, whatever became of it.

        Raises Denied for the token of a stage or an output, and when the turn has had ``BEYOND`` more than it may,
        Unavailable when too many wait, Stopped when the turn or the outer call ended first. Cancelled: the call
        is cancelled, and over when this returns.
        """
        turn, link = self._link(lent)
        if turn.counters.calls >= self._dispatch.most(turn) + BEYOND:
            raise Denied(f"{link.tool} goes on calling past the limit of one message; nothing of it runs any more.")
        if link.waiting >= WAITING:
            raise Unavailable(
                f"{WAITING} calls wait in {link.tool} already.", hint="Wait for results before asking for more."
            )
        job = _Job(trio.Event(), trio.CancelScope())
        link.waiting += 1
        link.nursery.start_soon(self._run, turn, link, ToolCall(new_id("call"), tool, dict(args)), job)
        try:
            await job.done.wait()
        finally:
            job.scope.cancel()
            with trio.move_on_after(END_LIMIT, shield=True):
                await job.done.wait()
        if job.error is not None:
            raise job.error
        if job.result is None:
            raise Stopped(f"{tool} was stopped: the call it was made in is over.")
        return job.result

    async def _run(self, turn: Turn, link: Link, call: ToolCall, job: _Job) -> None:
        entry = self._catalogue.entries().get(call.name)
        beside = entry is not None and entry.parallel_safe
        try:
            with job.scope:
                async with link.inside.taken(beside=beside):
                    job.result = await self._dispatch.within(turn, link, call)
        except HomedError as error:  # such as a full disk: the turn will meet it too
            job.error = error
        finally:
            link.waiting -= 1
            job.done.set()

    async def offered(self, lent: CallIdentity) -> Sequence[ToolEntry]:
        """The tools that the turn's person may use, or be asked about."""
        turn, _ = self._link(lent)
        return await self._catalogue.offered(turn, lent=False)  # a plugin can not call those

    def context(self, lent: CallIdentity) -> CallContext:
        """On whose behalf it works, with what the turn shows the model.  Denied when the turn is over."""
        return self._turn(lent).context

    def within(self, lent: CallIdentity) -> tuple[str, str]:
        """The tool call that lent it: its tool, and its id.  Denied as ``call`` is."""
        _, link = self._link(lent)
        return link.tool, link.call

    def attaching(self, lent: CallIdentity) -> tuple[str, str]:
        """The turn, and the place in it of the tool call that lent it: for files of its result.  Denied as ever."""
        turn = self._turn(lent)
        if lent.within not in turn.links:
            raise Denied("Files go with the result of a tool call that runs; this token is not that of one.")
        return turn.id, lent.within

    def took_in(self, lent: CallIdentity, *, untrusted: bool, no_memory: bool = False) -> None:
        """Say that a plugin was given words of strangers, or private ones, within the turn: from here on it counts as
        the turn having them in view, and what the call gives back as theirs."""
        turn = self._turn(lent)
        if untrusted:
            turn.took_in()
        link = turn.links.get(lent.within)
        if link is not None:
            link.taint(untrusted=untrusted, no_memory=no_memory)

    def purpose(self, lent: CallIdentity, plugin: str) -> Purpose:
        """Whom a question of the plugin's to a model is for, within the turn: it counts against that turn's limits."""
        return replace(self._turn(lent).purpose, kind=Kind.PLUGIN, who=plugin)

    def spent(self, lent: CallIdentity, tokens: Tokens, cost: Cost) -> None:
        """What was used on behalf of the turn: it counts as its own."""
        self._turn(lent).spending.add(tokens, cost)

    def _link(self, lent: CallIdentity) -> tuple[Turn, Link]:
        turn = self._turn(lent)
        link = turn.links.get(lent.within)
        if link is None:
            raise Denied(
                "Tools can be called within a tool call only; this token is that of a stage or an output.",
                hint="Offer a tool that makes these calls.",
            )
        return turn, link

    def _turn(self, lent: CallIdentity) -> Turn:
        lane = self._lanes.get(lent.thread)
        turn = lane.current if lane else None
        if turn is None or turn.id != lent.turn:
            raise Denied("The turn of this call token is over.")
        return turn
