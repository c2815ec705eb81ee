"""What one turn reads of its scope, and how much of the database that takes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from homed.agent import reading
from homed.agent.reading import Found, Wanted
from homed.memory.budget import budget
from homed.retrieval.asking import Question
from homed.retrieval.rank import Ranker
from homed.retrieval.without import words_only
from homed.store.connection import Transaction
from homed.store.rows import Row, SqlValue, Tx
from tests.kit.migrated import migrated
from tests.kit.past import Past, Said, put


class Watched(Transaction):
    """A transaction that knows how many characters its statements gave."""

    characters = 0

    def all(self, sql: str, params: Sequence[SqlValue] | Mapping[str, SqlValue] = ()) -> list[Row]:
        rows = super().all(sql, params)
        self.characters += sum(len(value) for row in rows for value in row if isinstance(value, str))
        return rows


@pytest.fixture
def tx() -> Iterator[Watched]:
    connection = migrated()
    connection.execute("BEGIN")
    yield Watched(connection, Path(":memory:"))
    connection.close()


def wanted(query: str, most: int = 30) -> Wanted:
    asked = Question(query)
    return Wanted("owner", "th_new", "turn_new", asked, budget(32_768, 2_000), most, 10, 0.12, 1_750_000_000.0)


def read(tx: Tx, query: str, **more: int) -> Found:
    found = Found()
    reading.read(tx, words_only(), wanted(query, **more), found)
    assert found.missing == []
    return found


def test_texts_are_read_of_what_is_shown_and_of_nothing_else(tx: Watched) -> None:
    """A11: after an upgrade two thousand whole texts were read in every turn."""
    for n in range(60):
        put(tx, Past(said=[Said(question=f"heron{n} " + "some words " * 5_000, answer=f"egret{n} seen")]))
    tx.characters = 0
    found = read(tx, "heron3 egret3")
    assert found.selection is not None
    shown = sum(len(event.text) for event in found.selection.kept)
    assert any(event.text.startswith("egret3 seen") for event in found.selection.kept)
    assert all(len(event.text) > 1 for event in found.selection.kept), "whole"
    assert tx.characters < 3 * shown + 400_000, "and the notes"
    assert tx.characters < 60 * 55_000 / 4


def test_interrupted_after_its_first_part_it_has_the_newest_with_their_texts(
    tx: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tx, Past(said=[Said(question=f"question {n}") for n in range(5)]))

    def broken(*_: Any, **__: Any) -> Any:
        raise ZeroDivisionError("interrupted")

    monkeypatch.setattr(Ranker, "score", broken)
    found = Found()
    reading.read(tx, words_only(), wanted("question"), found)
    assert found.selection is not None
    assert [event.text for event in found.selection.kept][::2] == [f"question {n}" for n in range(5)]


def test_one_question_is_scored_and_searched_once(tx: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tx, Past(said=[Said(question="My daughter Ida plays the cello.")], layer="cold"))
    put(tx, Past(said=[Said(question="Ida is eleven.")]))
    asked: list[str] = []
    for name in ("search", "score"):
        plain = getattr(Ranker, name)

        def counted(*args: Any, plain: Any = plain, name: str = name, **kwargs: Any) -> Any:
            asked.append(name)
            return plain(*args, **kwargs)

        monkeypatch.setattr(Ranker, name, counted)
    found = read(tx, "Ida cello")
    assert sorted(asked) == ["score", "search"]
    assert found.hits[0][0].text == "My daughter Ida plays the cello."


def test_a_window_of_any_number_is_chosen_from_its_newest_and_the_rest_is_told(tx: Watched) -> None:
    put(tx, Past(said=[Said(question="The heron nests in the old mill.")]))
    put(tx, Past(said=[Said(question=f"message {n}") for n in range(reading.NEWEST)]))
    found = read(tx, "Where does the heron nest?")
    assert len(found.events) == reading.NEWEST
    assert [event.text for event, _ in found.hits][:1] == ["The heron nests in the old mill."]
    assert len(read(tx, "heron", most=reading.NEWEST).events) == 2 * reading.NEWEST
