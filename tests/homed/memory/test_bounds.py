"""Bounds of memory: the settings' own, seen by every transaction, and followed while homed runs."""

from __future__ import annotations

from pathlib import Path

import pytest
import trio

from homed.config.definitions import MAX_CAPSULES, MAX_FACTS, SOURCE_EXCERPT
from homed.config.environment import Override
from homed.config.secrets import Secrets
from homed.errors import StorageError
from homed.memory import bounds, evidence, facts, stable
from homed.memory.evidence import Span
from homed.memory.newfact import NewFact
from homed.settings.registry import open_settings
from homed.settings.thresholds import Because
from homed.store.db import Store, open_store
from homed.store.rows import Tx
from tests.homed.memory.speech import Speech


@pytest.fixture
def speech(tx: Tx) -> Speech:
    return Speech(tx)


LONG = "My sister lives in Graz and " + "grows tomatoes and " * 20 + "sings."


def test_what_is_set_holds_in_every_transaction(speech: Speech) -> None:
    assert bounds.get(speech.tx, "fact", 7) == 7
    bounds.put(speech.tx, {"fact": 2, bounds.EXCERPT: 100})
    event = speech.say(LONG)
    made = facts.put(
        speech.tx, NewFact("owner", "A sister lives in Graz."), [Span(event.id, 0, len(LONG))], at=speech.at
    )
    (item,) = evidence.items(speech.tx, made.record)
    assert (len(item.excerpt), item.state) == (100, evidence.OK)
    for text in ("Bees are kept here.", "Rain is wet today."):
        last = speech.fact(text, importance=9)
    assert last.evicted == (made.record,)
    assert len(stable.list_(speech.tx, "owner")) == 2


async def kept(store: Store) -> dict[str, int]:
    rows = await store.read(lambda tx: tx.all("SELECT name, value FROM bounds"))
    return {str(name): int(value) for name, value in rows}


async def test_they_are_brought_at_the_start_and_follow_the_settings(tmp_path: Path) -> None:
    given = {MAX_CAPSULES: Override(MAX_CAPSULES, 5, "file", "homed.toml line 1")}
    async with (
        open_store(tmp_path / "d.db") as store,
        open_settings(store, given, Secrets(tmp_path / "s.json")) as settings,
        trio.open_nursery() as nursery,
    ):
        with settings.watch("core.memory.") as changes:
            nursery.start_soon(bounds.follow, store, settings, changes)
            while not await kept(store):
                await trio.lowlevel.checkpoint()
            assert await kept(store) == {"excerpt": 1600, "summary": 2000, "fact": 3000, "capsule": 5}
            await settings.change({MAX_FACTS: 10, SOURCE_EXCERPT: 200}, why=Because("smaller"))
            while (await kept(store))["fact"] != 10 or (await kept(store))["excerpt"] != 200:
                await trio.lowlevel.checkpoint()
            nursery.cancel_scope.cancel()


async def test_what_is_so_already_is_not_written_and_a_store_that_takes_nothing_is_told(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with (
        open_store(tmp_path / "d.db") as store,
        open_settings(store, {}, Secrets(tmp_path / "s.json")) as settings,
    ):
        await bounds.bring(store, settings)

        class ReadOnly:
            async def read(self, fn: object) -> object:
                return await store.read(fn)  # type: ignore[arg-type]

            async def write(self, _: object) -> object:
                raise StorageError("no")

        await bounds.bring(ReadOnly(), settings)  # type: ignore[arg-type]
        assert not caplog.records
        await settings.set(MAX_FACTS, 10)
        await bounds.bring(ReadOnly(), settings)  # type: ignore[arg-type]
        assert "are as they were" in caplog.text


def test_nobody_sets_one_to_nothing(speech: Speech) -> None:
    def nothing(tx: Tx) -> None:
        bounds.put(tx, {"fact": 0})

    with pytest.raises(Exception, match="CHECK"):
        nothing(speech.tx)
