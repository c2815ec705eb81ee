"""Tool results as text: never empty, never cut silently.  Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping

from homed.memory.shorten import ends

EMPTY = "(the tool gave no output)"


def as_text(content: object) -> str:
    """A string as it is, None as nothing, anything else as compact JSON."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    return json.dumps(content, ensure_ascii=False, separators=(",", ":"), default=str)


def head_and_tail(text: str, limit: int, handle: str = "") -> str:
    """``text`` if its UTF-8 is at most ``limit`` bytes, else its beginning and end with what is left out between them.

    ``handle`` names the stored whole for ``result_read``; offsets there are characters, as here.
    """
    if len(text) <= limit // 4 or len(text.encode()) <= limit:
        return text
    half = max(1, limit // 2)
    head = text.encode()[:half].decode(errors="ignore")
    tail = text.encode()[-half:].decode(errors="ignore")
    how = f'; read on with result_read(id="{handle}", offset={len(head)})' if handle else ""
    return ends(text, len(head), len(tail), how)


def error_text(name: str, error: BaseException) -> str:
    """What the model reads of a failure; never empty (A7)."""
    said = str(error).strip()
    if said:
        return f"error: {said}"
    return f"error: {name or 'the tool'} failed ({type(error).__name__}) without a message"


def refusal(reason: str, *, field: str = "", detail: str = "", hint: str = "") -> str:
    """A structured refusal for the model."""
    return as_text({"field": field, "reason": reason, "detail": detail, "hint": hint})


def is_refusal(text: str) -> bool:
    """True for a text that ``refusal`` made."""
    return text.startswith('{"field":') and '"reason":' in text


def shown_arguments(arguments: Mapping[str, object] | None, raw: str) -> dict[str, object]:
    """Arguments for display and storage when they may not have been decodable."""
    return dict(arguments) if arguments is not None else {"undecodable": raw[:2000]}
