"""``admin.config_*``: the settings, changed one at a time or together, and the way back for those of the models."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field

from homed.api.method import Json, Method, PeerCall, PeerParams, administrative
from homed.api.ports import ApiPorts
from homed.config.definitions import LLM_CURRENT, LLM_SOURCES, SPEND_PRICES, SPEND_RATES, WEB_PASSWORD
from homed.config.values import read
from homed.errors import Denied, InvalidInput, NotFound
from homed.providers.stored import masked, shown
from homed.settings.history import SnapshotView
from homed.settings.plugin import split_key
from homed.settings.thresholds import PREVENTS, REASON, Because
from homed.settings.views import SettingView

MOST = 200
"""Settings changed together."""


Reason = Annotated[str, Field(max_length=REASON)]
"""Why a threshold is moved; of other settings it is not kept."""


class OfKey(PeerParams):
    """``admin.config_get``"""

    key: str = Field(min_length=1, max_length=256)


class ConfigUnset(OfKey):
    """``admin.config_unset``"""

    reason: Reason = ""


class ConfigSet(OfKey):
    """``admin.config_set``"""

    value: Json
    reason: Reason = ""


class ConfigChange(PeerParams):
    """``admin.config_change``: key → value, or null to take it out."""

    changes: dict[str, Json] = Field(min_length=1, max_length=MOST)
    reason: Reason = ""


class ConfigList(PeerParams):
    """``admin.config_list``"""

    prefix: str = Field(default="", max_length=256)
    hidden: bool = False


class ConfigRollback(PeerParams):
    """``admin.config_rollback``"""

    snapshot: int = Field(ge=1, le=2**53)


async def config_get(call: PeerCall[OfKey]) -> Mapping[str, object]:
    """One setting."""
    await call.ports.settings.refresh()
    return setting_to_wire(call.ports.settings.view(call.params.key))


async def config_list(call: PeerCall[ConfigList]) -> Mapping[str, object]:
    """The settings that have no editor of their own, or all."""
    await call.ports.settings.refresh()
    found = call.ports.settings.list_(call.params.prefix, hidden=call.params.hidden)
    return {"settings": [setting_to_wire(view) for view in found]}


async def config_set(call: PeerCall[ConfigSet]) -> Mapping[str, object]:
    """Change a setting."""
    value = call.params.value
    if value is None:
        raise InvalidInput(
            f"{call.params.key} cannot be null.", hint="`homed config unset` brings the default back, `config_unset`."
        )
    _in_person(call, {call.params.key: value})
    return {"key": call.params.key, **await change(call, {call.params.key: value}, call.params.reason)}


async def config_unset(call: PeerCall[ConfigUnset]) -> Mapping[str, object]:
    """Take a stored value out: the default holds again."""
    _in_person(call, {call.params.key: None})
    return {"key": call.params.key, **await change(call, {call.params.key: None}, call.params.reason)}


async def config_change(call: PeerCall[ConfigChange]) -> Mapping[str, object]:
    """Change several settings, all or none."""
    _in_person(call, call.params.changes)
    return await change(call, call.params.changes, call.params.reason)


def _in_person(call: PeerCall[Any], changes: Mapping[str, object]) -> None:
    """Raises Denied for a threshold that a turn would move by itself: why is for a person to say.  The tools go by
    ``settings.*`` and ask a person each time."""
    moved = [key for key in changes if key in PREVENTS]
    if call.lent is not None and moved:
        raise Denied(
            f"{moved[0]} is a threshold: a person moves it and says why; a call token does not do.",
            hint="Name the peer who decides, or use the tool config_set, which asks a person.",
            detail={"key": moved[0]},
        )


async def change(call: PeerCall[Any], changes: Mapping[str, object], reason: str) -> dict[str, object]:
    """Check what the registry cannot, change, and say what is true now.  ``reason``: thresholds need one."""
    ports = call.ports
    await ports.settings.refresh()
    for key, value in changes.items():
        _elsewhere(ports, key, value)
    had_password = WEB_PASSWORD in changes and ports.logins.password_set
    applied = await ports.settings.change(changes, why=Because(reason, call.who.peer))
    views = [ports.settings.view(key) for key in changes]
    notes = list(dict.fromkeys(_later(view.key) for view in views if view.definition.restart))
    if any(view.definition.secret and not view.value for view in views):
        notes.append("It is removed: there is none now.")
    if had_password:  # whoever knew the old one may be logged in
        await ports.logins.end_all()
        notes.append("Everybody was logged out.")
    return {"applied": applied.value, "note": " ".join(notes)}


def _later(key: str) -> str:
    """When a change of a setting that is read once takes effect."""
    owner = split_key(key)
    return "Takes effect at the next start." if owner is None else f"Takes effect when {owner[0]} starts again."


def _elsewhere(ports: ApiPorts, key: str, value: object) -> None:
    """Raises for what is no matter of one value."""
    if key == LLM_SOURCES:
        raise InvalidInput(
            "The model sources are not set as one value.", hint="Use `homed models add NAME …` or the Models page."
        )
    if key in (SPEND_PRICES, SPEND_RATES) and value is not None:
        from homed.spend.prices import check_setting  # seldom

        check_setting(key, read(ports.settings.view(key).definition, value))
    if key == LLM_CURRENT and value not in [None, "", *(source.name for source in ports.sources.list())]:
        raise NotFound(f"There is no model source {value!r}.", hint="`homed models list` shows them.")


async def config_snapshots(call: PeerCall[PeerParams]) -> Mapping[str, object]:
    """What the settings of the models were before each change, newest first."""
    return {"snapshots": [_snapshot(one) for one in await call.ports.settings.snapshots()]}


async def config_rollback(call: PeerCall[ConfigRollback]) -> Mapping[str, object]:
    """Bring them back as they were."""
    return {"notes": list(await call.ports.settings.rollback(call.params.snapshot))}


def _snapshot(one: SnapshotView) -> dict[str, object]:
    return {
        "id": one.snapshot.id,
        "at": one.snapshot.at,
        "changed": list(one.snapshot.changed),
        "differences": [{"what": each.what, "then": each.then, "now": each.now} for each in one.differences],
    }


def setting_to_wire(view: SettingView) -> dict[str, object]:
    """A setting as ``admin.config_get`` shows it."""
    definition = view.definition
    value = shown(view.value) if view.key == LLM_SOURCES else view.value
    return {
        "key": view.key,
        "value": value,
        "source": view.source,
        "place": view.place,
        "type": definition.type,
        "default": "" if definition.secret else definition.default,
        "name": definition.name,
        "description": definition.description,
        "category": definition.category,
        "options": list(definition.options),
        "minimum": definition.minimum,
        "maximum": definition.maximum,
        "restart": definition.restart,
        "hidden": definition.hidden,
        "prevents": PREVENTS.get(view.key, ""),
        "masked": view.masked or (view.key == LLM_SOURCES and masked(value)),
    }


METHODS: dict[str, Method] = {
    "admin.config_get": administrative(OfKey, config_get),
    "admin.config_set": administrative(ConfigSet, config_set),
    "admin.config_unset": administrative(ConfigUnset, config_unset),
    "admin.config_change": administrative(ConfigChange, config_change),
    "admin.config_list": administrative(ConfigList, config_list),
    "admin.config_snapshots": administrative(PeerParams, config_snapshots),
    "admin.config_rollback": administrative(ConfigRollback, config_rollback, in_person=True),
}
