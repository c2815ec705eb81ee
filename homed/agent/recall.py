"""What a turn sees of its scope: the selected events, and what it remembers beyond them, inside one deadline."""

from __future__ import annotations

import logging
from collections import Counter, OrderedDict
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import trio

from homed import events as notices
from homed.agent.asking import asked
from homed.agent.bands import Limits
from homed.agent.ports import AgentPorts, SettingsPort
from homed.agent.reading import WINDOW, Found, Wanted, choose, read
from homed.agent.scopes import Scopes, Use
from homed.agent.telling import Told, load_texts, tell
from homed.agent.turn import Turn
from homed.config.definitions import (
    ACTIVE_CHARS,
    ACTIVE_IMPORTANCE,
    ACTIVE_ITEMS,
    ACTIVE_WINDOW,
    INJECT_CAPSULES,
    INJECT_ENABLED,
    INJECT_FACTS,
    INJECT_MAX_CHARS,
    INJECT_MIN_SCORE,
    INJECT_SUBAGENTS,
    INJECT_SUMMARIES,
    MAX_CONTEXT_SIZE,
    PROTECTED_EVENTS,
    RECALL_DEADLINE,
)
from homed.errors import StorageError
from homed.memory import window
from homed.memory.budget import Budget
from homed.memory.injections import Injection, counts_of
from homed.memory.records import Event
from homed.memory.scope_window import counted
from homed.memory.temporary import is_temporary
from homed.retrieval.asking import Question

log = logging.getLogger(__name__)

LAST_SECONDS = 0.2
"""Of the deadline, kept for reading this conversation's newest events if nothing else came in time."""

FOR_VECTOR = 0.7
"""Of the time for all, what the vector of the question may take: what reads by words still needs its share."""

LEFT_OUT = 20
"""Events that were not shown and are named in the record, the most relevant of them."""


CONVERSATIONS = 256
"""Conversations of which it is known what they showed last: the others have long left every provider's cache."""


class Recall:
    """Selects for turns.  What was selected lies in ``turn.view``, and is noted for the ledger."""

    def __init__(self, ports: AgentPorts, scopes: Scopes) -> None:
        self._ports = ports
        self._scopes = scopes
        self._texts = load_texts()
        self._shown: OrderedDict[str, frozenset[str]] = OrderedDict()

    async def select(self, turn: Turn, budget: Budget, *, small: bool, spoken_for: int) -> None:
        """Choose what of the scope's window this turn shows, and what it is told besides.

        Takes no longer than ``core.memory.recall_deadline``, whatever hangs or fails: then what is there must do, this
        conversation's newest events if nothing else.  ``spoken_for``: tokens that the turn's own events take.
        """
        wanted, found = self._wanted(turn, budget, small=small, spoken_for=spoken_for), Found()
        began = trio.current_time()
        limit, told = max(0.01, self._ports.settings.float(RECALL_DEADLINE)), None
        most = max(limit - LAST_SECONDS, limit / 2)
        with trio.move_on_after(most):
            wanted = replace(wanted, query=await self._asked(turn, most * FOR_VECTOR))
            async with self._scopes.window(wanted.scope):
                try:
                    await self._ports.store.read(lambda tx: read(tx, self._ports.ranker, wanted, found))
                except StorageError as error:
                    log.warning("turn %s remembers less: %s", turn.id, error.message)
                if WINDOW in found.done:
                    told = self._take(turn, wanted, found)
        if told is None:  # out of time, in whatever part: what was read by then counts
            if WINDOW not in found.done:
                found.events = await self._newest(wanted, LAST_SECONDS)
            told = self._take(turn, wanted, found)
        self._note(turn, wanted, found, told, (trio.current_time() - began) * 1000)
        self._tell(turn, wanted, found, told)

    async def _asked(self, turn: Turn, limit: float) -> Question:
        """What the turn is about, with its vector if that comes within ``limit`` seconds; asked for once a turn."""
        if turn.view.question is None:
            turn.view.question = await asked(self._ports.ranker, turn.input.text, within=limit)
        return turn.view.question

    def _wanted(self, turn: Turn, budget: Budget, *, small: bool, spoken_for: int) -> Wanted:
        settings, given = self._ports.settings, turn.input
        return Wanted(
            scope=given.scope, thread=given.thread, turn=turn.id, query=Question(turn.input.text), budget=budget,
            most=settings.int(MAX_CONTEXT_SIZE), protected=settings.int(PROTECTED_EVENTS),
            gate=settings.float(INJECT_MIN_SCORE), now=self._ports.wall(), spoken_for=spoken_for, small=small,
            peer=given.peer, project=given.project, explicit=self._ports.explicit, apart=turn.apart,
            carried=self._carried(turn), unasked=settings.bool(INJECT_ENABLED), telling=self._telling(turn),
        )  # fmt: skip

    def _telling(self, turn: Turn) -> Limits | None:
        """How much of what is known the turn is told by itself; None for an agent that an agent made, if these are
        told nothing."""
        settings = self._ports.settings
        made = turn.frame is not None or is_temporary(turn.input.scope)
        return None if made and not settings.bool(INJECT_SUBAGENTS) else limits_of(settings)

    def _carried(self, turn: Turn) -> frozenset[str]:
        """What the conversation's last turn showed; nothing once this one must make room."""
        return frozenset() if turn.view.recoveries else self._shown.get(turn.input.thread, frozenset())

    def _remember(self, thread: str, shown: frozenset[str]) -> None:
        self._shown[thread] = shown
        self._shown.move_to_end(thread)
        if len(self._shown) > CONVERSATIONS:
            self._shown.popitem(last=False)

    async def _newest(self, wanted: Wanted, limit: float) -> list[Event]:
        """This conversation's newest events, without any ranking; none when even they do not come."""
        with trio.move_on_after(limit):
            try:
                found = await self._ports.store.read(
                    lambda tx: window.recent(
                        tx, scope=wanted.scope, thread=wanted.thread, limit=max(1, wanted.protected)
                    )
                )
                return [counted(event) for event in found if event.turn not in wanted.apart]
            except StorageError as error:
                log.warning("turn %s sees nothing of its conversation: %s", wanted.turn, error.message)
        return []

    def _take(self, turn: Turn, wanted: Wanted, found: Found) -> Told:
        """Put what was found into the turn's view; what it is told.  Sync, so that no sinking can come between."""
        selection = found.selection = found.selection or choose(wanted, found)
        view = turn.view
        view.window, view.places, view.names = list(selection.kept), dict(found.places), dict(found.names)
        view.scores = {event.id: selection.scores.get(event.id, 0.0) for event in selection.kept}
        view.cut = frozenset()
        self._remember(wanted.thread, frozenset(view.scores))
        told = tell(self._texts, wanted, found, peer=turn.input.peer)
        view.snapshot, view.earlier, view.told = told.snapshot, told.earlier, told.tokens
        view.noted, view.doubtful = (*told.hits, *told.again), told.outside
        view.budget = wanted.budget
        use = Use(wanted.thread, wanted.query, view.ids, wanted.budget.context)
        self._scopes.use(wanted.scope, turn.id, use)
        return told

    def _note(self, turn: Turn, wanted: Wanted, found: Found, told: Told, ms: float) -> None:
        """What it is told goes into the ledger of injections, with the commit that stores what comes of it."""
        if told.mode is None:
            return
        channels = Counter(
            name
            for fact in told.facts
            for name in ([name for name, value in fact.parts.items() if value > 0] or [fact.why])
        )
        given = turn.input
        turn.injections.append(
            Injection(
                turn.id, given.scope, given.thread, wanted.now, told.mode, len(told.snapshot), ms,
                (*wanted.query.late, *found.missing), found.known.below, told.plan.cut, dict(channels), told.lines,
            )
        )  # fmt: skip

    def _tell(self, turn: Turn, wanted: Wanted, found: Found, told: Told) -> None:
        """Note it for the ledger, and tell the watchers once a turn."""
        selection, limits, budget = found.selection or choose(wanted, found), found.limits, wanted.budget
        view, noted = turn.view, {event.id for event in turn.view.noted}
        kept: dict[str, list[str]] = {}
        for event in selection.kept:
            kept.setdefault(selection.why.get(event.id, "recent"), []).append(event.id)
        left = sorted(selection.left_out, key=lambda id_: -selection.scores.get(id_, 0.0))
        named = [event.id for event in selection.kept] + left[:LEFT_OUT]
        chose: dict[str, object] = {
            "window": budget.window, "fixed": budget.fixed, "context": budget.context, "memory": budget.memory,
            "spoken_for": wanted.spoken_for, "top": limits.events if limits else 0,
            "protected": limits.protected if limits else 0, "of": len(selection.kept) + len(left), "kept": kept,
            "left_out": left[:LEFT_OUT], "more": max(0, len(left) - LEFT_OUT),
            "scores": {id_: selection.scores[id_] for id_ in named if selection.scores.get(id_)},
        }  # fmt: skip
        turn.ledger.append(("select", chose))
        # what merely stands in view is no recall: a line over every answer would tell people nothing
        near = {id_ for id_, score in selection.scores.items() if score >= wanted.gate}
        others = [event.id for event in view.window if event.thread != wanted.thread and event.id in near]
        hits = [{"id": event.id, "score": score, "told": event.id in noted} for event, score in found.hits]
        data: dict[str, object] = {
            "input": turn.input.id, "kept": len(view.window), "shown": others,
            "cold": [event.id for event, _ in found.hits if event.id in noted],
            "facts": [fact.record.id for fact in told.facts], "chars": len(view.snapshot),
            "late": [*wanted.query.late, *found.missing], "mode": told.mode or "",
            "counts": counts_of([one.line for one in told.plan.placed]),
        }  # fmt: skip
        known = {
            "scores": {fact.record.id: fact.score for fact in (*found.known.facts, *found.known.active)},
            "below": found.known.below, "sunk": dict(found.known.sunk), "cut": told.plan.cut,
        }  # fmt: skip
        more = {"hits": hits, "known": known, "gate": wanted.gate, "below": found.below}
        turn.ledger.append(("recall", data | more))
        if not turn.view.recoveries:
            self._post(turn, data)

    def _post(self, turn: Turn, data: Mapping[str, Any]) -> None:
        given, bus = turn.input, self._ports.bus
        bus.post(notices.RECALL, thread=given.thread, turn=turn.id, scope=given.scope, data=data)
        memory = partial(bus.post, notices.MEMORY, thread=given.thread, turn=turn.id, scope=given.scope)
        facts = {"facts": data["facts"]} if data["facts"] else {}
        if data["shown"] or data["cold"] or facts:
            memory(data={"what": "recall", "events": [*data["shown"], *data["cold"]], **facts})
        if data["chars"]:
            memory(data={"what": "injection", "events": data["cold"], "chars": data["chars"], **facts})


def limits_of(settings: SettingsPort) -> Limits:
    """How much of what is known a turn is told by itself."""
    return Limits(
        chars=settings.int(INJECT_MAX_CHARS), summaries=settings.int(INJECT_SUMMARIES),
        facts=settings.int(INJECT_FACTS), capsules=settings.int(INJECT_CAPSULES), window=settings.bool(ACTIVE_WINDOW),
        window_items=settings.int(ACTIVE_ITEMS), window_chars=settings.int(ACTIVE_CHARS),
        importance=settings.int(ACTIVE_IMPORTANCE),
    )  # fmt: skip
