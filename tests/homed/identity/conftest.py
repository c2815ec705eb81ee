"""A real store for the tables of identity."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from homed.store.db import Store, open_store
from tests.homed.identity.clocks import Wall


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    async with open_store(tmp_path / "homed.db") as opened:
        yield opened


@pytest.fixture
def wall() -> Wall:
    return Wall()
