"""What the waiter tests share."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.waiter.fake_homed import FakeHomed

Run = Callable[..., "subprocess.CompletedProcess[bytes]"]


@pytest.fixture
def homed(tmp_path: Path) -> Iterator[FakeHomed]:
    """A fake daemon that answers "hello"."""
    with FakeHomed(tmp_path / "cli.sock") as fake:
        yield fake


@pytest.fixture
def waiter(tmp_path: Path) -> Run:
    """Run ``python -m waiter WORDS`` against the fake daemon; stdin is closed unless given."""

    def run(*words: str, stdin: bytes | None = None, env: dict[str, str] | None = None, socket: bool = True) -> object:
        where = ["--socket", str(tmp_path / "cli.sock")] if socket else []
        return subprocess.run(
            [sys.executable, "-m", "waiter", *words, *where],
            input=stdin or b"",
            capture_output=True,
            timeout=60,
            env={**os.environ, "HOME": str(tmp_path), **(env or {})},
            check=False,
        )

    return run  # type: ignore[return-value]
