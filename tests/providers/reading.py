"""What a request says, whichever wire it is on, so that a scenario can look at it without knowing the wire.  Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tests.kit import anthropic_rules, gemini_rules, ollama_rules, openai_rules
from tests.kit.fake_script import objects, texts


@dataclass(frozen=True)
class Reader:
    """A request in neutral words.

    ``calls``: name and arguments of every call in the history; ``results``: their texts, in order; ``said``: (role,
    text) of what was said, role ``user`` or ``assistant``, in order, without empty ones.
    """

    body: Mapping[str, Any]
    headers: Mapping[str, str]
    system: str
    said: list[tuple[str, str]]
    calls: list[tuple[str, object]]
    results: list[str]
    pictures: list[bytes]
    tools: list[str]


def reader(wire: str, body: Mapping[str, Any], headers: Mapping[str, str]) -> Reader:
    """A request on that wire, read."""
    return {"anthropic": _anthropic, "gemini": _gemini}.get(wire, _openai)(body, headers, wire)


def _openai(body: Mapping[str, Any], headers: Mapping[str, str], wire: str) -> Reader:
    messages = objects(body.get("messages"))
    calls = [call["function"] for m in messages for call in objects(m.get("tool_calls"))]
    rules = ollama_rules if wire == "ollama" else openai_rules
    return Reader(
        body,
        headers,
        "\n".join(texts(m.get("content")) for m in messages if m.get("role") in ("system", "developer")),
        _told((str(m["role"]), texts(m.get("content"))) for m in messages if m.get("role") in ("user", "assistant")),
        [(str(c["name"]), _decoded(c["arguments"])) for c in calls if isinstance(c, dict)],
        [texts(m.get("content")) for m in messages if m.get("role") == "tool"],
        rules.pictures(body),
        [str(tool["function"]["name"]) for tool in body.get("tools") or ()],
    )


def _anthropic(body: Mapping[str, Any], headers: Mapping[str, str], wire: str) -> Reader:
    said, calls, results = list[tuple[str, str]](), list[tuple[str, object]](), list[str]()
    for message in objects(body.get("messages")):
        content = message.get("content")
        blocks = objects(content) if isinstance(content, list) else [{"type": "text", "text": content}]
        said.append((str(message["role"]), "".join(str(b["text"]) for b in blocks if b.get("type") == "text")))
        calls += [(str(b["name"]), b["input"]) for b in blocks if b.get("type") == "tool_use"]
        results += [texts(b.get("content")) for b in blocks if b.get("type") == "tool_result"]
    names = [str(tool["name"]) for tool in body.get("tools") or ()]
    pictures = anthropic_rules.pictures(body)
    return Reader(body, headers, texts(body.get("system")), _told(said), calls, results, pictures, names)


def _gemini(body: Mapping[str, Any], headers: Mapping[str, str], wire: str) -> Reader:
    said, calls, results = list[tuple[str, str]](), list[tuple[str, object]](), list[str]()
    for content in body.get("contents") or ():
        role = "assistant" if content.get("role") == "model" else "user"
        said.append((role, "".join(str(part.get("text", "")) for part in content["parts"])))
        for part in content["parts"]:
            if "functionCall" in part:
                calls.append((part["functionCall"]["name"], part["functionCall"].get("args", {})))
            if "functionResponse" in part:
                results.append("".join(map(str, part["functionResponse"]["response"].values())))
    instruction = body.get("systemInstruction") or body.get("system_instruction") or {}
    system = "".join(str(part.get("text", "")) for part in instruction.get("parts") or ())
    declared = [one for tool in body.get("tools") or () for one in tool.get("functionDeclarations") or ()]
    pictures = gemini_rules.pictures(body)
    return Reader(body, headers, system, _told(said), calls, results, pictures, [str(one["name"]) for one in declared])


def _told(said: Any) -> list[tuple[str, str]]:
    return [(role, text) for role, text in said if text]


def _decoded(arguments: object) -> object:
    return json.loads(arguments) if isinstance(arguments, str) else arguments
