"""API keys: told once, kept as a hash, good for their scopes, gone at once when removed."""

from __future__ import annotations

import re
import sqlite3
from pathlib import Path

import pytest
import trio

from homed.errors import Conflict, Denied, InvalidInput, NotFound, StorageError
from homed.identity import keys as module
from homed.identity.keys import FREE_TRIES, ApiKeys
from homed.identity.logins import LONGEST_WAIT
from homed.redact import Redactor, redact
from homed.store.db import Store
from tests.homed.identity.clocks import Wall

WRONG = "hk_" + "x" * 43


def everything_in(folder: Path) -> bytes:
    return b"".join(file.read_bytes() for file in folder.iterdir())


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def redactor() -> Redactor:
    return Redactor()


@pytest.fixture
def keys(store: Store, redactor: Redactor, wall: Wall, clock: Clock) -> ApiKeys:
    return ApiKeys(store, redactor.know, wall, clock=clock)


async def test_a_key_is_told_once_and_known_by_it_alone(keys: ApiKeys, tmp_path: Path, redactor: Redactor) -> None:
    secret, made = await keys.add("laptop", ["memory", "chat", "chat"])
    assert re.fullmatch(r"hk_[A-Za-z0-9_-]{43}", secret)
    assert made.scopes == ("chat", "memory")
    found = await keys.check(secret)
    assert (found.name, found.peer, found.scopes) == ("laptop", "webui:owner", ("chat", "memory"))
    assert [key.name for key in await keys.list_()] == ["laptop"]
    assert secret not in repr(await keys.list_())
    assert secret[3:].encode() not in everything_in(tmp_path)
    assert secret not in redactor.redact(f"my key is {secret}.")
    assert secret not in redact(f"after a restart too: {secret}!")


@pytest.mark.parametrize("wrong", ["", "hk_", WRONG, WRONG[:-1], "hk_" + "é" * 43, "\ud800", "x" * 256])
async def test_what_is_no_key_is_denied(keys: ApiKeys, wrong: str) -> None:
    secret, _ = await keys.add("a", ["chat"])
    with pytest.raises(Denied, match="not valid"):
        await keys.check(wrong)
    for near in (secret[:-1], secret + "x", secret.lower() if secret.lower() != secret else secret.upper()):
        with pytest.raises(Denied):
            await keys.check(near)


async def test_a_removed_key_is_refused_at_once(keys: ApiKeys) -> None:
    secret, _ = await keys.add("a", ["admin"])
    await keys.check(secret)
    await keys.remove("a")
    with pytest.raises(Denied):
        await keys.check(secret)
    with pytest.raises(NotFound, match="no API key"):
        await keys.remove("a")
    again, _ = await keys.add("a", ["chat"])
    assert again != secret


@pytest.mark.parametrize("name", ["", " a", "a ", "-a", "a/b", "a\nb", "x" * 65, "钥匙"])
async def test_a_name_that_cannot_be(keys: ApiKeys, name: str) -> None:
    with pytest.raises(InvalidInput, match="name of a key"):
        await keys.add(name, ["chat"])


@pytest.mark.parametrize("scopes", [[], ["all"], ["chat", "root"]])
async def test_scopes_that_are_none(keys: ApiKeys, scopes: list[str]) -> None:
    with pytest.raises(InvalidInput, match="scope"):
        await keys.add("a", scopes)
    assert await keys.list_() == []


async def test_names_are_taken_once_and_their_number_is_bounded(keys: ApiKeys, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST", 2)
    await keys.add("a", ["chat"])
    with pytest.raises(Conflict, match="already"):
        await keys.add("a", ["chat"])
    await keys.add("b", ["chat"])
    with pytest.raises(Conflict, match="2 API keys"):
        await keys.add("c", ["chat"])


async def test_use_is_noted_at_most_once_a_minute(keys: ApiKeys, wall: Wall, tmp_path: Path) -> None:
    secret, _ = await keys.add("a", ["chat"])
    begun = wall.now
    seen = []
    for second in (0, 1, 59, 60, 61, 119, 130):
        wall.now = begun + second
        await keys.check(secret)
        seen.append((await keys.list_())[0].used_at)
    assert [at - begun for at in seen if at is not None] == [0, 0, 0, 60, 60, 60, 130]


async def test_wrong_keys_have_to_wait_and_good_ones_do_not(keys: ApiKeys, clock: Clock) -> None:
    good, _ = await keys.add("a", ["chat"])
    for _ in range(FREE_TRIES - 1):
        with pytest.raises(Denied) as caught:
            await keys.check(WRONG)
        assert "retry_after" not in caught.value.detail
    waits = []
    for _ in range(10):
        with pytest.raises(Denied, match="Too many") as caught:
            await keys.check(WRONG)
        waits.append(caught.value.detail["retry_after"])
        with pytest.raises(Denied, match="Too many"):
            await keys.check("no key at all")
        clock.now += LONGEST_WAIT
    assert waits == [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0, 60.0, 60.0]
    clock.now -= LONGEST_WAIT
    assert (await keys.check(good)).name == "a", "in the middle of somebody else's wait"
    with pytest.raises(Denied):
        await keys.check(WRONG)


async def test_a_database_that_takes_no_writes_lets_keys_in(
    keys: ApiKeys, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret, _ = await keys.add("a", ["chat"])

    async def refuse(_: object) -> None:
        await trio.lowlevel.checkpoint()
        raise StorageError("It is damaged.")

    monkeypatch.setattr(store, "write", refuse)
    assert (await keys.check(secret)).name == "a"


async def test_at_rest_there_is_a_sha256(keys: ApiKeys, store: Store) -> None:
    secret, _ = await keys.add("a", ["chat"])
    with sqlite3.connect(f"file:{store.path}?mode=ro", uri=True) as db:
        rows = db.execute("SELECT * FROM api_keys").fetchall()
    db.close()
    assert len(rows) == 1
    assert re.fullmatch("[0-9a-f]{64}", rows[0][0])
    assert secret not in repr(rows)
