"""The composition root: builds everything, holds the nursery tree, and ends it in order.

Lifetimes are nesting: what uses a thing lives inside it, so the end is the beginning backwards.  Nothing else wires.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import trio

from homed.agent.conversations import Conversations
from homed.agent.media import Media
from homed.agent.ports import AgentPorts
from homed.agent.uploads import Uploads
from homed.api.dispatch import ApiDispatcher, Door
from homed.api.overview import Overview
from homed.api.ports import ApiPorts
from homed.builtin import RESERVED, builtin_tools
from homed.clock import WallClock, system_wall_clock
from homed.config.definitions import LOG_LEVEL
from homed.config.environment import Environment, Override, child_environment, read_environment
from homed.config.lock import data_lock
from homed.config.secrets import Secrets
from homed.events import Bus
from homed.failpoints import Failpoints, NoFailpoints
from homed.host.discover import Broken, Installed, discover, packaged_folder
from homed.host.host import Host, HostPorts
from homed.identity.keys import ApiKeys
from homed.identity.logins import Logins
from homed.identity.peers import Directory
from homed.identity.rules import Rules
from homed.identity.tokens import CallTokens
from homed.lifecycle import cause_of, follow_settings, greet, local_ports, report_damage, watch_signals
from homed.log import logging_to, set_level
from homed.paths import Paths
from homed.proc import become_subreaper
from homed.providers.local.models import LocalPorts
from homed.providers.registry import Sources, open_sources
from homed.redact import Redactor
from homed.settings.plugin import definitions_of, plugin_settings
from homed.settings.registry import Settings, open_settings
from homed.store.db import Store, open_store
from homed.store.files import MediaFiles

_log = logging.getLogger(__name__)

TURNS_SECONDS = 5.0
"""How long running turns may take to end by themselves at a stop; plugins and the writer have limits of their own."""


@dataclass(frozen=True, slots=True)
class Options:
    """What the command line said.  ``say`` prints a line for the person who started it."""

    paths: Paths
    say: Callable[[str], None]
    listen: str | None = None
    log_level: str | None = None
    safe: bool = False
    wall: WallClock = system_wall_clock
    failpoints: Failpoints = field(default_factory=NoFailpoints)

    @property
    def mode(self) -> str:
        """What is unusual about this start, for its first words."""
        return " without plugins (--safe): nothing listens until it is started without" if self.safe else ""


@dataclass(frozen=True, slots=True)
class Ground:
    """What stands before the first task runs."""

    options: Options
    overrides: Mapping[str, Override]
    secrets: Secrets
    redactor: Redactor
    bus: Bus


@dataclass(frozen=True, slots=True)
class Kernel:
    """Everything, wired."""

    host: Host
    conversations: Conversations
    logins: Logins


def serve(options: Options) -> int:
    """Run the daemon until a signal ends it; 0.  Raises a ``HomedError`` when it cannot start."""
    options.paths.create()
    flags = {"plugin.webui.listen": options.listen, LOG_LEVEL: options.log_level}
    given = {key: value for key, value in flags.items() if value is not None}
    environment = read_environment(options.paths.config, flags=given)
    secrets = Secrets(options.paths.secrets, environment.secrets)
    redactor = Redactor(secrets.known())
    become_subreaper()
    with data_lock(options.paths), logging_to(options.paths.log, level="info", redact=redactor.redact):
        ground = Ground(options, _overrides(options, environment), secrets, redactor, Bus(options.wall))
        try:
            trio.run(run, ground)
        except BaseExceptionGroup as group:
            raise cause_of(group) from None
    return 0


async def run(ground: Ground) -> None:
    """The nursery tree.  Returns after an orderly stop; cancelled, everything below ends in the same order."""
    options, found = ground.options, _plugins(ground.options)
    async with (
        open_store(options.paths.db, failpoints=options.failpoints) as store,
        open_settings(store, ground.overrides, ground.secrets, wall=options.wall) as settings,
        open_sources(settings, ground.secrets, ground.redactor.know, _local(options, settings)) as sources,
    ):
        for plugin in found:
            settings.define(definitions_of(plugin.manifest) if isinstance(plugin, Installed) else ())
        set_level(settings.str(LOG_LEVEL))
        for fault in () if options.safe else settings.unclaimed():  # without plugins nobody claims theirs
            _log.warning("%s", fault)
        kernel, stop = build(ground, store, settings, sources, found), trio.Event()
        async with trio.open_nursery() as services:
            await services.start(watch_signals, stop, kernel.host)
            services.start_soon(follow_settings, settings, kernel.host, ground.redactor, ground.secrets.known)
            services.start_soon(report_damage, store, ground.bus, options.say)
            services.start_soon(greet, ground.bus, kernel.logins, options.say)
            async with trio.open_nursery() as plugins:
                await plugins.start(kernel.host.run)
                async with trio.open_nursery() as work:
                    await work.start(kernel.conversations.run)
                    options.say(f"homed is up on {options.paths.data}{options.mode}.")
                    await stop.wait()
                    kernel.conversations.close_intake()
                    with trio.move_on_after(TURNS_SECONDS):
                        await kernel.conversations.wait_idle()
                    work.cancel_scope.cancel()
                plugins.cancel_scope.cancel()
            services.cancel_scope.cancel()


def build(
    ground: Ground, store: Store, settings: Settings, sources: Sources, found: Sequence[Installed | Broken]
) -> Kernel:
    """Wire everything that lives inside store and settings."""
    options, bus, wall, door = ground.options, ground.bus, ground.options.wall, Door()
    manifests = {plugin.name: plugin.manifest for plugin in found if isinstance(plugin, Installed)}
    host = Host(
        found,
        HostPorts(
            store=store, bus=bus, dispatcher=door, data=options.paths.data, wall=wall, child_env=child_environment(),
            config_for=lambda name: plugin_settings(settings, manifests[name]), redact=ground.redactor.redact,
            reserved=RESERVED,
        ),
    )  # fmt: skip
    tokens, logins = CallTokens(), Logins(store, settings, wall)
    files = MediaFiles(options.paths.media)
    uploads = Uploads(store, files, ground.redactor, wall=wall, failpoints=options.failpoints)
    conversations = Conversations(
        AgentPorts(
            store=store, bus=bus, settings=settings, host=host, sources=sources, rules=Rules(store, wall),
            tokens=tokens, redactor=ground.redactor, wall=wall, failpoints=options.failpoints,
            builtins=builtin_tools(store, host.registry, wall, options.failpoints),
            media=Media(store, files, ground.redactor),
        ),
        uploads,
    )  # fmt: skip
    overview = Overview(
        data=options.paths.data, safe=options.safe, started_at=wall(), host=host, sources=sources,
        conversations=conversations, store=store,
    )  # fmt: skip
    api = ApiPorts(
        directory=Directory(store, wall), tokens=tokens, logins=logins, conversations=conversations, host=host,
        settings=settings, sources=sources, status=overview, archive=conversations.archive, uploads=uploads,
        keys=ApiKeys(store, ground.redactor.know, wall),
    )  # fmt: skip
    door.bind(ApiDispatcher(api))
    return Kernel(host, conversations, logins)


def _overrides(options: Options, environment: Environment) -> dict[str, Override]:
    socket = environment.socket or str(options.paths.socket)
    where = Override("plugin.cli.socket", socket, "flag", "the data folder")
    return {**environment.overrides, where.key: where}


def _local(options: Options, settings: Settings) -> LocalPorts:
    return local_ports(options.paths, settings, wall=options.wall, say=options.say, warm=True)


def _plugins(options: Options) -> Sequence[Installed | Broken]:
    return [] if options.safe else discover(packaged_folder(), options.paths.plugins)
