"""What can be seen of a text besides what it is about: who says it, and whether it asks.  Pure."""

from __future__ import annotations

import re

SEEN = 2_000
"""Characters of a text up to which it is looked at whole; a longer one is no question."""

NAME = 60
"""Characters in which a speaker's name stands."""

STATED = 3
"""Words (or Chinese characters) from which on something is stated."""

_TELLS = re.compile(
    r"[^\w]{0,3}(?:[^?!.,，:：]{1,24}[,，:：]\s*){0,2}"
    r"(?:(?:guess (?:who|what|where|when|how|which)|you(?:'ll| will) never guess|(?:do )?you know what"
    r"|угадай|знаешь,? (?:кто|что|где))\b|(?:猜猜|猜一猜|你猜|你?知道吗|你敢信))",
    re.IGNORECASE,
)
"""Says that something is to be told, and is answered at once by whoever says it."""

_TAG = re.compile(
    r"(?:(?:do|does|did|is|are|was|were|have|has|had|can|could|will|would|should|ai)(?:n['’]t)?"
    r" (?:i|you|he|she|it|we|they|that|there)(?: not)?"
    r"|(?:can|could|would) you (?:believe|imagine) (?:it|that|this)|do(?:n['’]t)? you think(?: so)?"
    r"|you know(?: what i mean)?"
    r"|right|ok|okay|yeah|yes|no|huh|eh|remember|see|correct|innit|believe it or not"
    r"|да|правда|верно|так|не так ли|не правда ли|представляешь|знаешь|понимаешь|помнишь|согласен|согласна"
    r"|(?:对|是|好|行|可以|不是|没错|明白|懂|知道|听见|厉害|神奇|巧|气人|离谱)(?:吧|吗|不对|不是|不行|不好|么)"
    r"|你?(?:敢|能)相?信(?:吗|么)?|是不是|对不对|你说(?:呢|是不是))[?？!！.。~～ ]*",
    re.IGNORECASE,
)
"""What behind a statement turns none of it into a question."""

_ONESELF = re.compile(
    r"\b(?:my|mine|our|ours)\b(?! own)"
    r"|(?<!how )(?<!why )(?<!should )\b(?:do|did|am|was|have|had|are|were|will)(?:n['’]t)? (?:i|we)\b"
    r"|(?<![给帮诉教让请])[我咱俺]"
    r"|\b(?:мо(?:й|я|ё|е|и|его|ей|ему|им|их|ими|ём|ем|ю)|наш(?:а|е|и|его|ей|ему|им|их|ими|у)?|у (?:меня|нас))\b",
    re.IGNORECASE,
)
"""Words for what is one's own; "how do I" asks for what anybody does, and 告诉我 for an answer."""

_CLAUSE = re.compile(r"[,，;；—–]+\s*")
_WORD = re.compile(r"[\u3400-\u9fff]|(?:(?![\u3400-\u9fff])[\w'’])+")
_SENTENCE = re.compile(r"[^.!?…。！？\n]+[.!?…。！？]*")
_LETTER = re.compile(r"[^\W_]")
_SPEAKER = re.compile(r"\s*\[?([^\W\d_][\w.'-]{0,30}(?: [^\W\d_][\w.'-]{0,30}){0,2})\]?[:：]\s")


def asking(text: str) -> float:
    """The share of a text, 0..1, that asks: by the length of its sentences, a question mark at the end of them.

    What states something and only has a tag behind it (…, can you believe it?) asks nothing, and nor does what says
    that something is to be told (Guess who …?).
    """
    if len(text) > SEEN or ("?" not in text and "？" not in text):
        return 0.0
    sentences = [one for one in _SENTENCE.findall(text) if _LETTER.search(one)]
    whole = sum(map(len, sentences))
    return sum(len(one) for one in sentences if _asks(one)) / whole if whole else 0.0


def _asks(sentence: str) -> bool:
    if "?" not in sentence and "？" not in sentence:
        return False
    said = _SPEAKER.match(sentence[:NAME])
    plain = sentence[said.end() :] if said else sentence
    return _TELLS.match(plain) is None and not _tagged(plain)


def _tagged(sentence: str) -> bool:
    """Whether it is a statement with a tag behind its last comma."""
    places = list(_CLAUSE.finditer(sentence))
    if not places or _TAG.fullmatch(sentence, places[-1].end()) is None:
        return False
    return len(_WORD.findall(sentence[: places[-1].start()])) >= STATED


def of_oneself(text: str) -> bool:
    """Whether who asks speaks of himself: of what he has, does or did."""
    return _ONESELF.search(text[:SEEN]) is not None


def speaker(text: str) -> str:
    """Who says it, where the text begins with a name and a colon as in a minute or a chat's log; else empty."""
    found = _SPEAKER.match(text[:NAME])
    return found.group(1) if found else ""
