"""Find the plugins: a folder with a ``plugin.json`` each, below the packaged and the external place."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from pathlib import Path

from homed.errors import ConfigError
from homed.host.states import Trust
from homed.wire.manifest import FILE_NAME, Manifest, read_manifest


@dataclass(frozen=True, slots=True)
class Installed:
    """A plugin that can be run."""

    manifest: Manifest
    folder: Path
    trust: Trust

    @property
    def name(self) -> str:
        """Its name."""
        return self.manifest.name


@dataclass(frozen=True, slots=True)
class Broken:
    """A folder that should be a plugin and cannot be; shown as stopped with all its errors, others go on."""

    name: str
    folder: Path
    trust: Trust
    errors: tuple[str, ...]


def packaged_folder() -> Path:
    """Where the built-in plugins are installed.  Raises `ConfigError` when they are not."""
    found = importlib.util.find_spec("homed_plugins")
    if found is None or not found.submodule_search_locations:
        raise ConfigError("The built-in plugins are not installed.", hint="Run `make install`.")
    return Path(next(iter(found.submodule_search_locations)))


def discover(packaged: Path, external: Path) -> list[Installed | Broken]:
    """Every plugin, packaged ones first, each sorted by name.  A missing place holds none.

    An external plugin may not take the name of a packaged one, nor of another external one.
    """
    found = [_read(folder, Trust.PACKAGED) for folder in _folders(packaged)]
    owners = {plugin.name: plugin.folder for plugin in found}
    for folder in _folders(external):
        plugin = _read(folder, Trust.EXTERNAL)
        if plugin.name in owners:
            error = f"name: {plugin.name!r} is taken by {owners[plugin.name]}"
            plugin = Broken(f"{folder.name}@external", folder, Trust.EXTERNAL, (error,))
        owners[plugin.name] = plugin.folder
        found.append(plugin)
    return found


def _folders(place: Path) -> list[Path]:
    try:
        return sorted(child for child in place.iterdir() if _holds_one(child))
    except OSError:
        return []


def _holds_one(folder: Path) -> bool:
    try:
        return (folder / FILE_NAME).is_file()
    except OSError:  # not ours to look into: shown as broken, and no reason to lose the others
        return True


def _read(folder: Path, trust: Trust) -> Installed | Broken:
    manifest, errors = read_manifest(folder)
    return Broken(folder.name, folder, trust, errors) if manifest is None else Installed(manifest, folder, trust)
