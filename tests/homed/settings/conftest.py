"""Settings over a real store and a real secrets file."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import pytest

from homed.config.environment import Override
from homed.config.secrets import Secrets
from homed.settings.registry import Settings, open_settings
from homed.store.db import open_store

Opener = Callable[..., AbstractAsyncContextManager[Settings]]


@pytest.fixture
def opened(tmp_path: Path) -> Opener:
    """``async with opened(*overrides) as settings``: each time the same folder, as after a restart."""

    @asynccontextmanager
    async def open_(*overrides: Override) -> AsyncIterator[Settings]:
        given = {override.key: override for override in overrides}
        secrets = Secrets(tmp_path / "secrets.json")
        async with open_store(tmp_path / "homed.db") as store, open_settings(store, given, secrets) as settings:
            yield settings

    return open_
