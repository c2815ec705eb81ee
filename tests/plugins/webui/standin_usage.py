"""What models cost, of a stand-in for the kernel."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any

from homed.errors import NotFound

DAY = date(2026, 3, 8)


def amounts(price: str, prompt: int, cost: str = "", currency: str = "", **more: int) -> dict[str, Any]:
    """An entry of ``admin.usage``."""
    counts = {"cached": prompt * 3 // 4, "completion": prompt // 20, "estimated": 0, "calls": 3}
    return {"price": price, "currency": currency, "cost": cost, "prompt": prompt, **counts, **more}


def furnished_usage() -> dict[str, Any]:
    """Four weeks of three sources, one of which nobody knows the price of."""
    rows = []
    for at in range(28):
        day = (DAY - timedelta(days=27 - at)).isoformat()
        used = 40_000 + 17_000 * (at * 7 % 11)
        rows.append(
            {"day": day, "kind": "turn", "source": "deepseek", "model": "deepseek-chat",
             **amounts("known", used, f"0.{used // 4:06d}", "USD")}
        )  # fmt: skip
        if at % 3 == 0:
            rows.append(
                {"day": day, "kind": "background", "source": "lan", "model": "qwen2.5:14b",
                 **amounts("unknown", used // 3, estimated=100)}
            )  # fmt: skip
        if at % 5 == 0:
            rows.append(
                {"day": day, "kind": "plugin", "source": "embedded", "model": "SmolLM2-135M", **amounts("free", 3_000)}
            )
    spent = [amounts("known", 400_000, "0.12", "USD"), amounts("unknown", 20_000)]
    return {
        "day": DAY.isoformat(), "first": (DAY - timedelta(days=29)).isoformat(), "kept": 92,
        "today": {"tokens": 1_640_000, "money": "0.4213", "times": 0},
        "limits": {
            "turn_tokens": 2_000_000, "day_tokens": 20_000_000, "day_money": "1", "currency": "USD",
            "background_percent": 80,
        },
        "days": rows,
        "threads": [{"thread": "th_1", "title": "Plan the <b>garden</b>", "spent": spent}],
        "peers": [{"peer": "webui:owner", "spent": spent}],
        "who": [{"who": "distil", "spent": [amounts("unknown", 20_000, estimated=100)]}],
        "prices": [
            {"source": "deepseek", "model": "deepseek-chat", "price": "known", "given": True, "prompt": "0.28",
             "cached": "0.028", "completion": "0.42", "currency": "USD", "at": "2026-03-01",
             "for": {"source": "deepseek", "model": "deepseek-chat"}},
            {"source": "lan", "model": "qwen2.5:14b", "price": "unknown", "given": False},
            {"source": "embedded", "model": "SmolLM2-135M", "price": "free", "given": False},
        ],
    }  # fmt: skip


NOTHING: dict[str, Any] = {
    **furnished_usage(), "days": [], "threads": [], "peers": [], "who": [], "prices": [],
    "today": {"tokens": 0, "money": "0", "times": 0},
}  # fmt: skip


class Usage:
    """``admin.usage*`` in memory."""

    def __init__(self) -> None:
        self.usage: dict[str, Any] = NOTHING

    def admin_usage(self, peer: str, days: int = 30) -> Any:
        first = (DAY - timedelta(days=days - 1)).isoformat()
        return {**self.usage, "first": first, "days": [one for one in self.usage["days"] if one["day"] >= first]}

    def admin_usage_price_set(self, peer: str, source: str, model: str, **price: str) -> Any:
        given = {"price": "known", "given": True, "at": DAY.isoformat(), "cached": price["prompt"], **price}
        kept = [one for one in self.usage["prices"] if (one["source"], one["model"]) != (source, model)]
        where = {"source": source, "model": model}
        self.usage = {**self.usage, "prices": [*kept, {**where, **given, "for": where}]}
        return {}

    def admin_usage_price_remove(self, peer: str, source: str, model: str) -> Any:
        kept = [one for one in self.usage["prices"] if (one["source"], one["model"]) != (source, model)]
        if len(kept) == len(self.usage["prices"]):
            raise NotFound(f"No price was given for {model} of {source}.")
        self.usage = {
            **self.usage,
            "prices": [*kept, {"source": source, "model": model, "price": "unknown", "given": False}],
        }
        return {}
