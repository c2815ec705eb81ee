"""``admin.persona_*``: who the assistant is; suggestions for the first choice."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import Field, model_validator

from homed.api.method import Method, PeerCall, PeerParams, administrative
from homed.api.settings import SettingsPort
from homed.config.definitions import PERSONA, PERSONA_ASKED
from homed.config.values import MAX_TEXT
from homed.errors import NotFound


class PersonaGet(PeerParams):
    """``admin.persona_get``; ``lang`` of the suggestions."""

    lang: str = Field(default="en", max_length=16)


class PersonaSet(PersonaGet):
    """``admin.persona_set``: a text, the name of a suggestion, or ``later``, which leaves it as it is."""

    text: str | None = Field(default=None, max_length=MAX_TEXT)
    preset: str = Field(default="", max_length=64)
    later: bool = False

    @model_validator(mode="after")
    def _just_one(self) -> PersonaSet:
        if (self.text is not None) + bool(self.preset) + self.later != 1:
            raise ValueError("give one of text, preset and later")
        return self


async def persona_get(call: PeerCall[PersonaGet]) -> Mapping[str, object]:
    """The persona in force, where it comes from, and what else there is to choose from."""
    await call.ports.settings.refresh()
    return _shown(call.ports.settings, call.params.lang)


def _shown(settings: SettingsPort, lang: str) -> Mapping[str, object]:
    from homed.prompts.personas import presets

    view = settings.view(PERSONA)
    return {
        "text": view.value,
        "source": view.source,
        "place": view.place,
        "ask": not settings.get(PERSONA_ASKED) and not view.value,
        "presets": [
            {"name": one.name, "title": one.title, "about": one.about, "text": one.text} for one in presets(lang)
        ],
    }


async def persona_set(call: PeerCall[PersonaSet]) -> Mapping[str, object]:
    """Choose one; it holds from the next turn on."""
    from homed.prompts.personas import preset

    params, settings = call.params, call.ports.settings
    await settings.refresh()
    text = params.text
    if params.preset:
        try:
            text = preset(params.preset, params.lang).text
        except KeyError:
            raise NotFound(f"There is no persona {params.preset!r}.", hint="`admin.persona_get` lists them.") from None
    changes: dict[str, object] = {}
    if not settings.get(PERSONA_ASKED) and not settings.view(PERSONA_ASKED).place:
        changes[PERSONA_ASKED] = True
    if text is not None:
        changes[PERSONA] = text.strip() or None
    if changes:
        await settings.change(changes)
    return _shown(settings, params.lang)


METHODS: dict[str, Method] = {
    "admin.persona_get": administrative(PersonaGet, persona_get),
    "admin.persona_set": administrative(PersonaSet, persona_set),
}
