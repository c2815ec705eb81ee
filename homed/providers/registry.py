"""The model sources a person has set up, and the one in use.

Sources are a hidden setting, their keys are in the secrets file under ``llm.NAME.api_key``; the two meet only when a
request is made.  The built-in model is a source that nobody sets up: it is there as long as its weights are and the
setting allows it, and answers while there is no other.
"""

from __future__ import annotations

import logging
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, asynccontextmanager
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Protocol
from urllib.parse import urlsplit

import httpx2
import trio

from homed.config.definitions import (
    CONNECT_TIMEOUT,
    FIRST_BYTE_TIMEOUT,
    IDLE_TIMEOUT,
    LLM_CURRENT,
    LLM_EMBEDDED,
    LLM_SOURCES,
)
from homed.errors import ConfigError, Conflict, HomedError, InvalidInput, NotFound, Unavailable
from homed.net import open_http
from homed.providers.base import LOCAL, Provider, Source
from homed.providers.http import HttpPorts, Limits
from homed.providers.local import gguf
from homed.providers.local.models import EMBEDDED, LocalModels, LocalPorts, Standing
from homed.providers.openai import openai
from homed.providers.trial import Trial, try_out
from homed.settings.registry import MASK

PROVIDES = ("llm",)
NEEDS = ("settings",)
SLOW = True

log = logging.getLogger(__name__)

ADAPTERS: Mapping[str, Callable[[Source, HttpPorts], Provider]] = {"openai": openai}
"""Adapter name → how to make a provider of it; ``local`` besides."""

NOTHING_SET_UP = "Add a source on the Models page, or: homed models add NAME --base-url URL --model M"

_List = list[Source]  # the method named list hides the type's name in the signatures of the class

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


class SettingsPort(Protocol):
    """What is read and written of the settings."""

    def get(self, key: str) -> object:
        """The value in force."""
        ...

    def float(self, key: str) -> float:
        """A number; durations are seconds."""
        ...

    def changeable(self, key: str) -> None:
        """Raises Conflict for a key that is given from outside."""
        ...

    async def set(self, key: str, value: object) -> object:
        """Check, store and announce a value."""
        ...

    async def change(self, changes: Mapping[str, object], *, keys: Mapping[str, str | None]) -> object:
        """The same for several, with the secrets that go with them (None: out), all or none."""
        ...

    def watch(self, prefix: str = "") -> AbstractContextManager[AsyncIterator[object]]:
        """Follow changes of keys that begin with ``prefix``."""
        ...


class SecretsPort(Protocol):
    """What is read of the secrets; usable from any thread."""

    def get(self, name: str) -> str | None:
        """The secret, or None."""
        ...


def _no_one(_: Sequence[str]) -> None:
    """Where nothing is logged or shown, nobody needs to know the keys."""


@asynccontextmanager
async def open_sources(
    settings: SettingsPort,
    secrets: SecretsPort,
    know: Callable[[Sequence[str]], None] = _no_one,
    local: LocalPorts | None = None,
) -> AsyncIterator[Sources]:
    """The sources with an HTTP client and, with ``local``, the models of this machine, for the length of the block.

    ``know`` hears of every new key before it is used or stored, so that it is taken out of logs and texts.  What uses
    a source ends before the block does: on leaving it, models on this machine are ended at once.
    """
    async with open_http() as http, trio.open_nursery() as nursery:
        models = None if local is None else LocalModels(local, nursery.start_soon)
        sources = Sources(settings, secrets, http, know, models)
        if local is not None and local.warm:
            nursery.start_soon(sources.follow, local.hold)
        yield sources
        nursery.cancel_scope.cancel()


@dataclass(frozen=True, slots=True)
class _Made:
    """A provider and what it was made of; it is kept as long as that does not change, and its limiter with it."""

    source: Source
    provider: Provider


class Sources:
    """Lists, changes and opens model sources.  Used from the Trio thread only."""

    def __init__(
        self,
        settings: SettingsPort,
        secrets: SecretsPort,
        http: httpx2.AsyncClient,
        know: Callable[[Sequence[str]], None],
        local: LocalModels | None = None,
    ) -> None:
        self._know = know
        self._local = local
        self._settings = settings
        self._secrets = secrets
        self._http = http
        self._made: dict[str, _Made] = {}
        self._one_change = trio.Lock()

    def list(self) -> list[Source]:
        """Every source, in the order they were added, the built-in one last."""
        found = self._stored()
        taken = any(source.name == EMBEDDED.name for source in found)
        built_in = self._local is not None and self._local.built_in and bool(self._settings.get(LLM_EMBEDDED))
        return [*found, EMBEDDED] if built_in and not taken else found

    def standing(self, source: Source) -> Standing:
        """How a source on this machine is doing; empty for others."""
        if self._local is None or source.adapter != LOCAL:
            return Standing()
        return self._local.standing(source)

    async def follow(self, hold: Callable[[], Awaitable[None]] = trio.lowlevel.checkpoint) -> None:
        """Keep the current source ready if it runs on this machine, once ``hold`` returns, until cancelled."""
        assert self._local is not None
        await hold()
        with self._settings.watch("core.llm.") as changes:
            self._local.follow(self.list(), self.current())
            async for _ in changes:
                self._local.follow(self.list(), self.current())

    async def wait_ready(self, source: Source) -> str:
        """Wait until it can be asked: ''; or why it cannot.  One elsewhere can at once, one here when it is loaded."""
        if source.adapter != LOCAL or self._local is None:
            return ""
        return await self._local.wait_ready(source)

    def _stored(self) -> _List:
        """One that cannot be read is left out and logged."""
        found: list[Source] = []
        stored = self._settings.get(LLM_SOURCES)
        for entry in stored if isinstance(stored, list | tuple) else ():
            try:
                found.append(checked(_from_setting(entry)))
            except InvalidInput as error:
                log.warning("a model source in %s is left out: %s", LLM_SOURCES, error)
        return found

    def current(self) -> Source | None:
        """The source in use: the one chosen, else the first; None when there is none."""
        sources = self.list()
        chosen = self._settings.get(LLM_CURRENT)
        return next((s for s in sources if s.name == chosen), sources[0] if sources else None)

    def has_key(self, name: str) -> bool:
        """True if there is a key for it, stored or from the environment."""
        return bool(self._secrets.get(_secret(name)))

    def provider(self, name: str | None = None) -> Provider:
        """The current source, or the named one, ready to be asked.

        Raises Unavailable, with what to do, when no source is set up; NotFound for an unknown name.
        """
        source = self.current() if name is None else self._named(name)
        if source is None:
            raise Unavailable("No model is set up yet.", hint=NOTHING_SET_UP)
        if source.adapter == LOCAL:
            if self._local is None:
                raise Unavailable(f"{source.name} runs on this machine only inside homed.")
            return self._local.provider(source)
        made = self._made.get(source.name)
        if made is None or made.source != source:
            made = _Made(source, ADAPTERS[source.adapter](source, self._ports(source.name)))
            self._made[source.name] = made
        return made.provider

    async def add(self, source: Source, api_key: str | None = None) -> Source:
        """Add a source, or replace the one of that name; returns it as stored.  The first one is in use at once.

        ``api_key`` None keeps the stored key, "" forgets it; a key is only ever sent where it was given for, so None is
        refused when the address is another one.  Raises InvalidInput for what cannot work, Conflict when the sources
        are given from outside; nothing is stored then.  Cancelled: it is either whole or not there.
        """
        source = checked(source)
        if source.name == EMBEDDED.name:
            raise InvalidInput(f"{source.name!r} is the built-in model.", hint="Give the source another name.")
        self._settings.changeable(LLM_SOURCES)
        if source.path:
            await trio.to_thread.run_sync(gguf.check, Path(source.path))
        if api_key is None:
            self._same_place(source)
        else:
            self._know([api_key])
        keys = {} if api_key is None else {_secret(source.name): api_key.strip() or None}
        async with self._one_change:
            kept = self._stored()
            if any(old.name == source.name for old in kept):
                kept = [source if old.name == source.name else old for old in kept]
            else:
                kept.append(source)
            await self._settings.change({LLM_SOURCES: _to_settings(kept)}, keys=keys)
        return source

    def _same_place(self, source: Source) -> None:
        """Raises InvalidInput if the key that is stored for this name was given for another server."""
        old = next((one for one in self._stored() if one.name == source.name), None)
        if old is not None and self.has_key(source.name) and _place(old) != _place(source):
            raise InvalidInput(
                f"The key of {source.name} was given for another address.",
                hint="Give the key again, or an empty one if none is needed.",
            )

    async def remove(self, name: str) -> None:
        """Forget a source and its key; NotFound if there is none of that name, Conflict for the built-in one."""
        async with self._one_change:
            if self._named(name) == EMBEDDED:
                raise Conflict(
                    "The built-in model cannot be removed.",
                    hint=f"Any other source replaces it; `homed config set {LLM_EMBEDDED} off` hides it.",
                )
            changes: dict[str, object] = {LLM_SOURCES: _to_settings(old for old in self._stored() if old.name != name)}
            if self._settings.get(LLM_CURRENT) == name:
                changes[LLM_CURRENT] = ""
            await self._settings.change(changes, keys={_secret(name): None})
        self._made.pop(name, None)

    async def use(self, name: str) -> None:
        """Answer with this source from the next model call on; NotFound if there is none of that name."""
        self._named(name)
        await self._settings.set(LLM_CURRENT, name)

    async def test(self, name: str) -> Trial:
        """Ask it two short questions.  A failure is in the result; only an unknown name raises (NotFound)."""
        self._named(name)
        try:
            return await try_out(self.provider(name))
        except HomedError as error:
            return Trial(ok=False, error=error.message, hint=error.hint)

    def _named(self, name: str) -> Source:
        for source in self.list():
            if source.name == name:
                return source
        raise NotFound(f"There is no model source {name!r}.", hint="`homed models list` shows them.")

    def _ports(self, name: str) -> HttpPorts:
        return HttpPorts(self._http, lambda: self._secrets.get(_secret(name)), self._limits)

    def _limits(self) -> Limits:
        read = self._settings.float
        return Limits(read(CONNECT_TIMEOUT), read(FIRST_BYTE_TIMEOUT), read(IDLE_TIMEOUT))


def checked(source: Source) -> Source:
    """The source, its base URL trimmed to the part before ``/chat/completions``; InvalidInput for what cannot work."""
    if not _NAME.fullmatch(source.name):
        raise InvalidInput(
            f"{source.name!r} cannot be the name of a source.", hint="Up to 64 letters, digits, dots, dashes."
        )
    if source.adapter not in (*ADAPTERS, LOCAL):
        raise InvalidInput(
            f"There is no adapter {source.adapter!r}.", hint=f"There is: {', '.join([*ADAPTERS, LOCAL])}."
        )
    if not source.model.strip():
        raise InvalidInput(f"The source {source.name} names no model.", hint="Give the name the provider uses for it.")
    if source.context_window < 1024 or source.max_concurrent < 1:
        raise InvalidInput(
            f"The limits of the source {source.name} are too small.",
            hint="context_window is at least 1024 tokens, max_concurrent at least 1.",
        )
    address = _no_address(source) if source.adapter == LOCAL else _address(source)
    return replace(source, base_url=address, model=source.model.strip())


def _no_address(source: Source) -> str:
    hint = "Give the path of its GGUF file alone: homed models add NAME --gguf FILE."
    if source.base_url.strip():
        raise InvalidInput(f"{source.name} runs on this machine: it has no base URL.", hint=hint)
    if source.vision:
        raise InvalidInput(f"{source.name} runs on this machine: it cannot be shown images yet.", hint=hint)
    if not Path(source.path).is_absolute():
        raise InvalidInput(f"The file of {source.name} needs an absolute path.", hint=hint)
    return ""


def _place(source: Source) -> tuple[str, str]:
    """Where its key is sent."""
    parts = urlsplit(source.base_url)
    return parts.scheme, parts.netloc.lower()


def _address(source: Source) -> str:
    if source.path:
        raise InvalidInput(f"{source.name} has both a base URL and a file.", hint="A file goes with --gguf alone.")
    text = source.base_url.strip().rstrip("/").removesuffix("/chat/completions")
    hint = "Give one like https://api.example.com/v1."
    try:
        parts = urlsplit(text)
        good = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        good = False
    if not good or any(c.isspace() for c in text):
        raise InvalidInput(f"The base URL of {source.name} is no address of a server.", hint=hint)
    if parts.username or parts.password:
        raise InvalidInput(f"The base URL of {source.name} holds a password.", hint="Give it as the API key instead.")
    return text


def shown(stored: object) -> object:
    """The stored sources for people: the values of their own headers are masked, since they may be keys."""
    return [_shown(entry) for entry in stored] if isinstance(stored, list | tuple) else stored


def _shown(entry: object) -> object:
    options = entry.get("options") if isinstance(entry, Mapping) else None
    if not isinstance(entry, Mapping) or not isinstance(options, Mapping) or not options.get("headers"):
        return entry
    headers = options["headers"]
    masked = dict.fromkeys(headers, MASK) if isinstance(headers, Mapping) else MASK
    return {**entry, "options": {**options, "headers": masked}}


def _secret(name: str) -> str:
    return f"llm.{name}.api_key"


def _to_settings(sources: Iterable[Source]) -> list[dict[str, object]]:
    return [_to_setting(source) for source in sources]


def _to_setting(source: Source) -> dict[str, object]:
    return {**asdict(source), "options": dict(source.options)}


def _from_setting(entry: object) -> Source:
    if not isinstance(entry, Mapping):
        raise ConfigError("it is not a table.")
    known = {f.name: f.type for f in fields(Source)}
    if unknown := sorted(set(map(str, entry)) - set(known)):
        raise ConfigError(f"unknown: {', '.join(unknown)}.")
    for name in ("name", "base_url", "model"):
        if name not in entry:
            raise ConfigError(f"{name} is missing.")
    for name, value in entry.items():
        wanted = {"str": str, "int": int, "bool": bool}.get(str(known[name]), Mapping)
        if not isinstance(value, wanted) or (isinstance(value, bool) and wanted is not bool):
            raise ConfigError(f"{name} has the wrong type.")
    return Source(**entry)
