"""Migrations run in order, once, each whole or not at all."""

from __future__ import annotations

from pathlib import Path

import apsw
import pytest

from homed.errors import StorageError
from homed.memory import scope_window
from homed.retrieval import index
from homed.retrieval.without import words_only
from homed.store import migrations
from homed.store.connection import Transaction
from tests.kit.memory_check import faults

STEPS = ["CREATE TABLE a (x) STRICT".replace("(x)", "(x INTEGER)"), "ALTER TABLE a ADD COLUMN y TEXT"]


@pytest.fixture
def connection(tmp_path: Path) -> apsw.Connection:
    return apsw.Connection(str(tmp_path / "homed.db"))


def columns(connection: apsw.Connection, table: str) -> list[str]:
    return [row[0] for row in connection.execute("SELECT name FROM pragma_table_info(?)", (table,))]


def test_a_fresh_file_gets_every_step_and_the_last_number(connection: apsw.Connection) -> None:
    assert migrations.migrate(connection, Path("x"), STEPS) == 2
    assert (columns(connection, "a"), connection.pragma("user_version")) == (["x", "y"], 2)


def test_an_older_file_gets_only_what_it_lacks_and_keeps_its_rows(connection: apsw.Connection) -> None:
    migrations.migrate(connection, Path("x"), STEPS[:1])
    connection.execute("INSERT INTO a (x) VALUES (7)")
    migrations.migrate(connection, Path("x"), STEPS)
    assert connection.execute("SELECT x, y FROM a").get == (7, None)


def test_a_second_start_changes_nothing(connection: apsw.Connection) -> None:
    migrations.migrate(connection, Path("x"), STEPS)
    before = connection.total_changes()
    migrations.migrate(connection, Path("x"), STEPS)
    assert connection.total_changes() == before


def test_a_step_that_fails_half_way_leaves_nothing_of_itself(connection: apsw.Connection) -> None:
    broken = [*STEPS, "CREATE TABLE b (x INTEGER); INSERT INTO nowhere VALUES (1)"]
    with pytest.raises(apsw.SQLError, match="nowhere"):
        migrations.migrate(connection, Path("x"), broken)
    assert (columns(connection, "b"), connection.pragma("user_version")) == ([], 2)
    assert not connection.in_transaction


def test_a_file_of_a_later_release_is_refused(connection: apsw.Connection) -> None:
    migrations.migrate(connection, Path("x"), STEPS)
    with pytest.raises(StorageError, match="newer version"):
        migrations.migrate(connection, Path("x"), STEPS[:1])


def test_the_released_schema_has_every_table_of_the_rooms(connection: apsw.Connection) -> None:
    migrations.migrate(connection, Path("x"))
    tables = {row[0] for row in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
    inside = {f"{index}_{part}" for index in ("word_index", "record_index") for part in ("config", "data", "idx")}
    assert tables - {"sqlite_sequence"} - inside == {
        "threads", "inputs", "turns", "events", "blocks", "settings", "seeds", "peers", "rules", "grants",
        "plugin_states", "crash_reports", "logins", "accesses", "ledger", "word_index", "word_terms", "word_marks",
        "word_counts", "word_drops", "uploads", "loose_files", "api_keys", "plugin_tools", "plugin_schedules",
        "plugin_packages", "entities", "entity_names", "records", "revisions", "evidence", "members", "tombstones",
        "merges", "record_index", "record_terms", "record_counts", "record_todo", "vector_spaces", "vectors",
        "vector_drops", "vector_todo", "jobs", "job_runs", "job_units", "merged", "memory_key",
        "forgets", "job_calls", "spend_calls", "spend_days", "spend_allowed", "llm_snapshots",
        "tracker_sets", "tracker_files", "tracker_blobs", "input_chains", "children", "child_tasks",
        "passes", "gates", "injections", "injected", "citations", "threshold_changes", "bounds", "injected_gone",
        "forget_todo", "forget_took",
    }  # fmt: skip


def test_a_database_of_the_first_release_keeps_all_it_holds_and_can_be_searched(connection: apsw.Connection) -> None:
    migrations.migrate(connection, Path("x"), migrations.scripts()[:1])
    connection.execute("PRAGMA foreign_keys = ON")
    for statement in OLD:
        connection.execute(statement)
    names = [
        (table, ", ".join(columns(connection, table)) if columns_ == "*" else columns_) for table, columns_ in KEPT
    ]  # what later schemas add is nothing of then
    before = [connection.execute(f"SELECT {columns_} FROM {table} ORDER BY 1").fetchall() for table, columns_ in names]
    assert migrations.migrate(connection, Path("x")) == migrations.latest()
    after = [connection.execute(f"SELECT {columns_} FROM {table} ORDER BY 1").fetchall() for table, columns_ in names]
    assert after == before
    assert connection.execute("PRAGMA foreign_key_check").get is None
    assert connection.execute("PRAGMA integrity_check").get == "ok"
    connection.execute("BEGIN")
    tx = Transaction(connection, Path("x"))
    assert index.waiting(tx) == 3
    while index.backfill(tx):
        pass
    assert [h.id for h in words_only().search(tx, scope="owner", layer="context", query="heron", limit=9)] == [
        "e1",
        "e2",
    ]
    assert [event.tokens > 0 for event in scope_window.window_events(tx, "owner")] == [True, True]
    assert faults(connection) == []


def test_an_answer_of_the_first_release_is_what_went_out_and_what_waited_for_its_check_is_a_draft(
    connection: apsw.Connection,
) -> None:
    migrations.migrate(connection, Path("x"), migrations.scripts()[:1])
    for statement in OLD:
        connection.execute(statement)
    add = (
        "INSERT INTO events (id, scope, thread, turn, channel, kind, text, data, created_at)"
        " VALUES (?, 'owner', 't', ?, 'cli', ?, ?, ?, 3)"
    )
    connection.execute(add, ("a", "u", "assistant", "the code is 1234", '{"final":true,"step":1}'))
    connection.execute(add, ("s", "u", "note", "the code is [removed]", '{"code":"sent"}'))
    connection.execute(
        "INSERT INTO inputs (id, thread, scope, channel, peer, role, text, state, turn, accepted_at)"
        " VALUES ('j', 't', 'owner', 'cli', 'cli:owner', 'owner', 'heron', 'running', 'v', 1)"
    )
    connection.execute("INSERT INTO turns VALUES ('v', 't', 'j', 1, NULL, 'running', '{}')")
    connection.execute(add, ("w", "v", "assistant", "waits", '{"final":true}'))
    migrations.migrate(connection, Path("x"))
    sql = "SELECT kind, text, data ->> 'code', no_memory, layer FROM events WHERE id = ?"
    assert connection.execute(sql, ("a",)).get == ("assistant", "the code is [removed]", None, 0, "context")
    assert connection.execute(sql, ("s",)).get == ("note", "the code is 1234", "draft", 1, "archived")
    assert connection.execute(sql, ("w",)).get == ("note", "waits", "draft", 1, "context")
    assert connection.execute(sql, ("e2",)).get == ("assistant", "in the reeds", None, 0, "context")


OLD = (
    "INSERT INTO threads VALUES ('t', 'owner', 'cli', 'birds', 1, 2)",
    "INSERT INTO inputs (id, thread, scope, channel, peer, role, text, state, turn, accepted_at, ended_at, outcome)"
    " VALUES ('i', 't', 'owner', 'cli', 'cli:owner', 'owner', 'heron', 'answered', 'u', 1, 2,"
    ' \'{"state":"answered"}\')',
    "INSERT INTO turns VALUES ('u', 't', 'i', 1, 2, 'answered', '{}')",
    "INSERT INTO events (id, scope, thread, turn, channel, kind, text, created_at)"
    " VALUES ('e1', 'owner', 't', 'u', 'cli', 'user', 'where is the heron', 1)",
    "INSERT INTO events (id, scope, thread, turn, channel, kind, text, created_at)"
    " VALUES ('e2', 'owner', 't', 'u', 'cli', 'assistant', 'in the reeds', 2)",
    "INSERT INTO events (id, scope, thread, turn, channel, kind, text, created_at, layer, no_memory)"
    " VALUES ('e3', 'owner', 't', 'u', 'cli', 'user', 'a secret heron', 3, 'archived', 1)",
    "INSERT INTO blocks (id, hash, media_type, bytes, event, created_at) VALUES ('b', 'h', 'image/png', 1, 'e1', 1)",
)
KEPT = (
    ("threads", "*"),
    ("inputs", "*"),
    ("turns", "*"),
    ("events", "seq, id, scope, thread, turn, channel, peer, kind, text, data, created_at, layer, no_memory"),
    ("blocks", "id, hash, media_type, bytes, event, holder_layer, created_at"),
)


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE inputs SET state = 'answered'",
        "UPDATE inputs SET outcome = '{}'",
        "UPDATE inputs SET state = 'nonsense'",
        "UPDATE inputs SET thread = 'nowhere'",
        "INSERT INTO inputs (id, thread, scope, channel, peer, role, text, client_msg_id, accepted_at)"
        " VALUES ('i2', 't', 'o', 'c', 'p', 'owner', '', 'm', 0)",
    ],
)
def test_the_table_itself_refuses_an_input_that_cannot_be(connection: apsw.Connection, change: str) -> None:
    migrations.migrate(connection, Path("x"))
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute("INSERT INTO threads VALUES ('t', 'o', 'c', '', 0, 0)")
    connection.execute(
        "INSERT INTO inputs (id, thread, scope, channel, peer, role, text, client_msg_id, accepted_at)"
        " VALUES ('i1', 't', 'o', 'c', 'p', 'owner', '', 'm', 0)"
    )
    with pytest.raises(apsw.ConstraintError):
        connection.execute(change)
