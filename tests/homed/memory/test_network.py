"""The graph as a picture: around one or of the best known, bounded, of one scope, and only of what holds."""

from __future__ import annotations

from typing import Any

import pytest

from homed.errors import NotFound
from homed.memory import entities, network, stable
from homed.store.rows import Tx
from tests.homed.memory.speech import Speech


@pytest.fixture
def speech(tx: Tx) -> Speech:
    return Speech(tx)


def knows(speech: Speech, one: str, other: str, relation: str = "friend", **more: Any) -> str:
    text = f"{one} {relation} {other}"
    put = speech.fact(
        text, subject=one, subject_type="person", relation=relation, object=other, object_type="person", **more
    )
    return put.record


def names(found: network.Network) -> list[str]:
    return [entity.name for entity in found.nodes]


def test_so_many_steps_around_one_each_with_the_record_that_says_so(speech: Speech) -> None:
    first, second, _ = knows(speech, "Anna", "Bela"), knows(speech, "Bela", "Cora"), knows(speech, "Cora", "Dora")
    near = network.around(speech.tx, "owner", "Anna", depth=1, limit=60)
    assert (names(near), [edge.id for edge in near.edges]) == (["Anna", "Bela"], [first])
    far = network.around(speech.tx, "owner", "anna", depth=2, limit=60)
    assert names(far) == ["Anna", "Bela", "Cora"]
    assert {edge.id for edge in far.edges} == {first, second}
    assert sorted(far.distance.values()) == [0, 1, 2]
    assert far.center == entities.must(speech.tx, "owner", "Anna").id


def test_a_value_is_the_end_of_an_edge_without_a_node(speech: Speech) -> None:
    put = speech.fact("Anna is 41.", subject="Anna", subject_type="person", relation="age", object="41")
    found = network.best(speech.tx, "owner", limit=10)
    assert (names(found), [edge.id for edge in found.edges]) == (["Anna"], [put.record])


def test_it_is_bounded_and_says_that_there_is_more(speech: Speech) -> None:
    for at in range(6):
        knows(speech, "Anna", f"Friend {'abcdef'[at]}")
    found = network.around(speech.tx, "owner", "Anna", depth=3, limit=4)
    assert (len(found.nodes), found.more) == (4, True)
    assert len(found.edges) == 3
    best = network.best(speech.tx, "owner", limit=3)
    assert (len(best.nodes), best.more) == (3, True)
    assert not network.best(speech.tx, "owner", limit=60).more


@pytest.mark.parametrize("status", ["hidden", "superseded", "archived", "quarantined"])
def test_nobody_is_named_of_whom_nothing_holds(speech: Speech, status: str) -> None:
    knows(speech, "Anna", "Bela")
    record = knows(speech, "Cora", "Dora")
    stable.update(speech.tx, record, {"status": status}, at=1.0)
    assert names(network.best(speech.tx, "owner", limit=9)) == ["Anna", "Bela"]
    with pytest.raises(NotFound, match="holds"):
        network.around(speech.tx, "owner", "Cora", depth=1, limit=9)


def test_names_that_only_strangers_told_are_doubtful(speech: Speech) -> None:
    knows(speech, "Anna", "Bela")
    knows(speech, "Anna", "Mallory", untrusted=True)
    found = network.best(speech.tx, "owner", limit=9)
    assert {entity.name for entity in found.nodes if entity.id in found.doubtful} == {"Mallory"}


def test_b14_of_another_scope_nothing_is_there(speech: Speech) -> None:
    knows(Speech(speech.tx, "guest:qq:1"), "Anna", "Bela")
    assert network.best(speech.tx, "owner", limit=9).nodes == ()
    with pytest.raises(NotFound):
        network.around(speech.tx, "owner", "Anna", depth=1, limit=9)
    for scopes in ([], ["owner", "guest:qq:1"]):
        with pytest.raises(NotFound):
            network.must_scope(scopes)
