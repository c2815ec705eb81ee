"""The names in a text, and whether what was said holds them, in whichever script.  Pure.

English and Russian names are known by their capitals, Chinese ones by what stands beside them (叫, a surname) or as
places that everybody knows.  What cannot be told from another word is no name.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from itertools import pairwise

from homed.memory.distil.chinese import SURNAMES
from homed.memory.distil.places import CHINESE, OTHERS
from homed.memory.distil.sounds import is_spelt, latin, skeletons, sounds_like, spelt
from homed.memory.distil.times import MONTHS
from homed.memory.lawwords import DAYS, ENDINGS, FUNCTION_WORDS, RUSSIAN_TIME
from homed.memory.normal import UNSPACED, folded

_WORD = re.compile(rf"(?:(?![{UNSPACED}])[^\W_])+(?:['’](?:(?![{UNSPACED}])[^\W_])+)*")
_BEGINS = re.compile(r"(?:^|[.!?。！？…:：;；\n\"“”«»(（•·*|-])\s*$")
_HAN = re.compile("[\u3400-\u9fff]+")

_GENERIC_WORDS = """
i user users assistant ai ok okay tv pc it id ip api cli cpu gpu ram os ui url web internet wifi wi fi ci cd
pr ux db faq gps html
http https json pdf sql ssh usb vpn xml yaml csv llm todo q a b c d mr mrs ms miss dr prof sir madam god lord mom mum
dad mama papa mother father grandma grandpa uncle aunt university school street avenue road library office bank
hospital clinic station museum airport church park lake mount mountain river city town village central national
federal international north south east west northern southern eastern western department institute company project
restaurant hotel bridge market garden house square new old great christmas easter year english chinese русский
пользователь ассистент я
"""
_GENERIC = frozenset(_GENERIC_WORDS.split())
"""Words with a capital that name nobody in particular."""

_SPEAKS_WORDS = """
asked asks said says told tells wants wanted lives lived loves loved hates hated likes liked knows knew thinks thought
married agreed promised wrote writes visited visits owns owned bought moved hopes hoped plans planned decided
suggested invited recommended met speaks spoke eats drinks studies studied teaches taught died hired lent borrowed
mentioned сказал сказала спросил спросила хочет живет любит купил купила работает
"""
_SPEAKS = frozenset(_SPEAKS_WORDS.split())
"""What people do, right behind a name that begins a sentence."""

_NOBODY_WORDS = """
user users assistant someone somebody nobody everyone everybody they he she it we you i who both all people person
owner model nothing something the a an this that these those there here one two father mother husband wife brother
sister son daughter friend boss doctor teacher neighbour neighbor colleague family parents children
"""
_NOBODY = frozenset(_NOBODY_WORDS.split())
_LATIN_ENDINGS = (
    frozenset(("", "s", "es", "an", "ian", "ish", "y", "ies", "er", "ic")),
    *(ENDINGS[1],),
)
_ACRONYM = re.compile(r"[A-ZА-Я]{2,6}s?")

_CALLED = re.compile(
    "(?:名叫|名字[叫是]|名为|取名|昵称[是叫]?|姓名[是：:]|(?<=[的名字是物狗猫友事])叫做?|姓)([\u4e00-\u9fff·]{1,4})"
)
_PLAIN_CALLED = re.compile("叫做?([\u4e00-\u9fff·]{2,4})")
_TITLE = "先生|女士|小姐|太太|老师|医生|教授|经理|律师|师傅|博士|阿姨|叔叔|主任|总监|大夫|同学"
_KIN = (
    "妻子|丈夫|先生|太太|老婆|老公|女儿|儿子|同事|老板|上司|朋友|邻居|姐姐|妹妹|哥哥|弟弟|妈妈|爸爸|室友|同学"
    "|客户|男友|女友|经理"
)
_STOP = "的在是和与跟也叫有去来要想会住说问谈吃发打讨一同对把被给让了着过吗呢吧个都还就不能可将已并，。、；！？"
_SURNAME = f"[{''.join(sorted(SURNAMES - set('周许钱金何')))}]"
_TITLED = re.compile(rf"({_SURNAME}[\u4e00-\u9fff]{{0,2}}?)(?:{_TITLE})")
_BESIDE = re.compile(
    rf"(?:(?:{_KIN})|[和与跟给找约见由]|告诉|通知|联系)({_SURNAME}[^{_STOP}\W]{{1,2}})(?=[{_STOP}\s]|见面|开会"
    rf"|负责|联系|$)"
)
_ACTS = re.compile(
    rf"(?:^|[，。；！？\n\s])({_SURNAME}[^{_STOP}\W]{{1,2}})(?=说|问|想要|想去|希望|住在|喜欢|告诉|同意|认为|建议"
    rf"|推荐|负责|请用户|让用户|邀请)"
)
_NO_NAME = re.compile(
    "马[上路桶桥]|黄[油色瓜金豆昏]|孙[子女]|雷[雨达声]|梅[雨花]|蓝[色天莓牙]|胡[同椒子萝须]|范[围例本]|余[额下地]"
    "|严[重格肃]|江[边水南]|沈[重没]"
    "|顾[客问虑]|熊[猫]|陶[瓷器]|姜[汁片茶]|谢谢|苏打|柳[树]|齐[全]|康[复]|庞[大]|纪[念录律]|夏[天季]|田[地野径]"
    "|凌晨|莫[名非]|陆[续地]"
    "|叶[子片]|黎[明]|曾[经]|白[天色]|高[兴中考]|方[便法案式]|常[常见]|安[排全装静]|成[功本为]|时[间候]|于是"
    "|任[何务]|包[括裹]|万[一]|程[序度]"
)
_PRONOUN = re.compile("[我你您他她它们这那什谁大人家车外醒号出作什]")


def names(text: str) -> list[str]:
    """The names in a text, as they stand there, each once."""
    return list(dict.fromkeys([*_capitals(unicodedata.normalize("NFKC", text)), *_chinese(text)]))


def _capitals(text: str) -> Iterator[str]:
    found = list(_WORD.finditer(text))
    for at, match in enumerate(found):
        word = _bare(match.group())
        low = folded(word)
        inner = any(one.isupper() for one in word[1:]) and any(one.islower() for one in word)
        if not (word[:1].isupper() or inner) or low in _GENERIC | FUNCTION_WORDS or low in MONTHS or low in DAYS:
            continue
        if len(word) < 2 or RUSSIAN_TIME.fullmatch(low):
            continue
        if _BEGINS.search(text[: match.start()]) and not inner and not _names_somebody(text, found, at):
            continue
        yield word


def _names_somebody(text: str, found: list[re.Match[str]], at: int) -> bool:
    """Whether a word that begins a sentence, and has its capital for that, is a name all the same."""
    word = found[at].group()
    if folded(_bare(word)) in _NOBODY:
        return False
    if word != _bare(word) or _ACRONYM.fullmatch(word):
        return word != _bare(word) or len(word) > 2
    after = [one.group() for one in found[at + 1 : at + 3]]
    gap = text[found[at].end() : found[at + 1].start()] if after else ""
    if not after or gap.strip():
        return False
    return folded(after[0]) in _SPEAKS or (after[0][0].isupper() and len(after) > 1 and folded(after[1]) in _SPEAKS)


def _bare(word: str) -> str:
    return re.sub(r"['’]s?$", "", word)


def _chinese(text: str) -> Iterator[str]:
    for run in _HAN.findall(text):
        yield from (place for place in CHINESE if place in run and not _PART.get(place, re.compile("$^")).search(run))
    for pattern in (_CALLED, _PLAIN_CALLED, _TITLED, _BESIDE, _ACTS):
        for match in pattern.finditer(text):
            name = re.split(f"[{_STOP}]", match[1])[0]
            if not name or _NO_NAME.match(name) or (pattern is _PLAIN_CALLED and not _is_called(name)):
                continue
            if pattern is _CALLED and _PRONOUN.match(name):
                continue
            yield name


_PART: dict[str, re.Pattern[str]] = {"罗马": re.compile("罗马(?:尼亚|数字)"), "印度": re.compile("印度尼西亚")}
"""Where a place is a part of another word."""


def _is_called(name: str) -> bool:
    """Whether what stands behind a bare 叫, which also calls a taxi, looks like a name."""
    if _PRONOUN.match(name):
        return False
    return len(name) > 1 and (name[0] in SURNAMES | set("小阿老") or name[0] == name[1])


class Spoken:
    """The names that may be written for what was said.  ``more``: names that whoever wrote knew besides."""

    def __init__(self, texts: Iterable[str], more: Iterable[str] = ()) -> None:
        said = "\n".join([*texts, *more])
        plain = unicodedata.normalize("NFKC", said)
        listed = [match.group() for match in _WORD.finditer(plain)]
        folded_ = [folded(_bare(word)) for word in listed]
        self._words = {*folded_, *map(folded, listed)}
        self._plain = {latin(word) for word in self._words} | {_umlauts(word) for word in self._words}
        self._named = {folded(_bare(word)) for word in listed if word[0].isupper()}
        self._joined = {a + b for a, b in pairwise(folded_)} | {
            a + b + c for (a, b), c in zip(pairwise(folded_), folded_[2:], strict=False)
        }
        self._initials = _initials(plain)
        self._han = "".join(f"{run} " for run in _HAN.findall(plain))
        self._syllables: list[str] | None = None
        self._languages = _languages(plain)
        self._sounds: frozenset[str] | None = None

    def missing(self, text: str) -> list[str]:
        """The names of a text that nobody said."""
        found = names(text)
        low = [folded(one) for one in found]
        joined = {word for a, b in pairwise(low) if a + b in self._words for word in (a, b)}
        short = {
            word
            for first in range(len(low))
            for last in range(first + 2, min(len(low), first + 6) + 1)
            if "".join(one[0] for one in low[first:last]) in self._words
            for word in low[first:last]
        }
        return [one for one in found if folded(one) not in joined | short and not self.has(one)]

    def has(self, name: str) -> bool:
        """Whether a name was said, in some form and script."""
        word = folded(name)
        if word in self._words or word in self._joined or word in self._languages or (word in self._han):
            return True
        if any(self._other(other) for other in OTHERS.get(word, ())):
            return True
        if _HAN.match(word):
            return word not in OTHERS and self._heard(word)
        if _ACRONYM.fullmatch(name) and word.rstrip("s") in self._initials:
            return True
        if latin(word) in self._plain or _umlauts(word) in self._plain or any(_form(word, one) for one in self._words):
            return True
        if any(_HAN.match(other) for other in OTHERS.get(word, ())):
            return False  # what it is called in Chinese is known, and need not be listened for
        return self._in_chinese(word) or self._in_other_letters(word)

    def _other(self, word: str) -> bool:
        """Whether what a place is called besides was said."""
        if word in self._words or (_HAN.match(word) is not None and word in self._han):
            return True
        return "а" <= word[0] <= "я" and any(_form(word, one) for one in self._words)

    def _heard(self, name: str) -> bool:
        """Whether a Chinese name is said in Latin letters or in Russian."""
        syllables = spelt(name)
        if any(is_spelt(word, syllables) for word in self._words if len(word) > 1):
            return True
        return any(sounds_like(word, name, surely=word not in self._named) for word in self._words)

    def _in_chinese(self, word: str) -> bool:
        if not self._han:
            return False
        if self._syllables is None:
            self._syllables = spelt(self._han)
        return is_spelt(word, self._syllables) or sounds_like(word, self._han)

    def _in_other_letters(self, word: str) -> bool:
        """Whether it sounds like a word of the other one of Latin and Russian."""
        russian = bool(re.match("[а-яё]", word))
        if self._sounds is None:
            other = [one for one in self._words if len(one) > 2 and bool(re.match("[а-яё]", one)) != russian]
            self._sounds = frozenset().union(*(skeletons(latin(one)) for one in other)) if other else frozenset()
        return any(len(one) > 1 and one in self._sounds for one in skeletons(latin(word))) and (
            russian or any(re.match("[а-яё]", one) for one in self._words)
        )


def _umlauts(word: str) -> str:
    return latin(word.replace("ü", "ue").replace("ö", "oe").replace("ä", "ae"))


def _form(a: str, b: str) -> bool:
    """Two forms of one name: Bern and Berner, Germany and German, Москва and Москве."""
    shared = next((at for at, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
    if shared < 3 or shared < 0.5 * max(len(a), len(b)):
        return False
    if shared < 4 and a[0] < "а":
        return False
    return any(a[shared:] in endings and b[shared:] in endings for endings in _LATIN_ENDINGS)


def _initials(text: str) -> frozenset[str]:
    """What words with capitals in a row are shortened to: nyc of New York City."""
    found: set[str] = set()
    for run in re.findall(r"(?:\b[A-ZА-Я][^\W\d_]+(?:\s+(?:of|and|the|for)\b)?\s*-?){2,6}", text):
        letters = [word[0].casefold() for word in re.findall(r"\b[A-ZА-Я]\w+", run)]
        found |= {"".join(letters[a:b]) for a in range(len(letters)) for b in range(a + 2, len(letters) + 1)}
    return frozenset(found)


def _languages(text: str) -> frozenset[str]:
    """The languages that a text is seen to be in: who says that it was Chinese has made nothing up."""
    found: set[str] = set()
    if _HAN.search(text):
        found |= OTHERS["chinese"]
    if re.search("[а-яё]", text):
        found |= OTHERS["russian"]
    if re.search("[a-z]", text):
        found |= OTHERS["english"]
    return frozenset(found)
