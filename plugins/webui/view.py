"""What happens in a thread, as operations for a page that is open.

Sans-io: history and notices in, operations out.  Text comes in blocks: keep so many of those shown, then these.
Offsets are compared here, so that no character is ever shown twice.  The pieces themselves are made in `items`, a page
that is made whole in `whole`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from . import whole
from .fragments import Fragments
from .hub import Notice
from .items import Items, inserted
from .markdown import Growing, Markdown
from .pieces import TEXT, Item, Op, Section, order
from .reading import Data, integer, mapping, mappings, string


@dataclass(slots=True)
class _Step:
    text: str = ""
    reasoning: str = ""
    growing: Growing = field(default_factory=lambda: Growing(Markdown()))
    told_reasoning: int = -1
    dirty: bool = False


@dataclass(slots=True)
class _Turn:
    turn: str
    input: str = ""
    steps: dict[int, _Step] = field(default_factory=dict)
    stored: int = 0
    called: set[int] = field(default_factory=set)

    @property
    def last(self) -> int:
        """The step under way, or the last one there was."""
        return max(self.steps, default=self.stored)

    @property
    def final(self) -> int:
        """The step whose text is the answer: one that called tools is not, what follows it is."""
        return self.last + 1 if self.last in self.called else self.last

    @property
    def place(self) -> dict[str, object]:
        """Which section of the page it is."""
        return {"turn": self.turn, "input": self.input}


class Gap(Exception):
    """A delta does not follow what is here: something was lost on the way, and the thread must be loaded afresh."""


class ThreadView:
    """One page's knowledge of one thread; holds what it was told, so that it can be told only what is new."""

    def __init__(self, fragments: Fragments, thread: str) -> None:
        self._fragments = fragments
        self._thread = thread
        self._items = Items(fragments)
        self._markdown = Markdown()
        self._turns: dict[str, _Turn] = {}
        self._inputs: set[str] = set()
        self.unsaid: set[str] = set()
        """Turns under way whose question this page was never told; `tell_said` tells it from the history."""

    def sections(self, history: Data) -> list[Section]:
        """The thread as `io.history` gives it, for a page that is made whole."""
        return whole.sections(history, self._fragments)

    # -- coming back --------------------------------------------------------------------------------------------------

    def resume(self, history: Data, missed: Iterable[Notice]) -> list[Op]:
        """Bring a page up to ``history``: first what it ``missed`` until then, then the turn under way.

        Everything is put, nothing appended: it does not matter how much of it the page has already.
        """
        upto = integer(history.get("seq"))
        self._learn(history)
        ops = [op for notice in missed if notice.seq <= upto for op in self.feed(notice)]
        live = history.get("live")
        if isinstance(live, Mapping):
            ops.extend(self._resume_live(live))
        for still in mappings(history.get("suspended")):
            ops.extend(self._resume_live(still, suspended=True))
        for agent in mappings(history.get("agents")):
            ops.append(self._put(self._turn(string(agent, "turn")), self._items.agent(agent)))
        for approval in mappings(history.get("approvals")):
            turn = self._turn(string(approval, "turn"))
            ops.extend(self._put(turn, item) for item in self._items.approval(turn.turn, approval, turn.last))
        return [*self.tell_said(history), *ops] if self.unsaid else ops

    def _learn(self, history: Data) -> None:
        """Know how many steps each turn has behind it, and which questions wait for their turn on the page."""
        counted: dict[str, int] = {}
        for event in mappings(history.get("events")):
            if string(event, "kind") == "assistant":
                turn, data = self._turn(string(event, "turn")), mapping(event.get("data"))
                turn.stored = integer(data.get("step", counted.get(turn.turn, 0)))
                counted[turn.turn] = turn.stored + 1
                if data.get("calls"):
                    turn.called.add(turn.stored)
        self._inputs.update(string(waiting, "input") for waiting in mappings(history.get("queued")))

    def _resume_live(self, live: Data, *, suspended: bool = False) -> list[Op]:
        turn = self._turn(string(live, "turn"), string(live, "input"))
        step = self._step(turn, integer(live.get("step")))
        step.text, step.reasoning, step.dirty = string(live, "text"), string(live, "reasoning"), True
        phase = "suspended" if suspended else "start"
        ops = [Op("turn", {**turn.place, "phase": phase, "state": "running"})]
        if suspended:
            ops.append(self._put(turn, self._items.paused()))
        for call in mappings(live.get("calls")):
            ops.append(self._put(turn, self._items.tool(turn.turn, call, turn.last)))
        return [*ops, *self.flush()]

    def tell_said(self, history: Data) -> list[Op]:
        """Put the questions in `unsaid`, as far as the history has them; a turn that ended is asked for no more."""
        ops = []
        for turn in [self._turns.get(name, _Turn(name)) for name in self.unsaid]:
            found = [
                *(one for one in mappings(history.get("queued")) if turn.input and string(one, "input") == turn.input),
                *(one for one in mappings(history.get("events")) if _is_question(one, turn.turn)),
            ]
            if found:
                self.unsaid.discard(turn.turn)
                ops.append(self._put(turn, self._items.said(found[-1], found[-1].get("created_at"))))
        self.unsaid &= self._turns.keys()
        return ops

    # -- going on -----------------------------------------------------------------------------------------------------

    def feed(self, notice: Notice) -> list[Op]:
        """Take one notice; deltas are only noted, `flush` tells them together.  Raises Gap."""
        data = notice.data
        match notice.type:
            case "content_delta" | "reasoning_delta":
                self._delta(notice)
                return []
            case "plugin_state":
                return [Op("plugins", {"plugin": string(data, "plugin"), "state": string(data, "state")})]
            case "system":
                return [Op("notice", {"message": self._fragments.sentence(string(data, "message"))})]
            case "progress" if not notice.thread:
                return [Op("working", working(data))]
            case "memory" if data.get("what") == "doctor":
                return [Op("working", working(data))]
            case "memory":
                # ids stay where they are: that something changed is enough to look again
                told = Op("memory", {"what": string(data, "what"), "job": string(data, "job")})
                return [*self._told(notice), told] if notice.thread == self._thread else [told]
        if notice.thread != self._thread:
            return [Op("threads", {})]
        return [*self.flush(), *self._told(notice)]

    def _told(self, notice: Notice) -> list[Op]:
        data, turn = notice.data, self._turn(notice.turn, string(notice.data, "input"))
        match notice.type:
            case "raw_input":
                self._inputs.add(string(data, "input"))
                return [self._put(turn, self._items.said(data, 0)), Op("threads", {})]
            case "turn":
                return self._turn_ops(turn, data)
            case "recall":
                return [self._put(turn, item) for item in self._items.recall(data)]
            case "progress":
                return [Op("progress", {**turn.place, **self._items.progress(data)})]
            case "agent_llm_chain":
                if data.get("calls"):
                    turn.called.add(integer(data.get("step")))
                return self._settle(turn, integer(data.get("step")), string(data, "text"), string(data, "reasoning"))
            case "agent_output" if data.get("with"):
                return []  # the same answer, for another channel
            case "agent_output":
                return self._settle(turn, turn.final, string(data, "text"), None)
            case "child":
                return [self._put(turn, self._items.agent_news(turn.turn, data))]
            case "tool_call":
                return [self._put(turn, self._items.tool(turn.turn, data, turn.last))]
            case "approval":
                items = self._items.approval(turn.turn, data, turn.last)
                return [*(self._put(turn, item) for item in items), Op("threads", {})]
            case "agent_error":
                return [self._put(turn, self._items.end(turn.turn, {"state": "failed", **data}))]
            case "memory" if data.get("what") == "written":
                return [self._put(_Turn(notice.turn), self._items.written(data))]
            case "thread" if data.get("deleted"):
                return [Op("deleted", {"title": string(data, "title")}), Op("threads", {})]
            case "thread":
                return [Op("title", {"title": string(data, "title")}), Op("threads", {})]
        return []

    def _turn_ops(self, turn: _Turn, data: Data) -> list[Op]:
        if data.get("with"):
            return [Op("threads", {})]  # one that was put in: what it was put into ends by itself
        match string(data, "phase"):
            case "joined":
                return self._joined(turn, string(data, "input"))
            case "suspended":
                place = Op("turn", {**turn.place, "phase": "suspended", "state": "running"})
                return [place, self._put(turn, self._items.paused())]
            case "resumed":
                return [Op("turn", {**turn.place, "phase": "resumed", "state": "running"}), *self._anew(turn, data)]
        ops = [Op("turn", {**turn.place, "phase": string(data, "phase"), "state": string(data, "state")})]
        ops.append(Op("threads", {}))
        if string(data, "phase") == "end":
            ops.append(self._put(turn, self._items.end(turn.turn, data)))
            self._turns.pop(turn.turn, None)
            self._items.forget(turn.turn)
        elif turn.input not in self._inputs:
            self.unsaid.add(turn.turn)
        self._inputs.discard(turn.input)
        self._turns.pop(f"input:{turn.input}", None)
        return ops

    def _joined(self, turn: _Turn, input_: str) -> list[Op]:
        """A message that waited goes into the turn, before its next step.  Raises Gap if the page does not know it."""
        if input_ not in self._inputs:
            raise Gap(f"{input_} was put into a turn, and is not here")
        self._inputs.discard(input_)
        self._turns.pop(f"input:{input_}", None)
        key, place = inserted(input_, turn.final)
        return [Op("joined", {**turn.place, "joined": input_, "key": key, "order": place})]

    def _anew(self, turn: _Turn, data: Data) -> list[Op]:
        """The model call that was cut off is sent again: what it had shown is taken back, as its text begins anew."""
        number = integer(data.get("step"))
        step = turn.steps.pop(number, None)
        if step is None:
            return []
        ops = [self._text_op(turn, number, 0, [])] if step.growing.shown else []
        if step.told_reasoning >= 0:
            ops.append(Op("drop", {**turn.place, "key": f"reason-{number}"}))
        return ops

    def _delta(self, notice: Notice) -> None:
        data, turn = notice.data, self._turn(notice.turn)
        step = self._step(turn, integer(data.get("step")))
        reasoning = notice.type == "reasoning_delta"
        have = step.reasoning if reasoning else step.text
        at, more = integer(data.get("at")), string(data, "text")
        if at > len(have):
            raise Gap(f"delta at {at}, have {len(have)}")
        joined = have + more[len(have) - at :]
        if reasoning:
            step.reasoning = joined
        else:
            step.text = joined
        step.dirty = step.dirty or joined != have

    def flush(self) -> list[Op]:
        """What the deltas since last time come to."""
        ops: list[Op] = []
        for turn in self._turns.values():
            for number, step in turn.steps.items():
                if step.dirty:
                    step.dirty = False
                    ops.extend(self._reasoning_ops(turn, number, step))
                    if step.text:
                        ops.append(self._text_op(turn, number, *step.growing.update(step.text)))
        return ops

    def _settle(self, turn: _Turn, number: int, text: str, reasoning: str | None) -> list[Op]:
        """The stored text of a step, which replaces what the deltas built; None leaves the reasoning as it is."""
        step = self._step(turn, number)
        step.text, step.dirty = text, False
        step.reasoning = step.reasoning if reasoning is None else reasoning
        ops = self._reasoning_ops(turn, number, step)
        if text or step.growing.shown:
            ops.append(self._text_op(turn, number, *step.growing.finish(text)))
        return ops

    def _reasoning_ops(self, turn: _Turn, number: int, step: _Step) -> list[Op]:
        if not step.reasoning or len(step.reasoning) == step.told_reasoning:
            return []
        told, step.told_reasoning = step.told_reasoning, len(step.reasoning)
        if told < 0 or told > len(step.reasoning):
            return [self._put(turn, self._items.reasoning(number, step.reasoning))]
        return [Op("reason", {"turn": turn.turn, "key": f"reason-{number}", "more": step.reasoning[told:]})]

    def _text_op(self, turn: _Turn, number: int, keep: int, blocks: Sequence[str]) -> Op:
        place = {**turn.place, "key": f"text-{number}", "order": order(number, TEXT)}
        return Op("text", {**place, "keep": keep, "blocks": list(blocks)})

    def _put(self, turn: _Turn, item: Item) -> Op:
        return Op("item", {**turn.place, "key": item.key, "order": item.order, "html": item.html})

    def _turn(self, turn: str, input_: str = "") -> _Turn:
        """The turn, made when it is new; what is known of an input before its turn begins hangs on the input."""
        found = self._turns.setdefault(turn or f"input:{input_}", _Turn(turn, input_))
        found.input = found.input or input_
        return found

    def _step(self, turn: _Turn, number: int) -> _Step:
        if number not in turn.steps:
            turn.steps[number] = _Step(growing=Growing(self._markdown))
        return turn.steps[number]


def working(data: Data) -> dict[str, object]:
    """How far work of the daemon itself is (vectors, a health check): ``what``, ``done`` of ``total``, and a name."""
    return {
        "what": string(data, "what"), "kind": string(data, "kind"),
        "done": integer(data.get("done")), "total": integer(data.get("total")),
    }  # fmt: skip


def _is_question(event: Data, turn: str) -> bool:
    return string(event, "kind") == "user" and string(event, "turn") == turn
