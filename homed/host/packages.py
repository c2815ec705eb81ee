"""Plugins that people bring: review, install, replace, remove, while homed runs."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Awaitable, Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Protocol

import trio

from homed.clock import WallClock, system_wall_clock
from homed.errors import Conflict, Denied, HomedError, InvalidInput, NotFound
from homed.failpoints import Failpoints, NoFailpoints
from homed.host import grants
from homed.host.discover import Broken, Installed
from homed.host.review import Machine, Present, Review, review
from homed.host.shelf import Shelf
from homed.host.states import PluginStatus, Trust
from homed.store.rows import Storage, Tx
from homed.wire.manifest import Manifest, load_manifest
from homed.wire.package import Package, open_package
from homed.wire.version import CORE

CHANGE_LIMIT = 60.0
"""Seconds that a change may take once the old plugin is being ended, shielded: it is not left half done because who
asked for it went away.  A ladder takes 8, the rest is a few renames and commits."""

_TABLES = ("grants", "plugin_packages", "plugin_tools", "plugin_schedules", "plugin_states", "crash_reports")


class Plugins(Protocol):
    """The host, as far as it is used here."""

    def statuses(self) -> Sequence[PluginStatus]:
        """Every plugin."""
        ...

    def status(self, name: str) -> PluginStatus:
        """One; `NotFound`."""
        ...

    def found(self, name: str) -> Installed | Broken:
        """What is known of one on disk; `NotFound`."""
        ...

    async def add(self, found: Installed) -> PluginStatus:
        """Take a new one on; returns once it is ready or has failed."""
        ...

    async def remove(self, name: str) -> None:
        """End one and forget it."""
        ...

    async def reload(self, name: str, found: Installed) -> PluginStatus:
        """End one and begin again with this."""
        ...

    async def replace(self, name: str, make: Callable[[], Awaitable[Installed]]) -> PluginStatus:
        """The same with what ``make`` makes once the old one has ended; if that raises, the old one comes back."""
        ...


class PluginSettings(Protocol):
    """The settings, as far as they are used here."""

    async def discard(self, prefix: str) -> None:
        """Forget stored values and secrets below ``prefix``."""
        ...


@dataclass(frozen=True, slots=True)
class Provenance:
    """How a plugin was installed: as ``plugin_mgr.info`` shows it.  ``installed_at`` is UTC seconds."""

    version: str
    sha256: str
    source: str
    installed_at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PackagePorts:
    """What managing packages needs.  ``data_of``: a plugin's own files (folder and logs), which may not exist."""

    plugins: Plugins
    settings: PluginSettings
    store: Storage
    shelf: Shelf
    data_of: Callable[[str], Sequence[Path]]
    machine: Machine = field(default_factory=lambda: Machine(CORE, sys.platform))
    wall: WallClock = system_wall_clock
    failpoints: Failpoints = field(default_factory=NoFailpoints)


class Packages:
    """One change at a time; reviews at any time."""

    def __init__(self, ports: PackagePorts) -> None:
        self._ports = ports
        self._one_change = trio.Lock()

    async def review(self, path: Path) -> Review:
        """What the package at ``path`` is and wants.  Raises `InvalidInput` for one that is none."""
        package = await trio.to_thread.run_sync(open_package, _absolute(path), abandon_on_cancel=True)
        return await self._review(package)

    async def install(self, path: Path, sha256: str, grant: Collection[str], source: str) -> PluginStatus:
        """Install the package at ``path``, which must be the very file of ``sha256`` that was reviewed, and run it.

        ``grant``: all the capabilities it gets, of those that it asks for.  An older one of the same name is ended and
        replaced; its data and settings stay.  Raises `InvalidInput`, `Conflict` (it cannot be installed here), `Denied`
        (a grant that is none), `StorageError`; then everything is as before.  Cancelled before the old one ends nothing
        happens, after that it is finished first.
        """
        async with self._one_change:
            package = await trio.to_thread.run_sync(self._ports.shelf.take_in, _absolute(path), sha256)
            try:
                found = await self._review(package)
                wanted = _checked_grants(found, grant)
            except BaseException:
                package.archive.path.unlink(missing_ok=True)
                raise
            fresh = await trio.to_thread.run_sync(self._ports.shelf.unpack, package)
            old = self._ports.plugins.found(found.name) if found.present is not None else None
            other = _other_tools(old.manifest, package.manifest) if isinstance(old, Installed) else ()
            change = _Change(self._ports, package, fresh, wanted, source, other)
            try:
                status = await self._carry_out(change, replaces=found.present is not None)
            except HomedError as error:
                change.failed = error
            if change.failed is not None:
                await trio.to_thread.run_sync(self._ports.shelf.drop, fresh)
                raise change.failed
            return status

    async def _carry_out(self, change: _Change, *, replaces: bool) -> PluginStatus:
        if replaces:
            return await self._ports.plugins.replace(change.package.manifest.name, change.make)
        with trio.CancelScope(shield=True, deadline=trio.current_time() + CHANGE_LIMIT):
            new = await change.make()
        return await self._ports.plugins.add(new)

    async def remove(self, name: str, *, keep_data: bool) -> None:
        """End an external plugin and delete it with its grants, schedules and what the model was told it can do.

        Without ``keep_data`` its settings, passwords, files and logs go too.  Raises `NotFound`, and `Denied` for one
        that came with homed.
        """
        async with self._one_change:
            status, folder = self._external(name), self._ports.plugins.found(name).folder
            with trio.CancelScope(shield=True, deadline=trio.current_time() + CHANGE_LIMIT):
                await self._ports.plugins.remove(name)
                # first: after a kill in between, nothing is granted to whatever has that name next
                await self._ports.store.write(lambda tx: _forget(tx, name, status.tools))
                with suppress(NotFound):  # somebody was faster
                    await trio.to_thread.run_sync(self._ports.shelf.remove, name, folder)
                if not keep_data:
                    await self._ports.settings.discard(f"plugin.{name}.")
                    await trio.to_thread.run_sync(_delete, list(self._ports.data_of(name)))

    async def reload(self, name: str) -> PluginStatus:
        """Read a plugin's folder again and start what is there now.  Raises `ConfigError` for a wrong manifest: the old
        one then runs on."""
        async with self._one_change:
            found = self._ports.plugins.found(name)
            manifest = await trio.to_thread.run_sync(load_manifest, found.folder)
            if manifest.name != name and isinstance(found, Installed):
                raise Conflict(f"The folder of {name} now holds a plugin called {manifest.name}.")
            new = Installed(manifest, found.folder, found.trust)
            if manifest.name == name:
                return await self._ports.plugins.reload(name, new)
            status = await self._ports.plugins.add(new)  # one that was called by its folder while it could not be read
            await self._ports.plugins.remove(name)
            return status

    async def grant(self, name: str, capabilities: Collection[str]) -> PluginStatus:
        """Set what an external plugin may do: these and no others, from its next start on, which is now."""
        async with self._one_change:
            self._external(name)
            found = self._ports.plugins.found(name)
            if isinstance(found, Broken):
                raise Conflict(f"The plugin {name} cannot be used: {'; '.join(found.errors)}.")
            if strange := sorted(set(capabilities) - set(found.manifest.capabilities)):
                raise InvalidInput(f"The plugin {name} does not ask for {', '.join(strange)}.")
            await self._ports.store.write(partial(_grant, plugin=name, wanted=capabilities, at=self._ports.wall()))
            return await self._ports.plugins.reload(name, found)

    async def granted(self, name: str) -> frozenset[str]:
        """What an external plugin was granted."""
        return await self._ports.store.read(lambda tx: grants.granted(tx, name))

    async def provenance(self, name: str) -> Provenance | None:
        """How it was installed; None for one that was put there by hand."""
        row = await self._ports.store.read(
            lambda tx: tx.one(
                "SELECT version, sha256, source, installed_at FROM plugin_packages WHERE plugin = ?", (name,)
            )
        )
        return Provenance(*row) if row else None

    async def _review(self, package: Package) -> Review:
        name, statuses = package.manifest.name, self._ports.plugins.statuses()
        taken = {tool: status.name for status in statuses for tool in status.tools}
        there = next((status for status in statuses if status.name == name), None)
        present = Present(there.version, there.trust, await self.granted(name)) if there else None
        return review(package, self._ports.machine, present, taken)

    def _external(self, name: str) -> PluginStatus:
        status = self._ports.plugins.status(name)
        if status.trust is not Trust.EXTERNAL:
            raise Denied(
                f"The plugin {name} came with homed.", hint=f"Disable it instead: homed plugin disable {name}."
            )
        return status


@dataclass(slots=True)
class _Change:
    """The steps of putting a package in place of what was there, while nothing of that runs."""

    ports: PackagePorts
    package: Package
    fresh: Path
    wanted: frozenset[str]
    source: str
    other_tools: Sequence[str]
    """Those of the old version that are gone, or of another kind now."""
    failed: HomedError | None = None

    async def make(self) -> Installed:
        """Put it in place.  After an error the old one is there with what it was granted.

        What is taken back of the grants goes first and what is given comes last, so that at no moment, and after no
        kill, either of the two versions has one that was not meant for it.
        """
        manifest, ports = self.package.manifest, self.ports
        before = await ports.store.read(lambda tx: grants.granted(tx, manifest.name))
        await ports.store.write(partial(_narrow, plugin=manifest.name, wanted=self.wanted))
        ports.failpoints.reach("package.narrowed")
        try:
            folder = await trio.to_thread.run_sync(ports.shelf.place_new, manifest.name, self.fresh)
        except HomedError as error:
            self.failed = error
        if self.failed is not None:
            await ports.store.write(partial(_grant, plugin=manifest.name, wanted=before, at=ports.wall()))
            raise self.failed
        provenance = Provenance(manifest.version, self.package.sha256, self.source, ports.wall())
        try:
            await ports.store.write(partial(_record, change=self, provenance=provenance))
        except HomedError as error:  # it is in place all the same, with fewer grants, and runs
            self.failed = error
        ports.failpoints.reach("package.recorded")
        return Installed(manifest, folder, Trust.EXTERNAL)


def _checked_grants(found: Review, grant: Collection[str]) -> frozenset[str]:
    manifest = found.package.manifest
    if found.refused:
        raise Conflict(found.refused)
    if strange := sorted(set(grant) - set(manifest.capabilities)):
        raise InvalidInput(
            f"The plugin {manifest.name} does not ask for {', '.join(strange)}.",
            hint=f"It asks for: {', '.join(manifest.capabilities) or 'nothing'}.",
        )
    if beyond := sorted(set(grant) - found.grantable):
        raise Denied(f"No plugin from outside can be granted {', '.join(beyond)}.", hint="Leave it out.")
    return frozenset(grant)


def _absolute(path: Path) -> Path:
    if not path.is_absolute():
        raise InvalidInput(f"{path} is no absolute path.", hint="homed has another working folder than you.")
    return path


def _narrow(tx: Tx, *, plugin: str, wanted: frozenset[str]) -> None:
    grants.revoke(tx, plugin, grants.granted(tx, plugin) - wanted)


def _grant(tx: Tx, *, plugin: str, wanted: Collection[str], at: float) -> None:
    grants.grant(tx, plugin, wanted, at=at)


def _record(tx: Tx, *, change: _Change, provenance: Provenance) -> None:
    plugin = change.package.manifest.name
    grants.grant(tx, plugin, change.wanted, at=provenance.installed_at)
    _ask_again(tx, change.other_tools)
    tx.execute("DELETE FROM plugin_packages WHERE plugin = ?", (plugin,))
    tx.execute(
        "INSERT INTO plugin_packages (plugin, version, sha256, source, installed_at) VALUES (?, ?, ?, ?, ?)",
        (plugin, provenance.version, provenance.sha256, provenance.source, provenance.installed_at),
    )


def _forget(tx: Tx, name: str, tools: Sequence[str]) -> None:
    for table in _TABLES:
        tx.execute(f"DELETE FROM {table} WHERE plugin = ?", (name,))
    _ask_again(tx, tools)


def _ask_again(tx: Tx, tools: Sequence[str]) -> None:
    """What a person stopped asking about is no more: another tool may have that name one day, or has it now."""
    tx.many("DELETE FROM rules WHERE decision = 'allow' AND tool = ?", [(tool,) for tool in tools])


def _other_tools(old: Manifest, new: Manifest) -> Sequence[str]:
    kinds = {tool.name: (tool.tool_class, tool.confirm) for tool in new.tools}
    return [tool.name for tool in old.tools if kinds.get(tool.name) != (tool.tool_class, tool.confirm)]


def _delete(places: Sequence[Path]) -> None:
    for place in places:
        if place.is_dir() and not place.is_symlink():
            shutil.rmtree(place, ignore_errors=True)
        else:
            place.unlink(missing_ok=True)
