"""Download one file from the web: https only, bounded in bytes, hops and time.  Not imported by a plugin that does not.

Redirects are followed here and not by the HTTP client, so that each hop is looked at first.
"""

from __future__ import annotations

import hashlib
import os
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO
from urllib.parse import urljoin, urlsplit, urlunsplit

import httpx2
import trio

from homed.errors import HomedError, InvalidInput, StorageError, TimedOut, Unavailable

LIMIT = 100_000_000
"""Bytes."""
TIMEOUT = 30.0
MAX_REDIRECTS = 10

_REDIRECTS = (301, 302, 303, 307, 308)
_HEADERS = {"User-Agent": "homed", "Accept": "*/*", "Accept-Encoding": "identity"}

OnProgress = Callable[[int, int | None], None]
"""Hears bytes so far, and in all if the server says so.  Must not wait."""


@dataclass(frozen=True, slots=True)
class Fetched:
    """What was downloaded.  ``url`` is where it came from at last, without what may be secret in it."""

    path: Path
    size: int
    sha256: str
    url: str


def shown_url(url: str) -> str:
    """``url`` as it may be shown and kept: without user, query and fragment, which may hold secrets."""
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    return urlunsplit((parts.scheme, host, parts.path, "", ""))[:500]


def check_url(url: str) -> str:
    """``url`` if it may be fetched.  Raises `InvalidInput` for anything but https, and for a user or password in it."""
    try:
        parts = urlsplit(url.strip())
        host, _ = parts.hostname, parts.port
    except ValueError as error:
        raise InvalidInput(f"{url[:200]!r} is no web address: {error}.") from error
    if parts.scheme != "https":
        raise InvalidInput(
            f"{shown_url(url)!r} is no https address.", hint="Over anything else nobody knows who sends the file."
        )
    if not host:
        raise InvalidInput(f"{shown_url(url)!r} names no host.")
    if parts.username is not None or parts.password is not None:
        raise InvalidInput("An address with a user or password in it is not used.", hint="Download the file yourself.")
    return urlunsplit(parts._replace(fragment=""))


async def fetch(
    url: str,
    into: Path,
    *,
    limit: int = LIMIT,
    timeout: float = TIMEOUT,
    on_progress: OnProgress | None = None,
    tls: ssl.SSLContext | None = None,
) -> Fetched:
    """Download ``url`` into the new file ``into``.

    ``limit`` in bytes, ``timeout`` in seconds for all of it with its redirects; ``tls`` replaces whom to trust.  Raises
    `InvalidInput` (not https at any hop, too many hops, too large), `Unavailable` (no answer, or one that is no file),
    `TimedOut`, `StorageError`.  After an error or a cancellation ``into`` is not there.
    """
    try:
        with trio.fail_after(timeout):
            return await _fetch(check_url(url), into, limit, on_progress, tls or ssl.create_default_context())
    except trio.TooSlowError:
        raise TimedOut(
            f"{shown_url(url)} took longer than {timeout:g} s and was given up.", hint="Nothing was kept of it."
        ) from None


async def _fetch(url: str, into: Path, limit: int, on_progress: OnProgress | None, tls: ssl.SSLContext) -> Fetched:
    async with httpx2.AsyncClient(verify=tls, follow_redirects=False, timeout=None, headers=_HEADERS) as client:
        for _ in range(MAX_REDIRECTS + 1):
            try:
                async with client.stream("GET", url) as answer:
                    client.cookies.clear()
                    if answer.status_code not in _REDIRECTS:
                        return await _save(answer, url, into, limit, on_progress)
                    url = _next(url, answer)
            except httpx2.HTTPError as error:
                raise Unavailable(f"{shown_url(url)} cannot be fetched: {_why(error)}.") from error
    raise InvalidInput(f"More than {MAX_REDIRECTS} redirects, the last to {shown_url(url)}.")


def _next(url: str, answer: httpx2.Response) -> str:
    where = answer.headers.get("location", "")
    if not where:
        raise Unavailable(f"{shown_url(url)} redirects to nowhere.")
    try:
        return check_url(urljoin(url, where))
    except (InvalidInput, ValueError) as error:
        reason = error.message if isinstance(error, HomedError) else "that is no address."
        raise InvalidInput(f"{shown_url(url)} redirects where it may not: {reason}") from error


async def _save(answer: httpx2.Response, url: str, into: Path, limit: int, on_progress: OnProgress | None) -> Fetched:
    if answer.status_code != 200:
        raise Unavailable(
            f"{shown_url(url)} answered {answer.status_code} {answer.reason_phrase[:80]}.".replace(" .", ".")
        )
    announced = answer.headers.get("content-length", "")
    whole = int(announced) if announced.isascii() and announced.isdecimal() else None
    if whole is not None and whole > limit:
        raise _too_large(url, limit)
    try:
        file = _new_file(into)
    except OSError as error:
        raise StorageError(f"{into} cannot be written: {error.strerror}.") from error
    digest, size, kept = hashlib.sha256(), 0, False
    try:
        with file, trio.CancelScope() as reading:
            async for piece in answer.aiter_raw():
                size += len(piece)
                if size > limit:
                    reading.cancel()  # from inside out: its generators have no other way to be closed
                    continue
                digest.update(piece)
                file.write(piece)  # to the page cache; no slower than a thread for it
                if on_progress is not None:
                    on_progress(size, whole)
        if size > limit:
            raise _too_large(url, limit)
        kept = True
    except OSError as error:
        raise StorageError(f"{into} cannot be written: {error.strerror}.", hint="Free space on the disk.") from error
    finally:
        if not kept:
            _drop(into)
    return Fetched(into, size, digest.hexdigest(), shown_url(url))


def _new_file(path: Path) -> IO[bytes]:
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600), "wb")


def _drop(path: Path) -> None:
    path.unlink(missing_ok=True)


def _too_large(url: str, limit: int) -> InvalidInput:
    return InvalidInput(f"{shown_url(url)} is larger than {limit} bytes.")


def _why(error: Exception) -> str:
    """The deepest cause that has words, in one line: what lies over it often has none."""
    cause: BaseException | None = error
    text = ""
    while cause is not None:
        text = " ".join(str(cause).split())[:200] or text
        cause = cause.__cause__ or cause.__context__
    return (text or type(error).__name__).rstrip(".")
