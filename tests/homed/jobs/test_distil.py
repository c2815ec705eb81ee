"""Distillation: what cools becomes facts, a summary and evidence; with rules, with a model that is fine, and none."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from homed.errors import TimedOut
from homed.jobs.book import Counts
from homed.jobs.distil import DistilPorts, distil
from homed.jobs.job import Job, Later, Outage, Run
from homed.jobs.storing import Extracted, Found
from homed.jobs.transcript import Transcript
from homed.memory.evidence import Pointer, Span
from homed.memory.newfact import NewFact
from homed.memory.records import Event
from tests.homed.jobs.past import DAY, HOUR, NOW, SAID, Bench, Settings, bench
from tests.kit.builders import OWNER
from tests.kit.past import Said

LONG = "I moved to Bern last week, and my new flat has a view of the river and the old town. "


def fact(event: Event, text: str = "", quote: str = "I moved to Bern") -> Found:
    at = event.text.find(quote)
    assert at >= 0
    new = NewFact(event.scope, text or quote, peer=OWNER.peer, extractor="rules")
    return Found(new, (Span(event.id, at, at + len(quote)),))


def bern(event: Event) -> Sequence[Found]:
    """Rules that know one sentence."""
    assert event.peer == OWNER.peer
    return [fact(event)] if "I moved to Bern" in event.text else []


class Reader:
    """A model as the job sees it: reads ``answer`` out of each transcript."""

    def __init__(self, answer: Callable[[Transcript], Extracted] | None = None) -> None:
        self.scripts: list[Transcript] = []
        self._answer = answer

    def ready(self) -> bool:
        return self._answer is not None

    async def read(self, run: Run, script: Transcript) -> Extracted:
        assert self._answer is not None
        self.scripts.append(script)
        return self._answer(script)


def model_facts(script: Transcript) -> Extracted:
    """One fact of each transcript."""
    quote = script.find("I moved to Bern")
    assert quote.span is not None
    new = NewFact(script.pieces[0].scope, "The user lives in Bern.", peer=OWNER.peer)
    return Extracted("model", (Found(new, (quote.span,)),))


def job(on: Bench, reader: Reader | None = None, **settings: object) -> Job:
    return distil(
        DistilPorts(
            store=on.store, settings=Settings(**settings), wall=on.wall, reader=reader or Reader(), rules=bern,
            failpoints=on.failpoints,
        )
    )  # fmt: skip


async def facts(on: Bench) -> list[str]:
    return await on.column("SELECT text FROM records WHERE record = 'fact' ORDER BY seq")


async def test_by_rules_what_has_cooled_becomes_facts_a_summary_and_evidence(tmp_path: Path) -> None:
    async with bench(tmp_path) as on:
        said = await on.cooled(Said(question=LONG, answer="How nice! Which street?", results=[("web", "a page", True)]))
        counts = await on.run(job(on))
        assert counts == Counts(seen=1, made=2)
        assert await facts(on) == ["I moved to Bern"]
        (summary,) = await on.rows(
            "SELECT text, title, kind, importance, extractor, untrusted FROM records WHERE record = 'summary'"
        )
        assert summary[0].split("\n") == [LONG.strip(), "web", "Which street?"]
        assert summary[2:] == ("turn", 3, "fallback", 1), "strangers' words were in view when it was answered"
        assert set(await on.layers(said)) == {"archived"}
        assert await on.column("SELECT DISTINCT pass FROM events") == ["rules"]
        assert await on.run(job(on)) == Counts(), "nothing is done twice"


async def test_a_summary_that_nobody_wrote_is_tagged_with_what_its_request_is_about(tmp_path: Path) -> None:
    async with bench(tmp_path) as on:
        await on.cooled(Said(question=f"{LONG} Which street?", answer="The long one."))
        made = distil(
            DistilPorts(
                store=on.store, settings=Settings(), wall=on.wall, reader=Reader(), rules=bern,
                failpoints=on.failpoints, topics=lambda text, most: text.split()[:most],
            )
        )  # fmt: skip
        await on.run(made)
        (row,) = await on.rows("SELECT text, tags FROM records WHERE record = 'summary'")
        assert json.loads(row[1]) == row[0].split()[:5], "of its own words, so that they are forgotten with it"


@pytest.mark.parametrize(("now", "done"), [(SAID + HOUR + 72 * HOUR - 1, 0), (SAID + HOUR + 72 * HOUR, 1)])
async def test_it_takes_72_hours(tmp_path: Path, now: float, done: int) -> None:
    async with bench(tmp_path) as on:
        await on.cooled(Said(question=LONG))
        on.now = now
        assert (await on.run(job(on))).seen == done


async def test_small_talk_has_no_summary_but_goes_to_the_archive_and_what_it_states_is_kept(tmp_path: Path) -> None:
    async with bench(tmp_path) as on:
        said = await on.cooled(Said(question="ok", answer="Good."), Said(question="I moved to Bern.", answer="Nice."))
        assert (await on.run(job(on))).made == 1
        assert await facts(on) == ["I moved to Bern"]
        assert await on.column("SELECT count(*) FROM records WHERE record = 'summary'") == [0]
        assert set(await on.layers(said)) == {"archived"}
        assert sorted(await on.column("SELECT pass FROM events")) == ["none", "none", "rules", "rules"]


async def test_with_a_model_each_turn_is_read_once_and_small_talk_of_a_conversation_together(tmp_path: Path) -> None:
    async with bench(tmp_path) as on:
        small = [Said(question=f"and I like number {n}", answer="ok") for n in range(3)]
        said = await on.cooled(Said(question=LONG), *small)
        other = await on.cooled(Said(question="My cat is called Nero.", answer="ok"))
        reader = Reader(lambda script: model_facts(script) if LONG[:20] in script.text else Extracted("model"))
        counts = await on.run(job(on, reader))
        assert counts.seen == 5
        assert counts.made == 1
        first, talk, cat = reader.scripts
        assert [len(script.pieces) for script in reader.scripts] == [1, 3, 1]
        assert first.text == f"USER: {LONG.strip()}\nASSISTANT: I see."
        assert "number 0" in talk.text
        assert "Nero" in cat.text
        assert set(await on.layers([*said, *other])) == {"archived"}
        assert await on.column("SELECT DISTINCT pass FROM events") == ["model"]
        await on.run(job(on, reader))
        assert len(reader.scripts) == 3


async def test_what_rules_made_something_of_is_not_read_again_and_what_they_did_not_is(tmp_path: Path) -> None:
    async with bench(tmp_path) as on:
        said = await on.cooled(Said(question=LONG), Said(question=LONG.replace("Bern", "Rome")))
        await on.store.write(lambda tx: tx.execute("UPDATE events SET pass = 'rules' WHERE id = ?", (said[0].id,)))
        await on.store.write(lambda tx: tx.execute("UPDATE events SET pass = 'none' WHERE id = ?", (said[2].id,)))
        reader = Reader(lambda script: Extracted("model"))
        await on.run(job(on, reader))
        assert [script.pieces[0].turn for script in reader.scripts] == [said[2].turn]
        assert set(await on.layers(said)) == {"archived"}
        assert await on.column("SELECT pass FROM events ORDER BY seq") == ["rules", "none", "model", "model"]


async def test_without_a_usable_answer_rules_do_it(tmp_path: Path) -> None:
    async with bench(tmp_path) as on:
        await on.cooled(Said(question=LONG))
        assert (await on.run(job(on, Reader(lambda script: Extracted(""))))).made == 2
        assert await facts(on) == ["I moved to Bern"]
        assert await on.column("SELECT DISTINCT pass FROM events") == ["rules"]


async def test_what_a_plugin_said_is_no_statement_of_the_persons(tmp_path: Path) -> None:
    async with bench(tmp_path) as on:
        said = await on.cooled(Said(question=LONG))
        await on.store.write(lambda tx: tx.execute("UPDATE inputs SET untrusted = 1"))
        reader = Reader(model_facts)
        await on.run(job(on, reader))
        assert reader.scripts == []
        assert await facts(on) == []
        assert set(await on.layers(said)) == {"archived"}
        assert await on.column("SELECT untrusted FROM records WHERE record = 'summary'") == [1]


async def test_what_strangers_wrote_is_in_no_transcript(tmp_path: Path) -> None:
    async with bench(tmp_path) as on:
        page = "The user is called Mallory and the password is hunter2."
        await on.cooled(Said(question=LONG, results=[("web", page, True), ("web", page, True), ("note", page, False)]))
        reader = Reader(model_facts)
        await on.run(job(on, reader))
        assert "Mallory" not in reader.scripts[0].text
        assert "TOOLS: web ×2, note" in reader.scripts[0].text
        assert reader.scripts[0].find("The user is called Mallory").span is None


async def test_forgotten_meanwhile_nothing_at_all_is_written_of_it(tmp_path: Path) -> None:
    async with bench(tmp_path) as on:
        said = await on.cooled(Said(question=LONG), Said(question=LONG + "Again."))
        gone = iter(["DELETE FROM events WHERE id = ?", "UPDATE events SET no_memory = 1 WHERE id = ?"])
        ids = iter([said[1].id, said[2].id])

        class Forgetting(Reader):
            async def read(self, run: Run, script: Transcript) -> Extracted:
                await on.store.write(lambda tx: tx.execute(next(gone), (next(ids),)))
                return model_facts(script)

        counts = await on.run(job(on, Forgetting(model_facts)))
        assert counts.drops == {"changed": 2}
        assert counts.made == 0
        assert await on.column("SELECT count(*) FROM records") == [0]
        assert await on.layers(said) == ["cold", "cold", "cold"]


async def test_looked_at_meanwhile_it_stays_cold_with_its_facts_and_is_not_read_again(tmp_path: Path) -> None:
    async with bench(tmp_path) as on:
        said = await on.cooled(Said(question=LONG))

        class Looking(Reader):
            async def read(self, run: Run, script: Transcript) -> Extracted:
                self.scripts.append(script)
                look = "INSERT INTO accesses VALUES ('turn_now', ?, ?)"
                await on.store.write(lambda tx: tx.execute(look, (said[0].id, NOW)))
                return model_facts(script)

        reader = Looking(model_facts)
        await on.run(job(on, reader))
        assert await on.layers(said) == ["cold", "archived"]
        assert len(await facts(on)) == 1
        on.now += 4 * DAY
        await on.run(job(on, reader))
        assert len(reader.scripts) == 1
        assert set(await on.layers(said)) == {"archived"}
        assert len(await facts(on)) == 1


async def test_a_timeout_is_the_units_and_an_outage_or_a_used_up_budget_ends_the_run(tmp_path: Path) -> None:
    async with bench(tmp_path) as on:
        said = await on.cooled(*[Said(question=LONG + str(n)) for n in range(3)])
        answers: list[BaseException] = [TimedOut("late"), Outage("gone", "connect")]

        class Failing(Reader):
            async def read(self, run: Run, script: Transcript) -> Extracted:
                self.scripts.append(script)
                raise answers[min(len(self.scripts), len(answers)) - 1]

        with pytest.raises(Outage):
            await on.run(job(on, Failing(model_facts)))
        assert await on.rows("SELECT unit, failures, error FROM job_units") == [(said[0].turn, 1, "timeout")]
        answers[:] = [Later("budget")]
        counts = await on.run(job(on, Failing(model_facts)))
        assert (counts.drops, counts.errors, counts.seen) == ({"budget": 1}, 0, 1)
        assert set(await on.layers(said)) == {"cold"}
        assert (await on.run(job(on, Reader(model_facts)))).seen == 3
        assert await on.rows("SELECT * FROM job_units") == []


async def test_drops_say_at_which_gate(tmp_path: Path) -> None:
    async with bench(tmp_path) as on:
        (event, *_) = await on.cooled(Said(question=LONG + "My key is sk-abcdefghijklmnopqrstuvwx123456."))

        def planted(script: Transcript) -> Extracted:
            good = fact(event)
            return Extracted(
                "model",
                (
                    good,
                    Found(NewFact("owner", "The key is sk-abcdefghijklmnopqrstuvwx123456."), good.evidence),
                    Found(NewFact("owner", "The user has a boat."), ()),
                    Found(NewFact("owner", "The user has two boats."), (Pointer("ev_nowhere"),)),
                    Found(NewFact("owner", "Something.", kind="poem"), good.evidence),
                    good,
                ),
            )

        counts = await on.run(job(on, Reader(planted)))
        assert counts.made == 1
        assert counts.drops == {"secret": 1, "evidence": 2, "invalid": 1, "known": 1}


async def test_the_place_it_was_cut_off_at_is_where_it_goes_on(tmp_path: Path) -> None:
    async with bench(tmp_path) as on:
        await on.cooled(*[Said(question=LONG + str(n)) for n in range(5)])
        seen = await on.run(job(on), {"sunk_at": SAID + HOUR, "seq": 6})
        assert seen.seen == 2
