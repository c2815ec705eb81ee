"""The JSON in what a model answered, whatever else it says, and however much.  Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from typing import Any

LONGEST = 100_000
"""Characters of an answer that are looked at: it was asked for a few thousand."""

BRACES = 50
"""Opening braces of an answer at which a JSON object is looked for."""

_THOUGHT = re.compile(r"<(think|thinking|reasoning)>.*?(?:</\1>|\Z)", re.DOTALL | re.IGNORECASE)


def json_object(answer: str, keys: Collection[str]) -> Mapping[str, Any]:
    """The first JSON object that has one of these keys, behind what was thought aloud; {} if there is none."""
    plain = _THOUGHT.sub("", answer[:LONGEST])
    decoder, at = json.JSONDecoder(), plain.find("{")
    for _ in range(BRACES):
        if at < 0:
            break
        try:
            found, _end = decoder.raw_decode(plain, at)
        except (ValueError, RecursionError):
            found = None
        if isinstance(found, dict) and any(key in found for key in keys):
            return found
        at = plain.find("{", at + 1)
    return {}
