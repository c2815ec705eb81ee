"""The contract between an adapter, which knows one API, and the driver in ``http``, which moves the bytes.

Native adapters are pure (``PureAdapter``) and wrapped by ``Native``; an adapter that is a script runs in a child
process of ours and is waited for.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from homed.providers.base import ChatRequest, Part, Source


class Decoder(Protocol):
    """Reads one answer.  Cancelled in ``feed`` or ``end`` it is of no more use; ``close`` is called all the same."""

    @property
    def finished(self) -> bool:
        """True once the last part is out; what still comes can be left unread."""
        ...

    async def feed(self, chunk: bytes, out: deque[Part]) -> None:
        """Append the parts that ``chunk`` completes to ``out``, also those before an error in it.

        Raises the errors of ``failures`` that decoders raise, or ProviderError.  Need not be a checkpoint.
        """
        ...

    async def end(self, out: deque[Part]) -> None:
        """The body has ended: as ``feed``, for what is left."""
        ...

    def close(self) -> None:
        """The exchange is over, well or not; called once."""
        ...


@dataclass(frozen=True, slots=True)
class Asked:
    """One request as it goes out, and who reads its answer.  ``headers`` may hold the key: they are shown nowhere."""

    url: str
    headers: Mapping[str, str] = field(repr=False)
    body: bytes = field(repr=False)
    decoder: Decoder


class Adapter(Protocol):
    """What differs between APIs."""

    async def open(self, source: Source, key: str, request: ChatRequest) -> Asked:
        """What to send for ``request``; called once for every try.  ``key`` is empty where there is none.

        Raises ProviderError, or ValueError for an address or header that cannot be.  Cancelled: nothing is left.
        """
        ...


class PureDecoder(Protocol):
    """Reads one answer without waiting for anybody; see ``openai_answer.AnswerDecoder``."""

    finished: bool

    def feed(self, chunk: bytes) -> Iterator[Part]: ...

    def end(self) -> Iterator[Part]: ...


class PureAdapter(Protocol):
    """An adapter that needs nobody's help: what it says depends on its arguments alone."""

    def url(self, source: Source) -> str: ...

    def headers(self, source: Source, key: str) -> Mapping[str, str]: ...

    def body(self, source: Source, request: ChatRequest) -> bytes: ...

    def decoder(self) -> PureDecoder: ...


@dataclass(frozen=True, slots=True)
class Native:
    """A pure adapter as the driver wants it."""

    pure: PureAdapter

    async def open(self, source: Source, key: str, request: ChatRequest) -> Asked:
        """See ``Adapter.open``; never waits."""
        url, headers = self.pure.url(source), self.pure.headers(source, key)
        return Asked(url, headers, self.pure.body(source, request), _Reading(self.pure.decoder()))


@dataclass(frozen=True, slots=True)
class _Reading:
    """A pure decoder as the driver wants it."""

    pure: PureDecoder

    @property
    def finished(self) -> bool:
        return self.pure.finished

    async def feed(self, chunk: bytes, out: deque[Part]) -> None:
        for part in self.pure.feed(chunk):  # not extend(): the parts before an error stay
            out.append(part)

    async def end(self, out: deque[Part]) -> None:
        for part in self.pure.end():
            out.append(part)

    def close(self) -> None:
        pass
