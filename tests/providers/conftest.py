"""The stage that all scenarios of a session are played on."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.providers.stage import Stage, open_stage


@pytest.fixture(scope="session")
def stage() -> Iterator[Stage]:
    with open_stage() as opened:
        yield opened
