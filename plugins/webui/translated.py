"""What the kernel and its built-in plugins say, in a language of the page's.

The kernel speaks English; ``homed.sentences`` has what it says in others, and what it does not know stays as it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from homed.sentences import Sentences, catalogue


class Translated:
    """One language's catalogue; an empty one leaves everything in English."""

    def __init__(self, found: Mapping[str, Any] | None = None) -> None:
        found = found or {}
        self._categories: Mapping[str, str] = found.get("categories", {})
        self._plugins: Mapping[str, str] = found.get("plugins", {})
        self._settings: Mapping[str, object] = found.get("settings", {})
        self.text = Sentences(found.get("texts", {}))
        """A sentence of the kernel's: an error, a hint, a reason."""

    def setting(self, key: str, name: str, description: str) -> tuple[str, str]:
        """Name and description of a setting; a setting without a name is called by the last part of its key."""
        known = self._settings.get(key)
        if isinstance(known, list) and len(known) == 2:
            return str(known[0]), str(known[1])
        return name or key.rpartition(".")[2].replace("_", " ").capitalize(), description

    def plugin(self, name: str, description: str) -> str:
        """What a built-in plugin is for."""
        return str(self._plugins.get(name, description))

    def category(self, name: str) -> str:
        """A heading over settings."""
        return str(self._categories.get(name, name[:1].upper() + name[1:]))


def load_translated(lang: str) -> Translated:
    """The catalogue of a language, empty for English.  Reads a file: once, at start."""
    return Translated(catalogue("kernel", lang))
