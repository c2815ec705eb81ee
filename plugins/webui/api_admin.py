"""Plugins, models and keys as REST.  A key of a model goes in and never comes out; ours is shown once."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from quart import Response

from .context import Site, reply

if TYPE_CHECKING:
    from . import asked


class AdminApi:
    """``status``, ``plugins``, ``models``, ``keys`` and ``doctor``; the kernel lets only an owner in."""

    def __init__(self, site: Site) -> None:
        self._site = site

    async def status(self) -> Response:
        """The daemon as it stands."""
        return reply(await self._site.call("admin.status"))

    async def plugins(self) -> Response:
        """Every plugin with its state and crash reports."""
        return reply(await self._site.call("admin.plugins"))

    async def plugin_logs(self, name: str, query: asked.LogsQuery) -> Response:
        """The last lines a plugin wrote."""
        return reply(await self._site.call("admin.plugin_logs", name=name, limit=query.limit))

    async def plugin_do(self, name: str, action: str) -> Response:
        """Start, stop, enable, disable or reload a plugin; the router knows which actions there are."""
        if action in ("start", "stop"):
            return reply(await self._site.call(f"admin.plugin_{action}", name=name))
        answer = await self._site.call(f"plugin_mgr.{action}", name=name)
        return reply({**answer, "note": self._site.lang().kernel.text(str(answer["note"]))})

    async def models(self) -> Response:
        """The model sources, without keys."""
        return reply(await self._site.call("admin.models_list"))

    async def model_add(self, body: asked.Source) -> Response:
        """Add a source, or replace the one of that name; without ``api_key`` the stored key stays."""
        given = body.model_dump(exclude_defaults=True)
        return reply(await self._site.call("admin.models_add", **{k: _trimmed(v) for k, v in given.items()}))

    async def models_available(self, body: asked.Place) -> Response:
        """The models that a server has; it is asked with the key given, or with the one stored for it."""
        given = {k: _trimmed(v) for k, v in body.model_dump(exclude_defaults=True).items()}
        return reply(await self._site.call("admin.models_available", **given))

    async def model_do(self, name: str, action: str) -> Response:
        """Use, test or remove a source."""
        result = await self._site.call(f"admin.models_{action}", name=name)
        said = self._site.lang().kernel.text
        told = {key: said(value) if key in ("error", "hint") else value for key, value in result.items()}
        return reply(told | ({"notes": [said(note) for note in told["notes"]]} if told.get("notes") else {}))

    async def keys(self) -> Response:
        """The API keys: names, scopes, when made and last used."""
        return reply(await self._site.call("admin.keys_list"))

    async def key_add(self, body: asked.NewKey) -> Response:
        """Make a key.  This answer is the only place where it ever stands."""
        return reply(await self._site.call("admin.keys_add", name=body.name, scopes=body.scopes), status=201)

    async def key_remove(self, name: str) -> Response:
        """Remove a key."""
        return reply(await self._site.call("admin.keys_remove", name=name))

    async def doctor(self) -> Response:
        """What the daemon finds when it looks at itself."""
        found = await self._site.call("admin.doctor")
        said = self._site.lang().kernel.text
        checks = [
            {**check, "what": listed(str(check.get("what", "")), said), "hint": said(str(check.get("hint", "")))}
            for check in found["checks"]
        ]
        return reply({**found, "checks": checks})


def listed(what: str, said: Callable[[str], str]) -> str:
    """A finding, or several with ``; `` between them, each by itself."""
    whole, parts = said(what), what.split("; ")
    return "；".join(map(said, parts)) if len(parts) > 1 and said(parts[0]) != parts[0] else whole


def _trimmed(value: object) -> object:
    return value.strip() if isinstance(value, str) else value
