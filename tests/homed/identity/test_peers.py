"""The directory: namespaces, guests by default, roles that last."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pytest

from homed.errors import Conflict, Denied, InvalidInput, NotFound, StorageError
from homed.identity.peers import Directory
from homed.identity.roles import Role
from homed.store.db import Store, open_store
from homed.store.rows import Tx
from tests.homed.identity.clocks import Wall

T = TypeVar("T")


async def test_somebody_new_is_a_guest_with_a_scope_of_their_own(store: Store, wall: Wall) -> None:
    who = await Directory(store, wall).identify("qq", "qq:12345", name="小明")
    assert (who.role, who.scope, who.name, who.plugin) == (Role.GUEST, "guest:qq:12345", "小明", "qq")


@pytest.mark.parametrize("peer", ["webui:owner", "cli:owner", "timer:owner"])
async def test_the_person_at_the_machine_is_the_owner(store: Store, wall: Wall, peer: str) -> None:
    who = await Directory(store, wall).identify(peer.partition(":")[0], peer)
    assert (who.role, who.scope) == (Role.OWNER, "owner")


@pytest.mark.parametrize("peer", ["webui:owner", "qq", "qq:", "", "QQ:1", "qqx:1", " qq:1"])
async def test_a_plugin_speaks_for_its_own_peers_only(store: Store, wall: Wall, peer: str) -> None:
    with pytest.raises(Denied, match="plugin qq may not speak for") as caught:
        await Directory(store, wall).identify("qq", peer)
    assert "qq:ID" in caught.value.hint


@pytest.mark.parametrize("peer", ["qq:\n1", "qq:" + "1" * 300, "qq:\x00", "qq:\u202e1"])
async def test_an_id_that_could_deceive_is_no_id(store: Store, wall: Wall, peer: str) -> None:
    with pytest.raises(InvalidInput):
        await Directory(store, wall).identify("qq", peer)


async def test_a_name_is_one_clean_line(store: Store, wall: Wall) -> None:
    who = await Directory(store, wall).identify("qq", "qq:1", name="  An\nna\u202e\x00 " + "x" * 300)
    assert who.name.startswith("An na x")
    assert len(who.name) == 128


async def test_a_role_lasts_and_moves_the_scope(tmp_path: Path, wall: Wall) -> None:
    async with open_store(tmp_path / "homed.db") as store:
        directory = Directory(store, wall)
        await directory.identify("qq", "qq:1")
        await directory.set_role("qq:1", Role.TRUSTED)
    async with open_store(tmp_path / "homed.db") as store:
        who = await Directory(store, wall).identify("qq", "qq:1")
    assert (who.role, who.scope) == (Role.TRUSTED, "trusted:qq:1")


async def test_a_demoted_owner_is_not_seeded_again(store: Store, wall: Wall) -> None:
    directory = Directory(store, wall)
    await directory.identify("webui", "webui:owner")
    await directory.identify("cli", "cli:owner")
    await directory.set_role("cli:owner", Role.GUEST)
    assert (await directory.identify("cli", "cli:owner")).role is Role.GUEST


async def test_the_last_owner_stays(store: Store, wall: Wall) -> None:
    directory = Directory(store, wall)
    await directory.identify("cli", "cli:owner")
    with pytest.raises(Conflict, match="last owner"):
        await directory.set_role("cli:owner", Role.GUEST)


async def test_a_role_for_nobody_is_refused(store: Store, wall: Wall) -> None:
    with pytest.raises(NotFound, match="qq:404"):
        await Directory(store, wall).set_role("qq:404", Role.TRUSTED)


async def test_a_group_is_the_scope_whoever_speaks(store: Store, wall: Wall) -> None:
    """B14"""
    directory = Directory(store, wall)
    await directory.identify("qq", "qq:1")
    await directory.set_role("qq:1", Role.OWNER)
    assert (await directory.identify("qq", "qq:1", group="77")).scope == "group:qq:77"
    assert (await directory.identify("qq", "qq:1")).scope == "owner"


async def test_a_busy_channel_costs_no_commit_a_message(store: Store, wall: Wall) -> None:
    directory = Directory(store, wall)

    async def seen() -> float:
        await directory.identify("qq", "qq:1")
        value = await store.read(lambda tx: tx.value("SELECT seen_at FROM peers WHERE id = 'qq:1'"))
        assert isinstance(value, float)
        return value

    first = await seen()
    wall.now += 59
    assert await seen() == first
    wall.now += 2
    assert await seen() == wall.now


class FullDisk:
    """A store on a disk without room."""

    def __init__(self, store: Store) -> None:
        self.read, self.empty_log = store.read, store.empty_log

    async def write(self, fn: Callable[[Tx], T]) -> T:
        raise StorageError("There is no space left.", detail={"reason": "full"})


async def test_on_a_full_disk_whoever_is_known_and_the_owner_are_who_they_are(store: Store, wall: Wall) -> None:
    directory = Directory(store, wall)
    await directory.identify("qq", "qq:1", name="An")
    await directory.set_role("qq:1", Role.TRUSTED)
    wall.now += 3600
    full = Directory(FullDisk(store), wall)
    who = await full.identify("qq", "qq:1", name="Bo")
    assert (who.name, who.role) == ("An", Role.TRUSTED)
    assert (await full.identify("cli", "cli:owner")).role is Role.OWNER
    with pytest.raises(StorageError):
        await full.identify("qq", "qq:2")
