"""`homed models` as it is typed, without a daemon: what a server says cannot steer the terminal."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from homed.__main__ import main
from homed.paths import Paths
from tests.kit.fake_openai import FakeOpenAI, fake_openai_thread

OWNED = "\x1b]0;owned\x07\u202eesrever"


@pytest.fixture
def data(tmp_path: Path) -> str:
    paths = Paths(tmp_path / "data")
    paths.create()
    return str(paths.data)


@pytest.fixture
def server(data: str, capsys: pytest.CaptureFixture[str]) -> Iterator[FakeOpenAI]:
    with fake_openai_thread() as running:
        source = ("--base-url", running.url, "--model", running.model, "--api-key", running.key)
        assert models(data, "add", "mine", *source) == 0
        capsys.readouterr()
        yield running


def models(data: str, *words: str) -> int:
    return main(["models", *words, "--data", data])


def harmless(said: str) -> bool:
    return "owned" in said and not any(c in said for c in OWNED if not c.isprintable())


@pytest.mark.parametrize("first", [True, False], ids=["the first question", "the one with a tool"])
def test_an_error_of_a_trial_is_shown_with_its_control_characters_in_words(
    data: str, server: FakeOpenAI, capsys: pytest.CaptureFixture[str], *, first: bool
) -> None:
    if not first:
        server.say("one two")
    server.misbehave(status=422, body={"error": {"message": f"no such thing: {OWNED}"}})
    assert models(data, "test", "mine") == (1 if first else 0)
    said = capsys.readouterr()
    assert harmless(said.err if first else said.out), said


def test_the_models_of_a_server_are_listed_with_their_control_characters_in_words(
    data: str, server: FakeOpenAI, capsys: pytest.CaptureFixture[str]
) -> None:
    server.misbehave(status=200, sse=False, body={"data": [{"id": f"m{OWNED}"}, {"id": "good"}]})
    assert models(data, "list", "--available", "mine") == 0
    assert harmless(capsys.readouterr().out + "owned")


def test_an_adapter_script_that_cannot_be_loaded_says_why(data: str, capsys: pytest.CaptureFixture[str]) -> None:
    folder = Path(data) / "adapters"
    folder.mkdir(exist_ok=True)
    (folder / "bad.lua").write_text('error("\\27]0;owned\\7")')
    assert models(data, "adapters") == 1
    said = capsys.readouterr()
    assert harmless(said.err), said
