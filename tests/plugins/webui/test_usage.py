"""What models cost, ready for the page: exact sums, a chart that hides nothing, words that do not lie."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plugins.webui import usage
from tests.plugins.webui.client import browsing
from tests.plugins.webui.standin import StandIn
from tests.plugins.webui.standin_usage import amounts, furnished_usage

FOUND = furnished_usage()


def row(day: str, source: str, prompt: int, price: str = "unknown", **more: Any) -> dict[str, Any]:
    return {"day": day, "kind": "turn", "source": source, "model": "m", **amounts(price, prompt, **more)}


def found(*rows: dict[str, Any], first: str = "2026-03-01", day: str = "2026-03-03") -> dict[str, Any]:
    return {**FOUND, "first": first, "day": day, "days": list(rows)}


def test_sums_are_exact_by_currency_and_what_is_unknown_stays_apart() -> None:
    made = usage.sums(
        [
            amounts("known", 100, "0.1", "USD"),
            amounts("known", 100, "0.2", "USD"),
            amounts("known", 100, "3", "CNY"),
            amounts("unknown", 100),
            amounts("free", 100),
        ]
    )
    assert made.cost == {"CNY": Decimal(3), "USD": Decimal("0.3")}
    assert (made.tokens, made.unknown, made.calls, made.cached_percent, made.free) == (525, 105, 15, 75, False)
    assert usage.sums([amounts("free", 1)]).free
    assert not usage.sums([amounts("unknown", 1)]).free


def test_columns_are_stacked_by_source_and_every_day_has_its_place() -> None:
    chart = usage.chart(
        found(row("2026-03-01", "a", 100), row("2026-03-03", "a", 40), row("2026-03-03", "b", 20)), money=False
    )
    assert [day.day for day in chart.days] == ["2026-03-01", "2026-03-02", "2026-03-03"]
    assert chart.names == ("a", "b")
    assert chart.top == 200, "105 tokens, and the next round number"
    assert chart.days[1].parts == ()
    low, high = chart.days[2].parts
    assert (low.name, high.name) == ("a", "b")
    assert low.y + low.height == pytest.approx(usage.HIGH)
    assert high.y + high.height == pytest.approx(low.y)
    assert 0 < low.x - 2 * usage.WIDE / 3 < usage.WIDE / 3


def test_more_sources_than_colours_share_one() -> None:
    rows = [row("2026-03-02", f"s{n}", 100 - n) for n in range(usage.COLOURS + 3)]
    chart = usage.chart(found(*rows), money=False)
    assert chart.names == ("s0", "s1", "s2", "s3", "s4", usage.OTHERS)
    assert [part.colour for part in chart.days[1].parts] == [0, 1, 2, 3, 4, 5]


def test_a_chart_of_money_has_only_what_its_currency_knows() -> None:
    rows = [
        row("2026-03-01", "a", 100, "known", cost="0.5", currency="USD"),
        row("2026-03-01", "b", 100, "known", cost="9", currency="CNY"),
        row("2026-03-01", "c", 10**6),
    ]
    chart = usage.chart(found(*rows), money=True)
    assert (chart.names, chart.currency, chart.top) == (("a",), "USD", Decimal("0.5"))


@given(st.lists(st.tuples(st.integers(0, 27), st.sampled_from("abcdefgh"), st.integers(0, 10**12)), max_size=60))
def test_no_column_leaves_the_chart_and_nothing_that_was_used_is_invisible(rows: list[tuple[int, str, int]]) -> None:
    every = usage.days("2026-02-09", "2026-03-08")
    chart = usage.chart(
        found(*(row(every[at], source, tokens) for at, source, tokens in rows), first=every[0], day=every[-1]),
        money=False,
    )
    assert len(chart.days) == 28
    for day in chart.days:
        for part in day.parts:
            assert 0 <= part.x <= part.x + part.width <= usage.WIDE
            assert -0.01 <= part.y <= usage.HIGH
            assert part.height >= 1
        assert bool(day.parts) is bool(day.sums.tokens)


@given(st.decimals(min_value=0, max_value=10**15, allow_nan=False, allow_infinity=False, places=6))
def test_the_top_of_a_chart_is_round_and_not_far_away(most: Decimal) -> None:
    top = usage.nice(most)
    assert top >= most
    assert most <= 0 or top <= most * 5 / 2


def test_bars_are_ranked_and_the_longest_is_whole() -> None:
    bars = usage.bars(FOUND["days"], "source")
    assert [bar.name for bar in bars] == ["deepseek", "lan", "embedded"]
    assert bars[0].share == 100
    assert 0 < bars[2].share < bars[1].share < 100
    assert usage.bars([], "kind") == []


@pytest.mark.parametrize(
    ("value", "english", "chinese"),
    [
        (0, "0", "0"),
        (950, "950", "950"),
        (1_000, "1k", "1,000"),
        (12_345, "12.3k", "1.23万"),
        (1_640_000, "1.64M", "164万"),
        (20_000_000, "20M", "2,000万"),
        (2_300_000_000, "2.3G", "23亿"),
    ],
)
def test_counts_as_people_say_them(value: int, english: str, chinese: str) -> None:
    assert usage.compact(value, "9G 6M 3k") == english
    assert usage.compact(value, "8亿 4万") == chinese


@pytest.mark.parametrize(
    ("value", "said"),
    [("0", "0.00 USD"), ("1234.5", "1,234.50 USD"), ("0.0042", "0.0042 USD"), ("0.0000001", "0.000001 USD")],
)
def test_money_is_never_called_nothing_when_it_is_something(value: str, said: str) -> None:
    assert usage.money(value, "USD") == said


def test_a_gauge_against_a_limit_that_was_let_go() -> None:
    assert usage.gauge(50, 100, 0).percent == 50
    assert (usage.gauge(150, 100, 1).most, usage.gauge(150, 100, 1).percent) == (Decimal(200), 75)
    assert usage.gauge(500, 100, 0).percent == 100
    assert usage.gauge(500, 0, 0).percent == 0


def test_days_go_over_the_end_of_a_month() -> None:
    assert usage.days("2026-02-27", "2026-03-02") == ["2026-02-27", "2026-02-28", "2026-03-01", "2026-03-02"]
    assert len(usage.days("2026-03-08", date(2026, 3, 8).isoformat())) == 1


class TestPage:
    async def test_it_shows_charts_with_tables_and_says_what_is_unknown(self) -> None:
        kernel = StandIn()
        kernel.usage = furnished_usage()
        async with browsing(kernel) as browser:
            body = (await browser.get("/usage")).body
            assert body.count("<svg") > 5
            assert 'role="img" aria-label="Columns by day from' in body
            assert "deepseek-chat" in body
            assert "unknown" in body
            assert "Plan the &lt;b&gt;garden&lt;/b&gt;" in body
            assert "Your conversations" in body
            assert 'style="' not in body, "the policy takes no styles of elements"
            assert "1.64M" in body
            week = (await browser.get("/usage?days=7&in=money")).body
            assert "2026-03-02" in week
            assert "2026-02-20" not in week
            assert "are not in this chart: their price is unknown" in week

    @pytest.mark.parametrize(
        "query", ["?days=x", "?days=-1", "?days=99999999999999999999", "?in=<b>", "?days=7&days=30"]
    )
    async def test_whatever_is_asked_it_is_a_page(self, query: str) -> None:
        async with browsing(StandIn()) as browser:
            assert (await browser.get(f"/usage{query}")).status == 200

    async def test_without_anything_spent_it_says_so(self) -> None:
        async with browsing(StandIn()) as browser:
            assert "No model was asked in this time" in (await browser.get("/usage")).body

    async def test_prices_are_given_and_forgotten(self) -> None:
        kernel = StandIn()
        kernel.usage = furnished_usage()
        async with browsing(kernel) as browser:
            price = {"source": "lan", "model": "qwen2.5:14b", "prompt": "1", "completion": "2.5", "currency": "EUR"}
            assert (await browser.post("/api/v1/usage/prices", price)).status == 200
            assert kernel.usage["prices"][-1]["currency"] == "EUR"
            where = {"source": "lan", "model": "qwen2.5:14b"}
            assert (await browser.post("/api/v1/usage/prices/remove", where)).status == 200
            assert (await browser.post("/api/v1/usage/prices", {**price, "prompt": "1e9"})).status == 400
            assert (await browser.post("/api/v1/usage/prices", {**price, "currency": "euro"})).status == 400
