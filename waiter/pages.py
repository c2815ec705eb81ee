"""A page of history as what stands in a conversation, from top to bottom.  Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from . import frames
from .frames import Data, files_of, label_of, mapping, mappings, number, text, whose
from .model import Answer, Item, Note, Paused, Said, Thought, Tool


def page(history: Data, peer: str) -> list[Item]:
    """What one page of history holds, from top to bottom."""
    events = mappings(history.get("events"))
    ended = {text(end, "turn"): end for end in mappings(history.get("ended"))}
    recalls = {text(entry, "turn"): entry for entry in mappings(history.get("recalls"))}
    agents = [frames.agent(one, text(one, "turn")) for one in mappings(history.get("agents"))]
    live = mapping(history.get("live"))
    last = {text(event, "turn"): at for at, event in enumerate(events)}
    items: dict[str, Item] = {}
    steps: dict[str, int] = {}
    for at, event in enumerate(events):
        turn = text(event, "turn")
        for item in _event(event, steps, items, peer):
            items[item.key] = item
        if turn in recalls and text(event, "kind") == "user":
            items[f"r:{turn}"] = frames.recall(turn, recalls[turn])
        if last[turn] == at:
            items |= {made.key: made for made in agents if made.turn == turn}
        if turn in ended and last[turn] == at:
            items[f"e:{turn}"] = frames.end(turn, ended[turn])
    for still in mappings(history.get("suspended")):
        for item in (*_live(still), Paused(f"s:{text(still, 'turn')}", text(still, "turn"))):
            items.setdefault(item.key, item)
    for item in _live(live):
        items.setdefault(item.key, item)
    for waiting in mappings(history.get("queued")):
        said = Said(
            f"u:{text(waiting, 'input')}", text(waiting, "text"), label_of(text(waiting, "peer"), peer),
            files_of(waiting), queued=text(waiting, "input") != text(live, "input"),
        )  # fmt: skip
        items.setdefault(said.key, said)
    for approval in mappings(history.get("approvals")):
        asked = frames.asked(text(approval, "turn"), approval)
        items[asked.key] = asked
    return list(items.values())


def _event(event: Data, steps: dict[str, int], items: Mapping[str, Item], peer: str) -> Iterable[Item]:
    kind, said, turn, seq = text(event, "kind"), text(event, "text"), text(event, "turn"), number(event, "seq")
    data = mapping(event.get("data"))
    if kind == "user":
        label = whose(data, text(event, "peer"), peer)
        return [Said(f"u:{text(data, 'input') or event.get('id')}", said, label, files_of(data), seq=seq)]
    if kind == "tool":
        done = {**data, "call": data.get("call_id"), "tool": data.get("name"), "result": said}
        known = items.get(f"t:{turn}:{data.get('call_id')}")
        step = known.step if isinstance(known, Tool) else steps.get(turn, 1) - 1
        made = replace(frames.tool(turn, done, step), seq=seq)
        return [replace(made, args=known.args) if isinstance(known, Tool) and known.args else made]
    if kind != "assistant":
        return [Note(f"n:{event.get('id')}", said)] if said and data.get("code") != "no_answer" else []
    step = number(data, "step") if isinstance(data.get("step"), int) else steps.get(turn, 0)
    steps[turn] = step + 1
    found: list[Item] = []
    if text(data, "reasoning"):
        found.append(Thought(f"h:{turn}:{step}", turn, step, text(data, "reasoning"), seq=seq))
    if said:
        found.append(Answer(f"a:{turn}:{step}", turn, step, said, seq=seq))
    for call in mappings(data.get("calls")):
        entry = {"call": call.get("id"), "tool": call.get("name"), "args": call.get("arguments"), "status": "unknown"}
        found.append(replace(frames.tool(turn, entry, step), seq=seq))
    return found


def _live(live: Data) -> Iterable[Item]:
    """The turn under way, as far as no event has it."""
    turn, step = text(live, "turn"), number(live, "step")
    if not turn:
        return
    if text(live, "reasoning"):
        yield Thought(f"h:{turn}:{step}", turn, step, text(live, "reasoning"))
    if text(live, "text"):
        yield Answer(f"a:{turn}:{step}", turn, step, text(live, "text"))
    for call in mappings(live.get("calls")):
        yield frames.tool(turn, call, step)
