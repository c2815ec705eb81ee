"""The words of the interface in one language; the catalogues are the files in ``strings/``."""

from __future__ import annotations

import json
from functools import cached_property

from homed.helptext import LANGUAGES as LANGUAGES
from homed.helptext import language_of as language_of
from homed.sentences import Sentences, catalogue


class Words:
    """Looks texts up by key; what a language lacks is said in English, an unknown key raises KeyError.

    The catalogue is read with the first text: a question that is answered at once needs none.
    """

    def __init__(self, language: str = "en") -> None:
        self.language = language if language in LANGUAGES else "en"

    @cached_property
    def _texts(self) -> dict[str, str]:
        return _texts(self.language)

    @cached_property
    def _english(self) -> dict[str, str]:
        return self._texts if self.language == "en" else _texts("en")

    @cached_property
    def kernel(self) -> Sentences:
        """What homed says, in this language."""
        return Sentences(catalogue("kernel", self.language).get("texts", {}))

    def __call__(self, key: str, /, **values: object) -> str:
        """The text, with ``{name}`` replaced by the value of that name."""
        text = self._texts.get(key) or self._english[key]
        return text.format_map({name: str(value) for name, value in values.items()}) if values else text


def _texts(name: str) -> dict[str, str]:
    from importlib.resources import files  # with the first text

    found: dict[str, str] = json.loads((files("waiter") / "strings" / f"{name}.json").read_text("utf-8"))
    return found
