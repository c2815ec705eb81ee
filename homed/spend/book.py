"""The record of what was spent: reserved before a call, settled after it.  Plain functions for transactions."""

from __future__ import annotations

from dataclasses import dataclass

from homed.spend.limits import Limits, Standing
from homed.spend.records import Cost, Price, Purpose, Spent, Tokens, Whence
from homed.store.rows import Tx


@dataclass(frozen=True, slots=True)
class Reservation:
    """A call that may be made: ``number`` is its row."""

    number: int
    day: str
    purpose: Purpose
    whence: Whence


def claim_lost(tx: Tx) -> int:
    """Count as spent what an earlier run of homed had reserved when it was killed; how many calls those were.

    Only before this run has reserved anything: one homed has the database.
    """
    rows = tx.all(
        "SELECT day, kind, source, model, price, currency, prompt, cached, completion, nanos FROM spend_calls"
        " WHERE state = 'open'"
    )
    for day, kind, source, model, price, currency, prompt, cached, completion, nanos in rows:
        key = (day, kind, source, model, price, currency)
        _add(tx, key, (prompt, cached, completion, prompt + completion, nanos))
    tx.execute("UPDATE spend_calls SET state = 'lost' WHERE state = 'open'")
    return len(rows)


def standing(tx: Tx, limits: Limits, day: str, turn: str) -> Standing:
    """What is spent or reserved on a day, and by a turn (which may have begun the day before)."""
    rows = tx.all(
        "SELECT price, currency, sum(prompt + completion), sum(nanos) FROM spend_days WHERE day = ?1 GROUP BY 1, 2"
        " UNION ALL"
        " SELECT price, currency, sum(prompt + completion), sum(nanos) FROM spend_calls"
        " WHERE state = 'open' AND day = ?1 GROUP BY 1, 2",
        (day,),
    )
    tokens = sum(int(row[2]) for row in rows if row[0] != Price.FREE.value)
    money = sum(limits.in_limit(Cost(Price(price), currency, int(nanos))) or 0 for price, currency, _, nanos in rows)
    of_turn = tx.value("SELECT sum(prompt + completion) FROM spend_calls WHERE turn = ? AND turn <> ''", (turn,))
    times = tx.value("SELECT times FROM spend_allowed WHERE day = ?", (day,))
    return Standing(int(of_turn or 0), tokens, money, int(times or 0))


def reserve(tx: Tx, purpose: Purpose, whence: Whence, spent: Spent, *, at: float, day: str) -> Reservation:
    """Write down that a call is being made that takes so much at the most."""
    tokens, cost = spent.tokens, spent.cost
    number = tx.value(
        "INSERT INTO spend_calls (at, day, kind, who, turn, thread, peer, source, model, state, prompt, cached,"
        " completion, estimated, price, currency, nanos)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 'open', ?, ?, ?, 1, ?, ?, ?) RETURNING id",
        (
            at, day, purpose.kind.value, purpose.who, purpose.turn, purpose.thread, purpose.peer, whence.source,
            whence.model, tokens.prompt, tokens.cached, tokens.completion, cost.price.value, cost.currency, cost.nanos,
        ),
    )  # fmt: skip
    return Reservation(int(number), day, purpose, whence)


def settle(tx: Tx, held: Reservation, spent: Spent) -> None:
    """The call is over and took this; the reservation is gone.  Twice is once."""
    tokens, cost = spent.tokens, spent.cost
    tx.execute(
        "UPDATE spend_calls SET state = 'done', prompt = ?, cached = ?, completion = ?, estimated = ?, price = ?,"
        " currency = ?, nanos = ? WHERE id = ? AND state = 'open'",
        (
            tokens.prompt, tokens.cached, tokens.completion, int(tokens.estimated), cost.price.value, cost.currency,
            cost.nanos, held.number,
        ),
    )  # fmt: skip
    if not tx.changes():
        return
    whence = held.whence
    key = (held.day, held.purpose.kind.value, whence.source, whence.model, cost.price.value, cost.currency)
    guessed = tokens.total if tokens.estimated else 0
    _add(tx, key, (tokens.prompt, tokens.cached, tokens.completion, guessed, cost.nanos))


def release(tx: Tx, held: Reservation) -> None:
    """The call was not taken on by the source: nothing is owed for it."""
    tx.execute("DELETE FROM spend_calls WHERE id = ? AND state = 'open'", (held.number,))


def allow(tx: Tx, day: str, times: int) -> None:
    """The day may go on past its limit: for the ``times``-th time.  Two that ask for the same are one."""
    tx.execute(
        "INSERT INTO spend_allowed (day, times) VALUES (?, ?)"
        " ON CONFLICT (day) DO UPDATE SET times = max(times, excluded.times)",
        (day, times),
    )


def prune(tx: Tx, before: str) -> int:
    """Delete the calls of days before this one; their sums stay.  How many those were."""
    tx.execute("DELETE FROM spend_calls WHERE day < ? AND state <> 'open'", (before,))
    gone = tx.changes()
    tx.execute("DELETE FROM spend_allowed WHERE day < ?", (before,))
    return gone


def of_turn(tx: Tx, turn: str) -> list[Spent]:
    """What a turn took so far, a call each."""
    rows = tx.all(
        "SELECT prompt, completion, cached, estimated, price, currency, nanos FROM spend_calls"
        " WHERE turn = ? AND turn <> '' ORDER BY id",
        (turn,),
    )
    return [
        Spent(Tokens(prompt, completion, cached, bool(guessed)), Cost(Price(price), currency, nanos))
        for prompt, completion, cached, guessed, price, currency, nanos in rows
    ]


def _add(tx: Tx, key: tuple[str, ...], amounts: tuple[int, ...]) -> None:
    tx.execute(
        "INSERT INTO spend_days (day, kind, source, model, price, currency, calls, prompt, cached, completion,"
        " estimated, nanos) VALUES (?, ?, ?, ?, ?, ?, 1, ?, ?, ?, ?, ?)"
        " ON CONFLICT (day, kind, source, model, price, currency) DO UPDATE SET calls = calls + 1,"
        " prompt = prompt + excluded.prompt, cached = cached + excluded.cached,"
        " completion = completion + excluded.completion, estimated = estimated + excluded.estimated,"
        " nanos = nanos + excluded.nanos",
        (*key, *amounts),
    )
