"""The official SDKs of OpenAI and Anthropic as judges of the requests that homed sends: their types must read them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from pydantic import TypeAdapter


@cache
def _openai() -> tuple[TypeAdapter[Any], TypeAdapter[Any]]:
    from openai.types.chat import completion_create_params as params

    plain, streamed = params.CompletionCreateParamsNonStreaming, params.CompletionCreateParamsStreaming
    return TypeAdapter(plain), TypeAdapter(streamed)


@cache
def _anthropic() -> tuple[TypeAdapter[Any], TypeAdapter[Any]]:
    from anthropic.types import message_create_params as params

    return TypeAdapter(params.MessageCreateParamsNonStreaming), TypeAdapter(params.MessageCreateParamsStreaming)


JUDGES = {"openai": _openai, "deepseek": _openai, "anthropic": _anthropic}


def judge(wire: str, body: Mapping[str, Any]) -> None:
    """Read a request with the types of its SDK; raises pydantic.ValidationError.  Other wires have no judge here."""
    if wire in JUDGES:
        plain, streamed = JUDGES[wire]()
        _read((streamed if body.get("stream") else plain).validate_python(dict(body)))


def _read(value: object) -> None:
    """To the end: pydantic reads what a type calls iterable only as it is iterated."""
    if isinstance(value, Mapping):
        for inner in value.values():
            _read(inner)
    elif isinstance(value, Iterable) and not isinstance(value, str | bytes):
        for inner in value:
            _read(inner)
