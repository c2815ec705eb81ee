"""The five wires as the scenarios see them: which adapter speaks each, how, and what each of them cannot do.

``PATHS`` is what the suite runs over; a row is here once its adapter is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from homed.providers.presets import preset

NATIVE, LUA = "native", "lua"


@dataclass(frozen=True)
class Wired:
    """A wire: the native adapter and the Lua script that speak it, the options of its source, and ``lacks``: what a
    scenario may need that this wire has not, with the reason in words."""

    name: str
    adapter: str
    script: str
    options: Mapping[str, object] = field(default_factory=dict)
    lacks: Mapping[str, str] = field(default_factory=dict)

    def quirks(self) -> dict[str, object]:
        """The options of its source: those that homed ships for the provider of that name, then the wire's own."""
        shipped = preset(self.name)
        return {**(shipped.source.options if shipped else {}), **self.options}

    def adapter_of(self, path: str) -> str:
        """The name of the adapter on a path."""
        return self.adapter if path == NATIVE else f"lua:{self.script}"


WIRES: Mapping[str, Wired] = {
    wired.name: wired
    for wired in (
        Wired(
            "openai",
            "openai",
            "openai",
            lacks={
                "signatures": "nothing is signed on this wire",
                "redacted": "there are no unreadable thoughts on this wire",
                "reasoning-returned": "OpenAI refuses thoughts that are sent back",
                "default-window": "it refuses what is too long, and never cuts it",
            },
        ),
        Wired(
            "anthropic",
            "anthropic",
            "anthropic",
            options={"thinking": 1024},
            lacks={
                "whole-calls": "arguments always come as pieces of text",
                "audio": "its models take no recordings",
                "default-window": "it refuses what is too long, and never cuts it",
            },
        ),
        Wired(
            "gemini",
            "gemini",
            "gemini",
            lacks={
                "call-indexes": "calls have no index on this wire: each comes whole",
                "whole-calls": "arguments are always an object",
                "call-pieces": "a call comes whole on this wire",
                "redacted": "there are no unreadable thoughts on this wire",
                "reasoning-returned": "thoughts are not sent back, only their signatures",
                "default-window": "it refuses what is too long, and never cuts it",
            },
        ),
        Wired(
            "ollama",
            "ollama",
            "ollama",
            lacks={
                "call-indexes": "the index is not read: each call comes whole",
                "call-pieces": "a call comes whole on this wire",
                "signatures": "nothing is signed on this wire",
                "redacted": "there are no unreadable thoughts on this wire",
                "audio": "its models take no recordings",
                "cache": "it does not tell what came from its cache",
                "key": "it wants no key",
                "blocked": "there are no content rules",
                "strict-pairs": "it takes calls without results, and results without calls",
                "usage-by-default": "tokens are counted in every answer",
            },
        ),
        Wired(
            "deepseek",
            "openai",
            "deepseek",
            lacks={
                "vision": "its models take no pictures",
                "audio": "its models take no recordings",
                "signatures": "nothing is signed on this wire",
                "redacted": "there are no unreadable thoughts on this wire",
                "default-window": "it refuses what is too long, and never cuts it",
            },
        ),
    )
}

PATHS: tuple[tuple[str, str], ...] = tuple((name, path) for path in (NATIVE, LUA) for name in WIRES)
