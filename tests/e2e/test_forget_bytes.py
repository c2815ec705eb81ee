"""What a real daemon wrote down of a message, wherever, is gone once it is forgotten: every file, byte by byte."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.kit.daemon import until
from tests.kit.forgetting import standing
from tests.kit.house import House, Plan, house

pytestmark = pytest.mark.slow

WORD = "zwiebelturm"
ASKED = f"Look for the {WORD} of the old town, please."
FAILS = f"And who rings the bell of the {WORD} at night?"


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "work" / WORD
    folder.mkdir(parents=True)
    return folder


@pytest.fixture
def home(tmp_path: Path, work: Path) -> Iterator[House]:
    with house(tmp_path / "data", Plan(only=("files", "shell"), probes={"guide": []}, vectors=False)) as built:
        assert built.daemon.run("config", "set", "plugin.files.roots", json.dumps([str(work.parent)])).code == 0
        yield built


def calls(work: Path) -> list[dict[str, Any]]:
    """Everything a model may call with words of it."""
    return [
        {"name": "cmd_run", "args": {"command": f"echo the {WORD} > {WORD}.txt; seq 40000; echo {WORD}",
                                     "workdir": str(work)}},
        {"name": "files_read", "args": {"path": str(work / f"{WORD}.txt")}},
        {"name": "files_read", "args": {"path": str(work / f"no-{WORD}.txt")}},
        {"name": "coldcontext_query", "args": {"query": f"the {WORD} again"}},
        {"name": "memory_recall", "args": {"query": f"the {WORD} again"}},
        {"name": "guide_echo", "args": {"text": f"the {WORD} says"}},
        {"name": "get_plugin_tools", "args": {"plugin": WORD}},
        {"name": WORD, "args": {"x": WORD}},
        {"name": "spawn_child", "args": {"task": f"Describe the {WORD}.", "name": WORD}},
    ]  # fmt: skip


def attach(home: House, data: bytes, name: str) -> str:
    sent = base64.b64encode(data).decode()
    return str(home.ask("io.upload", data=sent, name=name, media_type="", last=True)["upload"])


def talk(home: House, text: str, **more: Any) -> str:
    """Say it; whatever is asked is allowed.  The conversation, once nothing works there any more."""
    with home.link() as link:
        thread = str(link.call("chat", {"text": text, "can_ask": True, **more})["thread"])

        def over() -> bool:
            for one in home.ask("approvals")["approvals"]:
                link.call("approve", {"approval": one["approval"], "decision": "allow"})
            return not home.rows("SELECT 1 FROM inputs WHERE outcome IS NULL")

        until(over, what=text)
    return thread


def test_nothing_of_it_stands_in_any_file(home: House, work: Path) -> None:
    home.fake.when(ASKED, *({"calls": [call]} for call in calls(work)), {"say": f"The {WORD} stands there."})
    home.fake.when("Describe", {"say": f"A {WORD} is a tower."})
    home.fake.when(FAILS, {"status": 400, "message": f"no bell of the {WORD} here"})
    files = [attach(home, f"all of the {WORD} in a file".encode(), f"{WORD}.txt")]
    thread = talk(home, ASKED, attachments=files)
    talk(home, FAILS, thread=thread)
    home.ask("io.thread_rename", thread=thread, title=f"Look for the {WORD} of the old town")
    until(lambda: places(home) == {"homed.db", "media", "textlog"}, what="its places")  # no turn waits for the text log
    for text in (FAILS, ASKED):
        ((event,),) = home.rows("SELECT id FROM events WHERE text = ? AND kind = 'user'", text)
        ran = home.daemon.run("memory", "forget", "event", event, "--wide", "--yes")
    assert "It stands in no file of the data folder." in ran.out
    assert [one for one in columns(home) if home.rows(HOLDS.format(*one), WORD) != [(0,)]] == []
    home.daemon.stop()
    assert standing(home.data, WORD) == {}


def places(home: House) -> set[str]:
    """Where in the folder the word stands."""
    return {name.split("/")[0].removesuffix("-wal") for name in standing(home.data, WORD).get(WORD, ())}


HOLDS = 'SELECT count(*) FROM "{0}" WHERE instr(lower("{1}"), ?)'


def columns(home: House) -> list[tuple[Any, ...]]:
    """Every column of every table of ours."""
    return home.rows(
        "SELECT t.name, c.name FROM pragma_table_list t JOIN pragma_table_info(t.name) c WHERE t.schema = 'main'"
        " AND t.type = 'table' AND t.name NOT LIKE 'sqlite%'"
    )
