"""What was said, as that on which every number, date and name of a statement or a summary must stand.  Pure.

It may stand there in another notation, another script or another form (``amounts``, ``times``, ``names``).  What stands
nowhere in what was read was made up.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import UTC, date, datetime, tzinfo

from homed.memory import dedupe
from homed.memory.blocked import cleaned
from homed.memory.distil.amounts import Counted, counted
from homed.memory.distil.contract import Outlined
from homed.memory.distil.names import Spoken
from homed.memory.distil.times import Dated, dated
from homed.memory.lawwords import FUNCTION_WORDS
from homed.memory.normal import bag

LEAST = 6
"""Words of a summary at the least of which one must have been said."""

_LISTED = re.compile(r"^[ \t]{0,20}(?:[-*•]|\d{1,2}[.)、])\s+", re.MULTILINE)
_FIGURES = re.compile(r"\d+(?:[.,:]\d+)*")
_ROW = re.compile(
    r"(?<![\w'-])(?:[\w'-]{1,30}(?: [\w'-]{1,30}){0,3}, ){1,20}[\w'-]{1,30}(?: [\w'-]{1,30}){0,3}(?P<end>,?)"
    r" (?:and|or|и|или) "
)
_ROW_ZH = re.compile(r"(?:\w{1,12}、)+")
_SCRIPTS = (re.compile("[\u4e00-\u9fff]"), re.compile("[а-яё]", re.IGNORECASE), re.compile("[a-z]", re.IGNORECASE))


class Basis:
    """What was said, and when.  ``said``: texts, each with its time (UTC seconds; None: not known); ``zone``: of the
    person; ``names``: those that whoever wrote knew besides."""

    def __init__(
        self,
        said: Sequence[tuple[str, float | None]],
        zone: tzinfo = UTC,
        names: Iterable[str] = (),
        *,
        tally: bool = False,
    ) -> None:
        """``tally``: how many things are listed, and how many questions asked, may be said as well."""
        self.text = "\n".join(text for text, _ in said)
        self._said = said
        self._zone = zone
        self._names = tuple(names)
        self._tally = tally
        self._dated: Dated | None = None
        self._counted: Counted | None = None
        self._spoken: Spoken | None = None

    def lacks(self, text: str) -> str:
        """What of a text was not said: ``date``, ``number`` or ``name``; '' when all was."""
        rest, other = self._dates().missing(text)
        if other:
            return "date"
        if self._counted is None:
            more = [*self._dates().years, *(self._tallied() if self._tally else ())]
            self._counted = counted((one for one, _ in self._said), more)
        if self._counted.missing(rest):
            return "number"
        if self._spoken is None:
            self._spoken = Spoken((one for one, _ in self._said), self._names)
        return "name" if self._spoken.missing(text) else ""

    def words(self, text: str) -> str:
        """The text without its numbers and dates, which may stand elsewhere in another notation."""
        return _FIGURES.sub(" ", self._dates().missing(text)[0])

    def _dates(self) -> Dated:
        if self._dated is None:
            self._dated = dated([(one, _day(at, self._zone)) for one, at in self._said])
        return self._dated

    def invents(self, summary: Outlined) -> str:
        """What of a summary was not said, as ``lacks``; ``word``: not a word of it was."""
        text = cleaned("\n".join((summary.request, summary.actions, summary.outcome, *summary.tags)))
        if lacking := self.lacks(text):
            return lacking
        words = bag(f"{summary.request}\n{summary.outcome}") - FUNCTION_WORDS
        alien = len(words) >= LEAST and one_script(text, self.text) and dedupe.carried(text, self.text) == 0
        return "word" if alien else ""

    def _tallied(self) -> list[int]:
        found = {len(_LISTED.findall(one)) for one, _ in self._said} | {self.text.count("?") + self.text.count("？")}
        found |= {one.group().count("、") + 1 for one in _ROW_ZH.finditer(self.text)}
        found |= {one.group().count(", ") + 1 + ("," not in one["end"]) for one in _ROW.finditer(self.text)}
        return [one for one in found if one < 100]


def one_script(text: str, other: str) -> bool:
    """Whether two texts have letters of one script."""
    return any(script.search(text) and script.search(other) for script in _SCRIPTS)


def _day(at: float | None, zone: tzinfo) -> date | None:
    try:
        return None if at is None else datetime.fromtimestamp(at, zone).date()
    except (ValueError, OverflowError, OSError):  # of a clock that was wrong
        return None
