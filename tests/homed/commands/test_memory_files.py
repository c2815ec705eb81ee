"""The commands on a folder that no daemon holds: forget, export, import, backup, restore."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import trio

from homed.__main__ import main
from homed.commands.memory_forget import account, foreseen
from homed.commands.saying import translated
from homed.jobs import holoread, holotake, staged
from homed.memory import portable
from homed.paths import Paths
from homed.store import staging
from tests.kit.forgetting import standing, world
from tests.kit.holofiles import given, original

SECRET = "My sister Ludmilla hides the spare key beneath the flowerpot."

Told = Callable[..., tuple[int, str]]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    async def fill() -> None:
        async with world(tmp_path / "data") as here:
            asked, _ = await here.say(SECRET)
            await here.say("I water the plants on Sundays.")
            await here.learn("Ludmilla hides a key.", asked)

    Paths(tmp_path / "data").create()
    trio.run(fill)
    return tmp_path / "data"


@pytest.fixture
def run(data: Path, capsys: pytest.CaptureFixture[str]) -> Told:
    def told(*words: str) -> tuple[int, str]:
        capsys.readouterr()
        code = main(["--data", str(data), *words])
        out, err = capsys.readouterr()
        return code, out + err

    return told


def test_forgetting_asks_first_and_proves_it(data: Path, run: Told, monkeypatch: pytest.MonkeyPatch) -> None:
    code, out = run("memory", "export", str(data.parent / "out"), "--json")
    assert (code, json.loads(out)["counts"]["events"]) == (0, 4)
    events = [json.loads(line) for line in (data.parent / "out" / "events.jsonl").read_text("utf-8").splitlines()]
    event = next(one["id"] for one in events if one["text"] == SECRET)
    code, out = run("memory", "forget", "event", event)
    assert (code, "--yes" in out) == (1, True)

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr("sys.stdin", Terminal("n\n"))
    code, out = run("memory", "forget", "event", event[-8:])
    assert code == 1
    assert "1 facts, summaries, capsules" in out
    assert "Nothing was forgotten." in out
    monkeypatch.setattr("sys.stdin", Terminal("y\n"))
    code, out = run("memory", "forget", "event", event[-8:])
    assert code == 0, out
    assert "It stands in no file of the data folder." in out
    assert standing(data, SECRET, "Ludmilla") == {}
    code, out = run("memory", "import", str(data.parent / "out"))
    assert (code, "were forgotten here, and stay so" in out) == (0, True)
    assert standing(data, SECRET) == {}
    code, out = run("memory", "forget", "event", event, "--yes")
    assert (code, "There is no event" in out) == (1, True)


def test_a_backup_is_put_back_and_what_was_forgotten_since_stays_forgotten(data: Path, run: Told) -> None:
    assert run("backup", "--list")[1].startswith("There is no backup yet")
    code, out = run("backup")
    assert (code, "4 events" in out) == (0, True)
    code, out = run("backup", str(data.parent / "usb"), "--json")
    assert (code, json.loads(out)["counts"]["records"]) == (0, 1)
    code, out = run("backup", "--list", "--json")
    listed: list[dict[str, Any]] = json.loads(out)
    assert (len(listed), listed[0]["counts"]["events"]) == (1, 4)
    out = run("memory", "export", str(data.parent / "out"))[1]
    fact = json.loads((data.parent / "out" / "records.jsonl").read_text("utf-8"))["id"]
    code, out = run("memory", "forget", "fact", fact, "--wide", "--yes")
    assert code == 0, out
    assert listed[0]["name"] in out
    code, out = run("restore", str(data.parent / "usb"))
    assert code == 0, out
    assert "will be forgotten again at the next start" in out
    assert standing(data, "Ludmilla")["Ludmilla"]
    # whatever opens it to work on it goes on with what waits
    assert run("memory", "export", str(data.parent / "again"))[0] == 0
    assert (data.parent / "again" / "events.jsonl").exists()
    code, out = run("restore", str(data.parent / "out"))
    assert (code, "is no backup" in out) == (1, True)


def test_what_a_person_reads() -> None:
    found: dict[str, Any] = {
        "kind": "fact", "target": "fact_1", "counts": {"records": 1, "events": 0}, "first": 1e9, "last": 1e9,
        "rechecked": 2, "stays": 3, "busy": True,
    }  # fmt: skip
    lines = "\n".join(foreseen(found))
    assert "3 messages that say it stay; with --wide they go too." in lines
    assert "0 messages" not in lines
    proof: dict[str, Any] = {
        "removed": {}, "searched": {"files": 3, "bytes": 10, "sentences": 2, "short": 1, "left_out": 1}, "scrubbed": 5,
        "log_lines": 1, "clean": False, "problem": "", "resumed": True, "unread": ["a"], "found": {"b\x1b": 2},
        "said": [{"table": t, "count": 1, "ids": ["ev_1"]} for t in ("events", "inputs", "other")],
        "copies": [{"name": "backups/x", "at": 1e9}],
    }  # fmt: skip
    lines = "\n".join(account(proof))
    for words in ("gone already", "too short", "overwritten", "b\\x1b (2 times)", "ev_1", "backups/x", "crash"):
        assert words in lines
    assert "1 messages and results say it too: ev_1 (`homed memory forget event ID` takes what you name" in lines
    assert "1 inputs say it too: ev_1 (they go with their messages)" in lines
    assert "1 rows of other say it too: ev_1\n" in lines


def test_the_originals_files_are_counted_in_english_and_chinese(
    data: Path, run: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = given(data.parent / "holo", **original())
    folder = given(folder, fact=[*original()["fact"], {"text": "Of a project.", "scope": "project"}, {"text": ""}])
    code, out = run("memory", "import", str(folder))
    assert (code, out.splitlines()) == (
        0,
        [
            "Taken in: 1 summaries, 2 facts, 1 capsules.",
            "  1 left out: without its project.",
            "  1 left out: no text.",
        ],
    )
    monkeypatch.setenv("LANG", "zh_CN.UTF-8")
    code, out = run("memory", "import", str(folder))
    assert (code, out.splitlines()) == (
        0, ["已导入：没有新内容。", "  4 条这里已有。", "  1 条未导入：缺少所属项目。", "  1 条未导入：没有文字。"],
    )  # fmt: skip
    whys = {why for reader in (holoread, holotake) for why in reader.WHYS}
    for module in (portable, staged, staging):
        text = Path(str(module.__file__)).read_text("utf-8")
        whys |= set(re.findall(r'(?:BadLine|Refused)\(f?"([^"]+)"', text))
    assert len(whys) > 25
    assert [why for why in whys if translated(why.replace("{missing[0]}", "id").replace("{column}", "at")) == why] == []
