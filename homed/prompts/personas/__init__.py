"""Who the assistant may be: a few suggestions, each a file NAME.LANG.md beside this module.

The first line is its title, the second says what it is like, the rest is the persona itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import resources

NAMES = ("steady", "friend", "brief", "tutor", "butler")
LANGUAGES = ("en", "zh")


@dataclass(frozen=True, slots=True)
class Preset:
    """One suggestion in one language."""

    name: str
    lang: str
    title: str
    about: str
    text: str


def presets(lang: str) -> list[Preset]:
    """All of them in a language, in English where they are not there in it.  Reads files."""
    return [preset(name, lang) for name in NAMES]


def preset(name: str, lang: str) -> Preset:
    """One; KeyError for a name that is not there."""
    if name not in NAMES:
        raise KeyError(name)
    lang = lang if lang in LANGUAGES else "en"
    whole = resources.files(__package__).joinpath(f"{name}.{lang}.md").read_text(encoding="utf-8")
    title, about, text = whole.split("\n", 2)
    return Preset(name, lang, title.removeprefix("# ").strip(), about.strip(), text.strip())
