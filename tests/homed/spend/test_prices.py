"""What tokens cost: exact, the person's word first, unknown is not nothing."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from homed.config.definitions import SPEND_PRICES, SPEND_RATES
from homed.errors import ConfigError, InvalidInput
from homed.spend.known import known
from homed.spend.limits import money_text
from homed.spend.prices import (
    PriceList,
    Prices,
    changed,
    check_setting,
    from_setting,
    nanos,
    price_list,
    rates_of,
    to_setting,
    without,
)
from homed.spend.records import NANOS, Cost, Price, Tokens, Whence

DEEPSEEK = Whence("ds", "deepseek-chat", "api.deepseek.com")
CHEAP = PriceList("ds", "deepseek-chat", Decimal("0.28"), Decimal("0.42"), "USD", Decimal("0.028"))


def test_cached_tokens_have_a_price_of_their_own_and_are_counted_once() -> None:
    assert CHEAP.of(Tokens(1_000_000, 0, 0)).nanos == 280_000_000
    assert CHEAP.of(Tokens(1_000_000, 0, 1_000_000)).nanos == 28_000_000
    assert CHEAP.of(Tokens(1_000_000, 1_000_000, 500_000)).nanos == 140_000_000 + 14_000_000 + 420_000_000


def test_without_a_price_for_cached_tokens_they_cost_what_others_do() -> None:
    plain = PriceList("*", "*", Decimal(2), Decimal(8), "EUR")
    assert plain.of(Tokens(1_000, 0, 900)) == Cost(Price.KNOWN, "EUR", 2_000_000)


def test_more_cached_than_asked_is_no_refund() -> None:
    """E47: a source that counts cached tokens apart would make the rest negative."""
    assert CHEAP.of(Tokens(100, 0, 900)).nanos == nanos(Decimal("0.028") * 100 / 1_000_000)


@given(st.integers(0, 10**9), st.integers(0, 10**9), st.integers(0, 10**9))
def test_a_call_never_costs_less_than_its_share_of_the_price(prompt: int, completion: int, cached: int) -> None:
    tokens = Tokens(prompt, completion, min(cached, prompt))
    exact = (
        (prompt - tokens.cached) * Decimal("0.28") + tokens.cached * Decimal("0.028") + completion * Decimal("0.42")
    ) * (NANOS // 1_000_000)
    assert 0 <= CHEAP.of(tokens).nanos - exact < 1


def test_unknown_is_not_nothing_and_a_model_of_ours_is_free() -> None:
    prices = Prices([], known())
    assert prices.of(Whence("x", "no-such-model", "api.openai.com"), Tokens(10, 10)) == Cost(Price.UNKNOWN)
    assert prices.of(Whence("embedded", "SmolLM2", local=True), Tokens(10, 10)) == Cost(Price.FREE)


def test_what_is_known_holds_for_the_providers_own_address_only() -> None:
    prices = Prices([], known())
    assert prices.of(DEEPSEEK, Tokens(1_000_000)) == Cost(Price.KNOWN, "USD", 280_000_000)
    assert prices.of(Whence("ds", "deepseek-chat", "reseller.example"), Tokens(1)).price is Price.UNKNOWN
    assert prices.list_for(Whence("o", "gpt-4o-2024-08-06", "api.openai.com")) is not None
    assert prices.list_for(Whence("o", "gpt-4o-audio-preview", "api.openai.com")) is None


def test_every_known_price_has_its_day_and_none_is_there_twice() -> None:
    lists = known()
    assert all(len(one.at) == 10 and one.host for one in lists)
    assert len({(one.host, one.model) for one in lists}) == len(lists)


def test_the_persons_price_comes_first_and_the_newest_of_them() -> None:
    old = PriceList("*", "*", Decimal(1), Decimal(1), "USD")
    new = PriceList("ds", "deepseek-*", Decimal(3), Decimal(1), "USD")
    assert Prices([old, new], known()).of(DEEPSEEK, Tokens(1_000_000)).nanos == 3 * NANOS
    assert Prices([new, old], known()).of(DEEPSEEK, Tokens(1_000_000)).nanos == NANOS


def test_a_price_of_nothing_throughout_is_a_server_of_ones_own() -> None:
    own = price_list({"source": "lan", "model": "*", "prompt": 0, "completion": 0})
    assert own.of(Tokens(10, 10)) == Cost(Price.FREE)


def test_a_price_goes_into_the_setting_and_comes_back() -> None:
    stored = [to_setting(CHEAP)]
    assert from_setting(stored) == ([CHEAP], [])
    assert changed(stored, CHEAP) == stored
    assert without(stored, "ds", "deepseek-chat") == []
    assert without(stored, "ds", "other") == stored


def test_one_that_is_no_price_hides_no_other_and_stays_until_it_is_given_anew() -> None:
    stored = [{"model": "x"}, to_setting(CHEAP), "?"]
    found, faults = from_setting(stored)
    assert found == [CHEAP]
    assert [fault[:7] for fault in faults] == ["Price 1", "Price 3"]
    assert without(stored, "ds", "deepseek-chat") == [{"model": "x"}, "?"]
    assert changed(stored, replace(CHEAP, source="*", model="x"))[:-1] == [to_setting(CHEAP), "?"]


@pytest.mark.parametrize("name", ["claude[1m]", "what?", "a[!b]", "[[]"])
def test_a_name_stands_for_itself_but_for_its_stars(name: str) -> None:
    prices = Prices([replace(CHEAP, source="*", model=name)])
    assert prices.list_for(Whence("a", name)) is not None
    assert prices.list_for(Whence("a", "claude1")) is None
    assert Prices([replace(CHEAP, source="*", model=f"{name}*")]).list_for(Whence("a", f"{name}-2026")) is not None


@pytest.mark.parametrize(
    ("key", "stored"),
    [
        (SPEND_PRICES, [to_setting(CHEAP), {"model": "x"}]),
        (SPEND_RATES, [{"currency": "CNY", "is": 0.14}, {"currency": "CNY", "is": "much"}]),
        (SPEND_RATES, ["CNY"]),
    ],
)
def test_a_setting_in_which_something_would_count_for_nothing_is_refused(key: str, stored: list[object]) -> None:
    check_setting(key, stored[:1] if len(stored) > 1 else [])
    with pytest.raises(ConfigError, match=r"(Price|Rate) \d of"):
        check_setting(key, stored)


@pytest.mark.parametrize(
    ("entry", "says"),
    [
        ("x", "is a table"),
        ({"model": "m", "prompt": "1"}, "completion"),
        ({"model": "m", "prompt": "-1", "completion": "1"}, "prompt"),
        ({"model": "m", "prompt": True, "completion": "1"}, "prompt"),
        ({"model": "m", "prompt": "NaN", "completion": "1"}, "prompt"),
        ({"model": "m", "prompt": "1e12", "completion": "1"}, "prompt"),
        ({"model": "m", "prompt": "1e-999999", "completion": "1"}, "prompt"),  # a megabyte, written out
        ({"model": "m\u202e", "prompt": "1", "completion": "1"}, "cannot be seen"),
        ({"model": " ", "prompt": "1", "completion": "1"}, "names its model"),
        ({"model": "m", "prompt": "1", "completion": "1", "currency": "dollars"}, "no currency"),
        ({"model": "m", "prompt": "1", "completion": "1", "per": "day"}, "per"),
    ],
)
def test_what_is_no_price_is_refused_with_what_is_wrong(entry: object, says: str) -> None:
    with pytest.raises(InvalidInput, match=says):
        price_list(entry)
    (fault,) = from_setting([entry])[1]
    assert fault.startswith("Price 1 of core.spend.prices: ")


def test_a_price_is_never_longer_than_it_need_be() -> None:
    made = price_list({"model": "m", "prompt": "0E-999999", "completion": f"100.{'0' * 1000}", "cached": "0.10"})
    assert [f"{one:f}" for one in (made.prompt, made.completion, made.cached or Decimal(7))] == ["0", "100", "0.1"]


def test_rates_that_make_no_sense_are_left_out() -> None:
    given = [{"currency": "CNY", "is": 0.14}, {"currency": "x", "is": 1}, {"currency": "EUR", "is": "much"}, 3]
    assert rates_of(given) == {"CNY": Decimal("0.14")}
    assert rates_of([{"currency": "EUR", "is": 0}]) == {}


@pytest.mark.parametrize(
    ("amount", "text"),
    [
        (0, "0.00 USD"),
        (NANOS, "1.00 USD"),
        (1_234_567_890, "1.24 USD"),
        (12_000_000, "0.012 USD"),
        (1, "0.000001 USD"),
        (280_000, "0.00028 USD"),
    ],
)
def test_money_in_words_never_says_nothing_for_something(amount: int, text: str) -> None:
    assert money_text(amount, "USD") == text
