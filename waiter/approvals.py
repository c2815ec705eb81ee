"""Asking a person whether a tool may run.  Pure."""

from __future__ import annotations

from collections.abc import Callable

from .model import Asked
from .progress import Ask
from .terminal import as_json
from .words import Words


def question(ask: Ask, words: Words) -> str:
    """What is asked.

    The arguments stand there whole, as JSON, so that no line in them can pose as ours; before the question, so that
    however long they are it stays in sight.
    """
    if ask.yes == "day":
        return f"{ask.reason}\n{words('ask.day')}"
    args = as_json(ask.args, 2)
    reason = f" ({ask.reason})" if ask.reason else ""
    known = ask.tool_class in ("read", "write", "dangerous")
    class_ = words("ask.class", tool_class=words(f"class.{ask.tool_class}") if known else ask.tool_class)
    return f"{args}\n{asks(ask, str, words)} {class_}{reason}"


def asks(ask: Ask | Asked, flat: Callable[[str], str], words: Words) -> str:
    """The question itself; ``flat`` makes a name from outside a line."""
    return words("ask.day") if ask.yes == "day" else words("ask", tool=flat(ask.tool), plugin=flat(ask.plugin))


def prompt(ask: Ask, words: Words) -> str:
    """What can be answered."""
    return words(f"talk.ask.{ask.yes}")


def answer_of(line: str, ask: Ask) -> tuple[str, str] | None:
    """``(decision, remember)`` of a typed line; None if it is no answer to this.  An empty line is a no."""
    word = line.strip().lower()
    if word in ("y", "yes", "是", "好"):
        return "allow", "once"
    if word in ("t", "conversation", "thread") and ask.yes == "thread":
        return "allow", "thread"
    if word in ("n", "no", "", "否", "不"):
        return "deny", "once"
    return None
