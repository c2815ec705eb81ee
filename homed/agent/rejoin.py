"""A turn that stood still goes on: what was said meanwhile comes after what it saw before, and its own after that."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from homed.agent.ports import AgentPorts
from homed.agent.scopes import Scopes, Use
from homed.agent.turn import Turn
from homed.errors import StorageError
from homed.memory import events, speakers
from homed.memory.records import Event, EventKind, is_inner
from homed.memory.scope_window import counted
from homed.retrieval.asking import Question
from homed.store.rows import Tx

log = logging.getLogger(__name__)

RELEVANT = 1.0
"""The relevance of what was said meanwhile: nothing that was said before goes first for want of room."""


class Rejoin:
    """Brings views up to date; holds nothing of any turn."""

    def __init__(self, ports: AgentPorts, scopes: Scopes) -> None:
        self._ports = ports
        self._scopes = scopes

    async def add(self, turn: Turn, met: Sequence[str]) -> None:
        """Put the turns that ended meanwhile at the end of what this one shows of its conversation; and know what those
        are called who speak there, or were put into this one.

        What is not to be remembered stays out, and so does what sank already: that is found by looking for it.  A store
        that fails is logged, and the turn goes on without.
        """
        view = turn.view
        known = {event.id for event in view.window}

        def read(tx: Tx) -> tuple[list[Event], dict[str, str]]:
            said = [event for id_ in dict.fromkeys(met) for event in events.of_turn(tx, id_)]
            peers = [*(event.peer for event in said), *(joined.peer for joined in turn.joined)]
            return said, speakers.names(tx, turn.input.scope, peers)

        try:
            found, names = await self._ports.store.read(read)
        except StorageError as error:
            log.warning("turn %s goes on without what was said meanwhile: %s", turn.id, error.message)
            return
        fresh = [counted(event) for event in found if event.id not in known and _shown(event)]
        view.names = {**view.names, **names}
        view.window = [*view.window, *fresh]
        view.scores = {**view.scores, **{event.id: RELEVANT for event in fresh}}
        if view.budget is not None:
            question = view.question or Question(turn.input.text)
            use = Use(turn.input.thread, question, view.ids, view.budget.context)
            self._scopes.use(turn.input.scope, turn.id, use)


def _shown(event: Event) -> bool:
    if event.no_memory or event.layer != "context" or is_inner(event):
        return False
    return event.kind is not EventKind.NOTE or event.data.get("code") == "no_answer"
