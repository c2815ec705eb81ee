"""How much a text says, whatever it is written in.  Pure.

A Chinese message of 37 characters says about what an English one of 100 does; a threshold in characters would take it
for small talk.
"""

from __future__ import annotations

import re
import unicodedata

HAN_CHARACTERS, SYLLABLE_CHARACTERS = 2.7, 2.0
"""Characters of English that one of Chinese stands for, and one that is a syllable: of kana, or of Korean."""

HAN_OF_A_WORD, BLANKLESS_OF_A_WORD = 2, 4
"""Characters of Chinese and Japanese that say as much as a word, and of scripts of South-East Asia, which put no blanks
between words either."""

_HAN = re.compile("[\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")
_SYLLABLE = re.compile("[\u3040-\u30ff\uac00-\ud7af]")
_JOINED = re.compile("[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")
_BLANKLESS = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]")  # Thai, Lao, Burmese, Khmer
_WORD = re.compile(r"[\w'’]+")


def characters(text: str) -> int:
    """About as many characters as it would have in English; exactly those it has where it is in letters."""
    plain = text.strip()
    han, syllables = len(_HAN.findall(plain)), len(_SYLLABLE.findall(plain))
    return len(plain) + round(han * (HAN_CHARACTERS - 1) + syllables * (SYLLABLE_CHARACTERS - 1))


def words(text: str) -> float:
    """About how many words it has: those between blanks, and what is written without any by its length."""
    plain = bare(text)
    han, blankless = len(_JOINED.findall(plain)), len(_BLANKLESS.findall(plain))
    rest = _BLANKLESS.sub(" ", _JOINED.sub(" ", plain))
    return len(_WORD.findall(rest)) + han / HAN_OF_A_WORD + blankless / BLANKLESS_OF_A_WORD


def bare(text: str) -> str:
    """In one form of its letters, without marks that are none of their own: they would part words (हाँ, ต่อไป)."""
    folded = unicodedata.normalize("NFKC", text).casefold().strip()
    return "".join(one for one in folded if not unicodedata.category(one).startswith("M"))
