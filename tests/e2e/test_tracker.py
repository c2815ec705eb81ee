"""A folder that the model's tools changed is put back byte for byte: with the command line, and by the model."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.kit.daemon import until
from tests.kit.house import House, Plan, house
from tests.kit.tracking import everything

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("work")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory, work: Path) -> Iterator[House]:
    plan = Plan(only=("files", "shell"), probes={}, grants={}, vectors=False)
    with house(tmp_path_factory.mktemp("tracker") / "data", plan) as built:
        assert built.daemon.run("config", "set", "plugin.files.roots", json.dumps([str(work)])).code == 0
        yield built


def chat(home: House, text: str, *calls: dict[str, Any]) -> dict[str, Any]:
    """Say something at which the model calls these, one after another; whatever is asked is allowed."""
    home.fake.when(text, *({"calls": [call]} for call in calls), {"say": "done"})
    with home.link() as link:
        thread = link.call("chat", {"text": text, "can_ask": True})["thread"]

        def over() -> bool:
            for one in home.ask("approvals")["approvals"]:
                link.call("approve", {"approval": one["approval"], "decision": "allow"})
            return not home.ask("history", thread=thread)["live"] and home.history(thread)[-1]["kind"] == "assistant"

        until(over, what=text)
    tools = [event for event in home.history(thread) if event["kind"] == "tool"]
    assert [event["data"]["status"] for event in tools] == ["ok"] * len(calls), tools
    return {"thread": thread, "tools": tools}


def furnish(folder: Path) -> None:
    folder.mkdir()
    (folder / "main.py").write_bytes("print('你好')\r\nprint('🌍')\r\n".encode())
    (folder / "tool").write_bytes(bytes(range(256)))
    (folder / "tool").chmod(0o751)
    (folder / "sub").mkdir(mode=0o750)
    (folder / "sub" / "ünïcode name").write_text("x")
    (folder / "here").symlink_to("main.py")
    (folder / "hollow").mkdir()


COMMAND = (
    "chmod 600 tool && printf '\\000changed' >> tool && rm -r sub && rmdir hollow && ln -sfn /etc/passwd here"
    " && mkdir -p new/er && echo made > new/er/file && mv main.py renamed.py"
)


def test_files_edit_and_cmd_run_are_taken_back_byte_for_byte(home: House, work: Path) -> None:
    folder = work / "project"
    furnish(folder)
    before = everything(folder)
    edits = {"path": str(folder / "main.py"), "edits": [{"old": "print('🌍')", "new": "print('moon')"}]}
    done = chat(
        home, "change the project", {"name": "files_edit", "args": edits},
        {"name": "cmd_run", "args": {"command": COMMAND, "workdir": str(folder)}},
    )  # fmt: skip
    assert everything(folder) != before
    found = home.daemon.json("tracker", "list", "--thread", done["thread"])["changes"]
    assert [one["tool"] for one in found] == ["cmd_run", "files_edit"]
    shown = home.daemon.run("tracker", "show", found[0]["id"][-8:])
    assert "> renamed.py  (from main.py)" in shown.out
    diff = home.daemon.run("tracker", "diff", found[1]["id"])
    assert "-print('🌍')␍" in diff.out
    assert "+print('moon')␍" in diff.out

    for one in found:
        ran = home.daemon.run("tracker", "rollback", one["id"], "--yes")
        assert (ran.code, ran.err) == (0, ""), ran
    assert everything(folder) == before

    # a roll back is a change: put forward again, it is as the tools had left it
    backs = home.daemon.json("tracker", "list")["changes"][:2]
    assert [one["undoes"] for one in backs] == [found[1]["id"], found[0]["id"]]


def test_what_was_changed_since_is_named_and_stays(home: House, work: Path) -> None:
    folder = work / "since"
    folder.mkdir()
    chat(home, "write two", {"name": "cmd_run", "args": {"command": "echo 1 >a; echo 1 >b", "workdir": str(folder)}})
    (folder / "b").write_text("mine\n")
    (newest,) = home.daemon.json("tracker", "list", "--limit", "1")["changes"]
    ran = home.daemon.run("tracker", "rollback", newest["id"], "--yes")
    assert ran.code == 1
    assert "b: changed since then" in ran.err
    assert "--force" in ran.err
    assert sorted(path.name for path in folder.iterdir()) == ["a", "b"]
    assert home.daemon.run("tracker", "rollback", newest["id"], "--yes", "--force").code == 0
    assert list(folder.iterdir()) == []


def test_the_model_lists_and_rolls_back_and_is_asked_about(home: House, work: Path) -> None:
    folder = work / "asked"
    folder.mkdir()
    (folder / "keep").write_text("as it was")
    wreck = {"name": "cmd_run", "args": {"command": "echo no > keep", "workdir": str(folder)}}
    chat(home, "wreck it", wreck)
    (newest,) = home.daemon.json("tracker", "list", "--limit", "1")["changes"]
    done = chat(
        home, "take it back", {"name": "changes_list", "args": {}},
        {"name": "changes_rollback", "args": {"id": newest["id"]}},
    )  # fmt: skip
    assert "changed keep" in done["tools"][0]["text"]
    assert (folder / "keep").read_text() == "as it was"


def test_with_the_conversation_goes_what_was_kept(home: House, work: Path) -> None:
    folder = work / "forgotten"
    folder.mkdir()
    kept = home.data / "tracker"
    call = {"name": "cmd_run", "args": {"command": "echo the secret of the lake > note", "workdir": str(folder)}}
    before = {path for path in kept.rglob("*") if path.is_file()}
    done = chat(home, "note the secret", call)
    assert {path for path in kept.rglob("*") if path.is_file()} - before
    home.daemon.run("memory", "forget", "thread", done["thread"], "--yes")  # others said "done", too
    assert {path for path in kept.rglob("*") if path.is_file()} == before
    assert home.daemon.json("tracker", "list", "--thread", done["thread"])["changes"] == []
    assert (folder / "note").read_text() == "the secret of the lake\n"
