"""One method of the kernel's: what it takes, who may call it, and the function behind it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Generic, TypeVar

import trio
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, field_validator

from homed.agent.fitting import size
from homed.api.ports import ApiPorts, Caller, PorchPorts
from homed.errors import InvalidInput
from homed.identity.roles import Identity
from homed.identity.tokens import CallIdentity

MAX_NAME = 256

MOST_FAULTS = 16
"""Faults that one refusal names: what was sent decides how many there are, and the answer is one line of the wire."""

MAX_JSON = 1024 * 1024
"""Bytes of a parameter of any shape."""


T = TypeVar("T")


def no_more(value: T) -> T:
    """The value, if its JSON has no more than ``MAX_JSON`` bytes; else ValueError."""
    try:
        taken = size(value)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    if taken > MAX_JSON:
        raise ValueError(f"it has {taken} bytes; {MAX_JSON} are the limit")
    return value


Json = Annotated[object, AfterValidator(no_more)]
"""A parameter of any shape."""

JsonObject = Annotated[dict[str, object], AfterValidator(no_more)]
"""A parameter that is an object with whatever in it."""

Name = Annotated[str, Field(min_length=1, max_length=MAX_NAME)]
"""An id or a name."""


class Params(BaseModel):
    """Parameters of a method.  ``call``: the token of the invocation that the plugin works for, if it does."""

    # built at its first use: a start needs a handful of them
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, hide_input_in_errors=True, defer_build=True)

    call: str = Field(default="", max_length=MAX_NAME)


class PeerRef(BaseModel):
    """A peer in the plugin's own namespace."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    id: str = Field(min_length=1, max_length=MAX_NAME)
    name: str = Field(default="", max_length=1024)


class PeerParams(Params):
    """Parameters of a method that somebody uses through the plugin: that peer, or whoever ``call`` stands for."""

    peer: PeerRef | None = None

    @field_validator("peer", mode="before")
    @classmethod
    def _just_the_id(cls, value: object) -> object:
        return {"id": value} if isinstance(value, str) else value


class SpokenParams(PeerParams):
    """Parameters of what a peer says, in a ``group`` if it was said there."""

    group: str = Field(default="", max_length=MAX_NAME)


P = TypeVar("P", bound=Params)
PP = TypeVar("PP", bound=PeerParams)


@dataclass(frozen=True, slots=True)
class PorchCall(Generic[P]):
    """One request, its parameters checked, that needs nothing but what stands before the kernel is loaded.

    ``channel`` is where answers belong; ``lent``: what its call token stands for, if it came with one.
    """

    ports: PorchPorts
    caller: Caller
    params: P
    channel: str
    lent: CallIdentity | None = field(default=None, kw_only=True)


@dataclass(frozen=True, slots=True)
class Call(PorchCall[P]):
    """A request that may touch everything."""

    ports: ApiPorts

    def took_in(self, *, untrusted: bool, no_memory: bool = False) -> None:
        """The answer holds words of strangers, or private ones: if it is asked for within a turn, the turn has them in
        view from now."""
        if self.lent is not None and (untrusted or no_memory):
            self.ports.calling.took_in(self.lent, untrusted=untrusted, no_memory=no_memory)


@dataclass(frozen=True, slots=True)
class PeerCall(Call[P]):
    """A request of somebody's."""

    who: Identity


@dataclass(frozen=True, slots=True)
class Method:
    """An entry of the dispatcher's table.

    ``owner``: only for peers whose role is owner.  ``in_person``: a call token does not do, a person has to say it;
    ``of_call``: nothing else does.
    """

    params: type[Params]
    handler: Callable[[Any], Awaitable[object]]
    owner: bool = False
    in_person: bool = False
    of_call: bool = False


def early(params: type[P], handler: Callable[[PorchCall[P]], object]) -> Method:
    """A method of the plugin's own that is answered on the porch."""
    return Method(params, _awaitable(handler))


def plain(params: type[P], handler: Callable[[Call[P]], object]) -> Method:
    """A method of the plugin's own.  A handler is async if it may have to wait, else a plain function."""
    return Method(params, _awaitable(handler))


def personal(params: type[PP], handler: Callable[[PeerCall[PP]], object], *, in_person: bool = False) -> Method:
    """A method that a peer uses."""
    return Method(params, _awaitable(handler), in_person=in_person)


def of_call(params: type[PP], handler: Callable[[PeerCall[PP]], object]) -> Method:
    """A method that a plugin uses while it works for a turn."""
    return Method(params, _awaitable(handler), of_call=True)


def lent(call: PeerCall[P]) -> CallIdentity:
    """What the call token of a method ``of_call`` stands for."""
    assert call.lent is not None  # the dispatcher saw to it
    return call.lent


def administrative(params: type[PP], handler: Callable[[PeerCall[PP]], object], *, in_person: bool = False) -> Method:
    """A method for owners."""
    return Method(params, _awaitable(handler), owner=True, in_person=in_person)


def _awaitable(handler: Callable[[Any], object]) -> Callable[[Any], Awaitable[object]]:
    async def run(call: Any) -> object:
        await trio.lowlevel.checkpoint()
        answer = handler(call)
        return await answer if isinstance(answer, Awaitable) else answer

    return run


def parse(method: str, model: type[P], params: Mapping[str, object]) -> P:
    """Check parameters; ``InvalidInput`` names every field that is wrong, never its value (it may be a password)."""
    try:
        return model.model_validate(params)
    except ValidationError as error:
        found = error.errors(include_input=False, include_url=False)
        faults = [_fault(item["loc"], item["msg"]) for item in found[:MOST_FAULTS]]
        if len(found) > MOST_FAULTS:
            faults.append(f"and {len(found) - MOST_FAULTS} more")
        raise InvalidInput(
            f"{method}: {'; '.join(faults)}.",
            hint="docs/wire.md lists the parameters.",
            detail={"method": method, "faults": faults},
        ) from None


def _fault(place: tuple[int | str, ...], message: str) -> str:
    where = ".".join(map(str, place))
    return f"{where if len(where) <= MAX_NAME else where[:MAX_NAME] + '…'}: {message[:1].lower()}{message[1:MAX_NAME]}"
