"""The blanks of a persona.  A version written into its text would be wrong with the next update (E36)."""

from __future__ import annotations

import re

from homed.wire.version import CORE

_BLANK = re.compile(r"\{(version|date)\}")


def filled(text: str, *, date: str) -> str:
    """The text with ``{version}`` and ``{date}`` filled in; every other brace stays as it is."""
    found = {"version": CORE, "date": date}
    return _BLANK.sub(lambda blank: found[blank[1]], text.strip())
