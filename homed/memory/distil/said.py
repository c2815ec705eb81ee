"""What of a message are its writer's own plain words: no quotation, no code, no question, no other's speech.  Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

LONGEST = 2_000
"""Characters of a message that the rules look at; a longer one is a paste."""

HIDDEN = "\0"
"""Stands for every character that is not the writer's own."""

DOT = "\u2024"
"""Stands for the dot of an abbreviation, which ends no sentence."""

_NOT_OWN = re.compile(
    r"```.*?(?:```|\Z)"
    r"|<(?P<tag>data|quote|blockquote|code|pre|system)\b[^>]{0,200}>.*?(?:</(?P=tag)>|\Z)"
    r"|`[^`\n]{0,400}`"
    r"|^[ \t]{0,8}(?:>|\||-{3,}|//|#+[ \t]).*$"
    r"|^.*\(id:[0-9a-f]{8}\).*$"
    r"|[“„][^”“\n]{0,400}[”“]|«[^»\n]{0,400}»|「[^」\n]{0,400}」|『[^』\n]{0,400}』|\"[^\"\n]{0,400}\"|‘[^’\n]{0,400}’(?!\w)"
    r"|(?<!\w)'[^'\n]{2,400}'(?!\w)"
    r"|[“„«「『\"].*$",
    re.DOTALL | re.MULTILINE,
)
_ABBREVIATION = re.compile(r"\b(?:St|Dr|Mr|Mrs|Ms|Prof|Jr|Sr|vs|etc|e\.g|i\.e|г|ул|им|т\.е|т\.к|[A-ZА-Я])(\.)(?=\s*\S)")
_END = re.compile(r"[.!?](?=\s|$)[.!?]{0,8}|[。！？；;…\n]+")
_SPEAKER = re.compile(
    r"^\s*(?:\[[^\]\n]{1,40}\]\s*)?(?P<who>[^\s:：][^:：\n]{0,30}?)\s*[:：](?!\d|//)\s*\S", re.MULTILINE
)
_OWN_PREFIX = re.compile(
    r"(?:correction|update|edit|edited|ps|p\.?s\.?|note|fyi|actually|btw|by the way|fact|about me|me|intro|remember|"
    r"一?点?更正|更正一下|补充|补充一下|备注|另外|注意|自我介绍|关于我|记住|请记住|"
    r"поправка|кстати|уточнение|обо мне|о себе|запомни|важно)",
    re.IGNORECASE,
)


_IRONY = re.compile(
    r"[\U0001F643\U0001F644\U0001F60F]|(?:^|\s)/s(?![\w/])|\b(?:sarcasm|irony)\b|\boh,? great\b|\byeah,? right\b"
    r"|[,.…]\s*not[\s.!]*$|呵呵|才怪|个鬼|狗头|\[doge\]|\bсарказм|\bирони[яюи]\b|\bага\b|\bну да\b|\bкак же,",
    re.IGNORECASE | re.MULTILINE,
)
_LETTER = re.compile(
    r"^\s*(?:from|to|cc|subject|fwd?|fw|re|кому|тема|от кого|发件人|收件人|主题|转发)\s*[:：]"
    r"|\A\s*(?:dear\b|уважаем|尊敬的)",
    re.IGNORECASE | re.MULTILINE,
)


def foreign(message: str) -> bool:
    """True for a message that is not meant as it stands, or that is another's letter."""
    return _IRONY.search(message) is not None or _LETTER.search(message) is not None


@dataclass(frozen=True, slots=True)
class Sentence:
    """One of the writer's own sentences.  ``text``: as it is matched (what is not own hidden, lengths unchanged);
    ``first``: where it begins in the message; ``end``: the sign it ends with, '' for none."""

    text: str
    first: int
    end: str

    @property
    def last(self) -> int:
        """The character behind its last, its sign included."""
        return self.first + len(self.text) + len(self.end)


def own(text: str) -> str:
    """The text with everything that is not its writer's own hidden; every character stays in its place."""
    hidden = _NOT_OWN.sub(lambda found: re.sub(r"[^\n]", HIDDEN, found.group()), text)
    return _ABBREVIATION.sub(lambda found: found.group()[:-1] + DOT, hidden)


def sentences(text: str) -> Iterator[Sentence]:
    """The sentences of a message that are its writer's own; of a pasted conversation none."""
    if len(text) > LONGEST:
        return
    plain = own(text)
    speakers = [found for found in _SPEAKER.finditer(plain) if not _OWN_PREFIX.fullmatch(found["who"].strip())]
    if len(speakers) > 1:
        return
    spoken = {found.start("who") for found in speakers}
    at = 0
    for end in [*_END.finditer(plain), None]:
        stop = end.start() if end else len(plain)
        piece = plain[at:stop]
        first = at + len(piece) - len(piece.lstrip())
        if piece.strip() and not any(first <= place < stop for place in spoken):
            yield Sentence(piece.strip(), first, end.group().rstrip("\n") if end else "")
        at = end.end() if end else stop
