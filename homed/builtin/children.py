"""``spawn_child``, ``child_result`` and ``resident_agents``: an agent makes agents.

What they are is in ``homed.agent.children``, which is loaded when one of these is first called.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

from homed.agent.ports import BuiltinTool, CallContext, FromOutside
from homed.builtin.entries import entry, number, string
from homed.builtin.ports import MemoryPorts
from homed.errors import InvalidInput, Unavailable

if TYPE_CHECKING:
    from homed.agent.offspring import Offspring
    from homed.agent.turn import Turn
    from homed.builtin.residents import Residents

ROUNDS, MOST_ROUNDS = 10, 30
WAIT = 600
"""Seconds that ``child_result`` waits at the most."""

ROOMY = 24_000
"""Tokens of a window from which on a model is told of these."""

ACTIONS = ("list", "create", "send", "inspect", "compress", "reclaim", "destroy")

NAMES = {"type": "array", "items": {"type": "string"}, "maxItems": 64}


class HousePort(Protocol):
    """``homed.agent.conversations.Conversations``."""

    @property
    def children(self) -> Offspring:
        """The agents there are."""
        ...

    def turn_of(self, thread: str, turn: str) -> Turn | None:
        """A turn that is under way."""
        ...


class Makers:
    """What the tools need: the turn that calls one, and the agents.  ``house``: there before a tool is called."""

    def __init__(self, house: Callable[[], HousePort], memory: MemoryPorts) -> None:
        self._house = house
        self._memory = memory

    @property
    def children(self) -> Offspring:
        """The agents there are."""
        return self._house().children

    def turn(self, context: CallContext) -> Turn:
        """The turn that calls.  Unavailable when it is over."""
        found = self._house().turn_of(context.thread, context.turn)
        if found is None:
            raise Unavailable("The turn that made this call is over.")
        return found

    def residents(self) -> Residents:
        """What is done with those that stay."""
        from homed.builtin.residents import Residents

        return Residents(self, self._memory)


def children_tools(house: Callable[[], HousePort], memory: MemoryPorts) -> tuple[BuiltinTool, ...]:
    """All three."""
    makers = Makers(house, memory)
    found = (_spawn(makers), _result(makers), _residents(makers))
    return tuple(replace(tool, group="agents") for tool in found)


def _spawn(makers: Makers) -> BuiltinTool:
    async def run(context: CallContext, args: Mapping[str, object]) -> object:
        from homed.agent.children import Wish, named

        turn, children = makers.turn(context), makers.children.need()
        task, rounds = str(args["task"]).strip(), args.get("max_turns")
        if not task:
            raise InvalidInput("task is empty.", hint="Say what the agent is to do, and all it needs to know.")
        wish = Wish(
            "once", named(str(args.get("name") or " ".join(task.split()[:6]))), ONE_TASK,
            rounds if isinstance(rounds, int) else ROUNDS, names(args.get("tools")),
        )  # fmt: skip
        await children.tidy(turn.input.thread)
        child = await children.spawn(turn, wish, task)
        return {"child": child.id, "name": child.name, "state": "working"}

    properties = {
        "task": string(),
        "max_turns": number(1, MOST_ROUNDS, f"Rounds of tool calls it may have; {ROUNDS}."),
        "name": string(),
        "tools": {**NAMES, "description": "Those it may use; all of yours if left out."},
    }
    return BuiltinTool(entry("spawn_child", properties, ("task",), guest=False), run, least=ROOMY)


def _result(makers: Makers) -> BuiltinTool:
    async def run(context: CallContext, args: Mapping[str, object]) -> object:
        children = makers.children.need()
        wait = args.get("wait")
        child = children.roster.find(context.scope, str(args["child"]))
        seconds = float(wait) if isinstance(wait, (int, float)) else 0.0
        found = await children.owed.result(child, seconds, context.thread)
        if found.input is None or found.input.outcome is None:
            return {"child": child.id, "name": child.name, "state": children.roster.working(child)}
        outcome = found.input.outcome
        failed = {"error": outcome.error, "hint": outcome.hint} if outcome.error else {}
        answer = {"child": child.id, "name": child.name, "state": outcome.state.value, "text": outcome.text, **failed}
        return FromOutside(answer)

    properties = {"child": string("Its id."), "wait": number(0, WAIT)}
    return BuiltinTool(entry("child_result", properties, ("child",), guest=False), run, least=ROOMY)


def _residents(makers: Makers) -> BuiltinTool:
    async def run(context: CallContext, args: Mapping[str, object]) -> object:
        return await makers.residents().run(context, args)

    properties: dict[str, Any] = {
        "action": {"enum": list(ACTIONS)},
        "agent": string("Its name or id."),
        "name": string(),
        "brief": string(),
        "text": string(),
        "max_turns": number(1, MOST_ROUNDS),
        "tools": NAMES,
        "outputs": NAMES,
        "inputs": NAMES,
        "memories": NAMES,
    }
    declared = entry("resident_agents", properties, ("action",), guest=False)
    return BuiltinTool(replace(declared, parallel_safe=False), run, least=ROOMY, final=_takes_input)


def _takes_input(args: Mapping[str, object]) -> bool:
    """To whom a person's messages go is theirs to say, each time."""
    return args.get("action") == "create" and bool(args.get("inputs"))


def names(given: object) -> frozenset[str] | None:
    """Names as they were given; None for all."""
    return frozenset(map(str, given)) if isinstance(given, list) else None


ONE_TASK = "The one task you are given. You have one turn for it, and nobody can answer questions."
