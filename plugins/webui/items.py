"""Each piece of a turn, made from what the kernel says of it: a message, a step's text, a call, a question, the end.

The same ones whether they come from the history or as a notice.  Of each turn it remembers where its cards stand and
which call waits for which question, so that a card made again stands where it stood.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from .fragments import RECORDS, Fragments, Made, Recalled, counted
from .pieces import (
    AGENT,
    APPROVAL,
    END,
    INSERTED,
    NOTE,
    PAUSED,
    REASONING,
    RECALLED,
    SAID,
    TEXT,
    TOOL,
    WRITTEN,
    Item,
    order,
)
from .reading import Data, integer, mapping, mappings, number, string, strings


def inserted(input_: str, step: int) -> tuple[str, str]:
    """Key and place of a message that was put into a turn before a step."""
    return f"said-{input_}", order(step, INSERTED)


@dataclass(slots=True)
class _Cards:
    """A turn's cards: the place of each call and question, and the calls that run."""

    tools: dict[str, str] = field(default_factory=dict)
    asked: dict[str, str] = field(default_factory=dict)
    running: dict[str, Data] = field(default_factory=dict)
    waiting: dict[str, str] = field(default_factory=dict)
    """Approval → the running call that it is about."""


STEPS = 8
"""Calls of an agent that its card shows, the newest."""

AGENTS = 256
"""Cards of agents that a page knows, so that news of one can be added to what it shows."""


@dataclass(slots=True)
class _Agent:
    """What the card of an agent shows.  ``tools``: call → name and status; ``thread``: its own conversation."""

    name: str
    thread: str
    state: str = "running"
    error: str = ""
    count: int = 0
    tools: dict[str, tuple[str, str]] = field(default_factory=dict)


class Items:
    """Makes the pieces of one thread's turns."""

    def __init__(self, fragments: Fragments) -> None:
        self._fragments = fragments
        self._turns: dict[str, _Cards] = {}
        self._agents: dict[tuple[str, str], _Agent] = {}

    def forget(self, turn: str) -> None:
        """The turn is over: nothing of it is made again."""
        self._turns.pop(turn, None)

    def said(self, said: Data, at: object, step: int | None = None) -> Item:
        """What somebody said, with the files that came along (``blocks``, or in the event's ``data``).

        ``step``: it was put into a turn that ran, before that step.
        """
        data = mapping(said.get("data"))
        blocks, mark = said.get("blocks") or data.get("blocks"), string(said, "mark") or string(data, "mark")
        text, peer = string(said, "text"), string(said, "peer")
        whose = f"{mark.partition(':')[0]}:" if mark else peer
        html = self._fragments.said(text, number(at), whose, mappings(blocks), string(said, "id"))
        if step is None:
            return Item("said", SAID, html)
        return Item(*inserted(string(data, "input"), step), html)

    def paused(self) -> Item:
        """The turn stands still for something more urgent."""
        return Item("paused", PAUSED, self._fragments.paused())

    def recall(self, told: Data) -> list[Item]:
        """What came back from memory for this turn; nothing where nothing did and nothing was late."""
        shown, cold, facts, late = (strings(told.get(key)) for key in ("shown", "cold", "facts", "late"))
        if not (shown or cold or facts or late):
            return []
        counts = {key: integer(count) for key, count in mapping(told.get("counts")).items()} or counted(facts)
        found = Recalled(len(shown), len(cold), tuple(facts), integer(told.get("chars")), counts)
        return [Item("recall", RECALLED, self._fragments.recall(found, late))]

    def written(self, told: Data) -> Item:
        """What was really written of the turn, whatever the model says of it."""
        records = {kind: strings(mapping(told.get("records")).get(kind)) for kind in RECORDS}
        made = Made(string(told, "state"), {kind: ids for kind, ids in records.items() if ids})
        return Item("written", WRITTEN, self._fragments.written(made))

    def note(self, event: Data, step: int) -> Item:
        """Something the kernel noted."""
        html = self._fragments.note(string(event, "text"))
        return Item(f"note-{string(event, 'id')}", order(step, NOTE), html)

    def reasoning(self, step: int, text: str) -> Item:
        """A step's reasoning."""
        return Item(f"reason-{step}", order(step, REASONING), self._fragments.reasoning(text))

    def text(self, step: int, blocks: list[str]) -> Item:
        """A step's text, its markup ready."""
        return Item(f"text-{step}", order(step, TEXT), blocks=tuple(blocks))

    def end(self, turn: str, end: Data) -> Item:
        """How the turn ended."""
        return Item("end", END, self._fragments.end({**end, "turn": turn}))

    def tool(self, turn: str, call: Data, step: int) -> Item:
        """A call's card; of one that waits for a question to be answered, it says so."""
        at, name = integer(call.get("step", step)), string(call, "call")
        of = self._cards(turn)
        place = of.tools.setdefault(name, order(at, TOOL, len(of.tools)))
        of.running.pop(name, None)
        if call.get("status") == "running":
            of.running[name] = call
            if name in of.waiting.values():
                call = {**call, "status": "waiting"}
        return Item(f"tool-{name}", place, self._fragments.tool(call))

    def approval(self, turn: str, approval: Data, step: int) -> list[Item]:
        """The question or its answer, and the card of the call that waits for it or goes on."""
        name, tool, of = string(approval, "approval"), string(approval, "tool"), self._cards(turn)
        place = of.asked.setdefault(name, order(step, APPROVAL, len(of.asked)))
        items = [Item(f"approval-{name}", place, self._fragments.approval(approval))]
        if approval.get("status", "asked") == "asked":
            taken = set(of.waiting.values())
            free = [call for call, data in of.running.items() if data.get("tool") == tool and call not in taken]
            about = of.waiting.setdefault(name, free[0]) if free and name not in of.waiting else ""
        else:
            about = of.waiting.pop(name, "")
        return [self.tool(turn, of.running[about], step), *items] if about in of.running else items

    def agent(self, told: Data) -> Item:
        """The card of an agent as `io.history` has it, beneath the turn that gave it something to do."""
        calls = enumerate(mappings(told.get("tools")))
        known = _Agent(
            string(told, "name"), string(told, "in"), string(told, "state"), string(told, "error"),
            integer(told.get("count")), {str(at): (string(one, "tool"), string(one, "status")) for at, one in calls},
        )  # fmt: skip
        return self._agent(string(told, "turn"), string(told, "child"), known)

    def agent_news(self, turn: str, told: Data) -> Item:
        """The same card after a notice of its: a turn of it, or a call."""
        name = string(told, "child")
        known = self._agents.get((turn, name)) or _Agent(string(told, "name"), string(told, "in"))
        match string(told, "phase"):
            case "end":
                known.state, known.error = string(told, "state"), string(told, "error")
            case "suspended":
                known.state = "suspended"
            case "tool":
                call = string(told, "call")
                known.count += call not in known.tools
                known.tools[call] = (string(told, "tool"), string(told, "status"))
                while len(known.tools) > STEPS:
                    del known.tools[next(iter(known.tools))]
            case _:
                known.state = "running"
        return self._agent(turn, name, known)

    def _agent(self, turn: str, name: str, known: _Agent) -> Item:
        self._agents[turn, name] = known
        while len(self._agents) > AGENTS:
            del self._agents[next(iter(self._agents))]
        shown = {
            "name": known.name, "thread": known.thread, "state": known.state, "error": known.error,
            "count": known.count, "tools": list(known.tools.values()),
        }  # fmt: skip
        return Item(f"agent-{name}", AGENT, self._fragments.agent(shown))

    def progress(self, told: Data) -> dict[str, object]:
        """How far a model on this machine is before its first word: a sentence, and a share of 1 (0: not known)."""
        what, of = string(told, "what"), number(told.get("total"))
        share = min(max(number(told.get("done")) / of, 0.0), 1.0) if of > 0 else 0.0
        return {"text": self._fragments.progress(what, share), "share": round(share, 3)}

    def _cards(self, turn: str) -> _Cards:
        return self._turns.setdefault(turn, _Cards())
