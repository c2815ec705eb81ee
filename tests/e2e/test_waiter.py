"""waiter against a real daemon, its real plugins and a fake model server."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.kit.daemon import VECTORS, Daemon, Ran, run_command, until
from tests.kit.fake_openai import FakeOpenAI, fake_openai_thread
from tests.kit.pty import Pty

pytestmark = pytest.mark.slow
TEXT = "你好🌍, 日本語, 👩‍👩‍👧, é\tend"
WAITER = (sys.executable, "-m", "waiter")


@pytest.fixture(scope="module")
def model() -> Iterator[FakeOpenAI]:
    with fake_openai_thread() as fake:
        fake.when("Every tool call of this round was denied", {"say": "I may not."})
        yield fake


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory, model: FakeOpenAI) -> Iterator[Daemon]:
    """A daemon whose only model is the fake one, in a home of its own; one for all, as starting takes seconds."""
    home = tmp_path_factory.mktemp("home")
    with Daemon(home / "data", env={"HOME": str(home), "TZ": "America/New_York", VECTORS: "off"}) as running:
        use(running, model)
        yield running


def use(daemon: Daemon, model: FakeOpenAI) -> None:
    daemon.ask("admin.models_add", name="fake", base_url=model.url, model=model.model, api_key=model.key)


def waiter(daemon: Daemon, *words: str, stdin: str | None = None) -> Ran:
    return run_command([*WAITER, "--data", str(daemon.data), *words], stdin=stdin, env=daemon.env)


def on_terminal(daemon: Daemon, *words: str) -> Pty:
    return Pty([*WAITER, "--lines", "--data", str(daemon.data), *words], env={**daemon.env, "NO_COLOR": "1"})


def calls(model: FakeOpenAI, question: str, tool: str, args: dict[str, object], *, then: str) -> None:
    """Asked ``question`` the model calls the tool, and says ``then`` when it has the result."""
    model.when(question, {"calls": [{"name": tool, "args": args}]}, {"say": then})


def test_an_answer_with_cjk_and_emoji_is_byte_exact_and_exits_0_a24(daemon: Daemon, model: FakeOpenAI) -> None:
    model.say(TEXT, one_byte=True)
    model.say(TEXT, one_byte=True, crlf=True)
    for how in ("--stream", "--no-stream"):
        ran = waiter(daemon, "-chat", TEXT, how)
        assert (ran.code, ran.out) == (0, TEXT + "\n"), ran
    assert {request.body["messages"][-1]["content"] for request in model.chats[-2:]} == {TEXT}


def test_without_a_model_it_says_what_to_do_and_exits_1(tmp_path: Path) -> None:
    with Daemon(tmp_path / "data") as daemon:
        until(lambda: daemon.socket.exists())
        ran = waiter(daemon, "-chat", "hi")
        assert (ran.code, ran.out) == (1, "")
        assert "homed models add" in ran.err


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_daemon_that_restarts_in_between_gives_one_answer_e42(
    daemon: Daemon, model: FakeOpenAI, number: signal.Signals
) -> None:
    question, asked = f"slow {number.name}", len(model.chats)
    model.when(question, [{"say": "never heard", "first_delay": 60}, {"say": TEXT}])
    child = subprocess.Popen(
        [*WAITER, "--data", str(daemon.data), "-chat", question],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=daemon.env,
    )  # fmt: skip
    until(lambda: len(model.chats) > asked, what="the model was asked")
    daemon.stop(number)
    daemon.start()
    out, err = child.communicate(timeout=90)
    assert (child.returncode, out.decode()) == (0, TEXT + "\n"), err.decode()
    assert json.loads(waiter(daemon, "-chat", "after", "--json").out)["ok"]


def test_two_questions_with_a_restart_between_them_share_the_conversation(daemon: Daemon, model: FakeOpenAI) -> None:
    assert waiter(daemon, "-chat", "one 你好").code == 0
    daemon.stop()
    daemon.start()
    until(lambda: daemon.socket.exists())
    assert waiter(daemon, "-chat", "two", "--continue").code == 0
    said = [m["content"] for m in model.chats[-1].body["messages"] if m["role"] == "user"]
    assert said[-2:] == ["one 你好", "two"]


def test_an_approval_is_asked_on_a_terminal_and_the_tool_runs(daemon: Daemon, model: FakeOpenAI) -> None:
    calls(model, "make it", "cmd_run", {"command": "echo 你好 > made; cat made"}, then="It says {tool}")
    with on_terminal(daemon, "-chat", "make it") as terminal:
        question = terminal.expect("[n] no: ")
        assert "May cmd_run of the plugin shell run?" in question
        assert "echo 你好 > made; cat made" in question
        home = Path(daemon.env["HOME"])
        assert not (home / "made").exists()
        terminal.type("y\n")
        terminal.expect("✓ cmd_run")
        terminal.expect("It says")
        assert terminal.leave() == 0
    assert (home / "made").read_text() == "你好\n"


def test_a_no_is_told_to_the_model_and_nothing_runs(daemon: Daemon, model: FakeOpenAI) -> None:
    calls(model, "refuse it", "cmd_run", {"command": "touch refused"}, then="never")
    with on_terminal(daemon, "-chat", "refuse it") as terminal:
        terminal.expect("[n] no: ")
        terminal.type("n\n")
        terminal.expect("I may not.")
        assert terminal.leave() == 0
    assert not (Path(daemon.env["HOME"]) / "refused").exists()


def test_without_a_terminal_nothing_dangerous_runs_and_nobody_waits(daemon: Daemon, model: FakeOpenAI) -> None:
    calls(model, "unasked", "cmd_run", {"command": "touch unasked"}, then="never")
    ran = waiter(daemon, "-chat", "unasked")
    assert (ran.code, ran.out) == (0, "I may not.\n")
    assert not (Path(daemon.env["HOME"]) / "unasked").exists()


def test_ctrl_c_stops_the_turn_at_once_and_the_next_message_works(daemon: Daemon, model: FakeOpenAI) -> None:
    asked = len(model.chats)
    model.when("long", {"say": "word " * 400, "chunk": 5, "delay": 0.1})
    with on_terminal(daemon) as terminal:
        terminal.expect("› ")
        terminal.type("long\n")
        terminal.expect("word word")
        terminal.ctrl_c()
        terminal.expect("(stopped)")
        terminal.type("short\n")
        terminal.expect("You said: short")
        terminal.ctrl_d()
        assert terminal.leave() == 0
    until(lambda: model.chats[asked].end, what="the model connection is closed")
    assert model.chats[asked].end == "closed"


def test_ctrl_c_with_a_running_command_kills_its_tree_c13(daemon: Daemon, model: FakeOpenAI) -> None:
    calls(model, "sleep", "cmd_run", {"command": "sh -c 'echo $$ > pid; exec sleep 600' & wait"}, then="never")
    pid_file = Path(daemon.env["HOME"]) / "pid"
    with on_terminal(daemon, "-chat", "sleep") as terminal:
        terminal.expect("[n] no: ")
        terminal.type("y\n")
        until(lambda: pid_file.exists() and pid_file.read_text().strip(), what="the command runs")
        pid = int(pid_file.read_text())
        terminal.ctrl_c()
        until(lambda: not Path(f"/proc/{pid}").exists(), what="the command is gone")
        assert terminal.leave() == 130


def test_a_timer_speaks_up_in_the_conversation_that_set_it(daemon: Daemon, model: FakeOpenAI) -> None:
    calls(model, "set my timer", "timer_set", {"text": "tea is ready", "seconds": 5}, then="Set.")
    model.when("tea is ready", {"say": "Your tea!"})
    with on_terminal(daemon) as terminal:
        terminal.expect("› ")
        terminal.type("set my timer\n")
        terminal.expect("[n] no: ")
        terminal.type("y\n")
        terminal.expect("Set.")
        terminal.expect("tea is ready")
        terminal.expect("Your tea!")
        terminal.ctrl_d()
        assert terminal.leave() == 0


def test_files_are_written_and_read_through_the_tools(daemon: Daemon, model: FakeOpenAI) -> None:
    calls(model, "write it", "files_write", {"path": "n/你好.txt", "text": "🌍\n"}, then="Written.")
    with on_terminal(daemon, "-chat", "write it") as terminal:
        terminal.expect("[n] no: ")
        terminal.type("y\n")
        terminal.expect("Written.")
        assert terminal.leave() == 0
    assert (Path(daemon.env["HOME"]) / "homed-files/n/你好.txt").read_text() == "🌍\n"
    calls(model, "read it", "files_read", {"path": "n/你好.txt"}, then="{tool}")
    ran = waiter(daemon, "-chat", "read it")
    assert ran.code == 0, ran
    assert "🌍" in ran.out


@pytest.fixture
def sanitizer(daemon: Daemon) -> Iterator[int]:
    """The sanitizer, switched on for one test; its pid."""
    assert daemon.run("plugin", "start", "sanitizer").code == 0
    until(lambda: daemon.plugin("sanitizer")["state"] == "ready")
    pid = daemon.plugin("sanitizer")["pid"]
    yield pid
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGCONT)
    assert daemon.run("plugin", "stop", "sanitizer").code == 0


def test_the_sanitizer_scrubs_before_the_model_and_before_storage(
    daemon: Daemon, model: FakeOpenAI, sanitizer: int
) -> None:
    ran = waiter(daemon, "-chat", "mail a.person@example.cn or 13812345678")
    assert ran.code == 0, ran
    assert "[email] or [phone]" in ran.out
    daemon.stop()
    try:
        kept = b"".join(path.read_bytes() for path in daemon.data.rglob("*") if path.is_file())
    finally:
        daemon.start()
        until(lambda: daemon.socket.exists())
    for secret in ("a.person@example.cn", "13812345678"):
        assert not any(secret in json.dumps(request.body) for request in model.chats)
        assert secret.encode() not in kept


def test_a_hung_sanitizer_withholds_and_the_person_is_told(daemon: Daemon, model: FakeOpenAI, sanitizer: int) -> None:
    asked = len(model.chats)
    assert daemon.run("config", "set", "core.agent.stage_timeout", "1").code == 0
    os.kill(sanitizer, signal.SIGSTOP)
    ran = waiter(daemon, "-chat", "mail a.person@example.cn")
    assert ran.code == 1, ran
    assert "sanitizer" in ran.err
    assert len(model.chats) == asked


def test_a_question_to_a_running_homed_is_quick(daemon: Daemon, model: FakeOpenAI) -> None:
    waiter(daemon, "-chat", "warm")
    took: dict[str, list[float]] = {"asking": [], "starting": []}
    for _ in range(5):
        for what, words in (("asking", ("-chat", "hi")), ("starting", ("--help",))):
            before = time.perf_counter()
            assert waiter(daemon, *words).code == 0
            took[what].append(time.perf_counter() - before)
    # The figure itself is a benchmark's; this is the order of magnitude, on a machine that may be slow and busy.
    assert min(took["asking"]) < 15 * min(took["starting"]), took


def test_many_waiters_at_once_each_get_their_own_answer(daemon: Daemon, model: FakeOpenAI) -> None:
    answers: dict[int, Ran] = {}

    def ask(number: int) -> None:
        answers[number] = waiter(daemon, "-chat", f"number {number}")

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {n: ran.out for n, ran in answers.items()} == {n: f"You said: number {n}\n" for n in range(5)}
    assert os.path.lexists(daemon.socket)
