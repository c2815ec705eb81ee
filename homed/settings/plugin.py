"""A plugin's own settings: ``plugin.NAME.KEY``, declared in its manifest."""

from __future__ import annotations

import logging
from dataclasses import replace

from homed.config import values
from homed.config.definitions import Definition
from homed.errors import ConfigError
from homed.settings.registry import Settings
from homed.wire.manifest import Manifest, SettingSpec

PREFIX = "plugin."

_log = logging.getLogger(__name__)

_EMPTY: dict[str, object] = {"int": 0, "float": 0, "duration": 0, "bool": False, "list": []}


def definitions_of(manifest: Manifest) -> list[Definition]:
    """What a manifest declares, as definitions; to be given to ``Settings.define`` when the plugin is found."""
    return [_definition(manifest, spec) for spec in manifest.settings]


def define_plugin(settings: Settings, manifest: Manifest) -> None:
    """A plugin is there, or another version of it: these are its settings now.  `ConfigError` as `Settings.define`."""
    settings.redefine(full_key(manifest.name, ""), definitions_of(manifest))


def undefine_plugin(settings: Settings, manifest: Manifest) -> None:
    """A plugin is gone; what was stored for it stays stored."""
    settings.redefine(full_key(manifest.name, ""), ())


def plugin_settings(settings: Settings, manifest: Manifest) -> dict[str, object]:
    """The values in force of what a manifest declares, keys without prefix: the ``config`` of ``plugin.init``."""
    return {spec.key: settings.get(full_key(manifest.name, spec.key)) for spec in manifest.settings}


def settings_of(settings: Settings, plugin: str) -> dict[str, object]:
    """The same by name alone: of whatever version of the plugin is there now."""
    prefix = full_key(plugin, "")
    found = settings.list_(prefix, hidden=True)
    return {view.key.removeprefix(prefix): settings.get(view.key) for view in found}


def full_key(plugin: str, key: str) -> str:
    """``plugin.NAME.KEY``."""
    return f"{PREFIX}{plugin}.{key}"


def split_key(key: str) -> tuple[str, str] | None:
    """The plugin and the short key of a full key; None for one of the kernel's."""
    name, dot, short = key.removeprefix(PREFIX).partition(".")
    return (name, short) if key.startswith(PREFIX) and dot else None


def _definition(manifest: Manifest, spec: SettingSpec) -> Definition:
    empty = _EMPTY.get(spec.type, spec.options[0] if spec.options else "")
    definition = Definition(
        key=full_key(manifest.name, spec.key),
        type=spec.type,
        default=empty,
        description=spec.description,
        name=spec.name or spec.key,
        category=spec.category or manifest.name,
        hidden=spec.hidden,
        options=spec.options,
        minimum=spec.minimum,
        maximum=spec.maximum,
        restart=spec.restart,
    )
    if spec.default is None:
        return definition
    try:
        return replace(definition, default=values.check(definition, spec.default))
    except ConfigError as error:
        # a plugin's mistake in its manifest must not keep homed from starting
        _log.warning("the default of a setting is not used: %s", error)
        return definition
