"""A quirk that a source's own refusal names, and the source without it.  Pure.

Only what a server says in so many words: it is asked again at once in the way that it wants, and from then on.  What
was changed is told by the trial of a source, with the option that makes it lasting.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from homed.providers.base import ErrorKind, ProviderError, Source
from homed.providers.options import SCRIPTS, Quirks

MOST = 4
"""Quirks found out in one call."""

STATUSES = frozenset({400, 404, 415, 422, 500, 501})


@dataclass(frozen=True, slots=True)
class Adjustment:
    """The source as it is asked from now on, and what a person can set to make it so for good.

    ``longest``: tokens of an answer past which no limit may be set, whatever is asked for; 0 where that is not it.
    """

    source: Source
    setting: str
    longest: int = 0


@dataclass(frozen=True, slots=True)
class _Rule:
    """``said`` in a refusal means that ``change``, unless it is so already."""

    adapters: tuple[str, ...]
    said: re.Pattern[str]
    change: Mapping[str, object]


_NOT = (
    r"(?:not support|unsupported|is not (?:currently )?(?:allowed|permitted|enabled|available|supported)|unrecognized"
    r"|unknown (?:parameter|field|name|variant|argument)|extra inputs|only supported|must not be present)"
)
_OPENAI = ("openai",)


def _rule(adapters: tuple[str, ...], pattern: str, **change: object) -> _Rule:
    return _Rule(adapters, re.compile(pattern, re.IGNORECASE | re.DOTALL), change)


_RULES = (
    _rule(_OPENAI, r"max_tokens.{0,80}max_completion_tokens", max_tokens_field="max_completion_tokens"),
    _rule(_OPENAI, rf"max_completion_tokens.{{0,80}}{_NOT}|{_NOT}.{{0,80}}max_completion_tokens",
          max_tokens_field="max_tokens"),
    _rule(_OPENAI, rf"stream_options.{{0,80}}{_NOT}|{_NOT}.{{0,80}}stream_options|stream_options", stream_usage=False),
    _rule(_OPENAI, r"length of 9|a-z, A-Z, 0-9, with a length", call_ids="nine"),
    _rule(_OPENAI, r"reasoning_content.{0,80}(?:must be passed|missing|required)|missing.{0,40}reasoning_content",
          reasoning="echo"),
    _rule(_OPENAI, rf"reasoning_content.{{0,80}}{_NOT}|{_NOT}.{{0,80}}reasoning_content", reasoning="strip"),
    _rule(_OPENAI, r"unexpected role 'user' after role 'tool'", user_after_tool=False),
    _rule(_OPENAI, r"roles must alternate|successive (?:user|assistant)|consecutive", merge_same_role=True),
    _rule(_OPENAI, rf"developer.{{0,60}}{_NOT}|{_NOT}.{{0,60}}developer", system_role="system"),
    _rule(_OPENAI, rf"system (?:role|message|prompt)s?.{{0,60}}{_NOT}|{_NOT}.{{0,60}}system role", system_role="user"),
    _rule(("openai", "anthropic", "gemini", "ollama"), rf"temperature.{{0,80}}{_NOT}|{_NOT}.{{0,80}}temperature",
          temperature="omit"),
    _rule(("ollama",), r"not support thinking", think="auto"),
    _rule(("openai", "ollama"), rf"\bstream(?:ing)?\b.{{0,60}}{_NOT}|{_NOT}.{{0,60}}\bstream(?:ing)?\b", stream=False),
)  # fmt: skip
_LONGEST = re.compile(
    r"supports at most (\d+) completion tokens|valid range of max_tokens is \[\d+, ?(\d+)\]"
    r"|max_tokens: \d+ > (\d+)|max_(?:completion_)?tokens`? must be less than or equal to `?(\d+)"
    r"|maxOutputTokens.{0,120}from \d+ \(inclusive\) to (\d+)",
    re.IGNORECASE | re.DOTALL,
)
_BLIND = re.compile(
    r"image(?:_url| input)?(?: modality)? is (?:only supported|not (?:supported|enabled))"
    r"|not support (?:image|vision|multimodal)"
    r"|unknown variant `image_url`|missing data required for image|content must be a string|not a multimodal",
    re.IGNORECASE,
)
_DEAF = re.compile(
    r"(?:input_)?audio is (?:only supported|not)|not support (?:input_)?audio|variant `input_audio`", re.I
)
_TOOLLESS = re.compile(
    r"not support (?:tools?\b|function)|(?:tools?|tool use|(?:tool|function) calling) (?:is|are) not (?:supported|en)",
    re.IGNORECASE,
)


def adjusted(source: Source, error: ProviderError, *, shows: bool, hears: bool, tools: bool) -> Adjustment | None:
    """The source without what ``error`` says it does not take; None where that says nothing of the kind.

    ``shows``, ``hears``, ``tools``: whether the refused request had pictures, recordings, tools in it.
    """
    if error.kind is not ErrorKind.BAD_REQUEST or error.status not in STATUSES:
        return None
    said = error.message
    if found := _LONGEST.search(said):
        return _shorter(source, int(next(filter(None, found.groups()))))
    for wanted, pattern, without, setting in (
        (shows and source.vision, _BLIND, _blind, "--no-vision"),
        (hears and source.audio, _DEAF, _deaf, "--no-audio"),
        (tools and source.tools, _TOOLLESS, _toolless, "--no-tools"),
    ):
        if wanted and pattern.search(said):
            return Adjustment(without(source), setting)
    quirks = Quirks(source.options)
    for rule in _RULES:
        if _meant(rule, source) and rule.said.search(said) and not _so(source, quirks, rule.change):
            name, value = next(iter(rule.change.items()))
            options = {**source.options, **rule.change}
            return Adjustment(replace(source, options=options), f"--option {name}={str(value).lower()}")
    return None


def _meant(rule: _Rule, source: Source) -> bool:
    return source.adapter in rule.adapters or source.adapter.startswith(SCRIPTS)


def _so(source: Source, quirks: Quirks, change: Mapping[str, object]) -> bool:
    """Whether it is asked like that already; what a script does by itself nobody knows."""
    if source.adapter.startswith(SCRIPTS):
        return all(source.options.get(name) == value for name, value in change.items())
    ways: dict[type, Callable[[str], object]] = {bool: quirks.on, str: quirks.text}
    return all(ways[type(value)](name) == value for name, value in change.items())


def _shorter(source: Source, longest: int) -> Adjustment | None:
    """It limits its answers to fewer tokens than were asked for."""
    if longest < 1:
        return None
    options = {**source.options, "max_tokens": min(longest, Quirks(source.options).number("max_tokens") or longest)}
    return Adjustment(replace(source, options=options), f"--option max_tokens={options['max_tokens']}", longest)


def _blind(source: Source) -> Source:
    return replace(source, vision=False)


def _deaf(source: Source) -> Source:
    return replace(source, audio=False)


def _toolless(source: Source) -> Source:
    return replace(source, tools=False)
