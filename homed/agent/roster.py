"""The agents there are, and what they were given to do, in memory; used from the Trio thread only."""

from __future__ import annotations

from collections import Counter

from homed.agent.frame import PARENT
from homed.agent.offspring import HousePort
from homed.errors import NotFound
from homed.identity.roles import Identity
from homed.memory.children import RESIDENT, Child, ChildTask
from homed.memory.records import Input


class Roster:
    """``threads``: each by its conversation; ``tasks``: what is owed to those who gave it, by its id; ``making``: those
    that are not counted otherwise yet, by the scope at the top; ``taken``: names of residents, by the scope they are
    made in, and inputs (of no scope), that some that are being made will have."""

    def __init__(self, house: HousePort) -> None:
        self._house = house
        self.threads: dict[str, Child] = {}
        self.tasks: dict[str, ChildTask] = {}
        self.making: Counter[str] = Counter()
        self.taken: set[tuple[str, str]] = set()

    def count(self, root: str) -> int:
        """Those at work or resident for the person of this scope."""
        there = sum(1 for one in self.threads.values() if one.root_scope == root and self.alive(one))
        return there + self.making[root]

    def residents(self, scope: str) -> list[Child]:
        """Those that were made in this scope and stay."""
        return [one for one in self.threads.values() if one.parent_scope == scope and one.kind == RESIDENT]

    def find(self, scope: str, named: str) -> Child:
        """One that was made in this scope, by id or name; NotFound for all others, whoever's they are."""
        mine = [one for one in self.threads.values() if one.parent_scope == scope]
        found = [one for one in mine if one.id == named] or [o for o in mine if o.name == named and o.kind == RESIDENT]
        if not found:
            raise NotFound(f"There is no agent {named}.", hint="resident_agents with action list names them.")
        return found[0]

    def alive(self, child: Child) -> bool:
        """Whether it is there to be counted: a resident one always, another while it works."""
        return child.kind == RESIDENT or self._house.lane(child.thread) is not None

    def working(self, child: Child) -> str:
        """What it does now: ``idle``, ``working`` or ``suspended``."""
        lane = self._house.lane(child.thread)
        if lane is None:
            return "idle"
        return "working" if lane.running or lane.waiting else "suspended" if lane.suspended else "idle"

    def by_id(self, id_: str) -> Child | None:
        """The one of this id."""
        return next((one for one in self.threads.values() if one.id == id_), None)

    def task(self, input_: Input) -> ChildTask | None:
        """What an input of theirs was given for, if that is not told yet."""
        return self.tasks.get(input_.mark.removeprefix(PARENT)) if input_.mark.startswith(PARENT) else None

    def granted(self, who: Identity, channel: str) -> Child | None:
        """The one to which what this person says in this channel goes."""
        for input_ in (who.peer, channel):  # one person's own before the channel's
            for child in self.threads.values():
                if input_ in child.may.inputs and child.root_scope == who.scope:
                    return child
        return None
