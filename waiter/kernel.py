"""What homed itself says, in the language of the interface.  Pure.

homed speaks English; a catalogue ``strings/kernel.LANG.json`` has its sentences, with ``{name}`` where something is
filled in.  What it does not know stays as homed said it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

PART = re.compile(r"\{(\w+)\}")
LONGEST = 4_000
"""Characters of a text that is looked up; a longer one is no sentence of homed's."""


class Kernel:
    """One language's catalogue; an empty one leaves everything in English."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self._exact = {english: text for english, text in texts.items() if not PART.search(english)}
        self._patterns = [
            (_pattern(english), text) for english, text in texts.items() if english not in self._exact
        ]  # fmt: skip

    def __call__(self, text: str) -> str:
        """A sentence, with what is filled in looked up in the same way."""
        if text in self._exact:
            return self._exact[text]
        if len(text) <= LONGEST:
            for pattern, translated in self._patterns:
                if (found := pattern.fullmatch(text)) is not None:
                    parts = {name: self(part) for name, part in found.groupdict().items()}
                    return PART.sub(lambda one: parts[one[1]], translated)  # noqa: B023 - used at once
        return text


def _pattern(english: str) -> re.Pattern[str]:
    pieces = PART.split(english)
    made = [f"(?P<{piece}>.+?)" if index % 2 else re.escape(piece) for index, piece in enumerate(pieces)]
    return re.compile("".join(made), re.DOTALL)
