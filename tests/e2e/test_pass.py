"""The pass in the real daemon: records are there soon after a turn, through kill -9 and an orderly stop (C7, B9)."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from tests.kit.daemon import READING, until
from tests.kit.fake_openai import fake_openai_thread
from tests.kit.house import House, Plan

TOLD = "My sister Clara keeps eleven goats on her farm near Thun, and the oldest of the goats is called Zita."
ANSWER = {
    "summary": {"request": "Tell of Clara's goats.", "outcome": "Noted.", "importance": 5},
    "facts": [
        {"text": "Clara keeps eleven goats near Thun.", "kind": "fact", "confidence": 0.9,
         "quote": "My sister Clara keeps eleven goats on her farm near Thun"},
        {"text": "Clara owns a castle.", "kind": "fact", "quote": "Clara has a castle"},
    ],
}  # fmt: skip
SCRIPT = {
    "rules": [
        {"when": "<transcript>", "steps": [{"say": json.dumps(ANSWER), "hang": "until read"}]},
        {"when": "goats", "steps": [{"say": "Done, I will remember it!"}]},
    ]
}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    with fake_openai_thread(SCRIPT) as fake:
        built = House(tmp_path_factory.mktemp("home") / "data", fake, Plan())
        built.daemon.env = {**built.daemon.env, READING: "on"}
        try:
            yield built.start()
        finally:
            built.daemon.end()


SUMMARIES = "SELECT extractor, revision FROM records WHERE record = 'summary' ORDER BY seq"
FACTS = "SELECT text, times FROM records WHERE record = 'fact' ORDER BY seq"


def test_soon_after_a_turn_what_it_told_is_there_and_nothing_that_it_did_not(home: House) -> None:
    """The model calls no tool and says that it will remember: what is written does not hang on that."""
    home.fake.release("read")
    assert home.chat(TOLD)["outcome"]["text"] == "Done, I will remember it!"
    until(lambda: home.rows(SUMMARIES) == [("model", 1)], what="the summary")
    assert home.rows(FACTS) == [("Clara keeps eleven goats near Thun.", 1)]
    assert home.rows("SELECT excerpt FROM evidence WHERE excerpt <> ''") == [
        ("My sister Clara keeps eleven goats on her farm near Thun",)
    ]
    assert home.rows("SELECT gate, count FROM gates") == [("unsupported", 1)]
    assert home.rows("SELECT count(*) FROM passes") == [(0,)]


def test_a_stop_right_after_a_turn_records_it_and_the_model_makes_that_better_after_the_start(home: House) -> None:
    before = len(home.rows(SUMMARIES))  # of the tests that this worker has had
    home.fake.hold("read")  # however long the stop takes, what was asked about the turn has no answer before it
    home.chat(f"Once more: {TOLD}")
    assert home.daemon.stop() == 0
    home.fake.release("read")
    assert home.rows(SUMMARIES)[before:] == [("fallback", 1)]
    assert home.rows("SELECT told FROM passes") == [(1,)]
    home.start()
    home.ask("admin.jobs_run", job="pass")
    until(lambda: home.rows(SUMMARIES)[before:] == [("model", 2)], what="the model's summary")
    assert home.rows(FACTS) == [("Clara keeps eleven goats near Thun.", before + 1)]
    assert home.rows("SELECT count(*) FROM passes") == [(0,)]


def test_killed_right_after_a_turn_it_is_owed_still(home: House) -> None:
    before = len(home.rows(SUMMARIES))
    home.fake.hold("read")
    home.chat(f"And again: {TOLD}")
    home.daemon.kill()
    home.fake.release("read")
    assert home.rows("SELECT told FROM passes") == [(0,)]
    home.start()
    home.ask("admin.jobs_run", job="pass")
    until(lambda: home.rows(SUMMARIES)[before:] == [("model", 1)], what="the model's summary")
