"""What was forgotten stays forgotten whatever backup is put back, also one that does not know what the wish names."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import closing
from pathlib import Path

import apsw
import pytest
import trio

from homed.errors import StorageError
from homed.memory import forgets
from homed.memory.records import Event
from homed.store import layout
from homed.store.backup import backup_as
from homed.store.files import MediaFiles
from homed.store.restore import restore
from homed.store.rows import Tx
from tests.kit.builders import says
from tests.kit.cast import MAIN, agents, one, settled, spawn
from tests.kit.failpoints import RaiseAt
from tests.kit.forgetting import World, in_fork, standing, world

KEPT = "The river is cold in winter, somebody said."
SOURCE = "She keeps a spare key beneath the blue flowerpot."
NAMING = "Ludmilla waters her flowerpot on Sundays."
BRIEF = "Count the blue flowerpots of Ludmilla in the cellar."
WORDS = ("flowerpot", "Ludmilla")

LATER = (
    "INSERT INTO events (id, scope, thread, turn, channel, kind, text, created_at) SELECT 'ev_later', scope, thread,"
    " turn, channel, 'note', 'One more thing of this turn.', 9 FROM events WHERE text = 'Do it, please.'"
)


async def saved(here: World, name: str = "first") -> None:
    await backup_as(here.store, MediaFiles(here.folder / "media"), here.folder.parent / name)


async def put_back(folder: Path, name: str = "first") -> int:
    """The backup in the place of the database; how many wishes are done again."""
    done = await trio.to_thread.run_sync(restore, folder / "homed.db", folder / "media", folder.parent / name)
    return done.forgotten


async def started(folder: Path) -> None:
    """The next start does what waits."""
    async with world(folder, searcher=in_fork(folder)) as here:
        await here.fulfilled()
        assert await here.value("SELECT count(*) FROM events WHERE text = ?", KEPT) == 1
        assert await here.value("SELECT count(*) FROM forget_todo") == 0


def left(folder: Path) -> dict[str, list[str]]:
    """Where the words stand still, beside what a restore keeps aside."""
    found = standing(folder, *WORDS).items()
    return {word: there for word, files in found if (there := [f for f in files if not f.startswith("replaced")])}


async def _learnt(here: World, source: Event) -> str:
    return await here.learn("Ludmilla hides a key.", source, subject="Ludmilla", relation="hides", object="key")


async def _fact(here: World, source: Event) -> None:
    await here.forgetting.forget("fact", await _learnt(here, source), wide=True)


async def _entity(here: World, source: Event) -> None:
    await _learnt(here, source)
    entity = str(await here.value("SELECT id FROM entities WHERE name = 'Ludmilla'"))
    await here.forgetting.forget("entity", entity, wide=True)


Wish = Callable[[World, Event], Awaitable[None]]


async def _forgotten(folder: Path, wish: Wish, *, failpoints: RaiseAt | None = None) -> None:
    """Said, saved, and only then learnt and forgotten with where it comes from."""
    async with world(folder, failpoints=failpoints, searcher=in_fork(folder)) as here:
        await here.say(KEPT)
        await saved(here, "before")
        source, _ = await here.say(SOURCE)
        if wish is _entity:
            await here.say(NAMING)
        await saved(here)
        await wish(here, source)


@pytest.mark.parametrize("wish", [_fact, _entity])
async def test_a_backup_older_than_what_the_wish_names_keeps_nothing_of_it(tmp_path: Path, wish: Wish) -> None:
    folder = tmp_path / "data"
    await _forgotten(folder, wish)
    assert left(folder) == {}
    for name in ("first", "before", "first"):  # what one of them does not have is known for the next
        assert await put_back(folder, name) == 1
        assert ("flowerpot" in left(folder)) == (name == "first"), "otherwise this shows nothing"
        await started(folder)
        assert left(folder) == {}


async def test_nor_does_one_that_is_put_back_twice_before_a_start(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    await _forgotten(folder, _fact)
    for _ in range(2):
        await put_back(folder)
    await started(folder)
    assert left(folder) == {}


@pytest.mark.parametrize("nth", [1, 2, 3])
async def test_nor_one_that_is_put_back_while_the_wish_is_not_done(tmp_path: Path, nth: int) -> None:
    folder = tmp_path / "data"
    broken = RaiseAt("forget.removing", StorageError("No more for now."), nth)

    async def refused(here: World, source: Event) -> None:
        await here.say(NAMING)
        with pytest.raises(StorageError):
            await _entity(here, source)

    await _forgotten(folder, refused, failpoints=broken)
    await put_back(folder)
    await started(folder)
    assert left(folder) == {}


async def test_agents_of_a_turn_go_though_the_backup_does_not_know_what_named_it(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    scripts = {MAIN: [says("noted"), one(spawn(BRIEF)), says("on its way"), says("done")], "helper": [says(BRIEF)]}
    async with agents(folder, scripts) as (agent, _):
        thread = await settled(agent, KEPT)
        await settled(agent, "Do it, please.", thread=thread)
    async with world(folder, searcher=in_fork(folder)) as here:
        await saved(here)
        await here.store.write(lambda tx: tx.execute(LATER))
        await here.forgetting.forget("event", "ev_later", wide=True)
    assert left(folder) == {}
    await put_back(folder)
    assert "flowerpot" in left(folder), "otherwise this shows nothing"
    await started(folder)
    assert left(folder) == {}


async def test_a_conversation_that_was_deleted_and_not_forgotten_comes_back_with_a_backup(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    async with world(folder, searcher=in_fork(folder)) as here:
        await here.say(KEPT)
        source, _ = await here.say(SOURCE)
        other, _ = await here.say("Fig trees need sun.", scope="group:telegram:7", peer="telegram:ada")
        await saved(here)
        await _fact(here, source)
        await here.forgetting._ports.delete_thread(other.thread)  # as a person deletes it
    await put_back(folder)
    await started(folder)
    async with world(folder, run=False) as here:
        assert await here.value("SELECT count(*) FROM events WHERE text = 'Fig trees need sun.'") == 1


async def test_over_a_database_of_the_release_before_the_wishes_are_done_again(tmp_path: Path) -> None:
    """It knows nothing of what they took; what they name is looked for."""
    folder = tmp_path / "data"
    async with world(folder, searcher=in_fork(folder)) as here:
        await here.say(KEPT)
        source, _ = await here.say(SOURCE)
        fact = await _learnt(here, source)
        await saved(here)
        await here.forgetting.forget("fact", fact, wide=True)
    with closing(apsw.Connection(str(folder / "homed.db"))) as db:
        for table in ("forget_todo", "forget_took"):
            db.execute(f"DROP TABLE {table}")
        db.pragma("user_version", 7)
        assert layout.difference(layout.layout(db), layout.of_version(7)) == ""
    assert await put_back(folder) == 1
    await started(folder)
    assert left(folder) == {}


async def test_what_is_kept_of_a_wish_that_is_done_are_ids(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    await _forgotten(folder, _entity)

    def kept(tx: Tx) -> list[tuple[object, ...]]:
        return tx.all("SELECT DISTINCT what, substr(item, 1, instr(item, '_')) FROM forget_took ORDER BY 1")

    async with world(folder, run=False) as here:
        assert await here.store.read(kept) == [("event", "ev_"), ("record", "fact_")]
        assert len(await here.store.read(forgets.list_)) == 1
