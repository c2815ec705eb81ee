"""Answers and errors in the form of OpenAI's API.  Pure."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .reading import integer, mapping

PREFIX = "/v1"
MODEL = "homed"
SINCE = 1_767_225_600
"""When the model came into being, in whole seconds; clients want to know."""

DONE = b"data: [DONE]\n\n"
BEAT = b": keep-alive\n\n"

MOST_WAIT = 86_400
"""Seconds that a client is told to wait at the most."""

_OF_CAUSE = {
    "spend": (429, "insufficient_quota"), "context_full": (400, "context_length_exceeded"),
    "overfull": (400, "context_length_exceeded"), "refused": (400, "content_policy_violation"),
    "bad_request": (400, "upstream_bad_request"), "credential": (502, "upstream_credential"),
    "no_call": (502, "no_call"),
}  # fmt: skip
_OF_UPSTREAM = {0: 503, 429: 429, 503: 503, 504: 504, 529: 503}
"""Of a source that did not answer: it cannot be reached, or is overloaded, or too slow."""

_TYPES = {401: "authentication_error", 403: "permission_error", 404: "not_found_error", 429: "rate_limit_error"}
_OWN = frozenset(code for _, code in _OF_CAUSE.values())
_CODES = {401: "invalid_api_key", 429: "rate_limit_exceeded"}

Data = Mapping[str, object]


def model(id_: str = MODEL) -> dict[str, object]:
    """The model, under one of its names."""
    return {"id": id_, "object": "model", "created": SINCE, "owned_by": "homed"}


def error(status: int, code: str, message: str, param: str = "") -> dict[str, object]:
    """An error; ``code`` is one of ours."""
    kind = "server_error" if status >= 500 else _TYPES.get(status, "invalid_request_error")
    code = code if code in _OWN else _CODES.get(status, code)
    kind = code if code == "insufficient_quota" else kind
    return {"error": {"message": message, "type": kind, "param": param or None, "code": code}}


@dataclass(frozen=True, slots=True)
class Failure:
    """A message that was accepted and not answered.  ``retry_after`` in whole seconds, 0: nobody knows."""

    status: int
    code: str
    message: str
    hint: str = ""
    retry_after: int = 0


def failure(outcome: Data) -> Failure:
    """What came of it, by its cause: 429 for a limit, of the source's or of spend; 400 for what no source would take;
    502 for a source that fails, 503 for one, or a homed, that cannot be asked now."""
    cause = mapping(outcome.get("cause"))
    kind, upstream = str(cause.get("kind") or ""), integer(cause.get("status"))
    status, code = _OF_CAUSE.get(kind, (503, f"turn_{outcome.get('state')}"))
    if kind == "transient":
        status, code = _OF_UPSTREAM.get(upstream, 502), "upstream"
    wait = cause.get("retry_after")
    seconds = min(MOST_WAIT, math.ceil(wait)) if isinstance(wait, int | float) and 0 < wait < math.inf else 0
    error = str(outcome.get("error") or "The message was not answered.")
    return Failure(status, code, error, str(outcome.get("hint") or ""), seconds if status in (429, 503) else 0)


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
