"""How the daemon is doing, in one answer."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from homed.api.overview import Overview
from homed.providers.base import Source
from homed.store.db import open_store
from homed.wire.version import CORE
from tests.homed.api.fake_models import FakeSources
from tests.homed.api.fakes import FakeHost


class Counts:
    @property
    def counts(self) -> Mapping[str, int]:
        return {"busy": 1, "queued": 2, "suspended": 3}


async def test_status_tells_of_every_room_and_what_to_do_without_a_model(tmp_path: Path) -> None:
    async with open_store(tmp_path / "homed.db") as store:
        sources = FakeSources()
        overview = Overview(
            data=tmp_path, safe=False, started_at=5.0, host=FakeHost(), sources=sources, conversations=Counts(),
            store=store,
        )  # fmt: skip
        status = await overview.status()
        assert status["model"] == {
            "configured": False, "source": "", "model": "",
            "hint": "Add a source on the Models page, or: homed models add NAME --base-url URL --model M",
            "kind": "", "state": "", "note": "",
        }  # fmt: skip
        await sources.add(Source("a", "http://x", "m"), None)
        await sources.use("a")
        status = await overview.status()
    assert status["model"] == {
        "configured": True, "source": "a", "model": "m", "hint": "", "kind": "remote", "state": "", "note": "",
    }  # fmt: skip
    assert (status["version"], status["pid"], status["data_dir"]) == (CORE, os.getpid(), str(tmp_path))
    assert (status["started_at"], status["safe"]) == (5.0, False)
    assert status["threads"] == {"busy": 1, "queued": 2, "suspended": 3}
    assert status["counts"] == {"events": 0, "threads": 0, "inputs": 0}
    assert [plugin["name"] for plugin in status["plugins"]] == ["shell"]  # type: ignore[attr-defined]
