"""What the fake model servers have in common below the bytes: contracts, refusals, memory, prefix caching.  Pure.

A ``Wire`` says what differs between providers: which paths there are, what is refused and in which words, and how an
answer is written.  ``fake_server`` moves the bytes, and does the misbehaving that is the same for all.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from tests.kit.fake_script import Asked, Json, Reply

PICTURE_TOKENS = 765
"""Of one of 1024 × 1024 in high detail."""
PICTURES = {
    "image/png": [b"\x89PNG\r\n\x1a\n"], "image/jpeg": [b"\xff\xd8\xff"], "image/gif": [b"GIF87a", b"GIF89a"],
    "image/webp": [b"RIFF"], "audio/wav": [b"RIFF"], "audio/mpeg": [b"ID3", b"\xff\xfb"],
}  # fmt: skip


@dataclass(frozen=True)
class Contract:
    """What one fake server insists on; a wire reads what concerns it.

    ``context``: tokens (4 bytes each).  ``vision``, ``audio``, ``tools``, ``thinks``: what its
    model can.  ``reasoning`` (openai,
    deepseek): free, required (A10) or forbidden (A11).  ``alternate`` (anthropic): whether equal roles in a row are
    refused, as its resellers do, or joined, as it does itself.  ``signatures`` (gemini): none, first (of the calls of
    one answer, as Gemini 3 does) or each.  ``overflow``: refuse, or truncate silently as Ollama does by itself.
    ``cache_min`` and ``cache_unit``: tokens from which, and in steps of which, prefixes are cached; 0 is never.
    ``page``: how many models a page of the list holds.
    """

    key: str = "sk-fake-0123456789abcdef0123"
    models: tuple[str, ...] = ("fake-1",)
    context: int = 32_768
    reasoning: str = "free"
    vision: bool = False
    audio: bool = False
    tools: bool = True
    thinks: bool = True
    alternate: bool = True
    signatures: str = "first"
    overflow: str = "refuse"
    cache_min: int = 1024
    cache_unit: int = 128
    page: int = 1000


@dataclass
class Refused(Exception):
    """One refusal as the server words it; ``code`` is the wire's own word for its kind, None for the usual one."""

    message: str
    param: str | None = None
    code: str | None = None
    status: int = 400
    details: tuple[Json, ...] = ()


@dataclass(frozen=True)
class Incoming:
    """One request as it came."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]


@dataclass(frozen=True)
class Unit:
    """A piece of the prompt in the order the model reads it; ``breakpoint``: the client asked to cache up to here."""

    text: str
    breakpoint: bool = False


@dataclass
class Ledger:
    """What one server has said and read so far, as far as it holds its clients to it.

    ``calls``: what came with a tool call, by the call's id (reasoning, signed blocks).  ``signatures``: what was
    signed, by signature.  The rest is the prefix cache.
    """

    calls: dict[str, object] = field(default_factory=dict)
    signatures: dict[str, object] = field(default_factory=dict)
    read: list[str] = field(default_factory=list)
    marked: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Prompt:
    """Tokens of one request: all, those that came from the cache, those written to it."""

    tokens: int
    cached: int = 0
    written: int = 0


@dataclass(frozen=True)
class Exchange:
    """An answer to be written: the reply, what it answers and what that cost."""

    reply: Reply
    body: Json
    number: int
    prompt: Prompt
    contract: Contract = field(default_factory=Contract)
    ledger: Ledger = field(default_factory=Ledger)
    query: Mapping[str, str] = field(default_factory=dict)

    @property
    def completion(self) -> int:
        """Tokens of the answer, thoughts included."""
        said = self.reply.say + self.reply.think + "".join(call.arguments for call in self.reply.calls)
        return max(1, len(said.encode()) // 4)

    @property
    def thought(self) -> int:
        """Tokens of the thoughts alone."""
        return len(self.reply.think.encode()) // 4


class Wire(Protocol):
    """One provider's API as its clients see it."""

    name: str
    base: str
    """Path of the base URL that clients are configured with."""
    stream_type: str
    """Content type of a stream."""

    def contract(self) -> Contract:
        """What it insists on unless told otherwise."""
        ...

    def is_chat(self, path: str) -> bool:
        """Whether a path is the chat endpoint."""
        ...

    def admit(self, contract: Contract, request: Incoming) -> object | None:
        """Check key and path: the body of a plain answer, or None when it is a chat.  Raises Refused."""
        ...

    def parse(self, raw: bytes) -> dict[str, object]:
        """The body as an object.  Raises Refused."""
        ...

    def plain(self, contract: Contract, request: Incoming, body: Json) -> object | None:
        """The answer to a POST that is no chat, or None for a chat.  Raises Refused."""
        ...

    def check(self, contract: Contract, ledger: Ledger, request: Incoming, body: Json) -> None:
        """Raise Refused for the first thing the real server would not take."""
        ...

    def streamed(self, request: Incoming, body: Json) -> bool:
        """Whether a stream was asked for."""
        ...

    def asked(self, body: Json) -> Asked:
        """What of it chooses the answer."""
        ...

    def units(self, body: Json) -> list[Unit]:
        """The prompt in the order the model reads it."""
        ...

    def whole(self, exchange: Exchange) -> bytes:
        """The body of an answer in one piece."""
        ...

    def frames(self, exchange: Exchange) -> Iterator[bytes]:
        """A streamed answer, frame by frame."""
        ...

    def error(self, refused: Refused) -> object:
        """The body of a refusal."""
        ...


def prompt_of(contract: Contract, ledger: Ledger, units: Sequence[Unit]) -> Prompt:
    """Tokens of a request, with prefix caching as the providers do it, and the ledger brought up to date.

    Where the client marks (Anthropic: up to 4 ``cache_control`` blocks, a look back of 20 blocks) only what is marked
    is cached; elsewhere every request is, and the longest common beginning is read from the cache.  Sources:
    platform.claude.com "Prompt caching", developers.openai.com "Prompt caching" (from 1024 tokens, in steps of 128),
    api-docs.deepseek.com "Context caching" (in steps of 64), ai.google.dev "Context caching" (implicit).
    """
    whole = "".join(unit.text for unit in units)
    total = tokens_in(whole)
    if any(unit.breakpoint for unit in units):
        return _marked(contract, ledger, units, total)
    common = max((tokens_in(whole[: _common(whole, old)]) for old in ledger.read), default=0)
    ledger.read = [*ledger.read[-63:], whole]
    if not contract.cache_min or common < contract.cache_min:
        return Prompt(total)
    return Prompt(total, common // contract.cache_unit * contract.cache_unit)


def _common(one: str, other: str) -> int:
    """How many characters two texts begin with in common."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if one[:middle] == other[:middle] else (low, middle - 1)
    return low


def _marked(contract: Contract, ledger: Ledger, units: Sequence[Unit], total: int) -> Prompt:
    ends, digest, tokens = [], hashlib.sha256(), 0
    for unit in units:
        digest.update(unit.text.encode("utf-8", "replace"))
        tokens += tokens_in(unit.text)
        ends.append((digest.copy().hexdigest(), tokens))
    marks = [place for place, unit in enumerate(units) if unit.breakpoint]
    read = max(
        (ends[at][1] for mark in marks for at in range(max(0, mark - 20), mark + 1) if ends[at][0] in ledger.marked),
        default=0,
    )
    for mark in marks:
        if ends[mark][1] >= contract.cache_min > 0:
            ledger.marked[ends[mark][0]] = ends[mark][1]
    last = ends[marks[-1]][1]
    written = max(0, last - read) if last >= contract.cache_min > 0 else 0
    return Prompt(total, read, written)


def tokens_in(text: str) -> int:
    """About four bytes a token."""
    return -(-len(text.encode("utf-8", "replace")) // 4)


def compact(value: object) -> str:
    """JSON text, the same for equal values whatever the order of their keys."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def picture(encoded: object) -> bytes | None:
    """The bytes of base64 text; None for what is none."""
    try:
        return base64.b64decode(str(encoded), validate=True) or None
    except ValueError:
        return None


def looks_like(media_type: str, data: bytes) -> bool:
    """Whether the bytes are what their label says."""
    return any(data.startswith(begin) for begin in PICTURES.get(media_type, ()))


def signature(*signed: object) -> str:
    """A signature only this kit makes: of the text it stands for, so that a changed byte shows."""
    digest = hashlib.sha256(compact(["the fake's secret", *signed]).encode("utf-8", "replace")).digest()
    return base64.b64encode(digest).decode()
