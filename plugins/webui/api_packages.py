"""Plugins that people bring, as REST: a file or an address is reviewed first, and installed in a second step."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import trio
from quart import Response, request

from homed.errors import HomedError, InvalidInput, StorageError

from .bodies import Body
from .context import Site, reply, who
from .files import name_of, type_of
from .packages import Held
from .routes import MAX_PACKAGE
from .words import Words

if TYPE_CHECKING:
    from . import asked

DROP_SECONDS = 2.0
"""How long deleting a file that is not wanted may take, shielded."""


class PackagesApi:
    """``packages``, and of ``plugins`` what only the installed ones have."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._held: Held = site.packages

    async def package_send(self) -> Response:
        """A package's bytes as the body, its file's name in X-File-Name; answers with its review."""
        source = name_of(request.headers.get("X-File-Name", ""))
        type_of(request.headers.get("Content-Type", ""))
        body = request.body
        assert isinstance(body, Body)
        with self._site.limits.uploads.slot(who().account):
            name, path = await self._held.fresh(source)
            try:
                await _save(body, path)
                return await self._review(name, path)
            except BaseException:
                with trio.move_on_after(DROP_SECONDS, shield=True):
                    await self._held.drop(name)
                raise

    async def package_fetch(self, body: asked.Address) -> Response:
        """Download a package from an https address; answers with its review."""
        from homed.sdk.fetch import fetch  # loads an HTTP client, which no page needs

        with self._site.limits.uploads.slot(who().account):
            name, path = await self._held.fresh(body.url)
            try:
                found = await fetch(body.url, path)
                self._held.call(name, found.url)
                return await self._review(name, path)
            except BaseException:
                with trio.move_on_after(DROP_SECONDS, shield=True):
                    await self._held.drop(name)
                raise

    async def package_install(self, package: str, body: asked.Grants) -> Response:
        """Install what was reviewed, with these capabilities and no others."""
        path, source = self._held.path(package), self._held.source(package)
        given = {"path": str(path), "sha256": body.sha256, "grant": body.grant, "source": source}
        answer = await self._site.call("plugin_mgr.install", **given)
        await self._held.drop(package)
        return reply(_told(answer, self._site.lang()))

    async def package_drop(self, package: str) -> Response:
        """It is not wanted."""
        await self._held.drop(package)
        return reply({})

    async def plugin_info(self, name: str) -> Response:
        """Everything about one plugin."""
        return reply(_translated(await self._site.call("plugin_mgr.info", name=name), self._site.lang()))

    async def plugin_grant(self, name: str, body: asked.Capabilities) -> Response:
        """Set what an installed plugin may do."""
        answer = await self._site.call("plugin_mgr.grant", name=name, capabilities=body.capabilities)
        return reply(_told(answer, self._site.lang()))

    async def plugin_remove(self, name: str, body: asked.Removal) -> Response:
        """Remove an installed plugin."""
        await self._site.call("plugin_mgr.remove", name=name, keep_data=body.keep_data)
        return reply({})

    async def _review(self, name: str, path: Path) -> Response:
        found = await self._site.call("plugin_mgr.review", path=str(path))
        return reply({**_translated(found, self._site.lang()), "package": name}, status=201)


def _told(answer: Mapping[str, Any], words: Words) -> dict[str, Any]:
    return {**answer, "note": words.kernel.text(str(answer.get("note", "")))}


def _translated(found: Mapping[str, Any], words: Words) -> dict[str, Any]:
    """What homed says about a plugin in the person's language; what the plugin says of itself stays as it is."""
    said = words.kernel.text
    capabilities = [{**one, "what": said(str(one["what"]))} for one in found.get("capabilities", [])]
    made = {**found, "capabilities": capabilities}
    for key in ("refused", "note", "reason"):
        made |= {key: said(str(found[key]))} if key in found else {}
    return made | ({"warnings": [said(str(one)) for one in found["warnings"]]} if "warnings" in found else {})


async def _save(body: Body, path: Path) -> None:
    """The body as a new file.  Raises `StorageError`, and what `Body.pieces` raises."""
    try:
        async with await trio.open_file(path, "xb") as file:
            await trio.to_thread.run_sync(path.chmod, 0o600)
            size = 0
            async for piece in body.pieces(MAX_PACKAGE):
                size += await file.write(piece)
        if not size:
            raise InvalidInput("The file is empty.")
    except HomedError:
        raise
    except OSError as error:
        raise StorageError(
            f"The package cannot be stored: {error.strerror}.", hint="Free space on the disk."
        ) from error
