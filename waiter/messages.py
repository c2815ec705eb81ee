"""What happens to the state, and what the state wants done then: frozen values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .model import Attachment, Place

# -- messages: what happens to the state -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Up:
    """The connection stands."""

    peer: str
    core: str


@dataclass(frozen=True, slots=True)
class Down:
    """It does not; ``final``: dialling again by itself would not help."""

    error: str
    hint: str = ""
    final: bool = False


@dataclass(frozen=True, slots=True)
class Heard:
    """A notice."""

    notice: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Lost:
    """Notices were lost on the way."""

    count: int


@dataclass(frozen=True, slots=True)
class Tag:
    """What a call was for; its answer carries it back."""

    name: str
    arg: str = ""
    conversation: int = 0


@dataclass(frozen=True, slots=True)
class Replied:
    """homed answered a call."""

    tag: Tag
    result: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Refused:
    """homed answered a call with an error, or did not answer (``code`` unavailable, timeout)."""

    tag: Tag
    error: str
    hint: str = ""
    code: str = ""


@dataclass(frozen=True, slots=True)
class Typed:
    """A message or a command was sent off; ``id`` for the message it may become.  ``urgent``: it is to be taken up
    before what runs goes on."""

    text: str
    id: str
    urgent: bool = False


@dataclass(frozen=True, slots=True)
class Pressed:
    """A key that is not typing: stop, open, next, previous, older, allow, always, deny, complete."""

    name: str
    arg: str = ""


@dataclass(frozen=True, slots=True)
class Moved:
    """The person scrolled; None goes to the end and stays there."""

    place: Place | None


@dataclass(frozen=True, slots=True)
class Told:
    """Something that was done outside homed came to this."""

    text: str
    kind: str = "note"


@dataclass(frozen=True, slots=True)
class Handed:
    """A file is with homed."""

    attachment: Attachment


@dataclass(frozen=True, slots=True)
class Turned:
    """Another homed is dialled."""

    name: str


@dataclass(frozen=True, slots=True)
class Wanted:
    """The key for this URL is not known: the person is asked."""

    url: str


Message = Up | Down | Heard | Lost | Replied | Refused | Typed | Pressed | Moved | Told | Handed | Turned | Wanted


# -- effects: what the state wants done ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Call:
    """Ask homed."""

    tag: Tag
    method: str
    params: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Dial:
    """Another homed: the connection of a name, a URL (with ``key``), or with neither the one on this machine."""

    name: str = ""
    url: str = ""
    key: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class Upload:
    """Hand a file to homed."""

    path: str


@dataclass(frozen=True, slots=True)
class Export:
    """Write a conversation to a file."""

    thread: str
    title: str
    path: str


@dataclass(frozen=True, slots=True)
class Leave:
    """End the program."""


Effect = Call | Dial | Upload | Export | Leave
