"""The verdict before a call, as a table: who is held back by what, who is asked, and who stops first."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from homed.spend.limits import Limit, Limits, Refusal, Standing, Wanted, judge, patient
from homed.spend.over import over
from homed.spend.ports import GoOn
from homed.spend.records import NANOS, Cost, Kind, Price, Purpose, Whence

TURN = Purpose(Kind.TURN, turn="t1", thread="th", peer="webui:owner")
GUEST = replace(TURN, guest=True)
JOB = Purpose(Kind.BACKGROUND, "distil")
LONE = Purpose(Kind.PLUGIN, "weather")
LENT = Purpose(Kind.PLUGIN, "weather", turn="t1")
CHILD = Purpose(Kind.CHILD, turn="t1")
ALL = (TURN, GUEST, JOB, LONE, LENT, CHILD)

DOLLAR = Cost(Price.KNOWN, "USD", NANOS)
UNKNOWN, FREE = Cost(Price.UNKNOWN), Cost(Price.FREE)
WHENCE = Whence("ds", "deepseek-chat")

DAY = Limits(day_tokens=1000, percent=80)
MONEY = Limits(day_nanos=10 * NANOS, percent=80)


@pytest.mark.parametrize(
    ("limits", "standing", "wanted", "held"),
    [
        # no limit at all
        (Limits(), Standing(10**12, 10**12, 10**12), Wanted(TURN, 10**9, UNKNOWN), None),
        # of a message: the last call that fits is made, nobody is asked about the next
        (Limits(turn_tokens=100), Standing(90), Wanted(TURN, 10, UNKNOWN), None),
        (Limits(turn_tokens=100), Standing(90), Wanted(TURN, 11, UNKNOWN), Refusal(Limit.TURN, 90, 100)),
        (Limits(turn_tokens=100), Standing(90), Wanted(LENT, 11, FREE), Refusal(Limit.TURN, 90, 100)),
        (Limits(turn_tokens=100), Standing(90), Wanted(CHILD, 11, FREE), Refusal(Limit.TURN, 90, 100)),
        (Limits(turn_tokens=100), Standing(90), Wanted(JOB, 11, UNKNOWN), None),
        # of a day
        (DAY, Standing(0, 900), Wanted(TURN, 100, UNKNOWN), None),
        (DAY, Standing(0, 900), Wanted(TURN, 101, UNKNOWN), Refusal(Limit.DAY_TOKENS, 900, 1000, ask=True)),
        (DAY, Standing(0, 900), Wanted(CHILD, 101, UNKNOWN), Refusal(Limit.DAY_TOKENS, 900, 1000)),
        (DAY, Standing(0, 900), Wanted(LENT, 101, UNKNOWN), Refusal(Limit.DAY_TOKENS, 900, 1000)),
        (DAY, Standing(0, 900), Wanted(TURN, 101, FREE), None),
        # the background stops first, and guests are never asked
        (DAY, Standing(0, 700), Wanted(JOB, 100, UNKNOWN), None),
        (DAY, Standing(0, 700), Wanted(JOB, 101, UNKNOWN), Refusal(Limit.DAY_TOKENS, 700, 800)),
        (DAY, Standing(0, 700), Wanted(LONE, 101, UNKNOWN), Refusal(Limit.DAY_TOKENS, 700, 800)),
        (DAY, Standing(0, 700), Wanted(GUEST, 101, UNKNOWN), Refusal(Limit.DAY_TOKENS, 700, 800)),
        (DAY, Standing(0, 700), Wanted(LENT, 101, UNKNOWN), None),
        # a yes is as much again, for the owner alone
        (DAY, Standing(0, 1900, 0, 1), Wanted(TURN, 100, UNKNOWN), None),
        (DAY, Standing(0, 1900, 0, 1), Wanted(TURN, 101, UNKNOWN), Refusal(Limit.DAY_TOKENS, 1900, 2000, ask=True)),
        (DAY, Standing(0, 1900, 0, 1), Wanted(JOB, 1, UNKNOWN), Refusal(Limit.DAY_TOKENS, 1900, 800)),
        # money
        (MONEY, Standing(0, 0, 9 * NANOS), Wanted(TURN, 5, DOLLAR), None),
        (
            MONEY, Standing(0, 0, 9 * NANOS + 1), Wanted(TURN, 5, DOLLAR),
            Refusal(Limit.DAY_MONEY, 9 * NANOS + 1, 10 * NANOS, ask=True),
        ),
        (MONEY, Standing(0, 0, 8 * NANOS), Wanted(JOB, 5, DOLLAR), Refusal(Limit.DAY_MONEY, 8 * NANOS, 8 * NANOS)),
        # a price nobody knows is not nothing: the limit of tokens holds it, and without one nothing would
        (MONEY, Standing(), Wanted(TURN, 5, UNKNOWN), Refusal(Limit.UNPRICED, 0, 0)),
        (replace(MONEY, day_tokens=1000), Standing(), Wanted(TURN, 5, UNKNOWN), None),
        (
            replace(MONEY, day_tokens=1000), Standing(0, 999), Wanted(TURN, 5, UNKNOWN),
            Refusal(Limit.DAY_TOKENS, 999, 1000, ask=True),
        ),
        (MONEY, Standing(0, 0, 9 * NANOS), Wanted(TURN, 5, FREE), None),
    ],
)  # fmt: skip
def test_the_verdict(limits: Limits, standing: Standing, wanted: Wanted, held: Refusal | None) -> None:
    assert judge(limits, standing, wanted) == held


def test_money_in_another_currency_counts_at_its_rate_and_without_one_is_unknown() -> None:
    yuan = Cost(Price.KNOWN, "CNY", 10 * NANOS)
    assert replace(MONEY, rates={"CNY": Decimal("0.14")}).in_limit(yuan) == 1_400_000_000
    assert replace(MONEY, rates={"CNY": Decimal("0.3")}).in_limit(Cost(Price.KNOWN, "CNY", 1)) == 1, "rounded up"
    assert MONEY.in_limit(yuan) is None
    assert judge(MONEY, Standing(), Wanted(TURN, 5, yuan)) == Refusal(Limit.UNPRICED, 0, 0)


@given(
    st.sampled_from(ALL), st.integers(1, 5000), st.integers(1, 5000), st.integers(0, 3), st.integers(1, 100),
    st.lists(st.integers(1, 2000), max_size=30),
)  # fmt: skip
def test_whatever_is_asked_for_the_calls_let_through_never_pass_the_limit(
    purpose: Purpose, of_turn: int, of_day: int, times: int, percent: int, asked: list[int]
) -> None:
    limits, turn, day = Limits(turn_tokens=of_turn, day_tokens=of_day, percent=percent), 0, 0
    for tokens in asked:
        if judge(limits, Standing(turn, day, 0, times), Wanted(purpose, tokens, UNKNOWN)) is None:
            turn, day = turn + tokens, day + tokens
    assert day <= of_day * (1 + times)
    assert not purpose.turn or turn <= of_turn
    if patient(purpose):
        assert day <= of_day * percent // 100


@pytest.mark.parametrize("purpose", ALL)
@pytest.mark.parametrize(
    "refusal",
    [
        Refusal(Limit.TURN, 5, 10),
        Refusal(Limit.UNPRICED, 0, 0),
        Refusal(Limit.DAY_TOKENS, 5, 10, ask=True),
        Refusal(Limit.DAY_MONEY, 5, 10, ask=True),
    ],
)
def test_what_is_said_names_the_setting_that_helps(purpose: Purpose, refusal: Refusal) -> None:
    error = over(refusal, 0, MONEY, purpose, WHENCE, "2026-03-08")
    assert "core.spend." in error.hint
    assert error.code == "unavailable"
    assert (error.ask is not None) is (refusal.ask and not patient(purpose))


def test_one_yes_is_enough_for_the_call_that_asked() -> None:
    refusal = judge(DAY, Standing(0, 900, 0, 1), Wanted(TURN, 3000, UNKNOWN))
    assert refusal is not None
    asked = over(refusal, 1, DAY, TURN, WHENCE, "2026-03-08").ask
    assert asked == GoOn("2026-03-08", 3, "2000 tokens")
    assert judge(DAY, Standing(0, 900, 0, asked.times), Wanted(TURN, 3000, UNKNOWN)) is None
