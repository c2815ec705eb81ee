"""Migrations run in order, once, each whole or not at all."""

from __future__ import annotations

from pathlib import Path

import apsw
import pytest

from homed.errors import StorageError
from homed.store import migrations

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
    assert tables - {"sqlite_sequence"} == {
        "threads", "inputs", "turns", "events", "blocks", "settings", "seeds", "peers", "rules", "grants",
        "plugin_states", "crash_reports", "logins",
    }  # fmt: skip


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
