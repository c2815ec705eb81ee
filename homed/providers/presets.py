"""Well-known places to get a model from, so that a person needs only a key.  Pure.

Each is what a source is set up with when nothing else is said; every field can be changed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from homed.providers.base import Source


@dataclass(frozen=True, slots=True)
class Preset:
    """``keys`` is where a key is made; empty where none is needed."""

    source: Source
    title: str
    keys: str = ""

    @property
    def name(self) -> str:
        """What the source is called when nothing else is said."""
        return self.source.name


@dataclass(frozen=True, slots=True)
class Given:
    """What a person said of a source; None: nothing."""

    name: str
    base_url: str | None = None
    model: str | None = None
    adapter: str | None = None
    context_window: int | None = None
    priority: int | None = None
    max_concurrent: int | None = None
    tools: bool | None = None
    vision: bool | None = None
    audio: bool | None = None
    options: Mapping[str, object] | None = field(default=None, repr=False)


def _options(**quirks: object) -> Mapping[str, object]:
    return quirks


PRESETS: tuple[Preset, ...] = (
    Preset(
        Source(
            "deepseek", "https://api.deepseek.com/v1", "deepseek-chat", context_window=131_072,
            options=_options(reasoning="echo", merge_same_role=True),
        ),
        "DeepSeek", "https://platform.deepseek.com/api_keys",
    ),
    Preset(
        Source(
            "openai", "https://api.openai.com/v1", "gpt-5-mini", context_window=400_000, vision=True,
            options=_options(
                reasoning="strip", system_role="developer", max_tokens_field="max_completion_tokens", temperature="omit"
            ),
        ),
        "OpenAI", "https://platform.openai.com/api-keys",
    ),
    Preset(
        Source(
            "anthropic", "https://api.anthropic.com", "claude-sonnet-4-5", adapter="anthropic",
            context_window=200_000, vision=True,
        ),
        "Anthropic", "https://console.anthropic.com/settings/keys",
    ),
    Preset(
        Source(
            "gemini", "https://generativelanguage.googleapis.com/v1beta", "gemini-2.5-flash", adapter="gemini",
            context_window=1_048_576, vision=True, audio=True,
        ),
        "Google Gemini", "https://aistudio.google.com/apikey",
    ),
    Preset(
        Source(
            "mistral", "https://api.mistral.ai/v1", "mistral-small-latest", context_window=131_072, vision=True,
            options=_options(
                reasoning="strip", call_ids="nine", stream_usage=False, user_after_tool=False, merge_same_role=True
            ),
        ),
        "Mistral", "https://console.mistral.ai/api-keys",
    ),
    Preset(
        Source(
            "groq", "https://api.groq.com/openai/v1", "llama-3.3-70b-versatile", context_window=131_072,
            options=_options(reasoning="strip", max_tokens_field="max_completion_tokens"),
        ),
        "Groq", "https://console.groq.com/keys",
    ),
    Preset(
        # Of the window of the model, a free account may use so much.
        Source(
            "github", "https://models.github.ai/inference", "openai/gpt-4.1-mini", context_window=8_000, vision=True,
            options=_options(reasoning="strip", models_url="https://models.github.ai/catalog/models"),
        ),
        "GitHub Models", "https://github.com/settings/personal-access-tokens",
    ),
    Preset(
        # The window is memory on that machine, so it is not the model's whole.
        Source("ollama", "http://127.0.0.1:11434", "qwen3:8b", adapter="ollama", context_window=16_384,
               max_concurrent=1),
        "Ollama",
    ),
)  # fmt: skip


def preset(name: str) -> Preset | None:
    """The preset of that name."""
    return next((one for one in PRESETS if one.name == name), None)


def filled(given: Given, base: Source | None) -> Source:
    """A source from what was said of it, the rest as ``base`` has it; without one, as for any server.

    Options are added to those of the base, and None takes one out.  With another adapter, or another address, those of
    the base are left out: they are of its own server.
    """
    base = base or Source(given.name, "", "")
    said = {
        name: value for name in ("base_url", "model", "adapter", "context_window", "priority", "max_concurrent",
                                 "tools", "vision", "audio")
        if (value := getattr(given, name)) not in (None, "")
    }  # fmt: skip
    adapter = str(said.get("adapter", base.adapter)).removeprefix("lua:")
    same = adapter == base.adapter.removeprefix("lua:") and said.get("base_url", base.base_url) == base.base_url
    options = {**(base.options if same else {}), **(given.options or {})}
    options = {name: value for name, value in options.items() if value is not None}
    return replace(base, name=given.name, options=options, **said)
