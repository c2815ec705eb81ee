"""`homed memory stats|search|list|open|note|edit|hide|restore|injections|doctor|forget ID`, on a folder that no daemon
holds: what is typed, what is printed, and how it ends."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import trio

from homed.__main__ import main
from homed.commands.memory_check import lines_of
from homed.commands.memory_records import figures, told
from homed.memory import facts, injections
from homed.memory.evidence import Span
from homed.memory.injections import Injection, Line
from homed.memory.newfact import NewFact
from homed.paths import Paths
from homed.retrieval import index
from homed.store.rows import Tx
from tests.kit.forgetting import standing, world

SAID = "Ada lives in Graz, and her cello is from 1890."
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which something was said, a fact was made of it and told to a turn."""
    data = tmp_path_factory.mktemp("memory") / "data"

    async def fill() -> None:
        async with world(data) as here:
            event, _ = await here.say(SAID)
            await here.say("买牛奶和鸡蛋")

            def write(tx: Tx) -> None:
                new = NewFact("owner", "Ada's cello is from 1890.", kind="entity", importance=8)
                made = facts.put(tx, new, [Span(event.id, SAID.index("cello"), len(SAID) - 1)], at=1_790_000_000.0)
                line = Line(made.record, "fact", 1, "immediate", score=0.61, relevance=0.7, evidence="source", chars=60)
                injections.record(
                    tx,
                    Injection(
                        event.turn, "owner", event.thread, 1_790_000_100.0, "hit", 160, 12.5, below=2, lines=(line,)
                    ),
                )
                index.catch_up(tx)

            await here.store.write(write)

    Paths(data).create()
    trio.run(fill)
    return data


@pytest.fixture
def run(filled: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    def ran(*words: str) -> tuple[int, str, str]:
        capsys.readouterr()
        code = main(["--data", str(filled), "memory", *words])
        out, err = capsys.readouterr()
        return code, out, err

    return ran


def listed(run: Run, *words: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(run("list", "--json", *words)[1])["records"]
    return found


def cello(run: Run) -> str:
    return next(str(one["shown"]) for one in listed(run) if "cello" in one["text"])


def test_a_list_and_a_search_show_ids_where_they_come_from_and_scores(run: Run) -> None:
    code, out, _ = run("list", "--record", "l2")
    assert (code, "source" in out, cello(run) in out) == (0, True, True)
    assert out.splitlines()[0].split() == ["id", "record", "from", "made", "text"]
    code, out, _ = run("search", "how", "old", "is", "the", "cello")
    assert (code, out.splitlines()[0].split()[0]) == (0, "score")
    assert "Ada's cello" in out
    assert (
        run("search", "submarine")[1] == "Memory has no record of “submarine”. That does not say that it is not so.\n"
    )
    assert run("list", "--evidence", "none")[1] == "There are no such records.\n"
    assert run("list", "--since", "2001-02-31")[0] == 1
    assert listed(run, "--until", "2001-02-03") == []


def test_one_is_opened_with_the_words_it_was_made_of(run: Run) -> None:
    code, out, _ = run("open", cello(run), "--history")
    assert code == 0
    assert "as it was said" in out
    assert "    | cello is from 1890" in out
    assert "Told on 20" in out
    assert "(immediate, 0.61)" in out
    found = json.loads(run("open", cello(run), "--json")[1])
    assert found["evidence"][0]["hash_ok"] is True
    code, _, err = run("open", "00000000")
    assert (code, "There is no record 00000000" in err) == (1, True)


def test_the_figures_say_what_there_is(run: Run) -> None:
    code, out, _ = run("stats")
    assert code == 0
    assert "1 facts" in out
    assert "1 source" in out
    assert "Said, in view: 4 events" in out
    found = json.loads(run("stats", "--json")[1])
    assert found["records"]["evidence"]["source"] == 1
    found["records"] |= {"untrusted": 2}
    found["passes"] |= {"gates": {"secret": 3}, "waiting": 4, "oldest": 1_790_000_000.0}
    lines = "\n".join(figures(found))
    assert "from outside: 2" in lines
    assert "3 secret" in lines
    assert "worked on: 4, the oldest of 2026" in lines


def test_what_turns_were_told_is_listed_with_scores_and_the_question(run: Run) -> None:
    code, out, _ = run("injections")
    assert code == 0
    assert "hit: 1 fact, 160 characters" in out
    assert "2 not relevant enough" in out
    assert f"id:{cello(run)}@1  immediate, source" in out
    row = json.loads(run("injections", "--record", cello(run), "--json")[1])["injections"][0]
    assert "> " not in "\n".join(told({**row, "query": "", "late": ["vector"], "cut": 1}))
    assert "late: vector" in "\n".join(told({**row, "late": ["vector"]}))
    assert run("injections", "--thread", "th_none")[1] == "No turn was told anything out of memory yet.\n"


def test_a_note_is_written_corrected_hidden_brought_back_and_forgotten(run: Run) -> None:
    code, out, err = run("note", "小雨住在成都。", "--tag", "住处", "--importance", "9")
    assert (code, "Written down: 小雨住在成都。" in out, "not running" in err) == (0, True, True)
    assert run("note", "小雨住在成都。")[1].startswith("Known already")
    one = next(one for one in listed(run) if "成都" in one["text"])
    assert (one["tags"], one["importance"], one["mark"]) == (["住处"], 9, "manual")
    id_ = str(one["shown"])
    assert run("edit", id_)[0] == 2
    assert run("edit", id_, "--text", "小雨住在重庆。")[1].startswith("Changed; it is at revision 2: 小雨住在重庆。")
    code, _, err = run("edit", id_, "--text", "x y", "--revision", "1")
    assert (code, "changed meanwhile" in err) == (1, True)
    assert "小雨住在成都。" in run("open", id_, "--history")[1]
    assert "小雨" not in run("hide", id_)[1]
    assert all("重庆" not in one["text"] for one in listed(run))
    assert run("restore", id_)[1] == f"It is found again: 小雨住在重庆。  (id:{id_})\n"
    code, _, err = run("forget", id_)
    assert (code, "--yes" in err) == (1, True)
    code, out, _ = run("forget", id_, "--yes")
    assert (code, "It stands in no file" in out) == (0, True)


def test_two_become_one_and_are_parted_again(run: Run) -> None:
    for text in ("Balthasar sails on Sundays.", "Every Sunday Balthasar takes the boat out."):
        run("note", text)
    two = [str(one["shown"]) for one in json.loads(run("search", "Balthasar", "--json")[1])["records"]]
    assert len(two) == 2
    code, out, err = run("combine", *two)
    assert (code, "stored there for its next start" in err) == (0, True)
    assert out.startswith("They are one now: ")
    assert f"`homed memory reinstate {two[1]}` parts them again." in out
    listed = json.loads(run("list", "--status", "superseded", "--json")[1])["records"]
    assert two[1] in [one["shown"] for one in listed]
    code, out, _ = run("reinstate", two[1])
    assert (code, out.startswith("It holds again: ")) == (0, True)
    code, _, err = run("reinstate", two[1])
    assert (code, "was not superseded" in err) == (1, True)
    code, _, err = run("combine", two[0], two[0])
    assert (code, "Give the ids of two." in err) == (1, True)
    code, _, err = run("combine", two[0], "ffffffff")
    assert (code, "There is no record ffffffff" in err) == (1, True)


def test_everything_that_holds_a_text_or_was_said_in_a_time_is_forgotten(run: Run) -> None:
    for text in ("Zoltan keeps a parrot.", "The parrot of ZOLTAN is green.", "鹦鹉是绿色的。"):
        run("note", text)
    code, _, err = run("forget", "--text", "zoltan")
    assert (code, "--yes" in err) == (1, True)
    code, out, _ = run("forget", "--text", "zoltan", "--yes", "--json")
    done = json.loads(out)
    assert (code, done["clean"], done["left"]) == (0, True, [])
    assert [proof["removed"]["records"] for proof in done["proofs"]] == [1, 1]
    assert run("search", "Zoltan")[1].startswith("Memory has no record")
    assert any("鹦鹉" in one["text"] for one in listed(run))
    assert run("forget", "--text", "zoltan", "--yes")[1] == "There was nothing.\n"
    assert run("forget", "--since", "2099-01-01", "--yes")[1] == "There was nothing.\n"
    for words in (["forget"], ["forget", "1a2b3c4d", "--text", "x"]):
        assert run(*words)[0] == 2
    assert run("forget", "--text", "x", "--yes")[0] == 1


def test_a_text_in_the_reason_of_a_threshold_goes_and_the_row_stays(run: Run, filled: Path) -> None:
    key, reason = "core.memory.inject_min_score", "notes about Zebulon came all day"
    assert main(["--data", str(filled), "config", "set", key, "0.2", "--reason", reason]) == 0
    code, out, _ = run("forget", "--text", "zebulon", "--yes")
    assert (code, "It was taken out of 1 reasons of thresholds; their other words stay." in out) == (0, True), out
    assert "It stands in no file of the data folder." in out
    assert "stay." in out
    code, out, _ = run("forget", "--text", "Zebulon", "--yes", "--json")
    assert (code, json.loads(out)) == (0, {"clean": True, "left": [], "elsewhere": [], "proofs": []})
    assert main(["--data", str(filled), "config", "unset", key, "--reason", "as it was"]) == 0
    assert standing(filled, "Zebulon") == {}


def test_a_secret_is_refused_by_the_name_of_its_pattern(run: Run) -> None:
    code, out, err = run("note", "the password: hunter2hunter2")
    assert (code, out) == (1, "")
    assert "blocked: password" in err
    assert "hunter2" not in err


def test_wrong_words_are_told_apart_from_failures(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run("forget", "planet", "x")
    assert (code, "none of event, fact" in err) == (2, True)
    for words in (["list", "--record", "l9"], ["note", "x", "--importance", "11"], ["open"]):
        with pytest.raises(SystemExit) as caught:
            run(*words)
        assert caught.value.code == 2
    capsys.readouterr()


def test_the_health_check_says_how_much_it_read_and_ends_well(run: Run) -> None:
    code, out, _ = run("doctor")
    assert code == 0
    assert " checks (fast) read " in out
    found = json.loads(run("doctor", "--deep", "--json")[1])
    assert found["deep"] is True
    everything = run("doctor", "--all")[1]
    assert all(one["name"] in everything for one in json.loads(run("doctor", "--json")[1])["checks"])


def test_what_is_wrong_is_told_with_what_to_do_and_whether_a_repair_does_it() -> None:
    one = {
        "id": "x", "name": "Hashes", "status": "fail", "evidence": "Read 3: 1 changed.", "fix": "Look at it.",
        "read": 3, "wrong": 1, "ids": ["ev_1"], "repairable": True, "mended": "", "mends": 0, "ms": 1,
    }  # fmt: skip
    report = {"checks": [one], "counts": {"fail": 1}, "read": 3, "ms": 4, "deep": True, "repair": False}
    lines = lines_of(report, everything=False)
    assert lines[0].startswith("FAIL  Hashes")
    assert "→ Look at it. (`--repair` does it)" in lines[1]
    assert "ev_1" in lines[2]
    mended = lines_of(
        {**report, "repair": True, "checks": [{**one, "mended": "1 put right.", "mends": 1}]}, everything=False
    )
    assert "✓ 1 put right." in mended[1]
    assert not any("→" in line for line in mended)
