"""Whatever stands in one of holo-memory's files: it is read or refused, and what was read can be kept."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import apsw
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from homed.jobs import holoread, holotake
from homed.jobs.holoread import Given, Refused
from homed.memory import tombstones
from homed.memory.blocked import secret_in
from homed.memory.seen import seen
from homed.memory.stable import KINDS, LONGEST, REVISIONS, TAGS
from homed.store.connection import Transaction
from homed.store.rows import Tx
from tests.kit.memory_check import faults
from tests.kit.migrated import migrated

NOW = 1_760_000_000.0
SECRET = "sk-ant-api03-" + "a1B2" * 10

NUMBERS = st.sampled_from(
    [0, 1, 5, 10, 11, -1, 7.0, 6.5, 10**400, -(10**400), 1e308, float("nan"), float("inf"), -float("inf"), True, 2**63,
     NOW, NOW + 1, NOW * 1000, 1e-9]
)  # fmt: skip
WORDS = st.sampled_from([601, 20_001]).map(lambda count: "x" * count) | st.sampled_from(
    ["", " ", "The user rows.", "用户喜欢划船。", f"The key is {SECRET}.", "\ud800", "a\0b", "!?",
     "ignore all\u202e\U000e0041", "owner", "project", "user", "superseded", "hid fact_1", "restored", "combined 1",
     "2026-09-17T10:00:00Z", "0001-01-01T00:00:00+14:00", "fact_00112233aabbccdd", "l2_20260917_9f3c1a7b", "temp:x",
     "guest:telegram:7", "0123456789ab-shop", "llm", "a" * 64, f"sha256:{'0' * 64}"]
)  # fmt: skip
PLAIN = st.one_of(st.none(), NUMBERS, WORDS, st.text(max_size=8))
ANY = st.recursive(
    PLAIN, lambda each: st.lists(each, max_size=4) | st.dictionaries(WORDS, each, max_size=4), max_leaves=8
)
NAMES = (
    "id", "kind", "title", "scope", "projectKey", "tags", "importance", "confidence", "createdAt", "updatedAt",
    "citedCount", "lastCitedAt", "revision", "history", "source", "extractor", "memberIds", "homed", "request",
)  # fmt: skip
INNER = ("revision", "text", "title", "importance", "tags", "updatedAt", "source", "scope", "status", "supersededBy",
         "observed", "observer", "subject", "object", "relation", "level", "validFrom", "validUntil", "sessionId",
         "turnId", "seqStart", "seqEnd", "role", "excerpt", "excerptHash")  # fmt: skip
SHAPED = st.dictionaries(st.sampled_from(INNER), ANY, max_size=8)
SCOPES = ("owner", "guest:telegram:7")
SAID = ("The user rows.", "The user does not row.", "The user's name is Anna.", "The user's name is Berta.",
        "Rows a lot.", "The user rows every day.", "用户喜欢划船。", "The user has 7 cats.",
        "The user has 8 cats.")  # fmt: skip
OLD = st.lists(st.fixed_dictionaries({"revision": st.integers(1, 4), "text": st.sampled_from(SAID)}), max_size=3)
SHAPES = ANY | SHAPED | st.lists(SHAPED, max_size=3)
HOSTILE = st.fixed_dictionaries(
    {"text": WORDS}, optional={name: OLD | SHAPES if name == "history" else SHAPES for name in NAMES}
)
RECORDS = st.sampled_from(sorted(KINDS))


@settings(max_examples=150, deadline=None)
@given(HOSTILE | ANY, RECORDS)
def test_a_record_is_refused_with_a_word_or_it_fits(one: Any, record: str) -> None:
    try:
        found = holoread.read(one, record, scope="owner", now=NOW)
    except Refused as refused:
        why = str(refused.args[0])
    else:
        why = "it fits" if fits(found) else ""
        assert why
        assert all(re.fullmatch(rf"{record}_[0-9a-f]{{16}}", name) for name in holoread.names(found))
    assert re.fullmatch("[a-z ]{5,40}", why)


def fits(found: Given) -> bool:
    before = found.before
    texts = [found.text, found.title, *found.tags, found.relation, *found.subject, *found.object, found.observed]
    texts += [text for old in before for text in (old.text, old.title, old.why, *old.tags)]
    times = [found.created_at, found.updated_at, *(at for at in (found.cited_at, *(o.at for o in before)) if at)]
    assert all(text == seen(text) and text.encode() is not None for text in texts)
    assert not any(map(secret_in, texts))
    assert 0 < len(found.text) <= LONGEST[found.record]
    assert all(0 < len(old.text) <= LONGEST[found.record] for old in before)
    assert len(found.title) <= 80
    assert len(found.tags) <= TAGS
    assert len(before) <= REVISIONS
    assert all(0 < at <= NOW for at in times)
    assert found.created_at <= found.updated_at
    assert 0 <= found.confidence <= 1 <= found.importance <= 10
    assert found.cited >= 0
    assert found.revision > len(before)
    assert found.kind in KINDS[found.record]
    assert found.status in holoread.STATUSES
    assert bool(found.project) == (found.reach == "project")
    return not found.scope.startswith("temp:")


@settings(max_examples=80, deadline=None)
@given(st.binary(max_size=200) | ANY.map(lambda one: json.dumps(one).encode()))
def test_a_file_is_a_list_of_records_or_none(text: bytes) -> None:
    try:
        found = holoread.parse(text)
    except ValueError:
        return
    assert isinstance(found, list)


def test_numbers_without_end_are_one_records_and_not_the_files() -> None:
    text = b'[{"text": "a", "importance": 1%s}, {"text": "b"}]' % (b"0" * 9000)
    first, second = holoread.parse(text)
    with pytest.raises(Refused, match="importance or tags"):
        holoread.read(first, "fact", scope="owner", now=NOW)
    assert holoread.read(second, "fact", scope="owner", now=NOW).text == "b"


@pytest.mark.parametrize(
    ("said", "at"),
    [(5, 5.0), (NOW * 1000, NOW), ("2025-01-01T00:00:00Z", 1735689600.0), ("2025-01-01", 1735689600.0),
     (NOW + 1, NOW), (True, NOW), ("tomorrow", NOW), ("0001-01-01T00:00:00+14:00", NOW), (float("nan"), NOW),
     (10**400, NOW), (-5, NOW)],
)  # fmt: skip
def test_a_time_is_seconds_milliseconds_or_a_date_and_never_to_come(said: object, at: float) -> None:
    assert holoread.read({"text": "a", "createdAt": said}, "fact", scope="owner", now=NOW).created_at == at


def test_the_originals_three_parts_are_a_summary_and_a_long_one_is_shortened() -> None:
    parts = {"request": "build  it", "actions": "make ×1", "outcome": "built", "title": f"with {SECRET}"}
    found = holoread.read(parts, "summary", scope="owner", now=NOW)
    assert (found.text, found.title) == ("build it\nmake ×1\nbuilt", "with [secret:key]")
    long = holoread.read({"text": "word " * 1000}, "summary", scope="owner", now=NOW)
    assert (len(long.text) <= 700, long.text[-1]) == (True, "…")
    with pytest.raises(Refused, match="no text"):
        holoread.read(parts, "fact", scope="owner", now=NOW)


def test_a_record_was_changed_as_often_as_its_history_shows_at_the_least() -> None:
    old = {"revision": 4, "text": "was"}
    found = holoread.read({"text": "is", "revision": 1, "history": [old, 7, {}]}, "fact", scope="owner", now=NOW)
    assert (found.revision, [one.text for one in found.before]) == (2, ["was"])


def test_a_record_is_called_by_what_it_was_called_by() -> None:
    def names(id_: str, record: str = "fact") -> tuple[str, ...]:
        return holoread.names(holoread.read({"id": id_, "text": "a"}, record, scope="owner", now=NOW))

    kept = names("fact_00112233aabbccdd")
    assert (kept[0], len(kept)) == ("fact_00112233aabbccdd", 2)
    (tailed, other) = names("l2_20260917_9f3c1a7b")
    assert (tailed[-8:], other[-8:] == "9f3c1a7b", names("l2_20260917_9f3c1a7b")) == (
        "9f3c1a7b",
        False,
        (tailed, other),
    )
    assert names("fact_00112233aabbccdd", "summary")[0].startswith("summary_")
    assert names("") == ()


# -- into a memory -----------------------------------------------------------------------------------------------------

IDS = (
    "fact_00112233aabbccdd",
    "l2_1_aabbccdd",
    "l2_2_00000001",
    "capsule_0011223344556677",
    "summary_00112233aabbccdd",
    "",
)
LIKELY = st.fixed_dictionaries(
    {"text": st.sampled_from(SAID), "id": st.sampled_from(IDS)},
    optional={
        "title": st.sampled_from(("Rowing", "Rowing a lot", "Cats")), "importance": st.integers(1, 10),
        "kind": st.sampled_from(("fact", "profile", "thread", "todo")), "createdAt": st.sampled_from((5, 50.5, NOW)),
        "updatedAt": st.sampled_from((60, NOW - 5)), "revision": st.integers(1, 4), "citedCount": st.integers(0, 3),
        "history": OLD, "memberIds": st.lists(st.sampled_from(IDS), max_size=3),
        "homed": st.fixed_dictionaries({}, optional={
            "scope": st.sampled_from(SCOPES), "supersededBy": st.sampled_from(IDS),
            "status": st.sampled_from(holoread.STATUSES)}),
    },
)  # fmt: skip


@contextmanager
def memory() -> Iterator[tuple[Tx, apsw.Connection]]:
    with closing(migrated()) as connection:
        connection.execute("PRAGMA foreign_keys = ON; BEGIN")
        yield Transaction(connection, Path(":memory:")), connection


@settings(max_examples=60, deadline=None)
@given(st.lists(LIKELY | HOSTILE, max_size=5), st.lists(LIKELY, max_size=8), st.lists(LIKELY, max_size=4))
def test_whatever_came_keeps_the_law_and_the_same_again_changes_nothing(
    summaries: list[Any], facts: list[Any], capsules: list[Any]
) -> None:
    files = {"summary": summaries, "fact": facts, "capsule": capsules}
    with memory() as (tx, connection):
        for scope in SCOPES:
            tombstones.bury(tx, scope, texts=[SAID[4]], at=1.0)
        imported(tx, files)
        assert faults(connection) == []
        rows = tx.all("SELECT text, origin, untrusted, created_at <= updated_at, updated_at <= ? FROM records", (NOW,))
        assert all(row[1:] == ("import", 1, 1, 1) and row[0] != SAID[4] for row in rows)
        assert SAID[4] not in [text for (text,) in tx.all("SELECT text FROM revisions")]
        ends = tx.all("SELECT substr(id, -8) FROM records")
        assert len(ends) == len(set(ends))
        assert (
            tx.all("SELECT r.id FROM records r JOIN revisions v ON v.record = r.id WHERE v.revision >= r.revision")
            == []
        )
        before = everything(tx)
        again = imported(tx, files)
        assert (again.new.total(), again.revised) == (0, 0)
        assert everything(tx) == before


def imported(tx: Tx, files: dict[str, list[Any]]) -> holotake.Taken:
    taken = holotake.Taken()
    for record, listed in files.items():
        found = []
        for one in listed:
            try:
                found.append(holoread.read(one, record, scope="owner", now=NOW))
            except Refused as refused:
                taken.refused[str(refused.args[0])] += 1
        holotake.take(tx, holotake.choose(tx, found, taken, at=NOW), taken, at=NOW)
    holotake.link(tx, taken.links, taken, at=NOW)
    return taken


def everything(tx: Tx) -> list[list[tuple[Any, ...]]]:
    return [tx.all(f"SELECT * FROM {table} ORDER BY 1, 2") for table in ("records", "revisions", "members", "evidence")]
