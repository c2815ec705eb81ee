"""What says the same as what is forgotten goes with it, whether it is in sight or not."""

from __future__ import annotations

from pathlib import Path

import pytest

from homed.memory import capsules, stable
from homed.memory.capsules import NewCapsule
from homed.memory.evidence import Pointer
from tests.kit.forgetting import standing, world


@pytest.mark.parametrize("status", ["active", "hidden", "quarantined"])
@pytest.mark.parametrize("kind", ["entity", "fact"])
async def test_a_capsule_of_the_same_turn_loses_what_says_it_also_out_of_sight(
    tmp_path: Path, kind: str, status: str
) -> None:
    async with world(tmp_path) as here:
        asked, _ = await here.say("Please remember what I told you of her, and the plants.")
        target = await here.learn("Ludmilla keeps a blue flowerpot.", asked, subject="Ludmilla",
                                  subject_type="person", relation="keeps", object="flowerpot")  # fmt: skip
        new = NewCapsule("owner", "thread", "At home", "Ludmilla keeps a blue flowerpot. Plants need water.")
        put = await here.store.write(lambda tx: capsules.put_capsule(tx, new, [Pointer(asked.id)], at=60.0))
        await here.store.write(lambda tx: stable.update(tx, put.record, {"status": status}, at=61.0))
        target = "Ludmilla" if kind == "entity" else target
        assert (await here.forgetting.preview(kind, target)).rechecked == 1
        proof = await here.forgetting.forget(kind, target)
        assert proof.clean, str(proof.wire())
        assert await here.value("SELECT group_concat(text) FROM records") == "Plants need water."
    assert standing(tmp_path, "ludmilla", "flowerpot") == {}
