"""Real children on the real clock: launch, calls, crashes, the ladder, and nothing left behind."""

from __future__ import annotations

from pathlib import Path

from homed.host.states import State
from tests.kit.hosting import hosting, invoke, manifest


async def test_a_plugin_comes_up_answers_and_leaves_cleanly(tmp_path: Path) -> None:
    async with hosting(tmp_path, manifest("good")) as host:
        await host.wait_ready("good")
        assert host.status("good").state is State.READY
        assert set(host.registry.tools()) == {"echo_good"}
        assert await invoke(host, "good", text="héllo 你好") == {"text": "héllo 你好"}
        assert (await host.stop("good")).state is State.STOPPED
        assert host.registry.tools() == {}
        assert (await host.start("good")).state is State.READY
