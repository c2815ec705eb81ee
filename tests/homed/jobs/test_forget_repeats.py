"""What says the same as what is forgotten goes with it, whether it is in sight or not."""

from __future__ import annotations

from pathlib import Path

import pytest

from homed.memory import capsules, hiding, stable
from homed.memory.capsules import NewCapsule
from homed.memory.evidence import Pointer
from homed.memory.stable import Record
from homed.store.rows import Tx
from tests.kit.forgetting import in_fork, standing, world


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


GONE, BACK, REST = "Ludmilla keeps a blue flowerpot.", "The train leaves at nine.", "Plants need water."


@pytest.mark.parametrize("given", ["fact", "fact, wide", "event", "event, no member"])
@pytest.mark.parametrize("hidden", [(BACK, GONE), (GONE, BACK), (BACK,)], ids=["before", "after", "alone"])
async def test_what_a_capsule_lost_to_another_that_is_hidden_comes_back_and_what_is_forgotten_never(
    tmp_path: Path, given: str, hidden: tuple[str, ...]
) -> None:
    async with world(tmp_path, searcher=in_fork(tmp_path)) as here:
        said = {text: (await here.say(text))[0] for text in (GONE, BACK, REST)}
        facts = {text: await here.learn(text, said[text]) for text in (GONE, BACK)}
        members = () if "no" in given else tuple(facts.values())
        new = NewCapsule("owner", "thread", "At home", f"{GONE} {BACK} {REST}", members=members)
        pointers = [Pointer(event.id) for event in said.values()]
        capsule = (await here.store.write(lambda tx: capsules.put_capsule(tx, new, pointers, at=60.0))).record

        def hide(tx: Tx) -> None:
            for at, text in enumerate(hidden):
                hiding.hide(tx, _record(tx, facts[text]), at=70.0 + at)

        await here.store.write(hide)
        kind, target = ("fact", facts[GONE]) if given.startswith("fact") else ("event", said[GONE].id)
        proof = await here.forgetting.forget(kind, target, wide="wide" in given)
        assert proof.clean or not proof.found.keys() - {"homed.db"}, str(proof.wire())
        assert await here.store.read(lambda tx: _record(tx, capsule).text) == REST
        history = await here.value("SELECT group_concat(text, '|') FROM revisions WHERE record = ?", capsule)
        assert history == f"{BACK} {REST}", "of what it said before nothing but what is to come back"
        back = await here.store.write(lambda tx: hiding.restore(tx, _record(tx, facts[BACK]), at=90.0))
        assert back.shortened == (capsule,)
        assert await here.store.read(lambda tx: _record(tx, capsule).text) == f"{BACK} {REST}"
    if given != "fact":
        assert standing(tmp_path, "ludmilla", "flowerpot") == {}


async def test_nor_in_another_language_than_the_message_that_is_forgotten(tmp_path: Path) -> None:
    gone = "路德米拉有一个蓝色花盆。"
    async with world(tmp_path, searcher=in_fork(tmp_path)) as here:
        said = {text: (await here.say(text))[0] for text in (GONE, BACK, REST)}
        facts = [await here.learn(BACK, said[BACK]), await here.learn(gone, said[GONE])]
        pointers = [Pointer(event.id) for event in said.values()]
        new = NewCapsule("owner", "thread", "At home", f"{gone} {BACK} {REST}")
        capsule = (await here.store.write(lambda tx: capsules.put_capsule(tx, new, pointers, at=60.0))).record
        for fact in facts:
            await here.store.write(lambda tx, fact=fact: hiding.hide(tx, _record(tx, fact), at=70.0))  # type: ignore[misc]
        await here.forgetting.forget("event", said[GONE].id)
        history = await here.value("SELECT group_concat(text, '|') FROM revisions WHERE record = ?", capsule)
        assert history == f"{BACK} {REST}"
    assert standing(tmp_path, "flowerpot", "花盆") == {}


@pytest.mark.parametrize("kind", ["event", "fact"])
async def test_what_a_person_wrote_before_in_a_capsule_is_not_kept_for_the_sake_of_what_is_hidden(
    tmp_path: Path, kind: str
) -> None:
    async with world(tmp_path, searcher=in_fork(tmp_path)) as here:
        said = {text: (await here.say(text))[0] for text in (GONE, BACK)}
        facts = {text: await here.learn(text, said[text]) for text in (GONE, BACK)}
        new = NewCapsule("owner", "thread", "At home", f"{GONE} {REST}", members=tuple(facts.values()))
        pointers = [Pointer(event.id) for event in said.values()]
        capsule = (await here.store.write(lambda tx: capsules.put_capsule(tx, new, pointers, at=60.0))).record

        def edit(tx: Tx) -> None:
            stable.revise(tx, _record(tx, capsule), {"text": f"{BACK} {REST}"}, why="edited", at=65.0)
            hiding.hide(tx, _record(tx, facts[BACK]), at=70.0)

        await here.store.write(edit)
        await here.forgetting.forget(kind, facts[GONE] if kind == "fact" else said[GONE].id)
        history = await here.value("SELECT group_concat(why, '|') FROM revisions WHERE record = ?", capsule)
        assert history == f"{hiding.HID} {facts[BACK]}"
    if kind == "event":  # of the fact the message stays
        assert standing(tmp_path, "ludmilla", "flowerpot") == {}


def _record(tx: Tx, id_: str) -> Record:
    found = stable.get(tx, id_)
    assert found is not None
    return found
