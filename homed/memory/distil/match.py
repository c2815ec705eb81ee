"""What a rule found, and what the rules of each language share.  Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from homed.memory import numbers

OLDEST = 120

_NOBODY = re.compile(
    r"(?:john|jane) doe|x+|tbd|todo|n/?a|foo|bar|baz|none|null|nobody|unknown|anonymous|your name|your_name|root|admin"
    r"|张三|李四|王五|某.*|никто|аноним|имя(?: фамилия)?|(?:вася|иван) пупкин",
    re.IGNORECASE,
)
"""Names of nobody, which stand in forms and examples."""


def nobody(name: str) -> bool:
    """True for a name that is nobody's."""
    return _NOBODY.fullmatch(name.strip()) is not None


class Hit(NamedTuple):
    """A relation and the place of its value in the sentence; ``more``: what else the statement says; ``form``: which
    wording the statement gets."""

    relation: str
    first: int
    last: int
    value: str = ""
    more: str = ""
    years: tuple[int | None, int | None] = (None, None)
    form: str = ""


@dataclass(frozen=True, slots=True)
class Rule:
    """``pattern`` has a group ``v``; ``fit`` says what of it is the value, '' for none; ``form``: of the wording."""

    relation: str
    pattern: re.Pattern[str]
    fit: Callable[[str], str]
    form: str = ""


def hits(rules: tuple[Rule, ...], sentence: str) -> Iterator[Hit]:
    """What each rule finds, each relation's value once."""
    for rule in rules:
        for found in rule.pattern.finditer(sentence):
            value = rule.fit(found["v"])
            if value:
                groups = found.groupdict()
                years = (_year(groups.get("since")), _year(groups.get("until")))
                first = found.start("v") + max(0, found["v"].find(value))
                relation = rule.relation.replace("*", groups.get("what") or "")
                yield Hit(relation, first, first + len(value), value, groups.get("what") or "", years, rule.form)


def _year(written: str | None) -> int | None:
    return int(written) if written else None


def age(written: str) -> str:
    """A number of years in digits, whatever it was written in; '' when nobody is so old."""
    plain = written.lower().replace("-", " ").strip()
    if plain.isdigit():
        number: int | None = int(plain)
    else:
        number = numbers.chinese(plain)
        if number is None:
            [number, *_] = numbers.of_words(plain.split()) or [None]
    return str(number) if number is not None and 1 <= number <= OLDEST else ""
