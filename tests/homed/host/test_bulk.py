"""Large values between the kernel and real plugins, both ways, and what is left of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.kit.bulk import bulk, invoke
from tests.kit.hosting import hosting


@pytest.mark.parametrize("size", [65_000, 66_000, 8 << 20])
async def test_large_arguments_and_results_come_whole(tmp_path: Path, size: int) -> None:
    text = ("x" * 63 + "\n") * (size // 64)
    async with hosting(tmp_path, bulk("mule")) as host:
        await host.wait_ready("mule")
        for value in (text, {"deep": [text, 1, None, {"é": "ü"}]}, [text]):
            assert await invoke(host, "mule", "echo", value=value) == value
        assert await invoke(host, "mule", "make", size=size) == "é" * size
        arena = host._roster.supervisor("mule").front.running.areas.arena
        assert arena.in_use == 0
