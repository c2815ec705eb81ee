"""First-person statements in Russian.  Pure.

Places and occupations stay in the case they were said in: which nominative "Москве" has needs a dictionary.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from homed.memory.distil.english_words import NO_PLACES
from homed.memory.distil.match import Hit, Rule, age, hits, nobody

_JOBS = """
программист программистка разработчик врач учитель учительница преподаватель инженер юрист адвокат бухгалтер студент
студентка школьник школьница дизайнер водитель повар полицейский журналист журналистка писатель художник художница
актёр актер актриса певец певица профессор учёный ученый продавец менеджер переводчик переводчица фотограф фермер
рабочий курьер пожарный лётчик пилот фармацевт стоматолог ветеринар архитектор аналитик консультант редактор режиссёр
режиссер тренер секретарь медсестра медбрат психолог экономист математик физик химик биолог историк музыкант электрик
сантехник плотник сварщик парикмахер маникюрша официант официантка бариста пенсионер пенсионерка домохозяйка аспирант
аспирантка тестировщик
"""
JOBS = frozenset(_JOBS.split())

_VETO = re.compile(
    r"\b(?:если|бы|б|представь\w*|допустим|предположим|вообрази\w*|якобы|будто|как будто|хотел\w*|хочу|хотим"
    r"|мечта\w*|может быть|может"
    r"|возможно|наверное|наверно|кажется|вроде|почти|раньше|прежде|когда|пока не|чуть не|собираюсь|планирую"
    r"|буду|шучу|шутка|вру|ложь"
    r"|сказал\w*|говор\w+|ответил\w*|спросил\w*|спрашива\w*|написал\w*|пишет|пишут|думаю|думает|дума\w+|считает"
    r"|считаю|утвержда\w*|слышал\w*"
    r"|по словам|цитат\w*|фраз\w+|предложени\w+|строчк\w+|например|скажи|больше не|уже не|никогда|неправда"
    r"|по мнению|верну(?:лся|лась)|уехала?|передумала?"
    r"|не правда|угадай)\b",
    re.IGNORECASE,
)
_MESSAGE = re.compile(
    r"\b(?:перевед\w+|перевод\w*|перефразир\w+|перепиши\w*|исправь\w*|сочини\w*|напиши\w*|придумай\w*|рассказ"
    r"|сказк\w+|стих\w*|стихотворени\w+"
    r"|сыгра\w+ роль|притвор\w+|сценари\w+|эссе|сочинени\w+|персонаж\w*|роман\w*|мой геро\w+|в игре|во сне|по сюжету"
    r"|пример\w* предложени\w*"
    r"|кратко изложи\w*|шаблон)\b",
    re.IGNORECASE,
)
_QUESTION = re.compile(
    r"^(?:кто|что|где|когда|куда|откуда|как|какой|какая|какое|какие|почему|зачем|сколько|чей|разве|неужели"
    r"|правда ли|верно ли|помнишь)\b|\bли\b",
    re.IGNORECASE,
)
_START = (
    r"(?:^|[,;:—–(]\s*|\b(?:и|а|но|так как|потому что)\s+)"
    r"(?:(?:привет|здравствуй|здравствуйте|добрый день|да|нет|ну|кстати|вообще|на самом деле|теперь|сейчас"
    r"|запомни|учти|итак|также|ещё|еще)"
    r"[,!:]?\s+){0,3}"
)
_ENDING = (
    r"\s*(?:[,;:!?().—–\0]|$)|\s+(?:и|а|но|потому|так как|поэтому|где|который|которая|теперь|сейчас|уже|с"
    r"|со|вместе|рядом|около)\b"
)
_STOP = rf"(?={_ENDING})"
_OVER = r"[^,;:!?()—–\0\n]"
_ADVERB = (
    r"(?:(?:очень|тоже|также|сейчас|теперь|уже|всё ещё|все еще|по-прежнему|постоянно|больше всего|просто"
    r"|особенно|давно|пока)\s+){0,2}"
)
_DASH = r"\s*(?:[—–-]\s*)?"
_WORD = r"[^\W\d_]"
_NOT_BUT = rf"(?:не\s+{_OVER}{{1,30}}?,\s*а\s+)?"
_MONTH = r"(?:января|февраля|марта|апреля|мая|июня|июля|августа|сентября|октября|ноября|декабря)"
_DATE = rf"(?P<v>\d{{1,2}}(?:-?го)?\s+{_MONTH}(?:\s+(?:19|20)\d\d)?|\d{{1,2}}\.\d{{1,2}}(?:\.(?:19|20)\d\d)?)"
_NUMBER = rf"(?P<v>\d{{1,3}}|{_WORD}{{3,12}}(?:\s+{_WORD}{{3,10}})?)"
_YEARS = r"\s+(?:с\s+)?(?P<since>(?:19|20)\d\d)\s*(?:по|до|-|–|—)\s*(?P<until>(?:19|20)\d\d)"
_NO_THING = re.compile(
    r"(?:тебя|вас|его|её|ее|их|это|этот|эту|эти|то|тот|те|когда|как|что|чтобы|себя|всех|всё|все|ничего|никого"
    r"|тем|так|вот|так(?:ой|ая|ое|ие|ую)|мо(?:й|я|ю|ё|е|и|его|ей|их)"
    r"|(?:перв|втор|последн)\w+ вариант\w*|одного|одну|нас|него|неё|тво[йяёеи]\w*|ваш\w*)\b",
    re.IGNORECASE,
)
_NO_WORDS = """
вечером утром днём днем весной зимой осенью летом порой временем целыми дома удалённо удаленно хорошо много мало одним
одной полностью целиком ночью сменой номером собой ним ней с
"""
_NO_WORK = frozenset(_NO_WORDS.split())


def _name(value: str) -> str:
    words: list[str] = []
    for word in value.split():
        plain = word.strip(".'’-")
        if not plain[:1].isupper():  # "Иваном все друзья"
            return ""
        words.append(plain)
    if words and len(words) <= 3 and not nobody(" ".join(words)):
        return value[value.find(words[0]) : value.find(words[-1]) + len(words[-1])]
    return ""


_NO_PLACES = frozenset({"Я", "Мой", "Моей", "Доме", "Квартире", "Общежитии", "Этом", "Страхе", "Мире"})
_SEASON = re.compile(r"\s(?:летом|зимой|осенью|весной|временно|иногда|часто|редко)\b")


def _place(value: str) -> str:
    plain = re.sub(r"\s+(?:в прошлом|в этом|год|недавно|на днях|в \d{4}|с \d{4})\b.*$", "", value.strip().rstrip("."))
    words = plain.split()
    kinds = {"городе", "город", "посёлке", "поселке", "деревне", "селе", "районе", "центре", "пригороде"}
    if not words or len(words) > 5 or len(plain) > 50:
        return ""
    if words[0].lower() in kinds and len(words) > 1:
        return plain if words[1][:1].isupper() else ""
    if not words[0][:1].isupper() or words[0] in _NO_PLACES or words[0].lower() in NO_PLACES or _SEASON.search(plain):
        return ""
    small = next((at for at, word in enumerate(words) if word[:1].islower() and word not in ("на", "под")), len(words))
    return plain[: plain.find(words[small - 1]) + len(words[small - 1])]


def _job(value: str) -> str:
    plain = value.strip().rstrip(".")
    words = plain.lower().split()
    bad = {"не", "и", "плохой", "хороший", "бывший", "твой", "его", "её", "будущий"}
    return plain if 1 <= len(words) <= 3 and words[-1] in JOBS and not bad & set(words) else ""


_AGENT = re.compile(
    r"(?:ист|ер|ёр|ор|ир|ик|лог|граф|нт|вед|мен|яр|ар|тел|вц)(?:ом|ем|ём)$|(?:ниц|чиц|щиц)ей$|(?:ист|нт|ер|ор)кой$"
)
"""How words for who does something end; heads, hands and wolves are worked with or like."""


def _work(value: str) -> str:
    """An occupation in the instrumental case: "программистом", "старшим инженером"."""
    words = value.strip().rstrip(".").split()
    if not 1 <= len(words) <= 3 or any(word.lower() in _NO_WORK for word in words):
        return ""
    if not all(re.search(r"(?:ом|ем|ём|ой|ей|ым|им|ью|ими)$", word) for word in words):
        return ""
    last = words[-1].lower()
    known = any(last[:4] == job[:4] for job in JOBS)
    return " ".join(words) if known or _AGENT.search(last) else ""


def _organisation(value: str) -> str:
    plain = value.strip().rstrip(".")
    words = plain.split()
    if not words or len(words) > 5:
        return ""
    if re.fullmatch(
        r"(?:компании|фирме|банке|университете|институте|больнице|корпорации|студии|агентстве)", words[0], re.IGNORECASE
    ):
        return plain if len(words) > 1 and words[1][:1].isupper() else ""
    return plain if words[0][:1].isupper() and words[0].isascii() and words[0].lower() not in NO_PLACES else ""


def _thing(value: str) -> str:
    plain = re.sub(r"\s+(?:больше всего|очень|сильно|больше|больше чем.*)$", "", value.strip().rstrip("."))
    return "" if not 2 <= len(plain) <= 50 or len(plain.split()) > 7 or _NO_THING.match(plain) else plain


def _date(value: str) -> str:
    return value.strip()


def _rule(relation: str, pattern: str, fit: Callable[[str], str], form: str = "") -> Rule:
    return Rule(relation, re.compile(_START + pattern, re.IGNORECASE), fit, form)


_PETS = r"(?P<what>кот|кошка|котёнок|котенок|собака|пёс|пес|щенок|попугай|хомяк|кролик|черепаха|рыбка)"
_THING_STOP = r"(?=\s*(?:[,;:!?().—–\0]|$)|\s+(?:но|потому|так как|поэтому|а)\b|\s+и\s+(?:я|мне|не|ненавижу|люблю)\b)"

_RULES = (
    _rule(
        "name", rf"меня\s+(?:теперь\s+|сейчас\s+)?зовут{_DASH}\s*{_NOT_BUT}(?P<v>{_WORD}{_OVER}{{0,40}}?){_STOP}", _name
    ),
    _rule(
        "name",
        rf"(?:мо[её]\s+имя|мои\s+имя\s+и\s+фамилия)(?:\s+теперь)?{_DASH}\s*{_NOT_BUT}(?P<v>{_WORD}{_OVER}{{0,40"
        rf"}}?){_STOP}",
        _name,
    ),
    _rule(
        "name",
        rf"(?:я\s+)?(?:недавно\s+|официально\s+)?(?:сменила?|поменяла?|изменила?)\s+имя\s+на\s+(?P<v>{_WORD}"
        rf"{_OVER}{{0,40}}?){_STOP}",
        _name,
    ),
    _rule(
        "home",
        rf"я\s+{_ADVERB}(?:живу|проживаю)\s+во?\s+{_NOT_BUT}(?P<v>{_OVER}{{2,50}}?)(?:\s+с\s+(?P<since>(?:19"
        rf"|20)\d\d)\b|{_STOP})",
        _place,
    ),
    _rule(
        "home",
        rf"я\s+(?:недавно\s+|только что\s+|уже\s+)?(?:переехала?|перебрал(?:ся"
        rf"|ась))\s+(?:жить\s+)?(?:из\s+{_OVER}{{2,30}}?\s+)?во?\s+(?P<v>{_OVER}{{2,50}}?){_STOP}",
        _place,
        "moved",
    ),
    _rule("home", rf"я\s+жила?\s+во?\s+(?P<v>{_OVER}{{2,50}}?){_YEARS}", _place),
    _rule(
        "age",
        rf"мне\s+(?:сейчас\s+|уже\s+|всего\s+|исполнилось\s+|недавно исполнилось\s+)?{_NUMBER}\s+"
        r"(?:лет|год|года)(?=\s*(?:[,;:!?.)]|$)|\s+(?:и|а|но)\b)",
        age,
    ),
    _rule("age", r"мне\s+(?:сейчас\s+|уже\s+|исполнилось\s+)?(?P<v>1[3-9]|[2-9]\d)(?=\s*(?:[,!]|$))", age),
    _rule("birthday", rf"(?:у\s+меня|мой)\s+день\s+рождения{_DASH}\s*{_DATE}", _date),
    _rule("birthday", rf"я\s+родил(?:ся|ась)\s+{_DATE}", _date),
    _rule("job", rf"я\s+{_ADVERB}работаю\s+(?P<v>{_WORD}{_OVER}{{2,40}}?)(?={_ENDING}|\s+(?:в|на)\b)", _work, "as"),
    _rule(
        "job",
        rf"я\s+(?:по\s+профессии|по\s+специальности)?{_DASH}\s*(?P<v>{_WORD}{_OVER}{{2,40}}?)(?={_ENDING}"
        rf"|\s+(?:в|на)\b|\s+по\s+\w+(?:{_ENDING}))",
        _job,
    ),
    _rule("job", rf"(?:моя\s+)?профессия{_DASH}\s*(?P<v>{_WORD}{_OVER}{{2,40}}?){_STOP}", _job),
    _rule(
        "employer",
        rf"я\s+{_ADVERB}работаю\s+(?:\w+(?:ом|ем|ём|ой)\s+)?в\s+(?P<v>{_OVER}{{2,40}}?){_STOP}",
        _organisation,
    ),
    _rule(
        "dislikes",
        rf"я\s+{_ADVERB}(?:не\s+(?:очень\s+)?люблю|ненавижу|терпеть\s+не\s+могу|не\s+переношу)\s+(?P<v>{_OVER}"
        rf"{{2,60}}?){_THING_STOP}",
        _thing,
    ),
    _rule(
        "dislikes", rf"мне\s+{_ADVERB}не\s+нрав(?:ится|ятся)\s+(?P<v>{_OVER}{{2,60}}?){_THING_STOP}", _thing, "pleases"
    ),
    _rule("likes", rf"я\s+{_ADVERB}(?:люблю|обожаю|предпочитаю)\s+(?P<v>{_OVER}{{2,60}}?){_THING_STOP}", _thing),
    _rule("likes", rf"мне\s+{_ADVERB}нрав(?:ится|ятся)\s+(?P<v>{_OVER}{{2,60}}?){_THING_STOP}", _thing, "pleases"),
    _rule(
        "pet",
        rf"у\s+меня\s+(?:есть\s+|живёт\s+|живет\s+)?{_PETS}(?:\s+по\s+имени|\s+по\s+кличке|,\s*(?:его|её"
        rf"|ее)\s+зовут)\s+(?P<v>{_WORD}{_OVER}{{0,20}}?){_STOP}",
        _name,
    ),
)


def silent(message: str) -> bool:
    """As ``english.silent``."""
    return _MESSAGE.search(message) is not None


def find(sentence: str, end: str) -> Iterator[Hit]:
    """As ``english.find``."""
    if "?" in end or _QUESTION.search(sentence) or _VETO.search(_allowed(sentence)):
        return
    yield from hits(_RULES, sentence)


def _allowed(sentence: str) -> str:
    """Without the words of a correction that would silence it: "больше не А, а Б"."""
    return re.sub(r"\b(?:больше|уже) не\b(?=.{1,40},\s*а\b)", "не", sentence, flags=re.IGNORECASE)
