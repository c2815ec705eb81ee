"""The tools ``config_*``: settings in the words of the person the turn is of.

The kernel decides what may be seen and changed: it masks passwords, refuses to set them and whoever is no owner.  It
makes one change after another.  Here answers are kept short enough for a model.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Annotated, Any

from homed import sdk

LISTED = 40
"""Settings in one list."""
SHORT = 200
"""Characters of a value in a list, and of what it is."""
WHOLE = 16_000
"""Characters of one value shown whole."""
DUMPED = 24_000
"""Characters of values in a dump."""

Setting = Mapping[str, Any]

plugin = sdk.Plugin("settings")


@plugin.tool(cls="read", parallel_safe=True)
async def config_get(ctx: sdk.Context, key: str) -> dict[str, object]:
    """Show one setting (see tools/config_get.md)."""
    return whole(await ctx.call("settings.get", {"key": key}))


@plugin.tool(cls="write", confirm=True)
async def config_set(ctx: sdk.Context, key: str, value: object, reason: str = "") -> dict[str, object]:
    """Change one setting (see tools/config_set.md)."""
    return await _change(ctx, {key: value}, reason)


@plugin.tool(cls="read", parallel_safe=True)
async def config_list_keys(ctx: sdk.Context, prefix: str = "", search: str = "") -> dict[str, object]:
    """Find settings (see tools/config_list_keys.md)."""
    found = [setting for setting in await _listed(ctx, prefix) if matches(setting, search)]
    listed: dict[str, object] = {"settings": [brief(setting) for setting in found[:LISTED]]}
    return listed if len(found) <= LISTED else {**listed, "more": len(found) - LISTED}


@plugin.tool(cls="read", parallel_safe=True)
async def config_dump(ctx: sdk.Context, prefix: str = "", all: bool = False) -> dict[str, object]:
    """Give keys and values (see tools/config_dump.md)."""
    found = [s for s in await _listed(ctx, prefix) if not s["masked"] and (all or s["source"] != "default")]
    values: dict[str, object] = {}
    room = DUMPED
    for setting in found:
        shown = shortened(setting["value"], WHOLE)
        room -= len(setting["key"]) + len(json.dumps(shown, ensure_ascii=False))
        if room < 0:
            return {"values": values, "more": len(found) - len(values)}
        values[setting["key"]] = shown
    return {"values": values}


@plugin.tool(cls="write", confirm=True)
async def config_batch_set(
    ctx: sdk.Context,
    changes: Annotated[dict[str, object], {"minProperties": 1, "maxProperties": 100}],
    reason: str = "",
) -> dict[str, object]:
    """Change several settings (see tools/config_batch_set.md)."""
    return await _change(ctx, changes, reason)


@plugin.tool(cls="read", parallel_safe=True)
async def config_list_plugins(ctx: sdk.Context) -> dict[str, object]:
    """List the plugins that have settings (see tools/config_list_plugins.md)."""
    return {"plugins": by_plugin(await _listed(ctx, "plugin."))}


async def _change(ctx: sdk.Context, changes: Mapping[str, object], reason: str) -> dict[str, object]:
    before = {key: (await ctx.call("settings.get", {"key": key}))["value"] for key in changes}
    done = await ctx.call("settings.change", {"changes": dict(changes), "reason": reason})
    after = {key: (await ctx.call("settings.get", {"key": key}))["value"] for key in changes}
    changed = {key: {"was": shortened(before[key], SHORT), "is": shortened(after[key], SHORT)} for key in changes}
    when = "now" if done["applied"] == "now" else "at the next start of homed"
    return {"changed": changed, "takes_effect": when, **({"note": done["note"]} if done["note"] else {})}


async def _listed(ctx: sdk.Context, prefix: str) -> list[Setting]:
    found: list[Setting] = (await ctx.call("settings.list", {"prefix": prefix}))["settings"]
    return found


def whole(setting: Setting) -> dict[str, object]:
    """A setting with all that is known of it, without what it has not."""
    shown: dict[str, object] = {
        "key": setting["key"],
        "value": _state(setting) if setting["masked"] else shortened(setting["value"], WHOLE),
        "default": shortened(setting["default"], SHORT),
        "type": setting["type"],
        "about": setting["description"],
    }
    for name, key in (
        ("options", "options"), ("minimum", "minimum"), ("maximum", "maximum"), ("given_by", "place"),
        ("prevents", "prevents"),
    ):  # fmt: skip
        if setting.get(key) not in (None, "", []):
            shown[name] = setting[key]
    if setting.get("restart"):
        shown["takes_effect"] = "at the next start of homed"
    if setting["type"] == "password":
        shown["note"] = "A person sets it, on the Settings page or with `homed config set`; it cannot be read."
    return shown


def brief(setting: Setting) -> dict[str, object]:
    """A setting in a list."""
    value = _state(setting) if setting["masked"] else shortened(setting["value"], SHORT)
    about = " ".join(str(setting["description"]).split())
    return {"key": setting["key"], "value": value, "about": shortened(about, SHORT)}


def matches(setting: Setting, search: str) -> bool:
    """Whether it has every word that is looked for."""
    text = " ".join(str(setting[part]) for part in ("key", "name", "description")).lower()
    return all(word in text for word in search.lower().split())


def by_plugin(settings: Iterable[Setting]) -> list[dict[str, object]]:
    """The plugins by name, with the numbers of their settings and of those that were changed."""
    counts: dict[str, list[int]] = {}
    for setting in settings:
        name = str(setting["key"]).split(".")[1]
        count = counts.setdefault(name, [0, 0])
        count[0] += 1
        count[1] += setting["source"] != "default"
    return [{"name": name, "settings": all_, "changed": changed} for name, (all_, changed) in sorted(counts.items())]


def shortened(value: object, most: int) -> object:
    """The value, or the beginning of a long one as text, which says so."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return value if len(text) <= most else f"{text[:most]}… ({len(text)} characters)"


def _state(setting: Setting) -> str:
    return "set" if setting["value"] else "not set"
