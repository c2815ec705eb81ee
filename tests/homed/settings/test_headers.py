"""The values of model sources' own headers are secrets: in their file alone, and with their source wherever it goes."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from homed.config.definitions import LLM_SOURCES
from homed.config.secrets import Secrets
from homed.errors import InvalidInput, StorageError
from homed.providers.base import Source
from homed.redact import Redactor
from homed.settings import rows
from homed.settings.apart import apart, header_slot, live, slot_of, slots_in, whole_options
from homed.settings.registry import open_settings
from homed.settings.snapshots import PEPPER
from homed.settings.views import MASK
from homed.store.db import open_store
from tests.homed.settings.test_history import KEY, House, content, house

FIRST, SECOND = "tok-first-0123456789abcdef", "tok-second-0123456789abcde"
URL = "https://good.example/v1"


def source(token: str, url: str = URL, **more: str) -> Source:
    return Source("mine", url, "m", options={"headers": {"X-Token": token, **more}, "reasoning": "strip"})


def headers(at: House) -> object:
    return at.sources.list()[0].options["headers"]


def kept(folder: Path) -> dict[str, str]:
    stored = json.loads((folder / "secrets.json").read_text())
    return {name: value for name, value in stored.items() if name != PEPPER}


async def test_they_are_sent_and_stand_in_the_secrets_alone(tmp_path: Path) -> None:
    async with house(tmp_path) as at:
        await at.sources.add(source(FIRST, **{"X-Title": "My agent", "X-Empty": ""}), KEY)
        assert at.settings.get(LLM_SOURCES)[0]["options"]["headers"] == {
            "X-Token": MASK, "X-Title": MASK, "X-Empty": "",
        }  # fmt: skip
    assert (tmp_path / "secrets.json").stat().st_mode & 0o777 == 0o600
    assert FIRST.encode() not in content(tmp_path)
    async with house(tmp_path) as at:  # after a restart
        assert headers(at) == {"X-Token": FIRST, "X-Title": "My agent", "X-Empty": ""}
        await at.sources.add(Source("other", URL, "m"))  # which stores all of them again
        assert headers(at) == {"X-Token": FIRST, "X-Title": "My agent", "X-Empty": ""}
        await at.sources.add(Source("mine", URL, "m", options={"headers": {"X-Token": MASK}}))
        assert headers(at) == {"X-Token": FIRST}
        assert "My agent" not in kept(tmp_path).values()
        await at.sources.remove("mine")
    assert kept(tmp_path) == {}


async def test_a_roll_back_brings_back_the_one_of_then_and_can_be_undone(tmp_path: Path) -> None:
    async with house(tmp_path) as at:
        await at.sources.add(source(FIRST))
        await at.sources.add(source(SECOND, "https://elsewhere.example/v1"))
        (newest, *_) = await at.settings.snapshots()
        assert [one.what for one in newest.differences] == ["mine.base_url", "mine.headers.X-Token"]
        assert FIRST not in repr(newest)
        assert await at.settings.rollback(newest.snapshot.id) == ()
        assert (at.sources.list()[0].base_url, headers(at)) == (URL, {"X-Token": FIRST})
    async with house(tmp_path) as at:
        assert await at.settings.rollback(await at.newest()) == ()
        assert (at.sources.list()[0].base_url, headers(at)) == ("https://elsewhere.example/v1", {"X-Token": SECOND})
    assert FIRST.encode() not in content(tmp_path)


async def test_one_that_was_taken_out_is_gone_for_good_and_that_is_said(tmp_path: Path) -> None:
    async with house(tmp_path) as at:
        await at.sources.add(source(FIRST))
        await at.sources.add(source(SECOND))
        await at.sources.add(replace(source(FIRST), options={"reasoning": "strip"}))
        assert kept(tmp_path) == {}
        assert await at.settings.rollback(await at.newest()) == ("The header X-Token of mine is gone: give it again.",)
        assert at.sources.standing(at.sources.list()[0]).note == (
            "The value of its header X-Token is gone: give it again."
        )
        with pytest.raises(InvalidInput, match="X-Token"):
            await at.sources.add(source(MASK))
        await at.sources.add(source(SECOND))
        assert at.sources.standing(at.sources.list()[0]).note == ""


async def seed_old(folder: Path, stored: object) -> None:
    """A folder of a homed that still kept them in the settings."""
    async with open_store(folder / "d.db") as store:
        await store.write(lambda tx: rows.store(tx, {LLM_SOURCES: stored}, 1.0))


OLD = {"name": "mine", "base_url": URL, "model": "m", "options": {"headers": {"X-Token": FIRST}}}


async def test_those_of_an_earlier_homed_are_moved_at_the_start(tmp_path: Path) -> None:
    await seed_old(tmp_path, [OLD, "no table", {"name": "odd", "options": {"headers": FIRST}}])
    assert FIRST.encode() in content(tmp_path)
    secrets = Secrets(tmp_path / "secrets.json")
    async with open_store(tmp_path / "d.db") as store, open_settings(store, {}, secrets) as settings:
        assert await settings.tidy()
        await store.scrub()
        assert not await settings.tidy()
        assert await settings.snapshots() == []
    assert FIRST.encode() not in content(tmp_path)
    async with house(tmp_path) as at:
        assert headers(at) == {"X-Token": FIRST}


async def test_where_the_secrets_cannot_be_written_they_do_where_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await seed_old(tmp_path, [OLD])

    def full(*_: object) -> None:
        raise StorageError("No space is left.")

    async with house(tmp_path) as at:
        monkeypatch.setattr(at.secrets, "stage", full)
        assert not await at.settings.tidy()
        assert headers(at) == {"X-Token": FIRST}
    async with house(tmp_path) as at:
        assert await at.settings.tidy()
        assert headers(at) == {"X-Token": FIRST}


async def test_a_snapshot_of_an_earlier_homed_leaves_the_header_of_now_at_its_server(tmp_path: Path) -> None:
    """It says that there was one, and not which."""
    async with house(tmp_path) as at:
        await at.sources.add(source(FIRST))
        await at.sources.add(replace(source(FIRST), model="wrong"))
        store = at.settings._store
        await store.write(lambda tx: tx.execute("UPDATE llm_snapshots SET keys = '{}'"))
        assert await at.settings.rollback(await at.newest()) == ()
        assert (at.models, headers(at)) == (["m"], {"X-Token": FIRST})
        await at.sources.add(source(SECOND, "https://elsewhere.example/v1"))
        await store.write(lambda tx: tx.execute("UPDATE llm_snapshots SET keys = '{}'"))
        notes = await at.settings.rollback(await at.newest())
        assert notes == ("The header X-Token of mine is gone: give it again.",)
        assert headers(at) == {"X-Token": MASK}


async def test_the_redactor_knows_what_may_be_a_key_and_no_title(tmp_path: Path) -> None:
    redactor = Redactor()
    spoken = source("Bearer hunter2hunter2", **{"X-Title": "HologramAgent", "X-Version": "2024-10-22"})
    async with house(tmp_path) as at:
        at.sources._know = redactor.know
        await at.sources.add(spoken)
        for known in (redactor, Redactor(at.secrets.known())):
            assert "hunter2" not in known.redact("it is hunter2hunter2 there")
            assert known.redact("HologramAgent of 2024-10-22") == "HologramAgent of 2024-10-22"


def test_a_slot_is_told_from_a_key_whatever_they_are_called() -> None:
    for source_, header in (("a", ""), ("a.header.b", ""), ("a", "api_key"), ("a.b", "X-Key")):
        slot = header_slot(source_, header) if header else source_
        assert slot_of(live(slot)) == slot
    assert [slot_of(name) for name in ("setting.x", "llm.a.api_key@0123", "llm.a.other", "llm..api_key")] == [None] * 4


@pytest.mark.parametrize("odd", [None, 5, "x", [5, {"options": 3}, {"options": {"headers": 7}}, {"name": "a"}]])
def test_what_is_no_source_is_left_as_it_is_or_masked_whole(odd: object) -> None:
    masked, secrets = apart(odd)
    assert secrets == {}
    assert slots_in(masked) == []
    assert apart(masked) == (masked, {})


def test_options_without_headers_are_whole_already() -> None:
    assert whole_options("a", {"stream": False}, lambda _: "x") == {"stream": False}
