"""The composition root: builds everything, holds the nursery tree, and ends it in order.

Lifetimes are nesting: what uses a thing lives inside it, so the end is the beginning backwards.  Nothing else wires,
but ``wiring``, which is the second half of this.  A start loads three times: this first, which starts the plugins'
processes; while they do their own imports the porch, which is all that the page needs to open; then the kernel.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager, asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING

import trio

from homed.api.door import Door
from homed.api.ports import PorchPorts
from homed.builtin.names import RESERVED
from homed.config.definitions import STOP_PATIENCE
from homed.config.environment import child_environment
from homed.ground import Ground, lay_ground
from homed.ground import Options as Options
from homed.host.discover import Broken, Installed
from homed.host.host import Host, HostPorts
from homed.host.limits import host_limits
from homed.identity.keys import ApiKeys
from homed.identity.logins import Logins
from homed.identity.peers import Directory
from homed.identity.tokens import CallTokens
from homed.lifecycle import House, apply_log, cause_of, follow_settings, greet, report_damage, watch_signals
from homed.proc.reap import become_subreaper
from homed.proc.spawn import Forker
from homed.settings.plugin import define_plugin, definitions_of, settings_of, undefine_plugin
from homed.settings.registry import Settings, open_settings
from homed.settings.thresholds import note_unasked
from homed.store.db import Store, open_store

if TYPE_CHECKING:
    from homed.agent.conversations import Conversations

_log = logging.getLogger(__name__)


def serve(options: Options) -> int:
    """Run the daemon until a signal ends it; 0.  Raises a ``HomedError`` when it cannot start."""
    become_subreaper()
    with lay_ground(options) as ground:
        try:
            trio.run(run, ground)
        except BaseExceptionGroup as group:
            raise cause_of(group) from None
    return 0


async def run(ground: Ground) -> None:
    """The nursery tree.  Returns after an orderly stop; cancelled, everything below ends in the same order."""
    options, found, door = ground.options, ground.options.plugins(), Door()
    async with _open_floor(ground) as (store, settings, zygote):
        for plugin in found:
            settings.define(definitions_of(plugin.manifest) if isinstance(plugin, Installed) else ())
        apply_log(settings)
        for fault in () if options.safe else settings.unclaimed():  # without plugins nobody claims theirs
            _log.warning("%s", fault)
        host, logins = build_host(ground, store, settings, found, door, zygote), Logins(store, settings, options.wall)
        ground.facilities.up("identity")
        stop = trio.Event()
        async with trio.open_nursery() as services:
            await services.start(watch_signals, stop, host)
            services.start_soon(follow_settings, settings, host, ground.redactor, ground.secrets.known)
            services.start_soon(report_damage, store, ground.bus, options.say)
            services.start_soon(greet, ground.bus, logins, options.say, options.paths)
            async with trio.open_nursery() as plugins:
                await plugins.start(host.run)
                ground.facilities.up("ring", "scheduler", "segment")
                await _open_up(_house(ground, store, settings, host, door, logins), stop, options.greeting)
                plugins.cancel_scope.cancel()
            services.cancel_scope.cancel()


async def _open_up(house: House, stop: trio.Event, greeting: str) -> None:
    """Answer what the page needs to open, then load the kernel and work until told to stop."""
    open_porch = await trio.to_thread.run_sync(_load_porch)
    ports = PorchPorts(
        directory=house.directory, tokens=house.tokens, logins=house.logins, settings=house.settings, keys=house.keys
    )
    with open_porch(house.door, ports):
        open_kernel = await trio.to_thread.run_sync(_load_kernel)
        async with open_kernel(house) as conversations:
            settings = house.settings
            await converse(conversations, stop, lambda: house.say(greeting), lambda: settings.float(STOP_PATIENCE))


@asynccontextmanager
async def _open_floor(ground: Ground) -> AsyncIterator[tuple[Store, Settings, Forker | None]]:
    """What everything else stands on."""
    options, up = ground.options, ground.facilities.up
    async with options.zygote() as zygote, open_store(options.paths.db, failpoints=options.failpoints) as store:
        up("store")
        async with open_settings(
            store, ground.overrides, ground.secrets, wall=options.wall, persona=options.paths.persona
        ) as settings:
            await settings.tidy()
            await note_unasked(settings.view, store, options.wall)
            up("settings")
            yield store, settings, zygote


async def converse(
    conversations: Conversations, stop: trio.Event, up: Callable[[], None], patience: Callable[[], float]
) -> None:
    """Work until told to stop; then take nothing more, and let running turns end for a while."""
    async with trio.open_nursery() as work:
        await work.start(conversations.run)
        up()
        await stop.wait()
        conversations.close_intake()
        with trio.move_on_after(patience()):
            await conversations.wait_idle()
        work.cancel_scope.cancel()


def build_host(
    ground: Ground, store: Store, settings: Settings, found: Sequence[Installed | Broken], door: Door,
    zygote: Forker | None,
) -> Host:  # fmt: skip
    """The plugins' host: it needs the store and the settings, and whoever answers its plugins comes to the door."""
    return Host(
        found,
        HostPorts(
            store=store, bus=ground.bus, dispatcher=door, data=ground.options.paths.data, wall=ground.options.wall,
            child_env=child_environment(), config_for=lambda name: settings_of(settings, name),
            define=partial(define_plugin, settings), undefine=partial(undefine_plugin, settings),
            redact=ground.redactor.redact, reserved=RESERVED, facilities=ground.facilities, zygote=zygote,
            limits=partial(host_limits, settings),
        ),
    )  # fmt: skip


def _house(ground: Ground, store: Store, settings: Settings, host: Host, door: Door, logins: Logins) -> House:
    options, wall = ground.options, ground.options.wall
    return House(
        paths=options.paths, store=store, settings=settings, secrets=ground.secrets, redactor=ground.redactor,
        bus=ground.bus, host=host, door=door, logins=logins, keys=ApiKeys(store, ground.redactor.know, wall),
        directory=Directory(store, wall), tokens=CallTokens(), wall=wall, failpoints=options.failpoints,
        say=options.say, safe=options.safe, facilities=ground.facilities,
    )  # fmt: skip


def _load_porch() -> Callable[[Door, PorchPorts], AbstractContextManager[None]]:
    """What the page needs to open, loaded while the plugins' processes do their own imports."""
    from homed.api.porch import open_porch

    return open_porch


def _load_kernel() -> Callable[[House], AbstractAsyncContextManager[Conversations]]:
    """The rest, loaded once the page's calls are answered; every other call waits at the door for it."""
    from homed.wiring import open_kernel

    return open_kernel
