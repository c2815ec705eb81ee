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
from homed.jobs.model import TIMEOUT, Background, BackgroundPorts
from homed.providers.base import LOCAL, ErrorKind, ProviderError, Source, Usage
from homed.spend.ports import OverLimit
from tests.homed.jobs.past import Bench, Settings, bench

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


def asker(on: Bench, sources: Sources, completions: Completions, **settings: Any) -> Background:
    return Background(
        BackgroundPorts(
            sources=sources, completions=completions, settings=Settings(**settings), store=on.store, wall=on.wall,
            turns=on.turns,
        )
    )  # fmt: skip


async def test_the_source_set_for_it_else_the_one_in_use_else_the_first_and_never_the_built_in_one(
    tmp_path: Path,
) -> None:
    async with bench(tmp_path) as on:

        def chosen(*sources: Source, current: str = "", **settings: Any) -> str:
            found = asker(on, Sources(*sources, current=current), Completions(), **settings).source()
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
        background = asker(on, Sources(CLOUD), completions)
        assert await background.ask("distil", SAID, 500) == "yes"
        ((plugin, question),) = completions.asked
        assert (plugin, question.source, question.limit, question.max_tokens) == ("jobs:distil", "cloud", TIMEOUT, 500)


async def test_the_hours_calls_are_counted_before_each_and_also_over_a_restart(tmp_path: Path) -> None:
    async with bench(tmp_path) as on:
        completions = Completions()
        for _ in range(2):  # the second is a restart
            background = asker(on, Sources(CLOUD), completions, distil_max_calls_per_hour=4)
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
        background = asker(on, Sources(CLOUD), completions, distil_max_calls_per_hour=1)
        with pytest.raises(TimedOut):
            await background.ask("distil", SAID, 500)
        with pytest.raises(Later):
            await background.ask("distil", SAID, 500)


async def test_what_the_day_may_cost_without_its_owner_is_for_a_later_run_and_no_outage(tmp_path: Path) -> None:
    async with bench(tmp_path) as on:
        over = OverLimit("used up", hint="tomorrow", limit="day_tokens")
        with pytest.raises(Later, match="spend"):
            await asker(on, Sources(CLOUD), Completions(over)).ask("distil", SAID, 500)


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
        background = asker(on, Sources(CLOUD), Completions(error))
        with pytest.raises(Outage) as caught:
            await background.ask("distil", SAID, 500)
        assert caught.value.reason == reason


async def test_a_refusal_is_the_questions_own_and_two_late_answers_in_a_row_are_an_outage(tmp_path: Path) -> None:
    async with bench(tmp_path) as on:
        refused = ProviderError(ErrorKind.REFUSED, "no")
        late = TimedOut("late")
        background = asker(on, Sources(CLOUD), Completions(refused, late, None, late, late))
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
            await asker(on, Sources(), Completions()).ask("distil", SAID, 5)


class Slow(Completions):
    """A model on this machine: answers when a test lets it."""

    def __init__(self) -> None:
        super().__init__()
        self.begun = trio.Event()
        self.let = trio.Event()
        self.broken_off = 0

    async def ask(self, plugin: str, question: Question) -> Completion:
        self.begun.set()
        try:
            await self.let.wait()
        except trio.Cancelled:
            self.broken_off += 1
            raise
        return await super().ask(plugin, question)


async def test_a_model_on_this_machine_is_let_go_for_a_turn_and_asked_again_after_it(tmp_path: Path) -> None:
    here = Source("mine", "", "m", adapter=LOCAL, path="/m.gguf")
    async with bench(tmp_path) as on:
        slow, found = Slow(), list[str]()
        background = asker(on, Sources(here), slow)

        async def ask() -> None:
            found.append(await background.ask("distil", SAID, 500))

        with trio.fail_after(60):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(ask)
                await slow.begun.wait()
                slow.begun = trio.Event()
                on.turns.begin()
                while not slow.broken_off:  # noqa: ASYNC110 - it is noticed within a tenth of a second
                    await trio.sleep(0.01)
                assert not slow.begun.is_set()
                on.turns.end()
                slow.let.set()
        assert found == ["yes"]
        assert await on.column("SELECT count(*) FROM job_calls") == [1]
