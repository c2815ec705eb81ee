"""The quirks of a source, as options it is set up with: which there are, for which adapters, and what they may be.

Pure.  Everything that differs between servers of one wire, or between releases of one, is here rather than in code, so
that a person can put it right without a release (A11).
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from homed.errors import InvalidInput
from homed.settings.views import MASK

HTTP = ("openai", "anthropic", "gemini", "ollama")
"""The native adapters that speak HTTP."""

SCRIPTS = "lua:"
"""How the name of an adapter begins that is a script; it takes every option, its own too."""

LARGEST = 16_384
"""Characters of JSON that the options of one source may have."""


@dataclass(frozen=True, slots=True)
class Option:
    """One quirk.

    ``kind``: bool, int, text, choice, object, headers (texts by name), thinking (off, adaptive, or a number of tokens).
    ``choices`` for choice; ``least`` for int.
    """

    name: str
    kind: str
    adapters: tuple[str, ...]
    default: object
    description: str
    choices: tuple[str, ...] = ()
    least: int = 0


OPTIONS: tuple[Option, ...] = (
    Option("headers", "headers", HTTP, {}, "Headers sent besides; an Authorization replaces the one with the key."),
    Option("extra", "object", HTTP, {}, "Put into the request's body as it is, over what is there."),
    Option("models_url", "text", HTTP, "", "Where the list of models is, if it is not where the adapter looks; on the"
           " same server."),
    Option("stream", "bool", HTTP, True, "Ask for the answer in pieces as it is written."),
    Option("max_tokens", "int", HTTP, 0, "Tokens of an answer, thinking included, when nothing else is said; 0 leaves"
           " it to the source, with anthropic it means 8192 and room to think.", least=0),
    Option("temperature", "choice", HTTP, "send", "Whether a temperature that is asked for is sent; some reasoning"
           " models refuse any.", ("send", "omit")),
    Option("max_tokens_field", "choice", ("openai",), "max_tokens", "What the limit of an answer is called.",
           ("max_tokens", "max_completion_tokens")),
    Option("stream_usage", "bool", ("openai",), True, "Ask for the token count of a streamed answer"
           " (`stream_options`); off for servers that refuse the field."),
    Option("reasoning", "choice", ("openai",), "auto", "`reasoning_content` with messages that called tools: echo"
           " always sends it back, strip never, auto what this source itself had sent.", ("auto", "echo", "strip")),
    Option("reasoning_effort", "text", ("openai",), "", "How hard to think, in the source's words (low, medium, high);"
           " empty says nothing."),
    Option("system_role", "choice", ("openai",), "system", "The role that instructions go in; user for models that"
           " take none.", ("system", "developer", "user")),
    Option("merge_same_role", "bool", ("openai",), False, "Join messages of one role that follow each other, and begin"
           " with the person's; for servers that want turns to alternate."),
    Option("user_after_tool", "bool", ("openai",), True, "Whether a person's message may follow a tool's result at"
           " once; off puts a word of the assistant's between them."),
    Option("empty_content", "choice", ("openai",), "null", "The text of a message that only calls tools: null, an"
           " empty string, or no field at all.", ("null", "empty", "omit")),
    Option("result_names", "bool", ("openai",), False, "Name the tool in its result."),
    Option("call_ids", "choice", ("openai",), "any", "The form of call ids: any up to 40 characters, or the nine"
           " letters and digits that Mistral wants.", ("any", "nine")),
    Option("cache", "choice", ("anthropic",), "5m", "How long instructions, tools and the conversation so far are kept"
           " in the prompt cache; off marks nothing.", ("off", "5m", "1h")),
    Option("version", "text", ("anthropic",), "2023-06-01", "The `anthropic-version` that is asked for."),
    Option("betas", "text", ("anthropic",), "", "The `anthropic-beta` header, names separated by commas."),
    Option("thinking", "thinking", ("anthropic", "gemini"), "off", "Thinking before the answer: off leaves it to the"
           " model, adaptive lets it think as much as it wants, a number is the most tokens it may think."),
    Option("effort", "text", ("anthropic", "gemini"), "", "How much work to put in, in the source's words (low, medium,"
           " high); empty says nothing."),
    Option("foreign_signature", "text", ("gemini",), "skip_thought_signature_validator", "Stands for the thought"
           " signature of a call that another source made; empty sends none."),
    Option("keep_alive", "text", ("ollama",), "", "How long the model stays loaded, like 30m, or -1 for ever; empty"
           " leaves it to the server."),
    Option("num_ctx", "int", ("ollama",), 0, "Tokens of the window that the server makes room for; 0 means the"
           " source's context_window.", least=0),
    Option("think", "choice", ("ollama",), "auto", "Whether a model that can think does.",
           ("auto", "on", "off", "low", "medium", "high")),
)  # fmt: skip

_KNOWN: Mapping[str, Option] = {option.name: option for option in OPTIONS}


def of_adapter(adapter: str) -> list[Option]:
    """The options that a source with this adapter may have."""
    return [option for option in OPTIONS if adapter in option.adapters or adapter.startswith(SCRIPTS)]


def checked(source: str, adapter: str, options: Mapping[str, object]) -> dict[str, object]:
    """The options of ``source``, each known and of its type; InvalidInput, with what there is, for any other.

    A script may have options of its own besides; what is known here keeps its type.
    """
    try:
        size = len(json.dumps(dict(options), allow_nan=False))
    except (TypeError, ValueError, RecursionError):
        raise InvalidInput(f"The options of {source} are no JSON.") from None
    if size > LARGEST:
        raise InvalidInput(f"The options of {source} have more than {LARGEST} characters.")
    for name, value in options.items():
        option = _KNOWN.get(name)
        if option is None or (adapter not in option.adapters and not adapter.startswith(SCRIPTS)):
            if option is None and adapter.startswith(SCRIPTS):
                continue
            raise InvalidInput(f"The source {source} has the unknown option {name!r}.", hint=_known_to(adapter))
        if wanted := _wrong(option, value):
            raise InvalidInput(f"The option {name} of {source} is not {wanted}.", hint=option.description)
    return dict(options)


def parsed(pairs: Sequence[str]) -> dict[str, object]:
    """Options given as ``name=value`` in a terminal, by their types; None for ``name=``, which takes one out.

    InvalidInput for what is no such pair.  Of a script's own the value is JSON where it can be read as such, else text.
    """
    found: dict[str, object] = {}
    for pair in pairs:
        name, equals, text = (part.strip() for part in pair.partition("="))
        if not equals or not name:
            raise InvalidInput(f"{pair!r} is no option.", hint="Give it as NAME=VALUE.")
        option = _KNOWN.get(name)
        found[name] = _read(text, option.kind if option else "") if text else None
    return found


def _read(text: str, kind: str) -> object:
    if kind in ("text", "choice"):
        return text
    if kind == "bool":
        return {"on": True, "yes": True, "true": True, "off": False, "no": False, "false": False}.get(text, text)
    try:
        return json.loads(text)
    except ValueError:
        return text


def _known_to(adapter: str) -> str:
    names = ", ".join(option.name for option in of_adapter(adapter))
    return f"With the adapter {adapter} there are: {names}." if names else f"The adapter {adapter} has no options."


def _wrong(option: Option, value: object) -> str:
    """What was wanted instead; empty if ``value`` will do."""
    match option.kind:
        case "bool":
            return "" if isinstance(value, bool) else "true or false"
        case "int":
            good = isinstance(value, int) and not isinstance(value, bool) and value >= option.least
            return "" if good else f"a whole number from {option.least}"
        case "text":
            return "" if isinstance(value, str) and "\n" not in value and len(value) <= 1024 else "a line of text"
        case "choice":
            return "" if value in option.choices else f"one of {', '.join(option.choices)}"
        case "thinking":
            number = isinstance(value, int) and not isinstance(value, bool) and 1024 <= value <= 1_000_000
            return "" if number or value in ("off", "adaptive") else "off, adaptive or a number of tokens from 1024"
        case "headers":
            texts = isinstance(value, Mapping) and all(_header(str(k), v) for k, v in value.items())
            return "" if texts else "an object of header names and texts"
        case _:
            return "" if isinstance(value, Mapping) else "an object"


def _header(name: str, value: object) -> bool:
    plain = value == MASK or (isinstance(value, str) and value.isascii() and value.isprintable())
    return plain and name.isascii() and name.replace("-", "").replace("_", "").isalnum()


class Quirks:
    """The options of one source as code reads them; what is not set has its default."""

    def __init__(self, options: Mapping[str, object]) -> None:
        self._options = options

    def text(self, name: str) -> str:
        """Of kind text or choice."""
        value = self._options.get(name, _KNOWN[name].default)
        return value if isinstance(value, str) else str(_KNOWN[name].default)

    def on(self, name: str) -> bool:
        """Of kind bool."""
        value = self._options.get(name, _KNOWN[name].default)
        return value if isinstance(value, bool) else bool(_KNOWN[name].default)

    def number(self, name: str) -> int:
        """Of kind int, or thinking: 0 where that is no number."""
        value = self._options.get(name, _KNOWN[name].default)
        return int(value) if isinstance(value, (int, float)) and math.isfinite(value) else 0

    def table(self, name: str) -> Mapping[str, object]:
        """Of kind object or headers."""
        value = self._options.get(name)
        return value if isinstance(value, Mapping) else {}

    def headers(self) -> dict[str, str]:
        """The headers of the person's own; not those whose value is lost."""
        return {str(name): str(value) for name, value in self.table("headers").items() if value != MASK}
