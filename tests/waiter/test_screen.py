"""The full screen in a real terminal, against the fake daemon."""

from __future__ import annotations

import os
import re
import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from prompt_toolkit.history import InMemoryHistory
from prompt_toolkit.output import DummyOutput
from prompt_toolkit.utils import get_cwidth

from tests.kit.daemon import until
from tests.waiter.fake_homed import Caller, FakeHomed
from tests.waiter.tmux import Tmux, needs_tmux
from waiter.cells import Glyphs
from waiter.messages import Call, Dial, Export, Upload, Wanted
from waiter.model import Line, State
from waiter.screen import Screen
from waiter.view import Painter
from waiter.words import Words

pytestmark = needs_tmux
Show = Callable[..., Tmux]


class Talking:
    """The fake daemon's side of one conversation."""

    def __init__(self, homed: FakeHomed) -> None:
        self.homed = homed
        self.caller: Caller | None = None
        self.inputs = 0
        self.begun = 0
        homed.answers["chat"] = self._chat
        homed.answers["subscribe"] = self._subscribe
        homed.answers["stop"] = lambda _caller, _params: {"stopped": True}
        homed.answers["approve"] = lambda _caller, _params: {}
        homed.answers["threads"] = lambda _caller, _params: {"threads": []}
        model = {"configured": True, "model": "fake-1", "source": "fake"}
        homed.answers["admin.status"] = lambda _caller, _params: {"version": "1", "model": model}

    def _subscribe(self, caller: Caller, _params: Any) -> object:
        self.caller = caller
        return {}

    def _chat(self, caller: Caller, params: Mapping[str, Any]) -> object:
        self.inputs += 1
        input_ = f"in{self.inputs}"
        told = {"input": input_, "text": params["text"], "peer": "cli:owner", "client_msg_id": params["client_msg_id"]}
        caller.event("raw_input", turn="", **told)
        caller.event("turn", turn=self.turn, phase="start", input=input_)
        self.begun += 1
        return {"input": input_, "thread": "th", "state": "running", "duplicate": False, "outcome": None}

    @property
    def turn(self) -> str:
        return f"tu{self.inputs}"

    def tell(self, type_: str, **data: Any) -> None:
        assert self.caller is not None
        self.caller.event(type_, turn=self.turn, **data)

    def say(self, text: str, at: int = 0, step: int = 0) -> None:
        self.tell("content_delta", step=step, at=at, text=text)

    def end(self, text: str, state: str = "answered") -> None:
        self.tell("agent_output", input=f"in{self.inputs}", text=text, state=state)
        self.tell("turn", phase="end", input=f"in{self.inputs}", state=state, usage={"prompt": 5, "completion": 2})

    def said(self, count: int = 1) -> list[str]:
        """Wait for so many messages; returns their texts."""
        until(lambda: self.begun >= count, what=f"{count} messages")
        return [params["text"] for params in self.homed.named("chat")]


@pytest.fixture
def far_side(homed: FakeHomed) -> Talking:
    return Talking(homed)


@pytest.fixture
def show(homed: FakeHomed, far_side: Talking, tmp_path: Path) -> Iterator[Show]:
    """Start waiter on the whole screen; returns once it is connected."""
    with ExitStack() as stack:

        def start(*words: str, columns: int = 80, rows: int = 24, **env: str) -> Tmux:
            argv = [sys.executable, "-m", "waiter", "--socket", str(homed.path), *words]
            shown = stack.enter_context(Tmux(argv, env={"HOME": str(tmp_path), **env}, columns=columns, rows=rows))
            shown.expect("● ", "fake-1")
            return shown

        yield start


def ask(shown: Tmux, text: str = "hello") -> None:
    shown.type(text)
    shown.keys("Enter")
    shown.expect(f"› {text.splitlines()[0]}")


def test_an_answer_streams_as_markdown_and_ctrl_d_leaves_the_terminal_as_it_was(show: Show, far_side: Talking) -> None:
    shown = show()
    shown.expect("Talking to homed.", "Write a message", "this machine · new conversation")
    ask(shown, "hello 你好")
    far_side.said()
    far_side.say("# Head\n\nSome **bo")
    shown.expect("Head", "Some **bo", "writing")
    far_side.say("ld** `code`\n\n- one\n", at=17)
    screen = shown.expect("Some bold code", "• one")
    assert "#" not in screen
    far_side.end("# Head\n\nSome **bold** `code`\n\n- one\n")
    far_side.tell("thread", title="About Heads", channel="cli", created=False)
    shown.expect("About Heads", "5 read, 2 written")
    assert "\x1b[1m" in shown.painted
    shown.keys("C-d")
    shown.expect("left with 0\nicanon")


def test_escape_codes_of_a_model_or_a_tool_do_nothing(show: Show, far_side: Talking) -> None:
    shown = show()
    ask(shown)
    far_side.said()
    evil = "a\x1b[2J\x1b[Hb\x1b]0;title\x07c \x9b31m \u202eright"
    far_side.tell("tool_call", call="c", step=0, tool=evil, status="ok", args={"x": evil}, result=evil, ms=1)
    far_side.say(evil, step=1)
    shown.expect("Talking to homed.", "a␛[2J␛[Hb␛]0;title␇c \\x9b31m \\u202eright")


def test_a_tool_card_is_folded_and_a_key_opens_it(show: Show, far_side: Talking) -> None:
    shown = show()
    ask(shown)
    far_side.said()
    card = {"call": "c", "step": 0, "tool": "cmd_run", "args": {"command": "ls"}}
    far_side.tell("tool_call", status="running", **card)
    shown.expect('→ cmd_run {"command": "ls"}', "using a tool")
    far_side.tell("tool_call", status="ok", result={"stdout": "a.txt\nb.txt"}, ms=7, **card)
    shown.expect('✓ cmd_run 7 ms · {"command": "ls"}', '└ {"stdout": "a.txt\\nb.txt"}')
    shown.keys("C-o")
    shown.expect("  │ command: ls", "  │   a.txt\n  │   b.txt")
    shown.keys("C-o")
    shown.gone("  │   b.txt")


def test_recall_opens_to_what_was_recalled(show: Show, far_side: Talking, homed: FakeHomed) -> None:
    event = {"kind": "user", "title": "Tea", "excerpt": "I like green tea.", "created_at": 0}
    homed.answers["memory.explain"] = lambda _caller, _params: {"events": {"ev1": event}}
    shown = show()
    ask(shown)
    far_side.said()
    far_side.tell("recall", input="in1", shown=["ev1"], cold=["ev2"], kept=3, chars=20, late=[])
    shown.expect("[long-term recall] 1 from other conversations · 1 from cold memory · 20 chars")
    shown.keys("C-o")
    shown.expect("ev1", "Tea", "I like green tea.", "ev2")


def test_recalled_records_open_to_the_question_the_words_and_the_ids(
    show: Show, far_side: Talking, homed: FakeHomed
) -> None:
    line = {"id": "fact_000000009f3c1a7b", "shown": "9f3c1a7b", "record": "fact", "evidence": "source"}
    row = {"query": "How many goats?", "lines": [{**line, "text": "Clara keeps eleven goats."}]}
    homed.answers["memory.explain"] = lambda _caller, _params: {"events": {}}
    homed.answers["memory.injections"] = lambda _caller, params: {"injections": [row] if params["turn"] else []}
    shown = show()
    ask(shown)
    far_side.said()
    known = {"facts": ["fact_000000009f3c1a7b"], "counts": {"fact": 1}}
    far_side.tell("recall", input="in1", shown=[], cold=[], kept=3, chars=80, late=[], **known)
    shown.expect("[long-term recall] L1×0 L2×1 L3×0 · 80 chars")
    shown.keys("C-o")
    shown.expect("> How many goats?", "L2 [source] Clara keeps eleven goats. (id:9f3c1a7b)", "/memory open ID")


@pytest.mark.parametrize(
    ("key", "decision", "remember"), [("y", "allow", "once"), ("t", "allow", "thread"), ("n", "deny", "once")]
)
def test_an_approval_is_answered_by_one_key(
    show: Show, far_side: Talking, homed: FakeHomed, key: str, decision: str, remember: str
) -> None:
    shown = show()
    ask(shown)
    far_side.said()
    args = {"command": "rm -rf x"}
    asked = {
        "approval": "ap",
        "tool": "cmd_run",
        "plugin": "shell",
        "class": "dangerous",
        "args": args,
        "reason": "why",
    }
    far_side.tell("approval", status="asked", **asked)
    shown.expect("May cmd_run of the plugin shell run?", '"command": "rm -rf x"', "y once", "waiting for your word")
    time.sleep(0.8)  # keys answer only once the question was there long enough to be read
    shown.keys(key)
    until(lambda: homed.named("approve"), what="an answer")
    assert homed.named("approve") == [{"approval": "ap", "decision": decision, "remember": remember}]
    shown.gone("y once")


def test_what_is_being_typed_when_a_question_comes_is_no_answer(
    show: Show, far_side: Talking, homed: FakeHomed
) -> None:
    shown = show()
    ask(shown)
    far_side.said()
    asked = {"approval": "ap", "tool": "x", "plugin": "p", "class": "write", "args": {}, "reason": ""}
    far_side.tell("approval", status="asked", **asked)
    shown.expect("y once")
    shown.type("yn")
    shown.expect("› yn", "Empty the line to answer")
    assert not homed.named("approve")
    shown.keys("C-c")
    shown.gone("Empty the line to answer")
    time.sleep(0.8)
    shown.type("y")
    until(lambda: homed.named("approve"), what="an answer")


def test_esc_stops_at_once_and_nothing_more_is_shown(show: Show, far_side: Talking, homed: FakeHomed) -> None:
    shown = show()
    ask(shown)
    far_side.said()
    far_side.say("before")
    shown.expect("before")
    shown.type("draft")
    shown.keys("Escape")
    shown.expect("stopping")
    until(lambda: homed.named("stop"), what="the stop")
    assert homed.named("stop") == [{"thread": "th"}]
    far_side.say(" after", at=6)
    far_side.end("before after", "stopped")
    screen = shown.expect("■ stopped")
    assert "after" not in screen
    assert "› draft" in screen


def test_what_was_typed_before_comes_back_but_not_what_began_with_a_space(
    show: Show, far_side: Talking, tmp_path: Path
) -> None:
    first = show()
    for number, text in enumerate(("one", "two 你好", " secret"), 1):
        first.type(text)
        first.keys("Enter")
        far_side.said(number)
        far_side.end("ok")
    first.keys("C-d")
    first.expect("left with 0")
    files = list((tmp_path / ".local/state/homed/waiter").iterdir())
    assert [file.stat().st_mode & 0o777 for file in files] == [0o600]
    assert b"secret" not in files[0].read_bytes()
    again = show()
    again.keys("Up")
    again.expect("› two 你好")
    again.keys("Up")
    again.expect("› one")
    again.keys("Down")
    again.expect("› two 你好")


def test_commands_are_completed_with_their_arguments(show: Show, homed: FakeHomed) -> None:
    sources = [{"name": "fast", "model": "m"}, {"name": "embedded", "model": "s"}]
    homed.answers["admin.models_list"] = lambda _caller, _params: {"sources": sources}
    homed.answers["admin.models_use"] = lambda _caller, _params: {}
    shown = show()
    shown.type("/mod")
    shown.expect("/models", "the model sources")
    shown.keys("Tab")
    shown.expect("› /models\n")
    shown.type("use fa")
    shown.expect("fast")
    shown.keys("Tab")
    shown.expect("› /models use fast")
    shown.keys("Enter")
    shown.expect("fast answers from now on.")
    assert homed.named("admin.models_use") == [{"name": "fast"}]
    assert not homed.named("chat")


def test_help_and_an_unknown_command_are_told_and_never_sent(show: Show, homed: FakeHomed) -> None:
    shown = show(rows=40)
    shown.type("/help")
    shown.keys("Escape", "Enter")  # Alt-Enter: a new line, not sent
    shown.keys("BSpace", "Enter")
    shown.expect("/threads [TEXT]", "/quit", "Enter sends")
    shown.type("/nope")
    shown.keys("Enter")
    shown.expect("There is no command /nope.")
    assert not homed.named("chat")


def test_lines_are_edited_and_a_paste_is_one_message(show: Show, far_side: Talking) -> None:
    shown = show()
    shown.type("one")
    shown.keys("M-Enter")
    shown.type("two")
    shown.keys("C-j")
    shown.type("three")
    shown.expect("› one\n  two\n  three")
    shown.keys("Enter")
    assert far_side.said() == ["one\ntwo\nthree"]
    far_side.end("ok")
    pasted = "first 你好\n\tsecond\r\n\nlast 👩‍👩‍👧\n"
    shown.paste(pasted)
    shown.expect("last")
    assert len(far_side.said()) == 1
    shown.keys("Enter")
    assert far_side.said(2)[1].split() == pasted.split()
    assert far_side.said(2)[1].count("\n") == 4


def test_the_wheel_and_page_keys_scroll_and_more_comes_below(show: Show, far_side: Talking) -> None:
    shown = show()
    ask(shown)
    far_side.said()
    text = "".join(f"line {n}\n\n" for n in range(60))
    far_side.say(text)
    shown.expect("line 59")
    shown.keys("PageUp")
    screen = shown.expect("more below")
    assert "line 59" not in screen
    top = screen.split("\n")[1]
    far_side.say("line 60\n\n", at=len(text))
    time.sleep(0.3)
    assert shown.screen.split("\n")[1] == top  # what is read stays where it is
    shown.keys("End")
    shown.expect("line 60")
    shown.type("\x1b[<64;5;5M")  # the wheel, as a terminal reports it
    shown.expect("more below")
    shown.type("\x1b[<65;5;5M")
    shown.gone("more below")


def test_an_older_page_is_loaded_at_the_top(show: Show, far_side: Talking, homed: FakeHomed) -> None:
    def history(_caller: Caller, params: Mapping[str, Any]) -> object:
        first = int(params.get("before", 101)) - 50
        events = [
            {"seq": n, "id": f"e{n}", "turn": f"t{n}", "kind": "user", "peer": "cli:owner", "text": f"said {n}",
             "data": {"input": f"i{n}"}, "created_at": 0} for n in range(first, first + 50)
        ]  # fmt: skip
        return {
            "thread": {"title": "Old"},
            "events": events,
            "more": first > 1,
            "live": None,
            "approvals": [],
            "seq": 0,
        }

    homed.answers["history"] = history
    shown = show("--thread", "th")
    shown.expect("said 100", "Old")
    for _ in range(200):  # what is pressed while the older page is on its way moves nothing
        if "said 1\n" in shown.screen:
            break
        shown.keys("PageUp")
    shown.expect("said 1\n")
    assert [p.get("before") for p in homed.named("history")] == [None, 51]


def test_it_fits_every_size_and_wide_characters_stay_in_their_columns(show: Show, far_side: Talking) -> None:
    shown = show()
    ask(shown, "大小")
    far_side.said()
    table = "| 名 | value |\n|---|---|\n| 👩‍👩‍👧 | 家庭 |\n| 🇨🇳 | flag |\n| é | 한국어 |\n"
    far_side.say(f"这是一个很长的中文句子，用来测试换行是否正确。{'word ' * 30}\n\n{table}")
    shown.expect("한국어")
    for columns, rows in ((40, 15), (120, 40), (20, 10), (80, 24)):
        shown.resize(columns, rows)
        screen = shown.expect(f"\n{'─' * columns}\n", "한국어")
        assert len(screen.split("\n")) <= rows
        lines = [line for line in screen.split("\n") if "│" in line or "┼" in line]
        plain = [line for line in lines if "👩" not in line and "🇨" not in line]  # tmux says what it drew, not how wide
        assert columns < 40 or len({get_cwidth(line.split("│")[0].split("┼")[0]) for line in plain}) == 1


def test_a_typed_line_survives_a_restart_and_the_answer_goes_on_once(
    show: Show, far_side: Talking, homed: FakeHomed
) -> None:
    shown = show()
    ask(shown)
    far_side.said()
    far_side.say("The first half")
    shown.expect("The first half")
    shown.type("half typed")
    homed.stop()
    shown.expect("no connection, trying again", "› half typed")
    shown.type(" text")
    live = {"turn": "tu1", "input": "in1", "step": 0, "text": "The first half and", "reasoning": "", "calls": []}
    said = {"input": "in1", "text": "hello", "peer": "cli:owner"}
    page = {
        "thread": {"title": "T"},
        "events": [],
        "more": False,
        "live": live,
        "queued": [said],
        "approvals": [],
        "seq": 0,
    }
    homed.answers["history"] = lambda _caller, _params: page
    homed.start()
    shown.expect("● ", "The first half and", "› half typed text")
    far_side.say(" the second.", at=18)
    screen = shown.expect("The first half and the second.")
    assert screen.count("The first half") == 1
    assert screen.count("› hello") == 1


def test_what_is_typed_without_a_connection_is_sent_once_when_there_is_one(
    show: Show, far_side: Talking, homed: FakeHomed
) -> None:
    shown = show()
    homed.stop()
    shown.expect("no connection")
    ask(shown, "while away")
    shown.expect("(not sent yet)")
    homed.start()
    assert far_side.said() == ["while away"]
    far_side.say("Heard.")
    screen = shown.expect("Heard.")
    assert screen.count("while away") == 1
    assert "not sent yet" not in screen


@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_signals_leave_the_terminal_as_it_was(show: Show, number: signal.Signals, status: int) -> None:
    shown = show()
    child = next(
        int(pid) for pid in os.listdir("/proc") if pid.isdigit() and parent(int(pid)) == shown.pid
    )  # fmt: skip
    os.kill(child, number)
    shown.expect(f"left with {status}\nicanon")
    shown.type("visible")
    shown.expect("visible")


def test_who_leaves_with_a_message_unsent_is_told_its_words(homed: FakeHomed, show: Show) -> None:
    shown = show()
    homed.stop()
    shown.type("words for nobody")
    shown.keys("Enter")
    shown.keys("C-d")
    shown.expect("not sent again", "words for nobody", "left with 0\nicanon")


def test_a_fault_of_its_own_leaves_the_terminal_as_it_was_and_says_which(homed: FakeHomed, tmp_path: Path) -> None:
    code = (
        "import sys, waiter.worker as w; w._beat = None; from waiter.__main__ import main;"
        f"sys.exit(main(['--socket', {str(homed.path)!r}]))"
    )
    Talking(homed)
    with Tmux([sys.executable, "-c", code], env={"HOME": str(tmp_path)}, columns=120, rows=24) as shown:
        shown.expect("left with 1\nicanon", "A fault of waiter itself ended it", "TypeError: ")
        assert "Traceback" not in shown.screen


def parent(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])
    except OSError:
        return 0


def test_a_crash_inside_leaves_the_terminal_as_it_was(homed: FakeHomed, far_side: Talking, tmp_path: Path) -> None:
    program = (
        "import sys, waiter.screen as s, waiter.__main__ as m\n"
        "old = s.Screen.visible\n"
        "def broken(self, cells, height):\n"
        "    if self.buffer.text == 'boom':\n"
        "        raise RuntimeError('the painter broke')\n"
        "    return old(self, cells, height)\n"
        "s.Screen.visible = broken\n"
        f"sys.exit(m.main(['--socket', {str(homed.path)!r}]))\n"
    )
    with Tmux([sys.executable, "-c", program], env={"HOME": str(tmp_path)}) as shown:
        shown.expect("● ")
        shown.type("boom")
        shown.expect("the painter broke", "left with 1\nicanon")


def test_chinese_light_and_without_colour(show: Show) -> None:
    shown = show("--lang", "zh", "--theme", "light", columns=40, rows=15)
    shown.expect("输入消息", "本机 · 新对话")
    shown.type("/theme dark")
    shown.keys("Enter")
    shown.expect("配色：dark")
    plain = show(NO_COLOR="1")
    plain.expect("Talking")
    coloured = re.compile(r"\x1b\[(?:\d+;)*(3[0-8]|4[0-8]|9[0-7])[;m]")
    assert not coloured.search(plain.painted)
    assert coloured.search(shown.painted)


def test_lines_where_the_whole_screen_cannot_be(show: Show, homed: FakeHomed, tmp_path: Path) -> None:
    for words, env in ((("--lines",), {}), ((), {"TERM": "dumb"})):
        argv = [sys.executable, "-m", "waiter", "--socket", str(homed.path), *words]
        command = ["env", *(f"{key}={value}" for key, value in env.items()), *argv]
        with Tmux(command, env={"HOME": str(tmp_path)}) as shown:
            screen = shown.expect("Talking to homed.")
            assert "this machine" not in screen


def test_what_is_being_typed_when_a_key_is_asked_for_is_not_sent_as_the_key() -> None:
    """Nobody looks at the line above while typing: the next Enter would show the other homed half a message."""
    words, done = Words("en"), list[Call | Dial | Upload | Export]()
    history = InMemoryHistory()
    screen = Screen(State(Line("")), words, Painter(Glyphs(), words), history, output=DummyOutput(), environment={})
    screen.submit = done.append
    screen.buffer.insert_text("half a mess")
    screen.dispatch(Wanted("https://other"))
    assert screen.buffer.text == ""
    screen.send()  # Enter on nothing forgets it
    assert (done, screen.buffer.text) == ([], "half a mess")
    screen.dispatch(Wanted("https://other"))
    screen.buffer.insert_text("hk_secret")
    screen.send()
    assert done == [Dial(url="https://other", key="hk_secret")]
    assert screen.buffer.text == "half a mess"
    screen.dispatch(Wanted("https://other"))
    screen.buffer.insert_text("hk_sec")
    screen.press("stop")
    assert (screen.buffer.text, history.get_strings()) == ("half a mess", [])


def test_memory_is_opened_to_the_words_behind_it(show: Show, homed: FakeHomed) -> None:
    said = {"event": "ev_1", "title": "Tea time", "thread": "th", "at": 1.79e9, "first": 0, "last": 9}
    record = {
        "shown": "1a2b3c4d", "record": "fact", "kind": "preference", "mark": "source", "text": "Ada likes \x1b[31mtea.",
        "status": "active", "revision": 1, "evidence": [{**said, "text": "I like tea", "hash_ok": True}],
    }  # fmt: skip
    homed.answers["memory.record"] = lambda _caller, _params: record
    shown = show(columns=60, rows=30)
    shown.type("/memory op")
    shown.expect("open")
    shown.keys("Tab")
    shown.expect("› /memory open")
    shown.type(" 1a2b3c4d")
    shown.keys("Enter")
    shown.expect("1a2b3c4d  [preference · source]", "Tea time · ✓ word for word", "│ I like tea")
    assert "\x1b[31m" not in shown.screen
    assert homed.named("memory.record") == [{"id": "1a2b3c4d"}]
    assert not homed.named("chat")
