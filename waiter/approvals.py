"""Asking a person whether a tool may run.  Pure."""

from __future__ import annotations

from .progress import Ask
from .terminal import as_json

PROMPT = "[y] once  [t] in this conversation from now on  [n] no: "


def question(ask: Ask) -> str:
    """What is asked.

    The arguments stand there whole, as JSON, so that no line in them can pose as ours; before the question, so that
    however long they are it stays in sight.
    """
    args = as_json(ask.args, 2)
    reason = f" ({ask.reason})" if ask.reason else ""
    return f"{args}\nMay {ask.tool} of the plugin {ask.plugin} run? It is of the class {ask.tool_class}.{reason}"


def answer_of(line: str) -> tuple[str, str] | None:
    """``(decision, remember)`` of a typed line; None if it is no answer.  An empty line is a no."""
    word = line.strip().lower()
    if word in ("y", "yes", "是", "好"):
        return "allow", "once"
    if word in ("t", "conversation", "thread"):
        return "allow", "thread"
    if word in ("n", "no", "", "否", "不"):
        return "deny", "once"
    return None
