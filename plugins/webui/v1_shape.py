"""Answers and errors in the form of OpenAI's API.  Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .reading import integer, mapping

PREFIX = "/v1"
MODEL = "homed"
SINCE = 1_767_225_600
"""When the model came into being, in whole seconds; clients want to know."""

DONE = b"data: [DONE]\n\n"
BEAT = b": keep-alive\n\n"

_TYPES = {401: "authentication_error", 403: "permission_error", 404: "not_found_error", 429: "rate_limit_error"}
_CODES = {401: "invalid_api_key", 429: "rate_limit_exceeded"}

Data = Mapping[str, object]


def model(id_: str = MODEL) -> dict[str, object]:
    """The model, under one of its names."""
    return {"id": id_, "object": "model", "created": SINCE, "owned_by": "homed"}


def error(status: int, code: str, message: str, param: str = "") -> dict[str, object]:
    """An error; ``code`` is one of ours."""
    kind = "server_error" if status >= 500 else _TYPES.get(status, "invalid_request_error")
    return {"error": {"message": message, "type": kind, "param": param or None, "code": _CODES.get(status, code)}}


def usage(now: Data, told: Data) -> dict[str, object]:
    """The tokens of this answer: what the turn has taken by ``now``, without what was ``told`` before."""
    prompt, completion, cached = (
        max(0, integer(now.get(name)) - integer(told.get(name))) for name in ("prompt", "completion", "cached")
    )
    return {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
        "prompt_tokens_details": {"cached_tokens": cached},
    }


@dataclass(frozen=True, slots=True)
class Form:
    """What all pieces of one answer have in common.  ``usage``: a stream ends with what it took."""

    id: str
    model: str
    created: int
    usage: bool = False

    def chunk(self, delta: Data, finish: str | None = None) -> bytes:
        """A piece of a stream."""
        return self._event([{"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}])

    def last(self, took: Data) -> bytes:
        """What a stream ends with."""
        return (self._event([], took) if self.usage else b"") + DONE

    def calls(self, calls: Sequence[Data]) -> list[bytes]:
        """Calls to make, in pieces: of each its name, then its arguments."""
        pieces: list[bytes] = []
        for at, call in enumerate(tool_calls(calls)):
            function = mapping(call["function"])
            begun = {**call, "index": at, "function": {"name": function["name"], "arguments": ""}}
            pieces.append(self.chunk({"tool_calls": [begun]}))
            rest = {"index": at, "function": {"arguments": function["arguments"]}}
            pieces.append(self.chunk({"tool_calls": [rest]}))
        return pieces

    def whole(self, text: str, thoughts: str, calls: Sequence[Data], took: Data) -> dict[str, object]:
        """A whole answer."""
        message: dict[str, object] = {"role": "assistant", "content": text if text or not calls else None}
        message |= {"refusal": None, **({"reasoning_content": thoughts} if thoughts else {})}
        message |= {"tool_calls": tool_calls(calls)} if calls else {}
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": finish(calls)}
        head = {"id": self.id, "object": "chat.completion", "created": self.created, "model": self.model}
        return {**head, "choices": [choice], "usage": took}

    def _event(self, choices: list[dict[str, object]], took: Data | None = None) -> bytes:
        head = {"id": self.id, "object": "chat.completion.chunk", "created": self.created, "model": self.model}
        told = {"usage": took} if self.usage else {}
        return event({**head, "choices": choices, **told})


def event(value: object) -> bytes:
    """A server-sent event."""
    return f"data: {json.dumps(value, ensure_ascii=False)}\n\n".encode()


def finish(calls: Sequence[Data]) -> str:
    """Why it ends."""
    return "tool_calls" if calls else "stop"


def tool_calls(calls: Sequence[Data]) -> list[dict[str, object]]:
    """The kernel's calls as a message has them."""
    return [
        {
            "id": call["call"],
            "type": "function",
            "function": {"name": call["name"], "arguments": json.dumps(call["args"], ensure_ascii=False)},
        }
        for call in calls
    ]
