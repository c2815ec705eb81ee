"""What keys do that are not typing: stop, open and fold, choose, answer a question, load older pages.  Pure."""

from __future__ import annotations

from dataclasses import replace

from . import follow, orders
from .messages import Pressed
from .model import FOLDED, Asked, Item, Names, Recall, State
from .orders import Step, ask, opened, told
from .words import Words

METHODS = {"model": "admin.models_list", "plugin": "admin.plugins", "setting": "admin.config_list"}
"""What tells the names of a kind."""


def pressed(state: State, message: Pressed, words: Words) -> Step:
    """What a key does that is not typing."""
    match message.name:
        case "stop":
            return _escaped(state, words)
        case "open":
            return _opened(state, message.arg)
        case "next" | "previous":
            return _choose(state, -1 if message.name == "previous" else 1), ()
        case "older":
            return _older(state)
        case "allow" | "always" | "deny":
            return _decide(state, message.name)
        case "complete":
            return _complete(state, message.arg)
    return state, ()


def _escaped(state: State, words: Words) -> Step:
    if state.key_for:
        return told(replace(state, key_for=""), words("remote.forgotten"))
    if state.follow.running is not None:
        return orders.stop(state)
    return replace(state, chosen="", place=None), ()


def foldable(items: tuple[Item, ...]) -> list[str]:
    """Keys of what can be opened, from top to bottom."""
    return [item.key for item in items if isinstance(item, FOLDED)]


def _choose(state: State, by: int) -> State:
    keys = foldable(state.follow.items)
    if not keys:
        return state
    at = keys.index(state.chosen) + by if state.chosen in keys else len(keys) - 1
    return replace(state, chosen=keys[max(0, min(at, len(keys) - 1))])


def _opened(state: State, key: str) -> Step:
    """Open or shut: what was clicked, what is chosen, or the newest."""
    keys = foldable(state.follow.items)
    key = key or state.chosen or (keys[-1] if keys else "")
    if key not in keys:
        return state, ()
    state = replace(state, opened=state.opened ^ {key})
    item = follow.find(state.follow.items, key)
    if isinstance(item, Recall) and not item.detail and key in state.opened:
        return opened(state, item)
    return state, ()


def _older(state: State) -> Step:
    at = state.follow
    if not (at.more and at.oldest and state.thread) or state.line.state != "up":
        return state, ()
    state = replace(state, follow=replace(at, more=False))  # until the page is here: asked for once
    return ask(state, "older", "history", {"thread": state.thread, "before": at.oldest, "limit": 50})


def question(state: State) -> Asked | None:
    """The approval that waits longest."""
    return next((item for item in state.follow.items if isinstance(item, Asked) and item.status == "asked"), None)


def _decide(state: State, word: str) -> Step:
    asked = question(state)
    if asked is None:
        return state, ()
    if word == "always" and asked.yes != "thread":
        return state, ()  # it is not offered
    decision, remember = "deny" if word == "deny" else "allow", "thread" if word == "always" else "once"
    shown = replace(asked, status="denied" if word == "deny" else "allowed")
    state = replace(state, follow=replace(state.follow, items=follow.put(state.follow.items, shown)))
    params = {"approval": asked.approval, "decision": decision, "remember": remember}
    return ask(state, "approve", "approve", params, arg=asked.key)


def _complete(state: State, kind: str) -> Step:
    """Names that a command can be completed with are asked for when they are first needed."""
    known = {"model": state.names.models, "plugin": state.names.plugins, "setting": state.names.settings}
    if kind not in METHODS or known[kind] is not None or state.line.state != "up":
        return state, ()
    names: Names = replace(state.names, **{f"{kind}s": ()})
    return ask(replace(state, names=names), "names", METHODS[kind], arg=kind)
