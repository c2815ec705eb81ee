"""Two hundred turns with a model that lies, leaves out, repeats and contradicts: each item that is made up is stopped
at the gate that should stop it and counted there, each true one arrives, and opens to the words that it is made of."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from homed.memory import opened, passes, stable
from homed.memory.opened import Opened
from homed.memory.stable import Record
from homed.store.rows import Tx
from tests.kit.builders import OWNER
from tests.life.lived import GROUP, PEOPLE, Life, agent_of, who_of
from tests.life.script import Turn

Copy = Callable[[], Path]

SCOPES = frozenset({GROUP, *(one.scope for one in PEOPLE.values())})

KEPT = ("conflict", "known", "manual")
"""Gates behind which a record of that text may stand all the same."""

UNREACHED = {"evidence", "invalid"}
"""Gates that no answer of a model comes to: what is shaped like a statement is of a kind that there is, and what has
stood every gate before them rests on a message.  `tests/homed/memory/test_facts.py` has them."""

GATES = Path(__file__).parents[2] / "docs" / "memory.md"


async def of(life: Life, copy: Copy, fn: Callable[[Tx], Any]) -> Any:
    """What stands in the life's memory."""
    async with agent_of(copy(), life.clock) as agent:
        return await agent.store.read(fn)


def told(turn: Turn) -> list[str]:
    """The statements that a turn must leave."""
    return [*(item.text for item in turn.true), *turn.ruled]


def test_the_script_is_whole(life: Life) -> None:
    """E46: a probe that plants nothing proves nothing."""
    said = [turn.say for turn in life.turns]
    chinese = [text for text in said if len(re.findall("[\u4e00-\u9fff]", text)) > len(text) / 3]
    latin = [text for text in said if not re.search("[\u4e00-\u9fff]", text)]
    assert len(said) == 200
    assert len(chinese) > 30
    assert len(latin) > 100
    assert len(said) - len(chinese) - len(latin) > 5, "in both"
    planted = sum((turn.planted() for turn in life.turns), Counter[str]())
    table = GATES.read_text("utf-8").partition("### Gates")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| ((?:`\w+`(?:, )?)+) \|", table, re.MULTILINE)
    documented = {gate for row in rows for gate in re.findall(r"`(\w+)`", row)}
    assert len(documented) > 20
    assert documented - UNREACHED <= set(planted), "every gate has something to stop"
    assert len({(turn.day, turn.thread, turn.who) for turn in life.turns}) > 40
    assert len({turn.day for turn in life.turns}) == 21
    assert {turn.project for turn in life.turns} == {"", "parser", "boat"}


async def test_the_counts_at_each_gate_are_what_was_planted(life: Life, copy: Copy) -> None:
    planted: dict[str, Counter[str]] = {}
    for turn in life.turns:
        planted.setdefault(who_of(turn).scope, Counter()).update(turn.planted())
    counted = await of(life, copy, lambda tx: {scope: passes.gates(tx, [scope]) for scope in SCOPES})
    assert counted == {scope: dict(planted.get(scope, {})) for scope in SCOPES}


async def test_each_true_statement_arrives_and_nothing_else(life: Life, copy: Copy) -> None:
    def facts(tx: Tx) -> Counter[tuple[str, str]]:
        rows = tx.all("SELECT scope, text FROM records WHERE record = 'fact'")
        return Counter((str(scope), str(text)) for scope, text in rows)

    wanted = Counter((who_of(turn).scope, text) for turn in life.turns for text in told(turn))
    kept = [(who_of(t).scope, item.text) for t in life.turns for item in t.facts if t.told and item.gate == "conflict"]
    wanted.update(kept)
    assert await of(life, copy, facts) == wanted


async def test_what_was_corrected_is_history_and_what_is_doubted_waits(life: Life, copy: Copy) -> None:
    def facts(tx: Tx) -> dict[str, str]:
        return dict(tx.all("SELECT text, status FROM records WHERE record = 'fact' AND status <> 'active'"))

    assert await of(life, copy, facts) == {
        "The user lives in Bern.": "superseded", "The user works at Emch as a bridge engineer.": "superseded",
        "The user loves coriander.": "superseded", "Clara's birthday is on 14 May.": "superseded",
        "The user lives in Biel.": "quarantined",
        "The user would like to learn the accordion this year.": "hidden",
    }  # fmt: skip


async def test_every_record_opens_to_evidence_that_matches_word_for_word(life: Life, copy: Copy) -> None:
    def all_(tx: Tx) -> list[Opened]:
        records = stable.select(tx, "record IN ('fact', 'summary', 'capsule') AND status <> 'hidden' ORDER BY seq")
        return [opened.open_(tx, opened.find(tx, frozenset({one.scope}), one.id)) for one in records]

    found: list[Opened] = await of(life, copy, all_)
    facts = [one for one in found if one.record.record == "fact"]
    assert len(facts) > 170
    pointers = {"no_quote", "translated"}
    pointed = {item.text for turn in life.turns for item in turn.facts if pointers & set(item.also)}
    says = {turn.say for turn in life.turns}
    for one in found:
        assert one.said or one.record.origin == "manual"
        assert one.source == ""
        for said in one.said:
            assert said.event is not None
            if said.hash_ok is None:
                assert said.item.state == "", "a pointer"
                continue
            assert said.hash_ok
            assert said.text in said.event.text
            assert said.event.text in says
    for one in facts:
        spans = [said for said in one.said if said.hash_ok]
        assert bool(spans) == (one.record.text not in pointed), one.record.text
        assert one.mark == ("source" if spans else "pointer")


async def test_the_hash_of_each_excerpt_is_that_of_the_characters_that_it_names(life: Life, copy: Copy) -> None:
    def rows(tx: Tx) -> list[Any]:
        return tx.all(
            "SELECT v.excerpt, v.hash, substr(e.text, v.first + 1, v.last - v.first) FROM evidence v"
            " JOIN events e ON e.id = v.event WHERE v.first IS NOT NULL"
        )

    found = await of(life, copy, rows)
    assert len(found) > 170
    for excerpt, digest, stands in found:
        assert excerpt == stands
        assert digest.removeprefix("sha256:") == hashlib.sha256(stands.encode()).hexdigest()


async def test_every_turn_that_is_more_than_small_talk_has_its_one_summary(life: Life, copy: Copy) -> None:
    def counts(tx: Tx) -> dict[str, int]:
        rows = tx.all(
            "SELECT e.turn, count(DISTINCT r.id) FROM records r JOIN evidence v ON v.record = r.id"
            " JOIN events e ON e.id = v.event WHERE r.record = 'summary' GROUP BY e.turn"
        )
        return {str(turn): int(count) for turn, count in rows}

    found = await of(life, copy, counts)
    assert set(found.values()) == {1}
    for turn, done in zip(life.turns, life.done, strict=True):
        if len(turn.say) + len(turn.answer) >= 60 and turn.summary is None:
            assert done.turn in found, turn.say


async def test_no_secret_and_no_stranger_is_in_any_record(life: Life, copy: Copy) -> None:
    def texts(tx: Tx) -> list[tuple[str, str, int]]:
        return [
            (str(a), str(b), int(c))
            for a, b, c in tx.all("SELECT record, title || ' ' || text, untrusted FROM records")
        ]

    for record, text, untrusted in await of(life, copy, texts):
        for secret in ("hunter2hunter2", "4111 1111", "ghp_abc"):
            assert secret not in text
        if any(words in text for words in ("eve@example", "root rights", "所有照片")):
            assert (record, untrusted) == ("summary", 1), "what the turn was, and marked"


def test_what_strangers_said_was_never_given_to_the_model_to_read(life: Life) -> None:
    pages = [text for turn in life.turns for _, text in filter(None, (turn.page, turn.file))]
    assert len(pages) == 3
    assert all(page not in asked for page in pages for asked in life.reader.asked)


async def test_what_was_written_of_each_turn_is_told_to_its_watchers(life: Life, copy: Copy) -> None:
    """B9: whatever the model says of it."""
    told_of: dict[str, set[str]] = {}
    for notice in life.written:
        records: Any = notice.data["records"]
        told_of.setdefault(notice.turn, set()).update(id_ for ids in records.values() for id_ in ids)
    for turn, done in zip(life.turns, life.done, strict=True):
        ids = {life.reader.known[item.key] for item in turn.true}
        assert ids <= told_of.get(done.turn, set()), turn.say


async def test_who_may_not_see_it_opens_nothing_of_it(life: Life, copy: Copy) -> None:
    """B14"""

    def seen(tx: Tx) -> list[Record]:
        mine = {one.id for one in stable.select(tx, "scope = ?", (OWNER.scope,))}
        found = []
        for scope in SCOPES - {OWNER.scope}:
            rows = stable.select(tx, "scope = ?", (scope,))
            assert rows
            assert not mine & {one.id for one in rows}
            found += [one for one in rows if "adrenaline" in one.text]
        return found

    assert await of(life, copy, seen) == []
