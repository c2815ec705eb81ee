"""`homed doctor`: one look at the whole installation, and what to do about what it finds.

Changes nothing.  The same checks run inside a daemon (``admin.doctor``) and on the folder of one that is stopped; what
only one of the two can know (plugins and models, or the lock) comes from it.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, TypeVar

import trio

from homed.errors import HomedError, StorageError
from homed.jobs import checks, contents
from homed.jobs.checks import Check, bad, ok, warn
from homed.jobs.memcheck.findings import Report, Status
from homed.paths import Paths
from homed.providers.base import Source
from homed.providers.local import gguf
from homed.providers.local.weights import Weights
from homed.store.examine import blank, sqlite_version
from homed.store.filesystem import FileSystem
from homed.store.rows import Tx

T = TypeVar("T")


class Read(Protocol):
    """``Store.read``."""

    def __call__(self, fn: Callable[[Tx], T], /) -> Awaitable[T]:
        """Run ``fn`` on the database."""
        ...


class Trial(Protocol):
    """How a model source did when it was tried."""

    @property
    def ok(self) -> bool:
        """It answered."""
        ...

    @property
    def error(self) -> str:
        """What went wrong."""
        ...

    @property
    def hint(self) -> str:
        """What to do."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Patient:
    """What is looked at.

    ``read`` runs checks on the database; ``setting`` gives the value in force; ``unclaimed`` are faults of settings
    given from outside, ``exposed`` the settings that are shown and hold a key.  ``damage``: why a running daemon is
    read-only.  ``source`` is the model in use, ``trial`` asks it a short question (only for a deep look; None: what
    that takes could not be written down); ``memory`` makes the quick checks of what is remembered.  ``running``: others
    store something meanwhile.
    """

    paths: Paths
    disk: FileSystem
    redact: Callable[[str], str]
    read: Read
    setting: Callable[[str], object]
    unclaimed: Sequence[str] = ()
    exposed: Sequence[str] = ()
    plugins: Sequence[Mapping[str, object]] = ()
    damage: str = ""
    running: bool = False
    source: Source | None = None
    trial: Callable[[str], Awaitable[Trial]] | None = None
    memory: Callable[[], Awaitable[Report]] | None = None
    daemon: Sequence[Check] = field(default_factory=tuple)


async def examine(patient: Patient, *, deep: bool = False) -> list[Check]:
    """Every check, in the order of what rests on what.  Raises nothing of ours; cancelling it leaves nothing behind.

    ``deep`` also reads the whole database and every file, and asks the model source a question over the network.
    """
    paths = patient.paths
    found = await trio.to_thread.run_sync(
        lambda: checks.of_folder(paths, patient.disk, patient.redact, sqlite_version())
    )
    found += [*patient.daemon, *await _stored(patient, deep=deep)]
    found.append(await trio.to_thread.run_sync(checks.config_file, paths, list(patient.unclaimed)))
    found.append(checks.exposed(patient.exposed))
    found.append(checks.listening(patient.setting, is_loopback))
    found.append(checks.plugin_states(patient.plugins))
    found.append(await _model(patient, deep=deep))
    return found


async def _stored(patient: Patient, *, deep: bool) -> list[Check]:
    paths = patient.paths
    if await trio.to_thread.run_sync(blank, paths.db):
        return [_blank(paths)]

    # without a log a look of minutes would keep everybody from storing
    whole = deep and (patient.disk.local or not patient.running)
    try:
        found = await patient.read(lambda tx: contents.database(tx, patient.disk, deep=whole))
        if deep and not whole and found[0].state is checks.State.OK:
            found[0] = ok(
                "database", f"sound at a quick look; on {patient.disk.name} stop homed to have all of it read"
            )
        if len(found) > 2:  # of this schema
            found = [*found, await _files(patient, deep=deep), *await _memory(patient)]
    except StorageError as error:
        found = [bad("database", error.message, _without_repair(error) or contents.REPAIR)]
    if patient.damage and found[0].state is checks.State.OK:  # damage that a quick look does not see
        found[0] = bad("database", patient.damage, contents.REPAIR)
    return found


async def _memory(patient: Patient) -> list[Check]:
    """One line of what is remembered; the quick checks of it, whatever the look is."""
    if patient.memory is None:
        return []
    report = await patient.memory()
    wrong = report.wrong()
    if not wrong:
        return [ok("memory", f"{len(report.findings)} checks of what is remembered, {report.read} rows read")]
    told = warn if wrong[0].status is Status.WARN else bad
    more = "`homed memory doctor` tells each, and `homed memory doctor --repair` mends what is safe."
    return [told("memory", f"{len(wrong)} of {len(report.findings)} checks: {wrong[0].evidence}", more)]


def _blank(paths: Paths) -> Check:
    if not paths.db.exists():
        return ok("database", "none yet: the first start makes it")
    hint = "If something was in it, put a copy of yours in its place before you start homed."
    return warn("database", "empty, not a single byte: the next start makes it anew", hint)


async def _files(patient: Patient, *, deep: bool) -> Check:
    """Looked at between two transactions; what went away meanwhile with its message is nobody's fault."""
    said = await patient.read(contents.files_of)
    media = patient.paths.media
    found = await trio.to_thread.run_sync(lambda: contents.files(said, media, deep=deep), abandon_on_cancel=True)
    if found.state is checks.State.OK:
        return found
    again = await patient.read(contents.files_of)
    both = contents.Files(said.named & again.named, said.loose | again.loose | (said.named ^ again.named))
    return await trio.to_thread.run_sync(lambda: contents.files(both, media, deep=deep), abandon_on_cancel=True)


def _without_repair(error: StorageError) -> str:
    """The hint of an error that no repair helps against: another program's file, a newer schema, no access."""
    return "" if error.detail.get("reason") in ("corrupt", "not_a_database", "index_damaged") else error.hint


async def _model(patient: Patient, *, deep: bool) -> Check:
    source = patient.source
    if source is None:
        return warn("model", "no model source is set up", "Add one on the Models page, or with `homed models add`.")
    if source.kind == "embedded":
        weights = Weights(patient.paths.data / "models")
        if not deep:
            if not weights.present():
                return bad("model", "the built-in model is not there", "Run `make install`.")
            return ok("model", "the built-in one (--deep checks its file)")
        return await trio.to_thread.run_sync(_weights, weights)
    if source.kind == "gguf":
        try:
            await trio.to_thread.run_sync(gguf.check, Path(source.path))
        except HomedError as error:
            return bad("model", f"{source.name}: {error.message}", error.hint)
    if not deep:
        return ok("model", f"{source.name} ({source.model}); --deep asks it a question")
    if patient.trial is None:
        return ok("model", f"{source.name} ({source.model}); not asked, as what that takes could not be written down")
    try:
        tried = await patient.trial(source.name)
    except HomedError as error:
        return bad("model", f"{source.name}: {error.message}", error.hint)
    if not tried.ok:
        return bad("model", f"{source.name} did not answer: {tried.error}", tried.hint)
    return ok("model", f"{source.name} answered")


def _weights(weights: Weights) -> Check:
    try:
        weights.ready(thorough=True)
    except HomedError as error:
        return bad("model", error.message, error.hint)
    return ok("model", "the built-in one, its file has the right hash")


def is_loopback(address: str) -> bool:
    """Whether ``HOST:PORT`` is reachable from this machine alone; what is no address counts as not."""
    host = address.strip().rpartition(":")[0].removeprefix("[").removesuffix("]") or "127.0.0.1"
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
