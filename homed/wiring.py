"""The part of the composition root that needs the whole kernel: what answers plugins, and the conversations.

Apart from ``app``, which starts the plugins' processes before it loads this: half a second of imports, in which they
do theirs.
"""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import trio

from homed.agent import prompt
from homed.agent.complete import Completions
from homed.agent.conversations import Conversations
from homed.agent.explain import Explanations
from homed.agent.filelimits import file_limits
from homed.agent.media import Media
from homed.agent.metering import metered, whence
from homed.agent.ports import AgentPorts, BuiltinTool
from homed.agent.remember import Remembering
from homed.agent.uploads import Uploads
from homed.api.dispatch import ApiDispatcher
from homed.api.overview import Overview
from homed.api.ports import ApiPorts
from homed.builtin.changes import changes_tools
from homed.builtin.children import children_tools
from homed.builtin.coldcontext import ColdQuery
from homed.builtin.ports import MemoryPorts
from homed.builtin.tools import builtin_tools
from homed.clock import WallClock
from homed.config.definitions import LLM_FALLBACK, LLM_RECORD, PERSONA
from homed.config.environment import child_environment
from homed.engine import Engine, open_engine, zone_of
from homed.host.packages import PackagePorts, Packages
from homed.host.publish import Publisher
from homed.host.shelf import Shelf
from homed.identity.people import People
from homed.identity.rules import Rules
from homed.jobs.console.ondemand import ConsoleOnDemand
from homed.jobs.kept import KeptOnDemand
from homed.jobs.memcheck.ondemand import MemoryDoctor
from homed.jobs.selflook import SelfLook
from homed.jobs.textlog.ondemand import TextLogOnDemand
from homed.lifecycle import House, Say
from homed.paths import Paths
from homed.providers.chain import Chain
from homed.providers.local.models import LocalPorts
from homed.providers.registry import Sources, open_sources
from homed.providers.rising import bring_up
from homed.settings.registry import Settings
from homed.settings.thresholds import PREVENTS
from homed.spend.gate import Gate, GatePorts
from homed.spend.ondemand import UsageOnDemand
from homed.store.files import MediaFiles
from homed.tracker.ondemand import TrackerOnDemand

if TYPE_CHECKING:
    from homed.jobs.console.ports import ConsolePorts
    from homed.jobs.textlog.log import LogPorts
    from homed.providers.cassette import Tape
    from homed.tracker.tracker import TrackerPorts

BEHIND_THE_DOOR = ("blocks", "stages", "outputs", "tools", "window", "cold", "ledger")
"""The facilities that are there once calls are answered, in the order of ``homed.order``."""


@asynccontextmanager
async def open_kernel(house: House) -> AsyncIterator[Conversations]:
    """The model sources, the conversations, and an open door for plugins, for the length of the block."""
    store, wall, redactor, files = house.store, house.wall, house.redactor, MediaFiles(house.paths.media)
    gate = Gate(GatePorts(store, house.settings, lambda: zone_of(house.settings), wall))
    async with (
        open_sources(house.settings, house.secrets, redactor.know, _local(house)) as sources,
        open_engine(house, gate) as engine,
        trio.open_nursery() as slow,
    ):
        slow.start_soon(bring_up, sources, house.settings, house.facilities)
        asking = _asking(house, sources, gate)
        tracker = _kept_beside(house, engine, sources, slow)
        uploads = _uploads(house, files)
        # both are there before a tool is called
        remembered = _remembered(house, engine, lambda: keeping, lambda: memory_doctor)
        conversations = _conversations(house, engine, asking, tracker, uploads, remembered)
        jobs = engine.jobs(conversations, uploads, sources, asking.completions)
        keeping = engine.keeping(conversations, uploads)
        for part in (jobs, keeping):
            slow.start_soon(part.run)
        memory_doctor = engine.doctor(lambda: jobs.running)
        api = ApiPorts(
            directory=house.directory, tokens=house.tokens, logins=house.logins, conversations=conversations,
            host=house.host, settings=house.settings, sources=sources, status=_overview(house, sources, conversations),
            doctor=_look(house, sources, memory_doctor), archive=conversations.archive, memory=Explanations(store),
            uploads=uploads, memory_doctor=memory_doctor,
            keys=house.keys, packages=_packages(house), calling=conversations.calling, tracker=tracker,
            remembering=Remembering(store, redactor, engine.ranker, partial(zone_of, house.settings)),
            cold=ColdQuery(store, wall, house.failpoints, engine.ranker),
            completions=asking.completions, people=People(store), rules=Rules(store, wall), jobs=jobs, keeping=keeping,
            publisher=Publisher(house.bus, redactor), usage=asking.usage,
            console=ConsoleOnDemand(partial(_console, house, engine, gate)),
        )  # fmt: skip
        with house.door.open_to(ApiDispatcher(api)):
            house.facilities.up(*BEHIND_THE_DOOR)
            yield conversations
        slow.cancel_scope.cancel()


def _conversations(
    house: House, engine: Engine, asking: _Asking, tracker: TrackerOnDemand, uploads: Uploads, remembered: MemoryPorts,
) -> Conversations:  # fmt: skip
    media = _media(house, MediaFiles(house.paths.media))
    conversations = Conversations(
        AgentPorts(
            store=house.store, bus=house.bus, settings=house.settings, host=house.host, sources=asking.sources,
            spend=asking.gate, chain=asking.chain, rules=Rules(house.store, house.wall), tokens=house.tokens,
            redactor=house.redactor, wall=house.wall, failpoints=house.failpoints,
            builtins=(*_tools(house, media, remembered, lambda: conversations), *changes_tools(tracker)),
            media=media, ranker=engine.ranker, explicit=remembered.explicit, stored=engine.dense.wake,
            erased=engine.forget_vectors, refresh=house.settings.refresh,
        ), uploads,
    )  # fmt: skip
    return conversations


@dataclass(frozen=True, slots=True)
class _Asking:
    """The one way to a model: the gate before the money, the sources in their order, and what goes through both."""

    sources: Sources
    gate: Gate
    chain: Chain
    completions: Completions
    usage: UsageOnDemand


def _asking(house: House, sources: Sources, gate: Gate) -> _Asking:
    store, settings = house.store, house.settings
    sources.metered = metered(gate)
    chain = Chain(sources, troubles=sources.troubles, others=lambda: settings.bool(LLM_FALLBACK))
    completions = Completions(sources, house.redactor, spend=gate, chain=chain)
    usage = UsageOnDemand(gate, store, settings, lambda: [whence(one) for one in sources.list()])
    return _Asking(sources, gate, chain, completions, usage)


def _media(house: House, files: MediaFiles) -> Media:
    return Media(house.store, files, house.redactor, partial(file_limits, house.settings))


def _local(house: House) -> LocalPorts:
    ports = local_ports(house.paths, house.settings, wall=house.wall, say=house.say, warm=True)
    return replace(ports, hold=house.host.wait_started)  # loading it takes a whole core


def _remembered(
    house: House, engine: Engine, forgetting: Callable[[], KeptOnDemand], doctor: Callable[[], MemoryDoctor]
) -> MemoryPorts:
    return MemoryPorts(
        store=house.store, wall=house.wall, failpoints=house.failpoints, ranker=engine.ranker,
        stored=engine.dense.wake, forgetting=forgetting, doctor=doctor,
        thresholds=lambda: {key: house.settings.get(key) for key in PREVENTS},
    )  # fmt: skip


def _overview(house: House, sources: Sources, conversations: Conversations) -> Overview:
    return Overview(
        data=house.paths.data, safe=house.safe, started_at=house.wall(), host=house.host, sources=sources,
        conversations=conversations, store=house.store,
    )  # fmt: skip


def _look(house: House, sources: Sources, memory: MemoryDoctor) -> SelfLook:
    return SelfLook(
        paths=house.paths, store=house.store, settings=house.settings, sources=sources, host=house.host,
        redactor=house.redactor, memory=memory,
    )  # fmt: skip


def _console(house: House, engine: Engine, gate: Gate) -> ConsolePorts:
    from homed.jobs.console.ports import ConsolePorts, Folders  # loaded when memory is looked at
    from homed.jobs.upkeep import backups_folder
    from homed.spend.embedding import EmbedTill

    paths = house.paths
    folders = Folders(paths.data, paths.db, paths.vectors, paths.media, backups_folder(paths.data))
    return ConsolePorts(
        store=house.store, settings=house.settings, redactor=house.redactor, bus=house.bus, embedder=engine.embedder,
        dense=engine.dense, folders=folders, know=house.redactor.know, ranker=engine.ranker, wall=house.wall,
        till=EmbedTill(gate),
    )  # fmt: skip


def _tools(
    house: House, media: Media, remembered: MemoryPorts, conversations: Callable[[], Conversations]
) -> Iterator[BuiltinTool]:
    yield from builtin_tools(house.store, house.wall, house.failpoints, media, remembered)
    yield from children_tools(conversations, remembered)


def _kept_beside(house: House, engine: Engine, sources: Sources, slow: trio.Nursery) -> TrackerOnDemand:
    """What is kept in files beside the database: changes of people's files, the text log, recordings."""
    tracker, textlog = TrackerOnDemand(house.store, partial(_tracking, house)), _text_log(house)
    sources.tape = partial(_tape, house)
    engine.beside.extend([tracker.erased, textlog.erased, partial(_forget_tapes, house)])
    slow.start_soon(textlog.run)
    slow.start_soon(tracker.run)
    return tracker


async def _forget_tapes(house: House) -> None:
    """Recordings hold what people said, and nothing says who: they go as a whole."""
    if await trio.to_thread.run_sync(house.paths.cassettes.exists):
        await trio.to_thread.run_sync(shutil.rmtree, house.paths.cassettes)


def _tape(house: House) -> Tape | None:
    """The recording that is wanted, if any."""
    if not (name := house.settings.str(LLM_RECORD)):
        return None
    from homed.providers.cassette import tape_named  # for developers alone

    return tape_named(house.paths.cassettes, name, house.redactor.redact)


def _text_log(house: House) -> TextLogOnDemand:
    folder = house.paths.textlog

    def ports() -> LogPorts:
        from homed.jobs.textlog.log import LogPorts  # loaded when a turn is over

        return LogPorts(
            store=house.store, folder=folder, settings=house.settings, redactor=house.redactor,
            zone=partial(zone_of, house.settings), wall=house.wall,
        )  # fmt: skip

    return TextLogOnDemand(folder, house.bus, house.settings, ports, house.host.wait_started)


def _tracking(house: House) -> TrackerPorts:
    from homed.tracker.tracker import TrackerPorts  # loaded when something is tracked

    return TrackerPorts(
        store=house.store, settings=house.settings, plugins=house.host, data=house.paths.data, wall=house.wall,
        failpoints=house.failpoints,
    )  # fmt: skip


def _uploads(house: House, files: MediaFiles) -> Uploads:
    return Uploads(
        house.store, files, house.redactor, wall=house.wall, failpoints=house.failpoints,
        limits=partial(file_limits, house.settings),
    )  # fmt: skip


def _packages(house: House) -> Packages:
    paths = house.paths

    def data_of(name: str) -> list[Path]:
        return [paths.plugins_data / name, *(paths.data / "logs").glob(f"{name}.log*")]

    return Packages(
        PackagePorts(
            plugins=house.host, settings=house.settings, store=house.store, data_of=data_of,
            shelf=Shelf(paths.plugins, house.failpoints), wall=house.wall, failpoints=house.failpoints,
        )
    )  # fmt: skip


def local_ports(paths: Paths, settings: Settings, *, wall: WallClock, say: Say, warm: bool) -> LocalPorts:
    """What the models of this machine need; a small one's prompts begin with its instructions and the persona."""
    texts = prompt.load_texts().for_small()

    def opening() -> str:
        return prompt.system_text(texts, at=wall(), persona=settings.str(PERSONA), catalogue=())

    return LocalPorts(
        paths.data, paths.data / "models", paths.run_dir / "model", child_environment(), opening, warm=warm, say=say
    )
