"""What the full screen decides, by table."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.waiter.kit import Truth
from waiter.follow import find
from waiter.messages import (
    Call,
    Dial,
    Down,
    Effect,
    Export,
    Handed,
    Heard,
    Leave,
    Lost,
    Message,
    Moved,
    Pressed,
    Refused,
    Replied,
    Tag,
    Told,
    Turned,
    Typed,
    Up,
    Upload,
    Wanted,
)
from waiter.model import Attachment, Line, Note, Place, Recall, Said, State
from waiter.table import ENTRIES, NAMES
from waiter.update import update
from waiter.words import Words

WORDS = Words("en")


class Play:
    """A state, the messages it gets, and all it wanted done."""

    def __init__(self, state: State | None = None) -> None:
        self.state = state or State(Line(""))
        self.effects: list[Effect] = []

    def __call__(self, *messages: Message) -> list[Effect]:
        """The effects of these messages."""
        before = len(self.effects)
        for message in messages:
            self.state, wanted = update(self.state, message, WORDS)
            self.effects += wanted
        return self.effects[before:]

    def up(self) -> Play:
        self(Up("cli:owner", "1"))
        return self

    def calls(self, method: str) -> list[Any]:
        return [e.params for e in self.effects if isinstance(e, Call) and e.method == method]

    @property
    def notes(self) -> list[str]:
        return [item.text for item in self.state.follow.items if isinstance(item, Note)]


def receipt(input_: str = "in1", **more: Any) -> dict[str, Any]:
    return {"input": input_, "thread": "th", "state": "running", "duplicate": False, "outcome": None, **more}


def talking() -> Play:
    """Connected, one message sent and confirmed, its turn writing."""
    play, truth = Play().up(), Truth()
    play(Typed("hello", "m1"), Replied(Tag("chat", "m1"), receipt()))
    truth.begin(truth.accept("hello"))
    truth.say("I am")
    play(*map(Heard, truth.notices))
    return play


@pytest.mark.parametrize("name", NAMES)
def test_every_command_of_the_table_is_handled_and_none_reaches_the_model_e43(name: str) -> None:
    play = talking()
    before = len(play.notes)
    play(Typed(f"/{name}", "m2"), Typed(f"/{name} something", "m3"), Typed(f"/{name.upper()}", "m4"))
    assert len(play.calls("chat")) == 1
    assert not any("There is no command" in note for note in play.notes)
    assert len(play.notes) > before or len(play.effects) > 4 or play.state != talking().state


def test_help_names_every_command_and_nothing_else() -> None:
    play = Play().up()
    play(Typed("/help", "m"))
    shown = [line.split()[0] for line in play.notes[-1].split("\n") if line.startswith("/")]
    assert shown == [f"/{name}" for name in NAMES]
    assert all(WORDS(f"help.{entry.name}") in play.notes[-1] for entry in ENTRIES)


@pytest.mark.parametrize("line", ["/", "/nope", "/stopp", "/help/me", "/ help", "/\nx"])
def test_an_unknown_command_is_told_and_never_sent(line: str) -> None:
    play = Play().up()
    play(Typed(line, "m"))
    assert not play.calls("chat")
    assert "There is no command" in play.notes[-1]


@pytest.mark.parametrize(("line", "sent"), [("//help me", "/help me"), ("a /help", "a /help"), (" /help", " /help")])
def test_two_slashes_send_a_line_that_begins_with_one(line: str, sent: str) -> None:
    play = Play().up()
    play(Typed(line, "m"))
    assert [p["text"] for p in play.calls("chat")] == [sent]


def test_messages_go_out_one_after_the_other_into_the_conversation_the_first_one_opened() -> None:
    play = Play().up()
    play(Typed("one", "m1"), Typed("two", "m2"))
    assert [(p["text"], p.get("thread")) for p in play.calls("chat")] == [("one", None)]
    play(Replied(Tag("chat", "m1"), receipt()))
    assert [(p["text"], p.get("thread")) for p in play.calls("chat")] == [("one", None), ("two", "th")]
    assert play.state.thread == "th"


def test_a_message_typed_without_a_connection_is_sent_when_there_is_one_and_once() -> None:
    play = Play()
    play(Typed("early", "m1"))
    assert not play.effects
    play.up()
    play(Down("gone"), Up("cli:owner", "1"))
    assert [p["client_msg_id"] for p in play.calls("chat")] == ["m1", "m1"]
    play(Replied(Tag("chat", "m1"), receipt(duplicate=True)))
    assert play.calls("history")[-1]["thread"] == "th"  # what happened meanwhile is asked for
    assert not play.state.outbox
    assert [item.text for item in play.state.follow.items if isinstance(item, Said)] == ["early"]


def test_a_notice_confirms_a_message_before_its_receipt_comes() -> None:
    play, truth = Play().up(), Truth()
    play(Typed("x", "m1"))
    truth.accept("x")
    play(Heard(truth.notices[0]))
    assert (play.state.thread, play.state.outbox) == ("th", ())
    play(Replied(Tag("chat", "m1"), receipt()))
    assert len([item for item in play.state.follow.items if isinstance(item, Said)]) == 1


def test_a_message_that_homed_refuses_is_told_and_the_next_one_goes_out() -> None:
    play = Play().up()
    play(Typed("one", "m1"), Typed("two", "m2"))
    play(Refused(Tag("chat", "m1"), "Too long.", "Say less.", "invalid"))
    assert play.notes[-1] == "Too long.\nSay less.\n\none", "a message of any length can still be read and copied"
    assert [p["text"] for p in play.calls("chat")] == ["one", "two"]


def test_esc_stops_and_nothing_more_of_the_turn_is_shown() -> None:
    play = talking()
    assert [e.method for e in play(Pressed("stop")) if isinstance(e, Call)] == ["stop"]
    before = play.state.follow.items
    delta = {"seq": 99, "type": "content_delta", "thread": "th", "turn": "tu1"}
    play(Heard({**delta, "data": {"step": 0, "at": 4, "text": " more"}}))
    assert play.state.follow.items == before
    assert play.state.follow.running is not None
    assert play.state.follow.running.doing == "stopping"


def test_after_a_reconnect_notices_wait_for_the_history_and_nothing_is_twice() -> None:
    play = talking()
    truth = Truth()
    truth.begin(truth.accept("hello"))
    for piece in ("I ", "am ", "here"):
        truth.say(piece)
    play(Down("gone"))
    assert play.state.line.state == "lost"
    play(Up("cli:owner", "1"), *map(Heard, truth.notices[3:]))  # another daemon: its numbers begin anew
    shown = [item.text for item in play.state.follow.items if not isinstance(item, Said | Note)]  # type: ignore[union-attr]
    assert shown == ["I am"]
    play(Replied(Tag("history", "", 0), truth.histories[3]))
    texts = [getattr(item, "text", "") for item in play.state.follow.items]
    assert texts == ["hello", "I am here"]
    assert play.state.title == "a title"


def test_a_conversation_that_is_opened_shows_nothing_before_its_history() -> None:
    play = Play(State(Line(""), "th")).up()
    truth = Truth()
    truth.begin(truth.accept("hello"))
    play(*map(Heard, truth.notices))
    assert not play.state.follow.items
    play(Replied(Tag("history", "", 0), truth.histories[0]))
    assert [item.text for item in play.state.follow.items if isinstance(item, Said)] == ["hello"]


def test_lost_notices_are_asked_for_and_once_more_if_it_happens_meanwhile() -> None:
    play = talking()
    play(Lost(3), Lost(1))
    assert len(play.calls("history")) == 1
    play(Replied(Tag("history", "", 0), Truth().histories[-1]))
    assert len(play.calls("history")) == 2


def test_a_late_answer_about_another_conversation_is_dropped() -> None:
    play = talking()
    play(Lost(1), Typed("/new", "m2"), Replied(Tag("history", "", 0), {"events": [], "seq": 5}))
    assert play.state.thread == ""
    assert play.notes == [WORDS("new")]


@pytest.mark.parametrize(
    ("key", "decision", "remember"),
    [("allow", "allow", "once"), ("always", "allow", "thread"), ("deny", "deny", "once")],
)
def test_an_approval_is_answered_with_one_key(key: str, decision: str, remember: str) -> None:
    play = talking()
    asked = {"approval": "ap", "status": "asked", "tool": "t", "plugin": "p", "class": "write", "args": {}}
    play(Heard({"seq": 9, "type": "approval", "thread": "th", "turn": "tu1", "data": asked}))
    play(Pressed(key), Pressed(key))
    assert play.calls("approve") == [{"approval": "ap", "decision": decision, "remember": remember}]
    play(Refused(Tag("approve", "p:ap"), "gone", "", "not_found"))
    assert play.notes[-1] == WORDS("late")


@pytest.mark.parametrize("yes", ["once", "day"])
def test_a_yes_that_is_not_offered_is_not_given(yes: str) -> None:
    play = talking()
    asked = {"approval": "ap", "status": "asked", "tool": "t", "plugin": "p", "class": "write", "args": {}, "yes": yes}
    play(Heard({"seq": 9, "type": "approval", "thread": "th", "turn": "tu1", "data": asked}))
    play(Pressed("always"))
    assert play.calls("approve") == []
    play(Pressed("allow"))
    assert play.calls("approve") == [{"approval": "ap", "decision": "allow", "remember": "once"}]


def test_what_is_folded_is_chosen_opened_and_explained() -> None:
    play = talking()
    data = {"shown": ["e1"], "cold": ["e2"], "kept": 1, "chars": 9}
    play(Heard({"seq": 9, "type": "recall", "thread": "th", "turn": "tu1", "data": data}))
    tool = {"call": "c", "tool": "look", "status": "ok", "result": "r", "step": 0}
    play(Heard({"seq": 10, "type": "tool_call", "thread": "th", "turn": "tu1", "data": tool}))
    play(Pressed("open"))
    assert play.state.opened == {"t:tu1:c"}
    play(Pressed("previous"), Pressed("previous"))
    assert play.state.chosen == "r:tu1"
    play(Pressed("open"))
    assert play.calls("memory.explain") == [{"turn": "tu1"}]
    event = {"title": "tea", "excerpt": "Green\ntea.", "created_at": 0}
    play(Replied(Tag("explain", "r:tu1"), {"events": {"e1": event}}))
    recall = find(play.state.follow.items, "r:tu1")
    assert isinstance(recall, Recall)
    assert recall.detail.split("\n") == ["e1  tea", "    Green tea.", "e2"]
    play(Pressed("open"), Pressed("next"), Pressed("open", "t:tu1:c"))
    assert not play.state.opened


def test_what_was_opened_while_its_turn_ran_is_asked_for_again_at_its_end() -> None:
    play = talking()
    data = {"shown": ["e1"], "cold": [], "kept": 1, "chars": 9}
    play(Heard({"seq": 9, "type": "recall", "thread": "th", "turn": "tu1", "data": data}))
    play(Pressed("open"), Replied(Tag("explain", "r:tu1"), {"events": {}}))  # nothing is written down yet
    recall = find(play.state.follow.items, "r:tu1")
    assert isinstance(recall, Recall)
    assert not recall.detail
    ended = {"input": "in1", "phase": "end", "state": "answered"}
    play(Heard({"seq": 10, "type": "turn", "thread": "th", "turn": "tu1", "data": ended}))
    assert play.calls("memory.explain") == [{"turn": "tu1"}, {"turn": "tu1"}]
    play(Replied(Tag("explain", "r:tu1"), {"events": {"e1": {"title": "tea", "excerpt": "Green."}}}))
    play(Heard({"seq": 11, "type": "turn", "thread": "th", "turn": "tu1", "data": ended}))
    assert len(play.calls("memory.explain")) == 2


def test_older_pages_are_asked_for_once() -> None:
    play = talking()
    play.state = replace(play.state, follow=replace(play.state.follow, more=True, oldest=7))
    play(Pressed("older"), Pressed("older"))
    assert play.calls("history") == [{"thread": "th", "before": 7, "limit": 50}]
    play(Replied(Tag("older", "", 0), {"events": [], "more": False}))
    assert not play.state.follow.more


def test_threads_are_listed_and_opened_by_number() -> None:
    play = Play().up()
    rows = [{"id": f"th{n}", "title": f"title {n}\n\x1b[2J", "updated_at": 1.0, "busy": n == 2} for n in (1, 2)]
    play(Typed("/threads t", "m"), Replied(Tag("/threads"), {"threads": rows}))
    assert "title 2" in play.notes[-1]
    assert "busy" in play.notes[-1]
    play(Typed("/open 2", "m"))
    assert (play.state.thread, play.state.title) == ("th2", "title 2 \x1b[2J")
    assert play.calls("history")[-1]["thread"] == "th2"
    play(Typed("/open 7", "m"))
    assert play.notes[-1] == WORDS("which")


def test_a_conversation_is_deleted_only_when_it_is_said_twice() -> None:
    play = talking()
    play(Typed("/delete", "m"))
    assert not play.calls("io.thread_delete")
    assert "/delete yes" in play.notes[-1]
    play(Typed("/delete yes", "m"), Replied(Tag("/delete", "th"), {}))
    assert play.calls("io.thread_delete") == [{"thread": "th"}]
    assert play.state.thread == ""


def test_a_conversation_deleted_elsewhere_is_left() -> None:
    play = talking()
    play(Heard({"seq": 50, "type": "thread", "thread": "th", "data": {"title": "", "deleted": True}}))
    assert (play.state.thread, play.notes) == ("", [WORDS("deleted.elsewhere")])


def test_files_go_with_the_next_message_only() -> None:
    play = Play().up()
    assert Upload("~/a.txt") in play(Typed("/attach ~/a.txt", "m"))
    play(Handed(Attachment("up1", "a.txt", 1500)))
    assert "2 kB" in play.notes[-1]
    play(Typed("look", "m1"), Replied(Tag("chat", "m1"), receipt()), Typed("again", "m2"))
    assert [p.get("attachments") for p in play.calls("chat")] == [["up1"], None]


def test_the_built_in_model_is_called_what_it_is() -> None:
    play = Play().up()
    model = {
        "model": "SmolLM2",
        "source": "embedded",
        "kind": "embedded",
        "configured": True,
        "note": "Small and slow.",
    }
    play(Replied(Tag("status"), {"model": model}), Replied(Tag("status"), {"model": model}))
    assert play.notes == ["Small and slow."]
    assert play.state.model.kind == "embedded"


def test_why_nobody_answers_is_told_once_and_a_refusal_always() -> None:
    play = Play()
    play(Down("Not there.", "Start it."), Down("Not there.", "Start it."))
    assert play.notes == ["Not there.\nStart it."]
    play(Up("cli:owner", "1"), Down("Gone."), Down("Refused."))
    assert len(play.notes) == 1
    play(Down("Wrong key.", "", final=True))
    assert play.notes[1:] == ["Wrong key."]
    assert play.state.line.state == "refused"


def test_a_key_is_asked_for_and_kept_out_of_everything_but_the_call() -> None:
    play = Play().up()
    assert play(Typed("/remote https://h", "m")) == [Dial(url="https://h")]
    play(Wanted("https://h"))
    assert play(Typed("hk_secret", "m")) == [Dial(url="https://h", key="hk_secret")]
    assert "hk_secret" not in repr(play.state)
    assert "hk_secret" not in repr(play.effects)
    play(Wanted("https://h"), Pressed("stop"))
    assert play.state.key_for == ""
    assert not play.calls("chat")


def test_another_homed_begins_with_an_empty_screen_and_sends_it_nothing_of_the_old_one() -> None:
    play = talking()
    play(Down("gone"), Typed("for the old one", "m9"), Typed("/local", "m"), Turned(""), Up("cli:owner", "1"))
    assert (play.state.thread, play.state.outbox) == ("", ())
    assert [p["text"] for p in play.calls("chat")] == ["hello"]
    said = [item.text for item in play.state.follow.items if isinstance(item, Note)]
    assert any("not sent again" in one and "for the old one" in one for one in said), said
    play(Typed("/local", "m"))
    assert not any("not sent again" in item.text for item in play.state.follow.items if isinstance(item, Note))


def test_settings_are_told_as_homed_reads_them_back() -> None:
    play = Play().up()
    play(Typed("/settings set core.x  7", "m"))
    assert play.calls("admin.config_set") == [{"key": "core.x", "value": "7"}]
    play(Replied(Tag("/settings set", "core.x"), {"applied": "restart"}))
    play(Replied(Tag("/settings later"), {"key": "core.x", "value": 7}))
    assert play.notes[-1] == "core.x is 7 after the next start."
    play(Replied(Tag("/settings get"), {"key": "k", "value": "shh", "masked": True, "source": "stored"}))
    assert "shh" not in play.notes[-1]


PERSONAS = {"ask": True, "text": "", "presets": [{"name": "brief", "title": "Brief", "about": "Few words."}]}


def test_a_new_homed_asks_who_it_should_be_once_and_only_whoever_may_say() -> None:
    play = Play().up()
    play(Replied(Tag("status"), {"model": {"configured": True, "model": "m", "source": "s"}}))
    assert play.calls("admin.persona_get") == [{"lang": "en"}]
    play(Refused(Tag("first"), "denied", "admin.persona_get is for owners."))
    assert play.notes == []
    play(Replied(Tag("first"), PERSONAS))
    assert "Who should I be?" in play.notes[-1]
    assert "brief    Brief: Few words." in play.notes[-1]
    play(Replied(Tag("status"), {"model": {"configured": True, "model": "m", "source": "s"}}))
    assert len(play.calls("admin.persona_get")) == 1
    play(Replied(Tag("first"), PERSONAS | {"ask": False}))
    assert len(play.notes) == 1


@pytest.mark.parametrize(
    ("typed", "asked", "said"),
    [
        ("/persona Brief", {"preset": "brief"}, "It holds from the next message on."),
        ("/persona text  Speak like a pirate. ", {"text": "Speak like a pirate."}, "It holds from"),
        ("/persona none", {"text": ""}, "No persona is set now."),
        ("/persona later", {"later": True}, "It stays as it is"),
    ],
)
def test_a_persona_is_chosen_written_taken_off_or_put_off(typed: str, asked: dict[str, Any], said: str) -> None:
    play = Play().up()
    play(Typed(typed, "m"))
    assert play.calls("admin.persona_set") == [{**asked, "lang": "en"}]
    tag = Tag("/persona later" if "later" in asked else "/persona set")
    play(Replied(tag, {"text": "" if asked.get("text") == "" else "x"}))
    assert play.notes[-1].startswith(said)


def test_a_word_too_many_is_no_persona() -> None:
    play = Play().up()
    play(Typed("/persona brief please", "m"))
    assert play.calls("admin.persona_set") == []


ANSWERS: dict[str, dict[str, Any]] = {
    "/models": {"sources": [{"name": "a", "model": "m", "current": True, "has_key": False, "kind": "remote"}]},
    "/plugins": {"plugins": [{"name": "shell", "state": "ready", "reason": "why"}]},
    "/status": {"version": "1", "model": {"configured": False, "hint": "Add one."}, "counts": {"events": 3},
                "storage": {"state": "read_only", "reason": "disk"}},
    "/memory": {"entries": [{"kind": "recall", "data": {"shown": ["e1"], "cold": [], "kept": 4}}], "events": {}},
    "/settings": {"settings": [{"key": "core.agent.x", "value": "a\nb", "name": "X"}]},
    "/persona": {**PERSONAS, "text": "Be brief.", "place": "/data/persona.md"},
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("/models", ["* a", "no key"]), ("/plugins", ["shell", "ready: why"]), ("/memory", ["4 earlier", "e1"]),
        ("/status", ["Model: none. Add one.", "3 events", "read-only: disk"]), ("/settings", ["core.agent.x = a b"]),
        ("/persona", ["Be brief.", "given by /data/persona.md", "Few words."]),
    ],
)  # fmt: skip
def test_answers_are_told(name: str, words: list[str]) -> None:
    play = Play().up()
    play(Replied(Tag(name), ANSWERS[name]))
    assert all(word in play.notes[-1] for word in words), play.notes[-1]


def test_the_latest_terminal_conversation_is_opened_when_that_was_asked_for() -> None:
    play = Play(State(Line(""), go_on=True)).up()
    rows = [{"id": "w", "channel": "webui"}, {"id": "c", "channel": "cli", "title": "T"}]
    play(Replied(Tag("threads"), {"threads": rows}))
    assert (play.state.thread, play.state.go_on) == ("c", False)


def test_names_for_completion_are_asked_for_once() -> None:
    play = Play().up()
    play(Pressed("complete", "model"), Pressed("complete", "model"), Pressed("complete", "nothing"))
    assert len(play.calls("admin.models_list")) == 1
    play(Replied(Tag("names", "model"), {"sources": [{"name": "a"}]}))
    assert play.state.names.models == ("a",)


def test_who_types_looks_at_the_end_again() -> None:
    places = []
    play = talking()
    for message in (Moved(Place("u:in1", 0)), Typed("/export ~/x.md", "m")):
        play(message)
        places.append(play.state.place)
    assert places == [Place("u:in1", 0), None]
    assert play.effects[-1] == Export("th", "", "~/x.md")


def test_theme_notes_and_leaving() -> None:
    play = talking()
    play(Told("done", "error"), Typed("/theme light", "m"), Typed("  \n", "m"))
    assert (play.state.theme, play.notes[0]) == ("light", "done")
    assert play(Typed("/quit", "m")) == [Leave()]


def test_what_is_to_be_taken_up_now_is_sent_as_such() -> None:
    play = talking()
    play(Typed("/interrupt when is lunch?", "m8"), Typed("and dinner", "m9", urgent=True))
    assert [call["text"] for call in play.calls("interrupt")] == ["when is lunch?"]
    play(Replied(Tag("chat", "m8"), receipt("in8", level=2, way="suspends")))
    assert [(call["text"], call["client_msg_id"]) for call in play.calls("interrupt")] == [
        ("when is lunch?", "m8"), ("and dinner", "m9"),
    ]  # fmt: skip
    assert len(play.calls("chat")) == 1
    play(Typed("/interrupt", "m10"))
    assert "/interrupt TEXT" in play.notes[-1]
