"""The queue, the process and its lives, with a stand-in for the model."""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing

from homed.errors import Unavailable
from homed.providers.base import ContentDelta, Done, ErrorKind, Progress, ProviderError, UsagePart
from homed.providers.local import engine as engine_module
from homed.providers.local import life as life_module
from homed.providers.local.job import Job
from tests.homed.providers.local.kit import OPENING, engine_in, everything, first, ports, request, said, until
from tests.kit.processes import alive, with_mark

pytestmark = pytest.mark.slow


async def test_nobody_asks_and_nothing_runs(tmp_path: Path) -> None:
    async with engine_in(tmp_path) as (engine, _):
        await trio.testing.wait_all_tasks_blocked()
        assert (engine.state, with_mark(f"test-{tmp_path.name}", group=True)) == ("", [])


async def test_a_question_starts_it_and_is_answered_in_parts(tmp_path: Path) -> None:
    async with engine_in(tmp_path) as (engine, provider):
        parts = await everything(provider, "one two")
        assert [p.text for p in parts if isinstance(p, ContentDelta)] == ["one ", "two "]
        assert [type(p) for p in parts[-2:]] == [UsagePart, Done]
        assert [p for p in parts if isinstance(p, Progress)][-1] == Progress("reading", 0, 100)
        assert parts[0] == Progress("loading", parts[0].done, 4)  # type: ignore[union-attr]
        assert engine.state == "ready"
    assert with_mark(f"test-{tmp_path.name}", group=True) == []


async def test_kept_it_is_started_and_warmed_before_anybody_asks_and_let_go_it_ends(tmp_path: Path) -> None:
    async with engine_in(tmp_path) as (engine, provider):
        engine.keep(True)
        await until(lambda: engine.state == "ready")
        assert (tmp_path / "warm.log").read_text() == f"{OPENING}\n"
        pid = int(await said(provider, "whoami"))
        engine.keep(False)
        await until(lambda: not alive(pid))
        await until(lambda: engine.state == "")


async def test_one_that_nobody_keeps_waits_a_moment_for_the_next_question(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine_module, "LINGER", 2.0)
    async with engine_in(tmp_path) as (_, provider):
        pid = int(await said(provider, "whoami"))
        assert int(await said(provider, "whoami")) == pid
        await until(lambda: not alive(pid))
        assert int(await said(provider, "whoami")) != pid


async def test_another_day_is_read_beforehand_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_module, "REFRESH", 0.05)
    today = ["Monday"]
    async with engine_in(tmp_path, opening=lambda: today[0]) as (engine, _):
        engine.keep(True)
        await until(lambda: engine.state == "ready")
        today[0] = "Tuesday"
        await until(lambda: (tmp_path / "warm.log").read_text() == "Monday\nTuesday\n")


async def test_a_stop_while_it_reads_kills_it_at_once_and_a_warm_one_comes_back(tmp_path: Path) -> None:
    async with engine_in(tmp_path) as (engine, provider):
        engine.keep(True)
        pid = int(await said(provider, "whoami"))
        seen = trio.Event()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(first, provider, "hang", seen, Progress)
            await seen.wait()
            begun = trio.current_time()
            nursery.cancel_scope.cancel()
        assert trio.current_time() - begun < 10  # it hangs for ever
        await until(lambda: not alive(pid))
        await until(lambda: engine.state == "ready")
        assert (tmp_path / "warm.log").read_text().splitlines().count(OPENING) == 4  # warm, whoami, hang, warm
        other = int(await said(provider, "whoami"))
        assert other != pid
        assert engine.reason == ""


async def test_a_stop_in_the_middle_of_an_answer_ends_the_answer_only(tmp_path: Path) -> None:
    async with engine_in(tmp_path) as (_, provider):
        pid = int(await said(provider, "whoami"))
        seen = trio.Event()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(first, provider, "endless", seen)
            await seen.wait()
            begun = trio.current_time()
            nursery.cancel_scope.cancel()
        assert trio.current_time() - begun < 10  # its answer has no end
        assert int(await said(provider, "whoami")) == pid


async def test_one_that_does_not_hear_a_stop_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(life_module, "STOP_PATIENCE", 0.2)
    async with engine_in(tmp_path) as (_, provider):
        pid = int(await said(provider, "whoami"))
        seen = trio.Event()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(first, provider, "deaf", seen)
            await seen.wait()
            nursery.cancel_scope.cancel()
        assert int(await said(provider, "whoami")) != pid


async def test_questions_are_answered_in_the_order_they_came_and_one_that_waits_can_be_stopped(tmp_path: Path) -> None:
    done: list[str] = []
    async with engine_in(tmp_path) as (_, provider):
        pid = int(await said(provider, "whoami"))

        async def asks(text: str, scope: trio.CancelScope | None = None) -> None:
            with scope or trio.CancelScope():
                done.append(await said(provider, text))

        seen, waiting = trio.Event(), trio.CancelScope()
        async with trio.open_nursery() as nursery:
            story = trio.CancelScope()

            async def tell() -> None:
                with story:
                    await first(provider, "endless", seen)

            nursery.start_soon(tell)
            await seen.wait()
            for text, scope in (("a", None), ("hang", waiting), ("b", None)):
                nursery.start_soon(asks, text, scope)
                await trio.testing.wait_all_tasks_blocked(0.01)
            waiting.cancel()
            await trio.testing.wait_all_tasks_blocked(0.01)
            story.cancel()
        assert done == ["a ", "b "]
        assert int(await said(provider, "whoami")) == pid, "nobody was killed for one that only waited"


async def test_killed_in_the_middle_of_an_answer_it_says_so_and_the_next_is_answered(tmp_path: Path) -> None:
    async with engine_in(tmp_path) as (engine, provider):
        with pytest.raises(ProviderError) as caught:
            await everything(provider, "die")
        assert caught.value.kind is ErrorKind.TRANSIENT
        assert caught.value.partial
        assert "SIGKILL" in caught.value.message
        assert await said(provider, "again") == "again "
        assert engine.state == "ready"


async def test_killed_while_idle_it_comes_back_by_itself_if_it_is_kept(tmp_path: Path) -> None:
    async with engine_in(tmp_path) as (engine, provider):
        engine.keep(True)
        pid = int(await said(provider, "whoami"))
        os.kill(pid, signal.SIGKILL)
        await until(lambda: engine.state == "failed")
        assert "SIGKILL" in engine.reason
        await until(lambda: engine.state == "ready")
        assert int(await said(provider, "whoami")) != pid


async def test_what_cannot_be_loaded_is_said_with_the_reason_and_not_tried_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine_module, "PAUSES", (0.0, 0.01, 0.01, float("inf")))
    tries: list[bool] = []
    given = ports(tmp_path, "cannot")

    def file(thorough: bool) -> Path:
        tries.append(thorough)
        return given.file(thorough)

    async with engine_in(tmp_path, "cannot", file=file) as (engine, provider):
        engine.keep(True)
        await until(lambda: len(tries) == 3)
        await until(lambda: engine.state == "failed")
        await trio.sleep(0.2)
        assert tries == [False, True, True], "after a failure the file is looked at thoroughly; then it is given up"
        with pytest.raises(ProviderError) as caught:
            await said(provider, "hi")
        assert "tensor 'x' is not within the file" in caught.value.message
        assert caught.value.kind is ErrorKind.BAD_REQUEST
        assert len(tries) == 4


@pytest.mark.parametrize("how", ["dies", "never"])
async def test_one_that_dies_or_hangs_while_it_loads_fails_whoever_waits(
    tmp_path: Path, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(life_module, "LOAD_LIMIT", 1.0)
    async with engine_in(tmp_path, how) as (engine, provider):
        with pytest.raises(ProviderError):
            await said(provider, "hi")
        assert engine.state == "failed"
        assert engine.reason


async def test_without_its_file_it_says_what_to_do(tmp_path: Path) -> None:
    def file(_: bool) -> Path:
        raise Unavailable("The weights are not there.", hint="Fetch them.")

    async with engine_in(tmp_path, file=file) as (_, provider):
        with pytest.raises(ProviderError, match=r"not there.*Fetch them"):
            await said(provider, "hi")


async def test_a_prompt_too_long_goes_to_the_overflow_guard_and_a_child_talking_nonsense_is_ended(
    tmp_path: Path,
) -> None:
    async with engine_in(tmp_path) as (_, provider):
        pid = int(await said(provider, "whoami"))
        with pytest.raises(ProviderError) as caught:
            await said(provider, "full")
        assert caught.value.kind is ErrorKind.CONTEXT_FULL
        assert int(await said(provider, "whoami")) == pid
        for nonsense in ("garbage", "list"):
            with pytest.raises(ProviderError):
                await said(provider, nonsense)
            other = int(await said(provider, "whoami"))
            assert other != pid
            pid = other


async def test_one_that_falls_silent_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(life_module, "STALL", 1.0)
    async with engine_in(tmp_path) as (_, provider):
        with pytest.raises(ProviderError, match=r"silent for 1 s"):
            await said(provider, "hang")
        assert await said(provider, "hi") == "hi "


async def test_one_that_hangs_while_it_is_warmed_is_given_up_in_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(life_module, "STALL", 0.6)
    monkeypatch.setattr(engine_module, "PAUSES", (0.0, 0.01, float("inf")))
    async with engine_in(tmp_path, opening=lambda: "silence") as (engine, provider):
        engine.keep(True)
        await until(lambda: engine._bad_lives == 2 and engine.state == "failed")
        await trio.sleep(0.5)
        assert (tmp_path / "warm.log").read_text() == "silence\nsilence\n"
        assert engine.state == "failed"
        with pytest.raises(ProviderError, match="ended"):
            await said(provider, "hi")


async def test_a_slow_reader_loses_nothing_and_is_not_taken_for_a_stall(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(life_module, "STALL", 1.0)
    async with engine_in(tmp_path) as (_, provider):
        await said(provider, "hi")
        got = 0
        async with provider.stream(request("many 2000")) as parts:
            async for part in parts:
                if isinstance(part, ContentDelta):
                    got += len(part.text)
                    if got == 1:
                        await trio.sleep(1.5)
        assert got == 2000


async def test_retired_it_tells_whoever_waits(tmp_path: Path) -> None:
    async with engine_in(tmp_path) as (engine, provider):
        pid = int(await said(provider, "whoami"))
        async with provider.stream(request("hang")) as parts:
            await anext(parts)
            engine.retire()
            with pytest.raises(ProviderError, match="was changed"):
                await anext(parts)
        await until(lambda: not alive(pid))


async def test_one_that_has_been_retired_or_has_ended_says_so_to_whoever_still_asks(tmp_path: Path) -> None:
    """A turn takes its provider, reads for a while, then asks: meanwhile the source may have been changed."""
    async with engine_in(tmp_path) as (engine, provider):
        engine.retire()
        with trio.fail_after(60), pytest.raises(ProviderError, match="was changed"):
            await said(provider, "hi")
        await until(lambda: engine._over)
        with trio.fail_after(60), pytest.raises(ProviderError, match="was changed"):
            await said(provider, "hi")
    with trio.fail_after(60), pytest.raises(ProviderError, match="was changed"):
        await said(provider, "hi")


@pytest.mark.parametrize(
    ("error", "said_"),
    [
        (PermissionError(13, "Permission denied", "/data/run/model"), r"Permission denied \(/data/run/model\)"),
        (OSError(28, "No space left on device"), "No space left on device"),
        (RuntimeError("a bug"), "RuntimeError"),
    ],
)
async def test_whatever_goes_wrong_with_its_file_ends_no_more_than_the_question(
    tmp_path: Path, error: Exception, said_: str, caplog: pytest.LogCaptureFixture
) -> None:
    given = ports(tmp_path)
    wrong = [error]

    def file(thorough: bool) -> Path:
        if wrong:
            raise wrong.pop()
        return given.file(thorough)

    async with engine_in(tmp_path, file=file) as (engine, provider):
        with pytest.raises(ProviderError, match=said_):
            await said(provider, "hi")
        assert engine.state == "failed"
        assert await said(provider, "hi") == "hi "
    assert ("Traceback" in caplog.text) is isinstance(error, RuntimeError)


async def test_what_nobody_foresaw_in_the_middle_of_an_answer_fails_that_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken = life_module.Life._take_answer

    async def broken(self: life_module.Life, job: Job, do: str, frame: Mapping[str, Any]) -> None:
        if "boom" in str(job.body):
            raise AttributeError("a bug")
        await taken(self, job, do, frame)

    monkeypatch.setattr(life_module.Life, "_take_answer", broken)
    async with engine_in(tmp_path) as (_, provider):
        with pytest.raises(ProviderError, match="cannot answer"):
            await said(provider, "boom")
        assert await said(provider, "hi") == "hi "
