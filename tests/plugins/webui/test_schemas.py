"""The models come when they are needed, and the page does not wait for them."""

from __future__ import annotations

import subprocess
import sys

import trio

from plugins.webui import asked
from plugins.webui.schemas import Schemas

SLOW = ("pydantic", "plugins.webui.asked", "plugins.webui.answered", "plugins.webui.openapi", "trio_websocket")


def test_the_page_comes_up_without_the_models() -> None:
    code = f"import sys, plugins.webui.plugin; print([m for m in {SLOW!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


async def test_many_that_ask_at_once_get_the_same() -> None:
    schemas, got = Schemas(), list[object]()

    async def ask() -> None:
        got.append(await schemas.asked())
        got.append(await schemas.document())

    async with trio.open_nursery() as nursery:
        for _ in range(8):
            nursery.start_soon(ask)
    assert got.count(asked) == 8
    assert len({id(one) for one in got}) == 2, "the document is made once"
