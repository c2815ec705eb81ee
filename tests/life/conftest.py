"""The life is lived once, and looked at by many tests; what asks it something asks a copy."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import trio

from tests.life.lived import Life


@pytest.fixture(scope="session")
def life(tmp_path_factory: pytest.TempPathFactory) -> Life:
    """Two hundred turns, over."""
    made = Life(tmp_path_factory.mktemp("life"))
    trio.run(made.live)
    return made


@pytest.fixture
def copy(life: Life, tmp_path: Path) -> Callable[[], Path]:
    """A data folder with all of it, to do with as one likes."""

    def copied() -> Path:
        return Path(shutil.copytree(life.folder, tmp_path / "copy"))

    return copied
