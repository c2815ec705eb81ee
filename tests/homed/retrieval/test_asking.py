"""A question gets its vector in time, or goes without."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pytest
import trio
import trio.testing

from homed.retrieval.asking import PAUSE, TIMEOUTS, VECTOR, Asker
from homed.retrieval.embed.failed import EmbedFailed
from homed.retrieval.embed.fake import FakeEmbedder

if TYPE_CHECKING:
    from homed.memory.ports import Vectors


async def test_a_question_has_the_vector_of_its_cleaned_text(autojump_clock: trio.testing.MockClock) -> None:
    embedder = FakeEmbedder()
    question = await Asker(lambda: embedder).ask("[2026-01-31 12:00:00] where is Anna?")
    assert question.vector is not None
    assert (question.vector == embedder.vector("where is Anna?")).all()
    assert (question.space, question.late) == (embedder.space, ())
    assert question.text.endswith("where is Anna?")


@pytest.mark.parametrize("text", ["", "  ", "words"])
async def test_without_an_embedder_or_words_nothing_is_late(text: str, autojump_clock: trio.testing.MockClock) -> None:
    embedder = None if text.strip() else FakeEmbedder()
    question = await Asker(lambda: embedder).ask(text)
    assert (question.text, question.vector, question.late) == (text, None, ())


async def test_one_that_fails_or_is_too_slow_is_told_as_late(autojump_clock: trio.testing.MockClock) -> None:
    embedder = FakeEmbedder()
    asker = Asker(lambda: embedder)
    embedder.failure = EmbedFailed("gone")
    assert (await asker.ask("x")).late == (VECTOR,)
    embedder.failure, embedder.hang = None, True
    before = trio.current_time()
    assert (await asker.ask("x", within=0.4)).late == (VECTOR,)
    assert (await asker.ask("x", within=9.0)).late == (VECTOR,)
    assert trio.current_time() - before == pytest.approx(0.4 + 1.2)


async def test_three_time_outs_in_a_row_are_a_minute_without_waiting(autojump_clock: trio.testing.MockClock) -> None:
    embedder = FakeEmbedder()
    asker = Asker(lambda: embedder)
    embedder.hang = True
    for _ in range(TIMEOUTS - 1):
        await asker.ask("x")
    embedder.release()
    assert (await asker.ask("x")).vector is not None, "one that comes in time is a new beginning"
    embedder.hang = True
    for _ in range(TIMEOUTS):
        await asker.ask("x")
    before = trio.current_time()
    assert (await asker.ask("x")).late == (VECTOR,)
    assert trio.current_time() == before
    embedder.release()
    await trio.sleep(PAUSE)
    assert (await asker.ask("x")).vector is not None


async def test_cancelled_it_ends_at_once(autojump_clock: trio.testing.MockClock) -> None:
    embedder = FakeEmbedder()
    embedder.hang = True
    with trio.move_on_after(0.1) as scope:
        await Asker(lambda: embedder).ask("x")
    assert scope.cancelled_caught


@pytest.mark.parametrize("made", [[float("nan"), 1.0], [float("inf"), 1.0], [0.0, 0.0], [1.0, 1.0, 1.0]])
async def test_what_points_nowhere_in_the_space_is_no_vector(
    autojump_clock: trio.testing.MockClock, made: list[float]
) -> None:
    class Broken(FakeEmbedder):
        async def embed(self, texts: Sequence[str], *, query: bool = False) -> Vectors:
            await trio.lowlevel.checkpoint()
            return np.asarray([made], np.float32)

    question = await Asker(lambda: Broken(dims=2)).ask("x")
    assert (question.vector, question.space, question.late) == (None, None, (VECTOR,))


async def test_a_vector_of_a_space_that_was_left_meanwhile_is_of_none(autojump_clock: trio.testing.MockClock) -> None:
    """B11: never compared with those of another."""

    class Moving(FakeEmbedder):
        async def embed(self, texts: Sequence[str], *, query: bool = False) -> Vectors:
            made = await super().embed(texts, query=query)
            self.change("another")
            return made

    embedder = Moving()
    assert (await Asker(lambda: embedder).ask("x")).late == (VECTOR,)


async def test_warmed_only_what_can_be() -> None:
    class Warm(FakeEmbedder):
        warmed = 0

        def warm(self) -> None:
            self.warmed += 1

    made = Warm()
    Asker(lambda: made).warm()
    Asker(lambda: FakeEmbedder()).warm()
    Asker(lambda: None).warm()
    assert made.warmed == 1
