"""Changes by hand, through the console: whose they may be, one transaction each, found at once, told to who watches."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from homed.errors import Conflict, InvalidInput, NotFound
from homed.events import MEMORY
from homed.jobs.console.ports import Seen
from homed.jobs.console.reading import ListAsked
from homed.memory.browse import Filters
from homed.memory.mutate import Edit, Note
from tests.homed.jobs.console.test_reading import learn
from tests.kit.console import GUEST, Desk, open_desk, who
from tests.kit.forgetting import World, world

OWNER = who()


@pytest.fixture
async def here(tmp_path: Path) -> AsyncIterator[World]:
    async with world(tmp_path, run=False) as made:
        yield made


@pytest.fixture
async def desk(here: World) -> AsyncIterator[Desk]:
    async with open_desk(here.folder, here.store) as made:
        yield made


async def found(desk: Desk, query: str) -> list[str]:
    asked = ListAsked(Filters(frozenset()), query)
    rows: Any = (await desk.console.reading.records(OWNER, asked, Seen())).answer["records"]
    return [row["text"] for row in rows]


async def test_an_edit_is_found_by_its_new_words_and_no_more_by_the_old_ones(here: World, desk: Desk) -> None:
    made = await learn(here, "The cat is black.")
    await learn(here, "The dog barks.")
    answer = await desk.console.changing.edit(OWNER, made[-8:], Edit(1, "The tomcat is grey.", tags=("pets",)))
    assert (answer["text"], answer["revision"], answer["mark"], answer["tags"], answer["superseded"]) == (
        "The tomcat is grey.", 2, "manual", ["pets"], [],
    )  # fmt: skip
    assert await found(desk, "tomcat") == ["The tomcat is grey."]
    assert await found(desk, "cat black") == []
    assert await here.value("SELECT count(*) FROM vector_todo WHERE kind = 'record'") == 2


async def test_every_change_is_told_to_who_watches_that_scope_once_it_is_stored(here: World, desk: Desk) -> None:
    one, two = await learn(here, "The cat is black."), await learn(here, "The black one is the cat's colour.")
    changing = desk.console.changing
    with desk.bus.subscribe(frozenset({MEMORY})) as heard:
        await changing.note(Note("owner", "Written by hand."))
        await changing.hide(OWNER, one)
        await changing.restore(OWNER, one)
        await changing.combine(OWNER, one, two)
        await changing.reinstate(OWNER, two)
        with pytest.raises(Conflict):
            await changing.reinstate(OWNER, two)
        heard.close()
        notices = [(notice.scope, dict(notice.data)) async for notice in heard]
    assert notices == [("owner", {"what": "changed", "events": []})] * 5
    assert desk.woken.times == 5


async def test_what_is_refused_changes_nothing(here: World, desk: Desk) -> None:
    made = await learn(here, "The cat is black.")
    with pytest.raises(InvalidInput, match="blocked: password"):
        await desk.console.changing.edit(OWNER, made, Edit(1, "password: hunter2hunter2"))
    with pytest.raises(InvalidInput, match="blocked: password"):
        await desk.console.changing.note(Note("owner", "密码: hunter2hunter2"))
    assert await here.value("SELECT group_concat(text) FROM records") == "The cat is black."
    assert await here.value("SELECT count(*) FROM revisions") == 0


async def test_b14_of_another_scope_nobody_but_an_owner_changes_anything_who_reads_none_of_it(
    here: World, desk: Desk
) -> None:
    mine, theirs = await learn(here, "Mine."), await learn(here, "Theirs is secret.", scope=GUEST.scope)
    changing = desk.console.changing
    for call in (changing.hide, changing.restore, changing.reinstate):
        with pytest.raises(NotFound):
            await call(GUEST, mine)
    with pytest.raises(NotFound):
        await changing.edit(GUEST, mine, Edit(1, "Not mine."))
    with pytest.raises(NotFound):
        await changing.hide(OWNER, theirs[-8:])
    with pytest.raises(Conflict):
        await changing.combine(OWNER, mine, theirs)
    answer = await changing.hide(OWNER, theirs)
    assert answer == {
        "id": theirs, "shown": theirs[-8:], "status": "hidden", "revision": 1, "along": [], "shortened": [],
    }  # fmt: skip
    assert "secret" not in str(await changing.restore(OWNER, theirs))
    assert (await changing.edit(GUEST, theirs, Edit(1, "Theirs is known.")))["text"] == "Theirs is known."


async def test_what_is_brought_back_must_be_cold_and_ones_own(here: World, desk: Desk) -> None:
    asked, _ = await here.say("Theirs.", scope=GUEST.scope, peer=GUEST.peer)
    bring_back = desk.console.changing.bring_back
    with pytest.raises(NotFound, match="cold"):
        await bring_back(GUEST, asked.id)
    await here.store.write(lambda tx: tx.execute("UPDATE events SET layer = 'cold'"))
    with pytest.raises(NotFound):
        await bring_back(OWNER, asked.id)
    await bring_back(GUEST, asked.id)
    with pytest.raises(NotFound):
        await bring_back(GUEST, asked.id)


async def test_a_note_says_what_became_of_it(here: World, desk: Desk) -> None:
    made = await learn(here, "The cat is black.")
    answer = await desk.console.changing.note(Note("owner", "the cat is black"))
    assert (answer["id"], answer["outcome"], answer["mark"]) == (made, "same", "manual")
    new = await desk.console.changing.note(Note("owner", "The dog barks.", tags=("dog",)))
    assert (new["outcome"], new["importance"], new["tags"]) == ("new", 6, ["dog"])
