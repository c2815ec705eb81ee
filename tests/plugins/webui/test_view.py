"""History and notices become pieces of page: the same ones, whichever way they come, and none of them twice."""

from __future__ import annotations

from typing import Any

import pytest

from homed.providers.registry import NOTHING_SET_UP
from plugins.webui.context import FOLDER
from plugins.webui.fragments import Fragments, environment
from plugins.webui.pieces import Op
from plugins.webui.view import Gap, ThreadView
from plugins.webui.words import load

from .page import Page
from .standin import Said

FRAGMENTS = Fragments(environment(FOLDER / "templates"), load(FOLDER / "strings")["en"])
EMPTY: dict[str, Any] = {"events": [], "live": None, "approvals": [], "seq": 0}


def view() -> ThreadView:
    return ThreadView(FRAGMENTS, "t1")


def notice(type_: str, turn: str = "turn1", thread: str = "t1", **data: object) -> Said:
    return Said(1, type_, thread, turn, data)


def delta(at: int, text: str, step: int = 0, type_: str = "content_delta") -> Said:
    return notice(type_, step=step, at=at, text=text)


def told(of: ThreadView, *notices: Said) -> Page:
    page = Page()
    for one in notices:
        for op in [*of.feed(one), *of.flush()]:
            page.apply(op.name, dict(op.data))
    return page


def text(page: Page, key: str = "text-0") -> str:
    return page.shown().get(("turn1", key), "")


def test_a_delta_that_is_here_already_is_dropped() -> None:
    """E41: never duplicates text."""
    page = told(view(), delta(0, "one "), delta(0, "one "), delta(4, "two"), delta(2, "e two"))
    assert text(page) == "one two"


def test_a_delta_that_does_not_follow_is_a_gap() -> None:
    with pytest.raises(Gap):
        told(view(), delta(0, "one"), delta(5, "x"))


def test_offsets_count_characters_not_bytes() -> None:
    page = told(view(), delta(0, "你好🌍"), delta(3, "再见"))
    assert text(page) == "你好🌍再见"


def test_reasoning_is_put_once_and_then_continued() -> None:
    page = told(view(), delta(0, "I ", type_="reasoning_delta"), delta(2, "think", type_="reasoning_delta"))
    assert page.shown()["turn1", "reason-0"].endswith("I think")
    assert page.parts["turn1"]["reason-0"].more == "think"


def test_the_stored_text_replaces_what_the_deltas_built() -> None:
    page = told(view(), delta(0, "the key is sk-123"), notice("agent_output", input="i", text="the key is [secret]"))
    assert text(page) == "the key is [secret]"


def test_a_withheld_text_leaves_nothing_of_its_deltas() -> None:
    page = told(view(), delta(0, "secret"), notice("agent_output", input="i", text=""))
    assert text(page) == ""


def test_steps_have_their_own_texts() -> None:
    page = told(
        view(),
        delta(0, "let me look"),
        notice("agent_llm_chain", step=0, text="let me look", reasoning="", calls=[]),
        delta(0, "found", step=1),
        notice("agent_output", input="i", text="found it"),
    )
    assert text(page, "text-0") == "let me look"
    assert text(page, "text-1") == "found it"


def test_an_answer_that_no_model_call_made_comes_after_the_step_that_called_tools() -> None:
    chain = notice("agent_llm_chain", step=0, text="let me look", reasoning="", calls=[{"call": "c1"}])
    page = told(view(), delta(0, "let me look"), chain, notice("agent_output", input="i", text="not allowed here"))
    assert text(page, "text-0") == "let me look"
    assert text(page, "text-1") == "not allowed here"


def call(status: str, **more: object) -> Said:
    known: dict[str, Any] = {
        "call": "c1",
        "step": 0,
        "tool": "cmd_run",
        "plugin": "shell",
        "class": "dangerous",
        "ms": 5,
    }
    known |= {"args": {"command": "ls <b>"}, "status": status, "result": None, **more}
    return notice("tool_call", **known)


def test_a_tool_card_shows_arguments_then_the_result_in_its_place() -> None:
    page = told(view(), delta(0, "look"), call("running"), delta(0, "done", step=1), call("ok", result="a.txt"))
    assert list(page.shown()) == [("turn1", "text-0"), ("turn1", "tool-c1"), ("turn1", "text-1")]
    card = page.parts["turn1"]["tool-c1"].html
    assert "&#34;command&#34;: &#34;ls &lt;b&gt;&#34;" in card
    assert "a.txt" in card
    assert "done" in card


@pytest.mark.parametrize("status", ["running", "ok", "error", "denied", "interrupted"])
def test_every_status_of_a_call_has_a_word(status: str) -> None:
    card = told(view(), call(status)).parts["turn1"]["tool-c1"].html
    assert f'data-status="{status}"' in card
    assert f">{status}<" not in card.replace(f"{status}</em>", "") or status in ("running", "denied", "interrupted")


def ask(status: str, **more: Any) -> Said:
    known: dict[str, Any] = {
        "approval": "a1",
        "tool": "cmd_run",
        "plugin": "shell",
        "class": "dangerous",
        "args": {"command": "rm"},
        "yes": "thread",
    }
    return notice("approval", **known | more, status=status, reason="It runs a command.", expires_at=0)


def test_an_approval_is_asked_with_its_arguments_and_replaced_by_its_answer() -> None:
    page = told(view(), ask("asked"))
    html = page.parts["turn1"]["approval-a1"].html
    assert html.count("data-approve=") == 3
    assert "rm" in html
    for status in ("allowed", "denied", "expired", "cancelled"):
        html = told(view(), ask("asked"), ask(status)).parts["turn1"]["approval-a1"].html
        assert "data-approve" not in html


def test_only_what_is_true_of_a_yes_is_offered() -> None:
    """A tool that is asked about each time is not kept for a conversation, and a day's limit goes on for the day."""
    offered = {yes: told(view(), ask("asked", yes=yes)).parts["turn1"]["approval-a1"].html for yes in ("once", "day")}
    for html in offered.values():
        assert html.count("data-approve=") == 2
        assert 'data-remember="thread"' not in html
    assert "Allow once" in offered["once"]
    day = told(view(), ask("asked", yes="day", tool="spend", plugin="kernel")).parts["turn1"]["approval-a1"].html
    assert "Go on today" in day
    assert "limit?" in day
    assert not any(word in day for word in ("Allow once", "kernel", "dangerous"))


def test_a_call_that_waits_for_a_person_says_so_until_it_is_answered() -> None:
    """Not 'running': nothing runs before the yes.  Of two calls of a tool it is the one that was asked about."""
    other = call("running", call="c2")
    page = told(view(), call("running", ms=0), other, ask("asked"))
    card = page.parts["turn1"]["tool-c1"].html
    assert "waiting for your answer" in card
    assert " ms" not in card
    assert 'data-status="running"' in page.parts["turn1"]["tool-c2"].html
    page = told(view(), call("running"), ask("asked"), ask("allowed"))
    assert 'data-status="running"' in page.parts["turn1"]["tool-c1"].html
    page = told(view(), call("running"), ask("asked"), ask("denied"), call("denied"))
    assert 'data-status="denied"' in page.parts["turn1"]["tool-c1"].html


def test_a_call_that_waits_says_so_on_a_fresh_page_and_on_one_that_comes_back() -> None:
    waits = live(0, "", [{"call": "c1", "tool": "cmd_run", "plugin": "shell", "args": {}, "status": "running"}])
    open_ = {"turn": "turn1", **ask("asked").data}
    page = loaded(events=HISTORY[:1], live=waits, approvals=[open_])
    assert 'data-status="waiting"' in page.parts["turn1"]["tool-c1"].html
    of = view()
    for op in of.resume({**EMPTY, "live": waits, "approvals": [open_], "seq": 5}, []):
        page.apply(op.name, dict(op.data))
    assert 'data-status="waiting"' in page.parts["turn1"]["tool-c1"].html
    for op in of.feed(ask("allowed")):
        page.apply(op.name, dict(op.data))
    assert 'data-status="running"' in page.parts["turn1"]["tool-c1"].html


def test_what_a_timer_says_is_a_reminder_and_not_the_persons_own_words() -> None:
    reminder = {**event("user", "stand up <b>"), "peer": "timer:owner"}
    queued = {"input": "i2", "text": "stretch", "peer": "timer:owner", "accepted_at": 0}
    pages = [
        loaded(events=[reminder]).parts["turn1"],
        loaded(queued=[queued]).parts["input:i2"],
        told(view(), notice("raw_input", turn="", input="i1", text="up", peer="timer:owner")).parts["input:i1"],
    ]
    for parts in pages:
        assert "Reminder" in parts["said"].html
        assert 'class="said"' not in parts["said"].html
    assert "stand up &lt;b&gt;" in pages[0]["said"].html
    assert "Reminder" not in loaded(events=HISTORY).parts["turn1"]["said"].html


@pytest.mark.parametrize("state", ["answered", "stopped", "failed", "refused", "reported"])
def test_a_turn_that_failed_can_be_sent_again_and_one_without_a_model_leads_to_where_one_is_set_up(state: str) -> None:
    for hint in (NOTHING_SET_UP, "Ask again."):
        end = notice("turn", phase="end", input="i1", state=state, error="No.", hint=hint, usage={}, ms=1)
        html = told(view(), end).parts["turn1"]["end"].html
        assert ("data-again" in html) is (state in ("failed", "reported"))
        assert ('href="/models"' in html) is (state in ("failed", "refused", "reported") and hint is NOTHING_SET_UP)


def test_what_was_said_before_its_turn_began_stays_in_that_turn() -> None:
    page = told(
        view(),
        notice("raw_input", turn="", input="i1", text="hello <b>"),
        notice("turn", phase="start", input="i1", state="running"),
        delta(0, "hi"),
    )
    assert page.shown() == {("turn1", "said"): "hello &lt;b&gt;", ("turn1", "text-0"): "hi"}
    assert page.live == {"turn1"}


@pytest.mark.parametrize("state", ["answered", "stopped", "failed", "refused", "reported"])
def test_every_end_is_shown_and_ends_the_turn(state: str) -> None:
    begin = notice("turn", phase="start", input="i1", state="running")
    end = notice("turn", phase="end", input="i1", state=state, error="No model.", hint="Add a key.", usage={}, ms=10)
    page = told(view(), begin, end)
    assert page.live == set()
    html = page.parts["turn1"]["end"].html
    assert ("No model." in html and "Add a key." in html) is (state in ("failed", "refused", "reported"))


def test_usage_is_shown_as_far_as_it_is_known() -> None:
    usage: dict[str, object] = {"prompt": 100, "completion": 5, "cached": 90}
    html = told(view(), notice("turn", phase="end", input="i", state="answered", usage=usage, ms=1500))
    end = html.parts["turn1"]["end"].html
    assert "100 + 5 tokens" in end
    assert "90 cached" in end
    assert "1.5 s" in end


def test_another_thread_only_tells_that_the_list_changed() -> None:
    """Nothing of a thread that this page may not see reaches it."""
    ops = view().feed(notice("raw_input", thread="t2", input="i", text="secret"))
    assert ops == [Op("threads", {})]


def test_the_daemons_notices_are_passed_on() -> None:
    assert view().feed(notice("plugin_state", plugin="shell", state="backoff"))[0].name == "plugins"
    assert view().feed(notice("system", message="hello"))[0].data == {"message": "hello"}


def event(kind: str, text: str, seq: int = 1, turn: str = "turn1", **data: object) -> dict[str, Any]:
    return {
        "seq": seq,
        "id": f"e{seq}",
        "turn": turn,
        "kind": kind,
        "peer": "",
        "text": text,
        "data": data,
        "created_at": 0,
    }


CALLS = [{"id": "c1", "name": "cmd_run", "arguments": {"command": "ls"}}]
HISTORY = [
    event("user", "what is here?", 1),
    event("assistant", "let me look", 2, calls=CALLS, reasoning="hm"),
    event("tool", "a.txt", 3, call_id="c1", name="cmd_run", status="ok", args={"command": "ls"}),
    event("assistant", "a.txt is here", 4, final=True),
]


def loaded(**history: object) -> Page:
    page = Page()
    page.load(view().sections({**EMPTY, **history}), "")
    return page


def test_a_page_of_history_shows_the_turn_as_it_went() -> None:
    shown = loaded(events=HISTORY).shown()
    assert [key for _, key in shown] == ["said", "reason-0", "text-0", "tool-c1", "text-1"]
    assert shown["turn1", "text-1"] == "a.txt is here"
    assert "a.txt" in shown["turn1", "tool-c1"]
    assert "ls" in shown["turn1", "tool-c1"]


def test_a_call_without_a_result_says_so() -> None:
    card = loaded(events=HISTORY[:2]).parts["turn1"]["tool-c1"].html
    assert 'data-status="unknown"' in card


PARTIAL = event("assistant", "half an", 2, partial=True, final=True)
NO_ANSWER = event("note", "No model.", 2, code="no_answer")
ENDS = {"answered": HISTORY[3], "stopped": PARTIAL, "failed": NO_ANSWER, "refused": NO_ANSWER, "reported": NO_ANSWER}


@pytest.mark.parametrize("state", ENDS)
def test_a_loaded_page_shows_a_turns_end_as_it_was_shown_live(state: str) -> None:
    usage = {"prompt": 100, "completion": 5, "cached": 90}
    why = {"error": "No model.", "hint": "Add a key."} if ENDS[state] is NO_ANSWER else {"error": "", "hint": ""}
    end: dict[str, Any] = {"input": "i1", "state": state, **why, "usage": usage, "ms": 1500}
    page = loaded(events=[HISTORY[0], ENDS[state]], ended=[{"turn": "turn1", **end}])
    live = told(view(), notice("turn", phase="end", **end))
    assert page.parts["turn1"]["end"].html == live.parts["turn1"]["end"].html
    assert "".join(page.shown().values()).count("No model.") == (ENDS[state] is NO_ANSWER)


def test_a_partial_answer_that_failed_is_not_called_stopped() -> None:
    page = loaded(events=[HISTORY[0], PARTIAL], ended=[{"turn": "turn1", "state": "failed", "error": "Cut off."}])
    assert "Cut off." in page.parts["turn1"]["end"].html
    assert "Stopped" not in page.parts["turn1"]["end"].html


def test_the_end_of_a_turn_that_is_on_another_page_makes_no_section() -> None:
    page = loaded(events=HISTORY, ended=[{"turn": "turn0", "state": "answered", "usage": {"prompt": 1}}])
    assert list(page.parts) == ["turn1"]


def test_a_note_is_shown() -> None:
    assert (
        "Limit reached" in loaded(events=[event("note", "Limit reached.", 1, code="limit")]).shown()["turn1", "note-e1"]
    )


def live(step: int, text: str, calls: list[dict[str, Any]] | None = None) -> dict[str, Any]:
    return {"turn": "turn1", "input": "i1", "step": step, "text": text, "reasoning": "", "calls": calls or []}


def test_a_turn_under_way_is_shown_as_it_stands() -> None:
    page = loaded(events=HISTORY[:3], live=live(1, "a.txt is"))
    assert page.live == {"turn1"}
    assert page.shown()["turn1", "text-1"] == "a.txt is"


def test_coming_back_puts_what_is_there_and_goes_on_from_it() -> None:
    """D4: nothing lost, nothing twice."""
    of, page = view(), loaded(events=HISTORY[:3], live=live(1, "a.txt"))
    history = {**EMPTY, "events": HISTORY[:3], "live": live(1, "a.txt is h"), "seq": 5}
    for op in [*of.resume(history, []), *of.feed(delta(10, "ere", step=1)), *of.flush()]:
        page.apply(op.name, dict(op.data))
    assert page.shown()["turn1", "text-1"] == "a.txt is here"
    assert of.unsaid == set()


def test_a_turn_whose_question_was_missed_gets_it_from_the_history() -> None:
    of, page = view(), Page()
    of.feed(notice("turn", phase="start", input="i1", state="running"))
    assert of.unsaid == {"turn1"}
    of.tell_said({**EMPTY})
    assert of.unsaid == {"turn1"}, "not in the history yet: asked for again"
    for op in of.tell_said({**EMPTY, "events": HISTORY[:1]}):
        page.apply(op.name, dict(op.data))
    assert page.shown()["turn1", "said"] == "what is here?"
    assert of.unsaid == set()


def test_recall_and_progress_are_told_in_their_turn() -> None:
    of = view()
    (recall,) = of.feed(notice("recall", input="i1", kept=3, shown=["e1"], cold=[], chars=7, late=[]))
    assert (recall.name, recall.data["key"], recall.data["order"]) == ("item", "recall", "0000.0.5")
    (progress,) = of.feed(notice("progress", what="reading", done=1, total=4))
    assert progress.data == {"turn": "turn1", "input": "i1", "text": "Reading your message… 25%", "share": 0.25}
    assert of.feed(notice("recall", input="i1", kept=3, shown=[], cold=[], chars=0, late=[])) == []


def test_a_thread_that_is_deleted_says_so_to_its_page_and_changes_the_list_of_others() -> None:
    gone = notice("thread", turn="", title="x", channel="webui", created=False, deleted=True)
    assert [op.name for op in view().feed(gone)] == ["deleted", "threads"]
    assert [op.name for op in ThreadView(FRAGMENTS, "t2").feed(gone)] == ["threads"]


HOSTILE = "<img src=x onerror=alert(1)>"


def test_every_field_that_others_fill_is_text() -> None:
    """XSS: what a person, a model, a tool or the kernel says is never markup."""
    page = told(
        view(),
        notice("raw_input", turn="", input=HOSTILE, text=HOSTILE),
        delta(0, HOSTILE),
        delta(0, HOSTILE, type_="reasoning_delta"),
        call("error", result=HOSTILE, tool=HOSTILE, plugin=HOSTILE, args={HOSTILE: HOSTILE}),
        notice(
            "approval", approval=HOSTILE, tool=HOSTILE, plugin=HOSTILE, status="asked", reason=HOSTILE, args=HOSTILE
        ),
        notice("turn", phase="end", input="i", state="failed", error=HOSTILE, hint=HOSTILE),
    )
    html = "".join(p.html + "".join(p.blocks) for parts in page.parts.values() for p in parts.values())
    assert html.count("&lt;img src=x onerror=alert(1)&gt;") >= 10
    assert "<img" not in html
