"""Tokens to be found to the letter: ports, versions, addresses, orders, flights, tickets, commits, paths, plates."""

from __future__ import annotations

import tomllib
from pathlib import Path

from benchmarks.sets.chance import Chance
from benchmarks.sets.dialogue import filled
from benchmarks.sets.rows import History, Set, joined

BANK = Path(__file__).with_suffix(".toml")
EACH = 24
"""Tokens of a kind."""
ASKED = 9
"""Of which so many are asked for."""


def exact() -> Set:
    """One history; each token is told once."""
    bank, chance, made = tomllib.loads(BANK.read_text("utf-8")), Chance("exact"), History("exact")
    known: set[str] = set()
    told = []
    for kind in bank["token"]:
        for at in range(EACH):
            token = _new(kind["make"], chance, known)
            values = {"x": token, "n": chance.one(bank["names"][kind["name"]])}
            asked = filled(chance.one(kind["ask"]), values) if at < ASKED else ""
            told.append((filled(chance.one(kind["say"]), values), asked))
    questions = []
    for at, (said, asked) in enumerate(chance.mixed(told)):
        if at % 8 == 0:
            made.session()
        made.say("user", shaped(chance.one(bank["chat"]["said"]), chance))
        place = made.say("user", said)
        if asked:
            questions.append((asked, place))
    for asked, place in questions:
        made.ask(asked, "exact", [place])
    return joined([made])


def _new(shapes: list[str], chance: Chance, known: set[str]) -> str:
    while (token := shaped(chance.one(shapes), chance)) in known:
        pass
    known.add(token)
    return token


def shaped(shape: str, chance: Chance) -> str:
    """The shape with a digit, a letter or a hex digit in each place that wants one."""
    of = {"#": "0123456789", "@": "ABCDEFGHJKLMNPQRSTUVWXYZ", "&": "0123456789abcdef"}
    return "".join(chance.one(of[sign]) if sign in of else sign for sign in shape)
