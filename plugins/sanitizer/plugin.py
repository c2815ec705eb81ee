"""Three stage handlers that scrub; each fails closed, so that nothing goes by unscrubbed when this plugin is down."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from homed import sdk

from .patterns import KINDS, Rules, scrub

MAX_WORDS = 200
MAX_WORD = 64
IN, ACT, OUT = ("raw_message",), ("llm_text", "reasoning"), ("final_text",)
"""The text fields of each stage that are scrubbed."""

plugin = sdk.Plugin("sanitizer")


def rules_of(settings: Mapping[str, object]) -> Rules:
    """The settings ``kinds`` and ``words``.  Raises ConfigError naming what is wrong."""
    kinds = _texts(settings.get("kinds", KINDS), "kinds")
    words = _texts(settings.get("words", ()), "words")
    if unknown := sorted(set(kinds) - set(KINDS)):
        raise sdk.ConfigError(
            f"plugin.sanitizer.kinds: there is no kind {unknown[0]!r}.", hint=f"There are {', '.join(KINDS)}."
        )
    if len(words) > MAX_WORDS or any(len(word) > MAX_WORD for word in words):
        raise sdk.ConfigError(f"plugin.sanitizer.words: at most {MAX_WORDS} words of {MAX_WORD} characters.")
    if any(not word.strip() or "[" in word or "]" in word for word in words):
        raise sdk.ConfigError("plugin.sanitizer.words: a word cannot be empty or hold a bracket.")
    return Rules(kinds, words)


def _texts(value: object, name: str) -> tuple[str, ...]:
    if isinstance(value, str) or not isinstance(value, Sequence) or not all(isinstance(v, str) for v in value):
        raise sdk.ConfigError(f"plugin.sanitizer.{name} must be a list of texts.")
    return tuple(value)


def scrubbed(fields: Mapping[str, object], names: Sequence[str], rules: Rules) -> dict[str, object]:
    """The fields among ``names`` that scrubbing changes, with their new text."""
    changes: dict[str, object] = {}
    for name in names:
        text = fields.get(name)
        if isinstance(text, str) and (clean := scrub(text, rules)) != text:
            changes[name] = clean
    return changes


@plugin.on_start
def start(kernel: sdk.Kernel) -> None:
    """Refuse to start on wrong settings: the stages stay closed then, and the person is told why."""
    rules_of(kernel.settings)


@plugin.stage("on_input", on_failure="closed")
def on_input(ctx: sdk.Context, fields: Mapping[str, object]) -> Mapping[str, object]:
    """Scrub what comes in, before it is stored or sent to a model."""
    return scrubbed(fields, IN, rules_of(ctx.settings))


@plugin.stage("post_action", on_failure="closed")
def post_action(ctx: sdk.Context, fields: Mapping[str, object]) -> Mapping[str, object]:
    """Scrub the model's text and reasoning, before they are stored; what it hands to tools must reach them as it is."""
    return scrubbed(fields, ACT, rules_of(ctx.settings))


@plugin.stage("before_output", on_failure="closed")
def before_output(ctx: sdk.Context, fields: Mapping[str, object]) -> Mapping[str, object]:
    """Scrub what goes out, whoever wrote it."""
    return scrubbed(fields, OUT, rules_of(ctx.settings))
