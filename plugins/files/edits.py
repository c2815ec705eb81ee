"""Exact replacements, all or nothing.  Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from homed.sdk import ToolError

MAX_EDITS = 100


@dataclass(frozen=True, slots=True)
class Edit:
    """Replace ``old``, which must stand exactly once in the file as it was, by ``new``."""

    old: str
    new: str


def apply(text: str, edits: Sequence[Edit]) -> str:
    """Apply every edit to ``text`` or raise ToolError having changed nothing.

    Places are looked up in the text as it was before the first edit, so that one edit cannot create or hide the
    place of another; two that overlap are refused.
    """
    if not edits:
        raise ToolError("There is nothing to edit.", hint="Give at least one edit with `old` and `new`.")
    if len(edits) > MAX_EDITS:
        raise ToolError(f"At most {MAX_EDITS} edits at a time.")
    found = ((_find(text, edit, number), edit) for number, edit in enumerate(edits, 1))
    spans = sorted(found, key=lambda pair: pair[0])
    parts: list[str] = []
    done = 0
    for at, edit in spans:
        if at < done:
            raise ToolError("Two edits overlap.", hint="Join them into one edit.")
        parts += (text[done:at], edit.new)
        done = at + len(edit.old)
    return "".join((*parts, text[done:]))


def _find(text: str, edit: Edit, number: int) -> int:
    if not edit.old:
        raise ToolError(f"Edit {number}: `old` is empty.", hint="Quote the lines the new text goes beside.")
    if edit.old == edit.new:
        raise ToolError(f"Edit {number}: `old` and `new` are the same.")
    at = text.find(edit.old)
    if at < 0:
        raise ToolError(
            f"Edit {number}: `old` is not in the file.", hint="Read the file again and copy the text exactly."
        )
    if text.find(edit.old, at + 1) >= 0:
        raise ToolError(f"Edit {number}: `old` stands in the file more than once.", hint="Quote more around it.")
    return at
