"""``io.*``: conversations, as a channel uses them on behalf of its peers."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Annotated, Literal, TypeVar

from pydantic import Field

from homed.agent.archive import SLICE
from homed.agent.conversations import Message, Receipt
from homed.agent.levels import HIGHEST, LOWEST, clamped
from homed.agent.uploads import PIECE, Piece
from homed.agent.views import outcome_view
from homed.api import within
from homed.api.method import MAX_NAME, Method, PeerCall, PeerParams, SpokenParams, personal
from homed.api.porch import open_to
from homed.api.programs import Lends, Results, results, with_functions
from homed.errors import Denied, InvalidInput, NotFound
from homed.identity.tokens import CallIdentity
from homed.memory import projects
from homed.memory.blocks import CAPTION
from homed.memory.filetypes import SMALL_TYPE
from homed.memory.records import Input
from homed.wire.methods import CRITICAL

TEXT_BYTES = 800_000
"""Bytes of an answer's text in an outcome; of a longer one head and tail, so that it fits one line of the wire."""


BASE64 = 4 * -(-PIECE // 3)
"""Characters that a full piece takes in base64."""


FAR = 2**62
"""No offset and no number of an event is higher: what is, would be none that the database or a file could be asked."""

MAX_TEXT = 1024 * 1024
"""Characters; ``Conversations`` has a limit in bytes, and says it."""


class Said(SpokenParams):
    """What ``io.inject`` and ``io.interrupt`` have in common."""

    text: str = Field(max_length=MAX_TEXT)
    thread: str = Field(default="", max_length=MAX_NAME)
    client_msg_id: str = Field(default="", max_length=MAX_NAME)
    no_memory: bool = False
    can_ask: bool = False
    wait: bool = False
    cwd: str = Field(default="", max_length=4096)
    attachments: list[Annotated[str, Field(min_length=1, max_length=MAX_NAME)]] = Field(default=[], max_length=64)


S = TypeVar("S", bound=Said)
P = TypeVar("P", bound=PeerParams)


class Inject(Said, Lends):
    """``io.inject``"""


class Interrupt(Said):
    """``io.interrupt``"""

    level: int = Field(default=2, ge=LOWEST, le=HIGHEST)


class Upload(PeerParams):
    """``io.upload``"""

    data: str = Field(max_length=BASE64)
    upload: str = Field(default="", max_length=MAX_NAME)
    name: str = Field(default="", max_length=4096)
    media_type: str = Field(default="", max_length=256)
    caption: str = Field(default="", max_length=CAPTION)
    offset: int | None = Field(default=None, ge=0, le=FAR)
    last: bool = False


class OfUpload(PeerParams):
    """``io.upload_cancel``"""

    upload: str = Field(min_length=1, max_length=MAX_NAME)


class OfBlock(PeerParams):
    """``io.block``"""

    block: str = Field(min_length=1, max_length=MAX_NAME)
    offset: int = Field(default=0, ge=0, le=FAR)
    length: int = Field(default=PIECE, ge=1, le=PIECE)
    small: bool = False


class OfEvent(PeerParams):
    """``io.event``"""

    event: str = Field(min_length=1, max_length=MAX_NAME)
    offset: int = Field(default=0, ge=0, le=FAR)
    length: int = Field(default=SLICE, ge=1, le=SLICE)


class Wait(PeerParams):
    """``io.wait``"""

    input: str = Field(min_length=1, max_length=MAX_NAME)
    calls: bool = False


class OfThread(PeerParams):
    """``io.thread_delete``"""

    thread: str = Field(min_length=1, max_length=MAX_NAME)


class Stop(OfThread):
    """``io.stop``"""

    turn: str = Field(default="", max_length=MAX_NAME)
    input: str = Field(default="", max_length=MAX_NAME)


class Threads(PeerParams):
    """``io.threads``"""

    query: str = Field(default="", max_length=1024)
    limit: int = Field(default=50, ge=1, le=500)
    before: float | None = Field(default=None, ge=0, le=1e12, allow_inf_nan=False)


class History(OfThread):
    """``io.history``"""

    before: int | None = Field(default=None, ge=0, le=FAR)
    limit: int = Field(default=50, ge=1, le=500)


class Rename(OfThread):
    """``io.thread_rename``"""

    title: str = Field(min_length=1, max_length=200)


class Approve(PeerParams):
    """``io.approve``"""

    approval: str = Field(min_length=1, max_length=MAX_NAME)
    decision: Literal["allow", "deny"]
    remember: Literal["once", "thread"] = "once"


async def inject(call: PeerCall[Inject]) -> Mapping[str, object]:
    """Accept a message; with ``wait`` answer when it has its outcome."""
    params, message = call.params, _message(call)
    if params.client_tools or params.place is not None:
        message = with_functions(message, params, within=call.lent is not None)
    receipt = await call.ports.conversations.inject(call.who, message)
    return await _accepted(call, receipt)


async def interrupt(call: PeerCall[Interrupt]) -> Mapping[str, object]:
    """Accept a message that does not wait its turn; ``level`` is what counts of the one that was asked for."""
    critical = CRITICAL in open_to(call.caller) and call.lent is None  # what runs for a turn speaks for its person
    asked = clamped(call.params.level, critical=critical)
    receipt, level, way = await call.ports.conversations.interrupt(call.who, _message(call), asked, critical=critical)
    return {**await _accepted(call, receipt), "level": level, "way": str(way)}


def _message(call: PeerCall[S]) -> Message:
    params = call.params
    if call.lent is not None:
        _within_call(params, call.lent)
    return Message(
        text=params.text,
        channel=call.channel,
        thread=params.thread,
        client_msg_id=params.client_msg_id,
        no_memory=params.no_memory,
        can_ask=params.can_ask,
        untrusted=call.lent is not None,
        attachments=tuple(params.attachments),
        project=_project(params.cwd),
    )


def _project(cwd: str) -> str:
    try:
        return projects.key(cwd)
    except ValueError:
        raise InvalidInput("cwd must be an absolute path, without '..'.") from None


async def _accepted(call: PeerCall[S], receipt: Receipt) -> dict[str, object]:
    input_ = receipt.input
    if call.params.wait:
        input_ = await call.ports.conversations.wait(call.who, input_.id)
    _outcome_read(call, input_)
    return {**_input(input_), "duplicate": receipt.duplicate}


async def upload(call: PeerCall[Upload]) -> Mapping[str, object]:
    """Take a piece of a file."""
    params = call.params
    piece = Piece(
        data=_decoded(params.data),
        upload=params.upload,
        name=params.name,
        media_type=params.media_type,
        caption=params.caption,
        offset=params.offset,
        last=params.last,
    )
    id_, count = await call.ports.uploads.receive(call.who, piece)
    return {"upload": id_, "bytes": count}


async def upload_cancel(call: PeerCall[OfUpload]) -> Mapping[str, object]:
    """Take off a file before it is sent."""
    await call.ports.uploads.cancel(call.who, call.params.upload)
    return {}


async def block(call: PeerCall[OfBlock]) -> Mapping[str, object]:
    """Bytes of an attachment, or of the small picture of it where one is asked for and there."""
    params = call.params
    small, kind = None, SMALL_TYPE
    if params.small:
        found, small = await call.ports.uploads.small(call.who, params.block)
    if small is None:
        found, data = await call.ports.uploads.block(call.who, params.block, params.offset, params.length)
        kind, size = found.media_type, found.bytes
    else:
        data, size = small[params.offset :][: params.length], len(small)
    call.took_in(untrusted=True)  # people pass on files that they have not written or read
    return {
        "name": found.name,
        "media_type": kind,
        "bytes": size,
        "offset": params.offset,
        "small": small is not None,
        "data": base64.b64encode(data).decode("ascii"),
    }


async def wait(call: PeerCall[Wait]) -> Mapping[str, object]:
    """Answer once an input has its outcome; with ``calls``, or once there are calls to make of what was lent for it."""
    if call.params.calls and call.lent is None:
        handed, usage = await call.ports.conversations.calls_of(call.who, call.params.input)
        if handed:
            made = [{"call": one.id, "name": one.name, "args": dict(one.arguments)} for one in handed]
            return {"input": call.params.input, "outcome": None, "calls": made, "usage": usage, "seq": call.caller.seq}
    found = await call.ports.conversations.wait(call.who, call.params.input)
    if call.lent is not None and found.no_memory and found.thread != call.lent.thread:
        raise NotFound(f"There is no input {found.id}.")  # private to that conversation
    _outcome_read(call, found)
    return _input(found) | ({"seq": call.caller.seq} if call.params.calls else {})


def _outcome_read(call: PeerCall[P], input_: Input) -> None:
    """An answer of another turn: made of who knows what that one read."""
    call.took_in(untrusted=input_.outcome is not None, no_memory=input_.outcome is not None and input_.no_memory)


async def stop(call: PeerCall[Stop]) -> Mapping[str, object]:
    """Stop what runs in a thread, or a turn that stands still there.  No notice after ``seq`` shows more of it."""
    stopped = await call.ports.conversations.stop(
        call.who, call.params.thread, call.params.turn, input_=call.params.input
    )
    return {"stopped": stopped, "seq": call.caller.seq}


async def threads(call: PeerCall[Threads]) -> Mapping[str, object]:
    """The peer's threads."""
    params = call.params
    found = await call.ports.archive.threads(call.who, params.query, params.limit, params.before)
    call.took_in(untrusted=bool(found.get("threads")))  # a title may be a file's name, or what a plugin thought of
    return found


async def history(call: PeerCall[History]) -> Mapping[str, object]:
    """What was said in a thread, and what is being said."""
    params = call.params
    page = await call.ports.archive.history(call.who, params.thread, params.before, params.limit)
    if call.lent is None:
        return page
    shown, held = within.page(page, own=params.thread == call.lent.thread)
    call.took_in(untrusted=held.untrusted, no_memory=held.no_memory)
    return shown


async def event_(call: PeerCall[OfEvent]) -> Mapping[str, object]:
    """One event, word for word."""
    params = call.params
    found = await call.ports.archive.event(call.who, params.event, params.offset, params.length)
    event = found.get("event")
    held = within.holds(event)
    if call.lent is not None and held.no_memory:
        thread = event.get("thread") if isinstance(event, Mapping) else None
        if thread != call.lent.thread:
            raise NotFound("There is no such event.")  # private to another conversation
    call.took_in(untrusted=held.untrusted, no_memory=held.no_memory)
    return found


async def thread_delete(call: PeerCall[OfThread]) -> Mapping[str, object]:
    """Delete a thread for good."""
    return await call.ports.conversations.delete(call.who, call.params.thread)


async def thread_rename(call: PeerCall[Rename]) -> Mapping[str, object]:
    """Give a thread another title."""
    await call.ports.archive.rename(call.who, call.params.thread, call.params.title)
    return {}


def approvals(call: PeerCall[PeerParams]) -> Mapping[str, object]:
    """What waits for the peer's decision."""
    return {"approvals": list(call.ports.conversations.approvals(call.who))}


async def approve(call: PeerCall[Approve]) -> Mapping[str, object]:
    """Decide on a tool call that waits."""
    params = call.params
    await call.ports.conversations.approve(
        call.who, params.approval, allow=params.decision == "allow", remember=params.remember
    )
    return {}


def _decoded(text: str) -> bytes:
    try:
        data = base64.b64decode(text, validate=True)
    except ValueError:
        data = b""
    if len(text) != 4 * -(-len(data) // 3):
        raise InvalidInput("io.upload: data is not valid base64.", hint="Encode it with padding, in one line.")
    return data


def _within_call(params: Said, lent: CallIdentity) -> None:
    """A plugin that works for a turn can have more said in it, but reaches no further than that turn does."""
    if params.thread not in ("", lent.thread):
        raise Denied(
            "A call token reaches the conversation of its call, or a new one; no other.", hint="Leave out thread."
        )
    if params.can_ask:
        raise Denied("What is said with a call token can ask nobody.", hint="Leave out can_ask.")
    if params.wait and params.thread:
        raise InvalidInput(
            "The conversation of the call takes up the message when the call is over, so the call cannot wait for it.",
            hint="Leave out wait, or thread to have it answered in a new conversation.",
        )


def _input(input_: Input) -> dict[str, object]:
    return {
        "input": input_.id,
        "thread": input_.thread,
        "state": input_.state.value,
        "outcome": outcome_view(input_.outcome, TEXT_BYTES) if input_.outcome else None,
    }


METHODS: dict[str, Method] = {
    "io.inject": personal(Inject, inject),
    "io.interrupt": personal(Interrupt, interrupt),
    "io.upload": personal(Upload, upload),
    "io.upload_cancel": personal(OfUpload, upload_cancel),
    "io.block": personal(OfBlock, block),
    "io.wait": personal(Wait, wait),
    "io.results": personal(Results, results),
    "io.stop": personal(Stop, stop),
    "io.threads": personal(Threads, threads),
    "io.history": personal(History, history),
    "io.event": personal(OfEvent, event_),
    "io.thread_rename": personal(Rename, thread_rename),
    # what a model has a plugin do must not destroy what people said
    "io.thread_delete": personal(OfThread, thread_delete, in_person=True),
    "io.approvals": personal(PeerParams, approvals),
    # a plugin that runs for a turn holds its call token: with it, it could approve what it asked for itself
    "io.approve": personal(Approve, approve, in_person=True),
}
