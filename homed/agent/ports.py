"""What the turn loop needs from the rooms around it, as Protocols, so that each can be a small fake in a test."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from dataclasses import dataclass, field
from typing import Protocol, cast

import trio

from homed.agent.attached import Attached, NoMedia
from homed.agent.explicit import Explicit
from homed.clock import WallClock, system_wall_clock
from homed.events import Bus
from homed.failpoints import Failpoints, NoFailpoints
from homed.host.registry import OutputEntry, StageEntry, ToolEntry
from homed.host.states import PluginStatus
from homed.identity.permissions import Rule
from homed.identity.roles import Identity
from homed.memory.records import Event
from homed.providers.base import Provider, Source
from homed.providers.chain import Chain
from homed.retrieval.rank import Ranker
from homed.retrieval.without import words_only
from homed.spend.ports import NoSpend, SpendPort
from homed.store.rows import Lending


class SettingsPort(Protocol):
    """Typed reading of the configuration registry."""

    def int(self, key: str) -> int:
        """A whole number."""
        ...

    def float(self, key: str) -> float:
        """A number; durations are seconds."""
        ...

    def bool(self, key: str) -> bool:
        """Yes or no."""
        ...

    def str(self, key: str) -> str:
        """A text."""
        ...


class RegistryPort(Protocol):
    """What running plugins have registered, at this moment."""

    def tools(self) -> Mapping[str, ToolEntry]:
        """Tool name → its one owner and declaration."""
        ...

    def stages(self, stage: str) -> Sequence[StageEntry]:
        """Handlers of a stage, also the fail-closed ones that are not ready."""
        ...

    def outputs(self) -> Mapping[str, OutputEntry]:
        """Output channel name → its owner and declaration."""
        ...


class SegmentPort(Protocol):
    """Memory in which some plugins read the contexts of stages."""

    def reads(self, plugin: str) -> bool:
        """Whether this one does."""
        ...

    def held(self, fields: Mapping[str, object], *, timeout: float) -> AbstractAsyncContextManager[int]:
        """A context there for the length of the block; its number.  `InvalidInput` or `Unavailable`: no room."""
        ...


class PluginPort(Protocol):
    """Calls into plugin processes."""

    @property
    def segment(self) -> SegmentPort:
        """The stage segment."""
        ...

    @property
    def registry(self) -> RegistryPort:
        """The live registry."""
        ...

    def statuses(self) -> Sequence[PluginStatus]:
        """Every plugin and its state."""
        ...

    async def wait_ready(self, name: str) -> None:
        """Wait until a plugin is ready; Unavailable when it stops before that."""
        ...

    async def call(self, plugin: str, method: str, params: Mapping[str, object], *, timeout: float) -> object:
        """Call a plugin; ``timeout`` in seconds.  Raises Unavailable, TimedOut, PluginFailed or its own error."""
        ...


class SourcesPort(Protocol):
    """The configured model sources."""

    def list(self) -> Sequence[Source]:
        """Every source."""
        ...

    def current(self) -> Source | None:
        """The one in use."""
        ...

    def provider(self, name: str | None = None) -> Provider:
        """The current (or the named) source; raises Unavailable, with what to do, when there is none."""
        ...


class RulesPort(Protocol):
    """The person's standing answers to permission questions."""

    async def list_(self) -> Sequence[Rule]:
        """All of them."""
        ...

    async def add(self, rule: Rule) -> Rule:
        """Keep one."""
        ...


class TokensPort(Protocol):
    """Opaque tokens that name the turn a plugin is working for."""

    def lent(
        self, plugin: str, identity: Identity, *, turn: str, thread: str, channel: str, within: str = ""
    ) -> AbstractContextManager[str]:
        """A token that only ``plugin`` can present, for the length of the block; ``within`` a tool call."""
        ...


class RedactorPort(Protocol):
    """Takes keys and passwords out of text, before it is stored or shown."""

    def redact(self, text: str) -> str:
        """The same text without secrets."""
        ...

    def redact_json(self, value: object) -> object:
        """The same JSON value without secrets."""
        ...

    def begun(self, text: str, end: int) -> int:
        """Where a known secret of several words has begun before ``end`` and is not whole there; -1 if none has."""
        ...


class MediaPort(Protocol):
    """Reads attachments for prompts."""

    async def load(self, events: Sequence[Event], source: Source) -> Attached:
        """The files of these events, oldest first, as this source can take them."""
        ...

    async def text(self, id_: str, *, scope: str, thread: str) -> str:
        """The whole text of an attachment; NotFound."""
        ...


@dataclass(frozen=True, slots=True)
class CallContext:
    """On whose behalf a tool runs; what ``tool.invoke`` carries as ``context``.

    ``in_view``: ids of the earlier events that the turn shows the model; ``tainted``: words of strangers are among what
    it shows or tells.  Both are not for plugins.
    """

    thread: str
    channel: str
    peer: str
    role: str
    scope: str
    turn: str
    in_view: frozenset[str] = frozenset()
    tainted: bool = False

    def as_params(self) -> dict[str, object]:
        """As it goes over the wire."""
        return {
            "thread": self.thread, "channel": self.channel, "peer": self.peer, "role": self.role,
            "scope": self.scope, "turn": self.turn,
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class FromOutside:
    """A result that holds words of strangers: it taints the turn, as the result of an untrusted tool does."""

    content: object


@dataclass(frozen=True, slots=True)
class BuiltinTool:
    """A tool of the kernel's own.  ``run`` gets checked arguments and returns a string or a JSON value, which may be
    wrapped in ``FromOutside``.

    ``offered``: models are told of it; an older name of another one is called all the same.  ``least``: but only those
    with a window of at least so many tokens, for each request carries what they are told.  ``final``: whether a call
    with these arguments can not be taken back, and so is asked for each time, whatever was allowed.
    ``group``: with which others it is asked for; what a group is for stands in ``prompts/groups.md``.  ``owner``: only
    owners may use it, and only they are told of it.
    """

    entry: ToolEntry
    run: Callable[[CallContext, Mapping[str, object]], Awaitable[object]]
    offered: bool = True
    least: int = 0
    final: Callable[[Mapping[str, object]], bool] = lambda _: False
    group: str = "homed"
    owner: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentPorts:
    """Everything a turn touches outside its own room; built once by the app."""

    store: Lending
    bus: Bus
    settings: SettingsPort
    host: PluginPort
    sources: SourcesPort
    rules: RulesPort
    tokens: TokensPort
    redactor: RedactorPort
    wall: WallClock = system_wall_clock
    failpoints: Failpoints = field(default_factory=NoFailpoints)
    builtins: tuple[BuiltinTool, ...] = ()
    media: MediaPort = field(default_factory=NoMedia)
    spend: SpendPort = field(default_factory=NoSpend)
    chain: Chain = field(default_factory=lambda: cast("Chain", None))
    """Whom to ask for an answer, and who stands in; made of ``sources`` where none is given."""
    ranker: Ranker = field(default_factory=words_only)
    explicit: Explicit = field(default_factory=Explicit)
    stored: Callable[[], object] = lambda: None
    """Called after each commit that may have stored what is to have a vector; never waits."""
    refresh: Callable[[], Awaitable[object]] = trio.lowlevel.checkpoint
    """Looks again at what people may have edited beside the database, before it is read for a model call."""
    erased: Callable[[], Awaitable[object]] = trio.lowlevel.checkpoint
    """Called once events are deleted: what was made of them leaves files beside the database, too."""

    def __post_init__(self) -> None:
        if not cast("Chain | None", self.chain):
            object.__setattr__(self, "chain", Chain(self.sources))
