"""Long messages: reports and letters of 500 tokens and more, each on many things, asked for one of them."""

from __future__ import annotations

from pathlib import Path

from benchmarks.sets.banks import CHINESE, ENGLISH
from benchmarks.sets.chance import Chance
from benchmarks.sets.dialogue import Dialogue, Shape
from benchmarks.sets.rows import History, Set, joined

MESSAGES = 110
FACTS = 3
"""Of each message; the rest is talk about the same people and things."""
SENTENCES = {"en": 64, "zh": 46}
QUESTIONS = 70
ASKED = ("same words", "other words")


def long() -> Set:
    """In two languages."""
    return joined([_history("en", ENGLISH), _history("zh", CHINESE)])


def _history(language: str, bank: Path) -> History:
    """The talk of a dialogue, made into few long messages instead of many short ones."""
    dialogue = Dialogue(bank, f"long {language}")
    source = dialogue.history("source", Shape(each=12, changes=0, turns=MESSAGES * SENTENCES[language], questions=2000))
    chance, made = Chance(f"long {language}"), History(f"long-{language}")
    gold = {query.gold[0] for query in source.queries if query.kind in ASKED}
    facts = [event for event in source.events if event.id in gold]
    rest = [event.text for event in source.events if event.id not in gold]
    places: dict[str, str] = {}
    for number in range(min(MESSAGES, len(facts) // FACTS)):
        if number % 3 == 0:
            made.session()
        mine = facts[number * FACTS : (number + 1) * FACTS]
        count = SENTENCES[language] - FACTS
        parts = [*chance.some(rest, count), *(event.text for event in mine)]
        place = made.say("user", dialogue.between.join(map(_sentence, chance.mixed(parts))))
        places |= {event.id: place for event in mine}
    asked = [query for query in source.queries if query.kind in ASKED and query.gold[0] in places]
    for query in chance.some(asked, QUESTIONS):
        made.ask(query.text, "long", [places[query.gold[0]]])
    return made


def _sentence(text: str) -> str:
    return text if text[-1] in ".!?。！？" else f"{text}。" if text[-1] > "\u3000" else f"{text}."
