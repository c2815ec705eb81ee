"""What `homed doctor` does on a folder itself: the same look as a daemon takes at itself, and the repair."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import tzinfo
from typing import TYPE_CHECKING, cast

import trio

from homed.agent.metering import metered
from homed.clock import system_wall_clock
from homed.commands.saying import phrase, translated
from homed.config.definitions import TIME_ZONE
from homed.config.environment import Environment, read_environment
from homed.config.lock import data_lock
from homed.config.secrets import Secrets
from homed.config.zone import system_zone, zone_named
from homed.errors import ConfigError, HomedError, NotFound, StorageError
from homed.host.discover import Broken, Installed, discover, packaged_folder
from homed.jobs import contents, doctor
from homed.jobs.checks import Check, State, ok, warn
from homed.jobs.doctor import Patient
from homed.jobs.memcheck.ondemand import DoctorPorts, MemoryDoctor
from homed.paths import Paths
from homed.providers.base import Source
from homed.providers.registry import Sources, open_sources
from homed.redact import Redactor
from homed.settings.exposed import everywhere
from homed.settings.plugin import definitions_of
from homed.settings.registry import Settings, open_settings
from homed.spend.gate import Gate, GatePorts
from homed.store import examine as look
from homed.store import problems
from homed.store import repair as mending
from homed.store.damage import known
from homed.store.db import open_store
from homed.store.filesystem import file_system
from homed.store.rows import Tx
from homed.wiring import local_ports

if TYPE_CHECKING:
    from homed.providers.trial import Trial

_INDEX = "inverted index"
"""What SQLite's words about a damaged search index, and about nothing else, contain."""


def examine(paths: Paths, *, holder: int | None, deep: bool) -> list[Check]:
    """Every check; ``holder``: the pid of a daemon that runs on the folder and cannot be reached, None for none."""
    return trio.run(_examine, paths, holder, deep)


async def _examine(paths: Paths, holder: int | None, deep: bool) -> list[Check]:
    environment, secrets = _environment(paths), _secrets(paths)
    store = look.LookingStore(paths.db)
    redactor = Redactor([*secrets.known(), *environment.secrets.values()])
    async with open_settings(store, {}, secrets, persona=paths.persona) as settings:
        found = discover(packaged_folder(), paths.plugins)
        for plugin in found:
            settings.define(definitions_of(plugin.manifest) if isinstance(plugin, Installed) else ())
        given = _given(environment, settings)
        local = local_ports(paths, settings, wall=system_wall_clock, say=lambda _: None, warm=False)
        async with open_sources(settings, secrets, local=local) as sources:
            memory = MemoryDoctor(
                DoctorPorts(
                    store=store, paths=paths, redactor=redactor, definitions=settings.definitions,
                    running=holder is not None, looking=True,
                )
            )  # fmt: skip
            patient = Patient(
                paths=paths, disk=file_system(paths.data), redact=redactor.redact, read=store.read,
                setting=given, unclaimed=_unclaimed(environment, settings),
                exposed=await everywhere(settings, given),
                plugins=[_told(plugin) for plugin in found], source=_current(sources),
                trial=_trial(paths, sources, _Given(given)) if deep and _counts(paths, holder) else None,
                daemon=[_daemon(paths, holder)], memory=memory.examine,
            )  # fmt: skip
            return await doctor.examine(patient, deep=deep)


def _counts(paths: Paths, holder: int | None) -> bool:
    """Whether what a model is asked can be written down: nobody else has the folder, and the database is as this homed
    has it.  A look alone changes nothing, so it is not brought up to date for that."""
    if holder is not None:
        return False
    try:
        with look.reading(paths.db) as tx:
            version, known_one = look.schema_of(tx)
            return version == known_one and not known(paths.db) and not look.damage_of(tx, deep=False)
    except StorageError:
        return False


def _trial(paths: Paths, sources: Sources, settings: _Given) -> Callable[[str], Awaitable[Trial]]:
    """Asks a source as a daemon would: past the gate of spend, and what it took is written down."""

    async def tried(name: str) -> Trial:
        with data_lock(paths):
            async with open_store(paths.db) as store:
                gate = Gate(GatePorts(store, settings, lambda: _zone(settings), system_wall_clock))
                sources.metered = metered(gate)
                return await sources.test(name)

    return tried


def _zone(settings: _Given) -> tzinfo:
    named = settings.str(TIME_ZONE).strip()
    return (zone_named(named) if named else None) or system_zone()


@dataclass(frozen=True, slots=True)
class _Given:
    """The settings as they are in force, also where they are given from outside."""

    value: Callable[[str], object]

    def get(self, key: str) -> object:
        """As it is."""
        return self.value(key)

    def int(self, key: str) -> int:
        """A whole number."""
        return cast(int, self.value(key))

    def float(self, key: str) -> float:
        """A number."""
        return float(cast(float, self.value(key)))

    def str(self, key: str) -> str:
        """A text."""
        return cast(str, self.value(key))


def _environment(paths: Paths) -> Environment:
    try:
        return read_environment(paths.config)
    except ConfigError:
        return Environment()  # its own check tells


def _secrets(paths: Paths) -> Secrets:
    """Those stored, but only if that can be read without changing anything; their own check tells."""
    try:
        private = not paths.secrets.exists() or not paths.secrets.stat().st_mode & 0o077
        return Secrets(paths.secrets if private else paths.data / "none")
    except HomedError:
        return Secrets(paths.data / "none")


def _given(environment: Environment, settings: Settings) -> Callable[[str], object]:
    def value(key: str) -> object:
        if key in environment.overrides:
            return environment.overrides[key].value
        try:
            return settings.get(key)
        except NotFound:
            return None

    return value


def _unclaimed(environment: Environment, settings: Settings) -> list[str]:
    faults = []
    for override in environment.overrides.values():
        try:
            override.checked(settings.definition(override.key))
        except HomedError as error:
            faults.append(f"{override.place}: {error}" if isinstance(error, NotFound) else str(error))
    return faults


def _told(plugin: Installed | Broken) -> dict[str, object]:
    reason = f"needs attention: {'; '.join(plugin.errors)}" if isinstance(plugin, Broken) else ""
    return {"name": plugin.name, "state": "stopped", "reason": reason}


def _current(sources: Sources) -> Source | None:
    try:
        return sources.current()
    except HomedError:
        return None


def _daemon(paths: Paths, holder: int | None) -> Check:
    if holder is None:
        return ok("daemon", "not running")
    return warn(
        "daemon",
        f"pid {holder} runs on {paths.data}, but nobody answers at {paths.socket}",
        "It runs with --safe, or its cli plugin is stopped: start that on the page.",
    )


@dataclass(frozen=True, slots=True)
class Repaired:
    """What `homed doctor --repair` did.  ``repair`` is None if the database needed none."""

    repair: mending.Repair | None
    reindexed: bool = False

    @property
    def whole(self) -> bool:
        """Whether nothing was lost, as far as can be told: a table whose rows nobody can count may have lost some."""
        done = self.repair
        return done is None or (not done.mended and all(table.lost == 0 for table in done.tables))

    def wire(self) -> dict[str, object]:
        """For ``--json``."""
        done = self.repair
        return {
            "repaired": done is not None,
            "reindexed": self.reindexed or done is not None,
            "whole": self.whole,
            "kept": str(done.kept) if done else "",
            "tables": [{"table": t.table, "kept": t.kept, "lost": t.lost} for t in done.tables] if done else [],
            "mended": done.mended if done else {},
        }

    def lines(self) -> Sequence[str]:
        """For a person."""
        if self.repair is None:
            sound = phrase("The database is sound. Its word index is made anew while homed runs.")
            return [sound if self.reindexed else phrase("The database is sound. Nothing was changed.")]
        done = self.repair
        said = [phrase("The database is rebuilt. The damaged one is in {kept}.", kept=done.kept)]
        for table in done.tables:
            unknown = phrase("nobody can tell how many are lost")
            lost = unknown if table.lost is None else phrase("{count} lost", count=table.lost)
            said.append(phrase("  {table}: {kept} saved, {lost}", table=table.table, kept=table.kept, lost=lost))
        said += [
            phrase("  put right: {count} {what}", count=n, what=translated(what)) for what, n in done.mended.items()
        ]
        said.append(phrase("The word index is made anew while homed runs."))
        if not self.whole:
            kept = "Not everything was saved, or nobody can tell: keep the damaged file, and look for a copy."
            said.append(phrase(kept))
        return said


def repair(paths: Paths) -> Repaired:
    """Rebuild the database if it is damaged.  Holds the folder; raises StorageError where nothing can be done."""
    if not paths.data.is_dir():
        return Repaired(None)
    with data_lock(paths):
        mending.finish_swap(paths.db)
        if not paths.db.exists():
            return Repaired(None)
        if look.blank(paths.db):
            raise problems.nothing_to_save(paths.db)
        before = known(paths.db)
        found = [before.found] if before else _damage(paths)
        if found and not all(_INDEX in what for what in found):
            return Repaired(mending.repair(paths.db, "; ".join(found)))
        if found or _index_wrong(paths):
            trio.run(_reindex, paths)
            return Repaired(None, reindexed=True)
        return Repaired(None)


def _damage(paths: Paths) -> list[str]:
    try:
        with look.reading(paths.db) as tx:
            return look.damage_of(tx, deep=True) or look.broken_rules(tx)
    except StorageError as error:
        if error.detail.get("reason") not in ("corrupt", "not_a_database"):
            raise
        return [error.message]


def _index_wrong(paths: Paths) -> bool:
    with look.reading(paths.db) as tx:
        version, known = look.schema_of(tx)
        return version == known and contents.words(tx).state is State.BAD


async def _reindex(paths: Paths) -> None:
    def forget(tx: Tx) -> None:
        tx.execute("UPDATE word_marks SET version = 0")  # as if the terms were made by another release

    async with open_store(paths.db) as store:
        await store.write(forget)
