"""Ranking of records and entities, and the words of records in their index."""

from __future__ import annotations

from typing import Any

import apsw
import pytest

from homed.memory.ports import Space
from homed.retrieval import index, record_words, stable
from homed.retrieval.asking import Question
from homed.retrieval.fuse import SUM
from homed.retrieval.rank import Hit, Ranker
from homed.retrieval.terms import term
from homed.retrieval.without import words_only
from homed.store import wordtables
from homed.store.rows import Tx
from tests.kit.dense import FakeDense, unit

GATE = 0.12
NOW = 1_000_000.0


def put(tx: Tx, text: str, **more: object) -> int:
    row: dict[str, object] = {
        "scope": "owner", "record": "fact", "kind": "fact", "title": "", "text": text, "reach": "user", "project": "",
        "status": "active", "importance": 5, "cited": 0, "updated_at": NOW,
    }  # fmt: skip
    row |= more
    count = int(tx.value("SELECT count(*) FROM records"))
    row["id"] = f"r{count}"
    tx.execute(
        "INSERT INTO records (id, scope, record, kind, title, text, key, reach, project, status, importance, cited,"
        " origin, extractor, created_at, updated_at) VALUES (:id, :scope, :record, :kind, :title, :text, :id, :reach,"
        " :project, :status, :importance, :cited, 'manual', 'manual', 1, :updated_at)",
        row,  # type: ignore[arg-type]
    )
    index.catch_up(tx)
    return int(tx.value("SELECT max(seq) FROM records"))


def found(tx: Tx, query: str | Question, ranker: Ranker | None = None, **more: object) -> list[Hit]:
    asked: dict[str, Any] = {"scope": "owner", "limit": 9, "now": NOW, "records": stable.KINDS} | more
    wanted = stable.Wanted(asked["scope"], frozenset(asked["records"]), asked["now"], asked.get("project", ""))
    return (ranker or words_only()).records(tx, wanted=wanted, query=query, limit=asked["limit"])


def known(tx: Tx, word: str, scope: str = "owner") -> int:
    return int(tx.value("SELECT doc FROM record_terms WHERE term = ?", (term(scope, word),)) or 0)


def sound(db: apsw.Connection) -> None:
    db.execute("INSERT INTO record_index (record_index) VALUES ('integrity-check')")
    counted = dict(db.execute("SELECT scope, documents FROM record_counts WHERE documents > 0"))
    assert counted == dict(db.execute("SELECT scope, count(*) FROM records GROUP BY scope"))


def test_a_record_is_found_in_the_transaction_that_wrote_it_by_its_title_too(tx: Tx, db: apsw.Connection) -> None:
    first = put(tx, "Anna lives in Lisbon")
    second = put(tx, "the kitchen is green", title="Colours", record="capsule")
    put(tx, "Bo has a boat")
    assert [hit.seq for hit in found(tx, "where does Anna live?")] == [first]
    assert [hit.seq for hit in found(tx, "colour")] == [second]
    assert found(tx, "colour")[0].score > GATE
    sound(db)


def test_only_what_holds_of_the_scope_the_kinds_and_the_project_is_found(tx: Tx) -> None:
    for status in ("superseded", "archived", "hidden", "quarantined"):
        put(tx, "the heron nests here", status=status)
    put(tx, "the heron nests here", scope="group")
    put(tx, "the heron nests here", record="summary")
    put(tx, "the heron nests here", reach="project", project="p1")
    fact = put(tx, "the heron nests here")
    own = put(tx, "the heron nests here", reach="project", project="p2")
    assert [hit.seq for hit in found(tx, "heron", records=("fact",))] == [fact]
    wanted = stable.Wanted("owner", frozenset({"fact"}), NOW, "p2")
    hits = stable.records(tx, FakeDense(), Question("heron"), wanted, limit=9, fusion=SUM)
    assert {hit.seq for hit in hits} == {fact, own}
    assert found(tx, "heron", records=("capsule",)) == []


def test_the_words_follow_the_text_and_leave_with_it(tx: Tx, db: apsw.Connection) -> None:
    seq = put(tx, "Anna lives in Lisbon")
    tx.execute("UPDATE records SET text = 'Anna lives in Porto' WHERE seq = ?", (seq,))
    tx.execute("UPDATE records SET text = 'Anna lives in Faro' WHERE seq = ?", (seq,))
    index.catch_up(tx)
    assert (known(tx, "lisbon"), known(tx, "porto"), known(tx, "faro")) == (0, 0, 1)
    sound(db)
    tx.execute("DELETE FROM records WHERE seq = ?", (seq,))
    index.catch_up(tx)
    assert known(tx, "faro") == 0
    sound(db)


def test_a_record_that_came_and_went_before_it_was_indexed_leaves_no_trace(tx: Tx, db: apsw.Connection) -> None:
    seq = put(tx, "keeps a heron")
    tx.execute("UPDATE records SET text = 'keeps an egret' WHERE seq = ?", (seq,))
    tx.execute("DELETE FROM records WHERE seq = ?", (seq,))
    index.catch_up(tx)
    assert (known(tx, "heron"), known(tx, "egret")) == (0, 0)
    sound(db)


def test_many_deleted_ones_are_taken_out_some_at_a_time_and_new_ones_come_first(tx: Tx, db: apsw.Connection) -> None:
    seqs = [put(tx, f"plum number{chr(97 + n % 26)}{chr(97 + n // 26)}") for n in range(60)]
    tx.execute("DELETE FROM records WHERE seq <= ?", (seqs[-2],))
    new = put(tx, "quince")
    assert [hit.seq for hit in found(tx, "quince")] == [new]
    assert known(tx, "plum") > 1, "not all in one go"
    while record_words.work_off(tx):
        pass
    assert known(tx, "plum") == 1
    sound(db)


def test_an_index_made_anew_takes_in_every_record(tx: Tx, db: apsw.Connection) -> None:
    seq = put(tx, "the heron nests here")
    wordtables.remake(tx)
    assert found(tx, "heron") == []
    while index.erase(tx):
        pass
    assert [hit.seq for hit in found(tx, "heron")] == [seq]
    sound(db)


def test_importance_citations_and_age_weigh_a_little_and_never_more_than_an_exact_symbol(tx: Tx) -> None:
    plain = put(tx, "the printer is at 10.0.0.7")
    weighty = put(tx, "the printer is in the hall", importance=9, cited=7)
    old = put(tx, "the printer is in the cellar", updated_at=1.0, importance=1)
    assert [hit.seq for hit in found(tx, "where is the printer")] == [weighty, plain, old]
    assert found(tx, "which printer is 10.0.0.7")[0].seq == plain


def test_its_relevance_is_how_much_the_question_is_about_it_and_nothing_else(tx: Tx) -> None:
    plain = put(tx, "the printer is in the hall upstairs", importance=5)
    weighty = put(tx, "the printer is in the hall below", importance=10, cited=50, project="p", reach="user")
    by_seq = {hit.seq: hit for hit in found(tx, "where is the printer in the hall")}
    assert by_seq[weighty].relevance == by_seq[plain].relevance > GATE
    assert by_seq[weighty].score > by_seq[plain].score
    assert all(0 < hit.score <= 1 for hit in by_seq.values())


def test_a_single_piece_of_a_longer_question_in_chinese_passes_no_gate(tx: Tx) -> None:
    """B10 the other way round: 二十 of the twenty digits of pi, 吉 of a guitar."""
    for text in ("他今年二十岁", "吉林很冷", "会议推迟了一年", "银杏商城的截止日期是五月十日"):
        put(tx, text)
    for query in ("帮我算一下圆周率后二十位", "怎么给吉他换弦", "法国大革命爆发于哪一年"):
        assert [hit for hit in found(tx, query) if hit.relevance >= GATE] == [], query
    for query in ("二十岁", "吉林", "吉林冷吗", "银杏商城的截止日期是哪天", "商城"):
        assert [hit for hit in found(tx, query) if hit.relevance >= GATE], query


def test_a_vector_that_is_near_enough_is_relevant_whatever_the_words_say(tx: Tx) -> None:
    """Another language: the words that happen to be the same must not pull it below the gate."""
    dense = FakeDense()
    near = put(tx, "我妹妹 Anna 住在里斯本")
    for text in ("Anna sings", "sister ship", "they live upstairs"):
        put(tx, text)
    dense.put(near, [1.0, 0.7], kind="record")
    question = asked("where does the sister of Anna live", 1.0, 0.0)
    hit = next(one for one in found(tx, question, Ranker(lambda: None, dense)) if one.seq == near)
    assert hit.relevance > 0.3


def asked(text: str, *direction: float) -> Question:
    return Question(text, unit(direction), Space("fake", len(direction), 0.2))


def test_what_only_its_vector_knows_is_found_and_what_has_none_is_judged_by_its_words(tx: Tx) -> None:
    dense = FakeDense()
    ranker = Ranker(lambda: None, dense)
    near, far, bare = put(tx, "我妹妹住在里斯本"), put(tx, "deep sea fish"), put(tx, "her sister is a nurse")
    dense.put(near, [1.0, 0.1], kind="record")
    dense.put(far, [0.0, 1.0], kind="record")
    hits = found(tx, asked("where does my sister live", 1.0, 0.0), ranker)
    assert {hits[0].seq, hits[1].seq} == {near, bare}
    assert hits[0].score > GATE
    assert far not in [hit.seq for hit in hits]
    assert hits[0].parts.keys() == {"words", "vectors"}


def test_entities_are_ranked_by_their_vectors_alone(tx: Tx) -> None:
    dense = FakeDense()
    for seq, (scope, direction) in enumerate([("owner", [1.0, 0.2]), ("owner", [0.0, 1.0]), ("group", [1.0, 0.0])], 1):
        tx.execute(
            "INSERT INTO entities (seq, id, scope, name, created_at, updated_at) VALUES (?, ?, ?, 'x', 1, 1)",
            (seq, f"e{seq}", scope),
        )
        dense.put(seq, direction, scope="owner", kind="entity")
    hits = Ranker(lambda: None, dense).entities(tx, scope="owner", query=asked("x", 1.0, 0.0), limit=5)
    assert [hit.id for hit in hits] == ["e1", "e2"]
    assert hits[0].score == pytest.approx(0.975, abs=0.01)
    assert words_only().entities(tx, scope="owner", query="x", limit=5) == []


def test_a_single_everyday_word_is_no_relevance_of_a_question_that_asks_for_more(tx: Tx) -> None:
    for text in ("The user lives in Thun.", "The winter tyres are stored at Garage Moser.", "老师不懂英语。"):
        put(tx, text)
    index.catch_up(tx)
    wanted = stable.Wanted("owner", frozenset({"fact"}), NOW)
    for query in ("What do pandas live on?", "How should I store bananas?"):
        assert all(hit.relevance < GATE for hit in words_only().records(tx, wanted=wanted, query=query, limit=5)), query
    for query in ("Where do I live?", "Where are my tyres stored?"):
        assert words_only().records(tx, wanted=wanted, query=query, limit=5)[0].relevance > GATE, query
