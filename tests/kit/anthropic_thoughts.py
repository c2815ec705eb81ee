"""What Anthropic insists on about thinking blocks (fault A9).  Pure.

Sources: platform.claude.com "Thinking" ("Preserving thinking blocks", "Thinking with tool use"): blocks of the last
assistant turn come back complete and unmodified, those of earlier turns may be left out whole; with manual thinking the
turn that a tool loop continues starts with one.  The words: anthropics/claude-code#63295.
"""

from __future__ import annotations

from collections.abc import Sequence

from tests.kit.fake_script import Json, objects
from tests.kit.fake_wire import Ledger, Refused, signature

SIGNED = ("thinking", "redacted_thinking")


def signed(thinking: str) -> str:
    """The signature of a thought."""
    return signature("thinking", thinking)


def sealed(thought: str) -> str:
    """The unreadable form of a thought."""
    return "".join((signature("redacted", thought), "=" if not thought else ""))


def check_thoughts(ledger: Ledger, body: Json) -> None:
    """Raise Refused for a thought that is not as it was sent, or is missing where it is needed."""
    messages = objects(body.get("messages"))
    thinking = _thinking(body)
    if thinking is not None:
        _check_settings(body, thinking)
    latest = max((i for i, m in enumerate(messages) if m.get("role") == "assistant"), default=-1)
    for i, message in enumerate(messages):
        if message.get("role") == "assistant":
            _check_blocks(ledger, i, objects(message.get("content")), latest=i == latest)
    if thinking is not None and thinking.get("type") == "enabled" and latest >= 0:
        _check_start(messages, latest)


def _thinking(body: Json) -> Json | None:
    given = body.get("thinking")
    if given is None:
        return None
    kind = given.get("type") if isinstance(given, dict) else None
    if kind not in ("enabled", "disabled", "adaptive"):
        raise Refused("thinking: Input tag found using 'type' does not match any of the expected tags")
    assert isinstance(given, dict)
    return None if kind == "disabled" else given


def _check_settings(body: Json, thinking: Json) -> None:
    if thinking.get("type") == "enabled":
        budget, limit = thinking.get("budget_tokens"), body.get("max_tokens")
        if not isinstance(budget, int):
            raise Refused("thinking.enabled.budget_tokens: Field required")
        if budget < 1024:
            raise Refused("thinking.enabled.budget_tokens: Input should be greater than or equal to 1024")
        if isinstance(limit, int) and limit <= budget:
            raise Refused("`max_tokens` must be greater than `thinking.budget_tokens`.")
        choice = body.get("tool_choice")
        if isinstance(choice, dict) and choice.get("type") in ("any", "tool"):
            raise Refused("Thinking may not be enabled when tool_choice forces tool use.")
    if body.get("temperature") not in (None, 1, 1.0):
        raise Refused("`temperature` may only be set to 1 when thinking is enabled.")


def _check_blocks(ledger: Ledger, i: int, blocks: Sequence[Json], *, latest: bool) -> None:
    here = [block for block in blocks if block.get("type") in SIGNED]
    for k, block in enumerate(blocks):
        if block.get("type") in SIGNED and not _genuine(ledger, block):
            if latest:
                raise _modified(i, k)
            raise Refused(f"messages.{i}.content.{k}: Invalid `signature` in `thinking` block")
    if not latest:
        return
    for k, block in enumerate(blocks):
        sent = ledger.calls.get(str(block.get("id"))) if block.get("type") == "tool_use" else None
        if isinstance(sent, list) and here and not _among(sent, here):
            raise _modified(i, k)


def _among(sent: Sequence[Json], here: Sequence[Json]) -> bool:
    """Whether all thoughts of an answer are there, in their order; what stands before or behind them is of others,
    where two messages of the assistant were sent as one."""
    return any(list(here[at : at + len(sent)]) == list(sent) for at in range(len(here) + 1))


def _modified(i: int, k: int) -> Refused:
    return Refused(
        f"messages.{i}.content.{k}: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be"
        " modified. These blocks must remain as they were in the original response."
    )


def _genuine(ledger: Ledger, block: Json) -> bool:
    if block["type"] == "redacted_thinking":
        return str(block.get("data")) in ledger.signatures
    return block.get("signature") == signed(str(block.get("thinking")))


def _check_start(messages: Sequence[Json], latest: int) -> None:
    """The message whose calls the last message answers starts with a thought."""
    blocks = objects(messages[latest].get("content"))
    answered = any(b.get("type") == "tool_result" for m in messages[latest + 1 :] for b in objects(m.get("content")))
    if answered and blocks and blocks[0].get("type") not in SIGNED:
        raise Refused(
            f"messages.{latest}.content.0.type: Expected `thinking` or `redacted_thinking`, but found"
            f" `{blocks[0].get('type')}`. When `thinking` is enabled, a final `assistant` message must start with a"
            " thinking block (preceeding the lastmost set of `tool_use` and `tool_result` blocks). We recommend you"
            " include thinking blocks from previous turns. To avoid this requirement, disable `thinking`."
        )
