"""What the groups memory, cold, textlog, llm, social, tools, models and permission rules need of the rooms below."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:  # each is loaded when it is first asked something
    from homed.agent.complete import Completion, Question
    from homed.agent.dispatch import Result
    from homed.agent.metering import Paid
    from homed.agent.ports import CallContext
    from homed.agent.remember import Remembered
    from homed.events import Notice
    from homed.host.registry import ToolEntry
    from homed.identity.people import Person
    from homed.identity.permissions import Rule
    from homed.identity.roles import Identity
    from homed.identity.tokens import CallIdentity
    from homed.jobs.book import HeldUnit, RunRecord
    from homed.jobs.every import JobView
    from homed.jobs.exporting import Exported
    from homed.jobs.importing import Imported
    from homed.jobs.merging import Done, Proposed
    from homed.jobs.proof import Proof
    from homed.memory.forgets import Preview
    from homed.memory.holding import Held
    from homed.providers.base import Source
    from homed.providers.local.models import Standing
    from homed.spend.records import Cost, Purpose, Tokens
    from homed.store.backup import BackupInfo
    from homed.tracker.records import Wanted
    from homed.tracker.tracker import Asked
    from homed.wire.tracked import Change


class CallingPort(Protocol):
    """``homed.agent.calling.Calling``: the turn that lent a call token.  Denied once that turn is over."""

    async def call(self, lent: CallIdentity, tool: str, args: Mapping[str, object]) -> Result:
        """Have a tool called within the call."""
        ...

    async def offered(self, lent: CallIdentity) -> Sequence[ToolEntry]:
        """The tools that turn may use."""
        ...

    def context(self, lent: CallIdentity) -> CallContext:
        """On whose behalf it works."""
        ...

    def within(self, lent: CallIdentity) -> tuple[str, str]:
        """The tool call that lent it: its tool, and its id."""
        ...

    def attaching(self, lent: CallIdentity) -> tuple[str, str]:
        """The turn, and the place in it of the tool call that lent it."""
        ...

    def took_in(self, lent: CallIdentity, *, untrusted: bool, no_memory: bool = False) -> None:
        """Words of strangers, or private ones, were given to the plugin."""
        ...

    def purpose(self, lent: CallIdentity, plugin: str) -> Purpose:
        """Whom a question of the plugin's to a model is for."""
        ...

    def spent(self, lent: CallIdentity, tokens: Tokens, cost: Cost) -> None:
        """What was used on behalf of the turn."""
        ...


class RememberingPort(Protocol):
    """``homed.agent.remember.Remembering``."""

    async def search(self, who: Identity, query: str, *, limit: int, layer: str, turn: str) -> Remembered:
        """The result of ``memory.search``."""
        ...

    async def day(self, who: Identity, day: str, *, after: int, limit: int) -> Remembered:
        """The result of ``textlog.read``."""
        ...


class ColdPort(Protocol):
    """``homed.builtin.coldcontext.ColdQuery``."""

    async def ask(self, context: CallContext, query: str, top: int) -> tuple[Mapping[str, object], bool]:
        """What was found, and whether words of strangers are in it."""
        ...


class CompletionsPort(Protocol):
    """``homed.agent.complete.Completions``."""

    async def ask(
        self, plugin: str, question: Question, *, purpose: Purpose | None = None, paid: Paid | None = None
    ) -> Completion:
        """The answer of a model; ``paid`` hears of what it took."""
        ...


class PeoplePort(Protocol):
    """``homed.identity.people.People``.  Whom ``who`` may not know of is ``NotFound``."""

    async def get(self, who: Identity, person: str) -> Person:
        """Somebody."""
        ...

    async def list_(self, who: Identity, query: str = "", *, limit: int = 50, after: str = "") -> Sequence[Person]:
        """Those who are known, by id, from behind ``after``."""
        ...


class RulesPort(Protocol):
    """``homed.identity.rules.Rules``."""

    async def list_(self) -> Sequence[Rule]:
        """Every rule, oldest first."""
        ...

    async def remove(self, rule_id: str) -> None:
        """Remove one; NotFound."""
        ...


class TrackerPort(Protocol):
    """``homed.tracker.tracker.Tracker``."""

    async def begin(self, asked: Asked, folder: bytes) -> Mapping[str, object]:
        """A set for what is about to be changed."""
        ...

    async def add(self, plugin: str, id_: str, found: Sequence[Change], at: int) -> Sequence[str]:
        """Entries of an open set; the contents that are missing."""
        ...

    async def put(self, plugin: str, id_: str, hash_: str, data: bytes, at: int, *, last: bool) -> None:
        """A piece of a content."""
        ...

    async def finish(self, plugin: str, id_: str, *, cut: bool, problem: str = "") -> None:
        """The set is whole."""
        ...

    async def plan(self, plugin: str, id_: str, after: int) -> Mapping[str, object]:
        """What a roll back puts back."""
        ...

    async def give(self, plugin: str, id_: str, hash_: str, offset: int) -> Mapping[str, object]:
        """A piece of a content for it."""
        ...

    async def listed(self, wanted: Wanted) -> Mapping[str, object]:
        """The result of ``admin.tracker_list``."""
        ...

    async def show(self, id_: str, *, after: int = 0, limit: int = 500) -> Mapping[str, object]:
        """The result of ``admin.tracker_show``."""
        ...

    async def diff(self, id_: str, number: int) -> Mapping[str, object]:
        """The result of ``admin.tracker_diff``."""
        ...

    async def rollback(self, id_: str, asked: Asked, *, force: bool = False) -> Mapping[str, object]:
        """Put a set back."""
        ...

    async def forget(self, id_: str = "", path: str = "") -> Mapping[str, object]:
        """Forget what is kept."""
        ...


class KeepingPort(Protocol):
    """``homed.jobs.keeping.Keeping``."""

    async def preview(self, kind: str, target: str, *, wide: bool) -> Preview:
        """What would be forgotten."""
        ...

    async def forget(self, kind: str, target: str, *, wide: bool) -> Proof:
        """Forget it, and prove it."""
        ...

    async def find(self, text: str, since: float | None, until: float | None) -> Held:
        """What holds a text, or was said in a time."""
        ...

    async def export(self, path: str, format: str, scopes: Collection[str] | None) -> Exported:
        """Write memory to a folder."""
        ...

    async def import_(self, path: str) -> Imported:
        """Take an export in."""
        ...

    async def backup(self, path: str = "") -> BackupInfo:
        """Make a backup."""
        ...

    async def backups(self) -> Sequence[BackupInfo]:
        """Those there are."""
        ...

    @property
    def merging(self) -> MergingPort:
        """Entities that may be one."""
        ...


class MergingPort(Protocol):
    """``homed.jobs.merging.Merging``."""

    async def list_(self, scopes: Collection[str] | None = None) -> tuple[Sequence[Proposed], Sequence[Done]]:
        """What is proposed, and what was merged; facts of these scopes alone (None: of all)."""
        ...

    async def accept(self, merge: str, *, keep: int = 0) -> Done:
        """Make two one."""
        ...

    async def reject(self, merge: str) -> None:
        """They are two."""
        ...

    async def undo(self, done: int) -> str:
        """Take a merge back."""
        ...


class UsagePort(Protocol):
    """``homed.spend.report.Reports``."""

    async def usage(self, days: int) -> Mapping[str, object]:
        """The result of ``admin.usage``."""
        ...

    async def set_price(self, entry: Mapping[str, object]) -> None:
        """Keep a price."""
        ...

    async def remove_price(self, source: str, model: str) -> None:
        """Forget one; NotFound."""
        ...


class JobsPort(Protocol):
    """``homed.jobs.every.Jobs``.  NotFound for a job there is none of."""

    async def list_(self) -> Sequence[JobView]:
        """Every job."""
        ...

    async def held(self) -> Sequence[HeldUnit]:
        """Units in quarantine."""
        ...

    async def runs(self, name: str, limit: int) -> Sequence[RunRecord]:
        """The last runs of one."""
        ...

    async def run_now(self, name: str) -> None:
        """Have one begin; Conflict if it runs."""
        ...

    async def pause(self, name: str) -> None:
        """Leave one alone."""
        ...

    async def resume(self, name: str) -> None:
        """Let one run again."""
        ...

    async def release(self, name: str, unit: str) -> None:
        """Take a unit out of quarantine; NotFound."""
        ...


class PublisherPort(Protocol):
    """``homed.host.publish.Publisher``."""

    def post(self, plugin: str, type_: str, data: Mapping[str, object], *, where: Mapping[str, str]) -> Notice:
        """Post a notice for a plugin; Unavailable when it is too many."""
        ...


class Available(Protocol):
    """``homed.providers.listing.Available``: a model that a server has."""

    def wire(self) -> dict[str, object]: ...


class Trial(Protocol):
    """``homed.providers.trial.Trial``: how a model source did when it was tried."""

    @property
    def ok(self) -> bool: ...

    @property
    def latency_ms(self) -> float: ...

    @property
    def total_ms(self) -> float: ...

    @property
    def streaming(self) -> bool: ...

    @property
    def reasoning(self) -> bool: ...

    @property
    def usage(self) -> bool: ...

    @property
    def tools(self) -> bool: ...

    @property
    def images(self) -> bool | None: ...

    @property
    def error(self) -> str: ...

    @property
    def hint(self) -> str: ...

    @property
    def notes(self) -> Sequence[str]: ...


class ScriptListed(Protocol):
    """``homed.providers.lua.scripts.Listed``."""

    @property
    def name(self) -> str: ...

    @property
    def origin(self) -> str: ...

    @property
    def path(self) -> str: ...

    @property
    def newer(self) -> str: ...

    @property
    def error(self) -> str: ...


class SourcesPort(Protocol):
    """``homed.providers.registry.Sources``."""

    def list(self) -> Sequence[Source]:
        """Every configured source."""
        ...

    def current(self) -> Source | None:
        """The one in use."""
        ...

    def has_key(self, name: str) -> bool:
        """True if a key is stored for it."""
        ...

    def standing(self, source: Source) -> Standing:
        """How one on this machine is doing; empty for others."""
        ...

    def learnt(self, source: Source) -> int:
        """The window it turned out to have; 0 where its own was right so far."""
        ...

    async def available(self, source: Source, api_key: str | None) -> Sequence[Available]:
        """The models that its server lists; an ``api_key`` of None asks with the stored one."""
        ...

    async def add(self, source: Source, api_key: str | None) -> Source:
        """Add or replace; an ``api_key`` of None keeps the stored one."""
        ...

    async def remove(self, name: str) -> None:
        """Forget it and its key."""
        ...

    async def use(self, name: str) -> None:
        """Make it the current one."""
        ...

    async def test(self, name: str) -> Trial:
        """Try it."""
        ...

    async def adapters(self) -> Sequence[ScriptListed]:
        """The adapter scripts there are, each tried."""
        ...
