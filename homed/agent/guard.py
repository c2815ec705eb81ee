"""The overflow guard: before every model call, is what has gathered still in proportion to the model's window?

It measures the untrimmed timeline; what a source itself calls too long takes the same way (A17).  Cooling makes room in
this order: the scope's window is sunk, this turn selects anew, and of its own finished calls the least relevant leave
the view.  Nothing is deleted, and nothing leaves a view before it is stored.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import trio

from homed.agent.context import LEAST, Context, Frame
from homed.agent.ports import AgentPorts
from homed.agent.sinking import Sinking
from homed.agent.turn import Turn
from homed.agent.weight import Weight, finished, last_unit, own_tokens, weigh
from homed.config.definitions import MAX_CONTEXT_SIZE, PERSONA, RECALL_DEADLINE, RESULT_LIMIT
from homed.errors import HomedError, StorageError
from homed.memory.budget import Budget
from homed.memory.records import EventKind
from homed.memory.units import Unit
from homed.providers.base import ChatRequest, Provider
from homed.providers.fallback import RECOVERIES
from homed.store.rows import Tx

log = logging.getLogger(__name__)

OVERFULL = 1.25
"""Times the model's window that a timeline and what stands round it may weigh before the guard steps in."""


class Overfull(HomedError):
    """The turn cannot be made to fit."""

    code = "overfull"


@dataclass(frozen=True, slots=True)
class _Parts:
    """What of the turn's view was there before a cooling."""

    window: frozenset[str]
    dropped: frozenset[str]


class Guard:
    """Lets requests out that are in proportion."""

    def __init__(self, ports: AgentPorts, context: Context, sinking: Sinking) -> None:
        self._ports = ports
        self._context = context
        self._sinking = sinking

    async def request(self, turn: Turn, provider: Provider, note: str, *, last: bool) -> ChatRequest:
        """The next model call, after making room where that is needed.  Raises Overfull when no more can be made."""
        frame = await self._context.frame(turn, last=last)
        if frame.budget.target - frame.budget.fixed < LEAST:
            raise _no_room(provider, frame.budget)
        if _overfull(turn, frame):
            await self._cool(turn, frame, max(LEAST, frame.budget.context), "gathered", provider)
            if _overfull(turn, frame):
                raise self._error(provider, "nothing more could be left out")
        request = await self._context.request(turn, provider, frame, note)
        if not _asks(turn):
            raise self._error(provider, "what is to be answered alone is too much for it")
        return request

    async def context_full(self, turn: Turn, provider: Provider, *, last: bool) -> None:
        """The source said that the request was too long: make room by half of what is shown now.  Raises Overfull."""
        frame = await self._context.frame(turn, last=last)
        shown = min(weigh(turn).tokens, turn.view.room or frame.budget.available)
        await self._cool(turn, frame, max(LEAST, shown // 2), "refused", provider)

    async def _cool(self, turn: Turn, frame: Frame, room: int, why: str, provider: Provider) -> None:
        with turn.place.critical():  # half of it done would count, and be done again
            await self._make_room(turn, frame, room, why, provider)

    async def _make_room(self, turn: Turn, frame: Frame, room: int, why: str, provider: Provider) -> None:
        view, before = turn.view, weigh(turn)
        if view.recoveries >= RECOVERIES:
            raise self.too_often(provider)
        view.recoveries += 1
        was = _Parts(frozenset(event.id for event in view.window), view.dropped)
        narrow = replace(frame, budget=scaled(frame.budget, room))
        sunk: Sequence[str] = ()
        with trio.move_on_after(self._ports.settings.float(RECALL_DEADLINE)):  # an answer waits
            sunk = await self._sinking.run(turn, narrow.budget)
        view.room = room
        await self._drop(turn, room)
        await self._context.select(turn, narrow)
        after = weigh(turn)
        self._note(turn, why, before, after, sunk, was)
        if not after.less_than(before):
            raise self._error(provider, "nothing more could be left out")

    async def _drop(self, turn: Turn, room: int) -> None:
        """Take finished calls of this turn out of its view until the rest fits, the least relevant first."""
        own = [event for event in turn.events if event.id not in turn.view.dropped]
        if own_tokens(own, room) <= room:
            return
        units = finished(own)
        scores = await self._scores(turn, units)
        for unit in sorted(units, key=lambda u: (max(scores.get(e.seq, 0.0) for e in u.events), u.seq)):
            turn.view.dropped |= {event.id for event in unit.events}
            own = [event for event in own if not unit.holds({event.id})]
            if own_tokens(own, room) <= room:
                return

    async def _scores(self, turn: Turn, units: Sequence[Unit]) -> Mapping[int, float]:
        seqs = [event.seq for unit in units for event in unit.events]

        ranker = self._ports.ranker
        question = turn.view.question or ranker.question(turn.input.text)

        def read(tx: Tx) -> Mapping[int, float]:
            return ranker.score(tx, scope=turn.input.scope, query=question, seqs=seqs)

        with trio.move_on_after(self._ports.settings.float(RECALL_DEADLINE)):
            try:
                return await self._ports.store.read(read)
            except StorageError as error:
                log.info("turn %s: the oldest go first: %s", turn.id, error.message)
        return {}

    def _note(self, turn: Turn, why: str, before: Weight, after: Weight, sunk: Sequence[str], was: _Parts) -> None:
        view = turn.view
        out = was.window - {event.id for event in view.window}
        dropped = view.dropped - was.dropped
        view.left += len(out) + len(dropped)
        log.info("turn %s made room (%s): %d tokens to %d", turn.id, why, before.tokens, after.tokens)
        data: dict[str, object] = {
            "why": why, "recovery": view.recoveries, "room": view.room, "sunk": list(sunk), "left_out": sorted(out),
            "dropped": sorted(dropped), "before": {"events": before.events, "tokens": before.tokens},
            "after": {"events": after.events, "tokens": after.tokens},
        }  # fmt: skip
        turn.ledger.append(("guard", data))

    def too_often(self, provider: Provider) -> Overfull:
        """The error of a turn that made room as often as it may."""
        return self._error(provider, f"room was made {RECOVERIES} times already")

    def _error(self, provider: Provider, why: str) -> Overfull:
        source = provider.source
        return Overfull(
            f"This does not fit the window of the source {source.name}: {why}.",
            hint=f"Set context_window of {source.name} (now {source.context_window}) to what the model takes, lower"
            f" {RESULT_LIMIT} or {MAX_CONTEXT_SIZE}, or choose a model with a larger window. Nothing said is lost.",
        )


def _asks(turn: Turn) -> bool:
    """Whether the request shows what the turn is about: its message, and the last thing that was done."""
    asked = [event for event in turn.events if event.kind is EventKind.USER]
    return {event.id for event in (*asked[-1:], *last_unit(turn.events))} <= turn.view.sent


def _no_room(provider: Provider, budget: Budget) -> Overfull:
    source = provider.source
    return Overfull(
        f"Instructions and tools take {budget.fixed} of the {budget.target} tokens that a prompt for the source"
        f" {source.name} may have: there is no room for a conversation.",
        hint=f"Set context_window of {source.name} (now {source.context_window}) to what the model takes, stop plugins"
        f" whose tools are not needed, shorten {PERSONA}, or choose a model with a larger window.",
    )


def _overfull(turn: Turn, frame: Frame) -> bool:
    return frame.budget.fixed + weigh(turn).tokens > OVERFULL * frame.budget.window


def scaled(budget: Budget, room: int) -> Budget:
    """The same budget with only ``room`` tokens available, divided as before."""
    memory = room * budget.memory // max(1, budget.available)
    return replace(budget, available=room, memory=memory, context=max(1, room - memory))
