"""What is known of a model call, before and after it.  Pure."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

NANOS = 1_000_000_000
"""Money is whole thousand-millionths of its currency: a price a million tokens is exact to a thousandth of a cent."""


class Kind(StrEnum):
    """Whom a model call is for."""

    TURN = "turn"
    BACKGROUND = "background"
    PLUGIN = "plugin"
    CHILD = "child"


class Price(StrEnum):
    """What is known of what a call costs: ``free`` is one that nobody is paid for, ``unknown`` is not nothing."""

    KNOWN = "known"
    UNKNOWN = "unknown"
    FREE = "free"


@dataclass(frozen=True, slots=True)
class Purpose:
    """Whom a call is for.  ``who``: the plugin or job; ``turn``, ``thread``, ``peer``: for whom, empty for nobody.

    ``guest``: for somebody who has no say in what the owner spends.
    """

    kind: Kind
    who: str = ""
    turn: str = ""
    thread: str = ""
    peer: str = ""
    guest: bool = False


@dataclass(frozen=True, slots=True)
class Whence:
    """Who is asked: a source by its name, its model, the host of its address ('' for one on this machine).

    ``local``: it runs in a child process of ours, and nobody is paid for it.
    """

    source: str
    model: str
    host: str = ""
    local: bool = False


@dataclass(frozen=True, slots=True)
class Tokens:
    """``prompt`` includes ``cached``; ``estimated``: our count, for the source gave none."""

    prompt: int = 0
    completion: int = 0
    cached: int = 0
    estimated: bool = False

    @property
    def total(self) -> int:
        """All of them, cached ones once."""
        return self.prompt + self.completion


@dataclass(frozen=True, slots=True)
class Cost:
    """What some tokens cost: ``nanos`` of ``currency`` when the price is known, else 0."""

    price: Price
    currency: str = ""
    nanos: int = 0


@dataclass(frozen=True, slots=True)
class Spent:
    """A call that is over."""

    tokens: Tokens
    cost: Cost
