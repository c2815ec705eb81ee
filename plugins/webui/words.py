"""What the page says, in each language: small JSON catalogues, English filling what another lacks."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from .translated import Translated, load_translated

LANGUAGES: Mapping[str, str] = {"en": "English", "zh": "中文"}


class Words:
    """One language's catalogue; call it with a key to get the text."""

    def __init__(self, lang: str, texts: Mapping[str, str], kernel: Translated) -> None:
        self.lang = lang
        self.kernel = kernel
        self._texts = texts

    def __call__(self, key: str, **values: object) -> str:
        """The text of ``key`` with ``{name}`` filled in.  An unknown key raises KeyError: a test finds it first."""
        text = self._texts[key]
        return text.format(**values) if values else text

    def get(self, key: str, fallback: str) -> str:
        """The text of a key that may not exist: a state or code that the kernel named."""
        return self._texts.get(key, fallback)

    def fill(self, key: str, values: Mapping[str, object]) -> str:
        """The text of a key that may not exist, filled in; nothing where there is none."""
        return self(key, **values) if key in self._texts else ""

    def scripts(self) -> str:
        """The texts that the page's scripts use, as JSON."""
        return json.dumps({k[3:]: v for k, v in self._texts.items() if k.startswith("js.")}, ensure_ascii=False)


def load(folder: Path) -> dict[str, Words]:
    """Every language's words from ``folder``/LANG.json.  Reads files: once, at start."""
    english = json.loads((folder / "en.json").read_text("utf-8"))
    found = {"en": Words("en", english, load_translated("en"))}
    for lang in LANGUAGES:
        if lang != "en":
            own = json.loads((folder / f"{lang}.json").read_text("utf-8"))
            found[lang] = Words(lang, {**english, **own}, load_translated(lang))
    return found


def choose(cookie: str, accept: str) -> str:
    """The language for a request: what the person chose, else the first one of theirs that we have, else English."""
    if cookie in LANGUAGES:
        return cookie
    for part in accept.split(","):
        code = part.partition(";")[0].strip().lower().partition("-")[0]
        if code in LANGUAGES:
            return code
    return "en"
