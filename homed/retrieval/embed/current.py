"""The embedder in use: made as the settings say, made anew when they change, and honest about what it is."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import trio

from homed.config.environment import child_environment
from homed.memory.ports import Embedder
from homed.paths import Paths
from homed.retrieval.embed import choice
from homed.retrieval.embed.choice import Choice
from homed.retrieval.embed.failed import EmbedFailed
from homed.retrieval.embed.make import Made, MakePorts, make
from homed.retrieval.embed.till import Till
from homed.retrieval.embed.worker import WorkerPorts

if TYPE_CHECKING:
    import httpx2

PROVIDES = ("embedder",)
NEEDS = ("settings",)
SLOW = True

EMBEDDER = "embedder"

log = logging.getLogger(__name__)

QUIET = 0.3
"""Seconds without another change before settings are taken: an address and its model are two of them."""

TRIES = 3
"""Times that a model whose process ends is tried before it counts as unfit."""


class SettingsPort(choice.Readable, Protocol):
    """What is read of the settings."""

    def watch(self, prefix: str = "") -> AbstractContextManager[AsyncIterator[tuple[str, object]]]:
        """Follow changes of keys that begin with ``prefix``."""
        ...


def _no_one(_: Sequence[str]) -> None:
    """Where nothing is logged or shown, nobody needs to know the keys."""


@dataclass(frozen=True, slots=True)
class EmbedPorts:
    """What an embedder needs.

    ``models``: where model folders are; ``made``: a folder for what is converted; ``worker``: for children.  ``know``
    hears of a key before it is used, so that it is taken out of logs and texts.  A model
    that must be loaded to be known waits for ``hold``.  What an endpoint is asked goes through ``till``.
    ``transport``: for tests.
    """

    settings: SettingsPort
    models: Path
    made: Path
    worker: WorkerPorts
    know: Callable[[Sequence[str]], None] = _no_one
    transport: httpx2.AsyncBaseTransport | None = None
    hold: Callable[[], Awaitable[None]] = trio.lowlevel.checkpoint
    till: Till | None = None


def embed_ports(
    paths: Paths,
    settings: SettingsPort,
    know: Callable[[Sequence[str]], None],
    hold: Callable[[], Awaitable[None]] = trio.lowlevel.checkpoint,
    till: Till | None = None,
) -> EmbedPorts:
    """Of a data folder."""
    worker = WorkerPorts(paths.run_dir / "embed", f"{paths.family}-embed", child_environment())
    models = paths.data / "models"
    return EmbedPorts(settings, models, models / "made", worker, know, hold=hold, till=till)


@dataclass(frozen=True, slots=True)
class Standing:
    """How it is doing, for people: ``wanted`` and ``used`` are kinds (``used`` '' while there is none).

    ``state``: coming, ready, failed or off.  ``reason``: why it is not (yet) as wanted, or ''.
    """

    wanted: str
    used: str
    state: str
    reason: str = ""

    def as_row(self) -> Mapping[str, str]:
        """For an answer."""
        return {"wanted": self.wanted, "used": self.used, "state": self.state, "reason": self.reason}


class CurrentEmbedder:
    """Which embedder there is now.  Made by ``open_embedder``; used from the Trio thread."""

    def __init__(self) -> None:
        self._current: Embedder | None = None
        self._standing = Standing("", "", "coming")
        self._changed = trio.Event()

    @property
    def current(self) -> Embedder | None:
        """The embedder to ask; None: not yet, or none at all.  One that was replaced fails from then on."""
        return self._current

    @property
    def standing(self) -> Standing:
        """How it is doing."""
        return self._standing

    async def wait_changed(self) -> None:
        """Wait until ``current`` or ``standing`` is another than now.

        Look at them after it returned, not only before it is called: changes are not queued.
        """
        await self._changed.wait()

    def warm(self) -> None:
        """Somebody is about to ask: have the model in memory.  Never waits."""
        warm = getattr(self._current, "warm", None)
        if warm is not None:
            warm()

    def now(self, current: Embedder | None, standing: Standing) -> None:
        """Be this from now on; for who follows the settings."""
        self._current, self._standing = current, standing
        self._changed.set()
        self._changed = trio.Event()


@asynccontextmanager
async def open_embedder(ports: EmbedPorts) -> AsyncIterator[CurrentEmbedder]:
    """The embedder in use, for the length of the block; no process of it is left then.

    Returns at once: the embedder itself comes up beside.  What asks it ends before the block does.
    """
    current = CurrentEmbedder()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_follow, ports, current)
        yield current
        nursery.cancel_scope.cancel()


async def _follow(ports: EmbedPorts, current: CurrentEmbedder) -> None:
    with ports.settings.watch("core.") as changes:
        while True:
            wanted = choice.choose(ports.settings, ports.models, Path.is_dir)
            async with trio.open_nursery() as nursery:
                nursery.start_soon(_use, wanted, ports, current)
                while choice.choose(ports.settings, ports.models, Path.is_dir) == wanted:
                    await _changed(changes)
                nursery.cancel_scope.cancel()
            current.now(None, Standing(wanted.name, "", "coming"))


async def _changed(changes: AsyncIterator[tuple[str, object]]) -> None:
    """Wait for a change of one of our keys, and then until it is quiet."""
    async for key, _ in changes:
        if key in choice.KEYS:
            break
    quiet = False
    while not quiet:
        with trio.move_on_after(QUIET) as limit:
            await anext(changes)
        quiet = limit.cancelled_caught


async def _use(wanted: Choice, ports: EmbedPorts, current: CurrentEmbedder) -> None:
    """Have the first source that can be used; until cancelled."""
    current.now(None, Standing(wanted.name, "", "coming"))
    reasons: list[str] = []
    making = MakePorts(
        ports.models, ports.made, ports.worker, wanted.baseline, ports.know, ports.transport, ports.hold, ports.till,
    )  # fmt: skip
    for source in wanted.sources:
        kind = type(source).__name__.lower()

        def tell(reason: str, kind: str = kind) -> None:
            log.warning("embeddings (%s): %s", kind, reason)
            current.now(None, Standing(wanted.name, "", "failed" if reason else "coming", reason))

        async with make(source, making) as made:
            if why := await _prepared(made, tell):
                reasons.append(why)
                tell(why)
                continue
            state = "ready" if made.embedder is not None else "off"
            if reasons:
                log.warning("embeddings: %s is used instead", kind)
            current.now(made.embedder, Standing(wanted.name, kind, state, " ".join(reasons)))
            await trio.sleep_forever()
    await trio.sleep_forever()  # nothing can be used, and it has been said; a change of the settings ends this


async def _prepared(made: Made, tell: Callable[[str], None]) -> str:
    """Have it ready: ''.  Why it can never be, until somebody changes something."""
    tries = 0
    while True:
        try:
            await made.prepare()
        except EmbedFailed as error:
            tries += 1
            if not made.patient and (error.lasting or tries >= TRIES):
                return str(error)
            tell(str(error))
            await trio.sleep(made.pause(tries))
        else:
            return ""


class FacilityPort(Protocol):
    """Who is told that a facility is up, or why it is not."""

    def up(self, *names: str) -> None:
        """They are up, for good."""
        ...

    def fail(self, name: str, reason: str) -> None:
        """It is not, for now."""
        ...


async def bring_up(current: CurrentEmbedder, facilities: FacilityPort) -> None:
    """Say that ``embedder`` is up once there is one, or why there is none; until cancelled."""
    while True:
        standing = current.standing
        if current.current is not None:
            facilities.up(EMBEDDER)
        elif standing.state == "off":
            facilities.fail(EMBEDDER, "embeddings are switched off (core.memory.embedding)")
        elif standing.state == "failed":
            facilities.fail(EMBEDDER, standing.reason)
        await current.wait_changed()
