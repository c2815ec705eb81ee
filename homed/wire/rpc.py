"""JSON-RPC 2.0, one object a line, as a sans-io peer: bytes in, messages out; messages in, bytes out.

Pure: no Trio, no clock, no sockets.  ``homed.wire.stream`` drives it over a stream.  Whatever arrives, memory stays
within one line (``MAX_LINE``): a longer one is skipped to its newline and reported once.
"""

from __future__ import annotations

import itertools
import json
import math
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeGuard

from homed.errors import HomedError, InvalidInput, from_code
from homed.wire.version import MAX_LINE

Id = int | str
"""A request id: ours are integers, the other side's may be strings."""

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
APPLICATION_ERROR = -32000

_CODE_NAMES = {METHOD_NOT_FOUND: "not_found", INVALID_PARAMS: "invalid", INVALID_REQUEST: "protocol"}
_FORGOTTEN = 1024
"""Ids of given-up requests whose late reply is still welcome; more than could be in flight in one connection."""
_encoder = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))
_MESSAGE_LIMIT = 4096
"""Characters of an error message that cross the wire."""


@dataclass(frozen=True, slots=True)
class Request:
    """A call that wants exactly one reply with its ``id``."""

    id: Id
    method: str
    params: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Notification:
    """A message that gets no reply."""

    method: str
    params: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class RemoteError:
    """The error object of a reply, as it came."""

    code: int
    message: str
    data: Mapping[str, Any] = field(default_factory=dict)

    def as_error(self) -> HomedError:
        """The exception of ours that it stands for; ``data.code`` decides, an unknown one gives the base class."""
        name = self.data.get("code")
        hint, detail = self.data.get("hint"), self.data.get("detail")
        return from_code(
            name if isinstance(name, str) else _CODE_NAMES.get(self.code, "internal"),
            self.message,
            hint=hint if isinstance(hint, str) else "",
            detail=detail if isinstance(detail, dict) else None,
        )


@dataclass(frozen=True, slots=True)
class Response:
    """The reply to one of our requests: ``result``, or ``error`` if that is not None."""

    id: Id
    result: Any = None
    error: RemoteError | None = None


@dataclass(frozen=True, slots=True)
class Broken:
    """A line that is no message for us.  ``id`` is set when it was a request, so that it can be refused by name."""

    reason: str
    id: Id | None = None


Incoming = Request | Notification | Response | Broken


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is no JSON")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError("a number is out of range")
    return value


def _paired(text: str) -> str:
    """The text with surrogate halves joined where they pair and shown as U+FFFD where they do not.

    Halves come from undecodable file names and cut escapes; the far side could neither store nor print them.
    """
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def utf8(text: str) -> bytes:
    """The text as UTF-8; see ``_paired`` for what has no such form."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        return _paired(text).encode()


def dumps(value: object) -> str:
    """A value as JSON without needless spaces.  Raises `InvalidInput` if it is none."""
    try:
        return _encoder.encode(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput(f"The message cannot be written as JSON: {error}.") from error


def encode(message: Mapping[str, object], *, limit: int = MAX_LINE) -> bytes:
    """One line, newline included.  Raises `InvalidInput` if a value is no JSON or the line is over ``limit`` bytes."""
    line = utf8(dumps(message)) + b"\n"
    if len(line) > limit:
        raise InvalidInput(f"The message has {len(line)} bytes; at most {limit} fit in one line.")
    return line


def decode(line: bytes) -> Any:
    """The JSON value of a line; raises `ValueError` with a reason."""
    try:
        text = line.decode()
    except UnicodeDecodeError as error:
        raise ValueError(f"invalid UTF-8 at byte {error.start}") from error
    return loads(text)


def loads(text: str) -> Any:
    """The JSON value of a text; raises `ValueError` with a reason."""
    try:
        value = json.loads(text, parse_constant=_refuse_constant, parse_float=_finite)
        if "\\ud" in text.lower():
            json.dumps(value, ensure_ascii=False).encode()
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    except UnicodeEncodeError as error:
        raise ValueError("half a surrogate pair in a string") from error
    except ValueError as error:
        raise ValueError(f"no JSON: {error}") from error
    return value


def is_id(value: object) -> TypeGuard[Id]:
    """Whether a value may be a request's id (JSON's true is no 1)."""
    return isinstance(value, (int, str)) and not isinstance(value, bool)


class Peer:
    """One end of a conversation: numbers its requests, frames what goes out, reads what comes in.

    ``limit`` is the bytes of one line, newline included.  With ``quoting`` a `Broken` cites what it is about: only for
    the output of a child, where its author looks for a stray print; a client's line may be half a call with a key in
    it.  ``late``: replies to forgotten requests are messages too, for whoever must undo what they bring.  Not
    thread-safe.
    """

    def __init__(self, *, limit: int = MAX_LINE, quoting: bool = False, late: bool = False) -> None:
        self._limit, self._late = limit, late
        self._quoting = quoting
        self._buffer = bytearray()
        self._skipping = False
        self._ids = itertools.count(1)
        self._pending: set[Id] = set()
        self._forgotten: deque[Id] = deque(maxlen=_FORGOTTEN)

    @property
    def buffered(self) -> int:
        """Bytes held of a line that is not complete yet; never over the limit."""
        return len(self._buffer)

    def feed(self, data: bytes) -> list[Incoming]:
        """Take the next bytes, cut anywhere, and return the messages that they complete, in order."""
        return [message for message in self._messages(data) if message is not None]

    def end(self) -> list[Incoming]:
        """The stream ended: report what was left of an unfinished line."""
        if not self._buffer:
            return []
        left, self._buffer = len(self._buffer), bytearray()
        return [Broken(f"the stream ended {left} bytes into a line")]

    def _messages(self, data: bytes) -> Iterator[Incoming | None]:
        start = 0
        while (end := data.find(b"\n", start)) >= 0:
            piece, start = data[start:end], end + 1
            if self._skipping:
                self._skipping = False
            elif len(self._buffer) + len(piece) >= self._limit:
                self._buffer.clear()
                yield self._too_long()
            else:
                line = bytes(self._buffer) + piece
                self._buffer.clear()
                yield self._parse(line)
        if self._skipping or start == len(data):
            return
        if len(self._buffer) + len(data) - start >= self._limit:
            self._buffer = bytearray()
            self._skipping = True
            yield self._too_long()
        else:
            self._buffer += data[start:]

    def _too_long(self) -> Broken:
        return Broken(f"a line over {self._limit} bytes")

    def _parse(self, line: bytes) -> Incoming | None:
        if not line.strip():
            return Broken("an empty line")
        try:
            value = decode(line)
        except ValueError as error:
            return Broken(f"{error}{self._quoted(line[:80])}")
        if not isinstance(value, dict):
            return Broken(f"a JSON {type(value).__name__} where an object belongs")
        if value.get("jsonrpc") != "2.0":
            return Broken(f'no "jsonrpc": "2.0"{self._quoted(line[:80])}')
        return self._called(value) if "method" in value else self._replied(value)

    def _called(self, value: dict[str, Any]) -> Incoming:
        method, params, id_ = value["method"], value.get("params", {}), value.get("id")
        known = id_ if is_id(id_) else None
        if "id" in value and known is None:
            return Broken("a request id that is neither a number nor a string")
        if not isinstance(method, str) or not method:
            return Broken("a method that is no name", known)
        if not isinstance(params, dict):
            return Broken(f"params must be an object{self._quoted(method[:80])}", known)
        return Notification(method, params) if known is None else Request(known, method, params)

    def _replied(self, value: dict[str, Any]) -> Incoming | None:
        id_, error = value.get("id"), value.get("error")
        if ("result" in value) == ("error" in value):
            return Broken("a reply needs either a result or an error")
        problem = _remote_error(error) if "error" in value else None
        if "error" in value and problem is None:
            return Broken("a reply whose error is no error object")
        if id_ is None and problem is not None:
            return Broken(f"the other side could not read a message{self._quoted(problem.message[:200])}")
        if is_id(id_) and id_ in self._pending:
            self._pending.discard(id_)
            return Response(id_, value.get("result"), problem)
        if is_id(id_) and id_ in self._forgotten:
            self._forgotten.remove(id_)
            return Response(id_, value.get("result"), problem) if self._late else None
        return Broken(f"a reply to an unknown request{self._quoted(str(id_)[:80])}")

    def _quoted(self, what: str | bytes) -> str:
        return f": {what!r}" if self._quoting else ""

    def request(self, method: str, params: Mapping[str, object]) -> tuple[int, bytes]:
        """A new request's id and line.  Raises `InvalidInput` (and expects nothing) if it cannot be written."""
        id_ = next(self._ids)
        line = self._line({"jsonrpc": "2.0", "id": id_, "method": method, "params": params})
        self._pending.add(id_)
        return id_, line

    def forget(self, id_: Id) -> None:
        """Give a request up: if its reply still comes it is dropped without complaint."""
        if id_ in self._pending:
            self._pending.discard(id_)
            self._forgotten.append(id_)

    def notify(self, method: str, params: Mapping[str, object]) -> bytes:
        """The line of a notification."""
        return self._line({"jsonrpc": "2.0", "method": method, "params": params})

    def reply(self, id_: Id, result: object) -> bytes:
        """The line that answers a request.  Raises `InvalidInput` if the result is no JSON or too long."""
        return self._line({"jsonrpc": "2.0", "id": id_, "result": result})

    def error(self, id_: Id | None, error: HomedError, *, code: int = APPLICATION_ERROR) -> bytes:
        """The line that answers a request with an error.  Never fails: what cannot be written of it is left out."""
        message = error.message[:_MESSAGE_LIMIT]
        data: dict[str, object] = {"code": error.code}
        if error.hint:
            data["hint"] = error.hint[:_MESSAGE_LIMIT]
        full = {**data, "detail": error.detail} if error.detail else data
        try:
            return self._line(_error(id_, code, message, full))
        except InvalidInput:
            return self._line(_error(id_, code, message, data))

    def _line(self, message: Mapping[str, object]) -> bytes:
        return encode(message, limit=self._limit)


def _error(id_: Id | None, code: int, message: str, data: Mapping[str, object]) -> dict[str, object]:
    return {"jsonrpc": "2.0", "id": id_, "error": {"code": code, "message": message, "data": data}}


def _remote_error(value: object) -> RemoteError | None:
    if not isinstance(value, dict):
        return None
    code, message, data = value.get("code"), value.get("message"), value.get("data")
    if not isinstance(code, int) or not isinstance(message, str):
        return None
    return RemoteError(code, message, data if isinstance(data, dict) else {})
