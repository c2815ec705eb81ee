"""The settings of a stand-in for the kernel: definitions are the real ones."""

from __future__ import annotations

from typing import Any

from homed.config.definitions import CORE, Definition
from homed.config.values import check
from homed.errors import Conflict, NotFound

GIVEN = "core.log.level"
"""A key that a file gives."""
LISTEN = Definition(
    "plugin.webui.listen", "string", "127.0.0.1:8080", "Where the page listens.", "Address", "web page", restart=True
)
SECRET = Definition("plugin.mail.password", "password", "", "The mailbox's.", "Mail password", "mail")
DEFINITIONS = {one.key: one for one in (*CORE, LISTEN, SECRET)}


class Settings:
    """``admin.config_*`` and ``admin.persona_*`` in memory."""

    def __init__(self) -> None:
        self.stored: dict[str, object] = {}
        self.ask = True
        self.rolled: list[int] = []
        self.differences = [
            {"what": "mine.base_url", "then": "https://works.example/v1", "now": "<b>https://broken</b>"}
        ]

    def _view(self, one: Definition) -> dict[str, Any]:
        source = "stored" if one.key in self.stored else "file" if one.key == GIVEN else "default"
        value = self.stored.get(one.key, one.default)
        return {
            "key": one.key, "value": "••••••••" if one.secret and value else value, "source": source,
            "place": "/data/homed.toml line 3" if source == "file" else "", "type": one.type, "default": one.default,
            "name": one.name, "description": one.description, "category": one.category, "options": list(one.options),
            "minimum": one.minimum, "maximum": one.maximum, "restart": one.restart, "hidden": one.hidden,
            "masked": one.secret,
        }  # fmt: skip

    def admin_config_list(self, peer: str, prefix: str = "") -> Any:
        found = [self._view(one) for one in DEFINITIONS.values() if not one.hidden and one.key.startswith(prefix)]
        return {"settings": found}

    def admin_config_set(self, peer: str, key: str, value: object, reason: str = "") -> Any:
        return {"key": key, **self.admin_config_change(peer, {key: value})}

    def admin_config_unset(self, peer: str, key: str) -> Any:
        return {"key": key, **self.admin_config_change(peer, {key: None})}

    def admin_config_change(self, peer: str, changes: dict[str, object], reason: str = "") -> Any:
        for key, value in changes.items():
            if key not in DEFINITIONS:
                raise NotFound(f"There is no setting {key!r}.")
            if key == GIVEN:
                raise Conflict(f"{key} is given by homed.toml, which is stronger than a stored value.")
            if value is not None:
                check(DEFINITIONS[key], value)
        for key, value in changes.items():
            if value in (None, ""):
                self.stored.pop(key, None)
            else:
                self.stored[key] = value
        later = any(DEFINITIONS[key].restart for key in changes)
        note = "Takes effect at the next start." if later else ""
        return {"applied": "restart" if later else "now", "note": note}

    def admin_config_snapshots(self, peer: str) -> Any:
        known = {"id": 4, "at": 1.7e9, "changed": ["core.llm.sources"], "differences": self.differences}
        return {"snapshots": [known]}

    def admin_config_rollback(self, peer: str, snapshot: int) -> Any:
        if snapshot != 4:
            raise NotFound(f"There is no snapshot {snapshot}.")
        self.rolled.append(snapshot)
        return {"notes": ["The key of mine is gone: give it again."]}

    def admin_persona_get(self, peer: str, lang: str = "en") -> Any:
        preset = {
            "name": "brief",
            "title": "Brief" if lang == "en" else "简短",
            "about": "Few words.",
            "text": "Be brief.",
        }
        text = self.stored.get("core.agent.persona", "")
        return {"text": text, "source": "stored", "place": "", "ask": self.ask and not text, "presets": [preset]}

    def admin_persona_set(
        self, peer: str, lang: str = "en", text: str | None = None, preset: str = "", later: bool = False
    ) -> Any:
        self.ask = False
        if preset or text is not None:
            self.stored["core.agent.persona"] = "Be brief." if preset else text
        return self.admin_persona_get(peer, lang)
