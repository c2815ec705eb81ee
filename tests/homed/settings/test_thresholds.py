"""Thresholds: what they prevent, the reason for each change, and what nobody could be asked about."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from homed.config.definitions import CORE, EXTRACT_MIN_TURN, INJECT_MIN_SCORE, MAX_TOOL_TURNS
from homed.config.environment import Override
from homed.config.secrets import Secrets
from homed.errors import ConfigError
from homed.settings import snapshots, thresholds
from homed.settings.registry import Settings, open_settings
from homed.settings.thresholds import BELOW, KEPT, PREVENTS, SHOWN, Because, Change, note_unasked
from homed.store.db import Store, open_store
from tests.homed.settings.conftest import Opener

WHY = Because("notes came that had nothing to do with it", "webui:owner")


async def of(settings: Settings, key: str = INJECT_MIN_SCORE) -> thresholds.ThresholdView:
    return next(one for one in await settings.thresholds() if one.setting.key == key)


async def test_a_threshold_gets_no_other_value_without_a_reason(opened: Opener) -> None:
    async with opened() as settings:
        changes: tuple[Callable[[], Awaitable[object]], ...] = (
            lambda: settings.set(INJECT_MIN_SCORE, 0.3),
            lambda: settings.change({MAX_TOOL_TURNS: 3, INJECT_MIN_SCORE: 0.3}),
            lambda: settings.set(INJECT_MIN_SCORE, 0.3, why=Because("  \n ", "webui:owner")),
        )
        for change in changes:
            with pytest.raises(ConfigError, match=r"prevents notes that share .* needs a reason") as caught:
                await change()
            assert caught.value.detail["needs"] == "reason"
            assert caught.value.detail["keys"] == [INJECT_MIN_SCORE]
            assert "--reason" in caught.value.hint
        assert (settings.float(INJECT_MIN_SCORE), settings.int(MAX_TOOL_TURNS)) == (0.12, 10)
        assert (await of(settings)).changes == ()


async def test_the_reason_is_kept_with_old_and_new_and_who_it_was(opened: Opener) -> None:
    async with opened() as settings:
        await settings.set(INJECT_MIN_SCORE, "0.3", why=WHY)
        await settings.unset(INJECT_MIN_SCORE, why=Because("too   strict\nafter all"))
    async with opened() as settings:
        view = await of(settings)
        assert view.prevents == PREVENTS[INJECT_MIN_SCORE]
        newest, first = view.changes
        assert (first.was, first.now, first.reason, first.peer) == (0.12, 0.3, WHY.reason, WHY.peer)
        assert (newest.was, newest.now, newest.reason, newest.peer) == (0.3, 0.12, "too strict after all", "")
        assert 0 < first.at <= newest.at
        wire: Any = view.wire()
        assert (wire["value"], wire["default"], wire["minimum"], wire["maximum"]) == (0.12, 0.12, 0, 1)
        assert [one["reason"] for one in wire["changes"]] == ["too strict after all", WHY.reason]


async def test_a_value_that_is_in_force_already_asks_for_nothing(opened: Opener) -> None:
    """A form that is saved whole gives every value."""
    async with opened() as settings:
        await settings.change({INJECT_MIN_SCORE: 0.12, EXTRACT_MIN_TURN: 60, MAX_TOOL_TURNS: 7})
        await settings.unset(INJECT_MIN_SCORE)
        assert (await of(settings)).changes == ()


async def test_who_hears_that_nobody_said_why_can_say_it_without_moving_it(opened: Opener, tmp_path: Path) -> None:
    async with opened() as settings:
        await settings.set(INJECT_MIN_SCORE, 0.4, why=WHY)
        await settings.set(INJECT_MIN_SCORE, 0.4, why=Because("said twice"))
        assert [one.reason for one in (await of(settings)).changes] == [WHY.reason], "it was explained"
        await settings.set(EXTRACT_MIN_TURN, 60, why=Because("as it is by default"))
        assert (await of(settings, EXTRACT_MIN_TURN)).changes == ()
    async with open_store(tmp_path / "d.db") as store:
        stored = "INSERT INTO settings (key, value, updated_at) VALUES (?, '0.4', 0)"
        await store.write(lambda tx: tx.execute(stored, (INJECT_MIN_SCORE,)))
        async with open_settings(store, {}, Secrets(tmp_path / "s.json")) as settings:
            await settings.set(INJECT_MIN_SCORE, 0.4)
            assert (await of(settings)).changes == (), "nothing was said"
            await settings.change({INJECT_MIN_SCORE: 0.4, EXTRACT_MIN_TURN: 50}, why=WHY)
            (one,) = (await of(settings)).changes
            assert (one.was, one.now, one.reason, one.peer) == (0.12, 0.4, WHY.reason, WHY.peer)


async def test_a_reason_holds_no_secret_and_has_an_end(opened: Opener) -> None:
    async with opened() as settings:
        key = "sk-ant-" + "api03-" + "Zx9" * 12
        await settings.set(INJECT_MIN_SCORE, 0.2, why=Because(f"see {key}"))
        assert key not in (await of(settings)).changes[0].reason
        with pytest.raises(ConfigError, match="500 characters"):
            await settings.set(INJECT_MIN_SCORE, 0.3, why=Because("x" * 501))


@pytest.mark.parametrize("reason", ["\u200b", "\u2060 \u200b", "\u2800", ".", "- -", "\0"])
async def test_what_says_nothing_is_no_reason(opened: Opener, reason: str) -> None:
    async with opened() as settings:
        with pytest.raises(ConfigError, match="needs a reason"):
            await settings.set(INJECT_MIN_SCORE, 0.2, why=Because(reason))
        await settings.set(INJECT_MIN_SCORE, 0.2, why=Because("太严了"))


async def test_all_or_nothing_reason_and_value(opened: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    """The note and the value stand in one transaction."""
    async with opened() as settings:

        def broken(*_: object) -> None:
            raise ConfigError("no")

        monkeypatch.setattr(thresholds, "note", broken)
        with pytest.raises(ConfigError):
            await settings.set(INJECT_MIN_SCORE, 0.3, why=WHY)
        monkeypatch.undo()
    async with opened() as settings:
        assert settings.float(INJECT_MIN_SCORE) == 0.12


class TestUnasked:
    """What was moved while nobody could be asked."""

    async def look(self, folder: Path, *given: Override) -> tuple[Change, ...]:
        overrides = {one.key: one for one in given}
        async with open_store(folder / "d.db") as store:
            return await self.opened(store, folder, overrides)

    async def opened(self, store: Store, folder: Path, overrides: dict[str, Override]) -> tuple[Change, ...]:
        async with open_settings(store, overrides, Secrets(folder / "s.json")) as settings:
            await note_unasked(settings.view, store, lambda: 7.0)
            return (await of(settings)).changes

    async def test_what_a_file_or_a_variable_gives_is_noted_with_its_place_once(self, tmp_path: Path) -> None:
        given = Override(INJECT_MIN_SCORE, 0.5, "file", "homed.toml line 3")
        for _ in range(2):
            (one,) = await self.look(tmp_path, given)
            assert (one.was, one.now, one.reason, one.peer, one.at) == (0.12, 0.5, "set in homed.toml line 3", "", 7.0)
        newest, _ = await self.look(tmp_path)
        assert (newest.was, newest.now, newest.reason) == (0.5, 0.12, "no longer set in homed.toml line 3")
        assert len(await self.look(tmp_path)) == 2

    async def test_what_was_stored_before_there_were_reasons_is_noted_as_that(self, tmp_path: Path) -> None:
        async with open_store(tmp_path / "d.db") as store:
            await store.write(
                lambda tx: tx.execute(
                    "INSERT INTO settings (key, value, updated_at) VALUES (?, '0.4', 0)", (INJECT_MIN_SCORE,)
                )
            )
        (one,) = await self.look(tmp_path)
        assert (one.now, one.reason) == (0.4, "stored before reasons were asked for")

    async def test_a_store_that_takes_nothing_keeps_homed_from_nothing(
        self, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        from homed.store.rows import ReadOnly

        async with open_store(tmp_path / "d.db") as store:

            async def refuses(_: object) -> None:
                raise ReadOnly("no")

            given = {INJECT_MIN_SCORE: Override(INJECT_MIN_SCORE, 0.5, "env", "HOMED__X")}
            async with open_settings(store, given, Secrets(tmp_path / "s.json")) as settings:
                full: Any = type("Full", (), {"read": store.read, "write": staticmethod(refuses)})()
                await note_unasked(settings.view, full, lambda: 7.0)
        assert "is not noted" in caplog.text


async def test_so_many_changes_are_kept_and_so_many_shown(tmp_path: Path) -> None:
    async with open_store(tmp_path / "d.db") as store:
        many = [Change(INJECT_MIN_SCORE, 0.1, number / 10_000, "because") for number in range(KEPT + 5)]
        await store.write(lambda tx: thresholds.note(tx, many, 1.0))
        assert await store.read(lambda tx: tx.value("SELECT count(*) FROM threshold_changes")) == KEPT
        shown = (await store.read(thresholds.changes))[INJECT_MIN_SCORE]
        assert [one.now for one in shown] == [one.now for one in reversed(many[-SHOWN:])]


def test_every_threshold_is_a_setting_with_a_range_and_no_roll_back_reaches_one() -> None:
    defined = {one.key: one for one in CORE}
    for key, prevents in PREVENTS.items():
        assert defined[key].minimum is not None, key
        assert defined[key].maximum is not None, key
        assert prevents, key
        assert not prevents.endswith("."), key
        assert not key.startswith(snapshots.PREFIX), key
    assert all(low in PREVENTS and high in PREVENTS for low, high in BELOW)
