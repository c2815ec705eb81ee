"""What a conversation cost, as the status line says it."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from waiter.cost import Cost, cost_of
from waiter.words import Words


@pytest.mark.parametrize(
    ("usage", "said"),
    [
        ({}, ""),
        ({"prompt": 5, "completion": 1}, ""),
        ({"cost": {"USD": "0.0042"}}, "0.0042 USD"),
        ({"cost": {"USD": "1.2345", "CNY": "3"}}, "3.00 CNY + 1.24 USD"),
        ({"cost": {"USD": "0.5"}, "unpriced": 100}, "0.50 USD + unknown"),
        ({"unpriced": 100}, "cost unknown"),
        ({"cost": {"USD": "0.000000001"}}, "0.000001 USD"),
        ({"cost": {"USD": "much", "EUR": "NaN", "GBP": "-3", "JPY": "1e30"}}, ""),
        ({"cost": ["USD"]}, ""),
    ],
)
def test_it_is_said_in_a_few_characters_and_the_unknown_is_no_zero(usage: dict[str, Any], said: str) -> None:
    assert cost_of(usage).said(Words()) == said


def test_turns_add_up_exactly() -> None:
    one = cost_of({"cost": {"USD": "0.1"}})
    two = cost_of({"cost": {"USD": "0.2", "CNY": "1"}, "unpriced": 3})
    assert one + two == Cost((("CNY", Decimal(1)), ("USD", Decimal("0.3"))), unpriced=True)
    assert sum([one, one, one], Cost()).said(Words()) == "0.30 USD"
