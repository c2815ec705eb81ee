"""Walking from names to what is known of them."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from homed.memory import entities, facts, graph
from homed.store.rows import Tx
from tests.homed.memory.speech import Speech


@pytest.fixture
def speech(tx: Tx) -> Speech:
    return Speech(tx)


def link(speech: Speech, one: str, relation: str, other: str, **more: Any) -> facts.Put:
    fields: dict[str, Any] = {"subject": one, "relation": relation, "object": other, "object_type": "thing", **more}
    return speech.fact(f"{one} {relation} {other}", **fields)


def chain(speech: Speech, *names: str) -> None:
    for one, other in pairwise(names):
        link(speech, one, "leads to", other)


def reached(speech: Speech, *names: str, **more: int) -> list[str]:
    found = graph.recall(speech.tx, scope="owner", names=names, **more)  # type: ignore[arg-type]
    return [entity.name for entity in found.entities]


def test_breadth_first_to_the_depth_both_ways(speech: Speech) -> None:
    chain(speech, "Node A", "Node B", "Node C", "Node D", "Node E")
    assert reached(speech, "Node A") == ["Node A", "Node B", "Node C"]
    assert reached(speech, "Node C", depth=1) == ["Node C", "Node D", "Node B"]
    assert reached(speech, "Node A", depth=0) == ["Node A"]
    assert reached(speech, "Nobody") == []


def test_the_facts_are_those_between_what_was_reached_and_of_their_values(speech: Speech) -> None:
    chain(speech, "Node A", "Node B", "Node C", "Node D")
    speech.fact("Node A is red", subject="Node A", relation="colour", object="red")
    found = graph.recall(speech.tx, scope="owner", names=["Node A"], depth=1)
    assert {fact.text for fact in found.facts} == {"Node A leads to Node B", "Node A is red"}


def test_no_more_than_the_cap_and_the_best_first(speech: Speech) -> None:
    for number in range(30):
        link(speech, "The hub", "holds", f"Spoke {number}", importance=1 + number // 3)
    names = reached(speech, "The hub")
    assert len(names) == graph.CAP
    assert names[1:4] == ["Spoke 29", "Spoke 28", "Spoke 27"]
    assert len(reached(speech, *[f"Spoke {number}" for number in range(30)], cap=5)) == 5


def test_only_what_holds_is_walked(speech: Speech) -> None:
    link(speech, "Node A", "leads to", "Node B")
    for status in ("superseded", "hidden", "archived", "quarantined"):
        speech.tx.execute("UPDATE records SET status = ?", (status,))
        assert reached(speech, "Node A") == ["Node A"]


def test_another_scope_is_not_there(speech: Speech) -> None:
    link(speech, "Node A", "leads to", "Node B")
    node = entities.must(speech.tx, "owner", "Node A")
    assert graph.recall(speech.tx, scope="guest:x", names=["Node A", node.id]) == graph.Reached()
    assert graph.index(speech.tx, scope="guest:x") == graph.Index(0, 0, (), ())


def test_names_by_alias_by_id_by_a_part_and_whoever_speaks(speech: Speech) -> None:
    link(speech, "Anna Petrova", "knows", "Bob Stone")
    anna = entities.must(speech.tx, "owner", "Anna Petrova")
    entities.alias(speech.tx, anna, "Anya")
    for name in ("anya", anna.id, "Petrova"):
        assert reached(speech, name)[0] == "Anna Petrova"
    assert reached(speech, "etrov") == []
    speech.hear("My name is Clara.")
    assert reached(speech, "I") == ["Clara"]
    link(speech, "李国宇", "住在", "北京市")
    assert reached(speech, "北京")[0] == "北京市"


def test_media_of_the_evidence_are_nodes(speech: Speech) -> None:
    event = speech.say("Anna keeps bees")
    put = speech.fact("Anna keeps bees", of=event, subject="Anna", relation="keeps", object="bees")
    private = speech.say("Anna keeps bees", no_memory=True)
    for number, owner in enumerate((event, private)):
        speech.tx.execute(
            "INSERT INTO blocks (id, hash, media_type, bytes, event, created_at, name)"
            " VALUES (?, ?, 'image/png', 1, ?, 1, 'hive.png')",
            (f"blk{number}", f"h{number}", owner.id),
        )
    speech.tx.execute("UPDATE events SET words = 'a hive'")
    [block] = graph.recall(speech.tx, scope="owner", names=["Anna"]).blocks
    assert (block.id, block.name, block.words) == ("blk0", "hive.png", "a hive")
    assert graph.blocks_of(speech.tx, "guest:x", [put.record]) == ()


def test_e30_the_index_names_the_most_mentioned_first_and_the_best_facts(speech: Speech) -> None:
    for name, times in (("Old One", 1), ("Often", 3), ("Twice", 2)):
        for number in range(times):
            speech.fact(f"{name} has {number}", subject=name, relation="has", object=str(number), importance=number + 2)
    found = graph.index(speech.tx, scope="owner", names=2, facts=2)
    assert (found.entities, found.facts, found.names) == (3, 6, ("Often", "Twice"))
    assert [fact.text for fact in found.best] == ["Often has 2", "Twice has 1"]
    often = entities.must(speech.tx, "owner", "Often")
    without = graph.index(speech.tx, scope="owner", without=[often.id], names=2, facts=2)
    assert without.names == ("Twice", "Old One")
    assert len(without.best) == 2
    assert all("Often" not in fact.text for fact in without.best)
