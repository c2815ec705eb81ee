"""The model sources a person has set up, and the one in use.

Sources are a hidden setting, their keys are in the secrets file under ``llm.NAME.api_key``; the two meet only when a
request is made.  The built-in model is a source that nobody sets up: it is there as long as its weights are and the
setting allows it, and answers while there is no other.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import trio

from homed.config.definitions import (
    CONNECT_TIMEOUT,
    FIRST_BYTE_TIMEOUT,
    IDLE_TIMEOUT,
    LEARNT_WINDOWS,
    LLM_CURRENT,
    LLM_EMBEDDED,
    LLM_SOURCES,
)
from homed.errors import Conflict, HomedError, InvalidInput, NotFound, Unavailable
from homed.providers import learnt
from homed.providers.adapters import SCRIPT, native
from homed.providers.base import LOCAL, Provider, Source
from homed.providers.checking import checked, place
from homed.providers.connecting import Connecting, Late, open_connecting
from homed.providers.fallback import order
from homed.providers.guarded import Guarded, GuardPorts
from homed.providers.local import gguf
from homed.providers.local.models import EMBEDDED, LocalModels, LocalPorts, Standing
from homed.providers.lua.lazy import LazyScripts
from homed.providers.ports import SecretsPort, SettingsPort
from homed.providers.retry import RetryPolicy
from homed.providers.stored import from_setting, secret_name, telling, to_settings, unmasked, whole, without_value
from homed.providers.troubles import Troubles

PROVIDES = ("llm",)
NEEDS = ("settings",)
SLOW = True

if TYPE_CHECKING:  # loaded when a source is asked
    import httpx2

    from homed.providers.cassette import Tape
    from homed.providers.http import HttpPorts, Limits
    from homed.providers.listing import Available
    from homed.providers.lua.scripts import Listed
    from homed.providers.trial import Trial

log = logging.getLogger(__name__)

ONCE = RetryPolicy(attempts=1)
"""The driver tries once: what comes after a failure is for ``providers.fallback``, which knows the other sources."""

NOTHING_SET_UP = "Add a source on the Models page, or: homed models add NAME --base-url URL --model M"

_List = list[Source]  # the method named list hides the type's name in the signatures of the class


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
    async with open_connecting() as connecting, trio.open_nursery() as nursery:
        models = None if local is None else LocalModels(local, nursery.start_soon)
        scripts = LazyScripts(local, nursery.start_soon)
        sources = Sources(settings, secrets, connecting, know, models, scripts)
        if local is not None and local.warm:
            nursery.start_soon(sources.follow, local.hold)
            nursery.start_soon(scripts.put_in_place, local.hold)
        yield sources
        nursery.cancel_scope.cancel()


@dataclass(frozen=True, slots=True)
class _Made:
    """A provider and what it was made of; it is kept as long as that does not change."""

    source: Source
    provider: Guarded


class Sources:
    """Lists, changes and opens model sources.  Used from the Trio thread only."""

    def __init__(
        self,
        settings: SettingsPort,
        secrets: SecretsPort,
        connecting: Connecting,
        know: Callable[[Sequence[str]], None],
        local: LocalModels | None = None,
        scripts: LazyScripts | None = None,
    ) -> None:
        self._know = know
        self._local = local
        self._scripts = scripts or LazyScripts(None, lambda _: None)
        self._settings = settings
        self._secrets = secrets
        self._connecting = connecting
        self._made: dict[str, _Made] = {}
        self._slots: dict[tuple[str, str, str], trio.CapacityLimiter] = {}
        self.tape: Callable[[], Tape | None] = lambda: None
        """Where what sources are asked and answer is written down for tests, if anybody wants that."""
        self.metered: Callable[[Provider], Provider] = lambda provider: provider
        """Takes what a trial of a source asks through the gate, where there is one."""
        self._one_change = trio.Lock()
        for source in self._stored():
            know(telling(source))
        self.troubles = Troubles()
        """Who is left alone for a while: noted by whoever asks, forgotten when a person does something about it."""

    def list(self) -> list[Source]:
        """Every source, in the order they were added, the built-in one last."""
        found = self._stored()
        taken = any(source.name == EMBEDDED.name for source in found)
        built_in = self._local is not None and self._local.built_in and bool(self._settings.get(LLM_EMBEDDED))
        return [*found, EMBEDDED] if built_in and not taken else found

    def standing(self, source: Source) -> Standing:
        """How a source is doing, so far as that is known: one on this machine always is, of others their trouble."""
        if self._local is None or source.adapter != LOCAL:
            trouble = self.troubles.of(source.name)
            lost = ", ".join(without_value(source))
            why = trouble.why if trouble else f"The value of its header {lost} is gone: give it again." if lost else ""
            return Standing("failed", why) if why else Standing()
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
                source = whole(from_setting(entry), self._secrets.get)
                # Whether there is such a script is seen when it is asked: its file may come back.
                found.append(checked(source, [source.adapter.removeprefix(SCRIPT)]))
            except InvalidInput as error:
                log.warning("a model source in %s is left out: %s", LLM_SOURCES, error)
        return found

    def current(self) -> Source | None:
        """The source in use: the one chosen, else that of the highest priority; None when there is none."""
        sources = self.list()
        chosen = self._settings.get(LLM_CURRENT)
        ranked = order(sources, None) or sources
        return next((s for s in sources if s.name == chosen), ranked[0] if ranked else None)

    def has_key(self, name: str) -> bool:
        """True if there is a key for it, stored or from the environment."""
        return bool(self._secrets.get(secret_name(name)))

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
            made = self._made[source.name] = _Made(source, Guarded(source, self._guard(source)))
        return made.provider

    async def add(self, source: Source, api_key: str | None = None) -> Source:
        """Add a source, or replace the one of that name; returns it as stored.  The first one is in use at once.

        ``api_key`` None keeps the stored key, "" forgets it; a key is only ever sent where it was given for, so None is
        refused when the address is another one.  Raises InvalidInput for what cannot work, Conflict when the sources
        are given from outside; nothing is stored then.  Cancelled: it is either whole or not there.
        """
        names = await self._script_names(source)
        self._completed(source, names)
        if source.name == EMBEDDED.name:
            raise InvalidInput(f"{source.name!r} is the built-in model.", hint="Give the source another name.")
        self._settings.changeable(LLM_SOURCES)
        if source.path:
            await trio.to_thread.run_sync(gguf.check, Path(source.path))
        self._know([*telling(source), *([api_key] if api_key is not None else [])])
        keys = {} if api_key is None else {secret_name(source.name): api_key.strip() or None}
        async with self._one_change:  # what it had is looked at in here: another change may be under way
            source, kept = self._completed(source, names), self._stored()
            if api_key is None:
                self._same_place(source)
            if self._in(kept, source.name) is not None:
                kept = [source if old.name == source.name else old for old in kept]
            else:
                kept.append(source)
            await self._settings.change({LLM_SOURCES: to_settings(kept)}, keys=keys)
        self.troubles.clear(source.name)
        return source

    def _completed(self, source: Source, names: Sequence[str]) -> Source:
        """As it would be stored now; raises InvalidInput for what cannot work."""
        return checked(unmasked(source, self._in(self._stored(), source.name)), names)

    @staticmethod
    def _in(sources: Iterable[Source], name: str) -> Source | None:
        return next((one for one in sources if one.name == name), None)

    def _same_place(self, source: Source) -> None:
        """Raises InvalidInput if the key that is stored for this name was given for another server."""
        old = self._in(self._stored(), source.name)
        if old is not None and self.has_key(source.name) and place(old) != place(source):
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
            changes: dict[str, object] = {LLM_SOURCES: to_settings(old for old in self._stored() if old.name != name)}
            if self._settings.get(LLM_CURRENT) == name:
                changes[LLM_CURRENT] = ""
            await self._settings.change(changes, keys={secret_name(name): None})
        self._made.pop(name, None)
        self._slots = {key: slots for key, slots in self._slots.items() if key[0] != name or slots.borrowed_tokens}

    async def use(self, name: str) -> None:
        """Answer with this source from the next model call on; NotFound if there is none of that name."""
        self._named(name)
        await self._settings.set(LLM_CURRENT, name)
        self.troubles.clear(name)

    async def test(self, name: str) -> Trial:
        """Ask it short questions.  A failure is in the result; only an unknown name raises (NotFound)."""
        from homed.providers.trial import Trial, try_out  # only when a person asks

        self._named(name)
        try:
            provider = self.provider(name)
            adjustments = provider.adjustments if isinstance(provider, Guarded) else ()
            trial = await try_out(self.metered(provider), adjustments)
            if trial.ok:
                self.troubles.clear(name)
            return trial
        except HomedError as error:
            return Trial(ok=False, error=error.message, hint=error.hint)

    def _named(self, name: str) -> Source:
        for source in self.list():
            if source.name == name:
                return source
        raise NotFound(f"There is no model source {name!r}.", hint="`homed models list` shows them.")

    async def available(self, source: Source, api_key: str | None = None) -> Sequence[Available]:
        """The models that the server of ``source`` lists; the source itself need not be one of these yet.

        ``api_key`` None asks with the stored key, if it was given for that server.  Raises ProviderError, InvalidInput.
        """
        from homed.providers import listing  # only when a person asks

        if source.adapter == LOCAL:
            raise InvalidInput(f"{source.name} runs on this machine: it has one model.")
        source = checked(replace(source, model=source.model or "any"), await self._script_names(source))
        if api_key is None:
            self._same_place(source)
        else:
            self._know([api_key])
        key = (self._secrets.get(secret_name(source.name)) or "") if api_key is None else api_key.strip()
        return await listing.fetch(await self._connecting.client(), source, key, self._limits())

    async def adapters(self) -> Sequence[Listed]:
        """The adapter scripts there are, each tried.  Raises StorageError."""
        return await self._scripts.get().listed()

    async def _script_names(self, source: Source) -> Sequence[str]:
        return await self._scripts.get().names() if source.adapter.startswith(SCRIPT) else ()

    def learnt(self, source: Source) -> int:
        """The window that a source turned out to have, in tokens; 0 where its own was right so far."""
        return learnt.window_of(self._settings.get(LEARNT_WINDOWS), source)

    def _guard(self, source: Source) -> GuardPorts:
        async def learn(window: int) -> None:
            async with self._one_change:
                kept = learnt.with_window(self._settings.get(LEARNT_WINDOWS), source, window)
                await self._settings.set(LEARNT_WINDOWS, kept)

        return GuardPorts(self._provider, lambda: self.learnt(source), learn)

    def _provider(self, source: Source) -> Provider:
        if source.adapter.startswith(SCRIPT):
            self._scripts.needed()

        def make(client: httpx2.AsyncClient) -> Provider:
            from homed.providers.http import HttpProvider

            if source.adapter.startswith(SCRIPT):
                return self._scripts.get().provider(source, self._ports(source, client))
            return HttpProvider(source, native(source.adapter), self._ports(source, client))

        return Late(source, self._connecting, make)

    def _ports(self, source: Source, client: httpx2.AsyncClient) -> HttpPorts:
        from homed.providers.http import HttpPorts

        def key() -> str | None:
            """A question may wait, and ask again, while the source gets another address and the key of that."""
            now = self._in(self._stored(), source.name)
            return self._secrets.get(secret_name(source.name)) if now and place(now) == place(source) else None

        tape = self.tape()
        http = client if tape is None else tape.client(source, key, client)
        return HttpPorts(http, key, self._limits, policy=ONCE, slots=self._slots_of(source))

    def _slots_of(self, source: Source) -> trio.CapacityLimiter:
        """What is still answered of a source that was changed meanwhile counts, as long as the server is the same."""
        slots = self._slots.setdefault((source.name, *place(source)), trio.CapacityLimiter(source.max_concurrent))
        slots.total_tokens = source.max_concurrent
        return slots

    def _limits(self) -> Limits:
        from homed.providers.http import Limits

        read = self._settings.float
        return Limits(read(CONNECT_TIMEOUT), read(FIRST_BYTE_TIMEOUT), read(IDLE_TIMEOUT))
