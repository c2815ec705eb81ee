"""``after_toolcall`` sees what files a tool gives back, and can take them out."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import trio

from homed.memory import blocks
from tests.homed.agent.test_attachments import PNG
from tests.homed.agent.test_handed import ask, camera, sees, tools_of
from tests.kit.builders import Agent, calls, says


@pytest.mark.parametrize(("drop", "kept"), [(True, []), (False, ["shot.png"])], ids=["taken out", "left alone"])
async def test_a_handler_sees_the_files_and_can_take_them_out(tmp_path: Path, *, drop: bool, kept: list[str]) -> None:
    host, seen = camera(), list[Any]()

    async def check(fields: Mapping[str, Any]) -> Mapping[str, Any]:
        await trio.lowlevel.checkpoint()
        (element,) = fields["tool_results"]
        seen.append(element["files"])
        rest = {name: value for name, value in element.items() if name != "files"}
        return {"tool_results": [{**rest, "text": "checked", **({"files": []} if drop else {})}]}

    host.stage("after_toolcall", check)

    async def look(agent: Agent, done: Any) -> None:
        (event,) = await tools_of(agent, done.thread)
        found = (await agent.store.read(lambda tx: blocks.of_events(tx, [event.id]))).get(event.id, ())
        assert [block.name for block in found] == kept
        assert event.text == "checked"
        ((shown,),) = seen
        assert (shown["name"], shown["media_type"], shown["bytes"]) == ("shot.png", "image/png", len(PNG) + 8)

    await ask(tmp_path, host, sees(calls(("shot", "{}")), says("ok")), look)
