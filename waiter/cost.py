"""What a conversation cost, as far as it is known.  Pure.

Amounts come as decimal numbers in text and are summed exactly; what nobody knows the price of is no zero.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import ROUND_UP, Decimal, InvalidOperation

from .words import Words


@dataclass(frozen=True, slots=True)
class Cost:
    """``money``: amounts by currency, sorted.  ``unpriced``: some of it has no known price."""

    money: tuple[tuple[str, Decimal], ...] = ()
    unpriced: bool = False

    def __add__(self, other: Cost) -> Cost:
        found = dict(self.money)
        for currency, amount in other.money:
            found[currency] = found.get(currency, Decimal(0)) + amount
        return Cost(tuple(sorted(found.items())), self.unpriced or other.unpriced)

    def said(self, words: Words) -> str:
        """In a few characters: ``0.0042 USD + unknown``; empty where nobody is paid."""
        parts = [f"{_short(amount)} {currency}" for currency, amount in self.money]
        return " + ".join([*parts, *([words("cost.part" if parts else "cost.unknown")] if self.unpriced else [])])


NOTHING = Cost()
"""What nobody is paid for, or nothing yet."""


def cost_of(usage: Mapping[str, object]) -> Cost:
    """What an outcome's ``usage`` says of it; what cannot be read is left out."""
    given = usage.get("cost")
    found = {}
    for currency, amount in (given if isinstance(given, Mapping) else {}).items():
        try:
            money = Decimal(str(amount))
        except InvalidOperation:
            continue
        if money.is_finite() and 0 < money < 10**9:
            found[str(currency)[:8]] = money
    return Cost(tuple(sorted(found.items())), bool(usage.get("unpriced")))


def _short(amount: Decimal) -> str:
    """Two digits, more where the first ones would be zeros, rounded up: something is not nothing."""
    digits = 2
    while digits < 6 and amount < Decimal(1).scaleb(1 - digits):
        digits += 1
    return f"{amount.quantize(Decimal(1).scaleb(-digits), ROUND_UP):f}"
