"""A request as llama.cpp's server takes it.  Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from homed.providers import openai_request
from homed.providers.base import ChatRequest, Message, Source, System, User

SMALL: Mapping[str, object] = {"temperature": 0, "repeat_penalty": 1.15, "repeat_last_n": 32, "max_tokens": 256}
"""For the built-in model, tried out by hand: of twenty questions with notes 18 are answered from them; with a
temperature of 0.2 and a penalty that reaches the notes (it must be free to repeat those) it was 4 of 10.  Without any
penalty its lists never end.  What it has to say it says in a few lines."""

ANSWER_SHARE = 2
"""Another model's answer may take one in so many tokens of its window: without a bound some never end."""


def body_of(source: Source, request: ChatRequest) -> dict[str, object]:
    """The body; ``request.messages`` have passed ``pairing.repair``.  A source without tools is offered none."""
    sent = ChatRequest(
        tuple(merged(request.messages)), request.tools if source.tools else (), request.max_tokens, request.temperature
    )
    body = {**_defaults(source), **openai_request.build(source, sent), "stream": True, "return_progress": True}
    body["stream_options"] = {"include_usage": True}
    return body


def _defaults(source: Source) -> Mapping[str, object]:
    return SMALL if source.kind == "embedded" else {"max_tokens": source.context_window // ANSWER_SHARE}


def merged(messages: Sequence[Message]) -> Iterable[Message]:
    """What one side says in a row as one message: many models' templates take strict turns only."""
    last: Message | None = None
    for message in messages:
        if isinstance(message, User) and isinstance(last, User):
            last = User(f"{last.text}\n\n{message.text}")
        elif isinstance(message, System) and isinstance(last, System):
            last = System(f"{last.text}\n\n{message.text}")
        else:
            if last is not None:
                yield last
            last = message
    if last is not None:
        yield last
