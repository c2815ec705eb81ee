"""What may never be kept as a fact: a text that holds a secret.  Pure; says which kind, never the text.

Facts and capsules that hold one are refused.  A summary has to say what happened, so there the secret alone goes
(``cleaned``).
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Callable

from homed.memory.seen import seen
from homed.redact import marker, redact

_MARKER = re.compile(r"\[secret:([a-z_]+)\]")
_PLACE = "\0"
"""Stands for one of our own markers while the rest is looked through: there is nothing left in them."""

_NAME = (
    r"pass(?:word|wd|phrase)|pwd|secret|token|credentials?|(?:api|access|secret|private|auth)[ _-]?key"
    r"|пароль|токен|密码|口令|密钥|秘钥|令牌"
)
_AROUND_NAME = "[*_`\"'|]{0,3}"  # **password**: …, `password`: …, | password | …
_NAMED = re.compile(
    rf"((?:{_NAME}){_AROUND_NAME}\s{{0,4}}[:=：]\s{{0,4}}{_AROUND_NAME})(?<!\0)[^\s\0]\S{{5,}}", re.IGNORECASE
)
_PASSWORD = r"pass(?:word|wd|phrase)|pwd|парол(?:ь|я|ю|ем|е)(?![а-яё])|密码|口令"
_TOLD = re.compile(
    rf"((?:(?:{_NAME}|секретн[а-яё]{{2}} ключ){_AROUND_NAME}"
    rf"|(?:{_PASSWORD}){_AROUND_NAME}(?:[ \t](?:for|to|of|from|от|для|к)[ \t][^\n:：=\0]{{1,40}}?)?)[ \t]{{0,4}}"
    r"(?:\b(?:is|was|это)\b|[:：=]|(?:用的|就|还)?[是为]|[-–—]{1,2}(?:[ \t]это\b)?)"
    rf"[ \t]{{0,4}}{_AROUND_NAME})(?=[!-~]{{0,64}}[0-9])[!-~]{{6,}}",
    re.IGNORECASE,
)
_BARE = re.compile(
    rf"((?:{_PASSWORD}|api[ _-]?key){_AROUND_NAME}[ \t|]{{1,4}}{_AROUND_NAME})"
    r"(?=[!-~]{0,64}[0-9])(?=[!-~]{0,64}[A-Za-z])[!-~]{6,}",
    re.IGNORECASE,
)
"""As in a table, and in Russian, which has no "is"."""

_KEY = re.compile(r"(?<![A-Za-z0-9])(?:sk-(?:[a-z]{2,8}[0-9]{0,2}-){0,3}|gsk_|hf_|gh[po]_|glpat-)[A-Za-z0-9]{20,}")
"""As ``homed.redact`` takes them out, but without asking for a digit: in a statement of a few words no name of a thing
is that long."""

_CARD = re.compile(r"(?<![\d.,-])(?:\d{4}(?:[ \xa0\t\n.·/|-]{1,3}\d{4}){3}|\d(?:[ -]?\d){12,18})(?!-?\d)")
_LONG = re.compile(r"(?<![A-Za-z0-9+/=_-])[A-Za-z0-9+/=_-]{32,}")
_NEAR = re.compile(
    r"pass|pwd|secret|token|credential|key|парол|ключ|секрет|токен|密码|密钥|秘钥|口令|令牌", re.IGNORECASE
)
_AROUND = 40
"""Characters before a long random string in which a word for a secret makes it one."""

_LOOKALIKE = str.maketrans("аеорсухіѕАВЕКМНОРСТХ", "aeopcyxisABEKMHOPCTX")
_MIXED = re.compile(
    r"\b[A-Za-zа-яіѕА-Я_-]{0,40}(?:[A-Za-z][аеорсухіѕАВЕКМНОРСТХ]|[аеорсухіѕАВЕКМНОРСТХ][A-Za-z])[A-Za-zа-яіѕА-Я_-]{0,40}"
)
_SPLIT = re.compile(
    r"((?<![A-Za-z0-9])(?:sk-|gsk_|hf_|gh[pousr]_|github_pat_|glpat-|xox[abeoprs]-|AIza|AKIA|ASIA|eyJ)[A-Za-z0-9_.-]{1,200})"
    r"[ \t]{0,4}\n[ \t]{0,4}(?=[A-Za-z_.-]{0,40}[0-9])([A-Za-z0-9_.-]{4,})"
)
_DISGUISED = re.compile(
    "[\xad\xa0\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\uff10-\uff5a\U0001d400-\U0001d7ff\U000e0000-\U000e007f]"
    "|[A-Za-z][аеорсухіѕАВЕКМНОРСТХ]|[аеорсухіѕАВЕКМНОРСТХ][A-Za-z]|[A-Za-z0-9][ \t]{0,4}\n"
)
"""Where it is worth the while to look at a text once more."""

_AHEAD = 100
"""Characters behind a cut that tell whether it goes through a secret."""

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
    """The text with ``[secret:KIND]`` in the place of each secret; the same text where there is none.

    Where one is disguised (full width, characters that nobody sees, letters of another script that look the same, a key
    in two lines), the text comes back in plain characters.
    """
    plain = _cleaned(text)
    if _DISGUISED.search(text) and (bare := _undisguised(text)) != text:
        found = _cleaned(bare)
        if len(_MARKER.findall(found)) > len(_MARKER.findall(plain)):
            return found
    return plain


def _undisguised(text: str) -> str:
    plain = unicodedata.normalize("NFKC", seen(text))
    plain = _MIXED.sub(lambda word: word.group().translate(_LOOKALIKE), plain)
    return _SPLIT.sub(r"\1\2", plain)


def _cleaned(text: str) -> str:
    plain = redact(text)
    marks = [match.group() for match in _MARKER.finditer(plain)]
    plain = _MARKER.sub(_PLACE, plain.replace(_PLACE, ""))
    for pattern, kind in ((_NAMED, "password"), (_TOLD, "password"), (_BARE, "password"), (_KEY, "key")):
        plain = _restored(pattern, kind, plain, marks)
    plain = _restored(_CARD, "card", plain, marks, lambda match: _luhn(match.group()))
    plain = _restored(_LONG, "random", plain, marks, _near_a_name)
    left = iter(marks)
    return re.sub(_PLACE, lambda _: next(left), plain)


def shortened(text: str, most: int) -> str:
    """The text, or its beginning with "…" in so many characters, in which no secret is cut: half of one looks like
    none."""
    if len(text) <= most:
        return text
    return f"{cleaned(text[: most + _AHEAD])[: most - 1].rstrip()}…"


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
