from __future__ import annotations

import pytest
import trio

from homed.providers.base import ContentDelta, Done, ErrorKind, Part, Progress, ProviderError
from homed.providers.failures import Where
from homed.providers.local.job import WAITING_PARTS, Job

WHERE = Where("mine", "this machine")


def chunk(text: str) -> dict[str, object]:
    return {"choices": [{"index": 0, "delta": {"content": text}}]}


def progress(done: int, total: int, cache: int = 0) -> dict[str, object]:
    return {"choices": [], "prompt_progress": {"total": total, "cache": cache, "processed": done}}


async def parts_of(job: Job) -> list[Part]:
    return [part async for part in job.parts]


async def test_chunks_become_parts_and_the_end_is_done() -> None:
    job = Job({}, WHERE)
    for data in (progress(0, 90), progress(64, 90), chunk("a"), progress(90, 90)):
        await job.chunk(data)
    await job.end()
    assert await parts_of(job) == [
        Progress("reading", 0, 90), Progress("reading", 64, 90), ContentDelta("a"), Done("stop"),
    ]  # fmt: skip
    assert (job.ended, job.began, job.settled.is_set(), job.failure) == (True, True, True, None)


async def test_a_few_tokens_are_not_worth_telling_of() -> None:
    job = Job({}, WHERE)
    await job.chunk(progress(1000, 1040, cache=1000))
    await job.chunk({"choices": [], "prompt_progress": {"total": None}})
    await job.end()
    assert await parts_of(job) == [Done("stop")]


async def test_the_first_failure_counts_and_says_whether_something_was_shown() -> None:
    job = Job({}, WHERE)
    await job.chunk(chunk("a"))
    job.fail(ProviderError(ErrorKind.TRANSIENT, "first"))
    job.fail(ProviderError(ErrorKind.TRANSIENT, "second"))
    await job.chunk(chunk("b"))
    await job.end()
    assert await parts_of(job) == [ContentDelta("a")]
    assert job.failure is not None
    assert (job.failure.message, job.failure.partial) == ("first", True)


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        ({"error": {"code": 400, "message": "exceeds the available context size"}}, ErrorKind.CONTEXT_FULL),
        ({"error": {"code": 500, "message": "no"}}, ErrorKind.TRANSIENT),
        (chunk("x" * 600_000), ErrorKind.BAD_REQUEST),
    ],
)
async def test_errors_in_the_stream_and_answers_without_end_fail_it(data: dict[str, object], kind: ErrorKind) -> None:
    job = Job({}, WHERE)
    await job.chunk(data)
    assert job.failure is not None
    assert job.failure.kind is kind


async def test_progress_is_dropped_when_the_reader_is_behind_and_text_waits() -> None:
    job = Job({}, WHERE)
    for at in range(WAITING_PARTS + 5):
        job.tell(Progress("reading", at, 999))
    with trio.move_on_after(0.01) as limit:
        await job.chunk(chunk("a"))
    assert limit.cancelled_caught


async def test_abandoned_it_takes_what_still_comes_and_forgets_it() -> None:
    job = Job({}, WHERE)
    job.abandon()
    job.parts.close()
    await job.chunk(chunk("a"))
    job.tell(Progress("reading", 1, 99))
    await job.end()
    assert job.ended
