"""A script as an adapter: what it is asked, how its answers become requests and parts, and its failures words."""

from __future__ import annotations

import itertools
import json
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from homed.clock import new_id
from homed.errors import HomedError
from homed.providers import failures
from homed.providers.adapter import Asked
from homed.providers.answers import Framing, Piece
from homed.providers.base import ChatRequest, ErrorKind, Part, ProviderError, Source
from homed.providers.failures import Where
from homed.providers.lua import request as requests
from homed.providers.lua.engine import Engine, Version
from homed.providers.lua.life import Life, ScriptEnded, ScriptFailed, Serve
from homed.providers.lua.parts import Reading

_KINDS = {kind.value: kind for kind in ErrorKind}
_UNREADABLE = "unreadable"
_MEND = "Mend the script; `homed models adapters` says where it stands and checks it."

Fetching = Callable[[Source, str], Serve]
"""A source and its key → what does HTTP for its script."""


@dataclass(frozen=True, slots=True)
class Script:
    """A script by its file: ``version`` gives what is in it now (HomedError when it cannot be had), ``engine`` runs
    it, ``file`` is its name for people."""

    file: str
    engine: Engine
    version: Callable[[], Awaitable[Version]]


class ScriptAdapter:
    """See ``providers.adapter.Adapter``.  The key stays here; the script writes ``{api_key}``."""

    def __init__(
        self, script: Script, fetching: Fetching, new_call_id: Callable[[], str] = lambda: new_id("call")
    ) -> None:
        self._script = script
        self._fetching = fetching
        self._new_call_id = new_call_id
        self._streams = itertools.count(1)

    async def open(self, source: Source, key: str, request: ChatRequest) -> Asked:
        """See ``Adapter.open``; the script's version is the one that is in its file now."""
        telling = Telling(self._script.file, Where.of(source, key))
        try:
            version = await self._script.version()
        except HomedError as error:
            raise ProviderError(ErrorKind.BAD_REQUEST, error.message, hint=error.hint) from error
        answer = _Stream(self._script.engine, version, next(self._streams), self._fetching(source, key), telling)
        try:
            given = requests.given(source, request, has_key=bool(key))
            said = await answer.call("request", given.request, given.source)
            out = requests.outgoing(source, said, given.media)
        except (requests.Wrong, failures.Unreadable) as error:
            answer.close()
            telling.wrong(str(error))
        except BaseException:
            answer.close()
            raise
        decoder = ScriptDecoder(answer, Reading(f"lua:{self._script.engine.name}", self._new_call_id), lines=out.lines)
        return Asked(out.url, requests.with_key(out.headers, key), out.body, decoder)

    async def models(self, source: Source, key: str, body: str) -> list[object] | None:
        """What the script reads in a list of models; None if it has no ``models``.  Raises ProviderError."""
        telling = Telling(self._script.file, Where.of(source, key))
        version = await self._script.version()
        try:
            found = await self._script.engine.run_once(version, "models", body, serve=self._fetching(source, key))
        except ScriptFailed as error:
            telling.failed(error)
        except ScriptEnded as error:
            telling.ended(error)
        return found if isinstance(found, list) else None


@dataclass(frozen=True, slots=True)
class Telling:
    """The failures of a script in words."""

    file: str
    where: Where

    def failed(self, error: ScriptFailed) -> NoReturn:
        """It raised an error: one of its own choosing by kind, or one it did not mean."""
        if (kind := _KINDS.get(error.kind)) is not None:
            raise ProviderError(kind, f"{self.where}: {self.where.clean(str(error))}") from None
        if error.kind == _UNREADABLE:
            raise failures.Unreadable(str(error)) from None
        self.wrong(str(error))

    def wrong(self, why: str) -> NoReturn:
        """It is at fault."""
        message = f"The adapter script {self.file} failed: {self.where.clean(why)}."
        raise ProviderError(ErrorKind.BAD_REQUEST, message, hint=_MEND) from None

    def ended(self, error: ScriptEnded) -> NoReturn:
        """Its process went, by no fault of this request."""
        message = f"The process of the adapter script {self.file} is gone: {self.where.clean(str(error))}."
        raise ProviderError(ErrorKind.TRANSIENT, message, hint="Ask again; if it happens again, the log says more.")


class _Stream:
    """One answer in the script, from its request to its end; bound to the process in which it began."""

    def __init__(self, engine: Engine, version: Version, number: int, serve: Serve, telling: Telling) -> None:
        self._engine = engine
        self._version = version
        self._number = number
        self._serve = serve
        self._life: Life | None = None
        self.telling = telling
        engine.begin(version)

    async def call(self, kind: str, *given: str) -> Any:
        """One function of the script.  Raises ScriptFailed only with ``parts``, else as ``Telling`` says."""
        try:
            if self._life is None:
                self._life = await self._engine.life(self._version)
            return await self._life.call(self._version.number, self._number, kind, given, self._serve)
        except ScriptFailed as error:
            if error.parts:
                raise
            self.telling.failed(error)
        except ScriptEnded as error:
            self.telling.ended(error)
        except ProviderError:
            raise
        except HomedError as error:
            raise ProviderError(ErrorKind.TRANSIENT, error.message, hint=error.hint) from error

    def close(self) -> None:
        """It is over."""
        self._engine.end(self._version, self._life, self._number)


class ScriptDecoder:
    """See ``providers.adapter.Decoder``.  Everything that one piece of the network brought is one call."""

    def __init__(self, stream: _Stream, reading: Reading, *, lines: bool) -> None:
        self._stream = stream
        self._reading = reading
        self._framing = Framing(lines=lines)

    @property
    def finished(self) -> bool:
        """True once the last part is out."""
        return self._reading.finished

    async def feed(self, chunk: bytes, out: deque[Part]) -> None:
        """See ``Decoder.feed``."""
        pieces: list[Piece] = []
        failed: Exception | None = None
        try:
            for piece in self._framing.feed(chunk):
                pieces.append(piece)
        except (failures.Unreadable, failures.Endless) as error:
            failed = error  # what came before it in the chunk is told first
        await self._take(pieces, out)
        if failed is not None:
            raise failed

    async def end(self, out: deque[Part]) -> None:
        """See ``Decoder.feed``."""
        if self.finished:
            return
        pieces = list(self._framing.end())
        if pieces and pieces[-1].whole:
            await self._say("whole", pieces[-1].text, out=out)
            out.extend(self._reading.finish("stop"))
            return
        try:
            await self._take(pieces, out)
        except failures.Unreadable as error:
            raise failures.BrokenOff from error  # the last event was cut
        if not self.finished:
            await self._say("finish", out=out)
        out.extend(self._reading.finish())

    def close(self) -> None:
        """See ``Decoder.close``."""
        self._stream.close()

    async def _take(self, pieces: Sequence[Piece], out: deque[Part]) -> None:
        if pieces and not self.finished:
            events = [[piece.event, piece.text] for piece in pieces]
            await self._say("chunks", json.dumps(events, ensure_ascii=False, separators=(",", ":")), out=out)

    async def _say(self, kind: str, *given: str, out: deque[Part]) -> None:
        try:
            said = await self._stream.call(kind, *given)
        except ScriptFailed as error:
            self._read(error.parts, out)
            self._stream.telling.failed(error)
        self._read(said, out)

    def _read(self, said: object, out: deque[Part]) -> None:
        try:
            for part in self._reading.take(said):
                out.append(part)
        except requests.Wrong as error:
            self._stream.telling.wrong(str(error))
