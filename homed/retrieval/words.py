"""A text as the terms it is found by: stems, pairs of Chinese characters, exact symbols.  Pure.

The same text always gives the same terms; nothing here guesses a language or waits for a dictionary.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from functools import cached_property
from importlib.util import find_spec, module_from_spec
from itertools import pairwise
from typing import Any

from homed.retrieval import courtesy
from homed.retrieval.stopwords import CHINESE_CHARACTERS, CHINESE_PAIRS, ENGLISH, RUSSIAN

HEAD, TAIL = 16_000, 8_000
"""Characters of a longer text whose words count.

A prompt shows no more of an event in one piece, and a stem costs some 30 µs.  Exact symbols count wherever they stand.
"""

LONGEST = 400_000
"""Characters looked at for exact symbols: 60 ms; what is behind them is not found by words."""

MOST_SYMBOLS = 2_000
"""Different exact symbols beyond the ends of a long text: a log of random ids must not fill the index."""

LONGEST_TERM = 80
"""Characters of one term; a longer symbol (base64, a URL with its query) is found by its parts."""

_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
    "\U00020000-\U0003ffff"
)
_RUN = re.compile(f"[{_UNSPACED}]+")
_PIECES = re.compile(
    rf"(?P<run>[{_UNSPACED}]+)"
    rf"|(?P<word>[^\W\d_{_UNSPACED}]+(?:'[^\W\d_{_UNSPACED}]+)?(?![\w+#@/.:=~%-]))"
    rf"|(?P<symbol>[^\W{_UNSPACED}](?:[-\w.:/@#+%&=~?$*](?<![{_UNSPACED}])|(?<=\d),(?=\d{{3}}(?!\d)))*)"
    rf"|(?P<path>[/~.$#@](?:[-\w.:/@#+%&=~?$*](?<![{_UNSPACED}]))+)"
)
_PARTS = re.compile(r"\d+|[^\W\d_]+")
_SEGMENT = re.compile(r"[/@?&=:#~]+")
_VERSION = re.compile(r"\d+(?:\.\d+)+")
_CAMEL = re.compile(r"(?<=[a-zа-я0-9])(?=[A-ZА-Я])|(?<=[A-Z])(?=[A-Z][a-z])")
_SINGLE_LETTER = re.compile(r"(?:^|[^A-Za-z0-9])[A-Za-z]$")
_MARKS = re.compile(r"[\u0300-\u036f]")
_EXACT = re.compile(r"[0-9_./:@#]")

_REQUEST = re.compile(
    r"^\s{0,8}(?:请|麻烦|能不能|可以|可否|你能|能){0,3}(?:帮忙|帮我|给我|替我|跟我|为我){0,2}"
    r"(?:(?:介绍|解释|讲解|推荐|说明|描述)(?:一下|下|一些|几个|几种)|(?:讲讲|说说|谈谈|聊聊)|(?:讲|说|算|查|找|看|想|写|画|编)(?:一下|个|一个|一首|一篇"
    r"|一段|首|篇|段)|(?:介绍|解释|讲解|推荐|说明|描述)(?=\S{3}))"
    r"|^\s{0,8}(?:please,?\s|(?:can|could|would)\s+you\s){0,2}\s{0,4}(?:tell\s+me\s+(?:more\s+)?about|explain(?:\s+to\s+me)?|describe|write\s+(?:me\s+)?an?"
    r"|give\s+me\s+(?:an?\s)?|recommend(?:\s+me)?|show\s+me\s+how\s+to)\b(?=\s)"
    r"|^\s{0,8}(?:пожалуйста,?\s){0,1}(?:расскажи(?:\s+мне)?(?:\s+про|\s+об?)?|объясни(?:\s+мне)?|опиши|напиши(?:\s+мне)?|посоветуй)\b(?=\s)",
    re.IGNORECASE,
)
"""How an answer is asked for at the beginning of a question: no word of what it is about."""

_MEANING = re.compile(
    r"^\s{0,8}(?:what|how)\s{1,4}(?:do|does|did)\s{1,4}(.{1,200}?)\s{1,4}(?:means?|stand\s{1,4}for|work)[?!. ]{0,4}$"
    r"|^\s{0,8}(.{1,200}?)(?:是|又是)?什么意思[?？!！。 ]{0,4}$"
    r"|^\s{0,8}(?:什么叫做?|何谓)(.{1,200}?)[?？!！。 ]{0,4}$",
    re.IGNORECASE,
)
"""How it is asked what something means or how it works: what that is in one of its groups."""

# Every blank below is bounded and stays in its line: an open one makes the search quadratic, and nothing interrupts it.
_TIME = r"\d{1,2}:\d{2}(?::\d{2})?(?:[.,]\d{1,9})?(?: ?(?:Z|[+-]\d{2}:?\d{2}|[AP]M))?"
_DATE = r"\d{4}[-/.年]\d{1,2}[-/.月]\d{1,2}日?"
_NOISE = re.compile(
    rf"^[ \t]{{0,8}}[\[(（【]?{_DATE}[T ,]{{0,3}}{_TIME}[\])）】]?[:：,]?"  # a line's own time stamp
    rf"|[\[(（【] {{0,2}}(?:{_DATE}[T ,]{{0,3}})?{_TIME} {{0,2}}[\])）】]"  # one in brackets, anywhere
    r"|</?[a-z][\w-]{0,40}(?:\s{1,8}[\w-]{1,40}=\"[^\"\n]{0,200}\"){0,20}\s{0,8}/?>"  # marks of a template
    r"|\[… \d{1,12} of \d{1,12} characters left out[^\]]{0,200}\]",
    re.MULTILINE,
)


def tokens(text: str) -> list[str]:
    """The terms of ``text`` in their order, repeats and all: lower case, no blank inside, none a stop word.

    A word is its stem (Porter2 for Latin letters, Snowball's Russian for Cyrillic).  Scripts without spaces give single
    characters and pairs.  What holds digits or joins letters by punctuation (4379, 3.11.2, 10.0.0.7:8080, /etc/hosts,
    gen-itgc, snake_case, someName) is a term whole and in its parts.
    """
    return Words().tokens(text)


def query_terms(text: str) -> list[str]:
    """The terms to look for, each once: as ``tokens``, but of a run of Chinese only its pairs.

    A single character is looked for where it stands alone or between words that say nothing (云, 我的云).  What only
    asks for an answer (帮我介绍一下, tell me about, what does … mean) is left out where something else is asked for.
    """
    making = Words(singles=False)
    asked = list(dict.fromkeys(making.tokens(text)))
    meant = _MEANING.match(text)
    rest = next(filter(None, meant.groups())) if meant else _REQUEST.sub("", text)
    return (asked if rest == text else list(dict.fromkeys(making.tokens(rest)))) or asked


def ends(text: str) -> list[str]:
    """What of a text is looked for: all of it, or of a longer one its head and its tail."""
    return [text[:HEAD], text[-TAIL:]] if len(text) > HEAD + TAIL else [text]


def cleaned(text: str) -> str:
    """A query without time stamps, marks of templates and what is only polite; as it is when nothing would be left.

    Of one longer than ``HEAD`` + ``TAIL`` its ends alone: no more of it is looked for.
    """
    text = "\n".join(ends(text))
    left = _NOISE.sub(" ", text).strip()
    return courtesy.without(left or text)


def is_character(term: str) -> bool:
    """True for one character of a script without spaces: it stands in many words."""
    return len(term) == 1 and _RUN.fullmatch(term) is not None


def is_pair(term: str) -> bool:
    """True for two characters of a script without spaces: half of those are no word, but the border of two."""
    return len(term) == 2 and _RUN.fullmatch(term) is not None


def says_little(pair: str) -> bool:
    """True for a pair of which one character is a stop word: it matters only where somebody wrote it."""
    return any(one in CHINESE_CHARACTERS for one in pair)


def is_exact(term: str) -> bool:
    """True for a number of three digits or more, a version, address, path or identifier: no word of a language."""
    if term.isdigit():
        return len(term) > 2
    return len(term) > 3 and not term.isalpha() and _EXACT.search(term) is not None


class Words:
    """Makes terms, and remembers stems for as long as it lives (a batch of texts)."""

    def __init__(self, *, singles: bool = True) -> None:
        self._singles = singles
        self._stems: dict[str, str] = {}

    def tokens(self, text: str) -> list[str]:
        """See the function of this name."""
        if len(text) <= HEAD + TAIL:
            return self._all(text)
        return [*self._all(text[:HEAD]), *self._symbols(text[HEAD:LONGEST][:-TAIL]), *self._all(text[-TAIL:])]

    def _all(self, text: str) -> list[str]:
        found: list[str] = []
        for piece in _PIECES.finditer(unicodedata.normalize("NFKC", text).replace("’", "'")):
            kind, part = piece.lastgroup, piece.group()
            if kind == "run":
                found.extend(_run(part, self._singles))
                _joined(found, piece)
            elif kind == "word" and ("'" in part or not _CAMEL.search(part)):
                self._word(part, found)
            else:
                self._symbol(part, found)
        return found

    def _symbols(self, text: str) -> list[str]:
        """Only what a stem has no part in: the middle of a very long text."""
        found: dict[str, None] = {}
        for piece in _PIECES.finditer(text):
            if piece.lastgroup in ("symbol", "path"):
                whole = piece.group().rstrip(".:?/-=&").lower()
                if len(whole) <= LONGEST_TERM and is_exact(whole):
                    found[whole] = None
                    if len(found) >= MOST_SYMBOLS:
                        break
        return list(found)

    def _word(self, word: str, found: list[str]) -> None:
        word = word.lower()
        if word in ENGLISH or word in RUSSIAN:
            return
        word = word.partition("'")[0]
        if word and word not in ENGLISH and len(word) <= LONGEST_TERM:
            found.append(self._stem(word))

    def _symbol(self, symbol: str, found: list[str]) -> None:
        symbol = symbol.rstrip(".:?/-=&~%*$").replace(",", "")
        whole = symbol.lower()
        if not whole:
            return
        parts = [part for piece in _CAMEL.split(symbol) for part in _PARTS.findall(piece)]
        if len(parts) == 1 and parts[0].lower() == whole:
            self._part(parts[0], found)
            return
        segments = [s.strip(".:-") for s in _SEGMENT.split(whole)]
        inside = [whole, *(s for s in segments if not s.isalnum()), *_VERSION.findall(whole)]
        found.extend(dict.fromkeys(s for s in inside if 1 < len(s) <= LONGEST_TERM))
        for part in parts:
            if len(part) > 1 + part.isdigit():  # the 10 of 10.0.0.7 and the e of e.g. say nothing
                self._part(part, found)

    def _part(self, part: str, found: list[str]) -> None:
        if part.isdigit():
            found.append(part[:LONGEST_TERM])
        else:
            self._word(part, found)

    def _stem(self, word: str) -> str:
        known = self._stems.get(word)
        if known is None:
            known = self._stems[word] = self._new_stem(word)
        return known

    # by name, since `snowballstemmer.stemmer` takes PyStemmer's where that is installed, which may make other stems

    @cached_property
    def _english(self) -> Any:
        _two_languages_only()
        from snowballstemmer.english_stemmer import EnglishStemmer

        return EnglishStemmer()

    @cached_property
    def _russian(self) -> Any:
        _two_languages_only()
        from snowballstemmer.russian_stemmer import RussianStemmer

        return RussianStemmer()

    def _new_stem(self, word: str) -> str:
        if word.isascii():
            return str(self._english.stemWord(word))
        if "а" <= word[0] <= "ё":
            return str(self._russian.stemWord(word.replace("ё", "е")))
        plain = _MARKS.sub("", unicodedata.normalize("NFKD", word))
        return str(self._english.stemWord(plain)) if plain.isascii() else word


def _two_languages_only() -> None:
    """Let the package of the stemmers stand there without having run: that would load 34 languages, 2 MB and 14 ms."""
    spec = find_spec("snowballstemmer") if "snowballstemmer" not in sys.modules else None
    if spec is not None:
        sys.modules.setdefault("snowballstemmer", module_from_spec(spec))


def _run(run: str, singles: bool) -> list[str]:
    """Characters and pairs of a run of a script without spaces."""
    stop = [one in CHINESE_CHARACTERS for one in run]
    last = len(run) - 1
    found = [
        one
        for at, one in enumerate(run)
        if not stop[at] and (singles or ((at == 0 or stop[at - 1]) and (at == last or stop[at + 1])))
    ]
    for at, (first, second) in enumerate(pairwise(run)):
        if not (stop[at] and stop[at + 1]) and first + second not in CHINESE_PAIRS:
            found.append(first + second)
    return found


def _joined(found: list[str], piece: re.Match[str]) -> None:
    """A single letter written on to a character is one word with it: C盘, T恤."""
    text, at = piece.string, piece.start()
    if _SINGLE_LETTER.search(text, max(0, at - 2), at):
        found.append(text[at - 1].lower() + text[at])
