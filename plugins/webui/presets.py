"""Well-known places to get a model from, so that a person needs only a key.  Every field can be changed in the form.

The kernel has the same list (``homed.providers.presets``), and a test holds the two together: the page shows the form
before the kernel answers.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Preset:
    """A source but for its key: ``keys`` is where one is made, empty where none is needed.

    ``vision``, ``audio``: the model named here takes pictures, recordings.  ``options``: the quirks of its server.
    """

    name: str
    title: str
    base_url: str
    model: str
    window: int
    keys: str = ""
    adapter: str = "openai"
    vision: bool = False
    audio: bool = False
    at_once: int = 8
    options: Mapping[str, object] = field(default_factory=dict)

    @property
    def options_text(self) -> str:
        """The options as the form has them."""
        return json.dumps(dict(self.options)) if self.options else ""


PRESETS = (
    Preset(
        "deepseek", "DeepSeek", "https://api.deepseek.com/v1", "deepseek-chat", 131_072,
        "https://platform.deepseek.com/api_keys", options={"reasoning": "echo", "merge_same_role": True},
    ),
    Preset(
        "openai", "OpenAI", "https://api.openai.com/v1", "gpt-5-mini", 400_000, "https://platform.openai.com/api-keys",
        vision=True,
        options={
            "reasoning": "strip", "system_role": "developer", "max_tokens_field": "max_completion_tokens",
            "temperature": "omit",
        },
    ),
    Preset(
        "anthropic", "Anthropic", "https://api.anthropic.com", "claude-sonnet-4-5", 200_000,
        "https://console.anthropic.com/settings/keys", "anthropic", vision=True,
    ),
    Preset(
        "gemini", "Google Gemini", "https://generativelanguage.googleapis.com/v1beta", "gemini-2.5-flash", 1_048_576,
        "https://aistudio.google.com/apikey", "gemini", vision=True, audio=True,
    ),
    Preset(
        "mistral", "Mistral", "https://api.mistral.ai/v1", "mistral-small-latest", 131_072,
        "https://console.mistral.ai/api-keys", vision=True,
        options={
            "reasoning": "strip", "call_ids": "nine", "stream_usage": False, "user_after_tool": False,
            "merge_same_role": True,
        },
    ),
    Preset(
        "groq", "Groq", "https://api.groq.com/openai/v1", "llama-3.3-70b-versatile", 131_072,
        "https://console.groq.com/keys",
        options={"reasoning": "strip", "max_tokens_field": "max_completion_tokens"},
    ),
    Preset(
        "github", "GitHub Models", "https://models.github.ai/inference", "openai/gpt-4.1-mini", 8_000,
        "https://github.com/settings/personal-access-tokens", vision=True,
        options={"reasoning": "strip", "models_url": "https://models.github.ai/catalog/models"},
    ),
    Preset("ollama", "Ollama", "http://127.0.0.1:11434", "qwen3:8b", 16_384, "", "ollama", at_once=1),
)  # fmt: skip
