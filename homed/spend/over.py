"""What is said when a limit of spend holds a model call back."""

from __future__ import annotations

from homed.config.definitions import (
    SPEND_BACKGROUND,
    SPEND_DAY_MONEY,
    SPEND_DAY_TOKENS,
    SPEND_PRICES,
    SPEND_TURN_TOKENS,
)
from homed.spend.limits import Limit, Limits, Refusal, money_text, patient
from homed.spend.ports import GoOn, OverLimit
from homed.spend.records import Purpose, Whence


def over(refusal: Refusal, times: int, limits: Limits, purpose: Purpose, whence: Whence, day: str) -> OverLimit:
    """The error in words for people; ``day`` was let go on ``times`` times already."""
    if refusal.limit is Limit.TURN:
        return OverLimit(
            f"This message has used {refusal.used} tokens; with the next model call it would pass its limit of"
            f" {refusal.most}.",
            hint=f"Ask for less at a time, or raise {SPEND_TURN_TOKENS} (0: no limit).", limit=refusal.limit.value,
        )  # fmt: skip
    if refusal.limit is Limit.UNPRICED:
        return OverLimit(
            f"Nobody knows what {whence.model} of {whence.source} costs, and the day has a limit of money alone.",
            hint=f"Give its price ({SPEND_PRICES}, or `homed usage price`), or set {SPEND_DAY_TOKENS}.",
            limit=refusal.limit.value,
        )
    money = refusal.limit is Limit.DAY_MONEY
    whole = limits.day_nanos if money else limits.day_tokens
    again = max(times + 1, -(-refusal.needs // max(1, whole)) - 1)  # one yes is enough for this call
    used, most, more = (
        money_text(amount, limits.currency) if money else f"{amount} tokens"
        for amount in (refusal.used, refusal.most, whole * (again - times))
    )
    key = SPEND_DAY_MONEY if money else SPEND_DAY_TOKENS
    if patient(purpose):
        return OverLimit(
            f"What this day may cost without the owner's word is used up: {used} of {most}.",
            hint=f"It goes on tomorrow, or with a higher {key} or {SPEND_BACKGROUND}.", limit=refusal.limit.value,
        )  # fmt: skip
    return OverLimit(
        f"Today's limit is used up: {used} of {most}, and the next model call would pass it.",
        hint=f"It goes on tomorrow, or with a higher {key} (0: no limit).",
        limit=refusal.limit.value, ask=GoOn(day, again, more) if refusal.ask else None,
    )  # fmt: skip
