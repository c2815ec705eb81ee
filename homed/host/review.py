"""What a person sees before a plugin is installed: what it is, what it wants, what speaks against it.  Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from homed.host.states import Trust
from homed.host.suits import misfit, numbers
from homed.wire import methods
from homed.wire.capabilities import what
from homed.wire.manifest import Manifest
from homed.wire.package import Package


@dataclass(frozen=True, slots=True)
class Present:
    """A plugin of the same name that is there already.  ``granted``: what a person granted it."""

    version: str
    trust: Trust
    granted: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Machine:
    """Where it would run: the version of homed and a `sys.platform`."""

    core: str
    platform: str


@dataclass(frozen=True, slots=True)
class Review:
    """``refused`` says why it cannot be installed at all, or nothing; ``warnings`` are for the person to weigh."""

    package: Package
    present: Present | None
    refused: str
    warnings: tuple[str, ...]

    @property
    def name(self) -> str:
        """The plugin's."""
        return self.package.manifest.name

    @property
    def grantable(self) -> frozenset[str]:
        """What it asks for and may be given."""
        return frozenset(self.package.manifest.capabilities) - methods.PACKAGED_ONLY - {methods.CORE}

    def wire(self) -> dict[str, object]:
        """The result of ``plugin_mgr.review``."""
        manifest, present = self.package.manifest, self.present
        given = present.granted if present else frozenset()
        return {
            **described(manifest),
            "capabilities": capabilities_to_wire(manifest.capabilities, given),
            "settings": [
                {"key": s.key, "name": s.name or s.key, "description": s.description} for s in manifest.settings
            ],
            "warnings": list(self.warnings),
            "refused": self.refused,
            "sha256": self.package.sha256,
            "size": self.package.size,
            "files": len(self.package.files),
            "replaces": {"version": present.version, "how": compared(manifest.version, present.version)}
            if present
            else None,
        }


def review(package: Package, machine: Machine, present: Present | None, taken: Mapping[str, str]) -> Review:
    """Look a package over.  ``taken``: name of a tool → plugin that has it already."""
    manifest = package.manifest
    return Review(package, present, _refused(package, machine, present), tuple(_warnings(manifest, present, taken)))


def described(manifest: Manifest) -> dict[str, object]:
    """What a manifest says of itself, as ``plugin_mgr.review`` and ``plugin_mgr.info`` show it."""
    return {
        "name": manifest.name, "name_zh": manifest.name_zh, "name_en": manifest.name_en, "version": manifest.version,
        "description": manifest.description, "author": manifest.author, "license": manifest.license,
        "homepage": manifest.homepage, "repository": manifest.repository, "entry": manifest.entry,
        "activation": manifest.activation,
        "tools": [
            {"name": t.name, "description": t.description, "class": t.tool_class, "confirm": t.confirm}
            for t in manifest.tools
        ],
        "stages": [
            {"stage": s.stage, "scope": s.scope, "order": s.order, "on_failure": s.on_failure} for s in manifest.stages
        ],
        "needs": list(manifest.needs),
        "inputs": list(manifest.inputs), "outputs": [o.name for o in manifest.outputs],
        "cleaners": list(manifest.cleaners),
    }  # fmt: skip


def capabilities_to_wire(wanted: Iterable[str], granted: Collection[str]) -> list[dict[str, object]]:
    """Each with its sentence; ``allowed``: an external plugin may have it; ``granted``: a person gave it before."""
    return [
        {
            "name": name, "what": what(name), "allowed": name not in methods.PACKAGED_ONLY,
            "granted": name in granted,
        }
        for name in wanted
    ]  # fmt: skip


def compared(new: str, old: str) -> str:
    """``newer``, ``older``, ``same`` or, for versions that cannot be compared, ``other``: the new to the old."""
    if new == old:
        return "same"
    left, right = numbers(new), numbers(old)
    if left == right:
        return "other"
    return "newer" if left > right else "older"


def _refused(package: Package, machine: Machine, present: Present | None) -> str:
    manifest = package.manifest
    if package.is_skill:
        return f"{manifest.name} is a skill, not a plugin: the tool skill_install installs it."
    if present is not None and present.trust is Trust.PACKAGED:
        return f"The name {manifest.name} belongs to a plugin that comes with homed."
    return misfit(manifest, core=machine.core, platform=machine.platform)


def _warnings(manifest: Manifest, present: Present | None, taken: Mapping[str, str]) -> Sequence[str]:
    found = list(manifest.warnings)
    if present is not None and compared(manifest.version, present.version) == "older":
        found.append(f"This is older than what is installed: {manifest.version} instead of {present.version}.")
    found += [
        f"It asks for {name}, which only plugins that come with homed can have; it has to do without."
        for name in manifest.capabilities
        if name in methods.PACKAGED_ONLY
    ]
    found += [
        f"Its tool {tool.name} is taken by the plugin {taken[tool.name]}: it will not run beside it."
        for tool in manifest.tools
        if taken.get(tool.name, manifest.name) != manifest.name
    ]
    if any(stage.scope == "global" for stage in manifest.stages):
        found.append("It sees and can change what passes through every turn, whoever speaks.")
    if any(stage.on_failure == "closed" for stage in manifest.stages):
        found.append(
            "When it fails, what it should have checked is held back: nothing is answered until it runs again."
        )
    if quick := [tool.name for tool in manifest.tools if tool.tool_class == "read" and not tool.confirm]:
        found.append(f"It says that these only read, so nobody is asked before they run: {', '.join(quick)}.")
    return found
