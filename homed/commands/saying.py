"""What commands say, in the language of the terminal.  Pure, but for a catalogue that is read with the first sentence.

Commands are written in English.  ``strings/said.LANG.json`` has what they say themselves (``said``, by the English
template, so that nothing that is filled in is ever taken for a sentence), and ``strings/kernel.LANG.json`` what comes
to them whole, as errors, reasons and notes of the kernel's do: sentences with ``{name}`` where something stands in it.
What is in neither stays as it is.  Where the language is English neither is read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache
from typing import Any

from homed.config.environment import child_environment
from homed.helptext import language_of, shown

PART = re.compile(r"\{(\w+)\}")
LONGEST = 4_000
"""Characters of a text that is looked up; a longer one is no sentence of the kernel's."""


def phrase(english: str, /, **parts: object) -> str:
    """A sentence of a command's own with its parts filled in, as ``str.format`` does.

    ``english`` is the template as it stands in the code; a part is put in as it is, so one that is made of words is a
    phrase itself.
    """
    text = _said(_language()).get(english)
    text = english if text is None or not shown(text) else text
    return text.format(**parts) if parts else text


def translated(text: str) -> str:
    """A sentence that the kernel, argparse or an error says, with what is filled in looked up in the same way."""
    language = _language()
    if language == "en" or len(text) > LONGEST:
        return text
    found = _heard(language)(text)
    return found if shown(found) else text


def translated_lines(text: str) -> str:
    """Several lines that the kernel says, each by itself and as far from the edge as it was."""
    return "\n".join(line[: len(line) - len(line.lstrip())] + translated(line.strip()) for line in text.split("\n"))


def translated_each(text: str) -> str:
    """A finding, or several with ``; `` between them, each by itself."""
    parts = text.split("; ")
    if len(parts) > 1 and translated(parts[0]) != parts[0]:
        return "；".join(map(translated, parts))
    return translated(text)


def about_setting(key: str, description: str) -> str:
    """What a setting of homed or of one of its plugins is for."""
    language = _language()
    known = {} if language == "en" else _read("kernel", language)["settings"]
    return str(known[key][1]) if key in known and shown(known[key][1]) else description


def about_plugin(name: str, description: str) -> str:
    """What a built-in plugin is for."""
    language = _language()
    known = {} if language == "en" else _read("kernel", language)["plugins"]
    return str(known[name]) if name in known and shown(known[name]) else description


def _language() -> str:
    return language_of(child_environment())


class Heard:
    """One language's sentences.  A pattern is made when the words around its parts are all in a text, no sooner."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self._exact = {english: text for english, text in texts.items() if not PART.search(english)}
        self._made = [(PART.split(english), text) for english, text in texts.items() if english not in self._exact]

    def __call__(self, text: str) -> str:
        """The sentence in that language, or as it is.

        Of several that fit the one is taken whose words begin first, and of these the one that has more of them:
        "There is no job {job}." before "There is no {kind} {id}.".
        """
        if text in self._exact:
            return self._exact[text]
        best: tuple[int, int, re.Match[str], str] | None = None
        for pieces, said in self._made:
            words = pieces[::2]
            if all(piece in text for piece in words) and (found := _pattern(*pieces).fullmatch(text)) is not None:
                first = 0 if words[0] else found.end(1)
                if best is None or (first, -sum(map(len, words))) < best[:2]:
                    best = (first, -sum(map(len, words)), found, said)
        if best is None:
            return text
        parts = {name: self(part) for name, part in best[2].groupdict().items()}
        return PART.sub(lambda one: parts[one[1]], best[3])


@cache
def _pattern(*pieces: str) -> re.Pattern[str]:
    made = [f"(?P<{piece}>.+?)" if index % 2 else re.escape(piece) for index, piece in enumerate(pieces)]
    return re.compile("".join(made), re.DOTALL)


@cache
def _said(language: str) -> Mapping[str, str]:
    found: Mapping[str, str] = {} if language == "en" else _read("said", language)["said"]
    return found


@cache
def _heard(language: str) -> Heard:
    return Heard({**_read("said", language)["heard"], **_read("kernel", language)["texts"]})


@cache
def _read(name: str, language: str) -> dict[str, Any]:
    from importlib.resources import files  # with the first sentence

    found: dict[str, Any] = json.loads((files("homed") / "strings" / f"{name}.{language}.json").read_text("utf-8"))
    return found
