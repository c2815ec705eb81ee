"""A child is started when it is needed, ended when it is not, and its end is nobody else's."""

from __future__ import annotations

import json
import logging
import os
import signal
from pathlib import Path

import pytest
import trio

from homed.retrieval.embed import worker as module
from homed.retrieval.embed.failed import EmbedFailed
from homed.retrieval.embed.worker import Opened, Worker
from tests.homed.retrieval.embed.kit import worker_in, worker_ports
from tests.kit.processes import alive, until, until_gone, until_written, with_mark


async def ask(worker: Worker, *texts: str) -> int:
    """How many rows came."""
    return int((await worker.ask("texts", texts=list(texts), query=True)).said["rows"])


async def test_it_starts_with_the_first_question_and_is_gone_with_the_block(tmp_path: Path) -> None:
    async with worker_in(tmp_path, {"how": "late"}) as worker:
        assert with_mark(f"test-{tmp_path.name}", group=True) == []
        assert await ask(worker, "a", "bc") == 2
        assert worker.opened == Opened(4, True, 0.5)
        pid = worker.pid
        assert pid is not None
        assert await ask(worker, "d") == 1
        assert worker.pid == pid
    assert not alive(pid)


async def test_without_work_it_ends_and_comes_again(tmp_path: Path) -> None:
    async with worker_in(tmp_path, {}, linger=0.2) as worker:
        await ask(worker, "a")
        pid = worker.pid
        assert pid is not None
        await until_gone([pid], within=20)
        await until(lambda: worker.pid is None)
        assert await ask(worker, "b") == 1
        assert worker.pid not in (None, pid)


async def test_the_child_of_bulk_gives_way_and_has_one_thread(tmp_path: Path) -> None:
    log = tmp_path / "log"
    async with worker_in(tmp_path, {"log": str(log)}, bulk=True) as worker:
        await ask(worker, "a")
    assert " threads 1 --bulk" in log.read_text()


async def test_it_inherits_nothing_but_what_it_is_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No key and no password of the daemon's is in its environment."""
    monkeypatch.setenv("HOMED_SECRET__LLM__X__API_KEY", "s3cret")
    log = tmp_path / "log"
    async with worker_in(tmp_path, {"log": str(log)}) as worker:
        await ask(worker, "environment")
    names = set(json.loads(log.read_text().splitlines()[-1]))
    given = worker_ports(tmp_path).env
    assert names <= {*given, "HOMED_MARK", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "LC_CTYPE"}


async def test_a_crash_fails_its_question_and_no_other(tmp_path: Path) -> None:
    async with worker_in(tmp_path, {}) as worker:
        with pytest.raises(EmbedFailed, match="ended unexpectedly"):
            await ask(worker, "crash")
        assert await ask(worker, "fine again") == 1


async def test_one_that_dies_while_nobody_asks_is_started_again_unseen(tmp_path: Path) -> None:
    async with worker_in(tmp_path, {}) as worker:
        await ask(worker, "a")
        assert worker.pid is not None
        os.kill(worker.pid, signal.SIGKILL)
        await until(lambda: worker.pid is None)
        assert await ask(worker, "b") == 1


async def test_crash_upon_crash_it_pauses_and_says_so_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PAUSES", (0.0, 2.0))
    async with worker_in(tmp_path, {}) as worker:
        for _ in range(2):
            with pytest.raises(EmbedFailed):
                await ask(worker, "crash")
        await until(lambda: worker.pid is None)
        with pytest.raises(EmbedFailed, match="ended unexpectedly"):
            await ask(worker, "fine")
        assert worker.pid is None  # it said so without a start
        worker.warm()
        assert worker.pid is None  # warming is no way around the pause
        with trio.fail_after(60):
            while await _fails(worker):  # noqa: ASYNC110 - a clock of another process
                await trio.sleep(0.05)
        with pytest.raises(EmbedFailed):
            await ask(worker, "crash")
        assert await ask(worker, "a good life ends the count") == 1


async def _fails(worker: Worker) -> bool:
    try:
        await ask(worker, "fine")
    except EmbedFailed:
        return True
    return False


async def test_what_is_no_model_is_said_in_its_own_words(tmp_path: Path) -> None:
    log = tmp_path / "log"
    async with worker_in(tmp_path, {"how": "unfit", "log": str(log)}) as worker:
        for _ in range(3):
            with pytest.raises(EmbedFailed, match="it is no model") as caught:
                await worker.open()
            assert caught.value.lasting
    assert len(log.read_text().splitlines()) == 1


async def test_a_refusal_leaves_it_alive(tmp_path: Path) -> None:
    async with worker_in(tmp_path, {}) as worker:
        await ask(worker, "a")
        pid = worker.pid
        with pytest.raises(EmbedFailed, match="it will not"):
            await ask(worker, "refuse")
        assert await ask(worker, "b") == 1
        assert worker.pid == pid


@pytest.mark.parametrize("trouble", ["hang", "babble"])
async def test_one_that_hangs_or_babbles_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, trouble: str
) -> None:
    monkeypatch.setattr(module, "STALL", 1.0)
    async with worker_in(tmp_path, {}) as worker:
        await ask(worker, "a")
        pid = worker.pid
        assert pid is not None
        with pytest.raises(EmbedFailed):
            await ask(worker, trouble)
        await until_gone([pid], within=60)
        assert await ask(worker, "b") == 1


async def test_who_is_cancelled_leaves_the_queue(tmp_path: Path) -> None:
    log = tmp_path / "log"
    async with worker_in(tmp_path, {"log": str(log)}) as worker, trio.open_nursery() as nursery:
        nursery.start_soon(_swallow, worker, "hang")
        await until_written(log, 2)
        with trio.move_on_after(0.05) as limit:
            await ask(worker, "nobody waits for this")
        assert limit.cancelled_caught
        pid = worker.pid
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        assert await ask(worker, "b") == 1
        nursery.cancel_scope.cancel()
    assert "nobody waits for this" not in log.read_text()


async def _swallow(worker: Worker, text: str) -> None:
    with pytest.raises(EmbedFailed):
        await ask(worker, text)


async def test_the_queue_has_an_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "WAITING", 1)
    log = tmp_path / "log"
    async with worker_in(tmp_path, {"log": str(log)}) as worker, trio.open_nursery() as nursery:
        nursery.start_soon(_swallow, worker, "hang")
        await until_written(log, 2)
        nursery.start_soon(ask, worker, "outside")
        await trio.testing.wait_all_tasks_blocked()
        assert not worker._waiting
        nursery.cancel_scope.cancel()


async def test_whoever_waits_when_it_is_over_is_told(tmp_path: Path) -> None:
    log = tmp_path / "log"
    async with trio.open_nursery() as nursery:
        async with worker_in(tmp_path, {"log": str(log)}) as worker:
            nursery.start_soon(_swallow, worker, "hang")
            await until_written(log, 2)
            nursery.start_soon(_swallow, worker, "waits")
            await trio.testing.wait_all_tasks_blocked()
        with pytest.raises(EmbedFailed, match="being stopped"):
            await ask(worker, "too late")


async def test_of_what_a_dying_child_wrote_only_the_kind_is_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG):
        async with worker_in(tmp_path, {"how": "broken"}) as worker:
            with pytest.raises(EmbedFailed):
                await ask(worker, "a")
            await until(lambda: "ValueError" in caplog.text)
    assert "private" not in caplog.text
