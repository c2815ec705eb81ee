"""``tracker.*``: what a plugin tells of the folder it works in; ``admin.tracker_*``: what people see of it."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Annotated, TypeVar

from pydantic import Field

from homed.api.method import MAX_NAME, Call, Method, Params, PeerCall, PeerParams, administrative, lent, of_call, plain
from homed.errors import InvalidInput

PATH = 8192
"""Characters of a path in base64."""

DATA = 700_000
CHANGES = 500
BYTES = 1 << 40

_Set = Annotated[str, Field(min_length=1, max_length=MAX_NAME)]
_Hash = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
T = TypeVar("T")


class Begin(PeerParams):
    """``tracker.begin``"""

    folder: str = Field(min_length=1, max_length=PATH)


class Add(Params):
    """``tracker.add``"""

    set: _Set
    changes: list[dict[str, object]] = Field(max_length=CHANGES)
    at: int = Field(ge=0, le=10_000_000)


class Put(Params):
    """``tracker.put``"""

    set: _Set
    hash: _Hash
    data: str = Field(max_length=DATA)
    offset: int = Field(ge=0, le=BYTES)
    last: bool


class Finish(Params):
    """``tracker.finish``"""

    set: _Set
    cut: bool = False
    problem: str = Field(default="", max_length=500)


class Plan(Params):
    """``tracker.plan``"""

    set: _Set
    after: int = Field(default=0, ge=0, le=10_000_000)


class Get(Params):
    """``tracker.get``"""

    set: _Set
    hash: _Hash
    offset: int = Field(ge=0, le=BYTES)


class List(PeerParams):
    """``admin.tracker_list``"""

    limit: int = Field(default=50, ge=1, le=200)
    before: int | None = Field(default=None, ge=0, lt=1 << 62)
    thread: str = Field(default="", max_length=MAX_NAME)
    turn: str = Field(default="", max_length=MAX_NAME)


class Show(PeerParams):
    """``admin.tracker_show``"""

    set: _Set
    after: int = Field(default=0, ge=0, le=10_000_000)
    limit: int = Field(default=500, ge=1, le=500)


class Diff(PeerParams):
    """``admin.tracker_diff``"""

    set: _Set
    number: int = Field(ge=0, le=10_000_000)


class Rollback(PeerParams):
    """``admin.tracker_rollback``"""

    set: _Set
    force: bool = False


class Forget(PeerParams):
    """``admin.tracker_forget``"""

    set: str = Field(default="", max_length=MAX_NAME)
    path: str = Field(default="", max_length=PATH)


async def begin(call: PeerCall[Begin]) -> Mapping[str, object]:
    """Something is going to be changed."""
    from homed.tracker.tracker import Asked

    token, calling = lent(call), call.ports.calling
    context = calling.context(token)
    tool, made = calling.within(token)
    asked = Asked(
        plugin=call.caller.plugin, tool=tool, call=made, turn=context.turn, thread=context.thread,
        scope=context.scope, peer=context.peer,
    )  # fmt: skip
    return await call.ports.tracker().begin(asked, _bytes(call.params.folder))


async def add(call: Call[Add]) -> Mapping[str, object]:
    """What was changed."""
    from homed.wire.tracked import change_of

    params = call.params
    changes = _checked(lambda: [change_of(change) for change in params.changes])
    return {"missing": await call.ports.tracker().add(call.caller.plugin, params.set, changes, params.at)}


async def put(call: Call[Put]) -> Mapping[str, object]:
    """A piece of a content."""
    params, data = call.params, _bytes(call.params.data)
    await call.ports.tracker().put(call.caller.plugin, params.set, params.hash, data, params.offset, last=params.last)
    return {}


async def finish(call: Call[Finish]) -> Mapping[str, object]:
    """That was all."""
    params = call.params
    await call.ports.tracker().finish(call.caller.plugin, params.set, cut=params.cut, problem=params.problem)
    return {}


async def plan(call: Call[Plan]) -> Mapping[str, object]:
    """What is to be put back."""
    return await call.ports.tracker().plan(call.caller.plugin, call.params.set, call.params.after)


async def get(call: Call[Get]) -> Mapping[str, object]:
    """A piece of a content that is to be put back."""
    params = call.params
    return await call.ports.tracker().give(call.caller.plugin, params.set, params.hash, params.offset)


async def list_(call: PeerCall[List]) -> Mapping[str, object]:
    """The changes, the newest first."""
    from homed.tracker.records import Wanted

    params = call.params
    wanted = Wanted(params.limit, params.before, None, params.thread, params.turn)
    return await call.ports.tracker().listed(wanted)


async def show(call: PeerCall[Show]) -> Mapping[str, object]:
    """One, with its files."""
    return await call.ports.tracker().show(call.params.set, after=call.params.after, limit=call.params.limit)


async def diff(call: PeerCall[Diff]) -> Mapping[str, object]:
    """How a file changed."""
    return await call.ports.tracker().diff(call.params.set, call.params.number)


async def rollback(call: PeerCall[Rollback]) -> Mapping[str, object]:
    """Put one back."""
    from homed.tracker.tracker import Asked

    asked = Asked(plugin=call.caller.plugin, peer=call.who.peer)
    return await call.ports.tracker().rollback(call.params.set, asked, force=call.params.force)


async def forget(call: PeerCall[Forget]) -> Mapping[str, object]:
    """Forget what is kept of one, or of a file."""
    params = call.params
    if bool(params.set) == bool(params.path):
        raise InvalidInput("Name a change, or a path.")
    if params.path and not os.path.isabs(params.path):
        raise InvalidInput("path is an absolute path.")
    return await call.ports.tracker().forget(params.set, params.path)


def _bytes(text: str) -> bytes:
    from homed.wire.tracked import decoded

    return _checked(lambda: decoded(text))


def _checked(read: Callable[[], T]) -> T:
    try:
        return read()
    except ValueError as error:
        raise InvalidInput(f"tracker: {error}.") from None


METHODS: dict[str, Method] = {
    "tracker.begin": of_call(Begin, begin),
    "tracker.add": plain(Add, add),
    "tracker.put": plain(Put, put),
    "tracker.finish": plain(Finish, finish),
    "tracker.plan": plain(Plan, plan),
    "tracker.get": plain(Get, get),
    "admin.tracker_list": administrative(List, list_),
    "admin.tracker_show": administrative(Show, show),
    "admin.tracker_diff": administrative(Diff, diff),
    "admin.tracker_rollback": administrative(Rollback, rollback, in_person=True),
    "admin.tracker_forget": administrative(Forget, forget, in_person=True),
}
