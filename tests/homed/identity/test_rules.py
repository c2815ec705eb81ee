"""Permission rules in the database."""

from __future__ import annotations

import pytest

from homed.errors import NotFound
from homed.identity.permissions import Decision, Rule
from homed.identity.rules import Rules
from homed.store.db import Store
from tests.homed.identity.clocks import Wall


async def test_a_rule_comes_back_as_it_was_given(store: Store, wall: Wall) -> None:
    rules = Rules(store, wall)
    added = await rules.add(Rule(Decision.ALLOW, channel="webui", tool="cmd_run", thread="t1"))
    assert added.id.startswith("rule_")
    assert added.created_at == wall.now
    assert await rules.list_() == [added]


async def test_the_same_conditions_again_replace_the_decision(store: Store, wall: Wall) -> None:
    rules = Rules(store, wall)
    await rules.add(Rule(Decision.ALLOW, tool="cmd_run"))
    second = await rules.add(Rule(Decision.DENY, tool="cmd_run"))
    await rules.add(Rule(Decision.DENY, tool="cmd_run", thread="t1"))
    assert second in await rules.list_()
    assert len(await rules.list_()) == 2


async def test_removing_one_that_is_not_there_is_said(store: Store, wall: Wall) -> None:
    rules = Rules(store, wall)
    added = await rules.add(Rule(Decision.ASK))
    await rules.remove(added.id)
    assert await rules.list_() == []
    with pytest.raises(NotFound, match=added.id):
        await rules.remove(added.id)
