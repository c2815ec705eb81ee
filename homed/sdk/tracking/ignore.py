"""Which entries of a folder are left out, by patterns as in ``.gitignore``.  Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

LONGEST = 512
"""Characters of a pattern; longer ones are not looked at."""


@dataclass(frozen=True, slots=True)
class _Rule:
    pattern: re.Pattern[str]
    folders_only: bool
    keeps: bool


class Ignore:
    """The last pattern that fits decides; what lies in a folder that is left out is left out."""

    def __init__(self, patterns: Iterable[str]) -> None:
        """Lines as in ``.gitignore``: ``*``, ``?``, ``[…]``, ``**``, a leading ``/`` or ``!``, a ``/`` at the end."""
        self._rules = [rule for line in patterns if (rule := _rule(line)) is not None]

    def __call__(self, path: bytes, *, folder: bool) -> bool:
        """Whether this entry is left out; its folder is not."""
        text = path.decode("utf-8", "surrogateescape")
        for rule in reversed(self._rules):
            if (folder or not rule.folders_only) and rule.pattern.fullmatch(text):
                return not rule.keeps
        return False


def _rule(line: str) -> _Rule | None:
    line = line.rstrip("\r\n")
    line = line if line.endswith("\\ ") else line.rstrip(" ")
    if not line or line.startswith("#") or len(line) > LONGEST:
        return None
    keeps = line.startswith("!")
    line = line[1:] if keeps or line.startswith(("\\#", "\\!")) else line
    folders_only = line.endswith("/")
    line = line.rstrip("/")
    anchored = "/" in line
    line = line.removeprefix("/")
    if not line:
        return None
    try:
        pattern = re.compile(("" if anchored else "(?:.*/)?") + _translated(line), re.DOTALL)
    except re.error:
        return None
    return _Rule(pattern, folders_only, keeps)


def _translated(glob: str) -> str:
    made, at = [], 0
    # ``*`` never crosses a slash, so no pattern makes the matching slow in the length of a whole path
    while at < len(glob):
        if glob.startswith("**/", at) and (at == 0 or glob[at - 1] == "/"):
            made.append("(?:[^/]+/)*")
            at += 3
        elif glob[at:] == "**" and (at == 0 or glob[at - 1] == "/"):
            made.append(".+")
            at += 2
        elif glob[at] == "*":
            while at < len(glob) and glob[at] == "*":
                at += 1
            made.append("[^/]*")
        elif glob[at] == "[" and (end := _class_end(glob, at)) > 0:
            made.append(_class(glob[at + 1 : end]))
            at = end + 1
        else:
            escaped = glob[at] == "\\" and at + 1 < len(glob)
            at += escaped
            made.append("[^/]" if glob[at] == "?" and not escaped else re.escape(glob[at]))
            at += 1
    return "".join(made)


def _class_end(glob: str, at: int) -> int:
    start = at + 2 if glob[at + 1 : at + 2] in ("!", "^") else at + 1
    return glob.find("]", start + 1)


def _class(inside: str) -> str:
    negated = inside[:1] in ("!", "^")
    body = inside[negated:].replace("\\", "\\\\").replace("[", "\\[").replace("]", "\\]").replace("^", "\\^")
    return f"(?!/)[{'^' if negated else ''}{body}]"
