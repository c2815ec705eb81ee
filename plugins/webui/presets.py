"""Well-known places to get a model from, so that a person needs only a key.  Every field can be changed in the form."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Preset:
    """A source that speaks the OpenAI protocol: ``keys`` is where a key is made; empty where none is needed.

    ``vision``: the model named here takes pictures.
    """

    name: str
    title: str
    base_url: str
    model: str
    keys: str = ""
    vision: bool = False


PRESETS = (
    Preset(
        "deepseek", "DeepSeek", "https://api.deepseek.com/v1", "deepseek-chat", "https://platform.deepseek.com/api_keys"
    ),
    Preset("openai", "OpenAI", "https://api.openai.com/v1", "gpt-5-mini", "https://platform.openai.com/api-keys", True),
    Preset(
        "anthropic",
        "Anthropic",
        "https://api.anthropic.com/v1",
        "claude-sonnet-4-5",
        "https://console.anthropic.com/settings/keys",
        True,
    ),
    Preset(
        "gemini",
        "Google Gemini",
        "https://generativelanguage.googleapis.com/v1beta/openai",
        "gemini-2.5-flash",
        "https://aistudio.google.com/apikey",
        True,
    ),
    Preset(
        "mistral",
        "Mistral",
        "https://api.mistral.ai/v1",
        "mistral-small-latest",
        "https://console.mistral.ai/api-keys",
        True,
    ),
    Preset(
        "groq", "Groq", "https://api.groq.com/openai/v1", "llama-3.3-70b-versatile", "https://console.groq.com/keys"
    ),
    Preset("ollama", "Ollama", "http://127.0.0.1:11434/v1", "qwen3:8b"),
)
