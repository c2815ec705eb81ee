"""What only a running daemon knows of itself."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, cast

import pytest

from homed.config.secrets import Secrets
from homed.jobs.checks import State
from homed.jobs.selflook import SelfLook
from homed.paths import Paths
from homed.redact import Redactor
from homed.settings.registry import open_settings
from homed.store.db import open_store
from tests.homed.api.fake_models import FakeSources
from tests.homed.api.fakes import FakeHost, FakeMemoryDoctor


@pytest.mark.parametrize(("socket", "state"), [(True, State.OK), (False, State.WARN)])
async def test_a_daemon_names_itself_and_its_socket(tmp_path: Path, socket: bool, state: State) -> None:
    paths, secrets, host = Paths(tmp_path / "data"), Secrets(tmp_path / "secrets.json"), FakeHost()
    paths.create()
    host.addresses = {"cli": ("socket", "/run/cli.sock")} if socket else {}
    async with open_store(paths.db) as store, open_settings(store, {}, secrets) as settings:
        look = SelfLook(
            paths=paths, store=store, settings=settings, sources=cast(Any, FakeSources()), host=host,
            redactor=Redactor([]), memory=cast(Any, FakeMemoryDoctor()),
        )  # fmt: skip
        found = {check.name: check for check in await look.examine()}
    assert found["daemon"].what == f"pid {os.getpid()}"
    assert found["socket"].state is state
    assert found["database"].state is State.OK
