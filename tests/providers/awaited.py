"""Rows that are known not to go well yet: each is expected to fail, and says so when it does not any more."""

from __future__ import annotations

_TOOL_LOOP = "a person's words behind results do not end the tool loop"

AWAITED: dict[tuple[str, str, str], str] = {
    **{
        ("anthropic", "lua", name): _TOOL_LOOP
        for name in (
            "no-tools-any-more", "person-after-result", "call-without-result", "batch-cut-in-the-middle",
            "result-without-an-id", "calls-without-ids-in-the-history", "results-out-of-order",
            "result-after-something-else", "the-same-id-twice", "two-results-for-one-call",
            "begins-with-the-assistant", "never-sent-again-unchanged",
        )
    },
    ("anthropic", "lua", "schemas-of-all-kinds"): "a choice at the top of a schema is refused",
}  # fmt: skip
