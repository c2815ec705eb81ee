"""The port between the turn loop and a model: one canonical history in, parts out.

Arguments of a tool call are an object here, always; each adapter serialises them its own way.  Adapters raise
``ProviderError`` with one of five kinds and nothing else.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from enum import Enum
from typing import Protocol

from homed.errors import HomedError


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call the model asked for.  ``arguments`` is None when ``raw`` could not be decoded to a JSON object."""

    id: str
    name: str
    arguments: Mapping[str, object] | None
    raw: str = ""


@dataclass(frozen=True, slots=True)
class System:
    """Instructions; always first."""

    text: str


@dataclass(frozen=True, slots=True)
class Image:
    """A picture as its file has it; ``media_type`` is image/png, jpeg, gif or webp."""

    media_type: str
    data: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Audio:
    """A recording as its file has it; ``media_type`` is audio/wav or audio/mpeg."""

    media_type: str
    data: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class User:
    """What a person (or the kernel on their behalf) says.

    ``images``: only for a source with ``vision``; ``audio``: only for one with ``audio``.
    """

    text: str
    images: tuple[Image, ...] = ()
    audio: tuple[Audio, ...] = ()


@dataclass(frozen=True, slots=True)
class Opaque:
    """What a source wants back byte for byte with the message it came in: signed thinking, thought signatures.

    ``wire`` names the family of adapters that made it; only that one reads it, the others leave it out.  ``data`` is
    JSON text of that adapter's own making.  It is sent as it came or not at all; nothing edits it.
    """

    wire: str
    data: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Assistant:
    """What the model said.  ``reasoning`` is kept for the sources that want it back after tool calls.

    ``origin``: the name of the source that said it, empty where nobody knows any more.
    """

    text: str
    calls: tuple[ToolCall, ...] = ()
    reasoning: str = ""
    opaque: Opaque | None = None
    origin: str = ""


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The answer to one call; ``text`` is never empty."""

    call_id: str
    name: str
    text: str
    is_error: bool = False


Message = System | User | Assistant | ToolResult


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as offered to the model; ``parameters`` is a JSON Schema of type object."""

    name: str
    description: str
    parameters: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """Everything one model call needs; ``max_tokens`` None leaves it to the source."""

    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...] = ()
    max_tokens: int | None = None
    temperature: float | None = None


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens, normalised: ``prompt`` includes ``cached``, which is counted once."""

    prompt: int = 0
    completion: int = 0
    cached: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(self.prompt + other.prompt, self.completion + other.completion, self.cached + other.cached)


@dataclass(frozen=True, slots=True)
class ContentDelta:
    """More of the answer's text."""

    text: str


@dataclass(frozen=True, slots=True)
class ReasoningDelta:
    """More of what the model thinks aloud."""

    text: str


@dataclass(frozen=True, slots=True)
class CallDelta:
    """A fragment of the tool call at ``index``; ``id`` and ``name`` come whole, ``arguments`` piece by piece."""

    index: int
    id: str = ""
    name: str = ""
    arguments: str = ""


@dataclass(frozen=True, slots=True)
class UsagePart:
    """The source's own count for this call."""

    usage: Usage


@dataclass(frozen=True, slots=True)
class Done:
    """The stream ended well; ``reason`` is stop, length, tool_calls or the source's own word."""

    reason: str


@dataclass(frozen=True, slots=True)
class Retrying:
    """The source refused for the moment; the same request goes out again after ``wait`` seconds.  Nothing was shown."""

    wait: float
    why: str


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a model of ours is before it can say anything.

    ``what`` is ``loading`` (bytes of its file in memory) or ``reading`` (tokens of the prompt); ``done`` of ``total``.
    """

    what: str
    done: int
    total: int


Part = ContentDelta | ReasoningDelta | CallDelta | Opaque | UsagePart | Done | Retrying | Progress


LOCAL = "local"
"""The adapter of models that run in a child process of ours."""


class ErrorKind(Enum):
    """What a failure means for what happens next."""

    TRANSIENT = "transient"
    CREDENTIAL = "credential"
    CONTEXT_FULL = "context_full"
    REFUSED = "refused"
    BAD_REQUEST = "bad_request"


class ProviderError(HomedError):
    """A model source failed.  ``partial`` is true when parts had come before, so a retry would say things twice.

    ``window``: the tokens that its model really takes, where a refusal of what was too long named them; else 0.
    ``unsent``: the request never reached it.  ``unparsed``: it could not read the tool call that its own model made.
    """

    code = "provider"

    def __init__(
        self,
        kind: ErrorKind,
        message: str,
        *,
        hint: str = "",
        status: int = 0,
        retry_after: float | None = None,
        partial: bool = False,
    ) -> None:
        super().__init__(message, hint=hint, detail={"kind": kind.value, "status": status})
        self.kind = kind
        self.status = status
        self.retry_after = retry_after
        self.partial = partial
        self.window = 0
        self.unsent = False
        self.unparsed = False

    @property
    def unbilled(self) -> bool:
        """True when the source refused before it read a word, so that nothing is owed for it."""
        return self.unsent or self.status >= 400


@dataclass(frozen=True, slots=True)
class Source:
    """One configured model source.  The key is not here: it is looked up by name when a request is made.

    ``tools`` is False for a model that is better off without any: none are offered, and the prompt is short.
    ``vision``: it takes images; ``audio``: recordings.  ``priority``: of those that can answer, a higher one is asked
    first.  ``options`` are its quirks (``providers.options``).  With the adapter ``local`` there is no ``base_url``:
    the model runs in a child of ours from the GGUF file at ``path`` (absolute), or from the built-in weights when that
    is empty.
    """

    name: str
    base_url: str
    model: str
    adapter: str = "openai"
    context_window: int = 32_768
    max_concurrent: int = 8
    priority: int = 0
    tools: bool = True
    vision: bool = False
    audio: bool = False
    path: str = ""
    options: Mapping[str, object] = field(default_factory=dict)

    @property
    def kind(self) -> str:
        """``remote``, ``gguf`` (a file of the person's, run here) or ``embedded`` (the one that came along)."""
        if self.adapter != LOCAL:
            return "remote"
        return "gguf" if self.path else "embedded"


class Provider(Protocol):
    """One model source, ready to be asked."""

    @property
    def source(self) -> Source:
        """What it was configured with."""
        ...

    def stream(self, request: ChatRequest) -> AbstractAsyncContextManager[AsyncIterator[Part]]:
        """Ask, and yield parts as they come; the last is ``Done``.

        Leaving the block (also by cancellation) closes the connection before it returns.  Raises ``ProviderError``
        while entering or iterating.
        """
        ...
