"""What a wish still has to remove is stored with it: a kill -9 between any two of its transactions loses none of it."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Awaitable, Callable
from contextlib import closing
from functools import partial
from pathlib import Path

import apsw
import pytest
import trio

from homed.errors import NotFound, StorageError
from homed.failpoints import Failpoints
from homed.jobs.forget import ForgetPorts, Forgetting
from homed.memory import events, forgets, inputs, removal, tombstones
from homed.memory.records import EventKind, NewEvent
from homed.store import layout
from homed.store.rows import Tx
from tests.kit.builders import says
from tests.kit.cast import MAIN, agents, one, settled, spawn
from tests.kit.failpoints import KillAt, RaiseAt
from tests.kit.forgetting import World, in_fork, standing, world

KEPT = "The river is cold in winter, somebody said."
SOURCE = "She keeps a spare key beneath the blue flowerpot, number {}."
NAMING = "Ludmilla waters her flowerpot on Sundays."
BRIEF = "Count the blue flowerpots of Ludmilla in the cellar."
FOUND = "There are forty blue flowerpots in the cellar."
CRASH = "INSERT INTO crash_reports (id, plugin, at, stderr) VALUES ('crash_1', 'p', 1, ?)"
PEER = "telegram:zoya_4711"
WORDS = ("flowerpot", "Ludmilla", "Zoyenka", "zoya_4711")


async def _fact(folder: Path) -> str:
    """One that rests on so many messages, none of which says what it says, that they go in several pieces."""
    async with world(folder, run=False) as here:
        await here.say(KEPT)
        said = [(await here.say(SOURCE.format(number)))[0] for number in range(20)]
        return await here.learn("Ludmilla hides a key.", *said, subject="Ludmilla", relation="hides", object="key")


async def _entity(folder: Path) -> str:
    """A person of several facts, whom some of the messages name that no fact rests on."""
    async with world(folder, run=False) as here:
        await here.say(KEPT)
        for key in ("a blue key", "a bicycle", "many plants"):
            said = [(await here.say(SOURCE.format(number)))[0] for number in range(6)]
            await here.learn(f"Ludmilla has {key}.", *said, subject="Ludmilla", relation="has", object=key)
            await here.say(NAMING)
        return str(await here.value("SELECT id FROM entities WHERE name = 'Ludmilla'"))


async def _event(folder: Path) -> str:
    """What an agent was made for, with a note of it in a report of a crash."""
    scripts = {MAIN: [says("noted"), one(spawn(BRIEF)), says("on its way"), says(FOUND)], "helper": [says(FOUND)]}
    async with agents(folder, scripts) as (agent, _):
        thread = await settled(agent, KEPT)
        await settled(agent, "Do it, please.", thread=thread)
        await agent.store.write(lambda tx: tx.execute(CRASH, (f"It broke on {BRIEF}",)))
        find = "SELECT id FROM events WHERE text = 'Do it, please.'"
        return await agent.store.read(lambda tx: str(tx.value(find)))


async def _result(folder: Path) -> str:
    """One of the many results of an answer that made as many calls."""
    async with world(folder, run=False) as here:
        await here.say(KEPT)

        def call(tx: Tx) -> str:
            given = inputs.get(tx, str(tx.value("SELECT id FROM inputs")))
            assert given is not None
            calls = [{"id": f"c{n}", "name": "find", "arguments": {"query": f"flowerpot {n}"}} for n in range(40)]
            new = [NewEvent(EventKind.ASSISTANT, "", {"calls": calls})]
            for n in range(40):
                data = {"call_id": f"c{n}", "name": "find", "status": "ok"}
                new.append(NewEvent(EventKind.TOOL, f"found the flowerpot of {n}", data))
            return [events.append(tx, given, one, at=1.5).id for one in new][20]

        return await here.store.write(call)


async def _peer(folder: Path) -> str:
    async with world(folder, run=False) as here:
        await here.say(KEPT)
        for scope in (f"guest:{PEER}", "group:telegram:7"):
            await here.say("The flowerpot is mine.", "A flowerpot.", scope=scope, peer=PEER)
        row = (
            "INSERT INTO peers (id, plugin, name, role, created_at, seen_at, called) VALUES (?, 'telegram',"
            " 'Zoyenka of the flowerpot', 'guest', 1, 1, 'my Zoyenka')"
        )
        await here.store.write(lambda tx: tx.execute(row, (PEER,)))
        return PEER


MAKERS: dict[str, tuple[str, bool, Callable[[Path], Awaitable[str]]]] = {
    "fact": ("fact", True, _fact), "entity": ("entity", True, _entity), "event": ("event", True, _event),
    "result": ("event", False, _result), "peer": ("peer", False, _peer),
}  # fmt: skip


async def forget(folder: Path, kind: str, target: str, wide: bool, points: Failpoints | None = None) -> None:
    async with world(folder, failpoints=points, searcher=in_fork(folder)) as here:
        await here.forgetting.forget(kind, target, wide=wide)


def killed(folder: Path, kind: str, target: str, wide: bool, point: KillAt) -> bool:
    child = os.fork()
    if child == 0:
        trio.run(forget, folder, kind, target, wide, point)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL


async def finish(folder: Path) -> None:
    async with world(folder, searcher=in_fork(folder)) as here:
        await here.fulfilled()
        assert await here.value("SELECT count(*) FROM events WHERE text = ?", KEPT) == 1
        assert await here.value("SELECT count(*) FROM forget_todo") == 0, "a wish that is done keeps nothing"


@pytest.mark.kill
@pytest.mark.slow
@pytest.mark.parametrize(
    ("what", "point"), [*((what, "forget.removing") for what in MAKERS), ("entity", "store.after_commit")]
)
def test_killed_anywhere_it_goes_whole_with_the_next_start(tmp_path: Path, what: str, point: str) -> None:
    kind, wide, make = MAKERS[what]
    built, pieces, left = tmp_path / "built", 0, {}
    built.mkdir()
    target = trio.run(make, built)
    assert standing(built, "flowerpot"), "otherwise this shows nothing"
    while True:
        folder = tmp_path / "round"
        shutil.copytree(built, folder)
        if not killed(folder, kind, target, wide, KillAt(point, pieces + 1)):
            break
        pieces += 1
        with closing(apsw.Connection(str(folder / "homed.db"))) as db:
            wished = db.execute("SELECT count(*) FROM forgets").get
        if wished:  # else nothing happened
            trio.run(finish, folder)
            if found := standing(folder, *WORDS):
                left[pieces] = found
        shutil.rmtree(folder)
    assert left == {}
    assert pieces > 2


async def test_a_name_is_looked_for_also_after_a_crash_that_took_its_node(tmp_path: Path) -> None:
    target = await _entity(tmp_path)
    async with world(
        tmp_path, run=False, failpoints=RaiseAt("forget.removed", StorageError("No more for now."))
    ) as here:
        await here.store.write(lambda tx: forgets.ask(tx, "entity", target, wide=True, at=50.0))
        [request] = await here.store.read(forgets.waiting)
        with pytest.raises(StorageError):
            await here.forgetting.do(request)
        assert await here.value("SELECT count(*) FROM entities") == 0
    (tmp_path / "notes.txt").write_text("Ludmilla")
    async with world(tmp_path, run=False) as here:
        proof = await here.forgetting.do(request, resumed=True)
        assert (proof.sentences, dict(proof.found)) == (1, {"notes.txt": 1}), "the name, and in nothing of ours"
        assert await here.value("SELECT count(*) FROM forget_todo") == 0


async def _overlapping(here: World) -> list[str]:
    """Two facts: the second goes with the first one's message, and rests on another besides."""
    one, _ = await here.say(SOURCE.format(1))
    two, _ = await here.say("Somebody waters every flowerpot.")
    return [await here.learn("Ludmilla hides it.", one), await here.learn("There is a spare key.", one, two)]


async def test_wishes_that_wait_together_take_nothing_from_each_others_lists(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        facts = await _overlapping(here)
        async with trio.open_nursery() as both:
            for fact in facts:
                both.start_soon(partial(here.forgetting.forget, "fact", fact, wide=True))
        assert await here.value("SELECT count(*) FROM events WHERE kind = 'user'") == 0
    assert standing(tmp_path, "flowerpot") == {}


async def test_wishes_that_came_with_a_backup_are_listed_before_the_first_of_them_is_done(tmp_path: Path) -> None:
    async with world(tmp_path, run=False) as here:
        for fact in await _overlapping(here):
            await here.store.write(lambda tx, fact=fact: forgets.ask(tx, "fact", fact, wide=True, at=50.0))  # type: ignore[misc]
        await here.say(KEPT)
    await finish(tmp_path)
    assert standing(tmp_path, "flowerpot") == {}


async def test_a_wish_that_waits_in_a_database_of_the_release_before_is_fulfilled(tmp_path: Path) -> None:
    target = await _fact(tmp_path)
    async with world(tmp_path, run=False) as here:
        await here.store.write(lambda tx: forgets.ask(tx, "fact", target, wide=True, at=50.0))
    with closing(apsw.Connection(str(tmp_path / "homed.db"))) as db:
        for table in ("forget_todo", "forget_took"):
            db.execute(f"DROP TABLE {table}")
        db.pragma("user_version", 7)
        assert layout.difference(layout.layout(db), layout.of_version(7)) == ""
    await finish(tmp_path)
    assert standing(tmp_path, *WORDS) == {}


async def test_a_conversation_whose_removal_was_cut_off_is_gone_before_the_proof(tmp_path: Path) -> None:
    """It is hidden by then, so that whoever removes conversations finds none; that part of homed may be slower."""

    async def gone(thread: str) -> None:
        raise NotFound(f"There is no thread {thread}.", hint="")

    async with world(tmp_path, run=False) as here:
        said, _ = await here.say(SOURCE.format(1))
        await here.store.write(lambda tx: forgets.ask(tx, "thread", said.thread, wide=False, at=50.0))
        await here.store.write(lambda tx: removal.hide(tx, said.thread))
        [request] = await here.store.read(forgets.waiting)
        ports = ForgetPorts(
            store=here.store, data=tmp_path, search=in_fork(tmp_path), collect=trio.lowlevel.checkpoint,
            delete_thread=gone,
        )  # fmt: skip
        await Forgetting(ports).do(request, resumed=True)
        for table in ("threads", "inputs", "turns", "events"):
            assert await here.value(f"SELECT count(*) FROM {table}") == 0
    assert standing(tmp_path, "flowerpot") == {}


@pytest.mark.parametrize("wide", [False, True])
async def test_an_entity_comes_back_from_no_export_though_its_node_goes_with_its_facts(
    tmp_path: Path, wide: bool
) -> None:
    target = await _entity(tmp_path)
    async with world(tmp_path) as here:
        await here.forgetting.forget("entity", target, wide=wide)
        assert await here.store.read(lambda tx: tombstones.known_ids(tx, "owner", "entity", [target])) == {target}
