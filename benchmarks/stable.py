"""The stable layer: a statement put among 3 000 facts, the rules on a message, names of 10 000 entities compared."""

from __future__ import annotations

import random
import tempfile
import time
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path

from benchmarks.figures import Figure, median_ms, times
from benchmarks.memory import Talk
from homed.memory import alike, facts, stable
from homed.memory.distil.rules import statements
from homed.memory.newfact import NewFact
from homed.memory.normal import bag, jaccard
from homed.store.connection import Transaction, open_writer

FACTS = stable.CAPS["fact"]
NAMES = 10_000
SAMPLE = 400
"""Names of which each is held against each; the cost of all is as the square."""

ROUNDS = 60
SYLLABLES = "an be co da el fa go hi is jo ka li mo na op pa qu ri so ta um va we xi yo za"


def measure() -> Iterator[Figure]:
    """Each beside the plain way, in the same run."""
    yield from _putting()
    yield from _rules()
    yield from _names()


def _putting() -> Iterator[Figure]:
    talk = Talk()
    with tempfile.TemporaryDirectory() as folder:
        connection = open_writer(Path(folder) / "homed.db")
        connection.execute("BEGIN")
        tx = Transaction(connection, Path(folder))
        texts = [f"{talk.text(9)} {number}" for number in range(FACTS)]
        for text in texts:
            values = {"scope": "owner", "record": "fact", "kind": "fact", "text": text, "key": text}
            stable.insert(tx, {**values, "origin": "manual", "extractor": "manual"}, at=1.0)

        def put() -> None:
            new = NewFact("owner", talk.text(10), origin="manual", extractor="manual")
            facts.put(tx, new, at=2.0)

        put()  # the rules are loaded by the first
        taken = median_ms(times(put, ROUNDS))
        mine = bag(talk.text(10))
        plain = median_ms(times(lambda: [jaccard(mine, bag(text)) for text in texts], 5))
        connection.execute("ROLLBACK")
        connection.close()
    yield Figure(f"a fact put among {FACTS}", taken, plain, "every text taken apart and compared")


def _rules() -> Iterator[Figure]:
    message = "Thanks for that. By the way, I live in Bern and I'm 34 years old. Can you help me with the tax form?"
    statements(message)
    taken = median_ms(times(lambda: statements(message), ROUNDS))
    words = median_ms(times(lambda: bag(message), ROUNDS))
    yield Figure("the rules on a message of 100 characters", taken, words, "its words alone")


def _names() -> Iterator[Figure]:
    chance = random.Random(2)
    syllables = SYLLABLES.split()
    names = {
        f"e{number}": " ".join("".join(chance.choices(syllables, k=chance.randint(2, 4))) for _ in range(2))
        for number in range(NAMES)
    }
    start = time.perf_counter()
    compared = sum(1 for _ in alike.compared(names))
    taken = (time.perf_counter() - start) * 1000
    few = [alike.grams(name) for name in list(names.values())[:SAMPLE]]
    start = time.perf_counter()
    for one, two in combinations(few, 2):
        jaccard(one, two)
    each = (time.perf_counter() - start) * 1000 * (NAMES / SAMPLE) ** 2
    yield Figure(f"{NAMES} names compared", taken, each, "each with each, from a part of them")
    yield Figure(f"comparisons of {NAMES} names", compared, NAMES * (NAMES - 1) / 2, "each with each", unit="")
