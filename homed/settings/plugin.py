"""A plugin's own settings: ``plugin.NAME.KEY``, declared in its manifest."""

from __future__ import annotations

from homed.config.definitions import Definition
from homed.settings.registry import Settings
from homed.wire.manifest import Manifest, SettingSpec

PREFIX = "plugin."

_TYPES = {"choice": "select"}
_EMPTY: dict[str, object] = {"int": 0, "float": 0, "duration": 0, "bool": False, "list": []}


def definitions_of(manifest: Manifest) -> list[Definition]:
    """What a manifest declares, as definitions; to be given to ``Settings.define`` when the plugin is found."""
    return [_definition(manifest, spec) for spec in manifest.settings]


def plugin_settings(settings: Settings, manifest: Manifest) -> dict[str, object]:
    """The values in force of what a manifest declares, keys without prefix: the ``config`` of ``plugin.init``."""
    return {spec.key: settings.get(full_key(manifest.name, spec.key)) for spec in manifest.settings}


def full_key(plugin: str, key: str) -> str:
    """``plugin.NAME.KEY``."""
    return f"{PREFIX}{plugin}.{key}"


def split_key(key: str) -> tuple[str, str] | None:
    """The plugin and the short key of a full key; None for one of the kernel's."""
    name, dot, short = key.removeprefix(PREFIX).partition(".")
    return (name, short) if key.startswith(PREFIX) and dot else None


def _definition(manifest: Manifest, spec: SettingSpec) -> Definition:
    type_ = _TYPES.get(spec.type, spec.type)
    default = spec.default if spec.default is not None else _EMPTY.get(type_, spec.options[0] if spec.options else "")
    return Definition(
        key=full_key(manifest.name, spec.key),
        type=type_,
        default=default,
        description=spec.description,
        name=spec.name or spec.key,
        category=spec.category or manifest.name,
        hidden=spec.hidden,
        options=spec.options,
    )
