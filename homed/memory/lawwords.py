"""Words that the law of what is the same knows: those that say nothing, deny, like, dislike, or name a time.  Data."""

from __future__ import annotations

import re

_FUNCTION_WORDS = """
a an the this that these those his her its their my our your he she it they we you i me him them us who which and or of
to in at by for from is are was were be been being am do does did done has have had will would shall should can could
may might must really very also just still now currently user user's s as every each all some any so too there
это эта этот эти он она оно они его ее их мой моя мое мои наш ваш свой своя и или а в во на с со из у к по для за от что
как же бы ли очень также еще сейчас теперь уже пользователь пользователя был была было были есть
"""
FUNCTION_WORDS = frozenset(_FUNCTION_WORDS.split())
FUNCTION_CHARACTERS = frozenset("的地得了着过是在我你您他她它们这那有和与及或也都就又很啊呀呢吧嘛用户")

_ENGLISH_ENDINGS = "s es e ed d ing y ies ied 's"
_RUSSIAN_ENDINGS = """
а я о е у ю ы и ь й ом ем ой ей ам ям ах ях ов ев ет ит ут ют ат ят ал ала ил ила ла ло ли л ть т ешь ишь ого его ому
ему ым им ых их ая яя ое ее ые ие ый ий
"""
ENDINGS = (frozenset(("", *_ENGLISH_ENDINGS.split())), frozenset(("", *_RUSSIAN_ENDINGS.split())))
"""What may follow the same beginning in two forms of one word."""

_LIKING = """
like likes liked love loves loved enjoy enjoys enjoyed prefer prefers preferred adore adores adored
люблю любит любил любила любим нравится нравятся нравилось обожаю обожает предпочитаю предпочитает
"""
_HATING = """
hate hates hated dislike dislikes disliked detest detests loathe loathes ненавижу ненавидит ненавидел ненавидела
"""
LIKING, HATING = frozenset(_LIKING.split()), frozenset(_HATING.split())
LIKING_ZH, HATING_ZH = re.compile("喜欢|喜爱|热爱|偏爱|偏好|爱"), re.compile("讨厌|厌恶|反感|憎恨|痛恨|嫌弃|恨")

_NOT = """
not no never none nothing neither nor without cannot isn't aren't wasn't weren't don't doesn't didn't can't won't
couldn't shouldn't wouldn't hasn't haven't hadn't не нет ни без никогда нельзя
"""
NOT = frozenset(_NOT.split())
NOT_ZH = re.compile("没有|不再|不|没|未|别|无|非")
NO_NEGATION_ZH = re.compile(
    "不[错过同管仅但只光断少久止妨禁如]|对不起|差不多|特别|分别|区别|级别|类别|性别|别[人墅的名]|告别|非常|非洲|除非|无论"
    "|无线|未来|没关系|南非|是不是|有没有"
)
IDLE = frozenset({"longer", "anymore", "any", "more", "больше", "at"})
"""Of "no longer", "not any more", "not at all"."""

_DAYS = "monday tuesday wednesday thursday friday saturday sunday"
_SHORT_DAYS = {"tue": 1, "thu": 3, "fri": 4}  # mon, wed, sat and sun are words of their own
DAYS = {form: at for at, day in enumerate(_DAYS.split()) for form in (day, f"{day}s")} | _SHORT_DAYS
_TIMES = """
january february april june july august september october november december
yesterday today tomorrow tonight morning afternoon evening noon midnight am pm
"""
TIMES = frozenset(_TIMES.split())
"""Months that are no other word, and parts of a day."""

_RUSSIAN_TIMES = """
понедельник[а-я]{0,3} вторник[а-я]{0,3} сред[ауыеой]{1,2} четверг[а-я]{0,3} пятниц[а-я]{1,3} суббот[а-я]{1,3}
воскресень[а-я]{1,3} январ[а-я]{1,3} феврал[а-я]{1,3} март[ауеом]{0,2} апрел[а-я]{1,3} ма[йяею]м? июн[ьяеюм]{1,2}
июл[ьяеюм]{1,2} август[ауеом]{0,2} сентябр[а-я]{1,3} октябр[а-я]{1,3} ноябр[а-я]{1,3} декабр[а-я]{1,3} вчера сегодня
завтра утр[аоуем]{1,2} вечер[аоуом]{0,2} ноч[ьию]{1,2}
"""
RUSSIAN_TIME = re.compile("|".join(f"(?P<d{at}>{form})" for at, form in enumerate(_RUSSIAN_TIMES.split())))
CHINESE_TIME = re.compile(
    "(?:周|星期|礼拜)[一二三四五六日天]|昨[天晚]|今[天晚年]|明[天晚年]|[前后]天|去年|[上中下]午|早上|晚上|傍晚|凌晨"
    "|[上下]周|[上下]个月"
)
