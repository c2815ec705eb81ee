"""Vectors from an OpenAI-compatible ``/embeddings`` endpoint.

Its space is the address, the model and the dimensions; the key is in no name, error, log or repr.  A question has one
try within a short time, for somebody waits; bulk is patient, and does what the endpoint says about when to come again.
"""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, NoReturn
from urllib.parse import urlsplit

import httpx2
import trio

from homed.memory.ports import Space
from homed.memory.tokens import estimate_tokens
from homed.redact import Redactor
from homed.retrieval.embed.batches import batches
from homed.retrieval.embed.choice import Endpoint
from homed.retrieval.embed.encoders import BASELINE
from homed.retrieval.embed.failed import EmbedFailed
from homed.retrieval.embed.hashing import fingerprint
from homed.retrieval.embed.till import FreeTill, Till

if TYPE_CHECKING:
    from homed.memory.ports import Vectors

log = logging.getLogger(__name__)

TEXTS = 64
CHARACTERS = 60_000
"""Of one request: every endpoint takes so many inputs, and about so many tokens."""
LONGEST = 8_000
"""Characters of one text that are sent; what is longer comes in pieces anyway."""

AT_ONCE = 2
"""Requests at a time, questions aside."""

ASKED_LIMIT = 5.0
BULK_LIMIT = 60.0
"""Seconds for one request.  Recall has a deadline of its own, which is shorter."""

TRIES = 3
PAUSE = 2.0
LONGEST_PAUSE = 60.0
"""Of bulk: tries, and seconds between the first two unless the endpoint says otherwise; they double."""

ANSWER_EACH = 512 << 10
"""Bytes of an answer for each text, and once more around them: 20 000 dimensions."""

_LONGEST_WORDS = 200
_ECHO = 12
_LARGEST = 1e18
_PROBE = "hello"
_AGAIN = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
_KEY_HINT = "Check core.memory.embedding_api_key."
_HINT = "Check core.memory.embedding_base_url and core.memory.embedding_model."
_LATER = "Memories are found by their words until it answers again."


class _Again(EmbedFailed):
    """Another try may help, after ``wait`` seconds if the endpoint said so."""

    def __init__(self, message: str, wait: float | None = None) -> None:
        super().__init__(message, hint=_LATER)
        self.wait = wait


class RemoteEmbedder:
    """See ``homed.memory.ports.Embedder``.  ``prepare`` it first, which asks once where the dimensions are not set."""

    def __init__(
        self,
        endpoint: Endpoint,
        http: httpx2.AsyncClient,
        *,
        baseline: float | None = None,
        till: Till | None = None,
    ) -> None:
        """``till``: what each request is counted by, and held back where a limit of spend says so."""
        self._endpoint = endpoint
        self._http = http
        self._till = till or FreeTill()
        self._baseline = BASELINE if baseline is None else baseline
        self._slots = trio.Semaphore(AT_ONCE)
        self._where = _where(endpoint)
        self._redactor = Redactor((endpoint.key,) if endpoint.key else ())
        self._space: Space | None = None

    def __repr__(self) -> str:
        return f"RemoteEmbedder({self._where!r})"

    @property
    def space(self) -> Space:
        """Of all its vectors; there once it is prepared."""
        assert self._space is not None
        return self._space

    async def prepare(self) -> Space:
        """Find out the dimensions by one question, and whether they are those that are set.  Raises `EmbedFailed`."""
        found = await self._asked([_PROBE], BULK_LIMIT)
        dims = len(found[0])
        if self._endpoint.dims and dims != self._endpoint.dims:
            raise EmbedFailed(
                f"{self._where} gives vectors of {dims} dimensions, not of {self._endpoint.dims}.",
                hint="Set core.memory.embedding_dimensions to what the model can do, or to 0.", lasting=True,
            )  # fmt: skip
        name = fingerprint("endpoint", self._endpoint.base_url, self._endpoint.model, str(dims))
        self._space = Space(name, dims, self._baseline)
        return self._space

    async def embed(self, texts: Sequence[str], *, query: bool = False) -> Vectors:
        """Shape (n, dims).  Raises `EmbedFailed`; cancelled, the request is closed.  Blank texts are not sent."""
        import numpy as np

        made = np.zeros((len(texts), self.space.dims), np.float32)
        wanted = [at for at, text in enumerate(texts) if text.strip()]
        for places in batches(wanted, lambda at: min(len(texts[at]), LONGEST), TEXTS, CHARACTERS):
            part = [texts[at] for at in places]
            made[places] = await (self._asked(part, ASKED_LIMIT) if query else self._patiently(part))
        return made

    async def embed_images(self, images: Sequence[bytes]) -> Vectors:  # noqa: ARG002
        """It reads no pictures: `EmbedFailed`."""
        await trio.lowlevel.checkpoint()
        raise EmbedFailed("This endpoint reads no pictures.", lasting=True)

    async def _patiently(self, texts: Sequence[str]) -> Vectors:
        pause = PAUSE
        async with self._slots:
            for _ in range(TRIES - 1):
                try:
                    return await self._asked(texts, BULK_LIMIT)
                except _Again as error:
                    wait = pause if error.wait is None else error.wait
                    await trio.sleep(min(wait, LONGEST_PAUSE))
                    pause *= 2
            return await self._asked(texts, BULK_LIMIT)

    async def _asked(self, texts: Sequence[str], limit: float) -> Vectors:
        try:
            with trio.fail_after(limit):
                status, headers, body = await self._exchange(texts)
        except trio.TooSlowError:
            raise _Again(f"{self._where} did not answer within {limit:g} s.") from None
        except (httpx2.InvalidURL, httpx2.UnsupportedProtocol, UnicodeError, ValueError, TypeError):
            raise EmbedFailed(f"{self._where} is no address that can be asked.", hint=_HINT, lasting=True) from None
        except RuntimeError:
            if not self._http.is_closed:
                raise
            raise EmbedFailed("The embedder was changed or is being stopped.", hint="Ask again.") from None
        except httpx2.HTTPError as error:
            raise _Again(
                f"{self._where} cannot be reached: {self._clean(str(error) or type(error).__name__)}."
            ) from None
        if not 200 <= status < 300:
            self._refused(status, headers, self._said(body, texts))
        return self._read(body, len(texts))

    async def _exchange(self, texts: Sequence[str]) -> tuple[int, Mapping[str, str], bytes]:
        endpoint = self._endpoint
        if not urlsplit(endpoint.base_url).hostname or urlsplit(endpoint.base_url).scheme not in ("http", "https"):
            raise httpx2.UnsupportedProtocol("http or https is wanted")
        if not (endpoint.key.isascii() and endpoint.key.isprintable()) or " " in endpoint.key:
            raise EmbedFailed("The embedding API key holds characters that no key has.", hint=_KEY_HINT, lasting=True)
        asked: dict[str, object] = {
            "model": endpoint.model, "input": [_sendable(text) for text in texts], "encoding_format": "float",
        }  # fmt: skip
        if endpoint.dims:
            asked["dimensions"] = endpoint.dims
        headers = {"content-type": "application/json", "accept": "application/json"}
        if endpoint.key:
            headers["authorization"] = f"Bearer {endpoint.key}"
        tokens = sum(estimate_tokens(text[:LONGEST]) for text in texts)
        async with self._till.asking(endpoint.base_url, endpoint.model, tokens) as bill:
            try:
                async with self._http.stream(
                    "POST", f"{endpoint.base_url}/embeddings", headers=headers, content=json.dumps(asked).encode(),
                    timeout=None,
                ) as response:  # fmt: skip
                    bill.owed = response.status_code < 400
                    body = await self._body(response, len(texts))
            except httpx2.ConnectError:
                bill.owed = False
                raise
            bill.took = _counted(body)
        return response.status_code, response.headers, body

    async def _body(self, response: httpx2.Response, texts: int) -> bytes:
        body = bytearray()
        async with aclosing(response.aiter_bytes()) as chunks:
            async for chunk in chunks:
                body += chunk
                if len(body) > ANSWER_EACH * (1 + texts):
                    raise EmbedFailed(f"{self._where} gives an answer without end.", hint=_HINT, lasting=True)
        return bytes(body)

    def _refused(self, status: int, headers: Mapping[str, str], said: str) -> NoReturn:
        message = f"{self._where} answered HTTP {status}" + (f": {said}" if said else ".")
        if status in _AGAIN or status >= 500:
            raise _Again(message, _seconds(headers.get("retry-after")))
        raise EmbedFailed(message, hint=_KEY_HINT if status in (401, 402, 403) else _HINT, lasting=True)

    def _read(self, body: bytes, expected: int) -> Vectors:
        import numpy as np

        try:
            rows = sorted(json.loads(body)["data"], key=lambda row: int(row["index"]))
            made = np.array([row["embedding"] for row in rows], dtype=np.float64)
        except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
            raise EmbedFailed(f"{self._where} gives no embeddings.", hint=_HINT, lasting=True) from None
        if made.ndim != 2 or len(made) != expected or not made.shape[1]:
            raise EmbedFailed(f"{self._where} gives another number of embeddings than was asked for.", hint=_HINT)
        if self._space is not None and made.shape[1] != self._space.dims:
            raise EmbedFailed(
                f"{self._where} gives vectors of {made.shape[1]} dimensions now, not of {self._space.dims}.",
                hint="Has its model been changed? Set core.memory.embedding_model anew.", lasting=True,
            )  # fmt: skip
        if not (np.abs(made) < _LARGEST).all():  # also what is no number
            raise EmbedFailed(f"{self._where} gives vectors that hold no numbers.", hint=_HINT)
        lengths = np.linalg.norm(made, axis=1, keepdims=True)
        return np.asarray(made / np.where(lengths > 0, lengths, 1), np.float32)

    def _said(self, body: bytes, texts: Sequence[str]) -> str:
        """What it says of a refusal; nothing when it repeats what people wrote."""
        said = self._clean(_words(body))
        sent = " ".join(" ".join(texts).split())
        echoes = any(said[at : at + _ECHO] in sent for at in range(len(said) - _ECHO + 1))
        return "" if echoes else said

    def _clean(self, text: str) -> str:
        """On one line, without the key, and short: some endpoints repeat what they were given."""
        return " ".join(self._redactor.redact(text[:20_000]).split())[:_LONGEST_WORDS]


def _counted(body: bytes) -> int | None:
    """Tokens that the endpoint says it took."""
    try:
        took = json.loads(body)["usage"]["prompt_tokens"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    return took if isinstance(took, int) and not isinstance(took, bool) and took > 0 else None


def _where(endpoint: Endpoint) -> str:
    """For messages: a base URL may hold credentials, so only its host."""
    try:
        parts = urlsplit(endpoint.base_url)
        host = f"{parts.hostname}:{parts.port}" if parts.port else str(parts.hostname or "no address")
    except ValueError:
        host = "bad address"
    return f"The embedding endpoint {host} ({endpoint.model})"


def _sendable(text: str) -> str:
    """As JSON can carry it: no lone surrogates, no more than a piece."""
    return text[:LONGEST].encode("utf-8", "replace").decode()


def _words(body: bytes) -> str:
    """What a person can read of an error."""
    text = body[:20_000].decode("utf-8", "replace")
    try:
        said: Any = json.loads(text)
    except ValueError:
        return "it sent a web page" if text.lstrip()[:1] == "<" else ""
    for key in ("error", "message", "detail"):
        if isinstance(said, Mapping) and key in said:
            said = said[key]
    return said if isinstance(said, str) else ""


def _seconds(value: str | None) -> float | None:
    """What Retry-After asks for; a date there is not read."""
    try:
        seconds = float(value or "")
    except ValueError:
        return None
    return max(0.0, seconds) if math.isfinite(seconds) else None
