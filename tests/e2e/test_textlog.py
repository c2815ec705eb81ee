"""The text log of a real daemon: a line comes when a turn is over, and is gone once the message is forgotten."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.kit.daemon import until
from tests.kit.house import House, Plan, house

pytestmark = pytest.mark.slow

SECRET = "the heron nests behind the third weir"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    with house(tmp_path_factory.mktemp("textlog") / "data", Plan(vectors=False)) as built:
        yield built


def written(home: House) -> str:
    return "".join(path.read_text("utf-8") for path in sorted((home.data / "textlog").glob("*.jsonl")))


def test_a_line_is_gone_once_its_message_is_forgotten_and_before_that_is_said(home: House) -> None:
    home.fake.when(SECRET, {"say": "Noted: by the weir."})
    home.fake.when("something else", {"say": "Good."})
    thread = home.chat(SECRET)["thread"]
    home.says("something else")
    until(lambda: "something else" in written(home), what="both turns in the log")
    assert SECRET in written(home)
    event = next(event for event in home.history(thread) if event["kind"] == "user")
    ran = home.daemon.run("memory", "forget", "event", event["id"], "--wide", "--yes")
    assert ran.code == 0, ran
    assert SECRET not in written(home)
    assert "something else" in written(home)


def test_switched_off_there_are_no_files(home: House) -> None:
    folder = home.data / "textlog"
    home.says("something else")
    until(lambda: list(folder.glob("*.jsonl")), what="a file")
    assert home.daemon.run("config", "set", "core.textlog.enabled", "false").code == 0
    until(lambda: not folder.exists(), what="no files")
    assert home.daemon.run("config", "set", "core.textlog.enabled", "true").code == 0
    until(lambda: Path(folder).exists() and "something else" in written(home), what="the files again")
