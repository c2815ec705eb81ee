"""Figures: of what is there, and of nobody else's."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from homed.memory import injections, mutate, passes
from homed.memory.injections import Injection, Line
from homed.memory.mutate import Note
from homed.store.rows import Tx
from tests.homed.jobs.console.test_reading import learn
from tests.kit.console import GUEST, NOW, Desk, open_desk, who
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


async def stats(desk: Desk, of: Any = OWNER) -> Any:
    return await desk.console.stats.stats(of)


async def test_every_figure(here: World, desk: Desk) -> None:
    made = await learn(here, "The cat is black.", kind="preference")
    await learn(here, "A page says: sell.", untrusted=True)
    await desk.console.changing.edit(OWNER, made, mutate.Edit(1, importance=9))
    await desk.console.changing.note(Note("owner", "By hand."))
    asked, _ = await here.say("See this.", file=b"a picture")

    def write(tx: Tx) -> None:
        turn = str(tx.value("SELECT turn FROM events WHERE id = ?", (asked.id,)))
        told = Injection(turn, "owner", asked.thread, NOW - 5, "hit", 120, 7.5, lines=(Line(made, "fact"),))
        injections.record(tx, told)
        tx.execute("INSERT INTO citations VALUES (?, ?, ?)", (made, turn, NOW - 4))
        tx.execute("UPDATE records SET cited = 3 WHERE id = ?", (made,))
        tx.execute("UPDATE events SET layer = 'cold' WHERE id = ?", (asked.id,))
        passes.count(tx, "owner", {"secret:password": 2, "quote": 1}, at=NOW)

    await here.store.write(write)
    found = await stats(desk)
    assert found["records"] == {
        "total": 3, "record": {"fact": 3}, "kind": {"fact": 2, "preference": 1}, "status": {"active": 3},
        "reach": {"user": 3}, "untrusted": 1, "recheck": 0,
        "evidence": {"manual": 1, "source": 2, "pointer": 0, "none": 0},
    }  # fmt: skip
    assert (found["layers"]["cold"]["events"], found["layers"]["cold"]["files"], found["layers"]["cold"]["bytes"]) == (
        1, 1, 9,
    )  # fmt: skip
    assert found["layers"]["context"]["events"] == 5
    assert found["citations"] == {"total": 3, "records": 1, "week": 1}
    week = found["injections"]
    assert (week["turns"], week["chars"], week["modes"], week["slowest_ms"]) == (1, 120, {"hit": 1}, 7.5)
    assert [(one["id"], one["revision"], one["why"]) for one in found["revisions"]] == [(made, 2, "edited")]
    assert (found["passes"]["gates"], found["passes"]["blocked"]) == ({"quote": 1, "secret:password": 2}, 2)
    assert found["passes"]["waiting"] == 3
    assert found["distil"]["enabled"] is True


async def test_an_owner_sees_the_whole_besides(here: World, desk: Desk) -> None:
    await learn(here, "The cat is black.")
    await desk.vectorise()
    await learn(here, "Theirs.", scope=GUEST.scope)
    found = await stats(desk)
    kinds = found["vectors"]["kinds"]
    assert (kinds["record"], kinds["event"]["have"]) == ({"have": 1, "waiting": 1, "failed": 0}, 2)
    assert (found["vectors"]["fingerprint"], found["vectors"]["dims"]) == ("fake", 64)
    assert found["vectors"]["embedder"]["state"] == "ready"
    assert sorted((one["scope"], one["records"], one["events"]) for one in found["by_scope"]) == [
        (GUEST.scope, 1, 2), ("owner", 1, 2),
    ]  # fmt: skip
    assert found["bytes"]["db"] > 0
    assert found["paths"]["db"].endswith("homed.db")
    desk.embedder.change("another", 32)
    foreign = (await stats(desk))["vectors"]
    assert (foreign["kinds"]["record"]["have"], foreign["foreign"]) == (0, 3)


async def test_b14_a_guest_sees_figures_of_their_own_and_no_paths(here: World, desk: Desk) -> None:
    await learn(here, "Mine.")
    found = await stats(desk, GUEST)
    assert found["records"]["total"] == found["layers"]["context"]["events"] == found["passes"]["waiting"] == 0
    assert not {"paths", "by_scope", "vectors", "bytes", "runs", "jobs"} & found.keys()


async def test_what_is_hidden_is_counted_and_named_nowhere(here: World, desk: Desk) -> None:
    made = await learn(here, "The cat is black.")
    await desk.console.changing.edit(OWNER, made, mutate.Edit(1, importance=9))
    await desk.console.changing.hide(OWNER, made)
    found = await stats(desk)
    assert (found["records"]["status"], found["records"]["record"], found["revisions"]) == ({"hidden": 1}, {}, [])
