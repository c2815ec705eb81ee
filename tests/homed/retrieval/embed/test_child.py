"""The real child with the bundled model: what it answers, what it is allowed, and that it never outlives homed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import trio

from homed.retrieval.embed import bundled, frames
from homed.retrieval.embed.child import NICENESS, unit_rows
from homed.retrieval.embed.frames import Frame
from tests.homed.retrieval.embed.kit import BUNDLED_OPENED, ROOT, bundled_spec, local_in
from tests.kit.processes import alive, until_gone, until_written

pytestmark = pytest.mark.slow


class Talk:
    """A child on a pipe, without the rest of homed."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        self._decoder = frames.Decoder()

    def say(self, do: str, **said: object) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(frames.encode(do, b"", **said))
        self.process.stdin.flush()

    def ask(self, do: str, **said: object) -> Frame:
        assert self.process.stdout is not None
        self.say(do, **said)
        while data := os.read(self.process.stdout.fileno(), 1 << 16):
            for frame in self._decoder.feed(data):
                return frame
        raise AssertionError("it has ended")


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the model is kept once one child has loaded it."""
    return tmp_path_factory.mktemp("kept")


@pytest.fixture
def talk() -> Iterator[Talk]:
    argv = [sys.executable, "-m", "homed.retrieval.embed.child", "--bulk"]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(argv, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        yield Talk(process)
        process.kill()


async def test_meaning_is_near_in_two_languages_and_nothing_is_near_a_blank(tmp_path: Path, kept: Path) -> None:
    async with local_in(tmp_path, bundled_spec(kept), known=BUNDLED_OPENED, real=True) as embedder:
        texts = [
            "My cat sleeps on the sofa.",
            "我的猫在沙发上睡觉。",
            "The shares fell by two percent.",
            "  ",
            "\ud800 cat",
        ]
        rows = await embedder.embed(texts)
        asked = await embedder.embed(["Where does my cat sleep?"], query=True)
        assert rows.shape == (5, 512)
        assert rows.dtype == np.float32
        cosines = rows @ asked[0]
        assert min(cosines[0], cosines[1]) > cosines[2] + 0.15
        assert np.allclose(np.linalg.norm(rows, axis=1), [1, 1, 1, 0, 1], atol=1e-5)
        assert np.allclose(await embedder.embed(texts, query=True), rows, atol=1e-5)
        questions, bulk = embedder.pids
        assert questions is not None
        assert bulk is not None
        assert os.getpriority(os.PRIO_PROCESS, bulk) == os.getpriority(os.PRIO_PROCESS, questions) + NICENESS
        for pid in (questions, bulk):
            assert not any("socket:" in link for link in _open_files(pid))
            assert _oom_score(pid) >= 500


def _oom_score(pid: int) -> int:
    return int(Path(f"/proc/{pid}/oom_score_adj").read_text("ascii"))


def _open_files(pid: int) -> list[str]:
    return [os.readlink(f"/proc/{pid}/fd/{name}") for name in os.listdir(f"/proc/{pid}/fd")]


async def test_a_vector_does_not_depend_on_what_is_asked_beside_it(tmp_path: Path, kept: Path) -> None:
    texts = [f"Sentence number {number} about a topic." for number in range(70)]
    async with local_in(tmp_path, bundled_spec(kept), known=BUNDLED_OPENED, real=True) as embedder:
        together = await embedder.embed(texts)
        alone = np.concatenate([await embedder.embed([text]) for text in texts[::9]])
    assert np.allclose(together[::9], alone, atol=1e-5)


def test_it_ends_with_homed_in_the_middle_of_its_work(talk: Talk, kept: Path) -> None:
    assert talk.ask("open", spec=bundled_spec(kept)).do == "opened"
    talk.say("texts", texts=["a long story about nothing " * 40] * 20_000, query=False)
    assert talk.process.stdin is not None
    talk.process.stdin.close()
    assert talk.process.wait(5) == 0


def test_what_it_cannot_open_it_says_and_can_be_asked_again(talk: Talk, kept: Path) -> None:
    refused = talk.ask("open", spec={"kind": "folder", "path": "/nowhere"})
    assert (refused.do, refused.said["lasting"]) == ("failed", True)
    assert "/nowhere" in refused.said["why"]
    assert talk.ask("open", spec={"kind": "magic"}).do == "failed"
    assert talk.ask("open", spec=bundled_spec(kept)).said == {"dims": 512, "media": False, "baseline": bundled.BASELINE}
    assert talk.ask("images", sizes=[0]).said["why"] == "the bundled embedder reads no pictures"


PARENT = """
import sys, trio
from pathlib import Path
from tests.homed.retrieval.embed.kit import BUNDLED_OPENED, bundled_spec, local_in
async def main():
    folder = Path(sys.argv[1])
    async with local_in(folder, bundled_spec(folder), known=BUNDLED_OPENED, real=True) as embedder:
        await embedder.embed(["a"])
        await embedder.embed(["a"], query=True)
        (folder / "pids").write_text("%d\\n%d\\n" % embedder.pids)
        await trio.sleep_forever()
trio.run(main)
"""


@pytest.mark.kill
async def test_when_homed_is_killed_its_children_are_gone(tmp_path: Path) -> None:
    async with trio.open_nursery() as nursery:
        run = partial(trio.run_process, [sys.executable, "-c", PARENT, str(tmp_path)], cwd=ROOT, check=False)
        parent = await nursery.start(run)
        pids = [int(line) for line in await until_written(tmp_path / "pids", 2)]
        assert all(map(alive, pids))
        parent.send_signal(signal.SIGKILL)
        await until_gone(pids, within=10)


def test_rows_that_are_no_numbers_are_near_nothing() -> None:
    rows = unit_rows(np.array([[3, 4], [0, 0], [np.nan, 1], [np.inf, 0]], np.float32))
    assert np.allclose(rows, np.array([[0.6, 0.8], [0, 0], [0, 1], [0, 0]]))
    assert rows.dtype == np.float32
