"""The whole program, as a shell sees it: bytes on stdout, words on stderr, an exit status."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

import pytest

from homed.errors import InvalidInput, Unavailable
from tests.waiter.conftest import Run
from tests.waiter.fake_homed import Caller, FakeHomed, Hangup, Params

TEXT = "你好🌍, 日本語, 👩‍👩‍👧, é\tend"


def test_an_answer_is_printed_and_the_exit_status_is_0(homed: FakeHomed, waiter: Run) -> None:
    done = waiter("-chat", "hi")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"hello\n", b"")
    assert homed.named("chat")[0]["text"] == "hi"


@pytest.mark.parametrize("flag", ["-chat", "--chat"])
def test_both_spellings_of_the_flag_work(homed: FakeHomed, waiter: Run, flag: str) -> None:
    assert waiter(flag, "hi").stdout == b"hello\n"


def test_cjk_and_emoji_go_in_and_come_out_byte_for_byte_in_any_locale_a24(homed: FakeHomed, waiter: Run) -> None:
    def script(caller: Caller) -> None:
        caller.event("turn", phase="start", input="in")
        for at, char in enumerate(TEXT):
            caller.event("content_delta", step=0, at=at, text=char)
        caller.finish(TEXT)

    homed.script = script
    for locale in ("C", "C.UTF-8", "POSIX"):
        for how in ("--stream", "--no-stream"):
            done = waiter("-chat", TEXT, how, env={"LC_ALL": locale, "PYTHONUTF8": "0"})
            assert done.stdout == TEXT.encode() + b"\n"
    assert {params["text"] for params in homed.named("chat")} == {TEXT}


def test_a_message_from_stdin_is_one_message_with_its_line_breaks(homed: FakeHomed, waiter: Run) -> None:
    assert waiter("-chat", "-", stdin=b"one\ntwo\n").returncode == 0
    assert waiter(stdin=b"three\nfour").returncode == 0
    assert [params["text"] for params in homed.named("chat")] == ["one\ntwo\n", "three\nfour"]


def test_nobody_can_be_asked_without_a_terminal(homed: FakeHomed, waiter: Run) -> None:
    waiter("-chat", "hi")
    assert homed.named("chat")[0]["can_ask"] is False


def test_json_prints_one_object_and_nothing_else(homed: FakeHomed, waiter: Run) -> None:
    homed.script = lambda caller: caller.finish("\x1b[2J\u202eyes", usage={"prompt": 3})
    done = waiter("-chat", "hi", "--json", "--stream")
    assert b"\x1b" not in done.stdout
    assert "\u202e".encode() not in done.stdout
    assert json.loads(done.stdout) == {
        "ok": True, "state": "answered", "text": "\x1b[2J\u202eyes", "error": "", "hint": "", "thread": "th",
        "input": "in", "usage": {"prompt": 3},
    }  # fmt: skip


@pytest.mark.parametrize("state", ["failed", "refused", "reported", "stopped"])
def test_an_end_without_an_answer_says_why_on_stderr_and_exits_1(homed: FakeHomed, waiter: Run, state: str) -> None:
    homed.script = lambda caller: caller.finish("", state, error="No model is set up.", hint="Run homed models add.")
    done = waiter("-chat", "hi")
    assert (done.returncode, done.stdout) == (1, b"")
    assert done.stderr.decode() == "waiter: No model is set up.\nRun homed models add.\n"


def test_without_a_daemon_it_says_what_to_do_at_once(waiter: Run, tmp_path: Path) -> None:
    before = time.monotonic()
    done = waiter("-chat", "hi")
    assert done.returncode == 1
    assert b"Start it with `homed`" in done.stderr
    assert time.monotonic() - before < 20
    as_json = waiter("-chat", "hi", "--json")
    assert "Start it with `homed`" in str(failure(as_json.stdout)["hint"])


def test_a_socket_file_without_a_listener_is_told_as_such(waiter: Run, homed: FakeHomed) -> None:
    homed.stop()
    done = waiter("-chat", "hi")
    assert done.returncode == 1
    assert b"does not answer" in done.stderr


@pytest.mark.parametrize(
    ("words", "stdin"),
    [
        (("--nonsense",), b""),
        (("-chat",), b""),
        (("-chat", ""), b""),
        (("-chat", " \n"), b""),
        (("-chat", "-"), b"\xff\xfe"),
        ((), b""),
        (("-chat", "x", "--thread", "t", "--continue"), b""),
    ],
)
def test_wrong_usage_exits_2(homed: FakeHomed, waiter: Run, words: tuple[str, ...], stdin: bytes) -> None:
    done = waiter(*words, stdin=stdin)
    assert done.returncode == 2
    assert done.stderr.startswith(b"waiter: ")
    assert not homed.named("chat")
    as_json = waiter("--json", *words, stdin=stdin)
    assert (as_json.returncode, as_json.stderr) == (2, b"")
    assert failure(as_json.stdout)["error"]


def failure(stdout: bytes) -> dict[str, object]:
    """The one object on stdout, which has the fields of every outcome."""
    told: dict[str, object] = json.loads(stdout)
    assert list(told) == ["ok", "state", "text", "error", "hint", "thread", "input", "usage"]
    assert (told["ok"], told["state"]) == (False, "failed")
    return told


def test_a_message_that_is_no_utf8_exits_2(homed: FakeHomed, tmp_path: Path) -> None:
    argv = [sys.executable.encode(), b"-m", b"waiter", b"-chat", b"\xff", b"--socket", os.fsencode(homed.path)]
    done = subprocess.run(argv, capture_output=True, stdin=subprocess.DEVNULL, timeout=60, check=False)
    assert done.returncode == 2


def test_what_homed_refuses_as_invalid_exits_2(homed: FakeHomed, waiter: Run) -> None:
    def refuse(caller: Caller, params: object) -> object:
        raise InvalidInput("Too long.")

    homed.answers["chat"] = refuse
    assert waiter("-chat", "x").returncode == 2
    as_json = waiter("-chat", "x", "--json")
    assert as_json.returncode == 2
    assert failure(as_json.stdout)["error"] == "Too long."


def test_a_message_over_the_wires_limit_is_refused_before_it_is_sent(homed: FakeHomed, waiter: Run) -> None:
    done = waiter("-chat", "-", stdin=b"x" * (1 << 20))
    assert done.returncode == 2
    assert b"at most" in done.stderr


def test_terminal_sequences_in_text_tools_and_errors_are_made_harmless(homed: FakeHomed, waiter: Run) -> None:
    evil = "\x1b]0;owned\x07\x9b2J\x1b[31mred\u202e"

    def script(caller: Caller) -> None:
        caller.event("turn", phase="start", input="in")
        caller.event("content_delta", step=0, at=0, text=evil)
        caller.event("tool_call", call="c", step=0, tool=evil, status="running", args={"x": evil})
        caller.event("tool_call", call="c", step=0, tool=evil, status="ok", args={}, result=evil, ms=1)
        caller.event("system", code="x", message=evil)
        caller.finish(evil, "failed", error=evil, hint=evil)

    homed.script = script
    done = waiter("-chat", "hi", "--stream")
    for stream in (done.stdout.decode(), done.stderr.decode()):
        assert "red" in stream
        assert not set(stream) & {"\x1b", "\x07", "\x9b", "\u202e"}


def test_tool_lines_stand_on_stderr_and_quiet_leaves_them_out(homed: FakeHomed, waiter: Run) -> None:
    def script(caller: Caller) -> None:
        caller.event("turn", phase="start", input="in")
        caller.event("tool_call", call="c", step=0, tool="cmd_run", status="running", args={"command": "date"})
        caller.event("tool_call", call="c", step=0, tool="cmd_run", status="ok", result="today", ms=12)
        caller.finish("done")

    homed.script = script
    loud, quiet = waiter("-chat", "hi"), waiter("-chat", "hi", "--quiet")
    assert loud.stdout == quiet.stdout == b"done\n"
    assert loud.stderr.decode().splitlines() == ['→ cmd_run {"command": "date"}', "✓ cmd_run 12 ms: today"]
    assert quiet.stderr == b""


def test_a_restart_in_between_gives_the_one_answer_under_the_same_id_e42(homed: FakeHomed, waiter: Run) -> None:
    again = FakeHomed(homed.path, lambda caller: caller.finish("the answer"))
    again._accepted = homed._accepted  # what a store does

    def die(caller: Caller) -> None:
        caller.event("turn", phase="start", input="in")
        caller.event("content_delta", step=0, at=0, text="the an")
        again.start()
        raise Hangup

    homed.script = die
    try:
        done = waiter("-chat", "hi", "--stream")
    finally:
        again.stop()
    assert (done.returncode, done.stdout) == (0, b"the answer\n")
    ids = {params["client_msg_id"] for fake in (homed, again) for params in fake.named("chat")}
    assert len(ids) == 1
    assert b"Waiting for homed" in done.stderr


def test_a_refusal_while_homed_stops_is_waited_out(homed: FakeHomed, waiter: Run) -> None:
    refusals = iter([Unavailable("homed is stopping.")])

    def chat(caller: Caller, params: object) -> object:
        for error in refusals:
            raise error
        return {
            "input": "in",
            "thread": "th",
            "state": "answered",
            "duplicate": False,
            "outcome": {"state": "answered", "text": "ok"},
        }

    homed.answers["chat"] = chat
    assert waiter("-chat", "hi").stdout == b"ok\n"


def test_an_answer_that_was_known_already_is_printed_without_waiting(homed: FakeHomed, waiter: Run) -> None:
    homed.answers["chat"] = lambda caller, params: {
        "input": "in", "thread": "th", "duplicate": True, "outcome": {"state": "answered", "text": "known"},
    }  # fmt: skip
    assert waiter("-chat", "hi").stdout == b"known\n"
    assert not homed.named("wait")


def test_continue_speaks_in_the_latest_conversation_of_this_channel(homed: FakeHomed, waiter: Run) -> None:
    homed.answers["threads"] = lambda caller, params: {
        "threads": [{"id": "w", "channel": "webui"}, {"id": "mine", "channel": "cli"}, {"id": "old", "channel": "cli"}]
    }
    waiter("-chat", "hi", "--continue")
    waiter("-chat", "hi", "--thread", "given")
    waiter("-chat", "hi")
    assert [params.get("thread") for params in homed.named("chat")] == ["mine", "given", None]


def test_ctrl_c_stops_the_turn_and_exits_130(homed: FakeHomed) -> None:
    started = homed.path.with_name("started")
    homed.script = lambda caller: started.touch()
    child = subprocess.Popen(
        [sys.executable, "-m", "waiter", "-chat", "hi", "--socket", str(homed.path)],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    deadline = time.monotonic() + 60
    while not started.exists():
        assert time.monotonic() < deadline
        time.sleep(0.01)
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=60)
    assert child.returncode == 130
    assert out == b"so far\n"
    assert b"Traceback" not in err
    assert homed.named("stop") == [{"thread": "th"}]


@pytest.mark.parametrize("flags", [(), ("--json",)])
def test_ctrl_c_twice_leaves_though_homed_hangs(homed: FakeHomed, flags: tuple[str, ...]) -> None:
    asked, answer = threading.Event(), threading.Event()

    def hang(caller: Caller, params: Params) -> None:
        asked.set()
        answer.wait(60)
        raise Hangup

    homed.answers["chat"] = hang
    child = subprocess.Popen(
        [sys.executable, "-m", "waiter", "-chat", "hi", *flags, "--socket", str(homed.path)],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert asked.wait(60)
    for _ in range(50):  # two that come together are one
        child.send_signal(signal.SIGINT)
        with suppress(subprocess.TimeoutExpired):
            child.wait(2)  # long enough for its end: a third one would come into that
            break
    answer.set()
    out, err = child.communicate(timeout=60)
    assert (child.returncode, err) == (130, b"")
    assert failure(out)["error"] if flags else not out


def test_a_reader_that_goes_away_causes_no_traceback(homed: FakeHomed) -> None:
    homed.script = lambda caller: caller.finish("x" * 900_000)
    command = f"{sys.executable} -m waiter -chat hi --socket {homed.path} | head -c 1"
    done = subprocess.run(["sh", "-c", command], capture_output=True, stdin=subprocess.DEVNULL, timeout=60, check=False)
    assert (done.stdout, done.stderr) == (b"x", b"")


def test_one_question_imports_no_event_loop_and_nothing_heavy(homed: FakeHomed) -> None:
    code = (
        "import sys; from waiter.__main__ import main; main(sys.argv[1:]);"
        "print(sorted(m for m in ('trio','asyncio','pydantic','prompt_toolkit','apsw','httpx2') if m in sys.modules))"
    )
    argv = [sys.executable, "-c", code, "-chat", "hi", "--socket", str(homed.path)]
    done = subprocess.run(argv, capture_output=True, stdin=subprocess.DEVNULL, timeout=60, check=False)
    assert done.stdout == b"hello\n[]\n", done.stderr
