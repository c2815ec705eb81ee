"""What the full screen knows: frozen values, made by `update`, drawn by `view`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .cost import NOTHING, Cost

# -- what stands in a conversation: each thing has a key, the same whether a notice told it or the history -----------


@dataclass(frozen=True, slots=True)
class Said:
    """What a person (or a timer) said.  ``label`` names who, unless it was said here; ``queued``: its turn waits."""

    key: str
    text: str
    label: str = ""
    files: tuple[str, ...] = ()
    queued: bool = False
    seq: int = 0


@dataclass(frozen=True, slots=True)
class Answer:
    """What the model said in one step of a turn."""

    key: str
    turn: str
    step: int
    text: str
    seq: int = 0


@dataclass(frozen=True, slots=True)
class Thought:
    """What the model thought before it said something."""

    key: str
    turn: str
    step: int
    text: str
    seq: int = 0


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool call; ``args`` is JSON text, ``ms`` negative while it is not known; ``files``: what it gave back."""

    key: str
    turn: str
    step: int
    name: str
    args: str = ""
    status: str = "running"
    result: str = ""
    ms: int = -1
    seq: int = 0
    files: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Recall:
    """What was brought into a turn: ids of events of other conversations and of cold memory, and of records.

    ``counts``: how many summaries, facts and capsules these are.  ``detail`` is what `memory.explain` said of the
    events, a line each, once it was asked, ``told`` what `memory.injections` said of the records: the question, the
    words as they were told, and the ids.
    """

    key: str
    turn: str
    shown: tuple[str, ...] = ()
    cold: tuple[str, ...] = ()
    kept: int = 0
    chars: int = 0
    detail: str = ""
    facts: tuple[str, ...] = ()
    counts: tuple[int, int, int] = (0, 0, 0)
    told: str = ""


@dataclass(frozen=True, slots=True)
class Asked:
    """An approval: ``status`` asked, allowed, denied, expired, cancelled or withdrawn."""

    key: str
    approval: str
    turn: str
    tool: str
    plugin: str
    tool_class: str
    args: str
    reason: str
    status: str = "asked"
    yes: str = "thread"
    """How far a yes can go: once, thread or day."""


@dataclass(frozen=True, slots=True)
class Paused:
    """A turn stands still for something more urgent."""

    key: str
    turn: str


@dataclass(frozen=True, slots=True)
class Agent:
    """An agent that a turn made, or gave something to do: how it is, how many calls it made, and the last one."""

    key: str
    turn: str
    name: str
    state: str
    count: int = 0
    tool: str = ""
    calls: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class End:
    """How a turn ended: answered, stopped, failed, refused or reported."""

    key: str
    turn: str
    state: str
    error: str = ""
    hint: str = ""
    ms: int = 0
    prompt: int = 0
    completion: int = 0
    cost: Cost = NOTHING


@dataclass(frozen=True, slots=True)
class Note:
    """A word of waiter's or of homed's beside the conversation; ``after`` is the key of what it stands behind."""

    key: str
    text: str
    kind: str = "note"
    after: str = ""


Item = Said | Answer | Thought | Tool | Recall | Asked | Agent | Paused | End | Note
FOLDED = (Tool, Thought, Recall)
"""What a key opens and shuts."""


# -- the rest of the state -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Running:
    """The turn under way.  ``doing``: reading, loading, writing, thinking, tool, waiting, stopping."""

    turn: str
    input: str
    doing: str = "reading"
    done: int = 0
    total: int = 0


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A message that homed has not confirmed yet; ``id`` makes sending it again the same message.  ``urgent``: what
    runs stands still for it."""

    id: str
    text: str
    conversation: int
    thread: str = ""
    uploads: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    sent: bool = False
    urgent: bool = False


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file that was handed over and goes with the next message."""

    upload: str
    name: str
    bytes: int


@dataclass(frozen=True, slots=True)
class Line:
    """The connection: ``state`` is dialing, up, lost or refused."""

    name: str
    state: str = "dialing"
    error: str = ""
    hint: str = ""
    peer: str = ""
    core: str = ""


@dataclass(frozen=True, slots=True)
class Model:
    """Who answers; ``kind`` is remote, gguf or embedded, ``note`` homed's own honest words about it."""

    name: str = ""
    source: str = ""
    kind: str = ""
    note: str = ""
    state: str = ""
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Place:
    """Where the screen's first line is: the n-th line of the thing with this key."""

    key: str
    line: int


@dataclass(frozen=True, slots=True)
class Row:
    """A conversation in a list."""

    id: str
    title: str
    updated: float = 0.0
    busy: bool = False
    channel: str = ""


@dataclass(frozen=True, slots=True)
class Names:
    """What commands can be completed with; None while it was not asked for."""

    models: tuple[str, ...] | None = None
    plugins: tuple[str, ...] | None = None
    settings: tuple[str, ...] | None = None
    connections: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Following:
    """The conversation in step with homed.

    ``synced`` is the number of the last notice that is in it.  While a history is asked for (``fetching``) notices are
    kept in ``held`` too, so that they can be told again on top of it; ``again``: once is not enough.
    """

    items: tuple[Item, ...] = ()
    synced: int = 0
    fetching: bool = False
    again: bool = False
    held: tuple[Mapping[str, Any], ...] = ()
    more: bool = False
    oldest: int = 0
    running: Running | None = None
    hushed: frozenset[str] = frozenset()
    """Turns the person has stopped: nothing more of them is shown."""
    gaps: frozenset[tuple[str, int]] = frozenset()
    """Steps for which a gap was already asked about once."""


@dataclass(frozen=True, slots=True)
class State:
    """Everything."""

    line: Line
    thread: str = ""
    title: str = ""
    conversation: int = 0
    """Grows when another conversation is opened, so that late answers about the last one are known as such."""
    follow: Following = Following()
    outbox: tuple[Outgoing, ...] = ()
    attached: tuple[Attachment, ...] = ()
    model: Model = Model()
    tokens: tuple[int, int] = (0, 0)
    cost: Cost = NOTHING
    opened: frozenset[str] = frozenset()
    chosen: str = ""
    place: Place | None = None
    """None follows the end."""
    listed: tuple[Row, ...] = ()
    names: Names = Names()
    theme: str = "auto"
    cwd: str = ""
    """The folder that is worked in; see ``project``."""
    key_for: str = ""
    """The URL whose key the next line typed is."""
    notes: int = 0
    go_on: bool = False
    """The latest conversation held in a terminal is opened as soon as it is known."""
    over: bool = False
