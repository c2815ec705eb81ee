"""`homed doctor` as it is typed: what it prints, how it ends, and the repair."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import closing, nullcontext
from pathlib import Path

import apsw
import pytest
import trio

from homed.__main__ import main
from homed.commands.stopped import Repaired
from homed.config.lock import data_lock
from homed.paths import Paths
from homed.store import repair as mending
from homed.store.db import open_store
from homed.store.repair import Repair
from homed.store.salvage import Saved
from tests.homed.jobs.test_contents import fill
from tests.kit.fake_openai import FakeOpenAI, fake_openai_thread


@pytest.fixture
def paths(tmp_path: Path) -> Paths:
    made = Paths(tmp_path / "data")
    made.create()

    async def run() -> None:
        async with open_store(made.db) as store:
            await store.write(fill)

    trio.run(run)
    return made


def homed(paths: Paths, *words: str) -> int:
    return main(["doctor", *words, "--data", str(paths.data)])


def zero(paths: Paths, number: int) -> None:
    with paths.db.open("r+b") as file:
        file.seek((number - 1) * 4096)
        file.write(bytes(4096))


def states(text: str) -> dict[str, str]:
    return {check["name"]: check["state"] for check in json.loads(text)["checks"]}


def test_all_well_is_0_and_something_bad_is_1_with_what_to_do(paths: Paths, capsys: pytest.CaptureFixture[str]) -> None:
    assert homed(paths) == 0
    assert "BAD" not in capsys.readouterr().out
    zero(paths, 3)
    assert homed(paths) == 1
    out = capsys.readouterr().out
    assert "BAD   database" in out
    assert "→ Stop homed and run `homed doctor --repair`." in out
    assert homed(paths, "--json") == 1
    assert states(capsys.readouterr().out)["database"] == "bad"


def test_memory_has_its_line(paths: Paths, capsys: pytest.CaptureFixture[str]) -> None:
    homed(paths)
    out = capsys.readouterr().out
    assert re.search(r"warn  memory +\d of \d\d checks: Read 20 turns that wait for their pass: 20 wait", out), (
        "of 1970"
    )
    connection = apsw.Connection(str(paths.db))
    connection.execute("UPDATE word_counts SET documents = documents + 1")
    connection.close()
    assert homed(paths) == 1
    out = capsys.readouterr().out
    assert "BAD   memory" in out
    assert "`homed memory doctor --repair` mends what is safe" in out


def test_a_warning_is_no_failure(paths: Paths, capsys: pytest.CaptureFixture[str]) -> None:
    (paths.plugins / "broken").mkdir()
    (paths.plugins / "broken" / "plugin.json").write_text("{")
    assert homed(paths, "--json") == 0
    assert states(capsys.readouterr().out)["plugins"] == "warn"


@pytest.mark.parametrize(
    ("text", "state"), [("[core.agent]\nnonsense = 1\n", "bad"), ('[plugin.webui]\nlissten = "x"\n', "warn")]
)
def test_the_configuration_is_looked_at_too(
    paths: Paths, capsys: pytest.CaptureFixture[str], text: str, state: str
) -> None:
    paths.config.write_text(text)
    homed(paths, "--json")
    assert states(capsys.readouterr().out)["configuration"] == state


def test_the_listening_address_comes_from_where_the_daemon_would_take_it(
    paths: Paths, capsys: pytest.CaptureFixture[str]
) -> None:
    paths.config.write_text('[plugin.webui]\nlisten = "0.0.0.0:8080"\n')
    assert homed(paths, "--json") == 1
    assert states(capsys.readouterr().out)["page"] == "bad"


@pytest.mark.parametrize("way", ["homed.toml", "environment", "persona.md", "an earlier homed"])
def test_a_key_in_a_setting_that_is_shown_is_named_and_not_told(
    paths: Paths, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    homed(paths, "--json")
    assert states(capsys.readouterr().out)["settings"] == "ok"
    key = "sk-proj-canary7ABCDEFGHIJ4567890"
    match way:
        case "homed.toml":
            paths.config.write_text(f'[core.agent]\npersona = "{key}"\n')
        case "environment":
            monkeypatch.setenv("HOMED__CORE__AGENT__PERSONA", key)
        case "persona.md":
            paths.persona.write_text(key)
        case _:
            with closing(apsw.Connection(str(paths.db))) as db:
                db.execute("INSERT INTO settings VALUES ('core.agent.persona', ?, 1.0)", (json.dumps(key),))
    homed(paths)
    out = capsys.readouterr().out
    assert "what looks like a key stands in core.agent.persona" in out
    assert "homed config set" in out
    assert key not in out


def test_a_daemon_that_cannot_be_reached_is_named(paths: Paths, capsys: pytest.CaptureFixture[str]) -> None:
    with data_lock(paths):
        assert homed(paths, "--json") == 0
        assert states(capsys.readouterr().out)["daemon"] == "warn"
        assert homed(paths, "--repair") == 1
    assert "Stop it first" in capsys.readouterr().err


def test_the_repair_says_what_it_saved_and_where_the_damaged_one_is(
    paths: Paths, capsys: pytest.CaptureFixture[str]
) -> None:
    zero(paths, 3)
    assert homed(paths, "--repair", "--json") == 0
    done = json.loads(capsys.readouterr().out)
    assert done["repaired"]
    assert Path(done["kept"], "homed.db").exists()
    assert {"table": "events", "kept": 40, "lost": 0} in done["tables"]
    assert homed(paths, "--repair") == 0
    assert "sound" in capsys.readouterr().out
    assert homed(paths, "--json") == 0
    told = states(capsys.readouterr().out)
    assert (told["database"], told["word index"], told["kept aside"]) == ("ok", "warn", "warn")


@pytest.mark.parametrize("lost", [1, None])
def test_a_repair_that_lost_rows_or_cannot_count_them_says_so_and_is_1(
    paths: Paths, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, lost: int | None
) -> None:
    def partly(_: Path, found: str) -> Repair:
        return Repair(paths.data / found, [Saved("threads", 1, 0), Saved("events", 40, lost)], {})

    zero(paths, 3)
    monkeypatch.setattr(mending, "repair", partly)
    assert homed(paths, "--repair", "--json") == 1
    assert json.loads(capsys.readouterr().out)["whole"] is False
    assert homed(paths, "--repair") == 1
    assert "Not everything was saved" in capsys.readouterr().out
    assert Repaired(Repair(paths.data, [Saved("threads", 1, 0)], {})).whole
    assert not Repaired(Repair(paths.data, [Saved("threads", 1, 0)], {"conversations whose name was lost": 1})).whole


def test_a_search_index_that_is_wrong_is_made_anew_and_nothing_else_is_touched(
    paths: Paths, capsys: pytest.CaptureFixture[str]
) -> None:
    connection = apsw.Connection(str(paths.db))
    connection.execute("UPDATE word_counts SET documents = 3")
    connection.close()
    assert homed(paths, "--repair") == 0
    assert "made anew" in capsys.readouterr().out
    assert not (paths.data / "damaged").exists()


def test_a_search_index_with_broken_pieces_is_made_anew_too(paths: Paths, capsys: pytest.CaptureFixture[str]) -> None:
    connection = apsw.Connection(str(paths.db))
    connection.execute("UPDATE word_index_data SET block = zeroblob(length(block)) WHERE id > 10")
    connection.close()
    assert homed(paths) in (0, 1)
    capsys.readouterr()
    assert homed(paths, "--repair", "--json") == 0
    assert json.loads(capsys.readouterr().out)["reindexed"]
    assert homed(paths, "--deep", "--json") in (0, 1)
    assert states(capsys.readouterr().out)["database"] == "ok"


@pytest.fixture
def server(paths: Paths, capsys: pytest.CaptureFixture[str]) -> Iterator[FakeOpenAI]:
    with fake_openai_thread() as running:
        source = ("--base-url", running.url, "--model", running.model, "--api-key", running.key)
        assert main(["models", "add", "mine", *source, "--data", str(paths.data)]) == 0
        capsys.readouterr()
        yield running


def model(text: str) -> str:
    return next(str(check["what"]) for check in json.loads(text)["checks"] if check["name"] == "model")


def spent(paths: Paths) -> list[tuple[object, ...]]:
    connection = apsw.Connection(str(paths.db))
    try:
        return list(connection.execute("SELECT kind, who, source, prompt > 0 FROM spend_calls ORDER BY id"))
    finally:
        connection.close()


def test_what_a_deep_look_asks_is_counted_also_while_homed_is_stopped(
    paths: Paths, server: FakeOpenAI, capsys: pytest.CaptureFixture[str]
) -> None:
    homed(paths, "--json")
    assert model(capsys.readouterr().out).endswith("--deep asks it a question")
    assert (server.chats, spent(paths)) == ([], [])
    server.say("hello")
    homed(paths, "--deep", "--json")
    assert model(capsys.readouterr().out) == "mine answered"
    assert len(spent(paths)) == len(server.chats) > 0


def test_a_deep_look_asks_nobody_whom_a_limit_keeps_it_from(
    paths: Paths, server: FakeOpenAI, capsys: pytest.CaptureFixture[str]
) -> None:
    paths.config.write_text("[core.spend]\nday_tokens = 10\n")
    assert homed(paths, "--deep", "--json") == 1
    assert "did not answer" in model(capsys.readouterr().out)
    assert (server.chats, spent(paths)) == ([], [])


@pytest.mark.parametrize("why", ["held", "older"])
def test_nobody_is_asked_where_it_could_not_be_written_down(
    paths: Paths, server: FakeOpenAI, capsys: pytest.CaptureFixture[str], why: str
) -> None:
    if why == "older":
        connection = apsw.Connection(str(paths.db))
        connection.execute("PRAGMA user_version = 6")
        connection.close()
    with data_lock(paths) if why == "held" else nullcontext():
        homed(paths, "--deep", "--json")
    assert "not asked" in model(capsys.readouterr().out)
    assert server.chats == []


def test_nothing_there_is_nothing_to_repair(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert homed(Paths(tmp_path / "none"), "--repair") == 0
    assert not (tmp_path / "none").exists()


def test_a_database_without_a_byte_is_looked_at_and_told(paths: Paths, capsys: pytest.CaptureFixture[str]) -> None:
    paths.db.write_bytes(b"")
    assert homed(paths) == 0
    out = capsys.readouterr().out
    assert "warn  database" in out
    assert "put a copy of yours in its place before you start homed" in out
    assert homed(paths, "--repair") == 1
    assert "Nothing of homed's could be read" in capsys.readouterr().err
    assert paths.db.read_bytes() == b""
