"""The store on a local disk and on one that is not."""

from __future__ import annotations

import pytest

from homed.store.filesystem import FileSystem

LOCAL, REMOTE = FileSystem("ext4", True), FileSystem("nfs4", False)


@pytest.fixture(params=[LOCAL, REMOTE], ids=["wal", "rollback"])
def either_journal(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> FileSystem:
    """Run the test twice: with a write-ahead log, and with a rollback journal as on a network disk (C11)."""
    disk: FileSystem = request.param
    monkeypatch.setattr("homed.store.db.file_system", lambda _: disk)
    return disk
