"""The memory console's other parts as REST: injections, graph, thresholds, embedding, health check."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from quart import Response

from .api_records import wanted
from .context import Site, reply

if TYPE_CHECKING:
    from . import asked_memory as asked


class ConsoleApi:
    """``memory/*`` of what was told before turns, and of how memory works; what is set for all only an owner sets."""

    def __init__(self, site: Site) -> None:
        self._site = site

    async def injections(self, query: asked.InjectionsQuery) -> Response:
        """What was told, the newest first."""
        return reply(await self._site.call("memory.injections", **wanted_of(query)))

    async def memory_graph(self, query: asked.GraphQuery) -> Response:
        """What is known, as a graph."""
        return reply(await self._site.call("memory.graph", **wanted_of(query)))

    async def thresholds(self) -> Response:
        """What each is, and prevents."""
        return reply(await self._site.call("memory.thresholds"))

    async def threshold_set(self, body: asked.ThresholdChange) -> Response:
        """Change one, with the reason."""
        given = {"peer": self._site.person().peer, **body.model_dump()}  # the value may be null: its default again
        return reply(await self._site.kernel.call("admin.threshold_set", given))

    async def embedding(self) -> Response:
        """How vectors are made; a key is only said to be there."""
        return reply(await self._site.call("admin.embedding_get"))

    async def embedding_set(self, body: asked.EmbeddingChange) -> Response:
        """Set it."""
        return reply(await self._site.call("admin.embedding_set", **body.model_dump(exclude_none=True)))

    async def embedding_probe(self, body: asked.EmbeddingPlace) -> Response:
        """Try an endpoint."""
        found = await self._site.call("admin.embedding_probe", **body.model_dump(exclude_none=True))
        return reply({**found, **self._told(found, "error", "hint")})

    async def memory_doctor(self, body: asked.MemoryDoctor) -> Response:
        """Check memory."""
        found = await self._site.call("admin.memory_doctor", deep=body.deep, repair=body.repair)
        checks = [{**one, **self._told(one, "name", "evidence", "fix", "mended")} for one in found["checks"]]
        return reply({**found, "checks": checks})

    def _told(self, found: Mapping[str, Any], *names: str) -> dict[str, str]:
        """Sentences of the kernel's in the page's language."""
        said = self._site.lang().kernel.text
        return {name: said(str(found.get(name) or "")) for name in names}


def wanted_of(query: asked.InjectionsQuery | asked.GraphQuery) -> dict[str, object]:
    """What was asked for."""
    return wanted(query.model_dump())
