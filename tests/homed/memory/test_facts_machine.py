"""Whatever is said, forgotten, merged and judged in whatever order: the stable layer keeps its law."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, invariant, rule

from homed.errors import HomedError
from homed.memory import cold, dedupe, entities, evidence, facts, merges, review, stable, tombstones
from homed.memory.evidence import Evidence, Pointer, Span
from homed.memory.newfact import NewFact
from homed.memory.records import Event
from homed.memory.relations import FUNCTIONAL
from homed.store.connection import Transaction, open_writer
from homed.store.rows import Tx
from tests.homed.memory.speech import Speech
from tests.kit.memory_check import faults

T = TypeVar("T")

SCOPES = ("owner", "guest:cli:eve")
SUBJECTS = ("user", "Anna", "Anna Petrova", "")
RELATIONS = ("name", "home", "likes", "dislikes", "keeps", "")
OBJECTS = ("Rome", "Rome, Italy", "Bern", "bees", "7 cats", "8 cats")


class Failure(Exception):
    """Something went wrong inside a transaction."""


class Stable(RuleBasedStateMachine):
    """Events come and go, facts are put, undone, judged, entities merged; with failures inside and restarts between."""

    said = Bundle("said")

    @initialize()
    def start(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name) / "homed.db"
        self.connection = open_writer(self.path)
        self.turns, self.at = 0, 1_760_000_000.0
        self.buried: set[tuple[str, str]] = set()

    def write(self, fn: Callable[[Tx], T], *, fail: bool = False) -> T | None:
        self.connection.execute("BEGIN IMMEDIATE")
        try:
            result = fn(Transaction(self.connection, self.path))
            if fail:
                raise Failure
        except (Failure, HomedError):
            self.connection.execute("ROLLBACK")
            return None
        self.connection.execute("COMMIT")
        return result

    @rule(target=said, scope=st.sampled_from(SCOPES), private=st.booleans())
    def say(self, scope: str, private: bool) -> Event:
        self.turns += 1
        self.at += 60
        text = f"Message {self.turns}: the words of a fact."

        def speak(tx: Tx) -> Event:
            speech = Speech(tx, scope, self.at, self.turns * 1000 + SCOPES.index(scope))
            return speech.say(text, no_memory=private)

        event = self.write(speak)
        assert event is not None
        return event

    @rule(
        event=said, subject=st.sampled_from(SUBJECTS), relation=st.sampled_from(RELATIONS),
        value=st.sampled_from(OBJECTS), how=st.sampled_from(["span", "pointer", "none", "both"]),
        more=st.fixed_dictionaries(
            {
                "origin": st.sampled_from(["auto", "auto", "manual"]), "untrusted": st.booleans(),
                "scope": st.sampled_from(SCOPES), "confidence": st.sampled_from([0.1, 0.6]),
                "valid_until": st.sampled_from([None, None, 1_000_000.0]),
            }
        ),
        fail=st.booleans(),
    )  # fmt: skip
    def put(
        self, event: Event, subject: str, relation: str, value: str, how: str, more: dict[str, object], fail: bool
    ) -> None:
        text = f"{subject or 'Somebody'} {relation.replace('likes', 'like') or 'has'} {value}"
        new = NewFact(**{"text": text, "subject": subject, "relation": relation, "object": value, **more})  # type: ignore[arg-type]
        pieces: list[Evidence] = [Span(event.id, 0, 9)] if how in ("span", "both") else []
        pieces += [Pointer(event.id)] if how in ("pointer", "both") else []
        done = self.write(lambda tx: facts.put(tx, new, pieces, at=self.at), fail=fail)
        if done is None:
            return
        assert (done.record == "") == (done.outcome == "refused")
        if new.origin == "auto" and (not pieces or event.scope != new.scope or event.no_memory):
            assert done.why in ("evidence", "forgotten")
        if done.outcome != "refused":
            again = self.write(lambda tx: facts.put(tx, replace(new, origin="auto"), pieces, at=self.at))
            assert again is not None
            if pieces and event.scope == new.scope and not event.no_memory and new.origin == "auto":
                assert again.record == done.record, "the same statement of the same evidence is stored twice"

    @rule(event=consumes(said))
    def forget_event(self, event: Event) -> None:
        def gone(tx: Tx) -> None:
            tx.execute("DELETE FROM accesses WHERE event = ?", (event.id,))
            tx.execute("DELETE FROM events WHERE id = ?", (event.id,))

        self.write(gone)

    @rule(event=said)
    def sink(self, event: Event) -> None:
        self.write(lambda tx: cold.sink(tx, event.scope, [event.id], at=1.0))

    @rule(place=st.integers(0, 9))
    def forget_fact(self, place: int) -> None:
        def gone(tx: Tx) -> None:
            found = stable.select(tx, "1 ORDER BY seq")
            if found:
                fact = found[place % len(found)]
                stable.remove(tx, [fact.id])
                tombstones.bury(tx, fact.scope, texts=[fact.text], at=self.at)
                self.buried.add((fact.scope, fact.text))

        self.write(gone)

    @rule(place=st.integers(0, 9), keep=st.booleans())
    def undo(self, place: int, keep: bool) -> None:
        def back(tx: Tx) -> None:
            found = stable.select(tx, "status = 'superseded' ORDER BY seq")
            if found:
                fact = found[place % len(found)]
                facts.undo_supersession(tx, fact.scope, fact.id, at=self.at, keep_newer=keep)

        self.write(back)

    @rule(fail=st.booleans(), back=st.booleans())
    def merge(self, fail: bool, back: bool) -> None:
        def both(tx: Tx) -> None:
            done = [
                merges.merge(tx, "owner", one.id, two.id, at=self.at)
                for one in [entities.resolve(tx, "owner", "Anna")]
                for two in [entities.resolve(tx, "owner", "Anna Petrova")]
                if one and two and one.id != two.id
            ]
            if done and back:
                merges.unmerge(tx, "owner", done[0].id, at=self.at)

        self.write(both, fail=fail)

    @rule(scope=st.sampled_from(SCOPES), keep=st.booleans())
    def judge(self, scope: str, keep: bool) -> None:
        def settled(tx: Tx) -> None:
            ids = [record.id for record in review.batch(tx, scope)]
            review.settle(tx, scope, keep=ids if keep else [], discard=[] if keep else ids, at=self.at)

        self.write(settled)

    @rule()
    def restart(self) -> None:
        self.connection.close()
        self.connection = open_writer(self.path)

    @invariant()
    def the_tables_are_whole(self) -> None:
        assert not [fault for fault in faults(self.connection) if "words" not in fault and "counted" not in fault]
        assert list(self.connection.execute("PRAGMA foreign_key_check")) == []

    @invariant()
    def nothing_made_by_itself_is_without_evidence_of_its_scope(self) -> None:
        sql = "SELECT count(*) FROM records WHERE origin = 'auto' AND id NOT IN (SELECT record FROM evidence)"
        assert self.connection.execute(sql).get == 0
        sql = (
            "SELECT count(*) FROM evidence v JOIN records r ON r.id = v.record JOIN events e ON e.id = v.event"
            " WHERE e.scope <> r.scope"
        )
        assert self.connection.execute(sql).get == 0

    @invariant()
    def every_span_says_what_its_hash_says(self) -> None:
        def mismatches(tx: Tx) -> list[str]:
            ids = [record.id for record in stable.select(tx, "1")]
            return [id_ for id_ in ids if evidence.check(tx, id_) == evidence.MISMATCH]

        assert self.write(mismatches) == []

    @invariant()
    def what_holds_is_said_once(self) -> None:
        where = "status = 'active' AND valid_until IS NULL AND record = 'fact'"
        holding = self.write(lambda tx: stable.select(tx, where)) or []
        keys = Counter((fact.scope, fact.key, fact.subject) for fact in holding)
        undone = self.connection.execute("SELECT count(*) FROM records WHERE status = 'superseded'").get
        assert not undone or max(keys.values(), default=0) <= 2
        for fact in holding:
            assert fact.superseded_by is None
            assert (fact.scope, fact.text) not in self.buried or fact.origin == "manual"
            assert not fact.relation or fact.relation in (*RELATIONS, *FUNCTIONAL)
            assert dedupe.key(fact.text) == fact.key

    @invariant()
    def a_name_means_one_entity_that_is_there(self) -> None:
        sql = "SELECT count(*) FROM entities e WHERE NOT EXISTS (SELECT 1 FROM entity_names n WHERE n.entity = e.id)"
        assert self.connection.execute(sql).get == 0
        sql = (
            "SELECT count(*) FROM records r JOIN entities e ON e.id IN (r.subject, r.object_entity)"
            " WHERE e.scope <> r.scope"
        )
        assert self.connection.execute(sql).get == 0

    def teardown(self) -> None:
        if hasattr(self, "connection"):
            self.connection.close()
            self.folder.cleanup()


TestStable = Stable.TestCase
TestStable.settings = settings(max_examples=25, stateful_step_count=30, deadline=None)
