"""`homed memory setup`, with and without somebody at a terminal; and reasons of thresholds, as they are asked for."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from homed.__main__ import main
from homed.commands import memory_setup
from homed.commands.reach import ask_or_open
from homed.paths import Paths

Run = Callable[..., tuple[int, str, str]]


class Terminal(io.StringIO):
    """Somebody who types these lines."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    paths = Paths(tmp_path / "data")
    paths.create()

    def ran(*words: str) -> tuple[int, str, str]:
        capsys.readouterr()
        code = main(["--data", str(paths.data), *words])
        return (code, *capsys.readouterr())

    return ran


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    def types(*lines: str) -> None:
        monkeypatch.setattr("sys.stdin", Terminal("".join(f"{line}\n" for line in lines)))
        monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
        monkeypatch.setattr("getpass.getpass", lambda _: "k" * 20)

    return types


@pytest.fixture
def probe(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """What endpoints were asked for; they answer unless their address says otherwise."""
    asked: list[dict[str, Any]] = []

    def answer(args: Any, method: str, **params: Any) -> Any:
        if method != "admin.embedding_probe":
            return ask_or_open(args, method, **params)
        asked.append(params)
        ok = "dead" not in params["base_url"]
        return {"ok": ok, "dims": 8, "ms": 3, "error": "Nobody answers there.", "hint": "Is it up?"}

    monkeypatch.setattr(memory_setup, "ask_or_open", answer)
    return asked


def test_without_options_and_without_a_terminal_it_says_how_it_is(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO())
    code, out, _ = run("memory", "setup")
    assert (code, out.startswith("Vectors: auto")) == (0, True)
    assert "api_key" not in json.loads(run("memory", "setup", "--json")[1])


def test_one_is_chosen_in_options(run: Run) -> None:
    assert run("memory", "setup", "--embedding", "off")[1].startswith("Vectors: off")
    assert run("memory", "setup", "--embedding", "tfidf")[1].startswith("Vectors: tfidf")


def test_an_endpoint_is_asked_before_it_is_saved_and_its_key_is_nowhere_shown(
    run: Run, probe: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("secret-key-of-mine\n"))
    words = ["memory", "setup", "--base-url", "http://127.0.0.1:9/v1", "--model", "m", "--api-key", "-"]
    code, out, err = run(*words)
    assert (code, "It answers: 8 dimensions" in err) == (0, True)
    assert probe == [{"base_url": "http://127.0.0.1:9/v1", "model": "m", "api_key": "secret-key-of-mine"}]
    assert "endpoint http://127.0.0.1:9/v1, model m, with a key" in out
    assert "secret-key-of-mine" not in out + err


def test_one_that_does_not_answer_is_not_saved_unless_that_is_said(
    run: Run, probe: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO())
    words = ["memory", "setup", "--base-url", "http://dead/v1", "--model", "m"]
    code, out, err = run(*words)
    assert (code, out, "Nobody answers there. Is it up?" in err) == (1, "", True)
    assert run("memory", "setup")[1].startswith("Vectors: auto")
    assert run(*words, "--no-test")[1].startswith("Vectors: endpoint")
    assert len(probe) == 1


@pytest.mark.parametrize(
    ("lines", "code", "said"),
    [
        (["1"], 0, "Vectors: bundled"),
        (["3"], 0, "Vectors: off"),
        ([""], 0, ""),
        (["7"], 1, ""),
        (["2", "http://127.0.0.1:9/v1", "m"], 0, "Vectors: endpoint"),
        (["2", "http://dead/v1", "m", "n"], 1, ""),
        (["2", "http://dead/v1", "m", "是"], 0, "Vectors: endpoint"),
    ],
)
def test_a_person_is_asked(
    run: Run, typed: Callable[..., None], probe: object, lines: list[str], code: int, said: str
) -> None:
    typed(*lines)
    done, out, _ = run("memory", "setup")
    assert done == code
    assert out.startswith(said) if said else out == ""


KEY = "core.memory.inject_min_score"


def test_a_threshold_is_changed_with_a_reason_and_not_without(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO())
    code, _, err = run("config", "set", KEY, "0.3")
    assert (code, "prevents notes that share" in err, "--reason" in err) == (1, True, True)
    assert run("config", "set", KEY, "0.3", "--reason", "unrelated notes came")[0] == 0
    assert run("config", "get", KEY)[1] == "0.3\n"
    assert run("config", "unset", KEY)[0] == 1
    assert run("config", "unset", KEY, "--reason", "it is well again")[0] == 0


def test_somebody_at_a_terminal_is_asked_why(run: Run, typed: Callable[..., None]) -> None:
    typed("too many notes")
    code, _, err = run("config", "set", KEY, "0.2")
    assert (code, "Why? " in err) == (0, True)
    typed("")
    assert run("config", "set", KEY, "0.4")[0] == 1
    assert run("config", "get", KEY)[1] == "0.2\n"
