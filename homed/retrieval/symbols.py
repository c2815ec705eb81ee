"""Exact symbols: what is asked for by its very characters, and is nowhere or there."""

from __future__ import annotations

import re

from homed.retrieval.terms import term
from homed.retrieval.words import HEAD, cleaned, is_exact, query_terms
from homed.store.rows import Tx

MOST = 32
"""Symbols of one query that are looked up: of a pasted log nobody asks for each."""

_NAMES = re.compile(r"[0-9_@]|://|^[/~]")
"""What only an identifier, number, address or path has; "and/or" and "U.S.A." are words."""

_YEAR = re.compile(r"(?:19|20)\d\d")
_PLAIN = re.compile(r"[\d.]+(?:st|nd|rd|th|s|am|pm|h|m|k|km|kg|cm|mm|gb|mb)?|\d{1,2}[:/.-]\d{1,2}(?:[:/.-]\d{2,4})?")


def absent(tx: Tx, scope: str, query: str) -> list[str]:
    """The exact symbols of a query that stand in no event and no record of the scope, in the query's order.

    A year, a time of day, an amount with its unit are no symbols here: who asks about 2019 asks about what happened
    then.  Nor is anything without one: "that thing from last week" may be in other words.
    """
    if len(query) > HEAD:
        return []  # a pasted text asks for nothing of its own by its characters
    wanted = [word for word in query_terms(cleaned(query)) if is_exact(word) and not _vague(word)][:MOST]
    missing = [word for word in wanted if not _known(tx, term(scope, word))]
    return [word for word in missing if not any(word != other and word in other for other in missing)]


def _vague(word: str) -> bool:
    if _YEAR.fullmatch(word) or not _NAMES.search(word):
        return True
    return bool(_PLAIN.fullmatch(word)) and not word.isdigit() and word.count(".") < 2


def _known(tx: Tx, text: str) -> bool:
    return any(tx.value(f"SELECT doc FROM {table} WHERE term = ?", (text,)) for table in ("word_terms", "record_terms"))
