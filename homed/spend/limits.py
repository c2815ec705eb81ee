"""Whether a model call may be made: what was spent, what is reserved, and what it will take, against the limits.  Pure.

The verdict falls before the call.  Who has no say in what the owner spends (background work, guests, plugins that work
for nobody) stops at a share of the day's limit, so that the rest is the owner's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import ROUND_UP, Decimal
from enum import StrEnum

from homed.spend.records import NANOS, Cost, Kind, Price, Purpose


class Limit(StrEnum):
    """Which limit holds a call back."""

    TURN = "turn_tokens"
    DAY_TOKENS = "day_tokens"
    DAY_MONEY = "day_money"
    UNPRICED = "unpriced"


@dataclass(frozen=True, slots=True)
class Limits:
    """0: none.  ``day_nanos`` is in ``currency``; ``percent`` of a day's limit is for those who have no say.

    ``rates``: what one unit of another currency is in that one.
    """

    turn_tokens: int = 0
    day_tokens: int = 0
    day_nanos: int = 0
    currency: str = "USD"
    percent: int = 80
    rates: Mapping[str, Decimal] = field(default_factory=dict)

    def in_limit(self, cost: Cost) -> int | None:
        """Money in the limit's currency; None when the price, or the rate, is not known."""
        if cost.price is Price.FREE:
            return 0
        if cost.price is Price.UNKNOWN:
            return None
        if cost.currency == self.currency:
            return cost.nanos
        rate = self.rates.get(cost.currency)
        return None if rate is None else int((cost.nanos * rate).to_integral_value(ROUND_UP))


@dataclass(frozen=True, slots=True)
class Standing:
    """What is spent or reserved already: by the turn, and by everybody on this day.  ``times`` the person let the day
    go on past its limit."""

    turn_tokens: int = 0
    day_tokens: int = 0
    day_nanos: int = 0
    times: int = 0


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a call will take at the most, as far as can be told: ``cost`` goes with ``tokens``."""

    purpose: Purpose
    tokens: int
    cost: Cost


@dataclass(frozen=True, slots=True)
class Refusal:
    """The call may not be made.  ``most``: what the limit is for this one, ``used`` what is gone of it.

    ``ask``: a person may be asked whether the day may go on; ``needs``: all that would then be gone at the most.
    """

    limit: Limit
    used: int
    most: int
    ask: bool = False
    needs: int = field(default=0, compare=False)


def judge(limits: Limits, standing: Standing, wanted: Wanted) -> Refusal | None:
    """None: make it.  ``used`` and ``most`` are tokens, or nanos for ``DAY_MONEY``."""
    if limits.turn_tokens and wanted.purpose.turn and standing.turn_tokens + wanted.tokens > limits.turn_tokens:
        return Refusal(Limit.TURN, standing.turn_tokens, limits.turn_tokens)
    if wanted.cost.price is Price.FREE:  # counted, but no day's limit is about it
        return None
    asks = wanted.purpose.kind is Kind.TURN and not wanted.purpose.guest
    if limits.day_tokens:
        most = _share(limits.day_tokens, limits, standing, wanted.purpose)
        if standing.day_tokens + wanted.tokens > most:
            return Refusal(Limit.DAY_TOKENS, standing.day_tokens, most, asks, standing.day_tokens + wanted.tokens)
    if limits.day_nanos:
        money = limits.in_limit(wanted.cost)
        if money is None:  # not nothing: some limit must hold it
            return None if limits.day_tokens else Refusal(Limit.UNPRICED, 0, 0)
        most = _share(limits.day_nanos, limits, standing, wanted.purpose)
        if standing.day_nanos + money > most:
            return Refusal(Limit.DAY_MONEY, standing.day_nanos, most, asks, standing.day_nanos + money)
    return None


MILLION = 1_000_000


def room(limits: Limits, standing: Standing, prompt: Wanted, million: Cost) -> int | None:
    """Tokens that an answer may have before a limit is passed; None: no limit is about it.

    ``prompt`` is what the request takes alone, ``million`` what so many tokens of an answer cost.
    """
    left: list[int] = []
    if limits.turn_tokens and prompt.purpose.turn:
        left.append(limits.turn_tokens - standing.turn_tokens - prompt.tokens)
    if prompt.cost.price is not Price.FREE:
        if limits.day_tokens:
            most = _share(limits.day_tokens, limits, standing, prompt.purpose)
            left.append(most - standing.day_tokens - prompt.tokens)
        money, each = limits.in_limit(prompt.cost), limits.in_limit(million)
        if limits.day_nanos and money is not None and each:
            most = _share(limits.day_nanos, limits, standing, prompt.purpose)
            left.append((most - standing.day_nanos - money) * MILLION // each)
    return max(0, min(left)) if left else None


def patient(purpose: Purpose) -> bool:
    """Whether it is for somebody who has no say in what is spent: it stops first."""
    return purpose.guest or purpose.kind is Kind.BACKGROUND or (purpose.kind is Kind.PLUGIN and not purpose.turn)


def _share(limit: int, limits: Limits, standing: Standing, purpose: Purpose) -> int:
    """What of the day's limit this one may use up.  A day that was allowed to go on is the owner's alone."""
    return limit * limits.percent // 100 if patient(purpose) else limit * (1 + standing.times)


def money_text(nanos: int, currency: str) -> str:
    """For people: two digits, more where the first ones would be zeros; rounded up: something is not nothing."""
    value = Decimal(nanos) / NANOS
    digits = 2
    while digits < 6 and 0 < value < Decimal(1).scaleb(-digits + 1):
        digits += 1
    return f"{value.quantize(Decimal(1).scaleb(-digits), ROUND_UP):f} {currency}".strip()
