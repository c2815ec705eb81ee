"""``admin.usage*``: what models cost, the limits of that, and the prices it is reckoned with."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import Field

from homed.api.method import MAX_NAME, Method, PeerCall, PeerParams, administrative

AMOUNT = r"^[0-9]{1,7}(\.[0-9]{1,9})?$"


class Usage(PeerParams):
    """``admin.usage``"""

    days: int = Field(default=30, ge=1, le=400)


class OfPrice(PeerParams):
    """``admin.usage_price_remove``"""

    source: str = Field(min_length=1, max_length=MAX_NAME)
    model: str = Field(min_length=1, max_length=MAX_NAME)


class SetPrice(OfPrice):
    """``admin.usage_price_set``: money for a million tokens, as decimal numbers in text, which are exact."""

    prompt: str = Field(max_length=20, pattern=AMOUNT)
    completion: str = Field(max_length=20, pattern=AMOUNT)
    cached: str | None = Field(default=None, max_length=20, pattern=AMOUNT)
    currency: str = Field(default="USD", max_length=3, pattern=r"^[A-Z]{3}$")


async def usage(call: PeerCall[Usage]) -> Mapping[str, object]:
    """What was spent, by day, source, model and kind, and where it stands against the limits."""
    return await call.ports.usage.usage(call.params.days)


async def price_set(call: PeerCall[SetPrice]) -> Mapping[str, object]:
    """Give the price of a model."""
    given = call.params.model_dump(include={"source", "model", "prompt", "completion", "cached", "currency"})
    await call.ports.usage.set_price({key: value for key, value in given.items() if value is not None})
    return {}


async def price_remove(call: PeerCall[OfPrice]) -> Mapping[str, object]:
    """Forget a price that was given."""
    await call.ports.usage.remove_price(call.params.source, call.params.model)
    return {}


METHODS: dict[str, Method] = {
    "admin.usage": administrative(Usage, usage),
    "admin.usage_price_set": administrative(SetPrice, price_set),
    "admin.usage_price_remove": administrative(OfPrice, price_remove),
}
