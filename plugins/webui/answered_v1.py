"""What ``/v1`` answers: for the document alone, which is why it says no more than clients go by."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel


class V1Model(BaseModel):
    """A model to talk to."""

    id: str
    object: Literal["model"]
    created: int
    owned_by: str


class V1Models(BaseModel):
    """The models there are."""

    object: Literal["list"]
    data: list[V1Model]


class V1Usage(BaseModel):
    """Tokens."""

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int
    prompt_tokens_details: dict[str, int]


class V1Choice(BaseModel):
    """The one answer."""

    index: int
    message: dict[str, Any]
    finish_reason: Literal["stop", "tool_calls"]
    logprobs: None


class V1Completion(BaseModel):
    """A whole answer.  Streamed, it comes as ``chat.completion.chunk`` events, with ``[DONE]`` at the end."""

    id: str
    object: Literal["chat.completion"]
    created: int
    model: str
    choices: list[V1Choice]
    usage: V1Usage


class V1Error(BaseModel):
    """What is wrong."""

    message: str
    type: str
    param: str | None
    code: str | None


class V1Problem(BaseModel):
    """An error."""

    error: V1Error
