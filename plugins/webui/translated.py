"""What the kernel and its built-in plugins say, in a language of the page's.

The kernel speaks English.  A catalogue ``strings/kernel.LANG.json`` holds settings by key, plugins by name, categories,
and whole sentences with ``{name}`` where something is filled in; what it does not know stays as it is.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

PART = re.compile(r"\{(\w+)\}")
LONGEST = 4_000
"""Characters of a text that is looked up; a longer one is no sentence of the kernel's."""


class Translated:
    """One language's catalogue; an empty one leaves everything in English."""

    def __init__(self, catalogue: Mapping[str, Mapping[str, object]] | None = None) -> None:
        found = catalogue or {}
        self._categories = found.get("categories", {})
        self._plugins = found.get("plugins", {})
        self._settings = found.get("settings", {})
        texts = found.get("texts", {})
        self._exact = {english: str(text) for english, text in texts.items() if not PART.search(english)}
        self._made = [(PART.split(english), str(text)) for english, text in texts.items() if PART.search(english)]

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

    def text(self, text: str) -> str:
        """A sentence of the kernel's: an error, a hint, a reason.

        Of several that fit the one is taken whose words begin first, and of these the one that has more of them:
        "There is no job {job}." before "There is no {kind} {id}.".
        """
        if text in self._exact:
            return self._exact[text]
        best: tuple[int, int, re.Match[str], str] | None = None
        for pieces, said in self._made if len(text) <= LONGEST else ():
            words = pieces[::2]
            # A pattern is made when the words around its parts are all there, no sooner: there are hundreds.
            if all(piece in text for piece in words) and (found := _pattern(*pieces).fullmatch(text)) is not None:
                rank = 0 if words[0] else found.end(1), -sum(map(len, words))
                if best is None or rank < best[:2]:
                    best = *rank, found, said
        if best is None:
            return text
        parts = {name: self.text(part) for name, part in best[2].groupdict().items()}
        return PART.sub(lambda one: parts[one[1]], best[3])


@cache
def _pattern(*pieces: str) -> re.Pattern[str]:
    made = [f"(?P<{piece}>.+?)" if index % 2 else re.escape(piece) for index, piece in enumerate(pieces)]
    return re.compile("".join(made), re.DOTALL)


def load_translated(folder: Path, lang: str) -> Translated:
    """The catalogue of a language, empty where there is none.  Reads a file: once, at start."""
    place = folder / f"kernel.{lang}.json"
    return Translated(json.loads(place.read_text("utf-8")) if place.exists() else None)
