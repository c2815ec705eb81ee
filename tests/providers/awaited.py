"""Rows that are known not to go well yet: each is expected to fail, and says so when it does not any more."""

from __future__ import annotations

AWAITED: dict[tuple[str, str, str], str] = {}
