"""What tokens cost: prices the person gave, else those we know with their date, else unknown.  Pure.

A price is money for a million tokens.  ``Decimal`` throughout, so that a sum of many calls is what a bill says.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_UP, Decimal, InvalidOperation
from fnmatch import fnmatchcase

from homed.config.definitions import SPEND_PRICES
from homed.errors import ConfigError, InvalidInput
from homed.spend.records import NANOS, Cost, Price, Tokens, Whence

MILLION = 1_000_000
CURRENCY = re.compile(r"[A-Z]{3}")
HIGHEST = Decimal(1_000_000)
"""Money for a million tokens above which a price is a slip of the pen."""
FINEST = Decimal("1e-12")
"""The last decimal place that a price may have: more are no price, and would be written out digit by digit."""


@dataclass(frozen=True, slots=True)
class PriceList:
    """Prices of one model at one source, for a million tokens of ``currency`` (ISO 4217).

    ``source`` and ``model`` may hold ``*``, and nothing else that is not itself; ``host`` is that of the source's
    address, for prices nobody gave.  ``cached`` None: cached tokens cost what others of the prompt cost.  ``at``: the
    day it was looked up, YYYY-MM-DD.
    One that is 0 throughout says that nobody is paid: a server of one's own.
    """

    source: str
    model: str
    prompt: Decimal
    completion: Decimal
    currency: str
    cached: Decimal | None = None
    host: str = ""
    at: str = ""

    def fits(self, whence: Whence) -> bool:
        """Whether it holds for this source and model."""
        if self.host and self.host != whence.host:
            return False
        return fnmatchcase(whence.source, _pattern(self.source)) and fnmatchcase(whence.model, _pattern(self.model))

    def of(self, tokens: Tokens) -> Cost:
        """What these cost, rounded up to a thousand-millionth."""
        cached = self.prompt if self.cached is None else self.cached
        if not (self.prompt or cached or self.completion):
            return Cost(Price.FREE)
        hit = min(tokens.cached, tokens.prompt)
        money = (tokens.prompt - hit) * self.prompt + hit * cached + tokens.completion * self.completion
        return Cost(Price.KNOWN, self.currency, nanos(money / MILLION))


def _pattern(name: str) -> str:
    """Models are called ``claude[1m]``: for ``fnmatch`` that would be one of two letters."""
    return name.replace("[", "[[]").replace("?", "[?]")


def nanos(money: Decimal) -> int:
    """Money as whole thousand-millionths, rounded up: a limit errs on the side of the person."""
    return int((money * NANOS).to_integral_value(ROUND_UP))


class Prices:
    """Prices in the order they count: the person's first, the newest of them first, then ours."""

    def __init__(self, given: Iterable[PriceList], known: Iterable[PriceList] = ()) -> None:
        self._lists: tuple[PriceList, ...] = (*reversed(list(given)), *known)

    def list_for(self, whence: Whence) -> PriceList | None:
        """The prices that hold; None for one that is unknown, and for one nobody is paid for."""
        return None if whence.local else next((one for one in self._lists if one.fits(whence)), None)

    def of(self, whence: Whence, tokens: Tokens) -> Cost:
        """What a call costs."""
        if whence.local:
            return Cost(Price.FREE)
        found = self.list_for(whence)
        return Cost(Price.UNKNOWN) if found is None else found.of(tokens)


def from_setting(stored: object) -> tuple[list[PriceList], list[str]]:
    """The entries of ``core.spend.prices``, and a sentence for each that is no price, with its number.

    One that was written by hand and is wrong is no reason to know none of the others.
    """
    found, faults = [], []
    for number, entry in enumerate(_entries(stored), start=1):
        try:
            found.append(price_list(entry))
        except InvalidInput as error:
            faults.append(f"Price {number} of core.spend.prices: {error.message}")
    return found, faults


def check_setting(key: str, stored: object) -> None:
    """Raises ConfigError for prices or rates of which one would count for nothing."""
    if key == SPEND_PRICES:
        faults = from_setting(stored)[1]
    else:
        faults = [
            f"Rate {n} of {key} is none: {str(e)[:80]}." for n, e in enumerate(_entries(stored), 1) if not _rate(e)
        ]
    if faults:
        raise ConfigError(" ".join(faults))


def price_list(entry: object) -> PriceList:
    """One entry as the setting, the page and the command line give it.  Raises InvalidInput."""
    if not isinstance(entry, Mapping):
        raise InvalidInput("A price is a table with source, model, prompt, completion and currency.")
    known = {"source", "model", "prompt", "completion", "cached", "currency", "host", "at"}
    if unknown := sorted(set(map(str, entry)) - known):
        raise InvalidInput(f"A price has no {', '.join(unknown)}.")
    currency = str(entry.get("currency", "USD")).strip().upper()
    if not CURRENCY.fullmatch(currency):
        raise InvalidInput(f"{currency!r} is no currency.", hint="Give its three letters, like USD, EUR or CNY.")
    source, model = _whose(entry) or ("", "")
    if not model:
        raise InvalidInput("A price names its model.", hint="`*` stands for every one.")
    if not (source + model).isprintable():
        raise InvalidInput("A price has a character in a name that cannot be seen.", hint="Type it instead of copying.")
    return PriceList(
        source, model, _money(entry, "prompt"), _money(entry, "completion"),
        currency, _money(entry, "cached") if entry.get("cached") is not None else None,
        str(entry.get("host", "")), str(entry.get("at", "")),
    )  # fmt: skip


def to_setting(price: PriceList) -> dict[str, object]:
    """The entry that ``price_list`` reads."""
    money = {"prompt": price.prompt, "completion": price.completion, "cached": price.cached}
    return {
        "source": price.source, "model": price.model, "currency": price.currency, "at": price.at,
        **({"host": price.host} if price.host else {}),
        **{name: str(value) for name, value in money.items() if value is not None},
    }  # fmt: skip


def changed(stored: object, price: PriceList) -> list[object]:
    """The setting with this price in the place of that for the same source and model."""
    return [*without(stored, price.source, price.model), to_setting(price)]


def without(stored: object, source: str, model: str) -> list[object]:
    """The setting but for the price of this source and model; what is no price stays for whoever wrote it."""
    return [entry for entry in _entries(stored) if _whose(entry) != (source, model)]


def rates_of(stored: object) -> Mapping[str, Decimal]:
    """``core.spend.rates``: what one unit of a currency is in that of the limit.  What makes no sense is left out."""
    return dict(filter(None, map(_rate, _entries(stored))))


def _rate(entry: object) -> tuple[str, Decimal] | None:
    if not isinstance(entry, Mapping) or not CURRENCY.fullmatch(str(entry.get("currency", ""))):
        return None
    try:
        rate = _money(entry, "is")
    except InvalidInput:
        return None
    return (str(entry["currency"]), rate) if rate > 0 else None


def _entries(stored: object) -> Sequence[object]:
    return stored if isinstance(stored, list | tuple) else ()


def _whose(entry: object) -> tuple[str, str] | None:
    """The source and the model that an entry is for, as ``price_list`` reads them."""
    if not isinstance(entry, Mapping):
        return None
    return str(entry.get("source", "*")).strip() or "*", str(entry.get("model", "")).strip()


def _money(entry: Mapping[object, object], name: str) -> Decimal:
    value = entry.get(name)
    try:
        money = Decimal(str(value).strip()) if not isinstance(value, bool) else Decimal("NaN")
    except InvalidOperation:
        money = Decimal("NaN")
    if not money.is_finite() or not 0 <= money <= HIGHEST or money != (exact := money.quantize(FINEST)):
        raise InvalidInput(
            f"{name} is no price: {str(value)[:40]!r}.", hint="Give what a million tokens cost, like 0.28."
        )
    return exact.normalize()
