"""What memory holds in this room: events, threads, inputs and turns, as frozen records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class EventKind(StrEnum):
    """What an event is.  A tool call is part of the ``ASSISTANT`` event that made it (``data["calls"]``)."""

    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"
    NOTE = "note"


class InputState(StrEnum):
    """Where an accepted input stands.  The last five are terminal: exactly one of them is ever reached."""

    ACCEPTED = "accepted"
    RUNNING = "running"
    ANSWERED = "answered"
    STOPPED = "stopped"
    FAILED = "failed"
    REFUSED = "refused"
    REPORTED = "reported"

    @property
    def terminal(self) -> bool:
        """True once the input has its one outcome."""
        return self not in (InputState.ACCEPTED, InputState.RUNNING)


KERNEL = "kernel"
"""The mark of what the kernel itself raises."""


@dataclass(frozen=True, slots=True)
class Event:
    """One verbatim thing that happened; the text never changes.

    ``seq`` orders events over the whole store; ``layer`` is context, cold or archived; times are UTC seconds.
    ``source`` is "cold_storage" once it was recalled into the window; ``tokens`` is what the whole event costs in a
    prompt, counted when it was stored (0: not yet, by an earlier release).
    ``opaque`` is what its source wants back with it (``agent.sealed``): it is for prompts alone, and goes with the text
    and calls as they were stored; whoever changes these takes it out.
    ``data`` by kind: ASSISTANT ``{"calls": [{"id", "name", "arguments", "raw"?}], "reasoning": str, "partial": bool,
    "final": bool, "usage": {...}, "outside": [str]}``, the tokens of its turn so far and, by `memory.origins`, whose
    words from outside its model had before it; TOOL ``{"call_id", "name", "status":
    ok|error|denied|interrupted, "args": {...}, "ms": int, "untrusted": bool}``, the last two where the call came to an
    end, and ``"within"``, ``"by"`` where a plugin made the call within another; NOTE ``{"code": str}``.  The text of a
    final ASSISTANT event is what went out; what the model wrote before ``before_output`` stands in a NOTE of the code
    ``draft``.
    """

    id: str
    seq: int
    scope: str
    thread: str
    turn: str
    channel: str
    peer: str
    kind: EventKind
    text: str
    created_at: float
    data: Mapping[str, object] = field(default_factory=dict)
    layer: str = "context"
    no_memory: bool = False
    source: str = ""
    tokens: int = 0
    opaque: str = field(default="", repr=False)


DRAFT = "draft"
"""The code of a NOTE: an answer as it was written, kept beside the one that went out, if anything comes between."""


def is_draft(event: Event) -> bool:
    """True for an answer before its last check: evidence, and shown, searched and told to nobody."""
    return event.kind is EventKind.NOTE and event.data.get("code") == DRAFT


def is_inner(event: Event) -> bool:
    """True for the result of a call that a plugin made within its own: stored, but in no prompt, which shows what the
    outer one gave."""
    return event.kind is EventKind.TOOL and bool(event.data.get("within"))


def shows_files(event: Event) -> bool:
    """True for a message whose files a prompt shows with it: their content is nobody's word, whoever attached them.

    Not for a tool's result: whether strangers speak in it says the tool, of its files as of its text (``untrusted``).
    """
    return event.kind is not EventKind.TOOL and bool(event.data.get("files")) and not event.data.get("withheld")


def calls_of(event: Event) -> list[Mapping[str, object]]:
    """The tool calls an ASSISTANT event made; none for other kinds."""
    found = event.data.get("calls")
    if event.kind is not EventKind.ASSISTANT or not isinstance(found, list):
        return []
    return [call for call in found if isinstance(call, Mapping)]


@dataclass(frozen=True, slots=True)
class NewEvent:
    """An event to be appended; id, seq and time are given by the store."""

    kind: EventKind
    text: str
    data: Mapping[str, object] = field(default_factory=dict)
    peer: str = ""
    no_memory: bool = False
    opaque: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class Thread:
    """One conversation in a channel."""

    id: str
    scope: str
    channel: str
    title: str
    created_at: float
    updated_at: float


@dataclass(frozen=True, slots=True)
class Outcome:
    """How an input ended; kept beside it and given to whoever asks with the same ``client_msg_id``.

    ``usage`` counts tokens, with what is known of their cost (``agent.spending``); ``ms`` is how long the run that
    ended it took, in milliseconds; 0: unknown.  ``cause`` of one that failed: ``kind`` (a source's ``ErrorKind``, or
    the code of another error), and of a source ``status`` and ``retry_after``, where it said so.
    """

    state: InputState
    text: str = ""
    error: str = ""
    hint: str = ""
    usage: Mapping[str, object] = field(default_factory=dict)
    ms: int = 0
    cause: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class NewInput:
    """An input as it reaches the kernel, identity already resolved, secrets already redacted."""

    thread: str
    scope: str
    channel: str
    peer: str
    role: str
    text: str
    client_msg_id: str = ""
    no_memory: bool = False
    can_ask: bool = False
    untrusted: bool = False
    level: int = 0
    mark: str = ""
    project: str = ""


@dataclass(frozen=True, slots=True)
class Input:
    """A durable input.  ``attempts`` counts the runs begun; ``turn`` is empty before the first, and that of another
    input where this one was put into a running turn.

    ``untrusted``: no person said it, a plugin did while it worked for a turn.  ``level``: of an interrupt, 1-4; 0: it
    waits for its turn.  ``mark``: the part of the kernel that raised it; empty for what came in from outside.
    ``project``: the key of the folder its sender works in (`homed.memory.projects`), empty for none.
    """

    id: str
    thread: str
    scope: str
    channel: str
    peer: str
    role: str
    text: str
    client_msg_id: str
    no_memory: bool
    can_ask: bool
    state: InputState
    attempts: int
    turn: str
    accepted_at: float
    outcome: Outcome | None = None
    untrusted: bool = False
    level: int = 0
    mark: str = ""
    project: str = ""
