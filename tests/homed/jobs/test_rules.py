"""The job that reads messages by rules where no model does."""

from __future__ import annotations

from pathlib import Path

from homed.jobs.book import Counts
from homed.jobs.job import Job
from homed.jobs.statements import StatementPorts, statements
from homed.jobs.storing import Extracted
from homed.memory.records import Event
from homed.store.rows import Tx
from tests.homed.jobs.past import Bench, bench
from tests.homed.jobs.test_distil import LONG, Reader, bern, facts
from tests.kit.past import Past, Said, put


def job(on: Bench, reader: Reader | None = None) -> Job:
    return statements(StatementPorts(store=on.store, reader=reader or Reader(), rules=bern, wall=on.wall))


async def said(on: Bench, *texts: str) -> list[Event]:
    past = Past(said=[Said(question=text) for text in texts])
    return await on.store.write(lambda tx: put(tx, past))


async def test_what_is_in_the_window_is_read_once_and_stays_there(tmp_path: Path) -> None:
    async with bench(tmp_path) as on:
        await said(on, LONG, "What is the weather?")
        assert await on.run(job(on)) == Counts(seen=2, made=1)
        assert await facts(on) == ["I moved to Bern"]
        assert await on.column("SELECT pass FROM events WHERE kind = 'user' ORDER BY seq") == ["rules", "none"]
        assert await on.column("SELECT DISTINCT layer FROM events") == ["context"]
        assert await on.run(job(on)) == Counts()


async def test_where_a_model_reads_rules_do_not(tmp_path: Path) -> None:
    async with bench(tmp_path) as on:
        await said(on, LONG)
        assert await on.run(job(on, Reader(lambda script: Extracted("model")))) == Counts()
        assert await facts(on) == []


async def test_what_runs_is_private_or_no_persons_word_makes_no_fact(tmp_path: Path) -> None:
    async with bench(tmp_path) as on:
        events = await said(on, *[LONG] * 4)

        def change(tx: Tx) -> None:
            tx.execute("UPDATE turns SET ended_at = NULL WHERE id = ?", (events[0].turn,))
            tx.execute("UPDATE events SET no_memory = 1 WHERE turn = ?", (events[2].turn,))
            tx.execute("UPDATE inputs SET untrusted = 1 WHERE turn = ?", (events[4].turn,))

        await on.store.write(change)
        counts = await on.run(job(on))
        assert counts.seen == 2
        assert counts.made == 1
        covered = await on.rows("SELECT id, pass FROM events WHERE pass <> '' ORDER BY seq")
        assert covered == [(events[4].id, "none"), (events[6].id, "rules")]


async def test_many_are_read_in_parts(tmp_path: Path) -> None:
    async with bench(tmp_path) as on:
        await said(on, *[f"message {n}" for n in range(230)])
        assert (await on.run(job(on))).seen == 230
        assert await on.column("SELECT count(*) FROM events WHERE kind = 'user' AND pass = ''") == [0]
