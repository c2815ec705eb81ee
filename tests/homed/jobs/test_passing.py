"""The pass that follows a turn: what is made of it by one question, or without any; nothing is lost or doubled."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from homed.errors import TimedOut
from homed.events import MEMORY
from homed.jobs.extract import Extractor
from homed.jobs.job import QUARANTINE, Later, Outage, Run
from homed.jobs.passing import LAST_BATCH, REST, LastPorts, last_words
from homed.jobs.storing import Extracted
from homed.jobs.transcript import Transcript
from homed.memory import passes
from tests.homed.jobs.passed import Passes, change, ended, gates
from tests.homed.jobs.past import SAID, Bench, Settings, bench
from tests.homed.jobs.test_distil import Reader
from tests.homed.jobs.test_extract import ANSWERED, ASKED, FACT, Model, answer, background_of
from tests.kit.failpoints import Recorder
from tests.kit.past import Said

TURN = Said(question=ASKED, answer=ANSWERED)


def with_model(on: Bench, model: Model, **settings: Any) -> Passes:
    given = Settings(**settings)
    return Passes(on, Extractor(background_of(on, model, given), on.store, given), settings=given)


async def summaries(on: Bench) -> list[tuple[Any, ...]]:
    return await on.rows("SELECT text, extractor, revision FROM records WHERE record = 'summary' ORDER BY seq")


async def facts(on: Bench) -> list[str]:
    return await on.column("SELECT text FROM records WHERE record = 'fact' ORDER BY seq")


async def owed(on: Bench) -> list[tuple[Any, ...]]:
    return await on.rows("SELECT turn, told FROM passes ORDER BY at")


async def test_the_end_of_a_turn_owes_it_a_pass_which_makes_all_of_it_by_one_question(tmp_path: Path) -> None:
    async with bench(tmp_path) as on:
        (event, *_) = said = await ended(on, TURN)
        assert await owed(on) == [(event.turn, 0)]
        model = Model(answer())
        passed = with_model(on, model)
        assert (await passed.run()).made == 2
        assert (await facts(on), len(model.asked)) == (["The user lives in Bern."], 1)
        assert await summaries(on) == [("Find a dentist.\n-\nOne was found.", "model", 1)]
        assert await on.rows("SELECT event, excerpt FROM evidence WHERE excerpt <> ''") == [
            (event.id, "I have moved to Bern")
        ]
        assert set(await on.layers(said)) == {"context"}, "it is covered, and stays where it is"
        assert await on.column("SELECT DISTINCT pass FROM events") == ["model"]
        assert await owed(on) == []
        assert (await passed.run()).seen == 0
        assert (len(model.asked), passed.next) == (1, None)
        assert await on.column("SELECT job FROM job_calls") == ["pass"], "of whose hour it is"


async def test_b9_what_was_really_written_is_told_with_its_ids(tmp_path: Path) -> None:
    async with bench(tmp_path) as on:
        (event, *_) = await ended(on, TURN)
        passed = with_model(on, Model(answer()))
        await passed.run()
        (notice,) = [one for one in passed.told if one.type == MEMORY]
        ids = await on.rows("SELECT record, id FROM records ORDER BY record")
        assert (notice.turn, notice.thread, notice.scope) == (event.turn, event.thread, "owner")
        assert notice.data == {
            "what": "written", "state": "done", "made": 2, "records": {record: [id_] for record, id_ in ids},
        }  # fmt: skip
        written = await on.store.read(lambda tx: passes.written(tx, event.turn))
        assert (written.state, written.records) == ("done", {record: (id_,) for record, id_ in ids})
        assert set(notice.without_content().data) == set(notice.data)


async def test_without_a_model_it_is_recorded_all_the_same_by_rules_and_an_outline(tmp_path: Path) -> None:
    async with bench(tmp_path) as on:
        await ended(on, Said(question=f"My name is Zelda. {ASKED}", answer=ANSWERED), Said(question="ok", answer="ok"))
        passed = Passes(on, Reader())
        assert (await passed.run()).seen == 2
        assert "The user's name is Zelda." in await facts(on)
        ((text, extractor, _),) = await summaries(on)
        assert text.split("\n") == ["My name is Zelda.", "-", "You told me once that you own a boat."]
        assert extractor == "fallback"
        assert await owed(on) == []
        assert await on.column("SELECT pass FROM events WHERE kind = 'user' ORDER BY seq") == ["rules", "none"]


async def test_a_model_may_still_read_what_has_an_outline_alone(tmp_path: Path) -> None:
    async with bench(tmp_path) as on:
        await ended(on, Said(question="What do the trams of the old town cost on a Sunday in the winter?", answer="2."))
        await Passes(on, Reader()).run()
        assert len(await summaries(on)) == 1
        assert await on.column("SELECT DISTINCT pass FROM events") == ["none"]


@pytest.mark.parametrize("bad", ["no", "", "{", '{"facts_of_life": []}'])
async def test_two_bad_answers_are_counted_and_the_rest_is_done_without(tmp_path: Path, bad: str) -> None:
    async with bench(tmp_path) as on:
        await ended(on, TURN)
        model = Model(bad)
        await with_model(on, model).run()
        assert len(model.asked) == 2
        assert [row[1] for row in await summaries(on)] == ["fallback"]
        assert await gates(on) == {"asked_again": 1, "bad_json": 1}
        assert await owed(on) == []


async def test_a_private_turn_an_agents_that_was_made_and_a_forgotten_one_are_owed_nothing(tmp_path: Path) -> None:
    async with bench(tmp_path) as on:
        private, forgotten = (await ended(on, TURN))[0], (await ended(on, TURN))[0]
        await ended(on, TURN, scope="temp:child_1")
        await change(on, "UPDATE events SET no_memory = 1 WHERE turn = ?", private.turn)
        await change(on, "DELETE FROM events WHERE turn = ?", forgotten.turn)
        model = Model(answer())
        assert (await with_model(on, model).run()).seen == 0
        assert (model.asked, await owed(on), await on.rows("SELECT 1 FROM records")) == ([], [], [])


async def test_what_a_plugin_said_is_recorded_and_never_read(tmp_path: Path) -> None:
    async with bench(tmp_path) as on:
        await ended(on, Said(question=f"My name is Mallory. {ASKED}", answer=ANSWERED))
        await change(on, "UPDATE inputs SET untrusted = 1")
        model = Model(answer())
        await with_model(on, model).run()
        assert (model.asked, await facts(on)) == ([], [])
        assert await on.column("SELECT untrusted FROM records WHERE record = 'summary'") == [1]


async def test_what_the_kernel_says_to_its_model_is_no_summary(tmp_path: Path) -> None:
    async with bench(tmp_path) as on:
        await ended(on, TURN)
        await change(on, "UPDATE inputs SET mark = 'kernel'")
        await with_model(on, Model(answer())).run()
        assert (await summaries(on), await owed(on)) == ([], [])


# -- small talk ----------------------------------------------------------------------------------------------------

SMALL = [Said(question=f"And I like tea number {n}.", answer="Noted.") for n in range(3)]


@pytest.mark.parametrize(
    ("after", "asked", "next_"),
    [(10.0, 0, 20.0), (29.0, 0, 1.0), (30.0, 1, None), (500.0, 1, None)],
)
async def test_small_talk_is_gathered_until_the_conversation_rests(
    tmp_path: Path, after: float, asked: int, next_: float | None
) -> None:
    async with bench(tmp_path) as on:
        await ended(on, *SMALL)
        on.now = SAID + 2 + after
        model = Model(json.dumps({"l2": []}))
        passed = with_model(on, model)
        await passed.run()
        assert (len(model.asked), passed.next) == (asked, next_)
        if asked:
            assert all(f"number {n}" in model.asked[0].said[1][1] for n in range(3))
            assert await owed(on) == []


async def test_it_waits_no_longer_than_two_minutes_however_busy_the_conversation_is(tmp_path: Path) -> None:
    async with bench(tmp_path) as on:
        events = await ended(on, *SMALL)
        await change(on, "UPDATE turns SET ended_at = NULL WHERE id = ?", events[-1].turn)
        await change(on, "DELETE FROM passes WHERE turn = ?", events[-1].turn)
        model = Model(json.dumps({"l2": []}))
        passed = with_model(on, model)
        on.now = SAID + 119
        await passed.run()
        assert (len(model.asked), passed.next) == (0, 1.0)
        on.now = SAID + 120
        await passed.run()
        assert len(model.asked) == 1


async def test_much_of_it_is_read_at_once(tmp_path: Path) -> None:
    async with bench(tmp_path) as on:
        await ended(on, *[Said(question=f"Tea {n}, 我喜欢喝茶。", answer="记下了，谢谢。") for n in range(40)])
        on.now = SAID + 41
        model = Model(json.dumps({"l2": []}))
        await with_model(on, model).run()
        assert model.asked
        shown = [question.said[1][1] for question in model.asked]
        assert all(sum(f"Tea {n}," in text for text in shown) == 1 for n in range(40)), "each once"


async def test_greetings_are_worth_no_question(tmp_path: Path) -> None:
    async with bench(tmp_path) as on:
        await ended(on, Said(question="ok", answer="Good."), Said(question="thanks", answer="Bye."))
        model = Model(answer())
        await with_model(on, model).run()
        assert (model.asked, await owed(on)) == ([], [])
        assert await on.column("SELECT DISTINCT pass FROM events") == ["none"]


# -- a model that cannot be asked ----------------------------------------------------------------------------------


class Failing(Reader):
    """Raises these, one a question, the last again and again; None: reads."""

    def __init__(self, on: Bench, model: Model, *errors: Exception | None) -> None:
        super().__init__(lambda script: Extracted("model"))
        self.errors = list(errors)
        given = Settings()
        self.real = Extractor(background_of(on, model, given), on.store, given)

    async def read(self, run: Run, script: Transcript) -> Extracted:
        self.scripts.append(script)
        error = self.errors.pop(0) if len(self.errors) > 1 else self.errors[0]
        if error is not None:
            raise error
        return await self.real.read(run, script)


@pytest.mark.parametrize("error", [Outage("gone", "connect"), Later("budget"), Later("spend")])
async def test_one_that_is_gone_is_waited_for_and_makes_that_same_summary_better(
    tmp_path: Path, error: Exception
) -> None:
    async with bench(tmp_path) as on:
        events = await ended(on, TURN, TURN)
        reader = Failing(on, Model(answer()), error, None)
        passed = Passes(on, reader)
        await passed.run()
        assert passed.failed is error
        assert len(reader.scripts) == 1, "the others are not tried"
        assert [row[1:] for row in await summaries(on)] == [("fallback", 1)] * 2, "and recorded all the same"
        assert await owed(on) == [(events[0].turn, 1), (events[2].turn, 1)]
        assert passed.next == REST
        assert [one.data["state"] for one in passed.told] == ["told", "told"]
        await passed.run()
        assert len(reader.scripts) == 1, "nobody is asked while it rests"
        on.now += REST
        await passed.run()
        assert await summaries(on) == [("Find a dentist.\n-\nOne was found.", "model", 2)] * 2
        assert (await facts(on), await owed(on)) == (["The user lives in Bern."], [])
        history = await on.rows("SELECT revision, why FROM revisions")
        assert history == [(1, "model"), (1, "model")], "what it said before is kept"


async def test_it_rests_longer_each_time(tmp_path: Path) -> None:
    async with bench(tmp_path) as on:
        await ended(on, TURN)
        passed = Passes(on, Failing(on, Model(answer()), Outage("gone", "connect")))
        rests = []
        for _ in range(6):
            await passed.run()
            assert passed.next is not None
            rests.append(passed.next)
            on.now += passed.next
        assert rests == [60.0, 120.0, 240.0, 480.0, 900.0, 900.0]


async def test_what_fails_three_times_is_left_alone_recorded_and_tried_again_when_it_is_released(
    tmp_path: Path,
) -> None:
    async with bench(tmp_path) as on:
        (event, *_) = await ended(on, TURN)
        reader = Failing(on, Model(answer()), TimedOut("late"))
        passed = Passes(on, reader)
        for _ in range(QUARANTINE + 2):
            await passed.run()
        assert len(reader.scripts) == QUARANTINE
        assert await on.rows("SELECT job, unit, held FROM job_units") == [("pass", event.turn, 1)]
        assert [row[1] for row in await summaries(on)] == ["fallback"]
        assert await gates(on) == {"quarantine": 1}
        assert passed.next is None
        assert (await on.store.read(lambda tx: passes.written(tx, event.turn))).state == "held"
        await change(on, "DELETE FROM job_units")
        reader.errors = [None]
        await passed.run()
        assert (await owed(on), [row[1] for row in await summaries(on)]) == ([], ["model"])


async def test_forgotten_while_the_model_read_it_nothing_is_written_or_counted(tmp_path: Path) -> None:
    async with bench(tmp_path) as on:
        (event, *_) = await ended(on, TURN)

        class Forgetting(Failing):
            async def read(self, run: Run, script: Transcript) -> Extracted:
                await change(on, "UPDATE events SET no_memory = 1 WHERE id = ?", event.id)
                return await super().read(run, script)

        passed = Passes(on, Forgetting(on, Model(answer(l2=[FACT, {**FACT, "text": ""}])), None))
        assert (await passed.run()).drops == {"changed": 1}
        assert (await gates(on), await on.rows("SELECT 1 FROM records"), passed.told) == ({}, [], [])


# -- at an exit ----------------------------------------------------------------------------------------------------


async def test_at_an_exit_what_waits_is_recorded_and_still_owed(tmp_path: Path) -> None:
    points = Recorder()
    async with bench(tmp_path, points) as on:
        events = await ended(on, TURN, Said(question="ok", answer="ok"), TURN)
        ports = LastPorts(store=on.store, settings=Settings(), wall=on.wall, failpoints=points)
        assert await last_words(ports) == 2
        assert await last_words(ports) == 0, "once"
        assert [row[1:] for row in await summaries(on)] == [("fallback", 1)] * 2
        assert await owed(on) == [(events[0].turn, 1), (events[2].turn, 0), (events[4].turn, 1)]
        assert await on.column("SELECT DISTINCT pass FROM events") == [""]
        assert "pass.told" in points.reached
        await with_model(on, Model(answer())).run()
        assert [row[1:] for row in await summaries(on)] == [("model", 2)] * 2, "one summary a turn"
        assert await owed(on) == []


async def test_an_exit_waits_no_longer_than_it_may_and_what_is_not_recorded_is_owed(tmp_path: Path) -> None:
    async with bench(tmp_path) as on:
        await ended(on, *[TURN] * (LAST_BATCH + 1))
        ports = LastPorts(store=on.store, settings=Settings(), wall=on.wall, failpoints=on.failpoints)
        assert await last_words(ports, within=0.0) == 0
        assert len(await owed(on)) == LAST_BATCH + 1
        assert await last_words(ports, within=60.0) == LAST_BATCH + 1
