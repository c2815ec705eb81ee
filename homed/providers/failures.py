"""A source's failure in words for people: what failed, where, the source's own text, and what to do.  Pure.

Whatever the source said goes through the redactor and loses the key that was used: some repeat it in their refusals.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from homed.providers import learnt
from homed.providers.base import ErrorKind, ProviderError, Source
from homed.providers.stored import telling
from homed.redact import Redactor

LONGEST_TEXT = 300
"""Characters of the source's own text that are shown."""

_CONTEXT = re.compile(
    r"context_length_exceeded|exceed_context_size|maximum context length|context window|available context size"
    r"|prompt is too long|input is too long|too many (?:input )?tokens|reduce the length of the messages"
    r"|exceeds the maximum number of tokens|exceed context limit|tokens_limit_reached|request_too_large"
    r"|too large for model with \d+ maximum|input length exceeds the context length",
    re.IGNORECASE,
)
_REFUSED = re.compile(r"content_policy|content_filter|content management policy|safety|moderation", re.IGNORECASE)
_NO_KEY = re.compile(r"API_KEY_INVALID|api key not valid|invalid_api_key|api key expired", re.IGNORECASE)
_QUOTA = re.compile(r"insufficient_quota|insufficient balance|billing_hard_limit|credit balance", re.IGNORECASE)
_UNPARSED = re.compile(r"\bpars(?:e|ed|ing)\b.{0,20}tool call|tool call.{0,40}\bpars(?:e|ed|ing)\b", re.IGNORECASE)
_UNFIT = re.compile(r"missing data required for image", re.IGNORECASE)
_TRANSIENT = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
_DELAY = re.compile(r'"retryDelay":\s*"(\d{1,9}(?:\.\d{1,9})?)s"')

_TYPES = {
    "invalid_request_error": 400, "billing_error": 402, "authentication_error": 401, "permission_error": 403,
    "not_found_error": 404, "request_too_large": 413, "rate_limit_error": 429, "api_error": 500,
    "timeout_error": 504, "overloaded_error": 529, "broken_call": 400,
}  # fmt: skip
"""Anthropic's names of errors, which come without a status once an answer has begun; the last is our own."""

SOON = 30.0
"""Seconds; a source that asks for more is not waited for (``fallback.Policy.longest``), and it is said for how long."""

REFUSAL = "refusal"
"""Our own name for an answer that the source will not give."""

_HINTS = {
    ErrorKind.TRANSIENT: "Try again in a moment; if it stays so, look at the provider's status page.",
    ErrorKind.CREDENTIAL: "Check this source's API key on the Models page, or set it anew with `homed models add`.",
    ErrorKind.CONTEXT_FULL: "The conversation is longer than this model takes: lower `context_window` of the source,"
    " or use a model with a larger one.",
    ErrorKind.REFUSED: "The provider's content rules refused it: say it differently, or use another source.",
    ErrorKind.BAD_REQUEST: "Check the base URL and the model name of this source (`homed models list`, then"
    " `homed models test`).",
}
_QUOTA_HINT = "The account has no credit left: top it up with the provider, or use another source (`homed models use`)."


class Unreadable(Exception):
    """Raised by decoders: the answer cannot be understood; the text says how.  Never leaves the room."""


class Endless(Exception):
    """Raised by decoders: the answer is more than any model says; the text says how.  Never leaves the room."""


class Reported(Exception):
    """Raised by decoders: the source put an error object where the answer should be.  Never leaves the room."""

    def __init__(self, body: Mapping[str, object]) -> None:
        super().__init__("error in the answer")
        self.body = body


class BrokenOff(Exception):
    """Raised by decoders: the answer ended before it was finished.  Never leaves the room."""


@dataclass(frozen=True, slots=True)
class Where:
    """Which source it was; ``secrets`` are taken out of every text."""

    source: str
    host: str
    secrets: tuple[str, ...] = field(default=(), repr=False)

    @classmethod
    def of(cls, source: Source, key: str = "") -> Where:
        """The source by its name and host; a base URL may hold credentials, so it is not shown whole."""
        try:
            parts = urlsplit(source.base_url)
            host = f"{parts.hostname}:{parts.port}" if parts.port else str(parts.hostname or "no address")
        except ValueError:
            host = "bad address"
        return cls(source.name, host, tuple(filter(None, (key, *telling(source)))))

    def clean(self, text: str) -> str:
        """The text on one line, without secrets, cut to a readable length."""
        # Redacted before it is cut: half a key is not recognised any more.
        whole = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        plain = " ".join(Redactor(self.secrets).redact(" ".join(whole.split())[:20_000]).split())
        return plain if len(plain) <= LONGEST_TEXT else plain[: LONGEST_TEXT - 1] + "…"

    def __str__(self) -> str:
        return f"{self.source} ({self.host})"


def classify(status: int, text: str) -> ErrorKind:
    """The kind of a failure, from the HTTP status (0: none) and everything the source said."""
    if status in (401, 403):
        return ErrorKind.CREDENTIAL
    if status == 402 or _QUOTA.search(text) or (status == 400 and _NO_KEY.search(text)):
        return ErrorKind.CREDENTIAL
    if status == 413 or (status not in _TRANSIENT - {500} and _CONTEXT.search(text)):
        return ErrorKind.CONTEXT_FULL
    if unparsed(status, text) or _UNFIT.search(text):
        return ErrorKind.BAD_REQUEST
    if status in _TRANSIENT or status >= 500:
        return ErrorKind.TRANSIENT
    if _REFUSED.search(text):
        return ErrorKind.REFUSED
    return ErrorKind.BAD_REQUEST if status else ErrorKind.TRANSIENT


def unparsed(status: int, text: str) -> bool:
    """Whether the server could not read the call that its model made: the model must be told, or it makes the same one
    again (A15)."""
    return status not in (401, 402, 403, 429) and _UNPARSED.search(text) is not None


def words_of(body: object) -> str:
    """What a person can read in an error body of any of the usual shapes."""
    if isinstance(body, list) and body:
        return words_of(body[0])
    if not isinstance(body, Mapping):
        return str(body or "")
    error = body.get("error", body)
    if not isinstance(error, Mapping):
        return str(error)
    for key in ("message", "detail", "msg", "error_msg"):
        if isinstance(found := error.get(key), str) and found:
            return found
    return _json(body)


def _json(body: object) -> str:
    """Empty for what is nested so deep that nobody could read it."""
    try:
        return json.dumps(body, ensure_ascii=False)
    except RecursionError:
        return ""


def from_response(where: Where, status: int, raw: bytes, *, retry_after: float | None = None) -> ProviderError:
    """The error for an HTTP answer that is not 2xx."""
    text = raw.decode("utf-8", "replace")
    try:
        said = words_of(json.loads(text))
    except (ValueError, RecursionError):
        said = "it sent a web page" if text.lstrip()[:1] == "<" else text
    if retry_after is None and (delay := _DELAY.search(text)):  # where Gemini says it
        retry_after = float(delay[1])
    return _made(where, f"answered HTTP {status}", said, text, status=status, retry_after=retry_after)


def from_report(where: Where, body: Mapping[str, object]) -> ProviderError:
    """The error for an error object in the body of an answer that began well."""
    error = body.get("error")
    code = error.get("code") if isinstance(error, Mapping) else None
    kind = error.get("type") if isinstance(error, Mapping) else None
    if kind == REFUSAL:
        said = where.clean(words_of(body))
        hint = _HINTS[ErrorKind.REFUSED]
        return ProviderError(ErrorKind.REFUSED, f"{where} will not answer: {said}.", hint=hint)
    status = code if isinstance(code, int) and 400 <= code < 600 else _TYPES.get(str(kind), 0)
    return _made(where, "broke off with an error", words_of(body), _json(body), status=status)


def _made(
    where: Where, what: str, said: str, whole: str, *, status: int, retry_after: float | None = None
) -> ProviderError:
    kind = classify(status, whole)
    said = where.clean(said)
    no_credit = kind is ErrorKind.CREDENTIAL and (status == 402 or _QUOTA.search(whole))
    hint = _QUOTA_HINT if no_credit else _HINTS[kind]
    if kind is ErrorKind.TRANSIENT and retry_after is not None and retry_after > SOON:
        hint = f"It takes no questions for {_span(retry_after)}: ask again then, or use another source."
    message = f"{where} {what}: {said}" if said else f"{where} {what}."
    error = ProviderError(kind, message, hint=hint, status=status, retry_after=retry_after)
    error.unparsed = kind is ErrorKind.BAD_REQUEST and unparsed(status, whole)
    error.window = learnt.named(whole) if kind is ErrorKind.CONTEXT_FULL else 0
    return error


def _span(seconds: float) -> str:
    """As people say it, never shorter than it is."""
    for unit, length, most in (("seconds", 1, 90), ("minutes", 60, 90), ("hours", 3600, 48), ("days", 86_400, 366)):
        if seconds <= most * length:
            return f"{math.ceil(seconds / length)} {unit}"
    return "more than a year"


def unreadable(where: Where, how: str) -> ProviderError:
    """The answer made no sense."""
    hint = "If it happens again, check that the base URL is that of an OpenAI-compatible API (often it ends in /v1)."
    return ProviderError(ErrorKind.TRANSIENT, f"The answer of {where} cannot be read: {where.clean(how)}.", hint=hint)


def endless(where: Where, how: str) -> ProviderError:
    """The answer was given up because it would not end; asked again it would be the same."""
    hint = "Ask for it in smaller steps; if it happens again, another model may do better."
    return ProviderError(ErrorKind.BAD_REQUEST, f"The answer of {where} was given up: {how}.", hint=hint)


def broken_off(where: Where, how: str = "") -> ProviderError:
    """The connection ended in the middle of the answer."""
    detail = f" ({where.clean(how)})" if how else ""
    message = f"{where} broke off in the middle of its answer{detail}."
    return ProviderError(ErrorKind.TRANSIENT, message, hint="Ask again.")


def unreachable(where: Where, how: str) -> ProviderError:
    """No connection could be made."""
    hint = "Is it running, is the base URL right, and is this machine online?"
    return _unsent(ProviderError(ErrorKind.TRANSIENT, f"{where} cannot be reached: {where.clean(how)}.", hint=hint))


def too_slow(where: Where, what: str, limit: float, setting: str, *, unsent: bool = False) -> ProviderError:
    """A limit of time passed; ``setting`` is the key that holds it.  ``unsent``: before anything was sent."""
    hint = f"Try again, or allow more time with `{setting}`."
    message = f"{where} {what} within {limit:g} s; the request was closed."
    error = ProviderError(ErrorKind.TRANSIENT, message, hint=hint)
    return _unsent(error) if unsent else error


def no_key(where: Where, problem: str) -> ProviderError:
    """The key is of no use as it is."""
    hint = _HINTS[ErrorKind.CREDENTIAL]
    return _unsent(ProviderError(ErrorKind.CREDENTIAL, f"{where} was not asked: {problem}.", hint=hint))


def bad_address(where: Where, how: str) -> ProviderError:
    """The base URL cannot be used."""
    message = f"The address of {where} is of no use: {where.clean(how)}."
    hint = "Give the source a base URL like https://api.example.com/v1."
    return _unsent(ProviderError(ErrorKind.BAD_REQUEST, message, hint=hint))


def _unsent(error: ProviderError) -> ProviderError:
    error.unsent = True
    return error
