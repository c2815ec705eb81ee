"""What may never be kept as a fact: a text that holds a secret.  Pure; says which kind, never the text."""

from __future__ import annotations

import math
import re
from collections import Counter

from homed.redact import redact

_MARKER = re.compile(r"\[secret:([a-z_]+)\]")
_NAMED = re.compile(
    r"(?:password|passwd|pwd|secret|token|api[_-]?key|пароль|密码|密钥)\s{0,4}[:=：]\s{0,4}\S{6,}", re.IGNORECASE
)
_CARD = re.compile(r"(?<![\d.,-])\d(?:[ -]?\d){12,18}(?![\d-])")
_LONG = re.compile(r"(?<![A-Za-z0-9+/=_-])[A-Za-z0-9+/=_-]{32,}")
_NEAR = re.compile(r"pass|pwd|secret|token|credential|key|парол|ключ|секрет|密码|密钥|口令|令牌", re.IGNORECASE)
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
    found = Counter(_MARKER.findall(redact(text))) - before
    if found:
        return str(next(iter(found)))
    text = _MARKER.sub("", text)
    if _NAMED.search(text):
        return "password"
    if any(_luhn(match.group()) for match in _CARD.finditer(text)):
        return "card"
    for match in _LONG.finditer(text):
        near = text[max(0, match.start() - _AROUND) : match.start()]
        if _NEAR.search(near) and _random(match.group()):
            return "random"
    return ""


def _luhn(written: str) -> bool:
    digits = [int(one) for one in written if one.isdigit()]
    doubled = [digit if at % 2 == 0 else sum(divmod(2 * digit, 10)) for at, digit in enumerate(reversed(digits))]
    return len(set(digits)) > 1 and sum(doubled) % 10 == 0


def _random(text: str) -> bool:
    counts = Counter(text).values()
    entropy = -sum(count / len(text) * math.log2(count / len(text)) for count in counts)
    return entropy >= (HEX_ENTROPY if re.fullmatch(r"[0-9a-fA-F]+", text) else ENTROPY)
