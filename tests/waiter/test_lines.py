"""Line mode on a real terminal, against the fake daemon."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from homed.errors import NotFound
from tests.kit.daemon import until
from tests.kit.pty import Pty
from tests.waiter.fake_homed import Caller, FakeHomed
from waiter.commands import COMMANDS
from waiter.endpoint import Places
from waiter.lines import PROMPT
from waiter.link import dial

Talk = Callable[..., Pty]


@pytest.fixture
def talk(homed: FakeHomed) -> Iterator[Talk]:
    """Start line mode (or with words, anything else) on a terminal."""
    with ExitStack() as stack:

        def start(*words: str, env: dict[str, str] | None = None) -> Pty:
            argv = [sys.executable, "-m", "waiter", "--lines", "--socket", str(homed.path), *words]
            return stack.enter_context(Pty(argv, env={"NO_COLOR": "1", **(env or {})}))

        yield start


def test_a_conversation_keeps_its_thread_and_ctrl_d_leaves_with_0(homed: FakeHomed, talk: Talk) -> None:
    terminal = talk()
    terminal.expect(PROMPT)
    terminal.type("你好 🌍\n")
    terminal.expect("hello\n")
    terminal.expect(PROMPT)
    terminal.type("again\n")
    terminal.expect("hello\n")
    terminal.expect(PROMPT)
    terminal.ctrl_d()
    assert terminal.leave() == 0
    assert [(p["text"], p.get("thread")) for p in homed.named("chat")] == [("你好 🌍", None), ("again", "th")]
    assert homed.named("chat")[0]["can_ask"] is True


def test_the_answer_streams_and_tool_lines_stand_between(homed: FakeHomed, talk: Talk) -> None:
    def script(caller: Caller) -> None:
        caller.event("turn", phase="start", input="in")
        caller.event("content_delta", step=0, at=0, text="Let me look.")
        caller.event("tool_call", call="c", step=0, tool="files_ls", status="running", args={})
        caller.event("tool_call", call="c", step=0, tool="files_ls", status="ok", result="a b", ms=3)
        caller.event("content_delta", step=1, at=0, text="Two fi")
        caller.event("content_delta", step=1, at=6, text="les.")
        caller.finish("Two files.")

    homed.script = script
    terminal = talk()
    terminal.expect(PROMPT)
    terminal.type("ls\n")
    terminal.expect("Let me look.\n→ files_ls {}\n✓ files_ls 3 ms: a b\nTwo files.\n")


def until_called(homed: FakeHomed, method: str) -> None:
    until(lambda: homed.named(method), what=method)


def poke(homed: FakeHomed) -> None:
    """Make the fake daemon act (its answer to ``threads``) between two words of the waiter."""
    link = dial(Places((homed.path,), named=True))
    link.call("threads", {})
    link.close()


def ask_approval(caller: Caller, id_: str = "ap") -> None:
    caller.event("turn", phase="start", input="in")
    args = {"command": "rm -rf x\n\x1b[2K[y] fake"}
    caller.event("approval", approval=id_, status="asked", tool="cmd_run", plugin="shell", args=args, reason="why")


def answered(homed: FakeHomed) -> Callable[[Caller, Any], object]:
    def approve(caller: Caller, params: Any) -> object:
        caller.event("approval", approval=params["approval"], status="allowed")
        caller.finish("done")
        return {}

    return approve


@pytest.mark.parametrize(
    ("typed", "decision", "remember"),
    [("y", "allow", "once"), ("t", "allow", "thread"), ("n", "deny", "once"), ("", "deny", "once")],
)
def test_an_approval_is_asked_and_answered(
    homed: FakeHomed, talk: Talk, typed: str, decision: str, remember: str
) -> None:
    homed.script = ask_approval
    homed.answers["approve"] = answered(homed)
    terminal = talk("-chat", "do it")
    question = terminal.expect("[n] no: ")
    assert '"command": "rm -rf x\\n␛[2K[y] fake"' in question.replace("\\u001b", "␛")
    assert "\x1b[2K" not in question
    terminal.type(f"{typed}\n")
    terminal.expect("done\n")
    assert terminal.leave() == 0
    assert homed.named("approve") == [{"approval": "ap", "decision": decision, "remember": remember}]


def test_something_else_than_an_answer_is_asked_again(homed: FakeHomed, talk: Talk) -> None:
    homed.script = ask_approval
    homed.answers["approve"] = answered(homed)
    terminal = talk("-chat", "do it")
    terminal.expect("[n] no: ")
    terminal.type("maybe\n")
    terminal.expect("[n] no: ")
    assert not homed.named("approve")
    terminal.type("n\n")
    assert terminal.leave() == 0


@pytest.mark.parametrize("words", [(), ("-chat", "first")])
def test_what_was_typed_before_the_question_is_no_answer(homed: FakeHomed, talk: Talk, words: tuple[str, ...]) -> None:
    waiting: list[Caller] = []

    def ask(caller: Caller, params: object) -> object:
        ask_approval(waiting[0])
        return {"threads": []}

    homed.script = waiting.append
    homed.answers["threads"] = ask
    homed.answers["approve"] = answered(homed)
    terminal = talk(*words)
    if not words:
        terminal.expect(PROMPT)
        terminal.type("first\n")
    until_called(homed, "wait")
    terminal.type("y\n")
    terminal.expect("y\n")  # the terminal has it
    poke(homed)
    terminal.expect("[n] no: ")
    terminal.type("n\n")
    terminal.expect("done\n")
    assert [params["decision"] for params in homed.named("approve")] == ["deny"]


def test_an_approval_that_is_settled_elsewhere_is_asked_no_more(homed: FakeHomed, talk: Talk) -> None:
    def script(caller: Caller) -> None:
        ask_approval(caller)
        caller.event("approval", approval="ap", status="expired")
        caller.finish("went on")

    homed.script = script
    terminal = talk("-chat", "do it")
    terminal.expect("(no answer is needed any more: nobody answered in time)")
    terminal.expect("went on\n")
    assert terminal.leave() == 0


def test_ctrl_c_stops_the_answer_and_the_conversation_goes_on(homed: FakeHomed, talk: Talk) -> None:
    homed.script = lambda caller: caller.event("turn", phase="start", input="in")
    terminal = talk()
    terminal.expect(PROMPT)
    terminal.type("long\n")
    until_called(homed, "wait")
    terminal.ctrl_c()
    terminal.expect("so far\n(stopped)\n")
    homed.script = lambda caller: caller.finish("hello")
    terminal.expect(PROMPT)
    terminal.type("next\n")
    terminal.expect("hello\n")
    terminal.expect(PROMPT)
    terminal.ctrl_c()
    terminal.expect("(Ctrl-D or /quit leaves)")
    terminal.ctrl_d()
    assert terminal.leave() == 0


def test_stop_typed_while_an_answer_is_made_stops_it_e43(homed: FakeHomed, talk: Talk) -> None:
    homed.script = lambda caller: caller.event("turn", phase="start", input="in")
    terminal = talk()
    terminal.expect(PROMPT)
    terminal.type("long\n")
    until_called(homed, "wait")
    terminal.type("/stop\n")
    terminal.expect("(stopped)\n")


def test_every_help_entry_is_handled_and_none_reaches_the_model_e43(homed: FakeHomed, talk: Talk) -> None:
    homed.answers |= {
        "threads": lambda caller, params: {
            "threads": [{"id": "t1", "title": "\x1b[31mA", "updated_at": 0, "busy": True}]
        },
        "admin.status": lambda caller, params: {"version": "9.9", "pid": 1, "model": {"hint": "Add one."}},
        "admin.plugins": lambda caller, params: {"plugins": [{"name": "shell", "state": "stopped", "reason": "why"}]},
        "admin.models_list": lambda caller, params: {"sources": [{"name": "src", "model": "m", "current": True}]},
        "memory.stats": lambda caller, params: {"records": {"record": {"fact": 12}}},
        "admin.persona_get": lambda caller, params: {"text": "", "presets": [{"name": "brief", "about": "Few words."}]},
    }
    expected = {
        "help": "this list", "stop": "Nothing is running.", "new": "begins a new conversation",
        "threads": "␛[31mA  (busy)", "open": "Which one?", "status": "homed 9.9", "plugins": "stopped: why",
        "models": "* src", "persona": "brief    Few words.", "memory": "12 facts",
    }  # fmt: skip
    assert set(expected) | {"quit"} == set(COMMANDS)
    terminal = talk()
    terminal.expect(PROMPT)
    for name, shown in expected.items():
        terminal.type(f"/{name}\n")
        terminal.expect(shown)
        terminal.expect(PROMPT)
    terminal.type("/quit\n")
    assert terminal.leave() == 0
    assert not homed.named("chat")


def test_help_lists_every_command(homed: FakeHomed, talk: Talk) -> None:
    terminal = talk()
    terminal.expect(PROMPT)
    terminal.type("/help\n")
    shown = terminal.expect("begins with /.") + terminal.expect(PROMPT)
    assert all(f"/{name}" in shown for name in COMMANDS)


def test_an_unknown_command_is_told_and_two_slashes_send_a_slash(homed: FakeHomed, talk: Talk) -> None:
    terminal = talk()
    terminal.expect(PROMPT)
    terminal.type("/nonsense\n")
    terminal.expect("There is no command /nonsense.")
    terminal.type("//etc is a folder\n")
    terminal.expect("hello\n")
    assert [params["text"] for params in homed.named("chat")] == ["/etc is a folder"]


def test_open_goes_on_with_a_listed_conversation_and_shows_its_end(homed: FakeHomed, talk: Talk) -> None:
    homed.answers["threads"] = lambda caller, params: {"threads": [{"id": "t1", "title": "A"}]}
    homed.answers["history"] = lambda caller, params: {
        "events": [
            {"kind": "user", "text": "before"},
            {"kind": "tool", "text": "x"},
            {"kind": "assistant", "text": "yes"},
        ]
    }
    terminal = talk()
    terminal.expect(PROMPT)
    terminal.type("/threads\n/open 1\n")
    terminal.expect("> before\n  yes\n")
    terminal.type("on\n")
    terminal.expect("hello\n")
    assert homed.named("chat")[0]["thread"] == "t1"


def test_a_line_that_ends_with_a_backslash_goes_on(homed: FakeHomed, talk: Talk) -> None:
    terminal = talk()
    terminal.expect(PROMPT)
    terminal.type("one\\\ntwo\n")
    terminal.expect("hello\n")
    assert homed.named("chat")[0]["text"] == "one\ntwo"


def test_a_timer_that_speaks_up_in_the_thread_is_shown_while_waiting(homed: FakeHomed, talk: Talk) -> None:
    callers: list[Caller] = []

    def script(caller: Caller) -> None:
        callers.append(caller)
        caller.finish("set")

    def speak(caller: Caller, params: object) -> object:
        callers[0].event("raw_input", text="[timer t1] tea", input="x")
        callers[0].event("agent_output", text="Tea is ready.", input="x", thread="th")
        callers[0].event("agent_output", text="Not yours.", thread="other", input="y")
        return {"threads": []}

    homed.script = script
    homed.answers["threads"] = speak
    terminal = talk()
    terminal.expect(PROMPT)
    terminal.type("set a timer\n")
    terminal.expect("set\n")
    terminal.expect(PROMPT)
    poke(homed)
    terminal.expect("[timer t1] tea\n")
    terminal.expect("Tea is ready.\n")
    terminal.expect(PROMPT)
    assert "Not yours" not in terminal.shown


def test_what_is_said_while_waiting_does_not_stand_behind_the_prompt_as_if_typed(homed: FakeHomed, talk: Talk) -> None:
    callers: list[Caller] = []

    def script(caller: Caller) -> None:
        callers.append(caller)
        caller.finish("set")

    def speak(caller: Caller, params: object) -> object:
        callers[0].event("agent_output", text="Tea is ready.", input="x", thread="th")
        return {"threads": []}

    homed.script = script
    homed.answers["threads"] = speak
    terminal = talk()
    terminal.expect(PROMPT)
    terminal.type("set a timer\n")
    terminal.expect("set\n")
    terminal.expect(PROMPT)
    poke(homed)
    terminal.expect("\nTea is ready.\n")


def test_a_failure_is_told_with_what_to_do_and_the_conversation_goes_on(homed: FakeHomed, talk: Talk) -> None:
    homed.script = lambda caller: caller.finish("", "failed", error="No model is set up.", hint="Add one.")
    terminal = talk()
    terminal.expect(PROMPT)
    terminal.type("hi\n")
    terminal.expect("No model is set up.\nAdd one.\n")
    terminal.expect(PROMPT)


def test_colour_is_used_on_a_terminal_and_no_color_turns_it_off(homed: FakeHomed, talk: Talk) -> None:
    with_colour = talk(env={"NO_COLOR": ""})
    with_colour.expect(PROMPT)
    assert "\x1b[" in with_colour.shown
    without = talk()
    without.expect(PROMPT)
    assert "\x1b[" not in without.shown


def test_a_restart_while_idle_is_not_noticed(homed: FakeHomed, talk: Talk) -> None:
    terminal = talk()
    terminal.expect(PROMPT)
    homed.stop()
    with FakeHomed(homed.path):
        terminal.type("hi\n")
        terminal.expect("hello\n")


def test_memory_is_looked_at_and_forgotten_line_by_line(homed: FakeHomed, talk: Talk) -> None:
    def forget(_caller: object, params: Any) -> object:
        if params["target"] == "00000000":
            raise NotFound("There is no record 00000000.")
        return {"clean": True}

    homed.answers |= {
        "memory.record": lambda _caller, _params: {"shown": "1a2b3c4d", "text": "Ada likes \x1b[31mtea."},
        "admin.memory_preview": lambda _caller, _params: {"counts": {"records": 1}},
        "admin.memory_forget": forget,
    }
    terminal = talk()
    terminal.expect(PROMPT)
    for line, shown in (
        ("open 1a2b3c4d", "Ada likes ␛[31mtea."), ("open", "/memory stats|search TEXT"),
        ("forget 1a2b3c4d", "/memory forget 1a2b3c4d yes"), ("forget 1a2b3c4d yes", "in no file any more"),
        ("forget 00000000 yes", "There is no record"),
    ):  # fmt: skip
        terminal.type(f"/memory {line}\n")
        terminal.expect(shown)
        terminal.expect(PROMPT)
    terminal.type("/quit\n")
    assert terminal.leave() == 0
    assert not homed.named("chat")
