"""Records as such: revisions, citations, the cap."""

from __future__ import annotations

import pytest

from homed.errors import NotFound
from homed.memory import stable
from homed.store.rows import Tx

DAY = 86_400.0


def made(tx: Tx, key: str, *, at: float = 1.0, **more: str | int | float | None) -> str:
    values: dict[str, str | int | float | bytes | None] = {
        "scope": "owner", "record": "fact", "kind": "fact", "text": key, "key": key, "origin": "manual",
        "extractor": "manual", **more,
    }  # fmt: skip
    return stable.insert(tx, values, at=at)


def test_the_newest_twenty_revisions_are_kept(tx: Tx) -> None:
    id_ = made(tx, "0")
    for number in range(1, 26):
        record = stable.get(tx, id_)
        assert record is not None
        stable.revise(tx, record, {"text": str(number)}, why="edited", at=float(number))
    kept = stable.history(tx, id_)
    assert [one.text for one in kept] == [str(number) for number in range(24, 4, -1)]
    assert [one.revision for one in kept] == list(range(25, 5, -1))
    record = stable.get(tx, id_)
    assert record is not None
    assert (record.text, record.revision, record.updated_at) == ("25", 26, 25.0)


def test_a_record_is_found_by_its_whole_id_or_the_end_of_it_in_its_scope(tx: Tx) -> None:
    id_ = made(tx, "a")
    record = stable.find(tx, "owner", id_)
    assert stable.find(tx, "owner", f"id:{record.shown_id}") == record
    assert len(record.shown_id) == 8
    for scope, wrong in (("guest:x", id_), ("owner", id_[-7:]), ("owner", ""), ("owner", "fact_" + id_[-8:])):
        with pytest.raises(NotFound):
            stable.find(tx, scope, wrong)


def test_what_is_worth_least_goes(tx: Tx) -> None:
    now = 1000 * DAY
    ids = {
        "old": made(tx, "old", at=now - 90 * DAY, importance=5),
        "new": made(tx, "new", at=now, importance=5),
        "cited": made(tx, "cited", at=now - 90 * DAY, importance=1, cited=1, cited_at=now - DAY),
        "dear": made(tx, "dear", at=now - 900 * DAY, importance=9),
        "gone": made(tx, "gone", at=now, importance=8, status="superseded"),
        "rough": made(tx, "rough", at=now, importance=5, extractor="fallback"),
    }
    order = [stable.evict(tx, "owner", "fact", at=now, cap=cap) for cap in range(5, -1, -1)]
    names = {id_: name for name, id_ in ids.items()}
    assert [[names[id_] for id_ in gone] for gone in order] == [
        ["gone"],
        ["old"],
        ["rough"],
        ["new"],
        ["cited"],
        ["dear"],
    ]


def test_another_scope_and_kind_do_not_count(tx: Tx) -> None:
    made(tx, "a")
    made(tx, "b", scope="guest:x")
    made(tx, "c", record="summary", kind="turn")
    assert stable.evict(tx, "owner", "fact", at=1.0, cap=1) == []


def test_citations_and_pages(tx: Tx) -> None:
    ids = [made(tx, str(number)) for number in range(5)]
    stable.cite(tx, [ids[0], ids[0], "none"], at=7.0)
    first = stable.get(tx, ids[0])
    assert first is not None
    assert (first.cited, first.cited_at) == (1, 7.0)
    page = stable.list_(tx, "owner", record="fact", limit=2)
    assert [record.text for record in page] == ["4", "3"]
    assert [record.text for record in stable.list_(tx, "owner", limit=9, before=page[-1].seq)] == ["2", "1", "0"]
    assert stable.list_(tx, "owner", record="capsule") == []


@pytest.mark.parametrize(
    ("confidence", "word"), [(0.0, "low"), (0.39, "low"), (0.4, "medium"), (0.74, "medium"), (0.75, "high")]
)
def test_confidence_in_a_word(tx: Tx, confidence: float, word: str) -> None:
    record = stable.get(tx, made(tx, "a", confidence=confidence))
    assert record is not None
    assert record.confidence_word == word


def test_no_writer_stores_a_null(tx: Tx) -> None:
    """To SQLite's own functions a text ends there: what is behind it would be found by no search and no doctor."""
    id_ = made(tx, "a", title="b\0c", text="d\0e", tags='["f\\u0000g", "h\\\\u0000"]')
    record = stable.get(tx, id_)
    assert record is not None
    assert (record.title, record.text, record.tags) == ("b c", "d e", ("f g", "h\\u0000"))
    stable.revise(tx, record, {"text": "h\0i"}, why="edited", at=2.0)
    assert tx.value("SELECT text FROM records") == "h i"
