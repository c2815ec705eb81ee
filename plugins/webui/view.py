"""What happens in a thread, as pieces of page.

Sans-io: history and notices in, operations for the page out.  The page holds *sections* (one a turn) of *items* (what
was said, a step's reasoning and text, a tool card, an approval, the end), each with a key and a place in the order;
putting an item again replaces it, so that telling a page what it knows already changes nothing.  Text comes in blocks:
keep so many of those shown, then these.  Offsets are compared here, so that no character is ever shown twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from .fragments import Fragments
from .hub import Notice
from .markdown import Growing, Markdown

Data = Mapping[str, object]
SAID = "0000.0"
END = "9999.9"


@dataclass(frozen=True, slots=True)
class Op:
    """One operation for the page: ``name`` is the type of the server-sent event, ``data`` its JSON."""

    name: str
    data: dict[str, object]


@dataclass(frozen=True, slots=True)
class Item:
    """A piece of a turn's section.  ``blocks`` are for a text, whose markup comes block by block."""

    key: str
    order: str
    html: str = ""
    blocks: tuple[str, ...] | None = None


@dataclass(slots=True)
class Section:
    """A turn as it stands on the page."""

    turn: str
    input: str = ""
    live: bool = False
    items: list[Item] = field(default_factory=list)

    def ordered(self) -> list[Item]:
        """The items from top to bottom; of two with one key the later counts."""
        return sorted({item.key: item for item in self.items}.values(), key=lambda item: item.order)


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
    tools: dict[str, str] = field(default_factory=dict)
    asked: dict[str, str] = field(default_factory=dict)
    running: dict[str, Data] = field(default_factory=dict)
    waiting: dict[str, str] = field(default_factory=dict)
    """Approval → the running call that it is about."""
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


class Gap(Exception):
    """A delta does not follow what is here: something was lost on the way, and the thread must be loaded afresh."""


class ThreadView:
    """One page's knowledge of one thread; holds what it was told, so that it can be told only what is new."""

    def __init__(self, fragments: Fragments, thread: str) -> None:
        self._fragments = fragments
        self._thread = thread
        self._markdown = Markdown()
        self._turns: dict[str, _Turn] = {}
        self._inputs: set[str] = set()
        self.unsaid: set[str] = set()
        """Turns under way whose question this page was never told; `tell_said` tells it from the history."""

    # -- a whole page -------------------------------------------------------------------------------------------------

    def sections(self, history: Data) -> list[Section]:
        """The thread as `io.history` gives it, for a page that is made whole."""
        sections: dict[str, Section] = {}
        steps: dict[str, int] = {}
        for event in _mappings(history.get("events")):
            turn = _str(event, "turn")
            section = sections.setdefault(turn, Section(turn))
            section.input = section.input or _str(_mapping(event.get("data")), "input")
            section.items.extend(self._event_items(event, steps))
        for end in _mappings(history.get("ended")):
            if (ended := sections.get(_str(end, "turn"))) is not None:
                ended.items.append(self._end_item(end))
        live = history.get("live")
        if isinstance(live, Mapping):
            section = sections.setdefault(_str(live, "turn"), Section(_str(live, "turn")))
            section.input, section.live = _str(live, "input"), True
            section.items.extend(self._live_items(live))
        for waiting in _mappings(history.get("queued")):
            name = _str(waiting, "input")
            known = next((one for one in sections.values() if one.input == name), None)
            section = known or sections.setdefault(f"input:{name}", Section("", name))
            section.items.append(self._said_item(waiting, waiting.get("accepted_at")))
        for approval in _mappings(history.get("approvals")):
            section = sections.setdefault(_str(approval, "turn"), Section(_str(approval, "turn")))
            section.items.extend(self._approval_items(approval, steps.get(section.turn, 0)))
        return list(sections.values())

    def _event_items(self, event: Data, steps: dict[str, int]) -> list[Item]:
        kind, text, turn = _str(event, "kind"), _str(event, "text"), _str(event, "turn")
        data = _mapping(event.get("data"))
        if kind == "user":
            return [self._said_item(event, event.get("created_at"))]
        if kind == "note" and data.get("code") == "no_answer":
            return []  # why stands at the turn's end
        if kind == "note":
            return [Item(f"note-{_str(event, 'id')}", _order(steps.get(turn, 0), 5), self._fragments.note(text))]
        if kind == "tool":
            done = {**data, "call": data.get("call_id", ""), "tool": data.get("name", ""), "result": text}
            return [self._tool_item(turn, done, steps.get(turn, 1) - 1)]
        step = _int(data.get("step", steps.get(turn, 0)))
        steps[turn] = step + 1
        items = self._text_items(step, text, _str(data, "reasoning"))
        for call in _mappings(data.get("calls")):
            known = {"call": call.get("id", ""), "tool": call.get("name", ""), "args": call.get("arguments", {})}
            items.append(self._tool_item(turn, {**known, "status": "unknown", "step": step}, step))
        return items

    def _text_items(self, step: int, text: str, reasoning: str) -> list[Item]:
        items = []
        if reasoning:
            items.append(Item(f"reason-{step}", _order(step, 1), self._fragments.reasoning(reasoning)))
        if text:
            items.append(Item(f"text-{step}", _order(step, 2), blocks=tuple(self._markdown.blocks(text))))
        return items

    def _live_items(self, live: Data) -> list[Item]:
        step = _int(live.get("step"))
        items = self._text_items(step, _str(live, "text"), _str(live, "reasoning"))
        items.extend(self._tool_item(_str(live, "turn"), call, step) for call in _mappings(live.get("calls")))
        return items

    # -- going on from there ------------------------------------------------------------------------------------------

    def resume(self, history: Data, missed: Iterable[Notice]) -> list[Op]:
        """Bring a page up to ``history``: first what it ``missed`` until then, then the turn under way.

        Everything is put, nothing appended: it does not matter how much of it the page has already.
        """
        upto = _int(history.get("seq"))
        self._learn(history)
        ops = [op for notice in missed if notice.seq <= upto for op in self.feed(notice)]
        live = history.get("live")
        if isinstance(live, Mapping):
            ops.extend(self._resume_live(live))
        for approval in _mappings(history.get("approvals")):
            turn = self._turn(_str(approval, "turn"))
            ops.extend(self._put(turn, item) for item in self._approval_items(approval, turn.last))
        return [*self.tell_said(history), *ops] if self.unsaid else ops

    def _learn(self, history: Data) -> None:
        """Know how many steps each turn has behind it, and which questions wait for their turn on the page."""
        counted: dict[str, int] = {}
        for event in _mappings(history.get("events")):
            if _str(event, "kind") == "assistant":
                turn, data = self._turn(_str(event, "turn")), _mapping(event.get("data"))
                turn.stored = _int(data.get("step", counted.get(turn.turn, 0)))
                counted[turn.turn] = turn.stored + 1
                if data.get("calls"):
                    turn.called.add(turn.stored)
        self._inputs.update(_str(waiting, "input") for waiting in _mappings(history.get("queued")))

    def _resume_live(self, live: Data) -> list[Op]:
        turn = self._turn(_str(live, "turn"), _str(live, "input"))
        step = self._step(turn, _int(live.get("step")))
        step.text, step.reasoning, step.dirty = _str(live, "text"), _str(live, "reasoning"), True
        ops = [Op("turn", {"turn": turn.turn, "input": turn.input, "phase": "start", "state": "running"})]
        for call in _mappings(live.get("calls")):
            ops.append(self._put(turn, self._tool_item(turn.turn, call, turn.last)))
        return [*ops, *self.flush()]

    def tell_said(self, history: Data) -> list[Op]:
        """Put the questions in `unsaid`, as far as the history has them; a turn that ended is asked for no more."""
        ops = []
        for turn in [self._turns.get(name, _Turn(name)) for name in self.unsaid]:
            found = [
                *(one for one in _mappings(history.get("queued")) if turn.input and _str(one, "input") == turn.input),
                *(one for one in _mappings(history.get("events")) if _is_question(one, turn.turn)),
            ]
            if found:
                self.unsaid.discard(turn.turn)
                ops.append(self._put(turn, self._said_item(found[-1], found[-1].get("created_at"))))
        self.unsaid &= self._turns.keys()
        return ops

    def feed(self, notice: Notice) -> list[Op]:
        """Take one notice; deltas are only noted, `flush` tells them together.  Raises Gap."""
        data = notice.data
        match notice.type:
            case "content_delta" | "reasoning_delta":
                self._delta(notice)
                return []
            case "plugin_state":
                return [Op("plugins", {"plugin": _str(data, "plugin"), "state": _str(data, "state")})]
            case "system":
                return [Op("notice", {"message": _str(data, "message")})]
        if notice.thread != self._thread:
            return [Op("threads", {})]
        return [*self.flush(), *self._told(notice)]

    def _told(self, notice: Notice) -> list[Op]:
        data, turn = notice.data, self._turn(notice.turn, _str(notice.data, "input"))
        match notice.type:
            case "raw_input":
                self._inputs.add(_str(data, "input"))
                return [self._put(turn, self._said_item(data, 0)), Op("threads", {})]
            case "turn":
                return self._turn_ops(turn, data)
            case "agent_llm_chain":
                if data.get("calls"):
                    turn.called.add(_int(data.get("step")))
                return self._settle(turn, _int(data.get("step")), _str(data, "text"), _str(data, "reasoning"))
            case "agent_output":
                return self._settle(turn, turn.final, _str(data, "text"), None)
            case "tool_call":
                return [self._put(turn, self._tool_item(turn.turn, data, turn.last))]
            case "approval":
                items = self._approval_items({**data, "turn": turn.turn}, turn.last)
                return [*(self._put(turn, item) for item in items), Op("threads", {})]
            case "agent_error":
                return [self._put(turn, self._end_item({"state": "failed", **data}))]
            case "thread":
                return [Op("title", {"title": _str(data, "title")}), Op("threads", {})]
        return []

    def _turn_ops(self, turn: _Turn, data: Data) -> list[Op]:
        place = {"turn": turn.turn, "input": turn.input}
        told: dict[str, object] = {**place, "phase": _str(data, "phase"), "state": _str(data, "state")}
        ops = [Op("turn", told), Op("threads", {})]
        if _str(data, "phase") == "end":
            ops.append(self._put(turn, self._end_item(data)))
            self._turns.pop(turn.turn, None)
        elif turn.input not in self._inputs:
            self.unsaid.add(turn.turn)
        self._inputs.discard(turn.input)
        self._turns.pop(f"input:{turn.input}", None)
        return ops

    def _delta(self, notice: Notice) -> None:
        data, turn = notice.data, self._turn(notice.turn)
        step = self._step(turn, _int(data.get("step")))
        reasoning = notice.type == "reasoning_delta"
        have = step.reasoning if reasoning else step.text
        at, more = _int(data.get("at")), _str(data, "text")
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
        key, told = f"reason-{number}", step.told_reasoning
        step.told_reasoning = len(step.reasoning)
        if told < 0 or told > len(step.reasoning):
            return [self._put(turn, Item(key, _order(number, 1), self._fragments.reasoning(step.reasoning)))]
        return [Op("reason", {"turn": turn.turn, "key": key, "more": step.reasoning[told:]})]

    def _text_op(self, turn: _Turn, number: int, keep: int, blocks: Sequence[str]) -> Op:
        place = {"turn": turn.turn, "input": turn.input, "key": f"text-{number}", "order": _order(number, 2)}
        return Op("text", {**place, "keep": keep, "blocks": list(blocks)})

    # -- items --------------------------------------------------------------------------------------------------------

    def _put(self, turn: _Turn, item: Item) -> Op:
        place = {"turn": turn.turn, "input": turn.input}
        return Op("item", {**place, "key": item.key, "order": item.order, "html": item.html})

    def _said_item(self, said: Data, at: object) -> Item:
        return Item("said", SAID, self._fragments.said(_str(said, "text"), _number(at), _str(said, "peer")))

    def _end_item(self, end: Data) -> Item:
        return Item("end", END, self._fragments.end(end))

    def _tool_item(self, turn: str, call: Data, step: int) -> Item:
        number, name = _int(call.get("step", step)), _str(call, "call")
        of = self._turn(turn)
        order = of.tools.setdefault(name, _order(number, 3, len(of.tools)))
        of.running.pop(name, None)
        if call.get("status") == "running":
            of.running[name] = call
            if name in of.waiting.values():
                call = {**call, "status": "waiting"}
        return Item(f"tool-{name}", order, self._fragments.tool(call))

    def _approval_items(self, approval: Data, step: int) -> list[Item]:
        """The question or its answer, and the card of the call that waits for it or goes on."""
        name, tool = _str(approval, "approval"), _str(approval, "tool")
        turn = self._turn(_str(approval, "turn"))
        order = turn.asked.setdefault(name, _order(step, 4, len(turn.asked)))
        items = [Item(f"approval-{name}", order, self._fragments.approval(approval))]
        if approval.get("status", "asked") == "asked":
            taken = set(turn.waiting.values())
            free = [call for call, data in turn.running.items() if data.get("tool") == tool and call not in taken]
            about = turn.waiting.setdefault(name, free[0]) if free and name not in turn.waiting else ""
        else:
            about = turn.waiting.pop(name, "")
        return [self._tool_item(turn.turn, turn.running[about], step), *items] if about in turn.running else items

    def _turn(self, turn: str, input_: str = "") -> _Turn:
        """The turn, made when it is new; what is known of an input before its turn begins hangs on the input."""
        found = self._turns.setdefault(turn or f"input:{input_}", _Turn(turn, input_))
        found.input = found.input or input_
        return found

    def _step(self, turn: _Turn, number: int) -> _Step:
        if number not in turn.steps:
            turn.steps[number] = _Step(growing=Growing(self._markdown))
        return turn.steps[number]


def _is_question(event: Data, turn: str) -> bool:
    return _str(event, "kind") == "user" and _str(event, "turn") == turn


def _order(step: int, kind: int, nth: int = 0) -> str:
    return f"{step:04}.{kind}.{nth:03}"


def _str(data: Data, key: str) -> str:
    value = data.get(key, "")
    return value if isinstance(value, str) else ""


def _int(value: object) -> int:
    return value if isinstance(value, int) else 0


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else 0.0


def _mapping(value: object) -> Data:
    return value if isinstance(value, Mapping) else {}


def _mappings(value: object) -> list[Data]:
    return [entry for entry in value if isinstance(entry, Mapping)] if isinstance(value, list | tuple) else []
