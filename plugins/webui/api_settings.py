"""Settings, the way back for those of the models, and the persona, as REST.  A password goes in and never comes out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quart import Response

from .context import Site, reply

if TYPE_CHECKING:
    from . import asked


class SettingsApi:
    """``settings`` and ``persona``; the kernel lets only an owner in."""

    def __init__(self, site: Site) -> None:
        self._site = site

    async def settings(self, query: asked.SettingsQuery) -> Response:
        """The settings that a person may see, passwords masked."""
        return reply(await self._site.call("admin.config_list", prefix=query.prefix or None))

    async def setting_set(self, body: asked.Setting) -> Response:
        """Set one."""
        given = {"peer": self._site.person().peer, "key": body.key, "value": body.value}  # the value may be null
        given |= {"reason": body.reason} if body.reason else {}
        return self._done(await self._site.kernel.call("admin.config_set", given))

    async def setting_unset(self, key: str) -> Response:
        """Bring its default back."""
        return self._done(await self._site.call("admin.config_unset", key=key))

    async def settings_change(self, body: asked.SettingChanges) -> Response:
        """Change several, all or none."""
        given = {"peer": self._site.person().peer, "changes": body.changes}  # a value may be null
        given |= {"reason": body.reason} if body.reason else {}
        return self._done(await self._site.kernel.call("admin.config_change", given))

    async def snapshots(self) -> Response:
        """What the settings of the models were before each change."""
        return reply(await self._site.call("admin.config_snapshots"))

    async def rollback(self, snapshot: str) -> Response:
        """Bring them back as they were."""
        # the kernel says what is wrong with a number that is none of its
        number = int(snapshot) if snapshot.isascii() and snapshot.isdigit() and len(snapshot) < 16 else 0
        done = await self._site.call("admin.config_rollback", snapshot=number)
        said = self._site.lang().kernel.text
        return reply({"notes": [said(str(note)) for note in done["notes"]]})

    async def persona(self) -> Response:
        """Who the assistant is, and suggestions."""
        return reply(await self._site.call("admin.persona_get", lang=self._site.lang().lang))

    async def persona_set(self, body: asked.Persona) -> Response:
        """Choose one, or put it off."""
        given = body.model_dump(exclude_none=True, exclude_defaults=True)
        return reply(await self._site.call("admin.persona_set", lang=self._site.lang().lang, **given))

    def _done(self, answer: dict[str, object]) -> Response:
        said, note = self._site.lang().kernel.text, str(answer["note"])
        sentences = note.removesuffix(".").split(". ") if note else []
        return reply({**answer, "note": " ".join(said(f"{sentence}.") for sentence in sentences)})
