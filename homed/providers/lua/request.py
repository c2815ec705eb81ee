"""The canonical history as a script is given it, and what the script answers as what goes out.  Pure.

Pictures and recordings are not sent through the script: it puts a mark where their base64 text belongs, and the mark is
replaced in the finished body.  So a conversation with pictures costs the script no more than one without.
"""

from __future__ import annotations

import base64
import json
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from homed.providers.base import (
    Assistant,
    Audio,
    ChatRequest,
    Image,
    Message,
    Source,
    System,
    ToolResult,
    ToolSpec,
    User,
)
from homed.providers.options import Quirks
from homed.providers.shaping import own

KEY = "{api_key}"
"""Where the key goes in a header's value."""

MAX_HEADERS = 64
_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}")
_OURS = frozenset(
    {"connection", "content-length", "expect", "host", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade"}
)
"""Headers that say where a request goes and where it ends: a `Host` of another may bring the key to that one."""
_FRAMINGS = {None: False, "sse": False, "ndjson": True}


class Wrong(Exception):
    """The script answered what cannot be sent; the text says what, and may be shown."""


@dataclass(frozen=True, slots=True)
class Given:
    """What the script is given, as JSON texts, and the media that its marks stand for."""

    request: str = field(repr=False)
    source: str
    media: Mapping[bytes, bytes] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Outgoing:
    """What the script wants sent, checked; headers still without the key.  ``lines``: the answer is NDJSON."""

    url: str
    headers: Mapping[str, str]
    body: bytes = field(repr=False)
    lines: bool


def given(source: Source, request: ChatRequest, *, has_key: bool) -> Given:
    """``request`` and ``source`` for ``transform_request``."""
    marks = _Marks()
    told: dict[str, object] = {"messages": [_message(message, source, marks) for message in request.messages]}
    if request.tools:
        told["tools"] = [_tool(tool) for tool in request.tools]
    if request.max_tokens is not None:
        told["max_tokens"] = request.max_tokens
    if request.temperature is not None:
        told["temperature"] = request.temperature
    return Given(_dumps(told), _dumps(about(source, has_key=has_key)), marks.media)


def about(source: Source, *, has_key: bool) -> dict[str, object]:
    """A source as a script is told of it: all but the key, and the person's own headers, which may be keys too."""
    options = {name: value for name, value in source.options.items() if name != "headers"}
    return {
        "name": source.name, "base_url": source.base_url, "model": source.model, "has_key": has_key,
        "context_window": source.context_window, "vision": source.vision, "audio": source.audio,
        "tools": source.tools, "options": options,
    }  # fmt: skip


def outgoing(source: Source, answer: object, media: Mapping[bytes, bytes]) -> Outgoing:
    """What ``transform_request`` and ``build_headers`` said, checked, with the media in place.  Raises Wrong."""
    said: Mapping[str, Any] = answer if isinstance(answer, Mapping) else {}
    body = said.get("body")
    if not isinstance(body, str) or not body:
        raise Wrong("transform_request gave no body")
    framing = said.get("framing")
    if framing not in _FRAMINGS:
        raise Wrong("framing is sse or ndjson")
    raw = body.encode("utf-8", "replace")
    for mark, text in media.items():
        if raw.count(mark) > 1:  # a small body would grow beyond any memory
            raise Wrong("a picture or recording stands more than once in the body")
        raw = raw.replace(mark, text)
    # The person's own headers may be secrets as well: they are put in here, and no script sees them.
    all_headers = {**headers(said.get("headers")), **Quirks(source.options).headers()}
    return Outgoing(same_place(source, said.get("url")), all_headers, raw, _FRAMINGS[framing])


def same_place(source: Source, url: object) -> str:
    """The address, if it is on the server of the source, where its key may go; raises Wrong."""
    if not isinstance(url, str) or not url:
        raise Wrong("transform_request gave no url")
    try:
        wanted, own = urlsplit(url), urlsplit(source.base_url)
        same = (wanted.scheme, wanted.hostname, wanted.port) == (own.scheme, own.hostname, own.port)
    except ValueError:
        raise Wrong("the url is no address") from None
    if not same or wanted.username or wanted.password:
        raise Wrong("the url is not on the server of the source's base URL")
    if KEY in url:
        raise Wrong("the key goes into headers alone, not into a url")
    return url


def headers(said: object) -> Mapping[str, str]:
    """Headers as a script gave them; the usual ones when it gave none.  Raises Wrong."""
    if said is None:
        return {"Authorization": f"Bearer {KEY}"}
    if not isinstance(said, Mapping) or len(said) > MAX_HEADERS:
        raise Wrong("headers are a table of names and texts")
    for name, value in said.items():
        if not isinstance(name, str) or not _HEADER_NAME.fullmatch(name):
            raise Wrong("a header has a name that no header has")
        if name.lower() in _OURS:
            raise Wrong(f"the header {name} is not for scripts")
        if not isinstance(value, str) or any(ord(c) < 32 or ord(c) > 126 for c in value):
            raise Wrong(f"the header {name} is no plain text")
    return dict(said)


def with_key(said: Mapping[str, str], key: str) -> dict[str, str]:
    """The headers as they go out.  Without a key, those that should hold it are left out: local servers want none."""
    kept = {name: value for name, value in said.items() if key or KEY not in value}
    kept = {name: value.replace(KEY, key) for name, value in kept.items()}
    named = {name.lower() for name in kept}
    usual = {"Content-Type": "application/json", "Accept": "text/event-stream, application/x-ndjson, application/json"}
    return {**{name: value for name, value in usual.items() if name.lower() not in named}, **kept}


class _Marks:
    """Gives each picture a text that stands in nothing else."""

    def __init__(self) -> None:
        self.media: dict[bytes, bytes] = {}
        self._nonce = secrets.token_hex(16)

    def of(self, one: Image | Audio) -> dict[str, object]:
        mark = f"homed-media-{self._nonce}-{len(self.media)}-"
        self.media[mark.encode()] = base64.b64encode(one.data)
        return {"media_type": one.media_type, "data": mark}


def _message(message: Message, source: Source, marks: _Marks) -> dict[str, object]:
    match message:
        case System(text):
            return {"role": "system", "text": text}
        case User(text, images, audio):
            out: dict[str, object] = {"role": "user", "text": text}
            if images:
                out["images"] = [marks.of(image) for image in images]
            if audio:
                out["audio"] = [marks.of(one) for one in audio]
            return out
        case Assistant():
            return _assistant(message, source)
        case ToolResult(call_id, name, text, is_error):
            return {"role": "tool", "call_id": call_id, "name": name, "text": text, "is_error": is_error}


def _assistant(message: Assistant, source: Source) -> dict[str, object]:
    out: dict[str, object] = {"role": "assistant", "text": message.text}
    # Undecodable arguments are not sent back: strict servers parse them.  The result behind says what was wrong.
    out["calls"] = [
        {"id": call.id, "name": call.name, "arguments": dict(call.arguments or {})} for call in message.calls
    ]
    if message.reasoning:
        out["reasoning"] = message.reasoning
    out["own"] = own(message, source)
    opaque = message.opaque
    if opaque is not None and out["own"]:  # no other server can check it
        out["opaque"] = {"wire": opaque.wire, "data": opaque.data}
    return out


def _tool(tool: ToolSpec) -> dict[str, object]:
    return {"name": tool.name, "description": tool.description, "parameters": dict(tool.parameters)}


def _dumps(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
