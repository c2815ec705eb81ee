"""The memory engine: what makes, finds and keeps memories, put together.

Below ``wiring``, which enters it and hands its parts on; everything here ends before the plugins do.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import tzinfo
from functools import partial
from typing import TYPE_CHECKING

import trio

from homed.agent.cleaning import cleaned
from homed.agent.complete import Completions
from homed.agent.conversations import Conversations
from homed.agent.uploads import Uploads
from homed.config.definitions import (
    BACKUPS_KEPT,
    FUSION,
    LEDGER_DAYS,
    NIGHT_HOUR,
    QUERY_TIMEOUT,
    RRF_CONSTANT,
    TIME_ZONE,
)
from homed.config.environment import child_environment
from homed.config.zone import system_zone, zone_named
from homed.errors import StorageError
from homed.jobs import late, upkeep
from homed.jobs.due import Nightly
from homed.jobs.every import GRACE, Jobs
from homed.jobs.job import Job, JobPorts
from homed.jobs.kept import KeptOnDemand
from homed.jobs.late import Shelf
from homed.jobs.memcheck.ondemand import DoctorPorts, MemoryDoctor
from homed.lifecycle import House
from homed.memory import bounds, passes
from homed.memory.forgets import dropped_scopes
from homed.providers.registry import Sources
from homed.retrieval import fuse
from homed.retrieval.dense import DenseIndex, DensePorts, open_dense
from homed.retrieval.embed.current import CurrentEmbedder, bring_up, embed_ports, open_embedder
from homed.retrieval.keywords import Keywords
from homed.retrieval.rank import Ranker
from homed.settings.registry import Settings
from homed.spend.embedding import EmbedTill
from homed.spend.ports import SpendPort
from homed.store.backup import backup
from homed.store.files import MediaFiles
from homed.store.rows import Storage

if TYPE_CHECKING:  # loaded when somebody wants it
    from homed.jobs.forget import Forgetting
    from homed.jobs.keeping import Keeping


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    """Its parts.  Usable while ``open_engine``'s block lasts."""

    house: House
    embedder: CurrentEmbedder
    dense: DenseIndex
    ranker: Ranker
    beside: list[Callable[[], Awaitable[object]]] = field(default_factory=list)
    """Each leaves nothing in other files of ours of what was deleted from the database."""

    def jobs(self, conversations: Conversations, uploads: Uploads, sources: Sources, completions: Completions) -> Jobs:
        """Scheduled work, which gives way to turns; ``Jobs.run`` does it."""
        house = self.house
        ports = JobPorts(
            store=house.store, wall=house.wall, zone=lambda: zone_of(house.settings), turns=conversations,
        )  # fmt: skip
        made = [
            upkeep.prune(conversations.sinking), *self._making(conversations, sources, completions),
            self._seeing(uploads), upkeep.reindex(self.dense), *self._nightly(),
        ]  # fmt: skip
        jobs = Jobs(ports, house.bus, made)
        jobs.soon(passes.JOB, GRACE)  # what an earlier run left
        return jobs

    async def last_words(self) -> None:
        """Record what no pass has read yet, at an exit; see ``homed.jobs.passing.last_words``."""
        house = self.house
        if not await _owed(house.store):
            return
        from homed.jobs.passing import LastPorts, last_words  # mostly it is there: something was said

        await last_words(
            LastPorts(
                store=house.store, settings=house.settings, wall=house.wall, failpoints=house.failpoints,
                topics=self.ranker.keywords.top,
            )
        )  # fmt: skip

    def _making(self, conversations: Conversations, sources: Sources, completions: Completions) -> list[Job]:
        def make() -> Mapping[str, Job]:
            from homed.memoryjobs import MakingPorts, memory_jobs

            return memory_jobs(
                MakingPorts(
                    house=self.house, conversations=conversations, sources=sources, completions=completions,
                    stored=self.dense.wake, topics=self.ranker.keywords.top,
                )
            )  # fmt: skip

        shelf = Shelf(self.house.store, "homed.memoryjobs", make)
        return [shelf.job(one) for one in late.MEMORY]

    def _seeing(self, uploads: Uploads) -> Job:
        house, paths = self.house, self.house.paths

        def make() -> Mapping[str, Job]:
            from homed.jobs.eyes import Eyes
            from homed.jobs.seeing import SeeingPorts, seeing

            ports = SeeingPorts(
                store=house.store, files=MediaFiles(paths.media), keeper=uploads, redact=house.redactor.redact,
                eyes=Eyes(paths.run_dir, child_environment(), paths.family), failpoints=house.failpoints,
            )  # fmt: skip
            return {late.SEE.name: seeing(ports)}

        return Shelf(house.store, "homed.jobs.seeing", make).job(late.SEE)

    def _forgetting(self, conversations: Conversations, uploads: Uploads) -> Forgetting:
        from homed.jobs.forget import ForgetPorts, Forgetting
        from homed.jobs.searching import InChild

        house, paths = self.house, self.house.paths
        return Forgetting(
            ForgetPorts(
                store=house.store, data=paths.data, collect=uploads.collect, delete_thread=conversations.forget,
                search=InChild(paths.data, child_environment(), f"{paths.family}:search"), bus=house.bus,
                forget_vectors=self.forget_vectors, wall=house.wall, failpoints=house.failpoints,
            )
        )  # fmt: skip

    def keeping(self, conversations: Conversations, uploads: Uploads) -> KeptOnDemand:
        """What a person does with memory as a whole; forgets while its ``run`` does."""
        house = self.house
        return KeptOnDemand(house.store, house.paths.data, house.wall, lambda: self._keeping(conversations, uploads))

    def _keeping(self, conversations: Conversations, uploads: Uploads) -> Keeping:
        from homed.jobs.exporting import ExportPorts
        from homed.jobs.importing import Importing, ImportPorts
        from homed.jobs.keeping import Keeping

        house, media = self.house, self.house.paths.media
        redact, points = house.redactor.redact, house.failpoints
        return Keeping(
            data=house.paths.data, store=house.store, files=MediaFiles(media),
            forgetting=self._forgetting(conversations, uploads),
            exports=ExportPorts(store=house.store, media=media, redact=redact, wall=house.wall, failpoints=points),
            imports=Importing(
                ImportPorts(
                    store=house.store, data=house.paths.data, media=media, redact=redact, stored=self.dense.wake,
                    wall=house.wall, failpoints=points,
                )
            ),
            wall=house.wall, failpoints=points,
        )  # fmt: skip

    def doctor(self, busy: Callable[[], Collection[str]]) -> MemoryDoctor:
        """Looks at all that is remembered when asked; ``busy``: the jobs that run."""
        house, store = self.house, self.house.store
        return MemoryDoctor(
            DoctorPorts(
                store=store, paths=house.paths, redactor=house.redactor, definitions=house.settings.definitions,
                running=True, local=store.disk.local, vectors=self.dense, busy=busy, scrub=store,
                bus=house.bus, wall=house.wall, failpoints=house.failpoints,
            )
        )  # fmt: skip

    async def forget_vectors(self) -> None:
        """Returns once no file beside the database holds anything any more that was deleted before."""
        for scope in await self.house.store.read(dropped_scopes):
            await self.dense.forget_now(scope)
        for erased in self.beside:
            await erased()

    def _nightly(self) -> list[Job]:
        store, settings = self.house.store, self.house.settings
        files, target = MediaFiles(self.house.paths.media), upkeep.backups_folder(self.house.paths.data)

        def night() -> Nightly:
            return Nightly(settings.int(NIGHT_HOUR), 30)

        async def make(keep: int) -> None:
            await backup(store, files, target, keep=keep, wall=self.house.wall, failpoints=self.house.failpoints)

        return [
            upkeep.maintenance(
                store,
                night,
                local=store.disk.local,
                wall=self.house.wall,
                ledger_days=lambda: settings.int(LEDGER_DAYS),
            ),
            upkeep.backup(make, lambda: settings.int(BACKUPS_KEPT), night),
        ]


@asynccontextmanager
async def open_engine(house: House, spend: SpendPort) -> AsyncIterator[Engine]:
    """The engine for the length of the block; what an embedding endpoint is asked goes through ``spend``."""
    till = EmbedTill(spend)
    embedding = embed_ports(house.paths, house.settings, house.redactor.know, house.host.wait_started, till)
    async with open_embedder(embedding) as embedder, trio.open_nursery() as nursery:
        nursery.start_soon(bring_up, embedder, house.facilities)
        async with open_dense(dense_ports(house, embedder), house.facilities) as dense:
            keywords = Keywords()
            nursery.start_soon(keywords.keep)
            nursery.start_soon(_keep_bounds, house)
            ranker = Ranker(
                lambda: embedder.current, dense, partial(fusion_set, house.settings), keywords=keywords,
                patience=lambda: house.settings.int(QUERY_TIMEOUT) / 1000,
            )  # fmt: skip
            engine = Engine(house=house, embedder=embedder, dense=dense, ranker=ranker)
            yield engine
            await engine.last_words()
        nursery.cancel_scope.cancel()


async def _owed(store: Storage) -> bool:
    """Whether a pass is owed; not known of a store that fails is yes."""
    try:
        return bool(await store.read(lambda tx: tx.value(late.PASS.owed)))
    except StorageError:
        return True


async def _keep_bounds(house: House) -> None:
    """What of memory there may be, where its transactions can see it, for as long as it runs."""
    with house.settings.watch("core.memory.") as changes:
        await bounds.follow(house.store, house.settings, changes)


def fusion_set(settings: Settings) -> fuse.Fusion:
    """As it is set now."""
    return fuse.fusion_named(settings.str(FUSION), settings.int(RRF_CONSTANT))


def dense_ports(house: House, embedder: CurrentEmbedder) -> DensePorts:
    """What the vectors need."""
    paths = house.paths

    async def clean(channel: str, texts: Sequence[str]) -> Sequence[str]:
        return (await cleaned(house.host, channel, texts)).texts

    return DensePorts(
        store=house.store, folder=paths.vectors, family=paths.family, environment=child_environment(),
        embedder=embedder, bus=house.bus, picture=MediaFiles(paths.media).read_picture, clean=clean, wall=house.wall,
        failpoints=house.failpoints, hold=house.host.wait_started, off=lambda: embedder.standing.state == "off",
    )  # fmt: skip


def zone_of(settings: Settings) -> tzinfo:
    """The person's time zone: the one set, or the machine's."""
    named = settings.str(TIME_ZONE).strip()
    return (zone_named(named) if named else None) or system_zone()
