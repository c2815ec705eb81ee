"""What remembering costs a turn: the step over the bare ranker, and the time it adds before the first streamed word.

A window as of long conversations, a cold layer and thousands of facts; each beside the plain thing of the same run.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import trio

from benchmarks.figures import Figure, median_ms, p99_ms, times
from benchmarks.memory import Talk
from homed import events as notices
from homed.agent import reading, telling
from homed.agent.reading import Found, Wanted
from homed.memory import stable
from homed.memory.budget import budget
from homed.retrieval import index, record_words
from homed.retrieval.asking import Question
from homed.retrieval.rank import Ranker
from homed.retrieval.stable import KINDS
from homed.retrieval.stable import Wanted as Records
from homed.retrieval.without import words_only
from homed.store.connection import Transaction, open_writer
from homed.store.db import open_store
from homed.store.rows import Tx
from tests.kit.builders import OWNER, Agent, message, running_agent
from tests.kit.past import Past, Said, put

FACTS = 3_000
EVENTS = 10_000
ROUNDS = 60
NOW = 1_760_000_000.0


def measure() -> Iterator[Figure]:
    """The step by itself, then a whole turn with and without it, in turns."""
    with tempfile.TemporaryDirectory() as folder:
        yield from _step(Path(folder))
    with tempfile.TemporaryDirectory() as folder:
        yield from trio.run(_first_words, Path(folder))


def _step(folder: Path) -> Iterator[Figure]:
    connection = open_writer(folder / "homed.db")
    connection.execute("BEGIN")
    tx, talk = Transaction(connection, folder), Talk()
    _fill(tx, talk)
    ranker, texts = words_only(), telling.load_texts()
    bare: list[float] = []
    known: list[float] = []
    whole: list[float] = []
    for number in range(ROUNDS):
        wanted = _wanted(talk.text(8), number)
        bare += times(partial(_bare, tx, ranker, wanted), 1)
        known += times(partial(ranker.records, tx, wanted=_records(wanted), query=wanted.query, limit=16), 1)
        whole += times(partial(_recall, tx, ranker, texts, wanted), 1)
    connection.execute("ROLLBACK")
    connection.close()
    name = f"recall of a turn, {EVENTS} events and {FACTS} facts (p99 {p99_ms(whole):.1f} ms)"
    yield Figure(name, median_ms(whole), median_ms(bare), "the bare ranker: score, search, records")
    yield Figure(f"the ranker on {FACTS} facts alone", median_ms(known), median_ms(bare), "all of its work in a recall")


def _fill(tx: Tx, talk: Talk) -> None:
    for number in range(FACTS):
        text = talk.text(9)
        row = {"scope": OWNER.scope, "record": "fact", "kind": "preference", "text": text, "key": f"{number}"}
        stable.insert(tx, {**row, "importance": 1 + number % 9, "origin": "manual", "extractor": "manual"}, at=NOW)
    for layer, count in (("cold", EVENTS - 60), ("context", 60)):
        for at in range(0, count, 40):
            said = [Said(question=talk.text(30), answer=talk.text(30)) for _ in range(min(20, (count - at) // 2))]
            put(tx, Past(said=said, layer=layer, at=NOW - 1e6 + at))
    while index.catch_up(tx) or record_words.work_off(tx):
        pass


def _wanted(text: str, number: int) -> Wanted:
    asked, room = Question(text), budget(32_768, 3_000)
    return Wanted(OWNER.scope, f"th_{number}", f"turn_{number}", asked, room, 30, 10, 0.12, NOW)


def _records(wanted: Wanted) -> Records:
    return Records(wanted.scope, frozenset(KINDS), wanted.now)


def _bare(tx: Tx, ranker: Ranker, wanted: Wanted) -> None:
    """What cannot be done without: the window scored, the cold layer searched, the records ranked."""
    seqs = [seq for (seq,) in tx.all("SELECT seq FROM events WHERE scope = ? AND layer = 'context'", (wanted.scope,))]
    ranker.score(tx, scope=wanted.scope, query=wanted.query, seqs=seqs)
    ranker.records(tx, wanted=_records(wanted), query=wanted.query, limit=16)
    ranker.search(tx, scope=wanted.scope, layer=("cold", "context"), query=wanted.query, limit=16)


def _recall(tx: Tx, ranker: Ranker, texts: telling.Texts, wanted: Wanted) -> None:
    found = Found()
    reading.read(tx, ranker, wanted, found)
    assert not found.missing
    telling.tell(texts, wanted, found, peer=OWNER.peer)


async def _first_words(folder: Path) -> list[Figure]:
    """From a message to the first piece of its answer, of a model that answers at once."""
    talk = Talk()
    async with open_store(folder / "homed.db") as store:
        await store.write(lambda tx: _fill(tx, talk))
    taken: dict[bool, list[float]] = {True: [], False: []}
    async with running_agent(folder) as agent:
        for number in range(2 * ROUNDS):
            told = number % 2 == 0
            agent.settings.values["core.memory.inject_enabled"] = told
            taken[told].append(await _first(agent, talk.text(8)))
    with_, without = (taken[told][3:] for told in (True, False))
    name = f"to the first streamed word, with recall, {FACTS} facts (p99 {p99_ms(with_):.1f} ms)"
    added = median_ms(with_) - median_ms(without)
    return [
        Figure(name, median_ms(with_), median_ms(without), "the same without what is told unasked"),
        Figure("what recall adds to the first streamed word", added, 1_200, "the recall deadline"),
    ]


async def _first(agent: Agent, text: str) -> float:
    with agent.bus.subscribe(types=frozenset({notices.CONTENT_DELTA})) as news:
        start = time.perf_counter()
        receipt = await agent.conversations.inject(OWNER, message(text))
        await anext(aiter(news))
        took = time.perf_counter() - start
        await agent.conversations.wait(OWNER, receipt.input.id)
    return took
