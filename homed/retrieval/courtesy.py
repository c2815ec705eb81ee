"""What is said round a question out of politeness, and is no part of what it asks.  Pure."""

from __future__ import annotations

import re

LONGEST = 400
"""Characters of a question up to which it is looked at: in a longer text such a phrase weighs nothing."""

MOST = 4
"""Phrases at either end."""

_YOU = r"(?:can|could|would|will)\s+you\s+(?:please\s+|kindly\s+|perhaps\s+|maybe\s+)?"
_TELL = r"(?:tell|remind)\s+me(?:\s+(?:again|please|quickly|once\s+more))?"
_RECALL = r"(?:remember|recall|know)"
_ENGLISH = (
    rf"(?:please\s+|just\s+)?(?:{_YOU})?{_TELL}"
    rf"|do\s+you\s+(?:still\s+|perhaps\s+|happen\s+to\s+)?{_RECALL}"
    r"|please|sorry|excuse\s+me|pardon\s+me|hi|hello|hey|quick\s+question|by\s+the\s+way"
    r"|i(?:'d|\s+would)?\s+(?:just\s+)?(?:like|want|wanted)\s+to\s+(?:know|ask)(?:\s+you)?"
    r"|i\s+was\s+(?:just\s+)?wondering|i\s+wonder|just\s+wondering|let\s+me\s+ask(?:\s+you)?"
    r"|(?:may|can|could)\s+i\s+ask(?:\s+you)?|(?:do\s+you\s+have\s+)?any\s+idea"
)
_ENGLISH_BEHIND = (
    r"|thanks(?:\s+a\s+lot|\s+so\s+much|\s+in\s+advance)?|thank\s+you(?:\s+(?:very|so)\s+much|\s+in\s+advance)?|thx"
    r"|cheers|let\s+me\s+know|if\s+you\s+(?:please|can|remember|know|don't\s+mind)|i(?:'ve|\s+have)?\s+forgot(?:ten)?"
    r"|i\s+(?:can't|cannot|don't)\s+(?:quite\s+)?remember"
)
_ASK = "(?:告诉|提醒)(?:一下|一声)?我(?:一下|一声|下)?"
_FIRST = "(?:请|麻烦|劳烦|烦请|拜托)(?:你|您)?"
_ABLE = "(?:能不能|可不可以|可否|能否|可以|能)"
_CHINESE = (
    f"(?:{_FIRST})?(?:你|您)?{_ABLE}?(?:再|帮忙|请)?{_ASK}"
    "|(?:你|您)?(?:还|是否还|是否)?(?:记得|记不记得|知道|知不知道|晓得|记不记着)"
    "|请问(?:一下|下)?|我?想(?:请|要)?(?:问|知道)(?:一下|下)?|问(?:你|您)?(?:一下|下|个事|个问题)"
    "|(?:你|您|大家)好(?:啊|呀)?|嗨|嘿|哈喽|打扰(?:一下|了)|不好意思|麻烦(?:你|您)(?:一下|了)?|拜托"
)
_CHINESE_BEHIND = (
    f"|(?:{_FIRST})?(?:你|您)?{_ABLE}?(?:再|帮忙|请)?{_ASK}(?:吧|吗|呢|好吗|好不好|可以吗|行吗|谢谢)?"
    "|(?:你|您)?(?:还|是否还|是否)?(?:记得|记不记得|知道|知不知道|晓得)(?:吗|么|嘛|不|呢)?"
    "|(?:谢谢|多谢|感谢)(?:你|您|啦|了|哦)?|麻烦(?:你|您)?(?:了|啦)|拜托(?:你|您)?(?:了|啦)?"
    "|我(?:有点|有些)?(?:忘了|忘记了|记不清了?|记不得了|想不起来了?)"
)
_RUSSIAN = (
    r"пожалуйста|скажи(?:те)?(?:\s+мне)?|напомни(?:те)?(?:\s+мне)?|подскажи(?:те)?(?:\s+мне)?"
    r"|(?:ты|вы)?\s?(?:не\s+)?помни(?:шь|те)(?:\s+ли)?|привет|здравствуйте|извини(?:те)?"
)
_RUSSIAN_BEHIND = r"|спасибо(?:\s+большое)?|(?:ты|вы)\s(?:не\s+)?помни(?:шь|те)|я\s+забыла?"

_END = r"[\s,.;:!?…—–~～，。；：！？、-]"
_BEFORE = re.compile(
    rf"^{_END}{{0,4}}(?:(?:{_ENGLISH}|{_RUSSIAN})\b{_END}{{0,4}}|(?:{_CHINESE}){_END}{{0,4}})",
    re.IGNORECASE,
)
_BEHIND = re.compile(
    rf"(?:(?<=[\s,.;:!?…—–，。；：！？-])(?:{_ENGLISH}{_ENGLISH_BEHIND}|{_RUSSIAN}{_RUSSIAN_BEHIND})"
    rf"|(?:{_CHINESE_BEHIND[1:]})){_END}{{0,4}}$",
    re.IGNORECASE,
)
_SAYS = re.compile(r"(?![吗么嘛呢吧啊呀了])[\u3400-\u9fff]|(?![\u3400-\u9fff])[^\W_]{2}")


def without(text: str) -> str:
    """A question without what is only polite before and behind it (please tell me, do you still remember, 请告诉我,
    你还记得吗); as it is where nothing else is said, or where it is long."""
    if len(text) > LONGEST:
        return text
    whole = rest = text.replace("’", "'").strip()
    for _ in range(MOST):
        behind = _BEHIND.search(rest)
        shorter = _BEFORE.sub("", rest[: behind.start()] if behind else rest, count=1)
        if shorter == rest or not _SAYS.search(shorter):
            break
        rest = shorter
    return text if rest == whole else rest.strip()
