"""The canonical history as a request to Anthropic's Messages API.  Pure.

Thinking comes back as it was sent, block for block, in its place between texts and calls; where it was lost (another
source made the calls, a plugin changed the words) the request does without: what called tools without thinking is not
asked to think about their results (A9).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from homed.providers.base import Assistant, ChatRequest, Message, Source, System, ToolCall, ToolResult, User
from homed.providers.options import Quirks
from homed.providers.shaping import (
    CUT_OFF,
    GO_ON,
    CallIds,
    base64_of,
    own_opaque,
    system_of,
    tool_name,
    used_tools,
)

WIRE = "anthropic"
MOST = 8192
"""Tokens of an answer when nothing is said: the API wants a number."""
LEFT = 1024
"""Tokens of an answer beside those that are for thinking."""
LEAST = 1024
"""The API takes no smaller budget for thinking."""

Block = dict[str, object]


def build(source: Source, request: ChatRequest) -> dict[str, object]:
    """The request body; ``request.messages`` have passed ``pairing.repair``."""
    quirks = Quirks(source.options)
    limit, budget = _limits(source, request, quirks)
    thinking, messages = _thinking(quirks, budget), _Messages(source).build(request.messages)
    wanted = bool(thinking or quirks.number("thinking"))
    if wanted and not (thinking and _may_think(messages, thinking)):
        thinking, messages = {}, _Messages(source, keep=False).build(request.messages)
    body: dict[str, object] = {
        "model": source.model,
        "max_tokens": limit,
        "messages": messages,
    }
    if system := system_of(request.messages):
        body["system"] = [{"type": "text", "text": system}]
    body |= _tools(request)
    if thinking:
        body["thinking"] = thinking
    elif request.temperature is not None and quirks.text("temperature") == "send" and _samples(quirks):
        body["temperature"] = min(request.temperature, 1.0)
    if effort := quirks.text("effort"):
        body["output_config"] = {"effort": effort}
    if quirks.on("stream"):
        body["stream"] = True
    if (kept := quirks.text("cache")) != "off":
        _mark(body, {"type": "ephemeral"} if kept == "5m" else {"type": "ephemeral", "ttl": kept})
    return {**body, **quirks.table("extra")}


def _samples(quirks: Quirks) -> bool:
    """Whether this version of the API has a temperature at all; versions are dates."""
    return quirks.text("version") < "2026-10-21"


def _limits(source: Source, request: ChatRequest, quirks: Quirks) -> tuple[int, int]:
    """Tokens of the answer, and of these for thinking (0: none).  What the request or the source says holds for both
    together: thinking is paid for as any other word is, and gets what an answer leaves of it."""
    budget, half = quirks.number("thinking"), max(1, source.context_window // 2)
    limit = request.max_tokens or quirks.number("max_tokens") or min(max(MOST, budget + LEFT), half)
    if budget <= limit - LEFT:
        return limit, budget
    return limit, limit - LEFT if limit - LEFT >= LEAST else 0


def _thinking(quirks: Quirks, budget: int) -> dict[str, object]:
    """What is asked for; nothing leaves it to the model."""
    if quirks.text("thinking") == "adaptive":
        return {"type": "adaptive"}
    return {"type": "enabled", "budget_tokens": budget} if budget else {}


def _may_think(messages: Sequence[Mapping[str, object]], thinking: Mapping[str, object]) -> bool:
    """Whether it can be asked for: results go out only behind calls that began with thinking, if it is by budget."""
    last = _first_kind(messages[-1])
    before = _first_kind(messages[-2]) if len(messages) > 1 else ""
    return thinking.get("type") != "enabled" or last != "tool_result" or before in ("thinking", "redacted_thinking")


def _first_kind(message: Mapping[str, object]) -> object:
    blocks = message["content"]
    return blocks[0].get("type") if isinstance(blocks, list) else ""


def _tools(request: ChatRequest) -> dict[str, object]:
    """The tools on offer.  With calls in the history the API wants some; where none are on offer now, those."""
    if request.tools:
        return {
            "tools": [
                {"name": tool.name, "description": tool.description, "input_schema": _schema(tool.parameters)}
                for tool in request.tools
            ]
        }
    if not (used := used_tools(request.messages)):
        return {}
    schema = {"type": "object", "properties": {}}
    gone = [{"name": name, "description": "Not available now.", "input_schema": schema} for name in used]
    return {"tools": gone, "tool_choice": {"type": "none"}}


def _schema(parameters: Mapping[str, object]) -> dict[str, object]:
    """At the top the API takes no alternatives; the kernel checks the arguments against the whole schema anyway."""
    return {key: value for key, value in parameters.items() if key not in ("anyOf", "oneOf", "allOf")}


class _Messages:
    """One history on its way; ``keep``: with the thinking there is."""

    def __init__(self, source: Source, *, keep: bool = True) -> None:
        self._source = source
        self._keep = keep
        self._ids = CallIds()

    def build(self, messages: Sequence[Message]) -> list[dict[str, object]]:
        """Turns that alternate, the first and the last the person's, none empty."""
        turns: list[tuple[str, list[Block]]] = []
        for message in messages:
            role, blocks = self._blocks(message)
            if not blocks:
                continue
            if not turns and role == "assistant":
                turns.append(("user", [_text(CUT_OFF)]))
            if turns and turns[-1][0] == role:
                turns[-1][1].extend(blocks)
            else:
                turns.append((role, blocks))
        if not turns or turns[-1][0] == "assistant":
            turns.append(("user", [_text(GO_ON)]))
        return [{"role": role, "content": blocks} for role, blocks in turns]

    def _blocks(self, message: Message) -> tuple[str, list[Block]]:
        match message:
            case User(text, images):
                shown = [_text(text)] if text.strip() else []
                return "user", shown + [
                    {
                        "type": "image",
                        "source": {"type": "base64", "media_type": one.media_type, "data": base64_of(one)},
                    }
                    for one in images
                ]
            case Assistant():
                return "assistant", self._assistant(message)
            case ToolResult(call_id, _, text, is_error):
                result: Block = {"type": "tool_result", "tool_use_id": self._ids.answered(call_id), "content": text}
                return "user", [result | {"is_error": True} if is_error else result]
            case System():
                return "", []

    def _assistant(self, message: Assistant) -> list[Block]:
        laid_out = _laid_out(message, self._source) if self._keep else None
        if laid_out is None:
            said: list[Block] = [_text(message.text)] if message.text.strip() else []
            laid_out = said + [{"type": "tool_use", "id": call.id} for call in message.calls]
        by_id = {call.id: call for call in message.calls}
        out: list[Block] = []
        for block in laid_out:
            if block.get("type") == "tool_use":
                block = self._use(by_id[str(block["id"])])
            out.append(block)
        return out

    def _use(self, call: ToolCall) -> Block:
        given = dict(call.arguments or {})
        return {"type": "tool_use", "id": self._ids.called(call.id), "name": tool_name(call.name), "input": given}


def _laid_out(message: Assistant, source: Source) -> list[Block] | None:
    """The message with its thinking, as it came; a call is only named.  None if there is none, or it does not fit.

    ``Opaque.data`` is a list: a block as it came, ``{"t": characters of the text}`` or ``{"c": id of the call}``.
    """
    opaque = own_opaque(message, source, WIRE)
    if opaque is None:
        return None
    try:
        layout = json.loads(opaque.data)
    except (ValueError, RecursionError):
        return None
    out: list[Block] = []
    at, calls = 0, []
    for part in layout if isinstance(layout, list) else ():
        match part:
            case {"t": int(length)}:
                piece = message.text[at : at + length]
                at += length
                if piece.strip():
                    out.append(_text(piece))
            case {"c": str(id_)}:
                calls.append(id_)
                out.append({"type": "tool_use", "id": id_})
            case {"type": "thinking" | "redacted_thinking"}:
                out.append(dict(part))
            case _:
                return None
    whole = at == len(message.text) and calls == [call.id for call in message.calls]
    return out if whole and out else None


def _text(text: str) -> Block:
    return {"type": "text", "text": text}


def _mark(body: dict[str, object], mark: Mapping[str, object]) -> None:
    """Ask for the prompt to be kept up to the tools, the instructions, and the last thing that a person's turn says."""
    messages = body["messages"]
    last = messages[-1]["content"] if isinstance(messages, list) else None
    for part in (body.get("tools"), body.get("system"), last):
        if isinstance(part, list) and part:
            part[-1] = {**part[-1], "cache_control": dict(mark)}
