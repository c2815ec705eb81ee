"""The rooms below the methods, as fakes that record; identity and settings are the real ones."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from homed.agent.borrowed import Handed
from homed.agent.complete import Completion, Question
from homed.agent.conversations import Message, Receipt
from homed.agent.dispatch import Result
from homed.agent.metering import Paid
from homed.agent.ports import CallContext
from homed.agent.uploads import Piece
from homed.api.dispatch import ApiDispatcher
from homed.api.ports import ApiPorts
from homed.builtin.entries import entry
from homed.config.definitions import Definition
from homed.config.secrets import Secrets
from homed.errors import NotFound, Unavailable
from homed.events import Bus
from homed.host.discover import Broken, Installed
from homed.host.packages import Provenance
from homed.host.publish import Publisher
from homed.host.registry import ToolEntry
from homed.host.review import Review
from homed.host.states import PluginStatus, State, Trust
from homed.identity.keys import ApiKeys
from homed.identity.logins import Logins
from homed.identity.peers import Directory
from homed.identity.people import People
from homed.identity.roles import Identity
from homed.identity.rules import Rules
from homed.identity.tokens import CallIdentity, CallTokens
from homed.jobs.checks import Check, bad
from homed.jobs.console.console import Console
from homed.jobs.console.ports import ConsolePorts, Folders
from homed.jobs.memcheck.findings import Finding, Report, Status
from homed.memory.blocks import Block
from homed.memory.records import Input, InputState, Outcome, Thread
from homed.providers.base import Usage
from homed.redact import Redactor
from homed.retrieval.embed.current import CurrentEmbedder
from homed.settings.registry import Settings, open_settings
from homed.spend.records import Cost, Kind, Price, Purpose, Tokens
from homed.store.db import Store, open_store
from homed.tracker.tracker import Tracker, TrackerPorts
from homed.wire.manifest import parse_manifest
from homed.wire.methods import CAPABILITIES
from tests.homed.api.fake_memory import FakeJobs, FakeKeeping, FakeMemory, FakeRemembering
from tests.homed.api.fake_models import FakeSources


@dataclass
class FakeCaller:
    """A plugin that calls; every capability unless told otherwise."""

    plugin: str = "webui"
    trust: Trust = Trust.PACKAGED
    capabilities: frozenset[str] = CAPABILITIES
    seq: int = 40
    subscribed: list[tuple[frozenset[str] | None, bool, str]] = field(default_factory=list)
    announced: list[tuple[str, str]] = field(default_factory=list)
    logged: list[tuple[str, str]] = field(default_factory=list)
    freed: list[int] = field(default_factory=list)

    def arena_alloc(self, length: int) -> int:
        return 4096 * length

    def arena_free(self, off: int) -> None:
        self.freed.append(off)

    def subscribe(self, types: frozenset[str] | None, *, content: bool, via: str) -> int:
        self.subscribed.append((types, content, via))
        return 41

    def announce(self, kind: str, address: str) -> None:
        self.announced.append((kind, address))

    async def log(self, level: str, message: str) -> None:
        self.logged.append((level, message))


class FakeConversations:
    """Accepts everything, answers everything with "done", and notes who asked what."""

    def __init__(self) -> None:
        self.calls: list[tuple[object, ...]] = []
        self.handed: tuple[Handed, ...] = ()
        self.input = Input(
            "input_1", "thread_1", "owner", "webui", "webui:owner", "owner", "hi", "", False, False,
            InputState.ACCEPTED, 0, "", 0.0,
        )  # fmt: skip
        self.duplicate = False
        self.says = "done"

    async def inject(self, who: Identity, msg: Message) -> Receipt:
        self.calls.append(("inject", who, msg))
        return Receipt(self.input, Thread("thread_1", who.scope, msg.channel, "", 0, 0), self.duplicate)

    async def interrupt(
        self, who: Identity, message: Message, level: int, *, critical: bool = False
    ) -> tuple[Receipt, int, str]:
        self.calls.append(("interrupt", who, message, level, critical))
        thread = Thread("thread_1", who.scope, message.channel, "", 0, 0)
        return Receipt(self.input, thread, self.duplicate), level, "starts"

    async def signal_all(self, text: str) -> int:
        self.calls.append(("signal_all", text))
        return 2

    def dump(self) -> Mapping[str, object]:
        return {"threads": []}

    async def wait(self, who: Identity, input_id: str) -> Input:
        self.calls.append(("wait", who, input_id))
        outcome = Outcome(InputState.ANSWERED, self.says, usage={"prompt": 3})
        return Input(
            input_id, "thread_1", "owner", "webui", "webui:owner", "owner", "hi", "", False, False,
            InputState.ANSWERED, 1, "turn_1", 0.0, outcome,
        )  # fmt: skip

    async def stop(self, who: Identity, thread: str, turn: str = "", *, input_: str = "") -> bool:
        self.calls.append(("stop", who, thread, turn, *filter(None, [input_])))
        return True

    async def calls_of(self, who: Identity, input_id: str) -> tuple[Sequence[Handed], Mapping[str, object]]:
        self.calls.append(("calls", who, input_id))
        return self.handed, {"prompt": 5}

    async def answer(self, who: Identity, results: Mapping[str, str]) -> tuple[Input, Mapping[str, object]]:
        self.calls.append(("answer", who, dict(results)))
        return self.input, {"prompt": 5}

    async def threads(self, who: Identity, query: str, limit: int, before: float | None) -> Mapping[str, object]:
        self.calls.append(("threads", who, query, limit, before))
        return {"threads": [], "more": False}

    async def history(self, who: Identity, thread: str, before: int | None, limit: int) -> Mapping[str, object]:
        self.calls.append(("history", who, thread, before, limit))
        return {"events": []}

    async def rename(self, who: Identity, thread: str, title: str) -> None:
        self.calls.append(("rename", who, thread, title))

    async def event(self, who: Identity, id_: str, offset: int, length: int) -> Mapping[str, object]:
        self.calls.append(("event", who, id_, offset, length))
        return {"text": "verbatim"}

    async def delete(self, who: Identity, thread: str) -> Mapping[str, object]:
        self.calls.append(("delete", who, thread))
        return {"events": 2, "files": 1}

    def approvals(self, who: Identity) -> Sequence[Mapping[str, object]]:
        self.calls.append(("approvals", who))
        return [{"approval": "approval_1"}]

    async def approve(self, who: Identity, approval: str, *, allow: bool, remember: str) -> None:
        self.calls.append(("approve", who, approval, allow, remember))


class FakeUploads:
    """Takes every piece, has one block."""

    def __init__(self) -> None:
        self.calls: list[tuple[object, ...]] = []

    async def receive(self, who: Identity, piece: Piece) -> tuple[str, int]:
        self.calls.append(("receive", who, piece))
        return "blk_1", len(piece.data)

    async def of_call(self, turn: str, call: str, piece: Piece) -> tuple[str, int]:
        self.calls.append(("of_call", turn, call, piece))
        return "blk_1", len(piece.data)

    async def cancel(self, who: Identity, upload: str) -> None:
        self.calls.append(("cancel", who, upload))

    async def block(self, who: Identity, id_: str, offset: int, length: int) -> tuple[Block, bytes]:
        self.calls.append(("block", who, id_, offset, length))
        return Block(id_, "00", "猫.png", "image/png", 5), b"\x89PNG\n"[offset:][:length]

    async def small(self, who: Identity, id_: str) -> tuple[Block, bytes | None]:
        self.calls.append(("small", who, id_))
        return Block(id_, "00", "猫.png", "image/png", 5), b"RIFF" if id_ == "blk_small" else None


class FakeWishes:
    """Notes what plugins ask about themselves."""

    def __init__(self) -> None:
        self.asked: list[tuple[object, ...]] = []

    def restart(self, plugin: str) -> None:
        self.asked.append(("restart", plugin))

    def busy(self, plugin: str, lease: str, held: bool) -> None:
        self.asked.append(("busy", plugin, lease, held))

    async def set_tools(self, plugin: str, listed: Sequence[object]) -> list[str]:
        self.asked.append(("set_tools", plugin, list(listed)))
        return ["dig"]

    async def schedule(self, plugin: str, name: str, *, at: float | None, every: float | None) -> float:
        self.asked.append(("schedule", plugin, name, at, every))
        return 7.5

    async def unschedule(self, plugin: str, name: str) -> None:
        self.asked.append(("unschedule", plugin, name))


class FakeHost:
    """One plugin, "shell"."""

    def __init__(self) -> None:
        self.wishes = FakeWishes()
        self.addresses: dict[str, tuple[str, str]] = {"webui": ("url", "http://localhost:8080/")}
        self.state = State.READY

    def statuses(self) -> Sequence[PluginStatus]:
        return [PluginStatus("shell", "命令", "1.0.0", "Runs.", self.state, "", 0.0, 7, ("cmd_run",), Trust.PACKAGED)]

    async def start(self, name: str) -> PluginStatus:
        return self._to(name, State.READY)

    async def stop(self, name: str) -> PluginStatus:
        return self._to(name, State.STOPPED)

    def logs(self, name: str, limit: int) -> Sequence[str]:
        return ["one", "two"][-limit:]

    def status(self, name: str) -> PluginStatus:
        return self._to(name, self.state)

    def found(self, name: str) -> Installed | Broken:
        self.status(name)
        manifest, _ = parse_manifest({"name": "shell", "version": "1.0.0", "entry": "python x.py", "license": "MIT"})
        assert manifest is not None
        return Installed(manifest, Path("/nowhere"), Trust.PACKAGED)

    async def enable(self, name: str) -> PluginStatus:
        return self._to(name, State.READY)

    async def disable(self, name: str) -> PluginStatus:
        return self._to(name, State.DISABLED)

    def _to(self, name: str, state: State) -> PluginStatus:
        if name != "shell":
            raise NotFound(f"There is no plugin {name}.")
        self.state = state
        return self.statuses()[0]


class FakePackages:
    """Notes what is asked; one package, which can be reviewed only by a test that replaces it."""

    def __init__(self, host: FakeHost) -> None:
        self.calls: list[tuple[object, ...]] = []
        self.host = host

    async def review(self, path: Path) -> Review:
        raise NotFound(f"There is no package {path}.")

    async def install(self, path: Path, sha256: str, grant: Collection[str], source: str) -> PluginStatus:
        self.calls.append(("install", path, sha256, list(grant), source))
        return self.host.status("shell")

    async def remove(self, name: str, *, keep_data: bool) -> None:
        self.calls.append(("remove", name, keep_data))

    async def reload(self, name: str) -> PluginStatus:
        self.calls.append(("reload", name))
        return self.host.status(name)

    async def grant(self, name: str, capabilities: Collection[str]) -> PluginStatus:
        self.calls.append(("grant", name, list(capabilities)))
        return self.host.status(name)

    async def granted(self, name: str) -> frozenset[str]:
        return frozenset({"io"})

    async def provenance(self, name: str) -> Provenance | None:
        return Provenance("1.0.0", "ab" * 32, "shell.hmap", 5.0)


class FakeCalling:
    """A turn in flight; notes what is done with its token."""

    def __init__(self) -> None:
        self.calls: list[tuple[object, ...]] = []
        self.result = Result("ok", "done")

    async def call(self, lent: CallIdentity, tool: str, args: Mapping[str, object]) -> Result:
        self.calls.append(("call", lent.identity.peer, tool, dict(args)))
        return self.result

    async def offered(self, lent: CallIdentity) -> Sequence[ToolEntry]:
        self.calls.append(("offered", lent.identity.peer))
        return [entry("result_read", {}, (), guest=True)]

    def context(self, lent: CallIdentity) -> CallContext:
        who = lent.identity
        return CallContext(lent.thread, lent.channel, who.peer, who.role.value, who.scope, lent.turn)

    def within(self, lent: CallIdentity) -> tuple[str, str]:
        return "files_edit", "call_1"

    def attaching(self, lent: CallIdentity) -> tuple[str, str]:
        return lent.turn, lent.within

    def took_in(self, lent: CallIdentity, *, untrusted: bool, no_memory: bool = False) -> None:
        self.calls.append(("took_in", lent.turn, untrusted, no_memory))

    def purpose(self, lent: CallIdentity, plugin: str) -> Purpose:
        return Purpose(Kind.PLUGIN, plugin, turn=lent.turn, thread=lent.thread, peer=lent.identity.peer)

    def spent(self, lent: CallIdentity, tokens: Tokens, cost: Cost) -> None:
        self.calls.append(("spent", lent.turn, tokens, cost))


class FakeCompletions:
    """Answers every question with "yes"."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, Question]] = []
        self.purposes: list[Purpose | None] = []

    async def ask(
        self, plugin: str, question: Question, *, purpose: Purpose | None = None, paid: Paid | None = None
    ) -> Completion:
        self.calls.append((plugin, question))
        self.purposes.append(purpose)
        if paid is not None:
            paid(Tokens(10, 1), Cost(Price.FREE))
        return Completion("yes", "stop", Usage(10, 1), "demo", "demo-1")


class FakeUsage:
    """Nothing was spent; keeps what it was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[object, ...]] = []

    async def usage(self, days: int) -> Mapping[str, object]:
        self.asked.append(("usage", days))
        return {"days": []}

    async def set_price(self, entry: Mapping[str, object]) -> None:
        self.asked.append(("set", dict(entry)))

    async def remove_price(self, source: str, model: str) -> None:
        self.asked.append(("remove", source, model))


class NoVectors:
    """Nothing is vectorised."""

    trouble = ""

    def wake(self) -> None:
        pass


class FakeDoctor:
    async def examine(self, *, deep: bool = False) -> list[Check]:
        return [bad("disk space", "0 MB free" if deep else "1 MB free", "Free some.")]


class FakeMemoryDoctor:
    async def examine(self, *, deep: bool = False, repair: bool = False) -> Report:
        found = Finding("storage", "Storage", Status.WARN if repair else Status.PASS, "Read 1 rows.", read=1)
        return Report([found], deep=deep, repaired=repair)


class NoPlugins:
    """Nobody who could put a change back."""

    async def wait_ready(self, name: str) -> None:
        raise Unavailable(f"{name} does not run.")

    async def call(self, plugin: str, method: str, params: Mapping[str, object], *, timeout: float) -> object:
        raise Unavailable(f"{plugin} does not run.")


class FakeStatus:
    async def status(self) -> Mapping[str, object]:
        return {"version": "0"}


@dataclass(frozen=True)
class House:
    """A dispatcher and what stands behind it."""

    api: ApiDispatcher
    conversations: FakeConversations
    uploads: FakeUploads
    keys: ApiKeys
    host: FakeHost
    sources: FakeSources
    settings: Settings
    logins: Logins
    directory: Directory
    tokens: CallTokens
    packages: FakePackages
    calling: FakeCalling
    remembering: FakeRemembering
    completions: FakeCompletions
    rules: Rules
    bus: Bus
    store: Store


CITY = Definition("plugin.webui.city", "string", "Paris", "Where.")


def _console(folder: Path, store: Store, settings: Settings, bus: Bus) -> ConsolePorts:
    folders = Folders(folder, folder / "homed.db", folder / "vectors", folder / "media", folder / "backups")
    return ConsolePorts(
        store=store, settings=settings, redactor=Redactor(), bus=bus, embedder=CurrentEmbedder(), dense=NoVectors(),
        folders=folders,
    )  # fmt: skip


@asynccontextmanager
async def open_house(folder: Path) -> AsyncIterator[House]:
    """Real store, settings, directory, logins and tokens in ``folder``; the rest is fake."""
    secrets = Secrets(folder / "secrets.json")
    async with open_store(folder / "homed.db") as store, open_settings(store, {}, secrets) as settings:
        settings.define([CITY])
        conversations, host, sources = FakeConversations(), FakeHost(), FakeSources()
        logins, directory, tokens = Logins(store, settings), Directory(store), CallTokens()
        calling, remembering, completions = FakeCalling(), FakeRemembering(), FakeCompletions()
        rules, bus = Rules(store), Bus()
        packages = FakePackages(host)
        uploads, keys = FakeUploads(), ApiKeys(store, lambda _: None)
        console = Console(_console(folder, store, settings, bus))
        tracker = Tracker(TrackerPorts(store=store, settings=settings, plugins=NoPlugins(), data=folder))
        ports = ApiPorts(
            directory=directory, tokens=tokens, logins=logins, conversations=conversations, host=host,
            settings=settings, sources=sources, status=FakeStatus(), doctor=FakeDoctor(), archive=conversations,
            memory_doctor=FakeMemoryDoctor(),
            memory=FakeMemory(), uploads=uploads, keys=keys, packages=packages,
            calling=calling, remembering=remembering, cold=remembering, completions=completions, people=People(store),
            rules=rules, publisher=Publisher(bus, Redactor()), jobs=FakeJobs(), keeping=FakeKeeping(),
            usage=FakeUsage(), tracker=lambda: tracker, console=lambda: console,
        )  # fmt: skip
        yield House(
            ApiDispatcher(ports), conversations, uploads, keys, host, sources, settings, logins, directory, tokens,
            packages, calling, remembering, completions, rules, bus, store,
        )  # fmt: skip
