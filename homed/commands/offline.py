"""Settings and models on a data folder that no daemon holds: the kernel's own methods, without a daemon."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from functools import partial
from typing import Any, cast

import trio

from homed.agent.metering import metered, whence
from homed.agent.uploads import Uploads
from homed.api import admin, config, console, doctor, keeping, keys, models, peers, persona, records, tracker, usage
from homed.api.method import PeerCall, PeerParams, parse
from homed.api.ports import ApiPorts
from homed.clock import system_wall_clock
from homed.commands.offline_console import console_ports
from homed.config.environment import child_environment, read_environment
from homed.config.lock import data_lock
from homed.config.secrets import Secrets
from homed.engine import zone_of
from homed.errors import Unavailable
from homed.host.discover import Installed, discover, packaged_folder
from homed.identity.keys import ApiKeys
from homed.identity.logins import Logins
from homed.identity.peers import Directory
from homed.identity.people import People
from homed.identity.roles import Identity, Role, scope_of
from homed.identity.rules import Rules
from homed.jobs.console.ondemand import ConsoleOnDemand
from homed.jobs.exporting import ExportPorts
from homed.jobs.forget import ForgetPorts, Forgetting, delete_quietly
from homed.jobs.importing import Importing, ImportPorts
from homed.jobs.keeping import Keeping
from homed.jobs.memcheck.ondemand import DoctorPorts, MemoryDoctor
from homed.jobs.searching import InChild
from homed.paths import Paths
from homed.providers.local.models import LocalPorts
from homed.providers.registry import Sources, open_sources
from homed.redact import Redactor
from homed.settings.plugin import definitions_of
from homed.settings.registry import Settings, open_settings
from homed.spend.gate import Gate, GatePorts
from homed.spend.ondemand import UsageOnDemand
from homed.store.db import Store, open_store
from homed.store.files import MediaFiles
from homed.tracker.ondemand import TrackerOnDemand
from homed.tracker.tracker import TrackerPorts
from homed.wire.stream import homed_error
from homed.wiring import local_ports

METHODS = {
    **admin.METHODS, **models.METHODS, **config.METHODS, **persona.METHODS, **keys.METHODS, **peers.METHODS,
    **keeping.METHODS, **usage.METHODS, **tracker.METHODS,
    "admin.memory_doctor": doctor.METHODS["admin.memory_doctor"], **records.METHODS, **console.METHODS,
}  # fmt: skip

PEER = "cli:owner"
"""Who can open the folder is its owner: the file system has checked it."""


class NotRunning:
    """Stands where a running daemon's part would be; whatever is asked of it says that there is none."""

    def __getattr__(self, name: str) -> Any:
        raise Unavailable("That needs a running homed.", hint="Start it: homed")


def answer_offline(paths: Paths, method: str, params: Mapping[str, object]) -> Any:
    """The result of a method of settings, models or keys; holds the folder's lock meanwhile."""
    paths.create()
    with data_lock(paths):
        try:
            return trio.run(_answer, paths, method, dict(params))
        except BaseExceptionGroup as group:
            raise homed_error(group) or group from None


async def _answer(paths: Paths, method: str, params: dict[str, object]) -> object:
    environment = read_environment(paths.config)
    secrets = Secrets(paths.secrets, environment.secrets)
    async with (
        open_store(paths.db) as store,
        open_settings(store, environment.overrides, secrets, persona=paths.persona) as settings,
        open_sources(settings, secrets, local=_local(paths, settings)) as sources,
    ):
        for found in discover(packaged_folder(), paths.plugins):
            settings.define(definitions_of(found.manifest) if isinstance(found, Installed) else ())
        entry = METHODS[method]
        redactor = Redactor([*secrets.known(), *environment.secrets.values()])
        kept = keeping_of(paths, store, redactor)
        ports = _ports(paths, store, settings, sources, kept, redactor)
        who = Identity(PEER, "cli", "", Role.OWNER, scope_of(PEER, Role.OWNER, plugin="cli"))
        checked = cast(PeerParams, parse(method, entry.params, params))
        async with trio.open_nursery() as work:
            if method in keeping.METHODS:
                work.start_soon(kept.run)
            answer = await entry.handler(PeerCall(ports, cast(Any, NotRunning()), checked, "cli", who))
            work.cancel_scope.cancel()
        return answer


def _local(paths: Paths, settings: Settings) -> LocalPorts:
    """A model on this machine is started for a test of it alone."""
    return local_ports(paths, settings, wall=system_wall_clock, say=lambda _: None, warm=False)


def keeping_of(paths: Paths, store: Store, redactor: Redactor) -> Keeping:
    """Forgetting, exports and backups where nobody runs: nothing is in use, so indexes of vectors may simply go."""
    files = MediaFiles(paths.media)
    forgetting = Forgetting(
        ForgetPorts(
            store=store, data=paths.data, collect=Uploads(store, files, redactor).collect,
            delete_thread=partial(delete_quietly, store),
            search=InChild(paths.data, child_environment(), f"{paths.family}:search"),
            forget_vectors=partial(_forget_beside, paths, store),
        )
    )  # fmt: skip
    imports = ImportPorts(store=store, data=paths.data, media=paths.media, redact=redactor.redact)
    return Keeping(
        data=paths.data, store=store, files=files, forgetting=forgetting, imports=Importing(imports),
        exports=ExportPorts(store=store, media=paths.media, redact=redactor.redact),
    )  # fmt: skip


def tracking_of(paths: Paths, store: Store, settings: Settings) -> TrackerOnDemand:
    """Changes can be looked at and forgotten; to put one back takes the plugin that made it."""
    plugins = cast(Any, NotRunning())
    return TrackerOnDemand(
        store, lambda: TrackerPorts(store=store, settings=settings, plugins=plugins, data=paths.data)
    )


async def _forget_beside(paths: Paths, store: Store) -> None:
    """Nothing of what was deleted stays in files beside the database."""
    for made_again in (paths.vectors, paths.textlog, paths.cassettes):
        await trio.to_thread.run_sync(partial(shutil.rmtree, made_again, ignore_errors=True))
    await tracking_of(paths, store, cast(Any, NotRunning())).erased()


def memory_doctor_of(paths: Paths, store: Store, settings: Settings, redactor: Redactor) -> MemoryDoctor:
    """The health check of memory where nobody runs: nothing makes vectors, and nothing is in use."""
    return MemoryDoctor(
        DoctorPorts(
            store=store, paths=paths, redactor=redactor, definitions=settings.definitions, scrub=store,
        )
    )  # fmt: skip


def _ports(
    paths: Paths, store: Store, settings: Settings, sources: Sources, kept: Keeping, redactor: Redactor
) -> ApiPorts:
    absent = cast(Any, NotRunning())
    gate = Gate(GatePorts(store, settings, lambda: zone_of(settings), system_wall_clock))
    sources.metered = metered(gate)
    tracking = tracking_of(paths, store, settings)
    spent = UsageOnDemand(gate, store, settings, lambda: [whence(source) for source in sources.list()])
    return ApiPorts(
        directory=Directory(store), tokens=absent, logins=Logins(store, settings), conversations=absent, host=absent,
        settings=settings, sources=sources, status=absent, doctor=absent, archive=absent, memory=absent,
        memory_doctor=memory_doctor_of(paths, store, settings, redactor),
        uploads=absent, calling=absent, remembering=absent, cold=absent, completions=absent, publisher=absent,
        packages=absent, jobs=absent, keeping=kept, usage=spent, tracker=tracking,
        keys=ApiKeys(store, lambda _: None), people=People(store), rules=Rules(store),
        console=ConsoleOnDemand(partial(console_ports, paths, store, settings, redactor)),
    )  # fmt: skip
