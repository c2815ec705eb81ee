"""What the kernel's methods need of the rooms below, so that ``app.py`` wires it and a test replaces it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:  # the first calls are answered before the rooms below are loaded
    from pathlib import Path

    from homed.agent.borrowed import Handed
    from homed.agent.conversations import Message, Receipt
    from homed.agent.uploads import Piece
    from homed.api.console import ConsolePort, MemoryDoctorPort
    from homed.api.rooms import (
        CallingPort,
        ColdPort,
        CompletionsPort,
        JobsPort,
        KeepingPort,
        PeoplePort,
        PublisherPort,
        RememberingPort,
        RulesPort,
        SourcesPort,
        TrackerPort,
        UsagePort,
    )
    from homed.api.settings import SettingsPort
    from homed.api.wishes import WishesPort
    from homed.host.discover import Broken, Installed
    from homed.host.packages import Provenance
    from homed.host.review import Review
    from homed.host.states import PluginStatus, Trust
    from homed.identity.keys import ApiKey
    from homed.identity.logins import Session
    from homed.identity.roles import Identity, Role
    from homed.identity.tokens import CallIdentity
    from homed.jobs.checks import Check
    from homed.memory.blocks import Block
    from homed.memory.records import Input


class Caller(Protocol):
    """The plugin that calls: one running process of it, as the host knows it."""

    @property
    def plugin(self) -> str:
        """Its name."""
        ...

    @property
    def trust(self) -> Trust:
        """Where it was installed from."""
        ...

    @property
    def capabilities(self) -> frozenset[str]:
        """What it was granted."""
        ...

    @property
    def seq(self) -> int:
        """The number of the last notice posted."""
        ...

    def subscribe(self, types: frozenset[str] | None, *, content: bool, via: str) -> int:
        """Let it hear of these types (None: all) from now on; returns the number of the last one posted."""
        ...

    def announce(self, kind: str, address: str) -> None:
        """Note where people reach it."""
        ...

    def arena_alloc(self, length: int) -> int:
        """Room in its own arena; the offset."""
        ...

    def arena_free(self, off: int) -> None:
        """Take such a block back, or one that it was given."""
        ...

    async def log(self, level: str, message: str) -> None:
        """Add a line to its own log."""
        ...


class HostPort(Protocol):
    """``homed.host.Host``."""

    @property
    def wishes(self) -> WishesPort:
        """What running plugins ask about themselves."""
        ...

    @property
    def addresses(self) -> Mapping[str, tuple[str, str]]:
        """Plugin → (kind, address) that it announced."""
        ...

    def statuses(self) -> Sequence[PluginStatus]:
        """Every plugin there is."""
        ...

    async def start(self, name: str) -> PluginStatus:
        """Start one and clear its history of crashes."""
        ...

    async def stop(self, name: str) -> PluginStatus:
        """Stop one until a person starts it."""
        ...

    def status(self, name: str) -> PluginStatus:
        """One plugin; NotFound."""
        ...

    def found(self, name: str) -> Installed | Broken:
        """What is known of one on disk; NotFound."""
        ...

    async def enable(self, name: str) -> PluginStatus:
        """Let one run again that was disabled."""
        ...

    async def disable(self, name: str) -> PluginStatus:
        """End one until it is enabled."""
        ...

    def logs(self, name: str, limit: int) -> Sequence[str]:
        """The last lines of its stderr."""
        ...


class PackagesPort(Protocol):
    """``homed.host.packages.Packages``."""

    async def review(self, path: Path) -> Review:
        """What a package is and wants."""
        ...

    async def install(self, path: Path, sha256: str, grant: Collection[str], source: str) -> PluginStatus:
        """Install what was reviewed."""
        ...

    async def remove(self, name: str, *, keep_data: bool) -> None:
        """End and delete one."""
        ...

    async def reload(self, name: str) -> PluginStatus:
        """Read its folder again."""
        ...

    async def grant(self, name: str, capabilities: Collection[str]) -> PluginStatus:
        """Set what it may do."""
        ...

    async def granted(self, name: str) -> frozenset[str]:
        """What it may do beyond the core."""
        ...

    async def provenance(self, name: str) -> Provenance | None:
        """How it was installed."""
        ...


class ConversationsPort(Protocol):
    """``homed.agent.Conversations``.  What ``who`` may not see is ``NotFound``."""

    async def inject(self, who: Identity, msg: Message) -> Receipt:
        """Accept a message durably."""
        ...

    async def interrupt(
        self, who: Identity, message: Message, level: int, *, critical: bool = False
    ) -> tuple[Receipt, int, str]:
        """Accept one that does not wait its turn; the level that counts, and how it comes in."""
        ...

    async def signal_all(self, text: str) -> int:
        """An interrupt of level 4 in every thread that has work; in how many."""
        ...

    def dump(self) -> Mapping[str, object]:
        """The result of ``admin.threads``."""
        ...

    async def wait(self, who: Identity, input_id: str) -> Input:
        """The input once it has its outcome."""
        ...

    async def calls_of(self, who: Identity, input_id: str) -> tuple[Sequence[Handed], Mapping[str, object]]:
        """The calls that whoever lent functions for an input is to make, and the turn's usage; none once it is over."""
        ...

    async def answer(self, who: Identity, results: Mapping[str, str]) -> tuple[Input, Mapping[str, object]]:
        """Give the results of such calls; the input whose turn waits for them, and the usage last told."""
        ...

    async def stop(self, who: Identity, thread: str, turn: str = "", *, input_: str = "") -> bool:
        """Stop the turn that runs in a thread, or the named one, or that of an input; False if it did not run."""
        ...

    async def delete(self, who: Identity, thread: str) -> Mapping[str, object]:
        """Remove a thread whole: the result of ``io.thread_delete``."""
        ...

    def approvals(self, who: Identity) -> Sequence[Mapping[str, object]]:
        """What waits for a decision of ``who``."""
        ...

    async def approve(self, who: Identity, approval: str, *, allow: bool, remember: str) -> None:
        """Decide; ``remember`` is once or thread."""
        ...


class ArchivePort(Protocol):
    """``homed.agent.archive.Archive``.  What ``who`` may not see is ``NotFound``."""

    async def threads(self, who: Identity, query: str, limit: int, before: float | None) -> Mapping[str, object]:
        """The result of ``io.threads``."""
        ...

    async def history(self, who: Identity, thread: str, before: int | None, limit: int) -> Mapping[str, object]:
        """The result of ``io.history``."""
        ...

    async def rename(self, who: Identity, thread: str, title: str) -> None:
        """Give a thread another title."""
        ...

    async def event(self, who: Identity, id_: str, offset: int, length: int) -> Mapping[str, object]:
        """The result of ``io.event``."""
        ...


class MemoryPort(Protocol):
    """``homed.agent.explain.Explanations``.  What ``who`` may not see is ``NotFound``."""

    async def explain(self, who: Identity, turn: str) -> Mapping[str, object]:
        """The result of ``memory.explain``."""
        ...


class UploadsPort(Protocol):
    """``homed.agent.uploads.Uploads``."""

    async def receive(self, who: Identity, piece: Piece) -> tuple[str, int]:
        """Take a piece of a file: the upload and its bytes so far."""
        ...

    async def of_call(self, turn: str, call: str, piece: Piece) -> tuple[str, int]:
        """Take a piece of a file for the result of a tool call."""
        ...

    async def cancel(self, who: Identity, upload: str) -> None:
        """Forget a file that no message has taken."""
        ...

    async def block(self, who: Identity, id_: str, offset: int, length: int) -> tuple[Block, bytes]:
        """An attachment and some of its bytes."""
        ...

    async def small(self, who: Identity, id_: str) -> tuple[Block, bytes | None]:
        """An attachment and the small picture of it, if there is one."""
        ...


class KeysPort(Protocol):
    """``homed.identity.keys.ApiKeys``."""

    async def list_(self) -> Sequence[ApiKey]:
        """Every key, as it may be shown."""
        ...

    async def add(self, name: str, scopes: Sequence[str], peer: str = ...) -> tuple[str, ApiKey]:
        """A new key and how it is shown."""
        ...

    async def remove(self, name: str) -> None:
        """Remove one."""
        ...

    async def check(self, secret: str) -> ApiKey:
        """What this key is; Denied if it is none."""
        ...


class LoginsPort(Protocol):
    """``homed.identity.logins.Logins``."""

    @property
    def password_set(self) -> bool:
        """True if there is a password."""
        ...

    async def make_link(self) -> tuple[str, float]:
        """A secret that logs in once, and when it expires."""
        ...

    async def redeem(self, secret: str) -> Session:
        """A session for a link's secret."""
        ...

    async def login(self, password: str) -> Session:
        """A session for the password."""
        ...

    async def check(self, secret: str) -> Session:
        """The session of this secret."""
        ...

    async def logout(self, secret: str) -> None:
        """End a session."""
        ...

    async def end_all(self) -> None:
        """End every session and link."""
        ...


class DirectoryPort(Protocol):
    """``homed.identity.peers.Directory``."""

    async def identify(self, plugin: str, peer_id: str, *, name: str = "", group: str = "") -> Identity:
        """Who a peer of this plugin's is."""
        ...

    async def set_role(self, peer: str, role: Role) -> None:
        """Give a known peer a role."""
        ...

    async def set_name(self, peer: str, name: str) -> str:
        """Call a known peer so; the name as stored."""
        ...


class TokensPort(Protocol):
    """``homed.identity.tokens.CallTokens``."""

    def resolve(self, plugin: str, token: str) -> CallIdentity:
        """What a call token stands for."""
        ...


class StatusPort(Protocol):
    """Whoever can tell how the daemon is doing; the app."""

    async def status(self) -> Mapping[str, object]:
        """The result of ``admin.status``."""
        ...


class DoctorPort(Protocol):
    """Whoever looks at the whole installation; the app."""

    async def examine(self, *, deep: bool = False) -> Sequence[Check]:
        """Every check."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class PorchPorts:
    """What the methods on the porch touch: all of it stands before the kernel is loaded."""

    directory: DirectoryPort
    tokens: TokensPort
    logins: LoginsPort
    settings: SettingsPort
    keys: KeysPort


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiPorts(PorchPorts):
    """Everything the methods touch; built once by the app."""

    conversations: ConversationsPort
    host: HostPort
    sources: SourcesPort
    status: StatusPort
    doctor: DoctorPort
    memory_doctor: MemoryDoctorPort
    archive: ArchivePort
    memory: MemoryPort
    uploads: UploadsPort
    packages: PackagesPort
    calling: CallingPort
    remembering: RememberingPort
    cold: ColdPort
    completions: CompletionsPort
    people: PeoplePort
    rules: RulesPort
    publisher: PublisherPort
    jobs: JobsPort
    keeping: KeepingPort
    usage: UsagePort
    tracker: Callable[[], TrackerPort]
    console: Callable[[], ConsolePort]
