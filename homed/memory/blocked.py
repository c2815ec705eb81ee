"""What may never be kept as a fact: a text that holds a secret.  Pure; says which kind, never the text.

Facts and capsules that hold one are refused.  A summary has to say what happened, so there the secret alone goes
(``cleaned``).
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable

from homed.redact import marker, redact

_MARKER = re.compile(r"\[secret:([a-z_]+)\]")
_PLACE = "\0"
"""Stands for one of our own markers while the rest is looked through: there is nothing left in them."""

_NAME = (
    r"pass(?:word|wd|phrase)|pwd|secret|token|credentials?|(?:api|access|secret|private|auth)[ _-]?key"
    r"|пароль|токен|密码|口令|密钥|秘钥|令牌"
)
_NAMED = re.compile(rf"((?:{_NAME})\s{{0,4}}[:=：]\s{{0,4}})[^\s\0]\S{{5,}}", re.IGNORECASE)
_TOLD = re.compile(
    rf"((?:{_NAME})[ \t]{{0,4}}(?:\b(?:is|was)\b|是|为|[-–—]{{1,2}})[ \t]{{0,4}})(?=[!-~]{{0,64}}[0-9])[!-~]{{6,}}",
    re.IGNORECASE,
)
_KEY = re.compile(r"(?<![A-Za-z0-9])(?:sk-(?:[a-z]{2,8}[0-9]{0,2}-){0,3}|gsk_|hf_|gh[po]_|glpat-)[A-Za-z0-9]{20,}")
"""As ``homed.redact`` takes them out, but without asking for a digit: in a statement of a few words no name of a thing
is that long."""

_CARD = re.compile(r"(?<![\d.,-])\d(?:[ -]?\d){12,18}(?![\d-])")
_LONG = re.compile(r"(?<![A-Za-z0-9+/=_-])[A-Za-z0-9+/=_-]{32,}")
_NEAR = re.compile(
    r"pass|pwd|secret|token|credential|key|парол|ключ|секрет|токен|密码|密钥|秘钥|口令|令牌", re.IGNORECASE
)
_AROUND = 40
"""Characters before a long random string in which a word for a secret makes it one."""

ENTROPY = 4.0
"""Bits a character from which on a long string is random; hex can have no more, so of it 3.0 is asked."""
HEX_ENTROPY = 3.0


def secret_in(text: str) -> str:
    """The kind of the first secret found in ``text`` (``private_key``, ``key``, ``card``, …); '' when there is none.

    What ``homed.redact`` would take out, and besides ``NAME: VALUE``, card numbers, and long random strings that stand
    near a word for a secret.  Its own markers are no secrets: there is nothing left in them.
    """
    before = Counter(_MARKER.findall(text))
    found = Counter(_MARKER.findall(cleaned(text))) - before
    return str(next(iter(found))) if found else ""


def cleaned(text: str) -> str:
    """The text with ``[secret:KIND]`` in the place of each secret; the same text where there is none."""
    plain = redact(text)
    marks = [match.group() for match in _MARKER.finditer(plain)]
    plain = _MARKER.sub(_PLACE, plain.replace(_PLACE, ""))
    for pattern, kind in ((_NAMED, "password"), (_TOLD, "password"), (_KEY, "key")):
        plain = _restored(pattern, kind, plain, marks)
    plain = _restored(_CARD, "card", plain, marks, lambda match: _luhn(match.group()))
    plain = _restored(_LONG, "random", plain, marks, _near_a_name)
    left = iter(marks)
    return re.sub(_PLACE, lambda _: next(left), plain)


def _restored(
    pattern: re.Pattern[str], kind: str, text: str, marks: list[str], secret: Callable[[re.Match[str]], bool] = bool
) -> str:
    """``text`` with a place for each secret that the pattern finds, and its marker among ``marks``, in their order."""
    made, done = "", 0
    for match in pattern.finditer(text):
        if not secret(match):
            continue
        kept = match.group(1) if pattern.groups else ""
        swallowed = match.group().count(_PLACE)
        made += text[done : match.start()] + kept + _PLACE
        at = made.count(_PLACE) - 1
        marks[at : at + swallowed] = [marker(kind)]
        done = match.end()
    return made + text[done:]


def _near_a_name(match: re.Match[str]) -> bool:
    near = match.string[max(0, match.start() - _AROUND) : match.start()]
    return _NEAR.search(near) is not None and _random(match.group())


def _luhn(written: str) -> bool:
    digits = [int(one) for one in written if one.isdigit()]
    doubled = [digit if at % 2 == 0 else sum(divmod(2 * digit, 10)) for at, digit in enumerate(reversed(digits))]
    return len(set(digits)) > 1 and sum(doubled) % 10 == 0


def _random(text: str) -> bool:
    counts = Counter(text).values()
    entropy = -sum(count / len(text) * math.log2(count / len(text)) for count in counts)
    return entropy >= (HEX_ENTROPY if re.fullmatch(r"[0-9a-fA-F]+", text) else ENTROPY)
