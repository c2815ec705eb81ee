"""A plugin over one folder, and a secret outside it that no test may reach."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from homed.sdk.testing import Result, harness
from plugins.files.plugin import plugin

SECRET = "the secret outside"
Use = Callable[..., Awaitable[Result]]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The allowed folder; beside it lies a file with ``SECRET``."""
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/secret.txt").write_text(SECRET)
    folder = tmp_path / "root"
    folder.mkdir()
    return folder


@pytest.fixture
def use(root: Path) -> Use:
    """Call a tool once."""

    async def call(tool: str, /, **args: object) -> Result:
        async with harness(plugin, settings={"roots": [str(root)]}) as kernel:
            return await kernel.invoke(tool, **args)

    return call
