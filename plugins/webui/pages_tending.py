"""The pages of how memory works: vectors, the health check, the graph, the thresholds."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from quart import Blueprint, Response, request

from .context import Site, who

Render = Callable[..., Awaitable[Response]]

KINDS = ("auto", "bundled", "endpoint", "folder", "static", "tfidf", "off")
"""What may make vectors: the options of ``core.memory.embedding``."""

CENTRE = 200
"""Characters of a name to look for."""


class TendingPages:
    """``/memory/embedding``, ``/memory/health``, ``/memory/graph`` and ``/memory/thresholds``."""

    def __init__(self, site: Site, render: Render) -> None:
        self._site = site
        self._render = render

    def add_to(self, made: Blueprint) -> None:
        """Add these routes."""
        made.add_url_rule("/memory/embedding", "embedding", self.embedding)
        made.add_url_rule("/memory/health", "memory_health", self.health)
        made.add_url_rule("/memory/graph", "graph", self.graph)
        made.add_url_rule("/memory/thresholds", "thresholds", self.thresholds)

    async def embedding(self) -> Response:
        """What makes vectors, how many are there, and where that is set; a key goes in and never comes out."""
        found = await self._site.call("admin.embedding_get")
        return await self._render("embedding.html", "memory", part="embedding", found=found, kinds=KINDS)

    async def health(self) -> Response:
        """The health check; its script asks, as it takes a while."""
        if not who().owner:
            return await self._render("missing.html", "memory", status=404)
        return await self._render("memory_health.html", "memory", part="health")

    async def graph(self) -> Response:
        """People and things, and what is known between them."""
        center = request.args.get("center", "").strip()[:CENTRE]
        return await self._render("graph.html", "memory", part="graph", center=center)

    async def thresholds(self) -> Response:
        """What each is, which failure it prevents, and why it was changed."""
        found = await self._site.call("memory.thresholds")
        return await self._render("thresholds.html", "memory", part="thresholds", thresholds=found["thresholds"])
