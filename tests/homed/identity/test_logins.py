"""Logins: a link works once and for five minutes, a password under a limit, a session for a day (fault D5)."""

from __future__ import annotations

from pathlib import Path

import pytest
import trio
import trio.testing

from homed.errors import Denied
from homed.identity import logins as module
from homed.identity.logins import Logins
from homed.identity.passwords import hash_password
from homed.store.db import Store, open_store
from tests.homed.identity.clocks import Wall

_Str = str  # its method hides the name


class Password:
    """Settings with one password."""

    def __init__(self, password: str = "") -> None:
        self.stored = hash_password(password) if password else ""

    def str(self, key: str) -> str:
        assert key == "core.web.password"
        return self.stored

    def int(self, key: _Str) -> int:
        assert key == "core.web.free_tries"
        return 5

    def float(self, key: _Str) -> float:
        assert key == "core.web.session_lifetime"
        return 86_400.0


@pytest.fixture
def logins(store: Store, wall: Wall) -> Logins:
    return Logins(store, Password("open sesame"), wall)


async def test_a_link_works_once(logins: Logins, wall: Wall) -> None:
    secret, expires_at = await logins.make_link()
    assert expires_at == wall.now + 300
    session = await logins.redeem(secret)
    assert (session.peer, session.expires_at) == ("webui:owner", wall.now + 86_400)
    with pytest.raises(Denied, match="once") as caught:
        await logins.redeem(secret)
    assert "homed link" in caught.value.hint


async def test_two_at_the_same_moment_cannot_both_use_a_link(logins: Logins) -> None:
    secret, _ = await logins.make_link()
    won: list[bool] = []

    async def redeem() -> None:
        try:
            await logins.redeem(secret)
            won.append(True)
        except Denied:
            won.append(False)

    async with trio.open_nursery() as nursery:
        for _ in range(8):
            nursery.start_soon(redeem)
    assert won.count(True) == 1


async def test_a_link_ends_after_five_minutes(logins: Logins, wall: Wall) -> None:
    secret, _ = await logins.make_link()
    wall.now += 300
    with pytest.raises(Denied):
        await logins.redeem(secret)


async def test_a_session_ends_after_a_day_and_outlives_a_restart(tmp_path: Path, wall: Wall) -> None:
    async with open_store(tmp_path / "homed.db") as store:
        session = await Logins(store, Password("open sesame"), wall).login("open sesame")
    async with open_store(tmp_path / "homed.db") as store:
        logins = Logins(store, Password(), wall)
        wall.now += 86_399
        assert (await logins.check(session.secret)).peer == "webui:owner"
        wall.now += 1
        with pytest.raises(Denied, match="not logged in"):
            await logins.check(session.secret)


async def test_a_link_is_no_session_and_a_session_is_no_link(logins: Logins) -> None:
    link, _ = await logins.make_link()
    with pytest.raises(Denied):
        await logins.check(link)
    session = await logins.redeem(link)
    with pytest.raises(Denied):
        await logins.redeem(session.secret)
    assert (await logins.check(session.secret)).peer == "webui:owner"


async def test_after_logout_the_session_is_gone(logins: Logins) -> None:
    session = await logins.login("open sesame")
    await logins.logout(session.secret)
    await logins.logout(session.secret)
    with pytest.raises(Denied):
        await logins.check(session.secret)


async def test_no_secret_is_in_the_database(logins: Logins, store: Store) -> None:
    """D6"""
    link, _ = await logins.make_link()
    session = await logins.login("open sesame")
    rows = await store.read(lambda tx: tx.all("SELECT * FROM logins"))
    assert len(rows) == 2
    assert link not in str(rows)
    assert session.secret not in str(rows)


async def test_what_has_expired_is_cleared_away(logins: Logins, store: Store, wall: Wall) -> None:
    await logins.make_link()
    wall.now += 301
    await logins.make_link()
    assert await store.read(lambda tx: tx.value("SELECT count(*) FROM logins")) == 1


async def test_without_a_password_nobody_logs_in_by_one(store: Store, wall: Wall) -> None:
    logins = Logins(store, Password(), wall)
    assert not logins.password_set
    with pytest.raises(Denied, match="No password is set") as caught:
        await logins.login("")
    assert "homed link" in caught.value.hint


async def test_guessing_is_slowed_down_even_for_the_right_password(
    logins: Logins, monkeypatch: pytest.MonkeyPatch
) -> None:
    """D5: five free tries, then waits; many at once count as many."""
    tried: list[str] = []
    monkeypatch.setattr(module, "verify_password", lambda guess, stored: tried.append(guess))

    async def guess(number: int) -> None:
        with pytest.raises(Denied):
            await logins.login(f"guess {number}")

    async with trio.open_nursery() as nursery:
        for number in range(40):
            nursery.start_soon(guess, number)
    assert len(tried) == 5
    with pytest.raises(Denied, match="Too many") as caught:
        await logins.login("open sesame")
    assert caught.value.detail["retry_after"]


async def test_the_wait_doubles_up_to_a_minute_and_a_right_password_clears_it(
    store: Store, wall: Wall, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Wall(0.0)
    logins = Logins(store, Password("right one"), wall, clock=clock)
    monkeypatch.setattr(module, "verify_password", lambda guess, stored: guess == "right one")

    async def refusal() -> float:
        """Seconds to wait after one wrong password."""
        with pytest.raises(Denied, match="is wrong"):
            await logins.login("wrong")
        try:
            await logins.login("right one")
        except Denied as blocked:
            return float(str(blocked.detail["retry_after"]))
        return 0.0

    assert await refusal() == 0
    for _ in range(4):
        with pytest.raises(Denied, match="is wrong"):
            await logins.login("wrong")
    waits = []
    for _ in range(8):
        waits.append(await refusal())
        clock.now += waits[-1]
    assert waits == [1, 2, 4, 8, 16, 32, 60, 60]
    await logins.login("right one")
    assert await refusal() == 0


async def test_tries_that_wait_are_held_to_the_password_that_is_set_by_then(store: Store, wall: Wall) -> None:
    """Else whoever knew the old one, and queued up in time, would be logged in after everybody was logged out."""
    password, new = Password("open sesame"), hash_password("another one")
    logins = Logins(store, password, wall)
    refused: list[str] = []

    async def enter() -> None:
        with pytest.raises(Denied) as caught:
            await logins.login("open sesame")
        refused.append(caught.value.message)

    async with trio.open_nursery() as nursery:
        for _ in range(2):
            nursery.start_soon(enter)
        await trio.testing.wait_all_tasks_blocked()
        password.stored = new
        await logins.end_all()
    assert refused == ["The password is wrong."] * 2


async def test_ending_all_ends_sessions_and_links(logins: Logins) -> None:
    session = await logins.login("open sesame")
    link, _ = await logins.make_link()
    await logins.end_all()
    with pytest.raises(Denied):
        await logins.check(session.secret)
    with pytest.raises(Denied):
        await logins.redeem(link)
