"""Prices that were looked up, with the day that was: a start until the person gives their own.

Money for a million tokens, in US dollars, as the providers' price pages had them.  They hold for the provider's own
address only; what a reseller takes is unknown.  A surcharge for writing to a cache, or for very long prompts, is not
in here.
"""

from __future__ import annotations

from decimal import Decimal

from homed.spend.prices import PriceList

_OPENAI, _ANTHROPIC = "api.openai.com", "api.anthropic.com"
_GEMINI, _DEEPSEEK = "generativelanguage.googleapis.com", "api.deepseek.com"

# host, model, the day, prompt, cached, completion
_ROWS: tuple[tuple[str, str, str, str, str, str], ...] = (
    (_DEEPSEEK, "deepseek-chat", "2026-04-13", "0.28", "0.028", "0.42"),
    (_DEEPSEEK, "deepseek-reasoner", "2026-04-13", "0.28", "0.028", "0.42"),
    (_OPENAI, "gpt-5", "2025-12-01", "1.25", "0.125", "10"),
    (_OPENAI, "gpt-5-mini", "2025-12-01", "0.25", "0.025", "2"),
    (_OPENAI, "gpt-5-nano", "2025-12-01", "0.05", "0.005", "0.4"),
    (_OPENAI, "gpt-4.1", "2025-12-01", "2", "0.5", "8"),
    (_OPENAI, "gpt-4.1-mini", "2025-12-01", "0.4", "0.1", "1.6"),
    (_OPENAI, "gpt-4.1-nano", "2025-12-01", "0.1", "0.025", "0.4"),
    (_OPENAI, "gpt-4o", "2025-12-01", "2.5", "1.25", "10"),
    (_OPENAI, "gpt-4o-mini", "2025-12-01", "0.15", "0.075", "0.6"),
    (_OPENAI, "o4-mini", "2025-12-01", "1.1", "0.275", "4.4"),
    (_OPENAI, "text-embedding-3-small", "2025-12-01", "0.02", "0.02", "0"),
    (_OPENAI, "text-embedding-3-large", "2025-12-01", "0.13", "0.13", "0"),
    (_ANTHROPIC, "claude-opus-4-5*", "2025-12-01", "5", "0.5", "25"),
    (_ANTHROPIC, "claude-opus-4-1*", "2025-12-01", "15", "1.5", "75"),
    (_ANTHROPIC, "claude-sonnet-4-5*", "2025-12-01", "3", "0.3", "15"),
    (_ANTHROPIC, "claude-sonnet-4-0*", "2025-12-01", "3", "0.3", "15"),
    (_ANTHROPIC, "claude-haiku-4-5*", "2025-12-01", "1", "0.1", "5"),
    (_GEMINI, "gemini-2.5-pro", "2025-12-01", "1.25", "0.125", "10"),
    (_GEMINI, "gemini-2.5-flash", "2025-12-01", "0.3", "0.03", "2.5"),
    (_GEMINI, "gemini-2.5-flash-lite", "2025-12-01", "0.1", "0.01", "0.4"),
)


def known() -> list[PriceList]:
    """All of them; a model's dated releases (``NAME-2025-…``) cost what it does."""
    found = []
    for host, model, at, prompt, cached, completion in _ROWS:
        names = (model,) if model.endswith("*") else (model, f"{model}-20*")
        found += [
            PriceList("*", name, Decimal(prompt), Decimal(completion), "USD", Decimal(cached), host, at)
            for name in names
        ]
    return found
