"""What models cost, and the prices that is reckoned with, as REST."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quart import Response

from .context import Site, reply

if TYPE_CHECKING:
    from . import asked


class UsageApi:
    """``usage`` and its prices; the kernel lets only an owner in."""

    def __init__(self, site: Site) -> None:
        self._site = site

    async def usage(self, query: asked.UsageQuery) -> Response:
        """By day, source, model and kind, and where that stands against the limits."""
        return reply(await self._site.call("admin.usage", days=query.days))

    async def price_set(self, body: asked.Price) -> Response:
        """Give the price of a model."""
        return reply(await self._site.call("admin.usage_price_set", **body.model_dump(exclude_none=True)))

    async def price_remove(self, body: asked.PriceOf) -> Response:
        """Forget one."""
        return reply(await self._site.call("admin.usage_price_remove", source=body.source, model=body.model))
