"""Asked in one language, told in the other: what words cannot find and an encoder can."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from benchmarks.sets.chance import Chance
from benchmarks.sets.dialogue import filled
from benchmarks.sets.rows import History, Set, joined

BANK = Path(__file__).with_suffix(".toml")
CHINESE, ENGLISH = 0, 1
EACH = 11
"""Facts of a kind: so many brothers has the one that is asked for."""
QUESTIONS = 100

Pair = tuple[str, str]


def chinese_to_english() -> Set:
    """Asked in Chinese, told in English."""
    return joined([_history("en", asked=CHINESE, told=(ENGLISH,)), _history("mixed-1", CHINESE, (ENGLISH, CHINESE))])


def english_to_chinese() -> Set:
    """Asked in English, told in Chinese."""
    return joined([_history("zh", asked=ENGLISH, told=(CHINESE,)), _history("mixed-2", ENGLISH, (CHINESE, ENGLISH))])


def _history(name: str, asked: int, told: tuple[int, ...]) -> History:
    """Facts that are asked for are told in the first of ``told``; of the others, where there are two, half in each."""
    bank, chance, made = tomllib.loads(BANK.read_text("utf-8")), Chance(f"bilingual {name}"), History(name)
    facts = chance.mixed([(kind, values) for kind in bank["fact"] for values in _several(chance, kind, bank["pools"])])
    questions: list[tuple[str, str]] = []
    for at, (kind, values) in enumerate(facts):
        if at % 6 == 0:
            made.session()
        for _ in range(1 + chance.below(2)):
            _chat(made, chance, bank, chance.one(told))
        counted = len(questions) < QUESTIONS // len(told) and chance.share(70)
        language = told[0] if counted else chance.one(told)
        said = made.say("user", _said(kind["say"], values, language))
        if counted:
            questions.append((_said(kind["ask"], values, asked), said))
    for text, gold in questions:
        made.ask(text, "other language", [gold])
    return made


def _several(chance: Chance, kind: dict[str, Any], pools: dict[str, list[Pair]]) -> list[dict[str, Pair]]:
    first, *rest = kind["slots"]
    subjects = chance.some(pools[kind["slots"][first]], EACH)
    return [{first: one} | {slot: chance.one(pools[kind["slots"][slot]]) for slot in rest} for one in subjects]


def _chat(made: History, chance: Chance, bank: dict[str, Any], language: int) -> None:
    values = {"p": chance.one(bank["pools"]["who"]), "v": chance.one(bank["pools"]["city"])}
    made.say("user", _said(chance.one(bank["chat"]["said"]), values, language))


def _said(template: Pair, values: dict[str, Pair], language: int) -> str:
    text = filled(template[language], {slot: pair[language] for slot, pair in values.items()})
    return text[0].upper() + text[1:]
