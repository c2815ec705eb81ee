"""What was forgotten, as hashes."""

from __future__ import annotations

import apsw

from homed.memory import tombstones
from homed.store.rows import Tx


def test_a_statement_is_found_in_other_words_order_and_case_but_no_other_is(tx: Tx) -> None:
    tombstones.bury(tx, "owner", texts=["Anna lives in Rome."], at=1.0)
    assert tombstones.buried(tx, "owner", "anna lives in rome")
    assert tombstones.buried(tx, "owner", "In Rome Anna lives!")
    assert not tombstones.buried(tx, "owner", "Anna lives in Bern")
    assert not tombstones.buried(tx, "guest:x", "Anna lives in Rome.")


def test_a_triple_is_found_whatever_its_relation_is_called(tx: Tx) -> None:
    tombstones.bury(tx, "owner", triples=[("Anna", "lives in", "Rome")], at=1.0)
    assert tombstones.buried(tx, "owner", "whatever", ("anna", "住在", "ROME"))
    assert not tombstones.buried(tx, "owner", "whatever", ("anna", "loves", "ROME"))
    assert not tombstones.buried(tx, "owner", "whatever")


def test_events_are_found_by_their_ids(tx: Tx) -> None:
    tombstones.bury(tx, "owner", events=["ev1", "ev2"], at=1.0)
    assert tombstones.events(tx, "owner", ["ev1", "ev3"]) == {"ev1"}
    assert tombstones.events(tx, "owner", []) == frozenset()


def test_what_a_person_writes_again_is_lifted(tx: Tx) -> None:
    tombstones.bury(tx, "owner", texts=["Anna lives in Rome."], triples=[("Anna", "home", "Rome")], at=1.0)
    tombstones.lift(tx, "owner", "Anna lives in Rome", ("Anna", "home", "Rome"))
    assert not tombstones.buried(tx, "owner", "Anna lives in Rome.", ("Anna", "home", "Rome"))


def test_nothing_of_what_was_forgotten_is_kept_and_the_key_is_made_once(tx: Tx, db: apsw.Connection) -> None:
    tombstones.bury(tx, "owner", texts=["Anna lives in Rome."], at=1.0)
    key = db.execute("SELECT key FROM memory_key").get
    tombstones.bury(tx, "owner", texts=["Anna lives in Bern."], at=1.0)
    assert db.execute("SELECT key FROM memory_key").get == key
    stored = repr(list(db.execute("SELECT * FROM tombstones"))).casefold()
    assert "anna" not in stored
    assert "rome" not in stored


def test_two_houses_have_no_hash_in_common(tx: Tx, db: apsw.Connection) -> None:
    tombstones.bury(tx, "owner", texts=["Anna lives in Rome."], at=1.0)
    before = set(db.execute("SELECT hash FROM tombstones"))
    db.execute("DELETE FROM tombstones; DELETE FROM memory_key")
    tombstones.bury(tx, "owner", texts=["Anna lives in Rome."], at=1.0)
    assert not before & set(db.execute("SELECT hash FROM tombstones"))


def test_each_key_of_a_house_has_its_own_name(tx: Tx, db: apsw.Connection) -> None:
    assert tombstones.key_ids(tx) == []
    tombstones.bury(tx, "owner", texts=["Anna lives in Rome."], at=1.0)
    [one] = tombstones.key_ids(tx)
    db.execute("UPDATE memory_key SET key = CAST(?1 || key AS BLOB)", (b"k" * tombstones.KEY,))
    other, same = tombstones.key_ids(tx)
    assert same == one != other
