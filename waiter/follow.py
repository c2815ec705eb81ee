"""A conversation kept in step with homed: histories and notices in, what stands in it out.  Pure.

Everything has a key that is the same whether a notice or the history tells it, texts carry offsets, and the history
says which notices it includes: so that in whatever order they come nothing is shown twice and nothing is lost.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from . import frames
from .frames import Data, files_of, mapping, mappings, number, text, whose
from .model import Answer, Asked, Following, Item, Note, Paused, Recall, Running, Said, Thought, Tool
from .pages import page

HELD = 4096
"""Notices kept while a history is on its way (two minutes of a fast stream); more make it be asked for again."""


def heard(follow: Following, notice: Data, peer: str) -> tuple[Following, bool]:
    """Take a notice of this conversation.  True: something is missing, and the history must be asked for."""
    if follow.fetching:
        full = len(follow.held) >= HELD
        follow = replace(follow, held=follow.held if full else (*follow.held, notice), again=follow.again or full)
    if number(notice, "seq") <= follow.synced:
        return follow, False
    follow, gap = _apply(follow, notice, peer)
    return replace(follow, synced=number(notice, "seq")), gap


def synchronised(follow: Following, history: Data, peer: str) -> tuple[Following, bool]:
    """The conversation as a history (its newest page) and the notices since then give it.  True: ask once more."""
    before, more, oldest = _older(follow, history)
    fresh = page(history, peer)
    there = {item.key for item in fresh}
    kept = _known(follow, [*(item for item in before if item.key not in there), *fresh])
    made = replace(
        follow,
        items=kept, synced=number(history, "seq"), fetching=False, again=False, held=(),
        more=more, oldest=oldest, running=_running(history, follow),
    )  # fmt: skip
    missing = follow.again
    for notice in follow.held:
        if number(notice, "seq") > made.synced:
            made, gap = _apply(made, notice, peer)
            made, missing = replace(made, synced=number(notice, "seq")), missing or gap
    return made, missing


def older(follow: Following, history: Data, peer: str) -> Following:
    """Put an older page before what is there."""
    events = mappings(history.get("events"))
    found = page({**history, "live": None, "suspended": (), "queued": (), "approvals": ()}, peer)
    known = {item.key for item in follow.items}
    fresh = tuple(item for item in found if item.key not in known)
    oldest = number(events[0], "seq") if events else follow.oldest
    return replace(
        follow, items=(*fresh, *follow.items), more=bool(history.get("more")) and bool(events), oldest=oldest
    )


def last_turn(items: Iterable[Item]) -> str:
    """The turn of the newest thing that belongs to one."""
    return next((item.turn for item in reversed(tuple(items)) if not isinstance(item, Said | Note)), "")


def put(items: tuple[Item, ...], item: Item) -> tuple[Item, ...]:
    """With ``item`` in the place of the one with its key, or at the end: before what still waits for its turn."""
    for at in range(len(items) - 1, -1, -1):
        if items[at].key == item.key:
            return (*items[:at], item, *items[at + 1 :])
    end = len(items)
    while end and _waits(items[end - 1]):
        end -= 1
    return (*items[:end], item, *items[end:])


def _waits(item: Item) -> bool:
    return isinstance(item, Said) and item.queued


def find(items: tuple[Item, ...], key: str) -> Item | None:
    """The thing with this key."""
    return next((item for item in reversed(items) if item.key == key), None)


# -- notices -------------------------------------------------------------------------------------------------------


def _apply(follow: Following, notice: Data, peer: str) -> tuple[Following, bool]:
    data, turn, kind = mapping(notice.get("data")), text(notice, "turn"), text(notice, "type")
    if kind in ("content_delta", "reasoning_delta"):
        return _delta(follow, data, turn, thought=kind == "reasoning_delta")
    if kind == "turn":
        return _turn(follow, data, turn)
    if kind == "raw_input":
        key = f"u:{text(data, 'input')}"
        if find(follow.items, key) is None:
            said = Said(key, text(data, "text"), whose(data, text(data, "peer"), peer), files_of(data), queued=True)
            follow = replace(follow, items=(*follow.items, said))
        return follow, False
    return _told(follow, kind, data, turn), False


def _told(follow: Following, kind: str, data: Data, turn: str) -> Following:
    items, hushed = follow.items, turn in follow.hushed
    if kind == "agent_llm_chain" and not hushed:
        items = _settle(items, turn, number(data, "step"), data)
    elif kind == "agent_output":
        items = _output(items, turn, text(data, "text"), hushed=hushed)
    elif kind == "tool_call" and (not hushed or data.get("status") == "interrupted"):
        call = frames.tool(turn, data, number(data, "step"))
        items = put(items, call)
        follow = _doing(follow, turn, "tool" if call.status == "running" else "reading")
    elif kind == "approval":
        asked = frames.asked(turn, data)
        items = put(items, asked)
        follow = _doing(follow, turn, "waiting" if asked.status == "asked" else "tool")
    elif kind == "recall":
        items = put(items, frames.recall(turn, data))
    elif kind == "child":
        items = put(items, frames.agent_news(data, turn, find(items, f"g:{turn}:{text(data, 'child')}")))
    elif kind == "agent_error":
        items = put(items, frames.end(turn, {"state": "failed", **data}))
    elif kind == "progress" and follow.running is not None and follow.running.turn in (turn, ""):
        what = "loading" if data.get("what") == "loading" else "reading"
        running = replace(follow.running, doing=what, done=number(data, "done"), total=number(data, "total"))
        follow = replace(follow, running=running)
    elif kind == "system" and text(data, "message"):
        items = put(items, Note(f"n:{turn}:{text(data, 'code')}", text(data, "message")))
    return replace(follow, items=items)


def _turn(follow: Following, data: Data, turn: str) -> tuple[Following, bool]:
    key, phase = f"u:{text(data, 'input')}", text(data, "phase")
    said = find(follow.items, key)
    if data.get("with"):
        return follow, False  # one that was put into the turn, which ends by itself
    if phase in ("suspended", "resumed"):
        return _paused(follow, data, turn, phase == "suspended"), False
    if phase == "end":
        items = tuple(_cancelled(item, turn) for item in _without(follow.items, f"s:{turn}"))
        items = put(items, frames.end(turn, data))
        running = None if follow.running and follow.running.turn == turn else follow.running
        return replace(follow, items=items, running=running), False
    items = follow.items
    if isinstance(said, Said) and said.queued:  # its turn begins: it stands behind what was before
        items = put(tuple(item for item in items if item.key != key), replace(said, queued=False))
    running = follow.running if phase == "joined" else Running(turn, text(data, "input"))
    return replace(follow, items=items, running=running), said is None and not follow.fetching


def _paused(follow: Following, data: Data, turn: str, suspended: bool) -> Following:
    """What a suspended turn has said stays; it is taken back when the turn goes on, for then it is said anew."""
    if suspended:
        running = None if follow.running and follow.running.turn == turn else follow.running
        return replace(follow, items=put(follow.items, Paused(f"s:{turn}", turn)), running=running)
    step = number(data, "step")
    items = _without(follow.items, f"s:{turn}", f"a:{turn}:{step}", f"h:{turn}:{step}")
    return replace(follow, items=items, running=Running(turn, text(data, "input")))


def _without(items: tuple[Item, ...], *keys: str) -> tuple[Item, ...]:
    return tuple(item for item in items if item.key not in keys)


def _cancelled(item: Item, turn: str) -> Item:
    """Nobody waits for an answer any more once the turn is over."""
    open_ = isinstance(item, Asked) and item.turn == turn and item.status == "asked"
    return replace(item, status="cancelled") if open_ and isinstance(item, Asked) else item


def _delta(follow: Following, data: Data, turn: str, *, thought: bool) -> tuple[Following, bool]:
    if turn in follow.hushed:
        return follow, False
    step, at, more = number(data, "step"), number(data, "at"), text(data, "text")
    key = f"{'h' if thought else 'a'}:{turn}:{step}"
    item = find(follow.items, key)
    have = item.text if isinstance(item, Answer | Thought) else ""
    if at > len(have):  # a gap; asked about once, then the step's whole text fills it
        new = (turn, step) not in follow.gaps and not follow.fetching
        return (replace(follow, gaps=follow.gaps | {(turn, step)}) if new else follow), new
    joined = have + more[len(have) - at :]
    if joined == have:
        return follow, False
    made: Item = Thought(key, turn, step, joined) if thought else Answer(key, turn, step, joined)
    items = _before_answer(follow.items, made) if thought else put(follow.items, made)
    return _doing(replace(follow, items=items), turn, "thinking" if thought else "writing"), False


def _before_answer(items: tuple[Item, ...], thought: Item) -> tuple[Item, ...]:
    """A thought stands before the answer of its step, whichever came first."""
    if isinstance(thought, Thought) and find(items, thought.key) is None:
        answer = f"a:{thought.turn}:{thought.step}"
        for at, item in enumerate(items):
            if item.key == answer:
                return (*items[:at], thought, *items[at:])
    return put(items, thought)


def _doing(follow: Following, turn: str, doing: str) -> Following:
    running = follow.running
    if running is None or running.turn != turn or running.doing in (doing, "stopping"):
        return follow
    return replace(follow, running=replace(running, doing=doing, done=0, total=0))


def _settle(items: tuple[Item, ...], turn: str, step: int, data: Data) -> tuple[Item, ...]:
    """The stored text of a step replaces what the deltas built."""
    said, thought = text(data, "text"), text(data, "reasoning")
    key = f"a:{turn}:{step}"
    if said:
        items = _before_tools(items, Answer(key, turn, step, said))
    else:
        items = tuple(item for item in items if item.key != key)
    return _before_answer(items, Thought(f"h:{turn}:{step}", turn, step, thought)) if thought else items


def _before_tools(items: tuple[Item, ...], answer: Answer) -> tuple[Item, ...]:
    """What was said in a step stands before the tools it called, also if no delta came first."""
    if find(items, answer.key) is None:
        for at, item in enumerate(items):
            if isinstance(item, Tool) and (item.turn, item.step) == (answer.turn, answer.step):
                return (*items[:at], answer, *items[at:])
    return put(items, answer)


def _output(items: tuple[Item, ...], turn: str, said: str, *, hushed: bool) -> tuple[Item, ...]:
    """The stored final text; of a turn that the person stopped no more is shown than was."""
    steps = [item.step for item in items if isinstance(item, Answer | Tool | Thought) and item.turn == turn]
    called = {item.step for item in items if isinstance(item, Tool) and item.turn == turn}
    step = max(steps, default=0)
    step += 1 if step in called else 0
    key = f"a:{turn}:{step}"
    shown = find(items, key)
    have = shown.text if isinstance(shown, Answer) else ""
    if hushed and said.startswith(have):
        return items
    return put(items, Answer(key, turn, step, said)) if said else items


# -- histories -----------------------------------------------------------------------------------------------------


def _running(history: Data, before: Following) -> Running | None:
    live = mapping(history.get("live"))
    turn = text(live, "turn")
    if not turn:
        return None
    known = before.running
    if known is not None and known.turn == turn:
        return known
    doing = "stopping" if turn in before.hushed else "writing" if text(live, "text") else "reading"
    return Running(turn, text(live, "input"), doing)


def _older(follow: Following, history: Data) -> tuple[list[Item], bool, int]:
    """What was loaded from older pages and still joins this one: (the things, is there more, the oldest event)."""
    events = mappings(history.get("events"))
    first = number(events[0], "seq") if events else 0
    newest = max((_seq(item) for item in follow.items), default=0)
    if not events or not follow.oldest or follow.oldest >= first or newest < first:
        return [], bool(history.get("more")), first
    kept: list[Item] = []
    for item in follow.items:
        if _seq(item) >= first:
            break
        if not isinstance(item, Note) or item.key.startswith("n:"):
            kept.append(item)
    return kept, follow.more, follow.oldest


def _known(follow: Following, made: list[Item]) -> tuple[Item, ...]:
    """The fresh page with what only we know: our notes where they stood, details asked for, what was hushed."""
    before = {item.key: item for item in follow.items}
    items = {item.key: _kept(item, before.get(item.key), follow) for item in made}
    notes: dict[str, list[Item]] = {}
    for item in follow.items:
        if isinstance(item, Note) and item.key not in items and not item.key.startswith("n:"):
            notes.setdefault(item.after if item.after in items else "", []).append(item)
    found: list[Item] = []
    for item in items.values():
        found += [item, *notes.pop(item.key, ())]
    return (*found, *(note for left in notes.values() for note in left))


def _kept(item: Item, before: Item | None, follow: Following) -> Item:
    if isinstance(item, Recall) and isinstance(before, Recall):
        return replace(item, detail=before.detail, told=before.told)
    if isinstance(item, Tool) and isinstance(before, Tool) and item.ms < 0:
        return replace(item, ms=before.ms)
    hushed = isinstance(item, Answer) and item.turn in follow.hushed and isinstance(before, Answer)
    if hushed and isinstance(item, Answer) and isinstance(before, Answer) and item.text.startswith(before.text):
        return replace(item, text=before.text)
    return item


def _seq(item: Item) -> int:
    return item.seq if isinstance(item, Said | Answer | Thought | Tool) else 0
