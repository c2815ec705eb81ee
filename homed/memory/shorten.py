"""An event shown head and tail, for the view only: the stored one stays whole.  Pure."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

from homed.memory.records import Event, EventKind, NewEvent

Estimate = Callable[[str], int]

WIDEST = 8
"""Characters of one token at the most, in a text worth showing: more of a text is never looked at to shorten it."""

SAMPLE = 2_000
"""Characters of its beginning and of its end that tell how wide the tokens of a long text are."""

MESSAGE_TOKENS = 4
"""What role marks and separators of one message cost."""


def event_tokens(event: Event | NewEvent, estimate: Estimate) -> int:
    """What the event costs in a prompt: its text, a tool's result whole, calls with their arguments, reasoning, and
    what its source wants back."""
    total = MESSAGE_TOKENS + estimate(event.text)
    if event.kind is EventKind.ASSISTANT:
        total += sum(_call_tokens(call, estimate) for call in _calls(event))
        reasoning = event.data.get("reasoning")
        said = estimate(reasoning) if isinstance(reasoning, str) else 0
        total += max(said, estimate(event.opaque))  # one of the two goes along: the other tells the same
    return total


def shown_tokens(event: Event, estimate: Estimate) -> int:
    """The same of an event as it is shown; the count that was stored with it, if it is shown whole (``tokens``)."""
    return event.tokens or event_tokens(event, estimate)


def shorten(event: Event, limit: int, estimate: Estimate) -> Event | None:
    """The event at no more than ``limit`` tokens, or None when not even its frame fits.

    Reasoning goes first, and whole; then text and the arguments of calls are cut to head and tail.
    """
    if len(event.text) <= max(0, limit) * WIDEST and event_tokens(event, estimate) <= limit:
        return event
    event = replace(event, tokens=0, opaque="")  # those of the whole
    if event.data.get("reasoning"):
        event = replace(event, data={**event.data, "reasoning": ""})
    calls = _calls(event)
    pieces = 1 + len(calls)
    share = max(0, limit - MESSAGE_TOKENS) // pieces
    if calls:
        cut = [_shorten_call(call, share, event.id, estimate) for call in calls]
        event = replace(event, data={**event.data, "calls": cut})
    spent = event_tokens(replace(event, text=""), estimate)
    event = replace(event, text=in_tokens(event.text, limit - spent, event.id, estimate))
    return event if event_tokens(event, estimate) <= limit else None


def ends(text: str, head: int, tail: int, note: str = "") -> str:
    """The first ``head`` and last ``tail`` characters, with how many are missing between them; a ``note`` on that."""
    missing = f"[… {len(text) - head - tail} of {len(text)} characters left out{note} …]"
    return f"{text[:head]}\n{missing}\n{text[-tail:] if tail else ''}"


def in_tokens(text: str, limit: int, name: str, estimate: Estimate) -> str:
    """``text`` at no more than ``limit`` tokens if that can be: its head, a mark of what is missing, its tail."""
    most = max(0, limit) * WIDEST
    if len(text) <= most and estimate(text) <= limit:
        return text
    keep = min(most, len(text), _guess(text, limit, estimate))
    while keep > 0:
        keep = min(keep - 1, int(keep * max(0.1, min(0.9, limit / max(1, estimate(text[:keep]))))))
        head, tail = keep - keep // 3, keep // 3
        shown = ends(text, head, tail, f"; stored whole in {name}")
        if estimate(shown) <= limit:
            return shown
    return f"[… {len(text)} characters]" if text else text


def _guess(text: str, limit: int, estimate: Estimate) -> int:
    """About how many characters of a text are so many tokens, by its two ends."""
    if len(text) <= 2 * SAMPLE:
        return len(text)
    tokens = max(1, estimate(text[:SAMPLE]) * 2 + estimate(text[-SAMPLE:]))  # two thirds of what is shown is the head
    return 3 * SAMPLE * max(0, limit) // tokens


def _calls(event: Event | NewEvent) -> list[dict[str, object]]:
    calls = event.data.get("calls")
    return [dict(call) for call in calls if isinstance(call, dict)] if isinstance(calls, list) else []


def _call_tokens(call: dict[str, object], estimate: Estimate) -> int:
    return MESSAGE_TOKENS + estimate(str(call.get("name", ""))) + estimate(_arguments(call))


def _arguments(call: dict[str, object]) -> str:
    return json.dumps(call.get("arguments", {}), ensure_ascii=False)


def _shorten_call(call: dict[str, object], limit: int, name: str, estimate: Estimate) -> dict[str, object]:
    if _call_tokens(call, estimate) <= limit:
        return call
    room = limit - MESSAGE_TOKENS - estimate(str(call.get("name", ""))) - estimate('{"not_whole": ""}')
    shown = in_tokens(_arguments(call), room, name, estimate)
    return {**{k: v for k, v in call.items() if k != "raw"}, "arguments": {"not_whole": shown}}
