"""``-chat`` and line mode with a homed elsewhere."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import trio

from homed.errors import Denied
from tests.kit.daemon import Ran, run_command
from tests.waiter.far_homed import KEY, Far, far_homed
from waiter.bridge import dial_remote
from waiter.endpoint import Target
from waiter.link import Lost


@pytest.fixture
async def far() -> AsyncIterator[Far]:
    async with far_homed() as made:
        yield made


async def waiter(*words: str, home: Path, **env: str) -> Ran:
    clean = {key: value for key, value in os.environ.items() if key != "HOMED_API_KEY"}
    argv = [sys.executable, "-m", "waiter", *words]
    return await trio.to_thread.run_sync(lambda: run_command(argv, env={**clean, "HOME": str(home), **env}))


async def test_a_question_goes_to_a_homed_elsewhere(far: Far, tmp_path: Path) -> None:
    for words, env in ((("--api-key", KEY), {}), ((f"--api-key={KEY}",), {}), ((), {"HOMED_API_KEY": KEY})):
        ran = await waiter("--remote", far.url, *words, "-chat", "hi 你好", home=tmp_path, **env)
        assert (ran.code, ran.out) == (0, "far hello\n"), ran
    (tmp_path / ".config/homed").mkdir(parents=True)
    config = tmp_path / ".config/homed/waiter.yaml"
    config.write_text(f"there: {{url: '{far.url}', api_key: {KEY}}}\n")
    config.chmod(0o600)
    ran = await waiter("--connect", "there", "-chat", "hi", "--json", home=tmp_path)
    assert (ran.code, "far hello" in ran.out) == (0, True), ran
    assert [p["text"] for name, p in far.calls if name == "chat"] == ["hi 你好"] * 3 + ["hi"]


async def test_what_fails_is_told_with_a_status_and_without_the_key(far: Far, tmp_path: Path) -> None:
    ran = await waiter("--remote", far.url, "--api-key", "hk_wrong", "-chat", "hi", home=tmp_path)
    assert ran.code == 1
    assert "refuses this key" in ran.err
    assert "hk_wrong" not in ran.err
    for words in (("--remote", far.url), ("--remote", "http://far.example", "--api-key", KEY), ("--connect", "nope")):
        ran = await waiter(*words, "-chat", "hi", home=tmp_path)
        assert ran.code == 2, ran
    wrong = ["--remote a --connect b", "--api-key", "--connect a --data /x"]
    for line in wrong:
        ran = await waiter(*line.split(), "-chat", "hi", home=tmp_path)
        assert (ran.code, "Traceback" in ran.err) == (2, False), ran


@pytest.mark.parametrize("words", [["--api-key", KEY], [f"--api-key={KEY}"]])
async def test_the_key_does_not_stay_on_the_command_line(far: Far, tmp_path: Path, words: list[str]) -> None:
    seen: list[bytes] = []

    def look(_params: object) -> object:
        me, parent = str(os.getpid()), str(os.getppid())
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                found = Path(f"/proc/{pid}/cmdline").read_bytes()
            except OSError:
                continue
            if far.url.encode() in found and pid not in (me, parent):
                seen.append(found)
        return {"protocol": 1, "core_version": "0", "peer": "x"}

    far.answers["hello"] = look
    ran = await waiter("--remote", far.url, *words, "-chat", "hi", home=tmp_path)
    assert ran.code == 0, ran
    assert seen
    assert not any(KEY.encode() in found for found in seen)


async def test_a_link_tells_when_the_far_side_hangs_up(far: Far) -> None:
    link = await trio.to_thread.run_sync(dial_remote, Target(url=far.url, key=KEY))
    await far.sockets[0].aclose()
    with pytest.raises(Lost):
        await trio.to_thread.run_sync(link.receive)
    link.close()
    with pytest.raises(Denied):
        await trio.to_thread.run_sync(dial_remote, Target(url=far.url, key="hk_no"))
