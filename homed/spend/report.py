"""What was spent, for people: by day, source, model and kind, and who and what took most of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Protocol

from homed.config.definitions import SPEND_PRICES
from homed.errors import NotFound
from homed.spend import book, prices
from homed.spend.prices import PriceList
from homed.spend.records import NANOS, Price, Whence

if TYPE_CHECKING:
    from homed.spend.gate import Gate
    from homed.spend.limits import Limits
    from homed.store.rows import Storage, Tx

MOST_DAYS = 400
TOP = 20
"""Conversations, people and plugins or jobs that are named."""

_SUMS = "sum(prompt), sum(cached), sum(completion), sum(estimated), sum(nanos), sum(calls)"
_CALLS = (
    "sum(prompt), sum(cached), sum(completion), sum(CASE estimated WHEN 1 THEN prompt + completion ELSE 0 END),"
    " sum(nanos), count(*)"
)


class SettingsPort(Protocol):
    """What prices are read from and kept in."""

    def get(self, key: str) -> object:
        """The value in force."""
        ...

    async def set(self, key: str, value: object) -> object:
        """Check and store."""
        ...


@dataclass(frozen=True, slots=True)
class Reports:
    """Reads for people, and keeps the prices they give.  ``sources`` lists the sources there are."""

    gate: Gate
    store: Storage
    settings: SettingsPort
    sources: Callable[[], Sequence[Whence]]

    async def usage(self, days: int) -> Mapping[str, object]:
        """The result of ``admin.usage`` for today and the days before it, ``days`` together."""
        gate, limits, today = self.gate, self.gate.limits(), self.gate.today()
        first = (date.fromisoformat(today) - timedelta(days=min(days, MOST_DAYS) - 1)).isoformat()

        def read(tx: Tx) -> dict[str, object]:
            return {
                "days": _days(tx, first),
                "threads": _threads(tx, first),
                "peers": _named(tx, first, "peer"),
                "who": _named(tx, first, "who"),
                "today": _today(tx, limits, today),
            }

        found = await self.store.read(read)
        return {
            "first": first, "day": today, "limits": _limits(limits), "prices": self._prices(), **found,
            "kept": gate.kept_days(),
        }  # fmt: skip

    async def set_price(self, entry: Mapping[str, object]) -> None:
        """Keep a price of the person's; it counts from the next call on.  Raises InvalidInput."""
        price = prices.price_list({"at": self.gate.today(), **entry})
        await self.settings.set(SPEND_PRICES, prices.changed(self.settings.get(SPEND_PRICES), price))

    async def remove_price(self, source: str, model: str) -> None:
        """Forget one; the one we know counts again, if there is one.  Raises NotFound."""
        stored = self.settings.get(SPEND_PRICES)
        kept = prices.without(stored, source, model)
        if not isinstance(stored, list | tuple) or len(kept) == len(stored):
            raise NotFound(f"No price was given for {model} of {source}.", hint="`homed usage prices` shows them.")
        await self.settings.set(SPEND_PRICES, kept)

    def _prices(self) -> list[dict[str, object]]:
        """What each source costs, and the prices that were given for others."""
        in_force, (given, _) = self.gate.prices(), prices.from_setting(self.settings.get(SPEND_PRICES))
        shown = [_source_price(whence, in_force.list_for(whence), given) for whence in self.sources()]
        others = [one for one in given if not any(one.fits(whence) for whence in self.sources())]
        return [*shown, *(_price(one, one.source, one.model, given=True) for one in others)]


def _source_price(whence: Whence, found: PriceList | None, given: Sequence[PriceList]) -> dict[str, object]:
    if whence.local:
        return {"source": whence.source, "model": whence.model, "price": Price.FREE.value, "given": False}
    if found is None:
        return {"source": whence.source, "model": whence.model, "price": Price.UNKNOWN.value, "given": False}
    return _price(found, whence.source, whence.model, given=found in given)


def _price(one: PriceList, source: str, model: str, *, given: bool) -> dict[str, object]:
    cached = one.prompt if one.cached is None else one.cached
    free = not (one.prompt or one.completion or cached)
    return {
        "source": source, "model": model, "price": (Price.FREE if free else Price.KNOWN).value, "given": given,
        "prompt": f"{one.prompt:f}", "cached": f"{cached:f}", "completion": f"{one.completion:f}",
        "currency": one.currency, "at": one.at, "for": {"source": one.source, "model": one.model},
    }  # fmt: skip


def _days(tx: Tx, first: str) -> list[dict[str, object]]:
    rows = tx.all(
        f"SELECT day, kind, source, model, price, currency, {_SUMS} FROM spend_days WHERE day >= ?"
        " GROUP BY 1, 2, 3, 4, 5, 6 ORDER BY 1, 2, 3, 4, 5, 6",
        (first,),
    )
    return [
        {"day": day, "kind": kind, "source": source, "model": model, **_amounts(price, currency, sums)}
        for day, kind, source, model, price, currency, *sums in rows
    ]


def _threads(tx: Tx, first: str) -> list[dict[str, object]]:
    top = tx.all(
        "SELECT c.thread, coalesce(t.title, ''), sum(c.prompt + c.completion) AS tokens FROM spend_calls c"
        " LEFT JOIN threads t ON t.id = c.thread WHERE c.day >= ? AND c.thread <> ''"
        " GROUP BY 1 ORDER BY tokens DESC LIMIT ?",
        (first, TOP),
    )
    return [{"thread": id_, "title": title, "spent": _of(tx, first, "thread", id_)} for id_, title, _ in top]


def _named(tx: Tx, first: str, column: str) -> list[dict[str, object]]:
    top = tx.all(
        f"SELECT {column}, sum(prompt + completion) AS tokens FROM spend_calls WHERE day >= ? AND {column} <> ''"
        " GROUP BY 1 ORDER BY tokens DESC LIMIT ?",
        (first, TOP),
    )
    return [{column: name, "spent": _of(tx, first, column, name)} for name, _ in top]


def _of(tx: Tx, first: str, column: str, value: str) -> list[dict[str, object]]:
    """What one of them took: an entry for each kind of price and currency."""
    rows = tx.all(
        f"SELECT price, currency, {_CALLS} FROM spend_calls WHERE day >= ? AND {column} = ?"
        " GROUP BY 1, 2 ORDER BY 1, 2",
        (first, value),
    )
    return [_amounts(price, currency, sums) for price, currency, *sums in rows]


def _amounts(price: str, currency: str, sums: Sequence[int]) -> dict[str, object]:
    prompt, cached, completion, estimated, nanos, calls = sums
    return {
        "price": price, "currency": currency, "cost": money(nanos) if price == Price.KNOWN.value else "",
        "prompt": prompt, "cached": cached, "completion": completion, "estimated": estimated, "calls": calls,
    }  # fmt: skip


def _today(tx: Tx, limits: Limits, day: str) -> dict[str, object]:
    now = book.standing(tx, limits, day, "")
    return {"tokens": now.day_tokens, "money": money(now.day_nanos), "times": now.times}


def _limits(limits: Limits) -> dict[str, object]:
    return {
        "turn_tokens": limits.turn_tokens, "day_tokens": limits.day_tokens, "day_money": money(limits.day_nanos),
        "currency": limits.currency, "background_percent": limits.percent,
    }  # fmt: skip


def money(nanos: int) -> str:
    """A decimal number, exact, without an exponent."""
    text = f"{Decimal(nanos) / NANOS:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
