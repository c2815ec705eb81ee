"""Titles of conversations that a person gave: words of what is forgotten go with it there, or the proof names them."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from homed.jobs.forget import delete_quietly
from homed.memory import threads
from tests.homed.jobs.test_carrying import into, out
from tests.kit.forgetting import in_fork, standing, world

SECRET = "My sister Ludmilla hides the spare key beneath the flowerpot. It is blue."
TITLES = (
    "Hides the spare KEY beneath the flowerpot",
    "NB: my sister ludmilla hides the spare key beneath the flowerpot!",
)


@pytest.mark.parametrize("title", TITLES)
async def test_a_title_of_the_same_conversation_that_says_it_goes_with_the_message(tmp_path: Path, title: str) -> None:
    async with world(tmp_path, searcher=in_fork(tmp_path)) as here:
        await here.say("The river is cold.")
        asked, _ = await here.say(SECRET)
        await here.store.write(lambda tx: threads.rename(tx, asked.thread, title))
        proof = await here.forgetting.forget("event", asked.id)
        assert await here.value("SELECT title FROM threads") == ""
        assert proof.clean, str(proof.wire())
    assert standing(tmp_path, "flowerpot") == {}


async def test_one_that_repeats_the_answer_goes_with_the_answer(tmp_path: Path) -> None:
    async with world(tmp_path, searcher=in_fork(tmp_path)) as here:
        _, answer = await here.say("Where is it?", SECRET)
        await here.store.write(lambda tx: threads.rename(tx, answer.thread, TITLES[0]))
        assert (await here.forgetting.forget("event", answer.id)).clean
        assert await here.value("SELECT title FROM threads") == ""


async def test_one_that_says_something_else_or_a_word_of_it_stays(tmp_path: Path) -> None:
    async with world(tmp_path, searcher=in_fork(tmp_path)) as here:
        for title in ("Flowerpot", "What my sister said of Sundays"):
            asked, _ = await here.say(SECRET)
            await here.store.write(partial(threads.rename, thread=asked.thread, title=title))
            assert (await here.forgetting.forget("event", asked.id)).clean
            assert await here.value("SELECT title FROM threads") == title


@pytest.mark.parametrize("title", TITLES)
@pytest.mark.parametrize("kind", ["event", "fact"])
async def test_one_of_another_conversation_that_says_it_stays_and_is_named(
    tmp_path: Path, kind: str, title: str
) -> None:
    async with world(tmp_path, searcher=in_fork(tmp_path)) as here:
        asked, _ = await here.say(SECRET, "Noted.")
        target = asked.id if kind == "event" else await here.learn(SECRET, asked)
        other, _ = await here.say("The river is cold.", scope="group:telegram:7", peer="telegram:ada")
        await here.store.write(lambda tx: threads.rename(tx, other.thread, title))
        proof = await here.forgetting.forget(kind, target, wide=True)
        assert not proof.clean
        assert proof.found == {"homed.db": 1}
        assert proof.said == [{"table": "threads", "column": "title", "count": 1, "ids": [other.thread]}]
        assert await here.value("SELECT title FROM threads WHERE id = ?", other.thread) == title


async def test_an_export_brings_no_such_title_back(tmp_path: Path) -> None:
    async with world(tmp_path / "data", searcher=in_fork(tmp_path / "data")) as here:
        await here.say("The river is cold.")
        asked, _ = await here.say(SECRET)
        await here.store.write(lambda tx: threads.rename(tx, asked.thread, TITLES[0]))
        await out(here, tmp_path / "out")
        await here.forgetting.forget("event", asked.id)
        await delete_quietly(here.store, asked.thread)
        await here.store.write(lambda tx: tx.execute("DELETE FROM tombstones WHERE at > 1e6"))  # only deleted, that
        assert (await into(here, tmp_path / "out")).taken["threads"] == 1
        assert await here.value("SELECT title FROM threads") == ""
        assert await here.value("SELECT count(*) FROM events WHERE text = 'The river is cold.'") == 1
    assert standing(tmp_path / "data", "flowerpot") == {}
