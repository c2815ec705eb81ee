"""What programs need that speak for a person and have functions of their own: of ``io.inject``, and ``io.results``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from pydantic import BaseModel, ConfigDict, Field

from homed.agent.borrowed import MOST, Function, Lent, checked
from homed.agent.conversations import Message
from homed.api.method import MAX_NAME, JsonObject, PeerCall, PeerParams
from homed.errors import Denied, InvalidInput
from homed.memory.chains import ANSWER, Place

MAX_RESULT = 1024 * 1024
"""Characters of one result; a line of the wire holds no more."""


MAX_OPENING = 256 * 1024
"""Characters that may stand before the first message of a conversation."""


class ClientTool(BaseModel):
    """A function that whoever sends a message lends for it."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, hide_input_in_errors=True, defer_build=True)

    name: str = Field(max_length=64)
    description: str = Field(default="", max_length=8192)
    parameters: JsonObject = Field(default={})


class Placed(BaseModel):
    """Where a message stands in a conversation whose thread its sender does not know."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, hide_input_in_errors=True, defer_build=True)

    chain: str = Field(min_length=16, max_length=MAX_NAME)
    said: str = Field(min_length=16, max_length=MAX_NAME)
    chain_before: str = Field(default="", max_length=MAX_NAME)
    said_before: str = Field(default="", max_length=MAX_NAME)
    answer: str = Field(default="", max_length=4 * ANSWER)
    opening: str = Field(default="", max_length=MAX_OPENING)


class Lends(BaseModel):
    """The parameters of ``io.inject`` that are a program's."""

    model_config = ConfigDict(defer_build=True)

    client_tools: list[ClientTool] = Field(default=[], max_length=MOST)
    client_parallel: bool = True
    client_must: list[str] = Field(default=[], max_length=MOST)
    place: Placed | None = None


class CallResult(BaseModel):
    """What came of a call that somebody made who lent its function."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, hide_input_in_errors=True, defer_build=True)

    call: str = Field(min_length=1, max_length=MAX_NAME)
    text: str = Field(max_length=MAX_RESULT)


class Results(PeerParams):
    """``io.results``"""

    results: list[CallResult] = Field(min_length=1, max_length=MOST)


def with_functions(message: Message, lends: Lends, *, within: bool) -> Message:
    """The message with what a program adds to it that speaks for a person."""
    if within:
        raise Denied("What is said with a call token lends no functions.", hint="Leave out client_tools and place.")
    functions = tuple(Function(tool.name, tool.description, tool.parameters) for tool in lends.client_tools)
    checked(functions)
    must = frozenset(lends.client_must)
    if unknown := sorted(must - {function.name for function in functions}):
        raise InvalidInput(f"{unknown[0]} is to be called and is not lent.", detail={"param": "client_must"})
    place = None if lends.place is None else Place(**lends.place.model_dump())
    return replace(message, lent=Lent(functions, lends.client_parallel, must), place=place)


async def results(call: PeerCall[Results]) -> Mapping[str, object]:
    """Give the turn that waits what came of its calls."""
    if call.lent is not None:
        raise Denied("Results of calls come from who lent the functions, not within a call.")
    given = {result.call: result.text for result in call.params.results}
    found, told = await call.ports.conversations.answer(call.who, given)
    return {"input": found.id, "thread": found.thread, "turn": found.turn, "usage": told}
