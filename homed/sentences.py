"""What homed says, in another language: one catalogue for its commands, the page and waiter.

homed speaks English.  ``strings/kernel.LANG.json`` has, in that language, its settings by key (name and description),
its plugins by name, categories, and under ``texts`` whole sentences with ``{name}`` where something is filled in.  What
is not there stays as homed said it.  A catalogue is read when the first sentence is looked up in it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache
from typing import Any

PART = re.compile(r"\{(\w+)\}")
LONGEST = 4_000
"""Characters of a text that is looked up; a longer one is no sentence of homed's."""


class Sentences:
    """One language's sentences; none leave everything in English.

    A pattern is made when the words around its parts are all in a text, no sooner: there are hundreds.
    """

    def __init__(self, texts: Mapping[str, str]) -> None:
        self._exact = {english: text for english, text in texts.items() if not PART.search(english)}
        self._made = [(PART.split(english), text) for english, text in texts.items() if english not in self._exact]

    def __call__(self, text: str) -> str:
        """The sentence in that language, with what is filled in looked up in the same way; or as it is.

        Of several that fit the one is taken whose words begin first, and of these the one that has more of them:
        "There is no job {job}." before "There is no {kind} {id}.".
        """
        if text in self._exact:
            return self._exact[text]
        best: tuple[int, int, re.Match[str], str] | None = None
        for pieces, said in self._made if len(text) <= LONGEST else ():
            words = pieces[::2]
            if all(piece in text for piece in words) and (found := _pattern(*pieces).fullmatch(text)) is not None:
                rank = 0 if words[0] else found.end(1), -sum(map(len, words))
                if best is None or rank < best[:2]:
                    best = *rank, found, said
        if best is None:
            return text
        parts = {name: self(part) for name, part in best[2].groupdict().items()}
        return PART.sub(lambda one: parts[one[1]], best[3])


@cache
def _pattern(*pieces: str) -> re.Pattern[str]:
    made = [f"(?P<{piece}>.+?)" if index % 2 else re.escape(piece) for index, piece in enumerate(pieces)]
    return re.compile("".join(made), re.DOTALL)


@cache
def catalogue(name: str, language: str) -> Mapping[str, Any]:
    """``strings/NAME.LANGUAGE.json``; nothing for English, in which everything is said."""
    if language == "en":
        return {}
    from importlib.resources import files  # with the first sentence

    found: dict[str, Any] = json.loads((files("homed") / "strings" / f"{name}.{language}.json").read_text("utf-8"))
    return found
