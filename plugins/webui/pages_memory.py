"""The pages of the memory console that show records: what there is, where it comes from, and what can be done to it.

Every page extends ``memory_frame.html`` and is rendered with ``part``, the entry of the console's menu it stands under.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from quart import Blueprint, Response

from .context import Site

Render = Callable[..., Awaitable[Response]]


class MemoryPages:
    """``/memory``, ``/memory/records``, ``/memory/records/ID``, ``/memory/cold`` and ``/memory/merges``."""

    def __init__(self, site: Site, render: Render) -> None:
        self._site = site
        self._render = render

    def add_to(self, made: Blueprint) -> None:
        """Add these routes."""
        made.add_url_rule("/memory", "memory", self.overview)

    async def overview(self) -> Response:
        """What there is."""
        return await self._render("memory.html", "memory", part="overview")
