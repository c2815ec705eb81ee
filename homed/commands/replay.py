"""`homed models replay`: a recording played through its adapter again, so that a fault shows without the source.

Nothing is asked: what was recorded is read as it would be if it came now, by the kernel's own adapter or by the script
that is in the data folder now.  What a script fetches for itself is answered from the exchanges before.  Secrets were
taken out when it was recorded, and are once more, from what the pieces together say.
"""

from __future__ import annotations

import argparse
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit

import httpx2
import trio

from homed.agent.model import Gatherer, Said
from homed.commands.output import as_json, clean
from homed.commands.place import paths_of
from homed.commands.recording import recorded
from homed.commands.saying import phrase, translated
from homed.config.environment import child_environment, read_environment
from homed.config.secrets import Secrets
from homed.errors import InvalidInput
from homed.net import open_http
from homed.providers.adapter import Adapter
from homed.providers.adapters import SCRIPT, native
from homed.providers.base import ChatRequest, ProviderError, Source, User
from homed.providers.cassette import Played
from homed.providers.http import HttpPorts, HttpProvider
from homed.providers.lua.lazy import FOLDER
from homed.providers.retry import RetryPolicy
from homed.redact import Redactor

NATIVE = ("openai", "anthropic", "gemini", "ollama")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of one exchange: parts by kind, what a conversation would keep of it, and how it failed, if it did."""

    parts: Mapping[str, int] = field(default_factory=dict)
    said: Said = field(default_factory=Said)
    error: ProviderError | None = None

    def wire(self) -> dict[str, object]:
        """For ``--json``.  Of what only the source can read its size alone."""
        said, error = self.said, self.error
        calls = [
            {"id": c.id, "name": c.name, "arguments": dict(c.arguments) if c.arguments is not None else c.raw}
            for c in said.calls
        ]
        kept: dict[str, object] = {
            "text": said.text, "reasoning": said.reasoning, "calls": calls, "reason": said.reason,
            "usage": {"prompt": said.usage.prompt, "completion": said.usage.completion, "cached": said.usage.cached},
            "opaque_bytes": len(said.opaque.data.encode("utf-8", "replace")) if said.opaque else 0,
        }  # fmt: skip
        failed = error and {
            "kind": error.kind.value, "status": error.status, "message": error.message, "hint": error.hint,
            "partial": error.partial,
        }  # fmt: skip
        return {"parts": dict(self.parts), "stored": kept, "error": failed}


def replay(args: argparse.Namespace) -> int:
    """Play all of it, or one exchange; 1 if one cannot be read."""
    exchanges = recorded(args, args.name)
    if args.only and not 1 <= args.only <= len(exchanges):
        raise InvalidInput(f"{args.name} has {len(exchanges)} exchanges, and no number {args.only}.")
    told, redactor = [], Redactor(_secrets(args))
    for number, one in enumerate(exchanges, 1):
        if args.only in (0, number):
            adapter = args.adapter or str(one.get("adapter"))
            outcome = trio.run(play, one, adapter, paths_of(args).data / FOLDER, exchanges[: number - 1])
            view = {"number": number, "source": one.get("source"), "adapter": adapter, "status": one.get("status"),
                    "ended": one.get("ended"), **outcome.wire()}  # fmt: skip
            told.append(cast(dict[str, Any], redactor.redact_json(view)))
    if args.json:
        as_json(told)
    else:
        for view in told:
            _show(view)
    return int(any(view["error"] for view in told))


def _secrets(args: argparse.Namespace) -> Sequence[str]:
    """Those of this folder: an answer may hold one in pieces, which is whole only when it was put together."""
    paths = paths_of(args)
    return [*Secrets(paths.secrets).known(), *read_environment(paths.config).secrets.values()]


async def play(
    exchange: Mapping[str, Any], adapter: str, scripts: Path | None = None, before: Sequence[Mapping[str, Any]] = ()
) -> Outcome:
    """What the adapter makes of it.  ``scripts``: the folder of those that are; ``before``: what was exchanged till
    then.  InvalidInput for an adapter that is none."""
    request = exchange.get("request")
    model = str(request.get("model", "")) if isinstance(request, Mapping) else ""
    source = Source(str(exchange.get("source")), "http://recorded.invalid", model or "recorded", adapter)
    async with _adapter(adapter, scripts, before) as reading, open_http(_Recorded(exchange)) as client:
        ports = HttpPorts(client, lambda: "", policy=RetryPolicy(attempts=1))
        return await _gather(HttpProvider(source, reading, ports))


async def _gather(provider: HttpProvider) -> Outcome:
    gathered, parts = Gatherer(), Counter[str]()
    try:
        async with provider.stream(ChatRequest((User("recorded"),))) as stream:
            async for part in stream:
                parts[type(part).__name__] += 1
                gathered.take(part)
    except ProviderError as error:
        return Outcome(parts, gathered.said(), error)
    return Outcome(parts, gathered.said())


@asynccontextmanager
async def _adapter(name: str, folder: Path | None, before: Sequence[Mapping[str, Any]]) -> AsyncIterator[Adapter]:
    """The adapter of that name; a script's process ends with the block."""
    if name in NATIVE:
        yield native(name)
        return
    if folder is None or not name.startswith(SCRIPT):
        hint = f"Say which is spoken there: --adapter {'|'.join(NATIVE)}, or {SCRIPT}NAME for a script."
        raise InvalidInput(f"{name!r} is no adapter.", hint=hint)
    from homed.providers.lua.scripts import LuaPorts, Scripts, script_name  # only where one is used

    script_name(name)
    with tempfile.TemporaryDirectory(prefix="homed-replay-") as run:
        async with open_http(_Fetched(before)) as client, trio.open_nursery() as nursery:
            ports = LuaPorts(folder, Path(run), child_environment(), Path(run).name)
            start: Callable[[Callable[[], Any]], None] = nursery.start_soon
            yield Scripts(ports, start).adapter(name, HttpPorts(client, lambda: ""))
            nursery.cancel_scope.cancel()


class _Fetched(httpx2.AsyncBaseTransport):
    """Answers what a script fetches for itself: as the last exchange did that went to such a path."""

    def __init__(self, before: Sequence[Mapping[str, Any]]) -> None:
        self._before = before

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """The recorded answer; ConnectError where there is none."""
        path = urlsplit(str(request.url)).path
        for one in reversed(self._before):
            if urlsplit(str(one.get("url"))).path.endswith(path):
                return await _Recorded(one).handle_async_request(request)
        raise httpx2.ConnectError(f"{path} was not recorded before")


class _Recorded(httpx2.AsyncBaseTransport):
    """Answers whatever is asked as it was recorded."""

    def __init__(self, exchange: Mapping[str, Any]) -> None:
        self._exchange = exchange

    async def handle_async_request(self, _: httpx2.Request) -> httpx2.Response:
        """The recorded answer."""
        await trio.lowlevel.checkpoint()
        one = self._exchange
        chunks: Sequence[Any] = one.get("chunks") or ()
        return httpx2.Response(int(one.get("status") or 0), headers=one.get("headers") or {}, stream=Played(chunks))


def _show(view: Mapping[str, Any]) -> None:
    kept, error = view["stored"], view["error"]
    head = phrase("{number}. {source} ({adapter}), HTTP {status}, ended {ended}", **view)
    print(clean(head))
    came = ", ".join(f"{count} {name}" for name, count in view["parts"].items())
    print(phrase("  came: {came}", came=came or phrase("nothing")))
    for name in ("text", "reasoning"):
        if kept[name]:
            print(clean(f"  {phrase(name)}: {kept[name]!r}"))
    for call in kept["calls"]:
        print(clean(phrase("  call {id}: {name} {arguments!r}", **call)))
    if kept["opaque_bytes"]:
        print(phrase("  for the source alone: {opaque_bytes} bytes", opaque_bytes=kept["opaque_bytes"]))
    reason = clean(str(kept["reason"])) or phrase("no reason")
    print(phrase("  ended for: {reason}; tokens {prompt} + {completion}", **kept["usage"], reason=reason))
    if error:
        what, hint = translated(error["message"]), translated(error["hint"])
        print(clean(phrase("  fails: {kind}: {what}\n    → {hint}", kind=error["kind"], what=what, hint=hint)).rstrip())
