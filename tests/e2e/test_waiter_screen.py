"""The full screen against a real daemon, its real plugins and a fake model server."""

from __future__ import annotations

import json
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.kit.daemon import VECTORS, Daemon, run_command, until
from tests.kit.fake_openai import FakeOpenAI, fake_openai_thread
from tests.waiter.tmux import Tmux, needs_tmux

pytestmark = needs_tmux
WAITER = [sys.executable, "-m", "waiter"]


@pytest.fixture(scope="module")
def model() -> Iterator[FakeOpenAI]:
    with fake_openai_thread() as fake:
        fake.when("Every tool call of this round was denied", {"say": "I may not."})
        yield fake


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory, model: FakeOpenAI) -> Iterator[Daemon]:
    home = tmp_path_factory.mktemp("home")
    with Daemon(home / "data", env={"HOME": str(home), VECTORS: "off"}) as running:
        running.ask("admin.models_add", name="fake", base_url=model.url, model=model.model, api_key=model.key)
        yield running


def screen(daemon: Daemon, *words: str, columns: int = 80, rows: int = 24) -> Tmux:
    where = () if "--remote" in words else ("--data", str(daemon.data))
    env = {key: daemon.env[key] for key in ("HOME",)}
    return Tmux([*WAITER, *where, *words], env=env, columns=columns, rows=rows)


@pytest.fixture(scope="module")
def key(daemon: Daemon) -> str:
    scopes = [word for scope in ("chat", "memory", "admin") for word in ("--scope", scope)]
    ran = daemon.run("keys", "add", "terminal", *scopes, "--json")
    assert ran.code == 0, ran
    return str(json.loads(ran.out)["key"])


def ask(shown: Tmux, text: str) -> None:
    shown.type(text)
    shown.keys("Enter")


def test_a_conversation_with_a_tool_an_approval_and_a_stop(daemon: Daemon, model: FakeOpenAI) -> None:
    call = {"calls": [{"name": "cmd_run", "args": {"command": "echo 你好 > made; cat made"}}]}
    model.when("make it", {"say": "# Doing it", **call}, {"say": "It is **made**."})
    model.when("go on and on", {"say": "word " * 2000, "chunk": 5, "delay": 0.05})
    with screen(daemon) as shown:
        shown.expect("● this machine", "fake-1")
        ask(shown, "make it")
        shown.expect("Doing it", "May cmd_run of the plugin shell run?", "waiting for your word")
        assert not (Path(daemon.env["HOME"]) / "made").exists()
        time.sleep(0.8)  # a key answers only what was there long enough to be read
        shown.keys("y")
        shown.expect("✓ cmd_run", "It is made.")
        shown.keys("C-o")
        shown.expect("│ command: echo 你好 > made; cat made", "stdout:")
        assert (Path(daemon.env["HOME"]) / "made").read_text() == "你好\n"
        ask(shown, "go on and on")
        shown.expect("word word", "writing")
        shown.keys("Escape")
        shown.expect("■ stopped")
        said = shown.gone("writing").count("word")
        time.sleep(0.5)
        assert shown.screen.count("word") == said
        ask(shown, "/rename Over and done")
        shown.expect("It is called: Over and done", "this machine · Over and done")


def test_alt_i_takes_up_a_message_now_and_the_answer_goes_on_afterwards(daemon: Daemon, model: FakeOpenAI) -> None:
    model.when("tell a story", [{"say": "It was a dark night", "hang": "mid"}, {"say": "It was a bright day."}])
    lunch = {"say": "At noon, if it is ready.", "chunk": 2}
    model.when("when is lunch", [{**lunch, "hang": "until lunch"}, {**lunch, "hang": "until lunch again"}])
    model.when("and dinner", [{"say": "in the evening", "hang": "mid"}, {"say": "At eight."}])
    with screen(daemon) as shown:
        shown.expect("● this machine", "fake-1")
        ask(shown, "tell a story")
        shown.expect("It was", "writing")
        shown.type("when is lunch?")
        shown.keys("M-i")
        shown.expect("It was", "‖ suspended: something more urgent goes first", "› when is lunch?")
        model.release("lunch")
        shown.expect("At noon, if it is ready.", "It was a bright day.")
        assert "suspended" not in shown.screen
        assert shown.screen.count("It was") == 1
        ask(shown, "and dinner?")
        shown.expect("in the")
        ask(shown, "/interrupt when is lunch again?")
        shown.expect("‖ suspended", "› when is lunch again?")
        model.release("lunch again")
        shown.expect("At eight.")


def test_kill_9_and_a_restart_in_mid_answer_lose_and_repeat_nothing(daemon: Daemon, model: FakeOpenAI) -> None:
    model.when("long story", [{"say": "once " * 400, "chunk": 5, "delay": 0.1}, {"say": "The whole story."}])
    with screen(daemon) as shown:
        shown.expect("● ", "fake-1")
        ask(shown, "long story")
        shown.expect("once once")
        shown.type("half typed")
        daemon.kill()
        shown.expect("no connection, trying again", "› half typed")
        daemon.start()
        seen = shown.expect("● ", "The whole story.", "› half typed")
        assert seen.count("› long story") == 1
        assert seen.count("The whole story.") == 1
        shown.keys("C-u")
        ask(shown, "after")
        shown.expect("You said: after")


def test_two_terminals_and_the_page_stay_in_step(daemon: Daemon, model: FakeOpenAI, key: str) -> None:
    model.when("slowly now", {"say": "one two three four five", "chunk": 4, "delay": 0.2})
    with screen(daemon) as one:
        one.expect("● ", "fake-1")
        ask(one, "slowly now")
        one.expect("one two")
        with screen(daemon, "--continue") as two:
            two.expect("› slowly now", "five")
            one.expect("five")
            ask(two, "from the second")
            one.expect("› from the second", "You said: from the second")
            threads = json.loads(get(daemon, "/api/v1/threads", key))["threads"]
            body = json.dumps({"text": "from the page", "thread": threads[0]["id"], "client_msg_id": "page-1"}).encode()
            get(daemon, "/api/v1/chat", key, body)
            for shown in (one, two):
                seen = shown.expect("from the page", "You said: from the page")
                assert seen.count("You said: from the second") == 1


def get(daemon: Daemon, path: str, key: str, body: bytes | None = None) -> bytes:
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    request = urllib.request.Request(daemon.url + path, body, headers)
    with urllib.request.urlopen(request, timeout=30) as answer:
        return bytes(answer.read())


def test_the_same_screen_from_elsewhere_with_a_key(daemon: Daemon, model: FakeOpenAI, key: str) -> None:
    model.when("from afar", {"say": "Near **enough**."})
    with screen(daemon, "--remote", daemon.url) as shown:
        shown.expect(f"API key for {daemon.url}")
        ask(shown, key)
        screen_ = shown.expect("● 127.0.0.1", "fake-1")
        assert key not in screen_
        ask(shown, "from afar")
        shown.expect("Near enough.")
        ask(shown, "/status")
        shown.expect("homed ", "Model: fake-1 of fake")
    files = list((Path(daemon.env["HOME"]) / ".local/state/homed/waiter").iterdir())
    assert not any(key.encode() in file.read_bytes() for file in files)
    env = {**daemon.env, "HOMED_API_KEY": key}
    ran = run_command([*WAITER, "--remote", daemon.url, "-chat", "from afar"], env=env)
    assert (ran.code, ran.out) == (0, "Near **enough**.\n"), ran
    ran = run_command(
        [*WAITER, "--remote", daemon.url, "-chat", "x"], env={**daemon.env, "HOMED_API_KEY": "hk_" + "0" * 43}
    )
    assert (ran.code, "refuses this key" in ran.err) == (1, True), ran


def test_files_go_along_and_a_conversation_is_written_out(daemon: Daemon, model: FakeOpenAI, tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("Dear reader 你好", "utf-8")
    with screen(daemon, columns=120) as shown:
        shown.expect("● ", "fake-1")
        ask(shown, f"/attach {tmp_path}/letter.txt")
        shown.expect("letter.txt (")
        ask(shown, "read this")
        shown.expect("› read this", "with letter.txt")
        asked = until(
            lambda: next((r for r in model.chats if "Dear reader" in json.dumps(r.body, ensure_ascii=False)), None)
        )
        assert asked
        ask(shown, f"/export {tmp_path}/out.md")
        shown.expect("Written to")
        assert "read this" in (tmp_path / "out.md").read_text("utf-8")
        ask(shown, "/delete yes")
        shown.expect("Deleted.")


def test_recall_is_told_and_explained(daemon: Daemon, model: FakeOpenAI) -> None:
    daemon.ask("admin.config_set", key="core.memory.recall_deadline", value=30)  # a busy machine remembers late
    with screen(daemon, rows=40) as shown:
        shown.expect("● ", "fake-1")
        ask(shown, "My favourite teapot is the zanzibar blue one")
        shown.expect("You said: My favourite teapot")
        ask(shown, "/new")
        shown.expect("new conversation")
        ask(shown, "What colour has the zanzibar teapot?")
        shown.expect("[long-term recall]", "from other conversations")
        shown.keys("C-o")
        shown.expect("  │ ", "zanzibar blue")
        ask(shown, "/memory")
        shown.expect("From elsewhere:")
