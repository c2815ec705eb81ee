"""C12: with a database that takes nothing the owner can still log in and out; it lasts as long as the process."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pytest

from homed.errors import Denied
from homed.identity.logins import Logins
from homed.identity.peers import Directory
from homed.identity.roles import Role
from homed.identity.sessions import KEPT_IN_MEMORY, Login, LoginRows
from homed.store import problems
from homed.store.db import Store
from homed.store.rows import Damaged, ReadOnly, Tx
from tests.homed.identity.clocks import Wall
from tests.homed.identity.test_logins import Password

T = TypeVar("T")


class ReadOnlyStore:
    """A damaged one: reads of what is sound work, writes do not."""

    def __init__(self, sound: Store) -> None:
        self.sound = sound
        self.lost = False

    async def write(self, fn: Callable[[Tx], T]) -> T:
        await self.sound.read(lambda _: None)
        raise ReadOnly("read-only")

    async def read(self, fn: Callable[[Tx], T]) -> T:
        if self.lost:
            raise Damaged("damaged")
        return await self.sound.read(fn)

    async def empty_log(self) -> bool:
        raise AssertionError


@pytest.fixture
def damaged(store: Store) -> ReadOnlyStore:
    return ReadOnlyStore(store)


@pytest.mark.parametrize("lost", [False, True])
async def test_links_passwords_and_sessions_work_in_memory(damaged: ReadOnlyStore, wall: Wall, lost: bool) -> None:
    damaged.lost = lost
    logins = Logins(damaged, Password("open sesame"), wall)
    secret, _ = await logins.make_link()
    session = await logins.redeem(secret)
    with pytest.raises(Denied):
        await logins.redeem(secret)
    assert await logins.check(session.secret) == session
    other = await logins.login("open sesame")
    await logins.logout(session.secret)
    with pytest.raises(Denied):
        await logins.check(session.secret)
    wall.now += 90_000
    with pytest.raises(Denied):
        await logins.check(other.secret)


async def test_a_session_from_before_goes_on_and_can_be_ended_but_a_link_from_before_is_not_taken(
    store: Store, damaged: ReadOnlyStore, wall: Wall
) -> None:
    before, after = Logins(store, Password(), wall), Logins(damaged, Password(), wall)
    session, (link, _) = await before.redeem((await before.make_link())[0]), await before.make_link()
    assert await after.check(session.secret) == session
    with pytest.raises(Denied):
        await after.redeem(link)  # nobody could note that it was used
    await after.logout(session.secret)
    with pytest.raises(Denied):
        await after.check(session.secret)


async def test_all_can_be_ended_also_when_that_cannot_be_stored(
    store: Store, damaged: ReadOnlyStore, wall: Wall
) -> None:
    before, after = Logins(store, Password(), wall), Logins(damaged, Password("open sesame"), wall)
    old = await before.redeem((await before.make_link())[0])
    new = await after.login("open sesame")
    await after.end_all()
    for session in (old, new):
        with pytest.raises(Denied):
            await after.check(session.secret)
    again = await after.login("open sesame")
    assert await after.check(again.secret) == again


class FullStore(ReadOnlyStore):
    """Without room, until some is made."""

    full = True

    async def write(self, fn: Callable[[Tx], T]) -> T:
        if self.full:
            raise problems.full(Path("homed.db"))
        return await self.sound.write(fn)


async def test_who_comes_while_the_disk_is_full_gets_in_and_what_ended_then_stays_ended(
    store: Store, wall: Wall
) -> None:
    before, full = Logins(store, Password(), wall), FullStore(store)
    old, other = [await before.redeem((await before.make_link())[0]) for _ in range(2)]
    logins = Logins(full, Password("open sesame"), wall)
    session = await logins.redeem((await logins.make_link())[0])
    assert await logins.check(session.secret) == session
    assert await logins.check(old.secret) == old
    await logins.logout(old.secret)
    full.full = False
    later = await logins.login("open sesame")
    assert await logins.check(session.secret) == session
    after = Logins(store, Password(), wall)
    with pytest.raises(Denied):
        await after.check(old.secret)
    assert await after.check(other.secret) == other
    full.full = True
    await logins.end_all()
    full.full = False
    last = await logins.login("open sesame")
    assert await logins.check(last.secret) == await after.check(last.secret) == last
    for gone in (session, other, later):
        for asked in (logins, after):
            with pytest.raises(Denied):
                await asked.check(gone.secret)


async def test_memory_is_bounded_and_the_oldest_goes(damaged: ReadOnlyStore) -> None:
    rows = LoginRows(damaged)
    for n in range(KEPT_IN_MEMORY + 1):
        await rows.add(Login(f"{n}", "session", "webui:owner", 0.0, 10.0))
    assert await rows.find("0", "session") is None
    assert await rows.find("1", "session") is not None
    assert await rows.find("1", "link") is None


async def test_strangers_are_guests_and_the_owner_is_the_owner_also_when_nothing_can_be_noted(
    damaged: ReadOnlyStore, wall: Wall
) -> None:
    for lost in (False, True):
        damaged.lost = lost
        directory = Directory(damaged, wall)
        assert (await directory.identify("webui", "webui:owner")).role is Role.OWNER
        assert (await directory.identify("qq", "qq:7", name="Ann")).role is Role.GUEST
