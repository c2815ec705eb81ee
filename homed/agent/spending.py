"""What a turn took so far, in tokens and money, as its outcome tells it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation

from homed.providers.base import Usage
from homed.spend.records import NANOS, Cost, Price, Tokens


@dataclass(slots=True)
class Spending:
    """``nanos`` by currency; ``unpriced`` tokens have no known price, ``estimated`` ones are our count."""

    usage: Usage = field(default_factory=Usage)
    nanos: dict[str, int] = field(default_factory=dict)
    unpriced: int = 0
    estimated: int = 0

    def add(self, tokens: Tokens, cost: Cost) -> None:
        """One call more."""
        self.usage = self.usage + Usage(tokens.prompt, tokens.completion, tokens.cached)
        if tokens.estimated:
            self.estimated += tokens.total
        if cost.price is Price.UNKNOWN:
            self.unpriced += tokens.total
        elif cost.nanos:
            self.nanos[cost.currency] = self.nanos.get(cost.currency, 0) + cost.nanos

    def view(self) -> dict[str, object]:
        """As in an outcome's ``usage``: tokens, and what is known of their cost beside them."""
        usage = self.usage
        shown: dict[str, object] = {
            "prompt": usage.prompt, "completion": usage.completion, "cached": usage.cached,
        }  # fmt: skip
        if self.nanos:
            shown["cost"] = {currency: money(nanos) for currency, nanos in sorted(self.nanos.items())}
        if self.unpriced:
            shown["unpriced"] = self.unpriced
        if self.estimated:
            shown["estimated"] = self.estimated
        return shown

    @classmethod
    def of(cls, stored: object) -> Spending:
        """What ``view`` made, from the store."""
        known = stored if isinstance(stored, Mapping) else {}
        usage = Usage(*(_count(known.get(name)) for name in ("prompt", "completion", "cached")))
        cost = known.get("cost")
        nanos = {str(c): _nanos(value) for c, value in cost.items()} if isinstance(cost, Mapping) else {}
        return cls(usage, nanos, _count(known.get("unpriced")), _count(known.get("estimated")))


def money(nanos: int) -> str:
    """A decimal number, exact: JSON's numbers are not."""
    return f"{Decimal(nanos) / NANOS:f}"


def _nanos(value: object) -> int:
    try:
        return int(Decimal(str(value)) * NANOS)
    except (InvalidOperation, ValueError, OverflowError):
        return 0


def _count(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 0
