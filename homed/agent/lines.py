"""A record as one line of a prompt: what it is, where it comes from, its words, its id.  Pure.

`- [fact · preference · source] The user drinks green tea. (id:9f3c1a7b)`, in Chinese for Chinese words.  What is cut is
the words alone: a line keeps its mark and its id, or there is none.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field

from homed.agent import notes
from homed.memory.normal import is_run
from homed.memory.origins import NOBODY_KNOWS
from homed.memory.speakers import is_group
from homed.memory.stable import Record
from homed.memory.tokens import estimate_tokens
from homed.retrieval import saying

LEAST = 80
"""Characters of a line below which it is not cut, but left out: its marks would be most of it."""

EARLIER_TOKENS, EARLIER_LEAST = 40, 44
"""Tokens of a line that was told in an earlier turn, whose answer stands behind it; and characters at the least."""

OUTSIDE = "⚠ from outside, not checked"

CHINESE = {
    "summary": "摘要", "fact": "事实", "capsule": "胶囊",
    "preference": "偏好", "decision": "决定", "convention": "约定", "entity": "实体", "todo": "待办",
    "correction": "更正", "profile": "档案", "project": "项目", "thread": "话题", "open_loops": "未了事项",
    "source": "源", "pointer": "指针", "manual": "手写", OUTSIDE: "⚠ 来自外部，未经核实",
}  # fmt: skip
"""The marks of a line with Chinese words."""

_HAN, _KANA = re.compile("[\u3400-\u9fff]"), re.compile("[\u3040-\u30ff]")
_PLAIN_KINDS = ("turn", "fact")
"""Kinds that say no more than the record does."""


@dataclass(frozen=True, slots=True)
class Fact:
    """A record that may be told.  ``mark``: where it comes from (source, pointer, manual, or ''); ``names``: of the
    member of a group that it is of, if it has one.

    ``why`` it may be: hit, graph, active, latest; ``score`` it is ranked by, ``relevance`` of the gate, 0..1, ``parts``
    what each channel of the ranker gave to it.  ``origins``: whose words from outside it rests on, once looked up.
    """

    record: Record
    mark: str
    score: float = 0.0
    names: Mapping[str, str] = field(default_factory=dict)
    relevance: float = 0.0
    why: str = "hit"
    parts: Mapping[str, float] = field(default_factory=dict)
    origins: frozenset[str] = frozenset()

    @property
    def outside(self) -> frozenset[str]:
        """Whose words from outside are in it (`homed.memory.origins`); nobody knows whose where that was not looked
        up."""
        return (self.origins or NOBODY_KNOWS) if self.record.untrusted else frozenset()

    @property
    def key(self) -> tuple[str, int]:
        """Its id at its revision: told as that, it need not be told again."""
        return self.record.id, self.record.revision


@dataclass(frozen=True, slots=True)
class Written:
    """A line; ``shortened``: not all of its words are in it."""

    text: str
    shortened: bool = False


def whose(record: Record, peer: str, names: Mapping[str, str]) -> str:
    """Of whom a record is, where that is another member of a group than ``peer``, who speaks now: '' for all others.

    It says "the user" of whoever said it, and a group has many.  ``names``: of its members.
    """
    other = record.observed if is_group(record.scope) and record.observed != peer else ""
    return notes.speaker(other, names) if other else ""


def line(fact: Fact, chars: int, peer: str, least: int = LEAST) -> Written | None:
    """A record as it is told to a turn of ``peer``, in no more than so many characters; None where that is too few."""
    text = said(fact)
    chinese = is_chinese(text)
    head, tail = f"- [{_marks(fact, peer, chinese=chinese)}] ", f" (id:{fact.record.shown_id})"
    if len(head) + len(text) + len(tail) <= chars:
        return Written(f"{head}{text}{tail}")
    shown = cut(text, chars - len(head) - len(tail)) if chars >= least else ""
    return Written(f"{head}{shown}{tail}", shortened=True) if shown else None


def in_short(fact: Fact, peer: str) -> str:
    """The same with a message of before: no more than ``EARLIER_TOKENS``."""
    chars = EARLIER_TOKENS * 3
    while written := line(fact, chars, peer, EARLIER_LEAST):
        tokens = estimate_tokens(written.text)
        if tokens <= EARLIER_TOKENS:
            return written.text
        if chars <= EARLIER_LEAST:
            break
        chars = max(EARLIER_LEAST, (chars + chars * EARLIER_TOKENS // tokens) // 2)
    return ""


def small(fact: Fact, peer: str) -> str:
    """For a small model: its words alone; of a summary what the person said, if that is no question."""
    other = whose(fact.record, peer, fact.names)
    text = _asked(fact) if fact.record.record == "summary" else said(fact)
    return f"- Of {other}: {text}" if other else f"- {text}"


def said(fact: Fact) -> str:
    """What a record says, in one line that can forge no other."""
    record = fact.record
    if record.record == "summary":
        parts = [notes.neutral(part) for part in record.text.split("\n") if part.strip() not in ("", "-")]
        return " → ".join(" ".join(part.split()) for part in parts)
    title = f"{record.title}: " if record.title else ""
    return " ".join(notes.neutral(f"{title}{record.text}").split())


def cut(text: str, room: int) -> str:
    """The beginning of a text up to a border of words, with "…", in no more than ``room`` characters; '' for none.

    In scripts without blanks any place will do, but within no character; a word that is too long by itself is cut too.
    """
    if room < 2:
        return ""
    at = room - 1
    border = at
    while border > at // 2 and not _border(text, border):
        border -= 1
    if border <= at // 2:
        border = at
    while border > 0 and border < len(text) and _joins(text[border]):
        border -= 1
    shown = text[:border].rstrip()
    return f"{shown}…" if shown else ""


def is_chinese(text: str) -> bool:
    """Whether the marks of a line are in Chinese: no less than a quarter of its letters are, and none is Japanese."""
    letters = [one for one in text if one.isalnum()]
    return len(letters) <= 4 * len(_HAN.findall(text)) > 0 and not _KANA.search(text)


def _marks(fact: Fact, peer: str, *, chinese: bool) -> str:
    record, other = fact.record, whose(fact.record, peer, fact.names)
    kind = record.kind if record.kind not in _PLAIN_KINDS else ""
    told = [record.record, kind, fact.mark, OUTSIDE if record.untrusted else ""]
    shown = [CHINESE.get(one, one) if chinese else one for one in told]
    if other:
        shown.insert(2, f"{other} 的" if chinese else f"of {other}")
    return " · ".join(filter(None, shown))


def _border(text: str, at: int) -> bool:
    """Whether a word ends before, or begins at, this place."""
    if at >= len(text):
        return True
    before, behind = text[at - 1], text[at]
    return behind.isspace() or before.isspace() or is_run(before) or is_run(behind)


def _joins(one: str) -> bool:
    """Whether a character belongs to the one before it."""
    return bool(unicodedata.combining(one)) or one in "\u200d\ufe0f" or "\U0001f3fb" <= one <= "\U0001f3ff"


def _asked(fact: Fact) -> str:
    """What the person said, of a turn: the first line of its summary.  Of a question it is the answer that counts."""
    first = fact.record.text.partition("\n")[0]
    return said(fact) if saying.asking(first) else " ".join(notes.neutral(first).split())
