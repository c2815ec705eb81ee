"""Plugins, models and settings as REST.  A key goes in and never comes out."""

from __future__ import annotations

from quart import Blueprint, Response, request

from homed.errors import InvalidInput

from .context import Data, Site, body, number, reply, text

PLUGIN_ACTIONS = {"start": "admin.plugin_start", "stop": "admin.plugin_stop"}
MODEL_ACTIONS = {"use": "admin.models_use", "remove": "admin.models_remove", "test": "admin.models_test"}


def source(given: Data) -> dict[str, object]:
    """The fields of a model source, checked.  Raises InvalidInput naming the field."""
    found: dict[str, object] = {key: text(given, key).strip() for key in ("name", "base_url", "model")}
    if not str(found["base_url"]).startswith(("http://", "https://")):
        raise InvalidInput("'base_url' must begin with https:// or http://.")
    for key in ("api_key", "adapter"):
        if value := text(given, key, required=False).strip():
            found[key] = value
    window = given.get("context_window")
    if window not in (None, ""):
        if not isinstance(window, int) or isinstance(window, bool) or window < 1024:
            raise InvalidInput("'context_window' must be a whole number of tokens, at least 1024.")
        found["context_window"] = window
    if (tools := given.get("tools")) is not None:
        if not isinstance(tools, bool):
            raise InvalidInput("'tools' must be true or false.")
        found["tools"] = tools
    return found


class AdminApi:
    """``/api/v1/status``, ``plugins``, ``models`` and ``settings``; the kernel lets only an owner in."""

    def __init__(self, site: Site) -> None:
        self._site = site

    def blueprint(self) -> Blueprint:
        """These routes."""
        made = Blueprint("admin", __name__, url_prefix="/api/v1")
        made.add_url_rule("/status", "status", self.status)
        made.add_url_rule("/plugins", "plugins", self.plugins)
        made.add_url_rule("/plugins/<name>/logs", "plugin_logs", self.plugin_logs)
        made.add_url_rule("/plugins/<name>/<action>", "plugin_do", self.plugin_do, methods=["POST"])
        made.add_url_rule("/models", "models", self.models)
        made.add_url_rule("/models", "model_add", self.model_add, methods=["POST"])
        made.add_url_rule("/models/<name>/<action>", "model_do", self.model_do, methods=["POST"])
        made.add_url_rule("/settings", "settings", self.settings)
        made.add_url_rule("/settings", "setting_set", self.setting_set, methods=["POST"])
        return made

    async def status(self) -> Response:
        """The daemon as it stands."""
        return reply(await self._site.call("admin.status"))

    async def plugins(self) -> Response:
        """Every plugin with its state and crash reports."""
        return reply(await self._site.call("admin.plugins"))

    async def plugin_logs(self, name: str) -> Response:
        """The last lines a plugin wrote."""
        limit = number("limit", 200, least=1, most=1000)
        return reply(await self._site.call("admin.plugin_logs", name=name, limit=limit))

    async def plugin_do(self, name: str, action: str) -> Response:
        """Start or stop a plugin."""
        await body()
        return reply(await self._site.call(_action(PLUGIN_ACTIONS, action), name=name))

    async def models(self) -> Response:
        """The model sources, without keys."""
        return reply(await self._site.call("admin.models_list"))

    async def model_add(self) -> Response:
        """Add a source, or replace the one of that name; without ``api_key`` the stored key stays."""
        return reply(await self._site.call("admin.models_add", **source(await body())))

    async def model_do(self, name: str, action: str) -> Response:
        """Use, test or remove a source."""
        await body()
        result = await self._site.call(_action(MODEL_ACTIONS, action), name=name)
        said = self._site.lang().kernel.text
        return reply({key: said(value) if key in ("error", "hint") else value for key, value in result.items()})

    async def settings(self) -> Response:
        """The settings that a person may see, passwords masked."""
        return reply(await self._site.call("admin.config_list", prefix=request.args.get("prefix", "")[:200] or None))

    async def setting_set(self) -> Response:
        """``{key, value}``."""
        given = await body()
        if "value" not in given:
            raise InvalidInput("'value' is missing.")
        return reply(await self._site.call("admin.config_set", key=text(given, "key"), value=given["value"]))


def _action(known: dict[str, str], action: str) -> str:
    if action not in known:
        raise InvalidInput(f"{action!r} is nothing to do here.", hint=f"Known: {', '.join(known)}.")
    return known[action]
