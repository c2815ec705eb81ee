"""Sinking: what is least relevant leaves a window that has become too full, for the cold layer of its scope.

Never on the way to an answer, but for the overflow guard.  One at a time in a scope; what moves does so under the lock
that selection takes too, so that what a turn in flight shows stays where it is.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import trio

from homed.agent.asking import asked
from homed.agent.ports import AgentPorts
from homed.agent.reading import LIVE, LIVE_THREADS
from homed.agent.scopes import Scopes, Use, ids
from homed.agent.turn import Turn
from homed.config.definitions import MAX_CONTEXT_SIZE, PROTECTED_EVENTS, RECALL_DEADLINE, RECALL_PERCENT
from homed.errors import HomedError, StorageError
from homed.events import MEMORY
from homed.memory import cold, inputs, ledger, scope_window
from homed.memory.budget import UNKNOWN_WINDOW, Budget, protected, top_k
from homed.memory.budget import budget as budget_of
from homed.memory.choose import FULL
from homed.memory.records import Event, Input
from homed.memory.window import Limits, SinkPlan, sink_plan, whole
from homed.retrieval.asking import Question
from homed.retrieval.rank import Ranker
from homed.store.rows import Tx, dumps

log = logging.getLogger(__name__)

SLICE = 200
"""Events that one transaction sinks: some 30 ms of the writer."""

NAMED = 200
"""Events that the notice of a sinking names; of the others it says how many."""

MOST = 2_000
"""Newest events of a window that one sinking looks at: after an upgrade there may be any number, and each turn sinks
some of them."""


@dataclass(frozen=True, slots=True)
class _Level:
    """How full a window may be: events after sinking, and tokens before it."""

    scope: str
    most: int
    protected: int
    tokens: int


@dataclass(frozen=True, slots=True)
class _Talk:
    """The conversations that are ``active``, what they and the turns in flight ask, and the events these show."""

    active: tuple[str, ...]
    questions: tuple[Question, ...]
    in_use: frozenset[str]


@dataclass(frozen=True, slots=True)
class _For:
    """Whose window: after ``turn``, or without one ('').  What sinks is recorded with ``input``, if there is one."""

    scope: str
    input: Input | None
    turn: str = ""


@dataclass(frozen=True, slots=True)
class _Part:
    """What one transaction sinks, after those ``before`` it; with the last one the ``whole`` is recorded."""

    events: Sequence[str]
    moved: Sequence[str]
    whole: SinkPlan | None
    before: tuple[int, int]


class Sinking:
    """Sinks for scopes."""

    def __init__(self, ports: AgentPorts, scopes: Scopes) -> None:
        self._ports = ports
        self._scopes = scopes
        self._busy: set[str] = set()

    async def run(self, turn: Turn, budget: Budget) -> Sequence[str]:
        """Bring the window of the turn's scope below its high-water mark; the ids that left it, mostly none.

        A store that fails is logged and no more: the next turn comes by here again.  Cancelled: some of it
        may be done, each part whole.
        """
        scope = turn.input.scope
        try:
            return await self._alone(_For(scope, turn.input, turn.id), budget)
        except StorageError as error:
            log.warning("the window of %s was not sunk: %s", scope, error.message)
            return ()

    async def crowded(self) -> Sequence[str]:
        """The scopes whose window is past its high-water mark though nobody may be talking in them."""
        level = self._level("", (), self._unhurried())
        return await self._ports.store.read(
            lambda tx: scope_window.crowded(tx, events=FULL * level.most, tokens=level.tokens)
        )

    async def tidy(self, scope: str) -> Sequence[str]:
        """``run`` without a turn, for whatever kept turns from it (an upgrade, a smaller window, a failed write).

        It is recorded with the last turn of the scope.  Raises StorageError.  Cancelled as ``run``.
        """
        last = await self._ports.store.read(lambda tx: inputs.last_ended(tx, scope))
        return await self._alone(_For(scope, last), self._unhurried())

    def _unhurried(self) -> Budget:
        """The budget of the model in use, if nothing but the window were sent."""
        try:
            size = self._ports.sources.provider().source.context_window
        except HomedError:
            size = UNKNOWN_WINDOW
        return budget_of(size, 0, self._ports.settings.int(RECALL_PERCENT))

    async def _alone(self, whom: _For, budget: Budget) -> Sequence[str]:
        if whom.scope in self._busy:  # somebody is at it, and what is left the next turn sees
            return ()
        self._busy.add(whom.scope)
        try:
            return await self._sink(whom, budget)
        finally:
            self._busy.discard(whom.scope)

    async def _sink(self, whom: _For, budget: Budget) -> Sequence[str]:
        scope = whom.scope
        uses = self._scopes.in_use(scope, but=whom.turn)
        level = self._level(scope, uses, budget)
        count, tokens = await self._ports.store.read(lambda tx: scope_window.totals(tx, scope))
        if count <= FULL * level.most and tokens <= level.tokens:
            return ()
        talk = await self._talk(level, uses)
        plan = await self._ports.store.read(lambda tx: _plan(tx, self._ports.ranker, level, talk))
        # after an upgrade there are many: others may select between two parts, and what came into use then stays
        moved: list[str] = []
        for at in range(0, len(plan.ids), SLICE):
            last = plan if at + SLICE >= len(plan.ids) else None
            part = _Part(plan.ids[at : at + SLICE], tuple(moved), last, (count, tokens))
            async with self._scopes.window(scope):
                held = ids(self._scopes.in_use(scope, but=whom.turn))
                moved += await self._ports.store.write(partial(self._move, whom=whom, part=part, held=held))
        if moved:
            said = {"what": "prune", "events": moved[:NAMED], "more": max(0, len(moved) - NAMED)}
            thread = whom.input.thread if whom.input and whom.turn else ""
            self._ports.bus.post(MEMORY, thread=thread, turn=whom.turn, scope=scope, data=said)
            log.info("%d events of %s went to cold memory", len(moved), scope)
        return moved

    async def _talk(self, level: _Level, uses: Sequence[Use]) -> _Talk:
        """What is being talked about; questions have their vectors, so far as these come within a recall's time."""
        since = self._ports.wall() - LIVE
        active, texts = await self._ports.store.read(lambda tx: _asked(tx, level.scope, since))
        known = {use.query.text: use.query for use in uses}
        limit = self._ports.settings.float(RECALL_DEADLINE)
        end = trio.current_time() + limit
        slow = False
        for text in texts:
            question = known.get(text) or self._scopes.asked(text)
            if question is None:  # each has the whole time: a time-out counts against the embedder
                question = Question(text) if slow else await asked(self._ports.ranker, text, within=limit)
                slow = bool(question.late) or trio.current_time() > end
            known[text] = question
        return _Talk(tuple(active), tuple(known.values()), ids(uses))

    def _level(self, scope: str, uses: Sequence[Use], budget: Budget) -> _Level:
        """The smallest window among the turns that are in flight decides."""
        settings = self._ports.settings
        tokens = min([budget.context, *(use.tokens for use in uses)])
        return _Level(scope, max(1, settings.int(MAX_CONTEXT_SIZE)), settings.int(PROTECTED_EVENTS), tokens)

    def _move(self, tx: Tx, whom: _For, part: _Part, held: Collection[str]) -> list[str]:
        """Sink these, but for the turns of what came into use since they were chosen; the ids that moved.

        The last part is recorded.
        """
        self._ports.failpoints.reach("memory.before_sink")
        rows = tx.all(
            "SELECT id FROM events WHERE id IN (SELECT value FROM json_each(?)) AND turn NOT IN"
            " (SELECT turn FROM events WHERE id IN (SELECT value FROM json_each(?)))",
            (dumps(list(part.events)), dumps(sorted(held))),
        )
        moved = cold.sink(tx, whom.scope, [row[0] for row in rows], at=self._ports.wall())
        if part.whole is not None and whom.input is not None:
            self._record(tx, whom.input, part.whole, [*part.moved, *moved], part.before)
        return moved

    def _record(self, tx: Tx, input_: Input, plan: SinkPlan, moved: Sequence[str], before: tuple[int, int]) -> None:
        best = sorted(((id_, plan.scores.get(id_, 0.0)) for id_ in moved), key=lambda one: -one[1])
        count, tokens = scope_window.totals(tx, input_.scope)
        data: dict[str, object] = {
            "events": list(moved), "scores": {id_: score for id_, score in best if score},
            "before": {"events": before[0], "tokens": before[1]}, "after": {"events": count, "tokens": tokens},
        }  # fmt: skip
        ledger.record(tx, input_, "sink", data, at=self._ports.wall())


def _plan(tx: Tx, ranker: Ranker, level: _Level, talk: _Talk) -> SinkPlan:
    events = scope_window.outlines(tx, level.scope, limit=MOST)
    units = whole(events, lambda event: event.tokens)
    average = sum(event.tokens for event in events) / max(1, len(events))
    top = top_k(level.tokens, average, level.most)
    limits = Limits(
        events=level.most, protected=protected(level.protected, level.tokens, average, top), tokens=level.tokens
    )
    scores = _scores(tx, ranker, level.scope, events, talk.questions)
    return sink_plan(
        units,
        scores,
        in_use=talk.in_use.union(scope_window.running_events(tx, level.scope)),
        active=talk.active,
        limits=limits,
    )


def _asked(tx: Tx, scope: str, since: float) -> tuple[list[str], list[str]]:
    """The conversations that are going on, and what they were last about; with none, what was last asked at all."""
    active = scope_window.active_threads(tx, scope, since=since)[:LIVE_THREADS]
    found = [
        str(text)
        for thread in active
        if (text := tx.value("SELECT text FROM inputs WHERE thread = ? AND no_memory = 0 ORDER BY seq DESC", (thread,)))
    ]
    return active, list(dict.fromkeys(found or scope_window.last_inputs(tx, scope)))


def _scores(
    tx: Tx, ranker: Ranker, scope: str, events: Sequence[Event], questions: Sequence[Question]
) -> Mapping[int, float]:
    """The best of each event over these questions: what one conversation needs, another must not throw out."""
    best: dict[int, float] = {}
    seqs = [event.seq for event in events]
    for question in questions:
        for seq, score in ranker.score(tx, scope=scope, query=question, seqs=seqs).items():
            best[seq] = max(best.get(seq, 0.0), score)
    return best
