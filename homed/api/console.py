"""``admin.embedding_*``, ``admin.threshold_set``: how memory works, set by owners; and what the console is to us."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal, Protocol

from pydantic import Field

from homed.api.method import Json, Method, Name, PeerCall, PeerParams, administrative

if TYPE_CHECKING:  # loaded when memory is looked at
    from homed.jobs.console.changing import Changing
    from homed.jobs.console.embedding import Embedding, Place
    from homed.jobs.console.reading import Reading
    from homed.jobs.console.stats import Stats
    from homed.jobs.memcheck.findings import Report

ADDRESS = 2000
REASON = 500


class ConsolePort(Protocol):
    """``homed.jobs.console.console.Console``."""

    @property
    def reading(self) -> Reading:
        """Looks."""
        ...

    @property
    def changing(self) -> Changing:
        """Changes."""
        ...

    @property
    def stats(self) -> Stats:
        """Counts."""
        ...

    @property
    def embedding(self) -> Embedding:
        """How vectors are made."""
        ...


class MemoryDoctorPort(Protocol):
    """``homed.jobs.memcheck.ondemand.MemoryDoctor``."""

    async def examine(self, *, deep: bool = False, repair: bool = False) -> Report:
        """Every check of memory, and what was mended."""
        ...


class ThresholdSet(PeerParams):
    """``admin.threshold_set``"""

    key: Name
    value: Json
    reason: str = Field(min_length=1, max_length=REASON)


class Endpoint(PeerParams):
    """``admin.embedding_probe``"""

    base_url: str | None = Field(default=None, max_length=ADDRESS)
    model: str | None = Field(default=None, max_length=200)
    dimensions: int | None = Field(default=None, ge=0, le=8192)
    api_key: str | None = Field(default=None, max_length=ADDRESS, repr=False)


class EmbeddingSet(Endpoint):
    """``admin.embedding_set``"""

    enabled: bool | None = None
    embedding: Literal["auto", "bundled", "folder", "static", "endpoint", "tfidf", "off"] | None = None


async def threshold_set(call: PeerCall[ThresholdSet]) -> Mapping[str, object]:
    """Move a threshold, and say why."""
    from homed.errors import InvalidInput
    from homed.settings.thresholds import PREVENTS, Because

    given = call.params
    if given.key not in PREVENTS:
        raise InvalidInput(f"{given.key[:80]} is no threshold.", hint="`admin.config_set` sets other settings.")
    settings = call.ports.settings
    applied = await settings.change({given.key: given.value}, why=Because(given.reason, call.who.peer))
    now = next(one for one in await settings.thresholds() if one.setting.key == given.key)
    return {**now.wire(), "applied": applied.value}


async def embedding_get(call: PeerCall[PeerParams]) -> Mapping[str, object]:
    """How vectors are made; of a key only whether there is one."""
    return await call.ports.console().embedding.get()


async def embedding_probe(call: PeerCall[Endpoint]) -> Mapping[str, object]:
    """Ask an endpoint for one vector."""
    return await call.ports.console().embedding.probe(_place(call.params))


async def embedding_set(call: PeerCall[EmbeddingSet]) -> Mapping[str, object]:
    """Set it, with the key, in one change."""
    given = call.params
    return await call.ports.console().embedding.set(
        _place(given), enabled=given.enabled, embedding=given.embedding
    )  # fmt: skip


def _place(given: Endpoint) -> Place:
    from homed.jobs.console.embedding import Place

    return Place(given.base_url, given.model, given.dimensions, given.api_key)


METHODS: dict[str, Method] = {
    "admin.threshold_set": administrative(ThresholdSet, threshold_set, in_person=True),
    "admin.embedding_get": administrative(PeerParams, embedding_get),
    "admin.embedding_probe": administrative(Endpoint, embedding_probe, in_person=True),
    "admin.embedding_set": administrative(EmbeddingSet, embedding_set, in_person=True),
}
