"""The word index holds what the events say, and nothing that was taken back."""

from __future__ import annotations

import importlib.metadata
import tomllib
from pathlib import Path

import apsw
import pytest

from homed.memory import events, inputs
from homed.memory.records import EventKind, InputState, NewEvent, Outcome
from homed.retrieval import index, lexical
from homed.retrieval.terms import prefix, term
from homed.retrieval.without import words_only
from homed.retrieval.words import Words
from homed.store.rows import Tx
from tests.homed.retrieval.conftest import Talks
from tests.kit.memory_check import faults, indexed

ROOT = Path(__file__).parents[3]
NAMES = ["alder", "birch", "cedar", "dogwood", "elm", "fir", "gum", "hazel", "ivy", "juniper"]
ANSWERED = Outcome(InputState.ANSWERED, "done")


def hits(tx: Tx, query: str, scope: str = "owner") -> list[str]:
    """What has some of the query's words; not what merely stands beside it."""
    having = lexical.candidates(tx, lexical.ask(tx, scope=scope, query=query))
    return [
        hit.id
        for hit in words_only().search(tx, scope=scope, layer="context", query=query, limit=50)
        if hit.seq in having
    ]


def test_e28_what_was_stored_is_found_in_the_same_transaction(tx: Tx, db: apsw.Connection, say: Talks) -> None:
    event = say("the heron stands in the reeds")
    assert hits(tx, "heron") == [event.id]
    assert faults(db) == []


def test_a_tool_result_is_found_by_its_tool_and_by_what_it_was_asked(tx: Tx, say: Talks) -> None:
    event = say("ok", kind=EventKind.TOOL, call_id="A", name="file_read", args={"path": "/etc/hosts"})
    assert hits(tx, "/etc/hosts") == hits(tx, "file_read") == [event.id]


def test_notes_and_no_memory_events_are_not_indexed(tx: Tx, db: apsw.Connection, say: Talks) -> None:
    say("heron", kind=EventKind.NOTE)
    events.append(tx, say.turn(), NewEvent(EventKind.USER, "heron", no_memory=True), at=1.0)
    assert index.catch_up(tx) == 1
    assert (indexed(db), hits(tx, "heron"), faults(db)) == ({}, [], [])


def test_a_turn_that_ends_as_no_memory_leaves_the_index(tx: Tx, db: apsw.Connection, say: Talks) -> None:
    say("heron", thread="private")
    kept = say("heron and egret", thread="other")
    inputs.finish(tx, say.turn(thread="private").id, ANSWERED, [], at=2.0, no_memory=True)
    assert hits(tx, "heron") == [kept.id], "before anything was tidied up"
    assert faults(db) == []
    assert index.catch_up(tx) == 1
    assert hits(tx, "heron") == [kept.id]
    assert list(indexed(db)) == [kept.seq]
    assert faults(db) == []


def test_the_words_of_a_deleted_event_are_gone_from_the_file(tx: Tx, db: apsw.Connection, say: Talks) -> None:
    for n in range(300):
        say(f"ordinary{n} sentence")
    secret = say("xyzzyplugh")
    db.execute("INSERT INTO word_index (word_index) VALUES ('optimize')")
    word = b"xyzzyplugh"
    assert _on_disk(db, word)
    tx.execute("DELETE FROM events WHERE id = ?", (secret.id,))
    index.catch_up(tx)
    db.execute("COMMIT; BEGIN")
    assert not _on_disk(db, word)
    assert hits(tx, "xyzzyplugh") == []
    assert faults(db) == []


def test_the_words_of_many_deleted_events_are_gone_once_all_is_tidy(tx: Tx, db: apsw.Connection, say: Talks) -> None:
    for n in range(3 * index.FEW):
        say(f"xyzzyplugh{n} sentence", thread="gone")
        say(f"ordinary{n} sentence", thread="kept")
    tx.execute("DELETE FROM events WHERE thread = (SELECT id FROM threads WHERE title = 'gone')")
    calls = 0
    while index.erase(tx) or index.tidy(tx):
        db.execute("COMMIT; BEGIN")
        calls += 1
    assert calls > 1
    assert not _on_disk(db, b"xyzzyplugh")
    assert (len(hits(tx, "sentence")), index.tidy(tx), faults(db)) == (50, False, [])


def _on_disk(db: apsw.Connection, word: bytes) -> bool:
    # The first letters of a term may be shared with the one before it.
    return any(word[4:] in bytes(row[0]) for row in db.execute("SELECT block FROM word_index_data"))


def test_a_transaction_that_forgot_the_index_is_made_up_for_by_the_next(
    tx: Tx, db: apsw.Connection, say: Talks
) -> None:
    events.append(tx, say.turn(), NewEvent(EventKind.USER, "heron"), at=1.0)
    assert hits(tx, "heron") == []
    say("egret", thread="another")
    assert len(hits(tx, "heron")) == 1
    assert faults(db) == []


def test_an_event_deleted_before_it_was_indexed_leaves_no_trace(tx: Tx, db: apsw.Connection, say: Talks) -> None:
    event = events.append(tx, say.turn(), NewEvent(EventKind.USER, "heron"), at=1.0)
    tx.execute("DELETE FROM events WHERE id = ?", (event.id,))
    index.catch_up(tx)
    assert faults(db) == []


def test_what_an_earlier_release_stored_is_indexed_bit_by_bit_newest_first(
    tx: Tx, db: apsw.Connection, say: Talks
) -> None:
    for n in range(10):
        events.append(tx, say.turn(thread=f"t{n}"), NewEvent(EventKind.USER, f"heron {NAMES[n]}"), at=1.0)
    tx.execute("UPDATE word_marks SET mark = (SELECT max(seq) FROM events), backlog = (SELECT max(seq) FROM events)")
    tx.execute("UPDATE events SET tokens = 0")
    fresh = say("a heron of today")
    assert (hits(tx, "heron"), index.waiting(tx)) == ([fresh.id], 10)
    assert index.backfill(tx, limit=4) == 4
    assert (len(hits(tx, "heron")), len(hits(tx, NAMES[9])), hits(tx, NAMES[5])) == (5, 1, [])
    assert faults(db) == []
    while index.backfill(tx, limit=4):
        pass
    assert (len(hits(tx, NAMES[0])), index.waiting(tx), faults(db)) == (1, 0, [])
    assert tx.value("SELECT count(*) FROM events WHERE tokens = 0") == 0


def test_an_old_event_that_is_deleted_before_its_turn_came_is_no_problem(
    tx: Tx, db: apsw.Connection, say: Talks
) -> None:
    old = events.append(tx, say.turn(), NewEvent(EventKind.USER, "heron"), at=1.0)
    tx.execute("UPDATE word_marks SET mark = ?, backlog = ?", (old.seq, old.seq))
    tx.execute("DELETE FROM events WHERE id = ?", (old.id,))
    index.catch_up(tx)
    assert index.backfill(tx) == 0
    assert faults(db) == []


def test_a_call_of_backfill_stops_after_a_slice_of_text(tx: Tx, say: Talks) -> None:
    for _ in range(4):
        events.append(tx, say.turn(), NewEvent(EventKind.USER, "heron " * (index.SLICE // 10)), at=1.0)
    tx.execute("UPDATE word_marks SET mark = (SELECT max(seq) FROM events), backlog = (SELECT max(seq) FROM events)")
    assert index.backfill(tx) == 2


def test_terms_made_by_other_rules_are_made_again(tx: Tx, db: apsw.Connection, say: Talks) -> None:
    event = say("heron")
    tx.execute("UPDATE word_marks SET version = version - 1")
    assert index.backfill(tx) == 1
    assert (hits(tx, "heron"), faults(db)) == ([event.id], [])


def test_what_was_indexed_by_other_rules_is_not_erased_by_ours(
    tx: Tx, db: apsw.Connection, say: Talks, monkeypatch: pytest.MonkeyPatch
) -> None:
    """FTS5 takes out just what it is told, and says nothing when that was never in: the old words would stay."""
    gone, kept = say("xyzzyplughs"), say("herons")
    with monkeypatch.context() as other:  # a stemmer of another release made these
        other.setattr(index, "VERSION", 7)
        other.setattr(index, "joined", lambda words, scope, text: prefix(scope) + text + "old")
        while index.backfill(tx):
            pass
    assert _on_disk_or_gathered(tx, "xyzzyplughsold")
    tx.execute("DELETE FROM events WHERE id = ?", (gone.id,))
    index.catch_up(tx)
    assert not _on_disk_or_gathered(tx, "xyzzyplughsold"), "at once, not when the rest is indexed again"
    while index.backfill(tx):
        pass
    assert (hits(tx, "heron"), faults(db)) == ([kept.id], [])


def _on_disk_or_gathered(tx: Tx, word: str) -> bool:
    return bool(tx.value("SELECT count(*) FROM word_terms WHERE term = ?", (term("owner", word),)))


def test_the_version_of_the_terms_names_all_that_makes_them() -> None:
    pins = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["dependencies"]
    assert f"snowballstemmer=={index.STEMMER}" in pins
    assert importlib.metadata.version("snowballstemmer") == index.STEMMER
    assert type(Words()._english).__module__ == "snowballstemmer.english_stemmer", "never PyStemmer's"


@pytest.mark.parametrize("scope", ["group:qq:1", "", 'o\'wner "x"', "主"])
def test_b14_the_words_of_a_scope_are_found_from_no_other(tx: Tx, db: apsw.Connection, say: Talks, scope: str) -> None:
    own, other = say("heron"), say("heron egret", scope=scope)
    assert (hits(tx, "heron egret"), hits(tx, "heron egret", scope)) == ([own.id], [other.id])
    assert faults(db) == []


def test_a_text_that_cannot_be_written_is_no_problem(tx: Tx, say: Talks) -> None:
    say("\x00 heron \x7f\x1b[0m \u200b \ufeff")
    assert len(hits(tx, "heron")) == 1


def test_the_words_of_files_are_found_with_the_event_they_belong_to(tx: Tx, db: apsw.Connection, say: Talks) -> None:
    event, other = say("look at this"), say("and at that heron", thread="other")
    index.reword(tx, event.seq, "menu.png\nnoodles with sesame")
    assert (hits(tx, "sesame noodles"), faults(db)) == ([event.id], [])
    index.reword(tx, event.seq, "menu.png\ndumplings")
    assert (hits(tx, "sesame"), hits(tx, "dumplings"), faults(db)) == ([], [event.id], [])
    assert hits(tx, "heron") == [other.id]


def test_the_words_of_files_leave_the_index_with_their_event(tx: Tx, db: apsw.Connection, say: Talks) -> None:
    gone, private = say("look at this", thread="a"), say("and this", thread="b")
    index.reword(tx, gone.seq, "sesame")
    index.reword(tx, private.seq, "sesame oil")
    db.execute("DELETE FROM events WHERE seq = ?", (gone.seq,))
    inputs.finish(tx, say.turn(thread="b").id, ANSWERED, [], at=2.0, no_memory=True)
    assert index.catch_up(tx) == 2
    assert (indexed(db), faults(db)) == ({}, [])


def test_what_is_not_in_the_index_is_not_put_into_it_for_its_files(tx: Tx, db: apsw.Connection, say: Talks) -> None:
    note = say("a note", kind=EventKind.NOTE)
    new = events.append(tx, say.turn(), NewEvent(EventKind.USER, "just now"), at=1.0)
    for seq in (note.seq, new.seq, 10_000):
        index.reword(tx, seq, "sesame")
    assert (indexed(db), faults(db)) == ({}, [])
    index.catch_up(tx)
    assert (hits(tx, "sesame"), faults(db)) == ([new.id], [])


def test_words_that_come_while_the_index_is_broken_are_kept_for_the_new_one(
    tx: Tx, db: apsw.Connection, say: Talks
) -> None:
    event = say("look at this")
    index.give_up(tx)
    index.reword(tx, event.seq, "sesame")
    while index.backfill(tx):
        pass
    assert (hits(tx, "sesame"), faults(db)) == ([event.id], [])
