"""``io.*``: conversations, as a channel uses them on behalf of its peers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from pydantic import Field

from homed.agent.conversations import Message
from homed.agent.views import outcome_view
from homed.api.method import MAX_NAME, Method, PeerCall, PeerParams, personal
from homed.errors import Denied, InvalidInput
from homed.identity.tokens import CallIdentity
from homed.memory.records import Input

TEXT_BYTES = 800_000
"""Bytes of an answer's text in an outcome; of a longer one head and tail, so that it fits one line of the wire."""


class Inject(PeerParams):
    """``io.inject``"""

    text: str = Field(min_length=1)
    thread: str = Field(default="", max_length=MAX_NAME)
    group: str = Field(default="", max_length=MAX_NAME)
    client_msg_id: str = Field(default="", max_length=MAX_NAME)
    no_memory: bool = False
    can_ask: bool = False
    wait: bool = False


class OfInput(PeerParams):
    """``io.wait``"""

    input: str = Field(min_length=1, max_length=MAX_NAME)


class OfThread(PeerParams):
    """``io.stop``"""

    thread: str = Field(min_length=1, max_length=MAX_NAME)


class Threads(PeerParams):
    """``io.threads``"""

    query: str = Field(default="", max_length=1024)
    limit: int = Field(default=50, ge=1, le=500)
    before: float | None = None


class History(OfThread):
    """``io.history``"""

    before: int | None = None
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
    params, conversations = call.params, call.ports.conversations
    if call.lent is not None:
        _within_call(params, call.lent)
    message = Message(
        text=params.text,
        channel=call.channel,
        thread=params.thread,
        client_msg_id=params.client_msg_id,
        no_memory=params.no_memory,
        can_ask=params.can_ask,
        untrusted=call.lent is not None,
    )
    receipt = await conversations.inject(call.who, message)
    input_ = await conversations.wait(call.who, receipt.input.id) if params.wait else receipt.input
    return {**_input(input_), "duplicate": receipt.duplicate}


async def wait(call: PeerCall[OfInput]) -> Mapping[str, object]:
    """Answer once an input has its outcome."""
    return _input(await call.ports.conversations.wait(call.who, call.params.input))


async def stop(call: PeerCall[OfThread]) -> Mapping[str, object]:
    """Stop what runs in a thread."""
    return {"stopped": await call.ports.conversations.stop(call.who, call.params.thread)}


async def threads(call: PeerCall[Threads]) -> Mapping[str, object]:
    """The peer's threads."""
    params = call.params
    return await call.ports.conversations.threads(call.who, params.query, params.limit, params.before)


async def history(call: PeerCall[History]) -> Mapping[str, object]:
    """What was said in a thread, and what is being said."""
    params = call.params
    return await call.ports.conversations.history(call.who, params.thread, params.before, params.limit)


async def thread_rename(call: PeerCall[Rename]) -> Mapping[str, object]:
    """Give a thread another title."""
    await call.ports.conversations.rename(call.who, call.params.thread, call.params.title)
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


def _within_call(params: Inject, lent: CallIdentity) -> None:
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
    "io.wait": personal(OfInput, wait),
    "io.stop": personal(OfThread, stop),
    "io.threads": personal(Threads, threads),
    "io.history": personal(History, history),
    "io.thread_rename": personal(Rename, thread_rename),
    "io.approvals": personal(PeerParams, approvals),
    # a plugin that runs for a turn holds its call token: with it, it could approve what it asked for itself
    "io.approve": personal(Approve, approve, in_person=True),
}
