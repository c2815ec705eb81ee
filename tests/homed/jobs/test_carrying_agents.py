"""Export and import leave the memory of agents that agents made where it is."""

from __future__ import annotations

import json
from pathlib import Path

from tests.homed.jobs.test_carrying import content, edit, filled, into, out
from tests.kit.forgetting import world


async def test_what_an_agent_remembers_goes_neither_out_nor_in(tmp_path: Path) -> None:
    """It goes with the agent: without one, nobody could see it, and nothing would ever remove it."""
    async with filled(tmp_path / "one") as here:
        one, _ = await here.say("The code is Mirabelle-7.", scope="temp:ag_1")
        await here.learn("The code is Mirabelle-7.", one)
        await out(here, tmp_path / "lines")
        await out(here, tmp_path / "asked", scopes=["owner", "temp:ag_1"])
        await out(here, tmp_path / "holo", format="holo")
        for folder in ("lines", "asked", "holo"):
            texts = "".join(path.read_text("utf-8") for path in (tmp_path / folder).glob("*.json*"))
            assert "cat called Mirabelle" in texts
            assert "Mirabelle-7" not in texts
    for name in ("threads", "events", "records"):  # of an earlier release
        lines = (tmp_path / "lines" / f"{name}.jsonl").read_text("utf-8").splitlines()
        at = next(n for n, line in enumerate(lines) if json.loads(line)["scope"] == "owner")
        edit(tmp_path / "lines", f"{name}.jsonl", at, scope="temp:ag_1")
    async with world(tmp_path / "two") as there:
        done = await into(there, tmp_path / "lines")
        assert done.refused["of an agent that is not here"] == 3
        rows = await content(there)
        assert not any("temp:ag_1" in map(str, row) for table in rows.values() for row in table)
