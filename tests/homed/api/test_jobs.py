"""``admin.jobs_*``."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from homed.errors import Denied, NotFound
from tests.homed.api.fakes import FakeCaller, House, open_house

OWNER = {"id": "webui:owner"}


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[House]:
    async with open_house(tmp_path) as made:
        yield made


async def ask(house: House, method: str, peer: Any = OWNER, **params: object) -> Any:
    return await house.api.dispatch(FakeCaller(), method, {"peer": peer, **params})


async def test_the_list_has_the_last_run_and_what_is_left_alone(house: House) -> None:
    found = await ask(house, "admin.jobs_list")
    distil, see = found["jobs"]
    assert distil["last"] == {
        "run": 7, "started_at": 10.0, "ended_at": 12.5, "state": "done", "seen": 5, "made": 2, "drops": {"quote": 3},
        "errors": 1, "error": "turn_1: timed_out",
    }  # fmt: skip
    assert (see["due_at"], see["paused"], see["running"], see["last"]) == (None, True, True, None)
    assert found["held"] == [{"job": "distil", "unit": "turn_1", "failures": 3, "error": "timed_out", "at": 11.0}]
    assert (await ask(house, "admin.jobs_runs", job="distil"))["runs"] == [distil["last"]]


async def test_what_is_asked_for_reaches_the_job_and_an_unknown_one_is_not_found(house: House) -> None:
    for action in ("run", "pause", "resume"):
        assert await ask(house, f"admin.jobs_{action}", job="distil") == {}
        with pytest.raises(NotFound):
            await ask(house, f"admin.jobs_{action}", job="nap")
    assert await ask(house, "admin.jobs_release", job="distil", unit="turn_1") == {}


async def test_only_owners(house: House) -> None:
    await house.directory.identify("webui", "webui:bob")
    with pytest.raises(Denied, match="owners"):
        await ask(house, "admin.jobs_list", peer={"id": "webui:bob"})
