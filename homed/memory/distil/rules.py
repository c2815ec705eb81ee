"""Facts without a model: what people plainly say of themselves, in English, Chinese and Russian.  Pure.

Better nothing than something wrong: a question, a hypothesis, a quotation, another's speech, a text to be translated
yield nothing, and neither does what merely looks like a statement.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from homed.memory.distil import chinese, english, russian
from homed.memory.distil.match import Hit
from homed.memory.distil.said import LONGEST, Sentence, foreign, sentences

CONFIDENCE = 0.6
"""Of what a rule found; medium: the words are the person's own, how they were meant is not sure."""

_HAN, _CYRILLIC = re.compile("[\u4e00-\u9fff]"), re.compile("[а-яё]", re.IGNORECASE)
_LANGUAGES = {"en": english, "zh": chinese, "ru": russian}
_TEXTS = {
    "en": {
        "name": "The user's name is {v}.", "nickname": "The user wants to be called {v}.",
        "home": "The user lives in {v}.", "age": "The user is {v} years old.",
        "birthday": "The user's birthday is {v}.", "job": "The user works as: {v}.",
        "employer": "The user works for {v}.", "likes": "The user likes {v}.", "dislikes": "The user dislikes {v}.",
        "pet": "The user has a {what} named {v}.", "favourite": "The user's favourite {what} is {v}.",
        "period": "The user lived in {v} from {since} to {until}.",
        "employed": "The user worked for {v} from {since} to {until}.",
    },
    "zh": {
        "name": "用户叫{v}。", "home": "用户住在{v}。", "age": "用户{v}岁。", "birthday": "用户的生日是{v}。",
        "job": "用户的职业是{v}。", "employer": "用户在{v}工作。",
        "likes": "用户喜欢{v}。", "dislikes": "用户不喜欢{v}。",
        "pet": "用户养了{what}，叫{v}。", "favourite_food": "用户最喜欢的食物是{v}。",
        "favourite_colour": "用户最喜欢的颜色是{v}。", "period": "用户{since}年到{until}年住在{v}。",
    },
    "ru": {
        "name": "Пользователя зовут {v}.", "home": "Пользователь живёт в {v}.", "home moved": "Пользователь пер"
        "еехал в {v}.", "age": "Возраст пользователя: {v}.",
        "birthday": "День рождения пользователя: {v}.", "job": "Профессия пользователя: {v}.",
        "job as": "Пользователь работает {v}.",
        "employer": "Пользователь работает в {v}.", "likes": "Пользователь любит {v}.",
        "likes pleases": "Пользователю нравится {v}.",
        "dislikes": "Пользователь не любит {v}.",
        "dislikes pleases": "Пользователю не нравится {v}.", "pet": "У пользователя есть {what} по имени {v}.",
        "period": "Пользователь жил в {v} с {since} по {until}.",
    },
}  # fmt: skip
_MINE = re.compile(r"\bmy\b")
_PREFERENCES = ("likes", "dislikes", "favourite")
_THIRD = (
    (re.compile(r"^(?:the )?user['’]s\b", re.IGNORECASE), "my"),
    (re.compile(r"^(?:the )?user (?:is|was)\b", re.IGNORECASE), "I am"),
    (re.compile(r"^(?:the )?user (?:does not|doesn['’]t)\b", re.IGNORECASE), "I do not"),
    (re.compile(r"^(?:the )?user (?:has)\b", re.IGNORECASE), "I have"),
    (re.compile(r"^(?:the )?user (lived|worked)\b", re.IGNORECASE), r"I \1"),
    (re.compile(r"^(?:the )?user ((?:really |now |currently )?(?:live|reside|work|like|love|enjoy|prefer|hate"
    r"|dislike|detest))s\b", re.IGNORECASE), r"I \1"),
    (re.compile("^(?:该)?用户"), "我"),
    (re.compile(r"^пользователя зовут", re.IGNORECASE), "меня зовут"),
    (re.compile(r"^имя пользователя", re.IGNORECASE), "моё имя"),
    (re.compile(r"^пользователь (?:жив[её]т|проживает)", re.IGNORECASE), "я живу"),
    (re.compile(r"^пользователю", re.IGNORECASE), "мне"),
    (re.compile(r"^пользователь работает", re.IGNORECASE), "я работаю"),
    (re.compile(r"^пользователь (не )?любит", re.IGNORECASE), r"я \1люблю"),
    (re.compile(r"^пользователь ненавидит", re.IGNORECASE), "я ненавижу"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Said:
    """Something a person said of themselves.

    ``relation`` and ``value`` with the speaker as subject; ``text``: the statement as a sentence in the language it was
    made in; ``first``, ``last``: the sentence's characters in the message; ``since``, ``until``: UTC seconds of a
    period that was named, or None.
    """

    relation: str
    value: str
    text: str
    first: int
    last: int
    kind: str
    since: float | None = None
    until: float | None = None


def statements(message: str) -> list[Said]:
    """What a message states of its writer, in the order it is said; each relation and value once."""
    if len(message) > LONGEST or not message.strip():
        return []
    if foreign(message) or any(_LANGUAGES[language].silent(message) for language in _spoken(message)):
        return []
    found: dict[tuple[str, str, float | None], Said] = {}
    for sentence in sentences(message):
        for said in _of(sentence, message):
            found.setdefault((said.relation, said.value.casefold(), said.since), said)
    return list(found.values())


def triple_of(text: str) -> tuple[str, str] | None:
    """Relation and value of a statement about the user ("The user's name is A", "我叫甲"); None unless it is exactly
    one, and one that holds now."""
    plain = text.strip()
    for pattern, first_person in _THIRD:
        plain, changed = pattern.subn(first_person, plain, count=1)
        if changed:
            break
    found = statements(plain)
    if len(found) != 1 or found[0].until is not None:
        return None
    return found[0].relation, found[0].value


def _spoken(text: str) -> list[str]:
    """Languages whose script a text has; English only where there is no other."""
    found = [name for name, script in (("zh", _HAN), ("ru", _CYRILLIC)) if script.search(text)]
    return found or ["en"]


def _of(sentence: Sentence, message: str) -> Iterator[Said]:
    for language in _spoken(sentence.text):
        hits = list(_LANGUAGES[language].find(sentence.text, sentence.end))
        named = any(hit.relation == "name" for hit in hits)
        for hit in hits:
            if hit.relation == "job" and named and any(_meet(hit, other) for other in hits if other.relation == "name"):
                continue  # "我是…" is a name or a job
            yield _said(language, hit, sentence, message)


def _meet(a: Hit, b: Hit) -> bool:
    return a.first < b.last and b.first < a.last


def _said(language: str, hit: Hit, sentence: Sentence, message: str) -> Said:
    written = message[sentence.first + hit.first : sentence.first + hit.last]
    value = hit.value if hit.relation == "age" else written
    since, until = hit.years
    texts = _TEXTS[language]
    forms = (f"{hit.relation} {hit.form}", hit.relation, hit.relation.split("_")[0])
    form = next((form for form in forms if form in texts), hit.relation)
    if until is not None and hit.relation in ("home", "employer"):
        form = "employed" if hit.relation == "employer" else "period"
    text = texts.get(form, message[sentence.first : sentence.last])
    kind = "preference" if hit.relation.startswith(_PREFERENCES) else "fact"
    return Said(
        hit.relation.replace("color", "colour").replace("movie", "film"), value,
        text.format(v=_MINE.sub("their", value), what=hit.more, since=since, until=until),
        sentence.first, sentence.last, kind, _new_year(since), _new_year(until),
    )  # fmt: skip


def _new_year(year: int | None) -> float | None:
    return None if year is None else datetime(year, 1, 1, tzinfo=UTC).timestamp()
