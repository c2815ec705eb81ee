"""Files of a tool's result: in pieces, by the arena or in the line, named in the answer."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from homed import sdk
from homed.errors import InvalidInput
from homed.sdk.files import PIECE, File, WithFiles, send
from homed.sdk.testing import Harness, harness


class Kernel:
    """Keeps what it is sent."""

    def __init__(self) -> None:
        self.pieces: list[Mapping[str, Any]] = []

    async def call(self, method: str, params: Mapping[str, Any]) -> Mapping[str, Any]:
        assert method == "core.attach"
        self.pieces.append(params)
        return {"file": "blk_1", "bytes": 0}


@pytest.mark.parametrize("raw", [True, False])
@pytest.mark.parametrize("size", [0, 1, PIECE, PIECE + 1, 2 * PIECE + 5])
@pytest.mark.parametrize("on_disk", [True, False])
async def test_every_byte_goes_once_and_in_order(tmp_path: Path, raw: bool, size: int, on_disk: bool) -> None:
    data = bytes(range(256)) * (size // 256 + 1)
    data = data[:size]
    path = tmp_path / "plot"
    path.write_bytes(data)
    kernel: Any = Kernel()
    assert await send(kernel, "tok", File("p.png", path if on_disk else data, caption="c"), raw=raw) == "blk_1"
    given = [p["data"] if isinstance(p["data"], bytes) else base64.b64decode(p["data"]) for p in kernel.pieces]
    assert b"".join(given) == data
    assert all(isinstance(p["data"], bytes) is raw or not size for p in kernel.pieces)
    assert [p["last"] for p in kernel.pieces] == [False] * (len(given) - 1) + [True]
    assert [p["offset"] for p in kernel.pieces] == [n * PIECE for n in range(len(given))]
    assert (kernel.pieces[0]["name"], kernel.pieces[0]["caption"]) == ("p.png", "c")
    assert all(p["call"] == "tok" and ("file" in p) is (n > 0) for n, p in enumerate(kernel.pieces))


def plugin_giving(*files: File) -> sdk.Plugin:
    plugin = sdk.Plugin("giving", folder=Path(__file__).parent)

    @plugin.tool(cls="read")
    def plot(_: sdk.Context) -> WithFiles:
        """Plot it."""
        return sdk.WithFiles({"points": 3}, files)

    return plugin


async def answer(kernel: Harness) -> Any:
    return await kernel.invoke("plot")


async def test_a_tool_answers_with_the_ids_of_what_it_sent() -> None:
    async with harness(plugin_giving(File("a.png", b"a"), File("b.png", b"b"))) as kernel:
        sent = iter(("blk_a", "blk_b"))
        kernel.reply("core.attach", lambda _: {"file": next(sent), "bytes": 1})
        result = await answer(kernel)
        assert (result.content, result.is_error, result.files) == ({"points": 3}, False, ("blk_a", "blk_b"))
        assert [call.params["call"] for call in kernel.calls if call.method == "core.attach"] == ["call_test"] * 2


@pytest.mark.parametrize("wrong", ["refused", "unreadable"])
async def test_a_file_that_does_not_go_fails_the_call_and_says_why(tmp_path: Path, wrong: str) -> None:
    file = File("a.png", b"a") if wrong == "refused" else File("a.png", tmp_path / "missing")
    async with harness(plugin_giving(file)) as kernel:
        kernel.reply("core.attach", InvalidInput("The file is too large."))
        result = await answer(kernel)
        assert result.is_error
        assert ("too large" if wrong == "refused" else "missing") in result.content
