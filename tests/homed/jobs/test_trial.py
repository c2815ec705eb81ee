"""`homed bench recall`: histories through the real engine."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import trio
from trio.testing import MockClock

from homed.__main__ import main
from homed.errors import InvalidInput, Unavailable
from homed.jobs import trial, trial_files

TALK = {
    "ada": [
        ("1", "Ada", "I adopted a dog, his name is Pixel."),
        ("1", "Bo", "And did the roof get repaired?"),
        ("1", "Ada", "It did, for 900 euro."),
        ("2", "Bo", "We watched a film about deep sea fish."),
    ],
    "li": [
        ("1", "李明", "我妹妹在里斯本当护士。"),
        ("1", "小光", "好的,我记住了。"),
        ("2", "李明", "The server listens on port 43791, 部署在腾讯云。"),
    ],
}
QUESTIONS = [
    ("ada", "q1", "What is the name of Ada's dog?", 0),
    ("ada", "q2", "What did the roof cost?", 2),
    ("li", "q3", "我妹妹在哪里?", 0),
    ("li", "q4", "43791", 2),
]


def files(folder: Path) -> tuple[Path, Path, Path]:
    events, queries = folder / "events.jsonl", folder / "queries.jsonl"
    events.write_text(
        "".join(
            json.dumps(
                {
                    "history": history, "id": f"{history}-{at}", "session": session, "speaker": speaker, "text": text,
                    "time": f"2024-03-0{session}T10:0{at}:00",
                },
                ensure_ascii=False,
            )
            + "\n"
            for history, lines in TALK.items()
            for at, (session, speaker, text) in enumerate(lines)
        ),
        "utf-8",
    )  # fmt: skip
    queries.write_text(
        "".join(
            json.dumps({"history": h, "id": id_, "text": text, "gold": [f"{h}-{at}"], "kind": "x"}) + "\n"
            for h, id_, text, at in QUESTIONS
        ),
        "utf-8",
    )
    return events, queries, folder / "hits.jsonl"


def run(folder: Path, *more: str) -> dict[str, list[str]]:
    events, queries, out = files(folder)
    argv = ["bench", "recall", "--events", str(events), "--queries", str(queries), "--out", str(out), *more]
    assert main(argv) == 0
    rows = [json.loads(line) for line in out.read_text("utf-8").splitlines()]
    return {row["query"]: row["hits"] for row in rows}


@pytest.mark.parametrize("embedder", ["off", "tfidf", "bundled"])
def test_every_question_is_answered_from_its_own_history_best_first(
    tmp_path: Path, embedder: str, capsys: pytest.CaptureFixture[str]
) -> None:
    hits = run(tmp_path, "--embedder", embedder)
    for history, id_, _, at in QUESTIONS:
        assert hits[id_][0] == f"{history}-{at}", id_
        assert all(hit.startswith(history) for hit in hits[id_])
    said = capsys.readouterr().err
    assert "events/s" in said
    assert "query p50" in said
    assert "peak memory" in said
    assert ("vectors" in said) == (embedder != "off")


def test_the_gold_is_read_for_what_the_parts_are_worth_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(tmp_path, "--embedder", "off", "--ablate", "--limit", "1")
    rows = [line for line in capsys.readouterr().err.splitlines() if "R@10" in line]
    assert rows[0].startswith("everything")
    assert "R@10 100.0" in rows[0]
    assert any(row.startswith("without neighbours") for row in rows)
    assert not any("vectors" in row for row in rows), "there were none"


def test_the_fusion_can_be_chosen(tmp_path: Path) -> None:
    hits = run(tmp_path, "--embedder", "tfidf", "--fusion", "rrf")
    assert hits["q4"][0] == "li-2", "an exact symbol comes first in any fusion"


@pytest.mark.parametrize(
    ("line", "wrong"),
    [
        ("[1]", "no JSON object"),
        ("{", "no JSON"),
        ("[" * 100_000, "no JSON"),
        (r'{"id": "a", "history": "h", "session": "1", "text": "\ud800", "time": "2024-01-01T00:00:00"}', "no JSON"),
        ('{"id": "a", "history": "h", "session": "1", "text": "x", "time": "noon"}', "no time like"),
        ('{"id": "a", "history": "h", "text": "x", "time": "2024-01-01T00:00:00"}', "no session"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(tmp_path: Path, line: str, wrong: str) -> None:
    file = tmp_path / "events.jsonl"
    file.write_text(f"\n{line}\n", "utf-8")
    with pytest.raises(InvalidInput, match=f"line 2 .*{wrong}"):
        trial_files.events(file)


def test_a_number_is_an_id_too_and_a_text_may_hold_any_border_of_lines(tmp_path: Path) -> None:
    file = tmp_path / "events.jsonl"
    row = {"id": 7, "history": 1, "session": 2, "text": "a\u2028b\x85c", "time": "2024-01-01T00:00:00+02:00"}
    file.write_text(json.dumps(row, ensure_ascii=False), "utf-8")
    (said,) = trial_files.events(file)
    assert (said.id, said.history, said.session, said.text) == ("7", "1", "2", "a\u2028b\x85c")
    assert said.at == 1_704_060_000.0


@pytest.mark.parametrize(("gold", "right"), [("null", set()), ('["e1", 2]', {"e1", "2"})])
def test_the_gold_of_a_question_is_its_ids(tmp_path: Path, gold: str, right: set[str]) -> None:
    (file := tmp_path / "queries.jsonl").write_text(f'{{"id": "q", "gold": {gold}}}', "utf-8")
    assert trial_files.gold(file) == {"q": right}


def test_a_gold_that_is_no_list_measures_nothing(tmp_path: Path) -> None:
    (file := tmp_path / "queries.jsonl").write_text('{"id": "q", "gold": "e1"}', "utf-8")
    with pytest.raises(InvalidInput, match=r"line 1 .*no list of ids"):
        trial_files.gold(file)


async def test_vectors_that_do_not_come_are_not_waited_for_for_ever(autojump_clock: MockClock) -> None:
    class Waiting:
        async def read(self, fn: object) -> int:
            await trio.lowlevel.checkpoint()
            return 7

    class Down:
        trouble = "It is down."

    bench = trial.Trial(Waiting(), None, None, None, Down())  # type: ignore[arg-type]
    with trio.fail_after(10 * trial.PATIENCE):
        with pytest.raises(Unavailable, match="7 of 9 events get no vector: It is down"):
            await bench._vectors(9, lambda _: None)
