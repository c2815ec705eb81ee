"""A thread as `io.history` gives it, as the sections of a page that is made whole."""

from __future__ import annotations

from collections.abc import Mapping

from .fragments import Fragments
from .items import Items
from .markdown import Markdown
from .pieces import Item, Section
from .reading import Data, integer, mapping, mappings, string


def sections(history: Data, fragments: Fragments) -> list[Section]:
    """The turns of a page of history, in order; with the one under way and what waits for an answer."""
    return _Whole(fragments).sections(history)


class _Whole:
    def __init__(self, fragments: Fragments) -> None:
        self._items = Items(fragments)
        self._markdown = Markdown()
        self._steps: dict[str, int] = {}
        self._made: dict[str, Section] = {}

    def sections(self, history: Data) -> list[Section]:
        for event in mappings(history.get("events")):
            section = self._section(string(event, "turn"))
            section.input = section.input or string(mapping(event.get("data")), "input")
            section.items.extend(self._event(event))
        for end in mappings(history.get("ended")):
            if (ended := self._made.get(string(end, "turn"))) is not None:
                ended.items.append(self._items.end(ended.turn, end))
        live = history.get("live")
        if isinstance(live, Mapping):
            section = self._section(string(live, "turn"))
            section.input, section.live = string(live, "input"), True
            section.items.extend(self._live(live))
        for still in mappings(history.get("suspended")):
            section = self._section(string(still, "turn"))
            section.input, section.suspended = string(still, "input"), True
            section.items.extend([*self._live(still), self._items.paused()])
        for recall in mappings(history.get("recalls")):
            if (recalled := self._made.get(string(recall, "turn"))) is not None:
                recalled.items.extend(self._items.recall(recall))
        for written in mappings(history.get("written")):
            if (kept := self._made.get(string(written, "turn"))) is not None:
                kept.items.append(self._items.written(written))
        for agent in mappings(history.get("agents")):
            if (made := self._made.get(string(agent, "turn"))) is not None:
                made.items.append(self._items.agent(agent))
        for waiting in mappings(history.get("queued")):
            name = string(waiting, "input")
            known = next((one for one in self._made.values() if one.input == name), None)
            section = known or self._made.setdefault(f"input:{name}", Section("", name))
            section.items.append(self._items.said(waiting, waiting.get("accepted_at")))
        for approval in mappings(history.get("approvals")):
            section = self._section(string(approval, "turn"))
            section.items.extend(self._items.approval(section.turn, approval, self._steps.get(section.turn, 0)))
        return list(self._made.values())

    def _section(self, turn: str) -> Section:
        return self._made.setdefault(turn, Section(turn))

    def _event(self, event: Data) -> list[Item]:
        kind, text, turn = string(event, "kind"), string(event, "text"), string(event, "turn")
        data, step = mapping(event.get("data")), self._steps.get(turn, 0)
        if kind == "user":
            return [self._items.said(event, event.get("created_at"), step if data.get("inserted") else None)]
        if kind == "note" and data.get("code") == "no_answer":
            return []  # why stands at the turn's end
        if kind == "note":
            return [self._items.note(event, step)]
        if kind == "tool":
            done = {**data, "call": data.get("call_id", ""), "tool": data.get("name", ""), "result": text}
            return [self._items.tool(turn, done, max(step, 1) - 1)]
        step = integer(data.get("step", step))
        self._steps[turn] = step + 1
        items = self._texts(step, text, string(data, "reasoning"))
        for call in mappings(data.get("calls")):
            known = {"call": call.get("id", ""), "tool": call.get("name", ""), "args": call.get("arguments", {})}
            items.append(self._items.tool(turn, {**known, "status": "unknown", "step": step}, step))
        return items

    def _texts(self, step: int, text: str, reasoning: str) -> list[Item]:
        items = [self._items.reasoning(step, reasoning)] if reasoning else []
        return [*items, self._items.text(step, self._markdown.blocks(text))] if text else items

    def _live(self, live: Data) -> list[Item]:
        step = integer(live.get("step"))
        items = self._texts(step, string(live, "text"), string(live, "reasoning"))
        items.extend(self._items.tool(string(live, "turn"), call, step) for call in mappings(live.get("calls")))
        return items
