"""Of somebody who is forgotten no row names them: not what was spent for them, nor agents that worked for them."""

from __future__ import annotations

from pathlib import Path

from homed.identity.roles import Identity, Role
from homed.store.rows import Tx
from tests.kit.builders import says
from tests.kit.cast import MAIN, agents, making, one, settled, spawn
from tests.kit.forgetting import in_fork, standing, world

PEER = "chat:zoyenka_4711"
HER = Identity(PEER, "chat", "Zoyenka", Role.TRUSTED, "group:chat:7")
BRIEF = "Count the blue flowerpots in the cellar."
FOUND = "There are forty blue flowerpots."
KEPT = "The river is cold in winter."
SPENT = (
    "INSERT INTO spend_calls (at, day, kind, turn, thread, peer, source, model, state, prompt, completion, estimated,"
    " price) SELECT 1, '2026-01-01', 'turn', turn, thread, peer, 's', 'm', 'done', 1, 1, 0, 'free' FROM inputs"
)
CHANGED = (
    "INSERT INTO tracker_sets (id, at, state, plugin, thread, scope, peer, folder) SELECT 'set_1', 1, 'done', 'files',"
    " id, scope, ?, x'66' FROM threads WHERE scope LIKE 'group:%'"
)
HEARS = "UPDATE children SET may = json_set(may, '$.inputs', json_array(?)) WHERE name = 'hears'"
BEHALF = "UPDATE children SET may = json_set(may, '$.behalf', json_array(json_array('', ?))) WHERE name = 'works'"
REASON = "INSERT INTO threshold_changes (key, was, now, reason, peer, at) VALUES ('k', '1', '2', 'why', ?, 1)"


async def test_who_spent_changed_or_had_agents_in_a_group_is_named_by_nothing(tmp_path: Path) -> None:
    scripts = {
        MAIN: [says("noted"), one(spawn(BRIEF)), says("on its way"), says(FOUND), *making("hears")],
        "helper": [says(FOUND)],
    }
    async with agents(tmp_path, scripts) as (agent, _):
        await settled(agent, KEPT)
        await settled(agent, BRIEF, who=HER)
        await settled(agent, "make one that hears her")

        def more(tx: Tx) -> None:
            tx.execute("UPDATE inputs SET accepted_at = 1")  # the wish is asked for at 100
            tx.execute(SPENT)
            for sql in (HEARS, CHANGED):
                tx.execute(sql, (PEER,))
            tx.execute(REASON, (PEER,))

        await agent.store.write(more)
    assert PEER in standing(tmp_path, PEER)
    async with world(tmp_path, searcher=in_fork(tmp_path)) as here:
        assert await here.value("SELECT count(*) FROM children WHERE peer = ?", PEER) == 1
        proof = await here.forgetting.forget("peer", PEER)
        assert proof.clean, str(proof.wire())
        assert await here.value("SELECT count(*) FROM spend_calls WHERE peer = ''") == 3, "what was spent stays"
        assert await here.value("SELECT may ->> '$.inputs' FROM children") == "[]", "of the agents the owner's stays"
        assert await here.value("SELECT count(*) FROM children") == 1
        assert await here.value("SELECT count(*) FROM events WHERE text = ?", KEPT) == 1
    assert standing(tmp_path, PEER, "flowerpot", "Zoyenka") == {}


async def test_an_agent_of_somebody_else_that_works_for_them_too_goes_as_well(tmp_path: Path) -> None:
    async with agents(tmp_path, {MAIN: making("works", "alone")}) as (agent, _):
        await settled(agent, KEPT)
        await settled(agent, "hello", who=HER)
        await agent.store.write(lambda tx: tx.execute(BEHALF, (PEER,)))
    async with world(tmp_path, searcher=in_fork(tmp_path)) as here:
        await here.forgetting.forget("peer", PEER)
        assert await here.value("SELECT group_concat(name) FROM children") == "alone"
        assert await here.value("SELECT count(*) FROM threads WHERE title = 'works'") == 0
