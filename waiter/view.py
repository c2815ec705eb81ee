"""The state as lines of the screen.  Pure but for what it remembers: the same state gives the same lines.

Nothing is wider than the screen, whatever anybody wrote.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass

from .approvals import asks
from .cells import Cells, Fragment, Glyphs, clean, cut, hard, width, wrap
from .keyed import question
from .markdown import Markdown, coloured
from .model import Agent, Answer, Asked, End, Item, Note, Outgoing, Paused, Place, Recall, Said, State, Thought, Tool
from .terminal import as_json
from .words import Words

MARKS = {"running": "→", "ok": "✓", "error": "✗", "denied": "⊘", "interrupted": "■", "unknown": "·"}
RESULT_LINES = 400
"""Lines of an opened result; a command's output may be a megabyte."""
KEPT = 4000
"""Things whose lines are remembered."""
BESIDE = (Tool, Thought, Recall)
"""What stands together without blank lines between."""


@dataclass(frozen=True, slots=True)
class Layout:
    """All lines of a conversation, whose each is, and where each thing begins."""

    lines: tuple[Cells, ...]
    keys: tuple[str, ...]
    starts: dict[str, int]

    def top(self, place: Place | None, height: int) -> int:
        """The first line on a screen of ``height`` lines; without a place the end is on it."""
        last = max(0, len(self.lines) - height)
        if place is None or place.key not in self.starts:
            return last
        return min(self.starts[place.key] + place.line, last)

    def moved(self, place: Place | None, height: int, by: int) -> Place | None:
        """``by`` lines further down (up if negative); None at the end."""
        top = self.top(place, height) + by
        if top >= len(self.lines) - height:
            return None
        top = max(0, top)
        return Place(self.keys[top], top - self.starts[self.keys[top]])


class Painter:
    """Makes layouts; remembers the lines of each thing."""

    def __init__(self, glyphs: Glyphs, words: Words) -> None:
        self.glyphs = glyphs
        self.words = words
        self._markdown = Markdown(glyphs)
        self._lines: OrderedDict[tuple[object, ...], tuple[Cells, ...]] = OrderedDict()
        self._last: tuple[tuple[object, ...], tuple[Item, ...], Layout] | None = None

    def layout(self, state: State, cells: int) -> Layout:
        """The conversation, ``cells`` wide."""
        at = state.follow
        unsent = tuple(one for one in state.outbox if one.conversation == state.conversation)
        key = (unsent, cells, state.opened, state.chosen, at.running, at.more)
        if self._last is not None and self._last[0] == key and self._last[1] is at.items:
            return self._last[2]
        made = self._assembled([*at.items, *unsent], state, cells)
        self._last = (key, at.items, made)
        return made

    def _assembled(self, things: list[Item | Outgoing], state: State, cells: int) -> Layout:
        lines: list[Cells] = []
        keys: list[str] = []
        starts: dict[str, int] = {}
        if state.follow.more:
            lines.append((("class:dim", cut(self.words("older"), cells)),))
            keys.append("")
            starts[""] = 0
        before: Item | Outgoing | None = None
        for thing in things:
            key = thing.id if isinstance(thing, Outgoing) else thing.key
            made = self._thing(thing, state, cells)
            if not made:
                continue
            if before is not None and not (isinstance(before, BESIDE) and isinstance(thing, BESIDE)):
                lines.append(())
                keys.append(keys[-1])
            starts[key] = len(lines)
            lines += made
            keys += [key] * len(made)
            before = thing
        return Layout(tuple(lines), tuple(keys), starts)

    def _thing(self, thing: Item | Outgoing, state: State, cells: int) -> tuple[Cells, ...]:
        running = state.follow.running
        key = "" if isinstance(thing, Outgoing) else thing.key
        opened, chosen = key in state.opened, bool(key) and key == state.chosen
        growing = isinstance(thing, Answer) and running is not None and running.turn == thing.turn
        memo = (thing, cells, opened, chosen)
        if not growing and memo in self._lines:
            self._lines.move_to_end(memo)
            return self._lines[memo]
        made = tuple(self._drawn(thing, cells, opened=opened, chosen=chosen, growing=growing))
        if not growing:
            if len(self._lines) >= KEPT:
                self._lines.popitem(last=False)
            self._lines[memo] = made
        return made

    def _drawn(
        self, thing: Item | Outgoing, cells: int, *, opened: bool, chosen: bool, growing: bool
    ) -> Iterable[Cells]:
        match thing:
            case Said():
                return self._said(thing.text, thing.label, thing.files, "queued" if thing.queued else "", cells)
            case Outgoing():
                return self._said(thing.text, "", thing.files, "unsent", cells)
            case Answer():
                return self._markdown.lines(thing.text, cells, growing=growing)
            case Tool():
                return self._tool(thing, cells, opened=opened, chosen=chosen)
            case Thought():
                return self._thought(thing, cells, opened=opened, chosen=chosen)
            case Recall():
                return self._recall(thing, cells, opened=opened, chosen=chosen)
            case Asked():
                return self._asked(thing, cells)
            case Agent():
                return [(("class:dim", cut(self._agent(thing), cells)),)]
            case Paused():
                return [(("class:dim", cut(f"‖ {self.words('suspended')}", cells)),)]
            case End():
                return self._end(thing, cells)
            case Note():
                return self._note(thing, cells)

    def _agent(self, agent: Agent) -> str:
        calls = self.words("agent.calls", n=agent.count) if agent.count else ""
        parts = filter(None, [self.words(f"agent.{agent.state}"), calls, self._plain(agent.tool)])
        return f"  {self._plain(agent.name)}: {' · '.join(parts)}"

    def _plain(self, text: str) -> str:
        return self.glyphs.fit(clean(text))

    def _said(self, text: str, label: str, files: tuple[str, ...], state: str, cells: int) -> list[Cells]:
        first: Cells = (("class:said", "› "),)
        label = self.words(f"of.{label[1:]}") if label.startswith("@") else self._plain(label)
        body: list[Fragment] = [("class:said.label", f"{label}: ")] if label else []
        made = wrap([*body, ("class:said", self._plain(text))], cells, first=first, rest=(("", "  "),))
        made += self._with(files, cells)
        if state:
            made += wrap([("class:dim", f"({self.words(state)})")], cells, first=(("", "  "),))
        return made

    def _with(self, files: tuple[str, ...], cells: int) -> list[Cells]:
        """A line with the names of files, if there are any."""
        if not files:
            return []
        names = self._plain(self.words("attached", names=", ".join(files)))
        return wrap([("class:dim", names)], cells, first=(("", "  "),), rest=(("", "  "),))

    def _head(self, mark: Fragment, title: str, rest: str, cells: int, *, chosen: bool) -> Cells:
        """One line: a mark, what it is, and as much of the rest as fits."""
        style = "class:chosen" if chosen else "class:tool.name"
        left = max(0, cells - 2)
        name = cut(title, left)
        more = cut(rest, left - width(name) - 1) if left - width(name) > 4 else ""
        return (mark, ("", " "), (style, name), *((("class:dim", f" {more}"),) if more else ()))

    def _flat(self, text: str, most: int = 400) -> str:
        """The beginning of a text on one line; line breaks are marked."""
        return self._plain("⏎".join(part for part in text[: most * 4].split("\n") if part.strip())[:most])

    def _tool(self, tool: Tool, cells: int, *, opened: bool, chosen: bool) -> list[Cells]:
        mark = (f"class:tool.{tool.status}", MARKS.get(tool.status, "?"))
        bad = tool.status in ("denied", "interrupted", "error")
        said = [self.words(f"tool.{tool.status}")] if bad else []
        said += [f"{tool.ms} ms"] if tool.ms >= 0 and tool.status == "ok" else []
        args = "" if tool.args in ("", "{}") else self._flat(tool.args)
        head = self._head(
            mark, self._flat(tool.name, 60), " · ".join([*said, *filter(None, [args])]), cells, chosen=chosen
        )
        if opened:
            return [
                head,
                *self._part("tool.args", tool.args, cells),
                *self._part("tool.result", tool.result, cells),
                *self._with(tool.files, cells),
            ]
        result = self._flat(tool.result)
        if not result or cells < 12:
            return [head, *self._with(tool.files, cells)]
        return [head, (("class:dim", f"  └ {cut(result, cells - 4)}"),), *self._with(tool.files, cells)]

    def _part(self, name: str, text: str, cells: int) -> list[Cells]:
        """A part of an opened card, whole but for what no screen could hold."""
        rows = list(fields(text)) or [("", self.words("tool.empty"))]
        bar: Fragment = ("class:md.bar", "  │ ")
        made: list[Cells] = [(("class:dim", cut(f"  {self.words(name)}", cells)),)]
        for label, row in rows[:RESULT_LINES]:
            key: Cells = (("class:md.th", self._plain(label)),) if label else ()
            made += hard([*key, ("class:md.pre", self._plain(row))], cells, first=(bar,), rest=(bar,))
        if len(rows) > RESULT_LINES:
            left = self.words("tool.cut", count=len(rows) - RESULT_LINES)
            made += wrap([("class:dim", left)], cells, first=(bar,))
        return made

    def _thought(self, thought: Thought, cells: int, *, opened: bool, chosen: bool) -> list[Cells]:
        mark = ("class:dim", "▾" if opened else "▸")
        last = "" if opened else self._flat(thought.text[-200:].partition(" ")[2])
        head = self._head(mark, self.words("thought"), last, cells, chosen=chosen)
        if not opened:
            return [head]
        bar: Cells = (("class:md.bar", "  │ "),)
        return [head, *wrap([("class:dim", self._plain(thought.text))], cells, first=bar, rest=bar)]

    def _recall(self, recall: Recall, cells: int, *, opened: bool, chosen: bool) -> list[Cells]:
        counts = {"recall.other": len(recall.shown), "recall.cold": len(recall.cold), "recall.chars": recall.chars}
        summaries, facts, capsules = recall.counts
        layers = [f"L1×{summaries} L2×{facts} L3×{capsules}"] if recall.facts else []
        if not (recall.facts or recall.shown or recall.cold):
            return []
        parts = [*layers, *(self.words(key, n=count) for key, count in counts.items() if count)]
        said = f"{self.words('recall.label')} {' · '.join(parts)}"
        head = wrap([("class:chosen" if chosen else "class:recall", said)], cells)
        if not opened:
            return head
        known = () if recall.told else recall.facts
        detail = recall.detail or "\n".join([*recall.shown, *recall.cold, *known])
        detail = "\n".join(filter(None, [recall.told, detail]))
        bar: Cells = (("class:md.bar", "  │ "),)
        return [*head, *wrap([("class:dim", self._plain(detail))], cells, first=bar, rest=bar)]

    def _asked(self, asked: Asked, cells: int) -> list[Cells]:
        """What is asked, the arguments whole and as JSON, so that no line in them can pose as ours."""
        said = asks(asked, self._flat, self.words)
        made = wrap([("class:ask.mark", "? "), ("class:ask", said)], cells, rest=(("", "  "),))
        if asked.status != "asked":
            told = asked.status in ("allowed", "denied", "expired", "cancelled", "withdrawn")
            word = self.words(f"ask.{asked.status}") if told else self._flat(asked.status)
            return wrap([("class:dim", f"? {said} "), ("class:dim", f"({word})")], cells, rest=(("", "  "),))
        bar: Cells = (("class:ask.mark", "  │ "),)
        for row in coloured(self._plain(asked.args), "json") if asked.yes != "day" else ():
            made += hard(row, cells, first=bar, rest=bar)
        known = asked.tool_class in ("read", "write", "dangerous")
        class_ = self.words(f"class.{asked.tool_class}") if known else self._flat(asked.tool_class)
        more = "" if asked.yes == "day" else self.words("ask.class", tool_class=class_)
        reason = f" {self._flat(asked.reason)}" if asked.reason else ""
        return [
            *made,
            *wrap([("class:dim", f"{f'{more}{reason}'.strip()}")], cells, first=(("", "  "),), rest=(("", "  "),)),
        ]

    def _end(self, end: End, cells: int) -> list[Cells]:
        if end.state == "answered" or (end.state == "reported" and not end.error):
            return []
        if end.state == "stopped":
            return [(("class:dim", cut(f"■ {self.words('stopped')}", cells)),)]
        key = f"end.{end.state}" if end.state in ("failed", "refused") else "end.other"
        said = self._plain(self.words(key, error=end.error or end.hint, state=end.state))
        made = wrap([("class:error", f"✗ {said}")], cells, rest=(("", "  "),))
        return (
            [*made, *wrap([("", self._plain(end.hint))], cells, first=(("", "  "),), rest=(("", "  "),))]
            if end.hint
            else made
        )

    def _note(self, note: Note, cells: int) -> list[Cells]:
        style = "class:error" if note.kind == "error" else "class:note"
        found: list[Cells] = []
        for row in self._plain(note.text).split("\n"):
            head, gap, said = row.partition("  ") if note.kind == "help" else ("", "", row)
            columns = 2 if "  " in row.strip() else 0  # a row of a list goes on a little further in
            indent = min(len(row) - len(row.lstrip(" ")) + columns, max(0, cells // 3))
            if gap and cells >= 60:
                column = len(row) - len(said.lstrip(" "))
                line = [("class:note.head", row[:column]), (style, said.lstrip(" "))]
                found += wrap(line, cells, rest=(("", " " * column),))
            elif gap:
                found += [(("class:note.head", cut(head, cells)),), *_indented(said.strip(), style, cells)]
            else:
                found += wrap([(style, row)], cells, rest=(("", " " * indent),))
        return found


def _indented(text: str, style: str, cells: int) -> list[Cells]:
    return wrap([(style, text)], cells, first=(("", "  "),), rest=(("", "  "),))


def fields(text: str) -> Iterable[tuple[str, str]]:
    """``(label, line)`` of what a tool was given or gave: an object field by field, texts with their lines."""
    try:
        value = json.loads(text) if text[:1] in "{[" else text
    except (ValueError, RecursionError):  # no JSON, or nested without end: as it stands
        value = text
    if not isinstance(value, dict):
        shown = value if isinstance(value, str) else as_json(value, 2)
        return [("", line) for line in shown.rstrip("\n").split("\n")] if shown.strip() else []
    found: list[tuple[str, str]] = []
    for name, entry in value.items():
        shown = entry if isinstance(entry, str) else as_json(entry)
        first, *rest = shown.rstrip("\n").split("\n")
        found += [
            (f"{name}: ", "" if rest else first),
            *(("", f"  {line}") for line in (([first, *rest]) if rest else ())),
        ]
    return found


# -- round about -----------------------------------------------------------------------------------------------------


def asking(state: State, cells: int, words: Words, *, empty: bool) -> list[Cells]:
    """What stands right above the line that is typed: a question that waits, the key that is wanted, attachments."""
    made: list[Cells] = []
    if state.key_for:
        made += wrap([("class:ask", clean(words("remote.key", url=state.key_for)))], cells)
    if state.attached:
        names = clean(", ".join(one.name for one in state.attached))
        made += [(("class:dim", cut(words("attached", names=names), cells)),)]
    asked = question(state)
    if asked is not None and not state.key_for:
        made += wrap([("class:ask", asks(asked, clean, words))], cells)
        kind = "ask" if asked.yes == "thread" else f"ask.{asked.yes}"
        keys = words(f"{kind}.keys" if empty else f"{kind}.busy")
        others = sum(isinstance(item, Asked) and item.status == "asked" for item in state.follow.items) - 1
        keys += f"  ({words('ask.more', count=others)})" if others else ""
        made += wrap([("class:ask.keys", keys)], cells)
    return made


def rule(state: State, cells: int, words: Words) -> Cells:
    """The line between the conversation and what is typed; it says when the end is not on the screen."""
    if state.place is None:
        return (("class:rule", "─" * cells),)
    said = cut(f" {words('below')} ", max(0, cells - 4))
    return (("class:rule", "──"), ("class:below", said), ("class:rule", "─" * max(0, cells - 2 - width(said))))


def status(state: State, cells: int, words: Words) -> Cells:
    """The last line: the connection and the conversation on the left, what is done and by whom on the right.

    What does not fit goes in this order: cost, tokens, title, model, the connection's name.
    """
    line = state.line
    name = clean(line.name or words("local"))
    dot = {"up": "●", "dialing": "◌", "lost": "○", "refused": "✗"}[line.state]
    link = name if line.state == "up" else words(f"line.{line.state}", name=name)
    doing = _doing(state, words)
    model = _model(state, words)
    read, written = state.tokens
    tokens = words("tokens", read=_short(read), written=_short(written)) if read or written else ""
    title = clean(state.title) or (words("conversation.new") if line.state == "up" and not state.thread else "")
    room = cells - 2
    shown: dict[str, str] = {}
    for key, text, least in (
        ("doing", doing, 4), ("link", link, 6), ("model", model, 8), ("title", title, 8), ("tokens", tokens, 99),
        ("cost", state.cost.said(words), 99),
    ):  # fmt: skip
        left = room - (3 if shown else 0)
        if text and (width(text) <= left or left >= least):
            shown[key] = cut(text, left if key != "title" else min(left, max(8, cells // 3)))
            room = left - width(shown[key])
    left_side = " · ".join(shown[key] for key in ("link", "title") if key in shown)
    right_side = [(f"class:status.{key}", shown[key]) for key in ("doing", "tokens", "cost", "model") if key in shown]
    right: list[Fragment] = []
    for style, text in right_side:
        right += [("class:status", " · ") if right else ("class:status", ""), (style, text)]
    gap = cells - width(dot) - 1 - width(left_side) - sum(width(text) for _, text in right)
    style = "class:status.ok" if line.state == "up" else "class:status.bad"
    return ((style, dot), ("class:status", f" {left_side}{' ' * max(0, gap)}"), *right)


def _doing(state: State, words: Words) -> str:
    running = state.follow.running
    if running is None:
        if state.model.state == "loading":
            return words("doing.loading")
        return ""
    if running.total > 0 and running.doing in ("reading", "loading"):
        return words(f"doing.{running.doing}.of", percent=min(100, 100 * running.done // running.total))
    return words(f"doing.{running.doing}")


def _model(state: State, words: Words) -> str:
    model = state.model
    name = clean(model.name)
    if not name:
        return words("model.none") if state.line.state == "up" and model.hint else ""
    return words("model.embedded", name=name) if model.kind == "embedded" else name


def _short(count: int) -> str:
    return str(count) if count < 1000 else f"{count / 1000:.1f}k" if count < 100_000 else f"{count // 1000}k"
