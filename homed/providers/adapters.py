"""The adapters by name, each loaded when a source first uses it."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from homed.providers.adapter import Adapter, Native
from homed.providers.base import LOCAL

NATIVE = ("openai", "anthropic", "gemini", "ollama")
"""Those that are part of homed and speak HTTP."""

SCRIPT = "lua:"
"""How the name of one begins that is a script."""

AUDIO: Mapping[str, frozenset[str]] = {
    "openai": frozenset({"audio/wav", "audio/mpeg"}),
    "gemini": frozenset({"audio/wav", "audio/mpeg", "audio/ogg", "audio/flac", "audio/aac", "audio/aiff"}),
}
"""The recordings that an adapter can send on; none for others."""


def names(scripts: Collection[str] = ()) -> list[str]:
    """Every adapter there is."""
    return [*NATIVE, LOCAL, *(f"{SCRIPT}{name}" for name in scripts)]


def audio_of(adapter: str) -> frozenset[str]:
    """The recordings that an adapter can send on; a script sends what the one of its name does."""
    return AUDIO.get(adapter.removeprefix(SCRIPT), frozenset())


def native(name: str) -> Adapter:
    """One of ``NATIVE``."""
    match name:
        case "anthropic":
            from homed.providers.anthropic import AnthropicAdapter

            return Native(AnthropicAdapter())
        case "gemini":
            from homed.providers.gemini import GeminiAdapter

            return Native(GeminiAdapter())
        case "ollama":
            from homed.providers.ollama import OllamaAdapter

            return Native(OllamaAdapter())
        case _:
            from homed.providers.openai import OpenAIAdapter

            return Native(OpenAIAdapter())
