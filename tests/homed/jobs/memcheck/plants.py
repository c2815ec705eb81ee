"""Damage, kind by kind: what is done to a memory, which check must find it, and whether a repair mends it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from homed.retrieval.vectors import indexed
from homed.retrieval.vectors.indexed import About
from homed.retrieval.vectors.rows import Part
from tests.homed.jobs.memcheck.ailing import KEY, PICTURE, harm

Ids = Mapping[str, str]
Statement = str | tuple[str, tuple[object, ...]]
LONG_AGO = -1e6
"""UTC seconds: more than a day before ``ailing.NOW``."""

COPY = (
    "INSERT INTO records (id, scope, record, kind, title, text, key, reach, project, subject, relation, object, tags,"
    " importance, confidence, status, origin, extractor, revision, created_at, updated_at)"
    " SELECT {id}, scope, record, kind, title, {text}, key, reach, project, subject, relation, {object}, tags,"
    " importance, confidence, 'active', origin, extractor, 1, created_at, updated_at FROM records WHERE id = ?"
)
EVIDENCE = "INSERT INTO evidence (record, event, at) SELECT ?, event, 60.0 FROM evidence WHERE record = ? LIMIT 1"
VECTOR = (
    "INSERT INTO vectors (space, scope, kind, item, part, data)"
    " SELECT space, scope, kind, {item}, {part}, data FROM vectors WHERE kind = 'record' LIMIT 1"
)


@dataclass(frozen=True)
class Plant:
    """``check`` must find what ``harm`` (SQL, or a function of the folder) does; ``left``: no repair mends it."""

    check: str
    harm: Callable[[Ids], Sequence[Statement]] = lambda _: ()
    files: Callable[[Path, Ids], None] | None = None
    status: str = "fail"
    left: bool = False
    name: str = ""
    alone: bool = False
    """Not to be done together with all the others."""
    then: str = ""
    """The check that has something to say once it is mended."""

    def do(self, folder: Path, ids: Ids) -> None:
        """Do the harm."""
        harm(folder, *self.harm(ids))
        if self.files is not None:
            self.files(folder, ids)

    def __str__(self) -> str:
        return self.name or self.check


def sql(*statements: Statement) -> Callable[[Ids], Sequence[Statement]]:
    """The same whatever the ids are."""
    return lambda _: statements


def of(name: str, statement: str) -> Callable[[Ids], Sequence[Statement]]:
    """With one id as its parameter."""
    return lambda ids: [(statement, (ids[name],))]


def _twin(ids: Ids) -> Sequence[Statement]:
    copy = COPY.format(id="'fact_00000000000000a1'", text="text", object="object")
    return [(copy, (ids["dog"],)), (EVIDENCE, ("fact_00000000000000a1", ids["dog"]))]


def _rival(ids: Ids) -> Sequence[Statement]:
    copy = COPY.format(id="'fact_00000000000000a2'", text="'The user lives in Goslar.'", object="'Goslar'")
    return [
        (copy, (ids["moved"],)), (EVIDENCE, ("fact_00000000000000a2", ids["moved"])),
        "UPDATE records SET key = 'x' WHERE id = 'fact_00000000000000a2'",
    ]  # fmt: skip


def _loop(ids: Ids) -> Sequence[Statement]:
    return [
        ("UPDATE records SET superseded_by = ?, status = 'superseded' WHERE id = ?", (ids["lives"], ids["moved"])),
    ]


def _log(folder: Path, _: Ids) -> None:
    (folder / "homed.log.1").write_text(f"a line\nthe key was {KEY} then\n", "utf-8")
    (folder / "textlog").mkdir()
    (folder / "textlog" / "2026-01-01.jsonl").write_text(json.dumps({"text": f"use {KEY}, please"}) + "\n", "utf-8")


def _index(folder: Path, _: Ids) -> None:
    key = indexed.whose("fake", Part(1, 64, "owner", "record"))
    place = folder / "vectors" / f"{key}-1"
    place.mkdir(parents=True)
    (place / "vectors").write_bytes(bytes(64 * 4 * 2))
    (place / "ids").write_bytes(bytes(16))  # cut off: there should be two
    indexed.complete(place, About(key, 64, 2, 2, 0, sums={"vectors": "x", "ids": "y"}))


def _foreign_index(folder: Path, _: Ids) -> None:
    (folder / "vectors" / "0123456789abcdef0123456789abcdef-1").mkdir(parents=True)


def _stray(folder: Path, _: Ids) -> None:
    (folder / "media" / "ab").mkdir()
    (folder / "media" / "ab" / ("ab" * 32)).touch()


def _changed(folder: Path, _: Ids) -> None:
    _picture(folder).write_bytes(b"another")


def _picture(folder: Path) -> Path:
    return next(path for path in (folder / "media").glob("??/*") if path.read_bytes() == PICTURE)


PLANTS: tuple[Plant, ...] = (
    # what holds all of it
    Plant("json", sql("UPDATE records SET tags = '{' WHERE seq = 1")),
    Plant("json", sql("UPDATE events SET data = '[1]' WHERE seq = 1"), left=True, name="json of a message"),
    Plant("record_texts", of("lives", "UPDATE records SET text = CAST(x'4869ff' AS TEXT) WHERE id = ?")),
    Plant("record_texts", of("lives", "UPDATE records SET title = 'a' || char(0) WHERE id = ?"), name="NUL in a title"),
    Plant("event_texts", sql("UPDATE events SET text = CAST(x'49ff' || text AS TEXT) WHERE seq = 2"), alone=True),
    Plant("quote_texts", of("dog", "UPDATE evidence SET excerpt = CAST(x'ff' AS TEXT) WHERE record = ?")),
    Plant("history_texts", sql("UPDATE revisions SET title = CAST(x'ff' AS TEXT)")),
    Plant("entity_texts", sql("UPDATE entities SET name = CAST(x'41ff42' AS TEXT) WHERE seq = 2"), alone=True),
    Plant("title_texts", sql("UPDATE threads SET title = CAST(x'41ff42' AS TEXT)"), alone=True),
    Plant("input_texts", sql("UPDATE inputs SET text = CAST(x'41ff42' AS TEXT) WHERE seq = 3")),
    Plant("references", sql("UPDATE blocks SET event = 'ev_none'"), left=True, alone=True),
    # holders and layers
    Plant("holders", sql("UPDATE blocks SET holder_layer = 'cold'")),
    Plant(
        "two_holders",
        sql("INSERT INTO uploads (id, peer, name, media_type, bytes, hash, created_at)"
            " SELECT id, 'cli:owner', name, media_type, bytes, hash, 1.0 FROM blocks"),
    ),
    Plant("blocks_gone", sql("UPDATE blocks SET event = 'ev_none'"), left=True, alone=True),
    Plant("layers", sql("UPDATE events SET layer = 'cold', no_memory = 1 WHERE seq = 4"), name="a private cold message",
          alone=True),
    Plant("layers", sql("UPDATE events SET source = 'cold_storage', layer = 'cold' WHERE seq = 6")),
    Plant(
        "units",
        lambda ids: [
            ("UPDATE events SET data = '{\"calls\":[{\"id\":\"c\",\"name\":\"run\",\"arguments\":{}}]}', layer = 'cold'"
             " WHERE turn = ? AND kind = 'assistant'", (ids["turn"],)),
            ("INSERT INTO events (id, scope, thread, turn, channel, kind, text, data, created_at, no_memory) SELECT"
             " 'ev_tool', scope, thread, turn, channel, 'tool', 'r', '{\"call_id\":\"c\",\"name\":\"run\"}', 1.0, 0"
             " FROM events WHERE turn = ? LIMIT 1", (ids["turn"],)),
        ],
        alone=True, then="words_waiting",
    ),
    Plant("files_missing", files=lambda folder, _: _picture(folder).unlink(), left=True, alone=True),
    Plant("files_changed", files=_changed, left=True),
    Plant(
        "files_left", status="warn", left=True,
        files=_stray,
    ),
    # secrets
    Plant("secrets_records", of("lives", f"UPDATE records SET text = 'It is {KEY}.' WHERE id = ?")),
    Plant("secrets_records", of("lives", "UPDATE records SET tags = '[\"password: hunter22\"]' WHERE id = ?"),
          name="a secret in a tag"),
    Plant("secrets_history", sql(f"UPDATE revisions SET text = 'It was {KEY}.'")),
    Plant("secrets_messages", of("event", f"UPDATE events SET text = text || ' {KEY}' WHERE id = ?"), alone=True),
    Plant("secrets_messages", of("event", f"UPDATE events SET data = '{{\"note\":\"{KEY}\"}}' WHERE id = ?"),
          name="a secret in a call", alone=True),
    Plant("secrets_quotes", of("dog", f"UPDATE evidence SET excerpt = '{KEY}' WHERE record = ?")),
    Plant("secrets_names", sql(f"UPDATE entities SET name = '{KEY}' WHERE name <> 'user' AND seq > 1"), alone=True),
    Plant("secrets_aliases", sql(f"UPDATE entity_names SET name = '{KEY}' WHERE substr(key, 1, 1) <> '@'")),
    Plant("secrets_inputs", sql(f"UPDATE inputs SET text = 'use {KEY}' WHERE seq = 1")),
    Plant("secrets_inputs", sql(f"UPDATE inputs SET outcome = json_set(outcome, '$.text', '{KEY}') WHERE seq = 1"),
          name="a secret in an outcome"),
    Plant("secrets_titles", sql(f"UPDATE threads SET title = '{KEY}'")),
    Plant("secrets_merges", sql(f"INSERT INTO merged (scope, kept, gone, data, at) SELECT 'owner', id, 'ent_x',"
                                f" '{{\"name\":\"{KEY}\"}}', 1.0 FROM entities LIMIT 1")),
    Plant("secrets_reports", sql(f"INSERT INTO crash_reports (id, plugin, at, stderr) VALUES ('c', 'p', 1, '{KEY}')")),
    Plant("secrets_files", files=_log),
    # evidence
    Plant("evidence_gone", of("dog", "UPDATE evidence SET event = 'ev_none' WHERE record = ?")),
    Plant("evidence_private", sql("UPDATE events SET no_memory = 1 WHERE seq = 7"), alone=True),
    Plant("evidence_scope", of("dog", "UPDATE records SET scope = 'guest:cli:owner' WHERE id = ?"), alone=True),
    Plant("evidence_span", of("moved", "UPDATE evidence SET last = 5000 WHERE record = ?")),
    Plant("evidence_span", of("moved", "UPDATE evidence SET first = NULL WHERE record = ?"), name="half a span"),
    Plant("evidence_hash", of("moved", "UPDATE evidence SET hash = 'ab' WHERE record = ?")),
    Plant("evidence_hash", of("moved", "UPDATE evidence SET excerpt = 'moved to Goslar' WHERE record = ?"),
          name="a changed excerpt"),
    Plant("evidence_text", of("moved", "UPDATE evidence SET first = first - 2, last = last - 2 WHERE record = ?")),
    Plant("without_evidence", of("dog", "DELETE FROM evidence WHERE record = ?"), alone=True),
    # the law
    Plant("record_keys", of("lives", "UPDATE records SET key = 'other' WHERE id = ?")),
    Plant("duplicates", _twin),
    Plant("two_values", _rival, left=True),
    Plant("superseded_loop", _loop, alone=True),
    Plant("superseded_gone", of("lives", "UPDATE records SET superseded_by = 'fact_none' WHERE id = ?")),
    Plant("superseded_gone", of("lives", "UPDATE records SET status = 'active' WHERE id = ?"), alone=True,
          name="what holds and was superseded", then="two_values"),
    Plant("superseded_hidden", of("moved", "UPDATE records SET status = 'hidden' WHERE id = ?"), status="warn",
          left=True, alone=True),
    Plant("revision_numbers", of("server", "UPDATE records SET revision = 1 WHERE id = ?")),
    Plant("revision_gaps", of("server", "UPDATE records SET revision = 5 WHERE id = ?"), status="warn", left=True,
          alone=True),
    Plant("revision_orphans", sql("UPDATE revisions SET record = 'fact_none'"), alone=True),
    Plant("citations", of("server", "UPDATE records SET cited = 7 WHERE id = ?")),
    Plant("citations", of("server", "UPDATE records SET cited = 0 WHERE id = ?"), name="citations not counted",
          alone=True),
    Plant("future", of("lives", "UPDATE records SET updated_at = 1e9 WHERE id = ?")),
    # the graph
    Plant("entity_names", sql("DELETE FROM entity_names WHERE substr(key, 1, 1) <> '@'"), alone=True),
    Plant("names_of_nothing", sql("INSERT INTO entity_names VALUES ('owner', 'zoya', 'Zoya', 'ent_none')")),
    Plant("fact_links", of("moved", "UPDATE records SET object_entity = 'ent_none' WHERE id = ?")),
    Plant("members", sql("INSERT INTO members SELECT capsule, 'fact_none' FROM members LIMIT 1")),
    Plant("members", of("dog", "INSERT INTO members SELECT ?1, record FROM members LIMIT 1"), name="a fact's members"),
    Plant("scopes", sql("INSERT INTO threads VALUES ('t', 'guest:qq:1', 'qq', '', 1, 1)"), status="warn", left=True),
    # what turns were told
    Plant("injections", of("turn", "UPDATE injections SET turn = 'turn_none' WHERE turn = ?"), alone=True),
    Plant("injected_ids", sql("UPDATE injected SET id = 'fact_none' WHERE place = 0")),
    Plant("citation_links", sql("INSERT INTO citations VALUES ('fact_none', 'turn_none', 1.0)")),
    Plant("ledger_turns", sql("UPDATE ledger SET turn = 'turn_none'")),
    Plant("accesses", sql("UPDATE accesses SET turn = 'turn_none'")),
    # work
    Plant("runs", sql("INSERT INTO job_runs (job, started_at, state) VALUES ('pass', 90.0, 'running')")),
    Plant("jobs_failing", sql("UPDATE jobs SET failures = 4"), status="warn", left=True, alone=True),
    Plant("held_units", sql("UPDATE job_units SET held = 1"), status="warn"),
    Plant("passes_gone", sql("INSERT INTO passes (turn, thread, at) VALUES ('turn_none', 't', 199.0)")),
    Plant("passes_old", sql(f"UPDATE passes SET at = {LONG_AGO}"), status="warn", left=True),
    Plant("forgets", sql("INSERT INTO forgets (id, kind, target, at) VALUES ('f', 'event', 'e', -1e6)"), left=True),
    # vectors
    Plant("vector_orphans", sql(VECTOR.format(item="999", part="0"))),
    Plant("vector_scopes", sql("UPDATE vectors SET scope = 'guest:x' WHERE kind = 'event' AND item = 1")),
    Plant("vector_shapes", sql("UPDATE vectors SET data = x'00' WHERE kind = 'event' AND item = 2")),
    Plant("vector_shapes", sql("UPDATE vectors SET data = zeroblob(256) WHERE kind = 'event' AND item = 2"),
          name="no unit vector"),
    Plant(
        "vector_spaces",
        sql("INSERT INTO vector_spaces (fingerprint, dims, at) VALUES ('other', 64, 1.0)",
            "UPDATE vectors SET space = (SELECT max(id) FROM vector_spaces) WHERE kind = 'entity'"),
        status="warn", alone=True, name="vectors of a wrong fingerprint",
    ),
    Plant("event_vectors", sql("DELETE FROM vectors WHERE kind = 'event' AND item = 3")),
    Plant("record_vectors", of("lives", "DELETE FROM vectors WHERE kind = 'record' AND item = (SELECT seq FROM records"
                                        " WHERE id = ?)")),
    Plant("entity_vectors", sql("DELETE FROM vectors WHERE kind = 'entity'")),
    Plant("vectors_waiting", sql("INSERT INTO vector_todo VALUES ('event', 5, 5)"), status="warn"),
    Plant("vector_texts", of("dog", "UPDATE records SET text = 'Something else altogether is said.' WHERE id = ?"),
          alone=True),
    Plant("vector_index", files=_index),
    Plant("vector_index", files=_foreign_index, name="another's index"),
    # words
    Plant("event_counts", sql("UPDATE word_counts SET documents = documents + 1")),
    Plant("record_counts", sql("UPDATE record_counts SET documents = 1")),
    Plant("event_words", sql("UPDATE events SET text = 'a blackbird sings' WHERE seq = 8")),
    Plant("record_words", of("dog", "UPDATE records SET title = 'Nightingale' WHERE id = ?")),
    Plant("words_waiting", sql("UPDATE word_marks SET backlog = 2"), status="warn", left=True, alone=True),
    Plant("recall", of("dog", "UPDATE records SET text = 'Nachtigall, Wiedehopf.' WHERE id = ?"), alone=True),
    # thresholds
    Plant("thresholds", sql("INSERT INTO settings VALUES ('core.memory.inject_min_score', '7', 1)"), left=True),
    Plant("threshold_reasons", sql("INSERT INTO settings VALUES ('core.memory.embedding_baseline', '0.5', 1)"),
          status="warn", left=True),
)  # fmt: skip
