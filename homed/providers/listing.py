"""The models that a source's server has, as it lists them itself.

What comes is read by its shape, not by who sent it: servers of one wire differ more in this than in anything else.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import quote

import httpx2
import trio

from homed.providers import failures
from homed.providers.adapters import SCRIPT
from homed.providers.base import ErrorKind, ProviderError, Source
from homed.providers.failures import Where
from homed.providers.http import Limits
from homed.providers.options import Quirks

LARGEST = 8 * 1024 * 1024
"""Bytes of a list that are read."""

MOST = 2_000
PAGES = 20
LONGEST_TOKEN = 2048
"""Models of a list that are told; OpenRouter has some 500."""

LIMIT = 30.0
"""Seconds for the whole list."""

NO_LIST = "It lists no models: give the model's name as the provider writes it."


@dataclass(frozen=True, slots=True)
class Available:
    """A model by the name it is asked with; what the server does not say is empty, 0 or None."""

    id: str
    title: str = ""
    context_window: int = 0
    vision: bool | None = None
    tools: bool | None = None

    def wire(self) -> dict[str, object]:
        """As ``admin.models_available`` gives it."""
        return {
            "id": self.id, "title": self.title, "context_window": self.context_window, "vision": self.vision,
            "tools": self.tools,
        }  # fmt: skip


def where(source: Source, key: str) -> tuple[str, dict[str, str]]:
    """The address of the list, and the headers to ask with."""
    match source.adapter.removeprefix(SCRIPT):
        case "anthropic":
            from homed.providers import anthropic

            url, headers = f"{anthropic.api(source)}/models?limit=1000", anthropic.identity(source, key)
        case "gemini":
            from homed.providers import gemini

            url, headers = f"{gemini.api(source)}/models?pageSize=1000", gemini.identity(source, key)
        case "ollama":
            from homed.providers import ollama

            url, headers = f"{ollama.api(source)}/api/tags", ollama.identity(source, key)
        case _:
            from homed.providers import openai

            url, headers = f"{source.base_url.rstrip('/')}/models", openai.identity(source, key)
    return Quirks(source.options).text("models_url") or url, {"Accept": "application/json", **headers}


async def fetch(client: httpx2.AsyncClient, source: Source, key: str, limits: Limits) -> list[Available]:
    """Ask for the list, page by page.  Raises ProviderError.  Cancelled: the connection is closed."""
    url, headers = where(source, key)
    found: dict[str, Available] = {}
    after, until = "", trio.current_time() + LIMIT
    for _ in range(PAGES):
        raw = await _page(client, Where.of(source, key), _after(url, after), headers, limits, until)
        found |= {one.id: one for one in read(Where.of(source, key), raw)}
        if (after := following(raw)) == "" or len(found) >= MOST:
            break
    return [found[name] for name in sorted(found)][:MOST]


def following(raw: bytes) -> str:
    """What the next page is asked for with: Gemini's ``nextPageToken``, Anthropic's ``last_id``; "" where none is."""
    body = json.loads(raw)
    if not isinstance(body, Mapping):
        return ""
    token = body.get("nextPageToken") or (body.get("last_id") if body.get("has_more") is True else "")
    return token if isinstance(token, str) and len(token) <= LONGEST_TOKEN else ""


def _after(url: str, token: str) -> str:
    name = "pageToken" if "pageSize=" in url else "after_id"
    return f"{url}{'&' if '?' in url else '?'}{name}={quote(token, safe='')}" if token else url


async def _page(
    client: httpx2.AsyncClient, seen: Where, url: str, headers: Mapping[str, str], limits: Limits, until: float
) -> bytes:
    timeout = httpx2.Timeout(connect=limits.connect, write=limits.first_byte, read=None, pool=None)
    try:
        with trio.fail_at(until):
            async with client.stream("GET", url, headers=headers, timeout=timeout) as response:
                raw = bytearray()
                async for chunk in response.aiter_bytes():
                    raw += chunk
                    if len(raw) > LARGEST:
                        raise failures.unreadable(seen, "its list of models is too long")
    except trio.TooSlowError:
        raise failures.too_slow(seen, "did not list its models", LIMIT, "core.llm.first_byte_timeout") from None
    except (httpx2.InvalidURL, UnicodeError, ValueError, TypeError) as error:
        raise failures.bad_address(seen, str(error)) from None
    except httpx2.HTTPError as error:
        raise failures.unreachable(seen, str(error) or type(error).__name__) from None
    if not response.is_success:
        raise _refused(seen, response.status_code, bytes(raw))
    return bytes(raw)


def _refused(seen: Where, status: int, raw: bytes) -> ProviderError:
    if status in (404, 405, 501):
        return ProviderError(ErrorKind.BAD_REQUEST, f"{seen} answered HTTP {status}.", hint=NO_LIST, status=status)
    return failures.from_response(seen, status, raw)


def read(seen: Where, raw: bytes) -> list[Available]:
    """The models in a list, by name.  Raises ProviderError for what is no list.  Pure."""
    try:
        body = json.loads(raw)
    except (ValueError, RecursionError):
        body = None
    entries = body
    if isinstance(body, Mapping):
        entries = next((body[name] for name in ("data", "models") if isinstance(body.get(name), list)), None)
    if not isinstance(entries, list):
        raise failures.unreadable(seen, "its list of models is none")
    found = [one for entry in entries if isinstance(entry, Mapping) and (one := _model(entry)) is not None]
    by_name = {one.id: one for one in found}
    return [by_name[name] for name in sorted(by_name)][:MOST]


def _model(entry: Mapping[str, object]) -> Available | None:
    """One model; None for what cannot be talked with."""
    said = next((entry[name] for name in ("id", "model", "name") if isinstance(entry.get(name), str)), "")
    id_ = _line(said).removeprefix("models/")
    methods = entry.get("supportedGenerationMethods")
    if not id_ or (isinstance(methods, list) and "generateContent" not in methods):
        return None
    can = entry.get("capabilities")
    if isinstance(can, Mapping) and can.get("completion_chat") is False:
        return None
    return Available(id_, _title(entry, id_), _window(entry), _vision(entry, can), _tools(can))


def _title(entry: Mapping[str, object], id_: str) -> str:
    details = entry.get("details")
    size = details.get("parameter_size") if isinstance(details, Mapping) else ""
    title = next((_line(entry[name]) for name in ("display_name", "displayName", "name") if entry.get(name)), "")
    return " ".join(part for part in (title if title not in (id_, f"models/{id_}") else "", _line(size)) if part)


def _window(entry: Mapping[str, object]) -> int:
    limits, meta = entry.get("limits"), entry.get("meta")
    said = [
        *(entry.get(name) for name in ("inputTokenLimit", "max_input_tokens", "context_window", "max_context_length",
                                       "context_length", "max_model_len")),
        limits.get("max_input_tokens") if isinstance(limits, Mapping) else None,
        meta.get("n_ctx_train") if isinstance(meta, Mapping) else None,
    ]  # fmt: skip
    return next((n for n in said if isinstance(n, int) and not isinstance(n, bool) and 0 < n <= 100_000_000), 0)


def _vision(entry: Mapping[str, object], can: object) -> bool | None:
    architecture = entry.get("architecture")
    inputs = entry.get("supported_input_modalities") or (
        architecture.get("input_modalities") if isinstance(architecture, Mapping) else None
    )
    if isinstance(inputs, list):
        return "image" in inputs
    return _flag(can, "vision", "image_input")


def _tools(can: object) -> bool | None:
    if isinstance(can, list):
        return "tool-calling" in can
    return _flag(can, "function_calling")


def _flag(can: object, *names: str) -> bool | None:
    table = can if isinstance(can, Mapping) else {}
    for name in names:
        value = table.get(name)
        value = value.get("supported") if isinstance(value, Mapping) else value
        if isinstance(value, bool):
            return value
    return None


def _line(value: object) -> str:
    """A name from outside, on one line."""
    text = value if isinstance(value, str) else ""
    return "".join(c for c in text if c.isprintable())[:200].strip()
