"""The text log says what the events say: added to, turned over, made anew, and never half a line."""

from __future__ import annotations

import json
import stat
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, tzinfo
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
import trio

from homed.config.definitions import TEXTLOG, TEXTLOG_BYTES, TEXTLOG_DAYS
from homed.jobs.textlog import files
from homed.jobs.textlog.log import LogPorts, TextLog
from homed.memory import events, forget, inputs, threads
from homed.memory.records import EventKind, InputState, NewEvent, NewInput, Outcome
from homed.redact import Redactor
from homed.store.db import Store, open_store
from homed.store.rows import Tx
from tests.kit.past import remember

NIGHT = 1_770_076_000.0
"""2026-02-02 23:46 in UTC."""

DAY = 86_400.0


class Given(dict[str, Any]):
    """Settings."""


@dataclass
class Desk:
    store: Store
    folder: Path
    settings: Given
    redactor: Redactor
    now: float = NIGHT + 60
    zone: tzinfo = UTC

    def open(self) -> TextLog:
        """A log as a start makes it."""
        return TextLog(
            LogPorts(
                store=self.store, folder=self.folder, settings=self.settings, redactor=self.redactor,
                zone=lambda: self.zone, wall=lambda: self.now,
            )
        )  # fmt: skip

    def lines(self) -> dict[str, list[dict[str, Any]]]:
        """What stands in each file."""
        found = sorted(self.folder.glob("*")) if self.folder.exists() else []
        return {path.name: [json.loads(line) for line in path.read_text("utf-8").splitlines()] for path in found}

    def said(self) -> list[str]:
        """Every text, file by file."""
        return [line["text"] for lines in self.lines().values() for line in lines]


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    settings = Given({TEXTLOG: True, TEXTLOG_DAYS: 7, TEXTLOG_BYTES: 100_000})
    async with open_store(tmp_path / "homed.db") as store:
        yield Desk(store, tmp_path / "textlog", settings, Redactor())


async def test_what_was_said_is_added_by_the_day_of_the_persons_zone(desk: Desk) -> None:
    log = desk.open()
    await remember(desk.store, "你好🌍", at=NIGHT)
    await log.sync()
    assert list(desk.lines()) == ["2026-02-02.jsonl"]
    assert desk.said() == ["你好🌍", "I see."]
    await remember(desk.store, "and now", at=NIGHT + 10)
    await log.sync()
    assert desk.said() == ["你好🌍", "I see.", "and now", "I see."]
    first = desk.lines()["2026-02-02.jsonl"][0]
    assert (first["scope"], first["kind"], first["channel"]) == ("owner", "user", "webui")
    assert stat.S_IMODE((desk.folder / "2026-02-02.jsonl").stat().st_mode) == 0o600
    assert stat.S_IMODE(desk.folder.stat().st_mode) == 0o700

    desk.zone = ZoneInfo("Asia/Shanghai")
    await log.sync()
    assert list(desk.lines()) == ["2026-02-03.jsonl"]
    assert len(desk.said()) == 4


async def test_a_start_goes_on_where_the_last_line_is_and_half_a_line_is_taken_away(desk: Desk) -> None:
    await remember(desk.store, "one", at=NIGHT)
    await desk.open().sync()
    path = desk.folder / "2026-02-02.jsonl"
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"seq":99,"text":"ha')
    (desk.folder / ".2026-02-02.jsonl.part").write_text("left over")
    await remember(desk.store, "two", at=NIGHT + 1)
    await desk.open().sync()
    assert desk.said() == ["one", "I see.", "two", "I see."]
    assert sorted(entry.name for entry in desk.folder.iterdir()) == ["2026-02-02.jsonl"]


async def test_files_are_turned_over_by_size_and_go_with_time(desk: Desk) -> None:
    log = desk.open()
    for number in range(5):
        await remember(desk.store, f"{number} " + "x" * 40_000, at=NIGHT + number)
        await log.sync()
    assert list(desk.lines()) == ["2026-02-02.1.jsonl", "2026-02-02.2.jsonl", "2026-02-02.jsonl"]
    assert files.listed(desk.folder) == {"2026-02-02": [0, 1, 2]}
    await log.rewrite()
    assert files.listed(desk.folder) == {"2026-02-02": [0, 1, 2]}
    desk.now += 6 * DAY
    await log.sync()
    assert files.listed(desk.folder) == {"2026-02-02": [0, 1, 2]}
    desk.now += DAY
    await log.sync()
    assert files.listed(desk.folder) == {}


async def test_older_than_that_is_not_written_at_the_first_look(desk: Desk) -> None:
    await remember(desk.store, "long ago", at=NIGHT - 30 * DAY)
    await remember(desk.store, "today", at=NIGHT)
    await desk.open().sync()
    assert desk.said() == ["today", "I see."]


async def test_what_is_forgotten_is_gone_once_it_is_made_anew(desk: Desk) -> None:
    log = desk.open()
    gone = await remember(desk.store, "the lake is secret", at=NIGHT)
    await remember(desk.store, "the weather", at=NIGHT + 1)
    await log.sync()
    await desk.store.write(lambda tx: forget.remove_events(tx, [event.id for event in gone], at=NIGHT))
    await log.rewrite()
    assert desk.said() == ["the weather", "I see."]
    await remember(desk.store, "later", at=NIGHT + 2)
    await log.sync()
    assert desk.said() == ["the weather", "I see.", "later", "I see."]


async def test_a_secret_that_is_known_later_is_gone_then_too(desk: Desk) -> None:
    log = desk.open()
    await remember(desk.store, "it is hunter2hunter2", at=NIGHT)
    await log.sync()
    desk.redactor.know(["hunter2hunter2"])
    await log.rewrite()
    assert desk.said() == ["it is [secret:configured]", "I see."]


async def test_what_is_private_never_sent_or_still_being_answered_has_no_line(desk: Desk) -> None:
    log = desk.open()

    def begin(tx: Tx) -> str:
        thread = threads.create(tx, scope="owner", channel="webui", title="t", at=NIGHT)
        new = NewInput(thread.id, "owner", "webui", "webui:owner", "owner", "under way")
        given, _ = inputs.accept(tx, new, at=NIGHT)
        events.append(
            tx, inputs.begin(tx, given.id, turn="turn_running", at=NIGHT), NewEvent(EventKind.USER, "under way"),
            at=NIGHT,
        )  # fmt: skip
        return given.id

    def finish(tx: Tx, id_: str) -> None:
        private = NewEvent(EventKind.TOOL, "a private result", {"call_id": "c", "name": "x"}, no_memory=True)
        draft = NewEvent(EventKind.NOTE, "as first written", {"code": "draft"})
        last = NewEvent(EventKind.ASSISTANT, "public", {"final": True, "calls": []})
        inputs.finish(tx, id_, Outcome(InputState.ANSWERED, "public"), [private, draft, last], at=NIGHT)

    id_ = await desk.store.write(begin)
    await remember(desk.store, "asked later, answered before", at=NIGHT)
    await log.sync()
    assert desk.said() == []
    await desk.store.write(lambda tx: finish(tx, id_))
    await log.sync()
    assert desk.said() == ["under way", "asked later, answered before", "I see.", "public"]


async def test_off_there_are_no_files_and_on_again_they_are_back(desk: Desk) -> None:
    log = desk.open()
    await remember(desk.store, "one", at=NIGHT)
    await log.sync()
    desk.settings[TEXTLOG] = False
    await log.rewrite()
    assert not desk.folder.exists()
    await remember(desk.store, "two", at=NIGHT)
    await log.sync()
    assert not desk.folder.exists()
    desk.settings[TEXTLOG] = True
    await log.sync()
    assert desk.said() == ["one", "I see.", "two", "I see."]


async def test_cut_short_each_file_is_as_it_was(desk: Desk) -> None:
    log = desk.open()
    await remember(desk.store, "one", at=NIGHT)
    await log.sync()
    before = desk.lines()
    with trio.move_on_after(0) as limit:
        await log.rewrite()
    assert limit.cancelled_caught
    assert desk.lines() == before
    assert not list(desk.folder.glob(".*"))


async def test_a_folder_that_is_a_file_is_told_and_does_no_harm(desk: Desk, caplog: pytest.LogCaptureFixture) -> None:
    desk.folder.write_text("in the way")
    await remember(desk.store, "one", at=NIGHT)
    await desk.open().sync()
    assert "the text log lags behind" in caplog.text
    assert desk.folder.read_text() == "in the way"
