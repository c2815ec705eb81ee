"""Settings of what may be spent on models."""

from __future__ import annotations

from homed.config.definitions.shape import Definition

SPEND_TURN_TOKENS = "core.spend.turn_tokens"
SPEND_DAY_TOKENS = "core.spend.day_tokens"
SPEND_DAY_MONEY = "core.spend.day_money"
SPEND_CURRENCY = "core.spend.currency"
SPEND_BACKGROUND = "core.spend.background_percent"
SPEND_PRICES = "core.spend.prices"
SPEND_RATES = "core.spend.rates"
SPEND_KEEP = "core.spend.keep_days"

_SPEND = "Spend"


def _currency(text: str) -> bool:
    return len(text) == 3 and text.isascii() and text.isalpha() and text.isupper()


SPEND: tuple[Definition, ...] = (
    Definition(
        SPEND_TURN_TOKENS, "int", 2_000_000, "Tokens that the model calls of one message may use, its tools' and its"
        " agents' included; 0 means no limit.", "Limit of a message", _SPEND, minimum=0, maximum=1_000_000_000,
    ),
    Definition(
        SPEND_DAY_TOKENS, "int", 20_000_000, "Tokens that a day may use, those whose price is unknown included, those"
        " of models on this machine not; then you are asked. 0 means no limit.",
        "Tokens a day", _SPEND, minimum=0, maximum=1_000_000_000_000,
    ),
    Definition(
        SPEND_DAY_MONEY, "float", 0, "Money that a day may cost, as far as prices are known; then you are asked."
        " 0 means no limit.", "Money a day", _SPEND, minimum=0, maximum=1_000_000,
    ),
    Definition(
        SPEND_CURRENCY, "string", "USD", "The currency of the limit and of sums, by its three letters.",
        "Currency", _SPEND, fits=_currency, wanted="must be a currency by its three letters, like USD, EUR or CNY",
    ),
    Definition(
        SPEND_BACKGROUND, "int", 80, "Percent of a day's limit after which work in the background, plugins on their"
        " own and guests are given nothing more: the rest is yours.",
        "Share without you", _SPEND, minimum=1, maximum=100,
    ),
    Definition(
        SPEND_PRICES, "list", [], "What models cost, for a million tokens; edited on the Usage page or with"
        " `homed usage price`.", "Prices", _SPEND, hidden=True,
    ),
    Definition(
        SPEND_RATES, "list", [], "What other currencies are worth in that of the limit, for prices in them:"
        ' [{"currency": "CNY", "is": 0.14}].', "Exchange rates", _SPEND,
    ),
    Definition(
        SPEND_KEEP, "int", 92, "Days for which single model calls are kept; their sums by day stay.",
        "Days of detail", _SPEND, minimum=1, maximum=3650,
    ),
)  # fmt: skip
