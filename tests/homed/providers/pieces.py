"""Answers in pieces, on each wire that streams."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

WIRES = ("openai", "anthropic", "gemini", "ollama")

Said = Mapping[str, Sequence[Any]]
"""``content`` and ``reasoning``: pieces of text; ``calls``: pieces of the arguments of each."""


def body_of(wire: str, said: Said, *, ascii_: bool = False) -> str:
    """The body that says these pieces; ``ascii_``: everything else is escaped."""
    frames = _FRAMES[wire](said.get("content", ()), said.get("reasoning", ()), said.get("calls", ()))
    lines = [json.dumps(frame, ensure_ascii=ascii_) if not isinstance(frame, str) else frame for frame in frames]
    if wire == "ollama":
        return "".join(f"{line}\n" for line in lines)
    return "".join(f"data: {line}\n\n" for line in lines)


def _by_turns(calls: Sequence[Sequence[str]]) -> Iterator[tuple[int, str]]:
    for pieces in itertools.zip_longest(*calls):
        yield from ((at, piece) for at, piece in enumerate(pieces) if piece is not None)


def _openai(content: Sequence[str], reasoning: Sequence[str], calls: Sequence[Sequence[str]]) -> Iterator[Any]:
    def delta(**said: object) -> dict[str, object]:
        return {"id": "chatcmpl-1", "choices": [{"index": 0, "delta": said, "finish_reason": None}]}

    yield from (delta(reasoning_content=piece) for piece in reasoning)
    yield from (delta(content=piece) for piece in content)
    for at in range(len(calls)):
        yield delta(tool_calls=[{"index": at, "id": f"c{at}", "function": {"name": "note", "arguments": ""}}])
    for at, piece in _by_turns(calls):
        yield delta(tool_calls=[{"index": at, "function": {"arguments": piece}}])
    yield {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
    yield "[DONE]"


def _anthropic(content: Sequence[str], reasoning: Sequence[str], calls: Sequence[Sequence[str]]) -> Iterator[Any]:
    yield {"type": "message_start", "message": {"id": "m", "role": "assistant", "content": []}}
    for at, (kind, member, pieces) in enumerate((("thinking", "thinking", reasoning), ("text", "text", content))):
        yield {"type": "content_block_start", "index": at, "content_block": {"type": kind, member: ""}}
        for piece in pieces:
            yield {"type": "content_block_delta", "index": at, "delta": {"type": f"{kind}_delta", member: piece}}
        yield {"type": "content_block_stop", "index": at}
    for at in range(len(calls)):
        block = {"type": "tool_use", "id": f"c{at}", "name": "note", "input": {}}
        yield {"type": "content_block_start", "index": at + 2, "content_block": block}
    for at, piece in _by_turns(calls):
        delta = {"type": "input_json_delta", "partial_json": piece}
        yield {"type": "content_block_delta", "index": at + 2, "delta": delta}
    yield {"type": "message_delta", "delta": {"stop_reason": "end_turn"}}
    yield {"type": "message_stop"}


def _gemini(content: Sequence[str], reasoning: Sequence[str], calls: Sequence[Sequence[str]]) -> Iterator[Any]:
    def parts(*parts: object, **more: object) -> dict[str, object]:
        return {"candidates": [{"index": 0, "content": {"role": "model", "parts": parts}, **more}]}

    for thought, text in itertools.zip_longest(reasoning, content):  # both in one frame
        both = [{"text": thought, "thought": True}] * (thought is not None) + [{"text": text}] * (text is not None)
        yield parts(*both)
    yield parts(*({"functionCall": {"name": "note", "args": json.loads("".join(call))}} for call in calls))
    yield parts(finishReason="STOP")


def _ollama(content: Sequence[str], reasoning: Sequence[str], calls: Sequence[Sequence[str]]) -> Iterator[Any]:
    yield from ({"message": {"role": "assistant", "content": "", "thinking": piece}} for piece in reasoning)
    yield from ({"message": {"role": "assistant", "content": piece}} for piece in content)
    told = [{"function": {"name": "note", "arguments": json.loads("".join(call))}} for call in calls]
    yield {"message": {"role": "assistant", "content": "", "tool_calls": told}}
    yield {"message": {"role": "assistant", "content": ""}, "done": True, "done_reason": "stop"}


_FRAMES: Mapping[str, Callable[..., Iterator[Any]]] = {
    "openai": _openai, "anthropic": _anthropic, "gemini": _gemini, "ollama": _ollama,
}  # fmt: skip
