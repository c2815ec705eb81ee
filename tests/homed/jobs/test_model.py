"""Whom background work asks, how often, and who is to blame when no answer comes (D7)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import trio

from homed.agent.complete import Completion, Question
from homed.errors import HomedError, TimedOut, Unavailable
from homed.jobs.job import Later, Outage
from homed.jobs.model import TIMEOUT, Background
from homed.providers.base import LOCAL, ErrorKind, ProviderError, Source, Usage
from tests.homed.jobs.past import Settings, bench

CLOUD, OTHER = Source("cloud", "http://c", "m"), Source("other", "http://o", "m")
EMBEDDED = Source("embedded", "", "small", adapter=LOCAL)
SAID = [("system", "Make facts."), ("user", "I like tea.")]


class Sources:
    def __init__(self, *sources: Source, current: str = "") -> None:
        self._sources, self._current = list(sources), current

    def list(self) -> Sequence[Source]:
        return self._sources

    def current(self) -> Source | None:
        return next((s for s in self._sources if s.name == self._current), self._sources[0] if self._sources else None)


class Completions:
    """Answers "yes", or raises what a test plans."""

    def __init__(self, *planned: Exception | None) -> None:
        self.asked: list[tuple[str, Question]] = []
        self._planned = list(planned)

    async def ask(self, plugin: str, question: Question) -> Completion:
        await trio.lowlevel.checkpoint()
        self.asked.append((plugin, question))
        if self._planned and (error := self._planned.pop(0)) is not None:
            raise error
        return Completion("yes", "stop", Usage(), question.source or "", "m")


async def test_the_source_set_for_it_else_the_one_in_use_else_the_first_and_never_the_built_in_one(
    tmp_path: Path,
) -> None:
    async with bench(tmp_path) as on:

        def chosen(*sources: Source, current: str = "", **settings: Any) -> str:
            found = Background(
                Sources(*sources, current=current), Completions(), Settings(**settings), on.store, on.wall
            ).source()
            return found.name if found else ""

        assert chosen(CLOUD, OTHER, EMBEDDED, current="other") == "other"
        assert chosen(CLOUD, OTHER, EMBEDDED, current="embedded") == "cloud"
        assert chosen(CLOUD, OTHER, current="other", extract_source="cloud") == "cloud"
        assert chosen(CLOUD, extract_source="gone") == "", "what was chosen is not replaced by another"
        assert chosen(EMBEDDED, extract_source="embedded") == ""
        assert chosen(EMBEDDED) == chosen() == ""
        assert chosen(CLOUD, extract_enabled=False) == chosen(CLOUD, distil_max_calls_per_hour=0) == ""


async def test_an_answer_is_asked_of_that_source_for_a_bounded_time(tmp_path: Path) -> None:
    async with bench(tmp_path) as on:
        completions = Completions()
        background = Background(Sources(CLOUD), completions, Settings(), on.store, on.wall)
        assert await background.ask("distil", SAID, 500) == "yes"
        ((plugin, question),) = completions.asked
        assert (plugin, question.source, question.limit, question.max_tokens) == ("jobs:distil", "cloud", TIMEOUT, 500)


async def test_the_hours_calls_are_counted_before_each_and_also_over_a_restart(tmp_path: Path) -> None:
    async with bench(tmp_path) as on:
        completions = Completions()
        for _ in range(2):  # the second is a restart
            background = Background(
                Sources(CLOUD), completions, Settings(distil_max_calls_per_hour=4), on.store, on.wall
            )
            await background.ask("distil", SAID, 500)
            await background.ask("merge", SAID, 500)
        with pytest.raises(Later, match="budget"):
            await background.ask("distil", SAID, 500)
        assert len(completions.asked) == 4
        on.now += 3599
        with pytest.raises(Later):
            await background.ask("distil", SAID, 500)
        on.now += 1
        await background.ask("distil", SAID, 500)
        assert len(completions.asked) == 5


async def test_a_call_that_failed_counts_too(tmp_path: Path) -> None:
    async with bench(tmp_path) as on:
        completions = Completions(TimedOut("late"))
        background = Background(Sources(CLOUD), completions, Settings(distil_max_calls_per_hour=1), on.store, on.wall)
        with pytest.raises(TimedOut):
            await background.ask("distil", SAID, 500)
        with pytest.raises(Later):
            await background.ask("distil", SAID, 500)


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (Unavailable("none"), "unavailable"),
        (ProviderError(ErrorKind.TRANSIENT, "down"), "transient"),
        (ProviderError(ErrorKind.CREDENTIAL, "no key"), "credential"),
    ],
)
async def test_what_keeps_a_source_from_answering_anybody_is_an_outage(
    tmp_path: Path, error: HomedError, reason: str
) -> None:
    async with bench(tmp_path) as on:
        background = Background(Sources(CLOUD), Completions(error), Settings(), on.store, on.wall)
        with pytest.raises(Outage) as caught:
            await background.ask("distil", SAID, 500)
        assert caught.value.reason == reason


async def test_a_refusal_is_the_questions_own_and_two_late_answers_in_a_row_are_an_outage(tmp_path: Path) -> None:
    async with bench(tmp_path) as on:
        refused = ProviderError(ErrorKind.REFUSED, "no")
        late = TimedOut("late")
        background = Background(
            Sources(CLOUD), Completions(refused, late, None, late, late), Settings(), on.store, on.wall
        )
        with pytest.raises(ProviderError):
            await background.ask("distil", SAID, 500)
        with pytest.raises(TimedOut):
            await background.ask("distil", SAID, 500)
        await background.ask("distil", SAID, 500)
        with pytest.raises(TimedOut):
            await background.ask("distil", SAID, 500)
        with pytest.raises(Outage):
            await background.ask("distil", SAID, 500)
        with pytest.raises(Outage, match="no model"):
            await Background(Sources(), Completions(), Settings(), on.store, on.wall).ask("distil", SAID, 5)
