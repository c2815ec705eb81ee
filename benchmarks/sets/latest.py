"""Values that changed many times: asked for is the one that holds."""

from __future__ import annotations

import tomllib
from pathlib import Path

from benchmarks.sets.chance import Chance
from benchmarks.sets.dialogue import filled
from benchmarks.sets.exact import shaped
from benchmarks.sets.rows import History, Set, joined

BANK = Path(__file__).with_suffix(".toml")
CHANGES = 16
"""Values of a thing: more than the first ten hits hold."""
HISTORIES = 3


def latest() -> Set:
    """The same things in several histories, in other words."""
    return joined(_history(number) for number in range(1, HISTORIES + 1))


def _history(number: int) -> History:
    bank, made = tomllib.loads(BANK.read_text("utf-8")), History(f"latest-{number}")
    chance = Chance(made.name)
    things = [(kind, name) for kind in bank["thing"] for name in kind["names"]]
    last: dict[str, str] = {}
    for _ in range(CHANGES):
        made.session()
        for kind, name in chance.mixed(things):
            if chance.share(60):
                made.say("user", filled(chance.one(bank["chat"]["said"]), {"n": chance.one(things)[1]}))
            values = {"n": name, "v": shaped(chance.one(kind["values"]), chance)}
            last[name] = made.say("user", filled(chance.one(kind["say"]), values))
    for kind, name in things:
        for ask in kind["ask"]:
            made.ask(filled(ask, {"n": name}), "latest", [last[name]])
    return made
