"""The screen as lines: right at every width."""

from __future__ import annotations

from dataclasses import replace

import pytest
from prompt_toolkit.utils import get_cwidth

from waiter.approvals import question as question_of
from waiter.cells import FILL, Cells, Glyphs
from waiter.cost import cost_of
from waiter.frames import asked, tool
from waiter.keyed import question
from waiter.model import (
    Agent,
    Answer,
    Asked,
    Attachment,
    End,
    Following,
    Item,
    Line,
    Model,
    Note,
    Outgoing,
    Place,
    Recall,
    Running,
    Said,
    State,
    Thought,
    Tool,
)
from waiter.progress import Ask
from waiter.progress import Tool as Called
from waiter.show import tool_line
from waiter.theme import rules
from waiter.view import Painter, asking, fields, rule, status
from waiter.words import Words

EVIL = "\x1b]0;x\x07\x1b[2J\u202e 你好 👩‍👩‍👧 " + "word " * 30
EVERYTHING: tuple[Item, ...] = (
    Said("u:1", EVIL, EVIL, (EVIL,), queued=True), Thought("h:t:0", "t", 0, EVIL), Answer("a:t:0", "t", 0, EVIL),
    Tool("t:t:1", "t", 0, EVIL, '{"a": "b"}', "ok", '{"stdout": "x\\ny", "n": 1}', 12),
    Tool("t:t:2", "t", 0, "look", EVIL, "denied", EVIL * 500), Recall("r:t", "t", ("e1", "e2"), ("e3",), 4, 9, EVIL),
    Asked("p:1", "1", "t", EVIL, EVIL, "dangerous", '{\n "a": "\\u001b"\n}', EVIL),
    End("e:t", "t", "failed", EVIL, EVIL),
    Asked("p:2", "2", "t", "t", "p", "odd", "{}", "", "allowed"), End("e:s", "s", "stopped"),
    Note("w:1", EVIL, "error"),
    Note("w:2", "/help  " + EVIL, "help"),
)  # fmt: skip
FULL = State(
    Line("a name 名字", "lost", peer="cli:owner"), "th", EVIL, follow=Following(EVERYTHING, more=True),
    outbox=(Outgoing("m1", EVIL, 0),), attached=(Attachment("u", EVIL, 5),), model=Model("model", kind="embedded"),
    tokens=(123456, 1234), opened=frozenset({"h:t:0", "t:t:1", "t:t:2", "r:t"}), chosen="t:t:1",
)  # fmt: skip


def flat(lines: tuple[Cells, ...] | list[Cells]) -> list[str]:
    return ["".join(text for _, text in line) for line in lines]


def painter(language: str = "en") -> Painter:
    return Painter(Glyphs(), Words(language))


def talk(*items: Item, cells: int = 60, state: State | None = None) -> list[str]:
    shown = replace(state or State(Line("")), follow=Following(items))
    return flat(painter().layout(shown, cells).lines)


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("cells", [20, 21, 40, 79, 80, 120, 200])
def test_nothing_is_wider_than_the_screen_or_drives_the_terminal(cells: int, language: str) -> None:
    words = Words(language)
    lines = flat(painter(language).layout(FULL, cells).lines)
    lines += flat(asking(FULL, cells, words, empty=True)) + flat(
        asking(replace(FULL, key_for=EVIL), cells, words, empty=False)
    )
    for state in (FULL, replace(FULL, place=Place("x", 1), line=Line("", "up")), State(Line(""))):
        lines += flat([status(state, cells, words), rule(state, cells, words)])
    for line in lines:
        assert get_cwidth(line) <= cells, line
        assert not any(ord(char) < 32 or 0x7F <= ord(char) < 0xA0 or char in "\u202e\n" for char in line), line


def test_every_line_belongs_to_a_thing_and_can_be_found_again() -> None:
    layout = painter().layout(FULL, 50)
    assert len(layout.lines) == len(layout.keys)
    for at, key in enumerate(layout.keys):
        assert layout.top(Place(key, at - layout.starts[key]), 1) == at


def test_a_place_stays_while_more_comes_below_and_above() -> None:
    items = [Said(f"u:{n}", f"text {n}") for n in range(50)]
    drawn = painter()
    state = State(Line(""), follow=Following(tuple(items[10:40])))
    place = drawn.layout(state, 40).moved(None, 10, -21)
    assert place is not None
    for more in (items[10:50], items[0:50]):
        layout = drawn.layout(replace(state, follow=Following(tuple(more))), 40)
        top = layout.top(place, 10)
        assert (layout.keys[top], flat(layout.lines[top : top + 1])) == (place.key, [f"› text {place.key[2:]}"])
    assert layout.moved(place, 10, 1000) is None
    assert layout.top(None, 10) == len(layout.lines) - 10


def test_the_same_state_is_drawn_once() -> None:
    drawn = painter()
    assert drawn.layout(FULL, 50) is drawn.layout(FULL, 50)
    assert drawn.layout(FULL, 50) is not drawn.layout(FULL, 51)
    assert drawn.layout(replace(FULL, chosen=""), 51) is not drawn.layout(FULL, 51)


def test_a_tool_card_tells_its_state_and_opens_field_by_field() -> None:
    card = Tool("t:1", "t", 0, "cmd_run", '{"command": "ls"}', "ok", '{"stdout": "a\\nb", "code": 0}', 12)
    assert talk(card) == ['✓ cmd_run 12 ms · {"command": "ls"}', '  └ {"stdout": "a\\nb", "code": 0}']
    opened = talk(card, state=State(Line(""), opened=frozenset({"t:1"})))
    assert opened[1:] == [
        "  arguments", "  │ command: ls", "  result", "  │ stdout: ", "  │   a", "  │   b", "  │ code: 0",
    ]  # fmt: skip
    for status_, mark in (("running", "→"), ("error", "✗"), ("denied", "⊘"), ("interrupted", "■"), ("odd", "?")):
        assert talk(replace(card, status=status_))[0].startswith(f"{mark} cmd_run")


def test_what_a_tool_gave_back_stands_below_its_card_open_or_not() -> None:
    card = Tool("t:1", "t", 0, "plot", "", "ok", "done", 12, files=("p.png", "\x1b[31mq.csv"))
    assert talk(card) == ["✓ plot 12 ms", "  └ done", "  with p.png, ␛[31mq.csv"]
    assert talk(card, state=State(Line(""), opened=frozenset({"t:1"})))[-1] == "  with p.png, ␛[31mq.csv"
    assert talk(replace(card, result=""))[-1] == "  with p.png, ␛[31mq.csv"


def test_a_result_of_a_megabyte_is_cut_and_says_so() -> None:
    card = Tool("t:1", "t", 0, "x", "", "ok", "line\n" * 200_000, 1)
    lines = talk(card, state=State(Line(""), opened=frozenset({"t:1"})))
    assert len(lines) < 500
    assert lines[-1] == "  │ … 199600 more lines"


def test_recall_lines_count_and_open_to_the_ids() -> None:
    recall = Recall("r:1", "t", ("e1", "e2"), ("e3",))
    assert talk(recall, cells=90) == ["[long-term recall] 2 from other conversations · 1 from cold memory"]
    assert talk(replace(recall, cold=())) == ["[long-term recall] 2 from other conversations"]
    assert talk(replace(recall, shown=())) == ["[long-term recall] 1 from cold memory"]
    assert talk(replace(recall, shown=(), cold=())) == []
    known = replace(recall, cold=(), facts=("fact_1", "fact_2"), counts=(0, 2, 0), chars=412)
    assert talk(known, cells=90) == ["[long-term recall] L1×0 L2×2 L3×0 · 2 from other conversations · 412 chars"]
    assert talk(recall, cells=90, state=State(Line(""), opened=frozenset({"r:1"})))[1:] == [
        "  │ e1",
        "  │ e2",
        "  │ e3",
    ]
    opened = replace(known, shown=(), told="> goats?\nL2 [source] Eleven goats. (id:9f3c1a7b)")
    assert talk(opened, cells=90, state=State(Line(""), opened=frozenset({"r:1"})))[1:] == [
        "  │ > goats?", "  │ L2 [source] Eleven goats. (id:9f3c1a7b)",
    ]  # fmt: skip


def test_what_an_approval_is_about_stands_there_whole_and_as_json() -> None:
    args = '{\n  "command": "rm x\\n\\u001b[2K[y] fake"\n}'
    lines = talk(Asked("p:1", "1", "t", "cmd_run", "shell", "dangerous", args, "why"), cells=80)
    assert lines == [
        "? May cmd_run of the plugin shell run?", "  │ {", '  │   "command": "rm x\\n\\u001b[2K[y] fake"', "  │ }",
        "  It is of the class dangerous. why",
    ]  # fmt: skip
    assert talk(Asked("p:1", "1", "t", "x", "p", "write", "{}", "", "denied")) == [
        "? May x of the plugin p run? (not allowed)"
    ]


def test_how_a_turn_ended_is_told_unless_it_was_answered() -> None:
    assert talk(End("e", "t", "answered")) == []
    assert talk(End("e", "t", "stopped")) == ["■ stopped"]
    assert talk(End("e", "t", "failed", "No key.", "Add one.")) == ["✗ It failed: No key.", "  Add one."]
    assert talk(End("e", "t", "refused", "No.")) == ["✗ It was refused: No."]
    assert talk(End("e", "t", "odd")) == ["✗ It ended as odd."]


def test_an_agent_is_a_line_and_its_report_is_not_the_persons_word() -> None:
    agent = Agent("g:t:a", "t", "moon-\x1bwatcher", "running", 2, "look")
    assert "at work · calls: 2 · look" in "".join(talk(agent))
    assert "\x1b" not in "".join(talk(agent))
    assert "an agent: found" in "".join(talk(Said("u:1", "found", "@agent")))
    for state in ("accepted", "suspended", "answered", "stopped", "failed", "refused", "reported"):
        for language in ("en", "zh"):
            assert painter(language).words(f"agent.{state}")


def test_messages_that_wait_say_so() -> None:
    state = State(Line(""), outbox=(Outgoing("m", "soon", 0), Outgoing("n", "elsewhere", 3)))
    assert flat(painter().layout(state, 40).lines) == ["› soon", "  (not sent yet)"]
    assert talk(Said("u:1", "a\nb", "webui", ("x.png",), queued=True)) == [
        "› webui: a", "  b", "  with x.png", "  (waits)",
    ]  # fmt: skip


DOING = [
    (Running("t", "i"), "reading"), (Running("t", "i", "reading", 2, 5), "reading 40 %"),
    (Running("t", "i", "loading", 1, 4), "loading the model 25 %"), (Running("t", "i", "writing"), "writing"),
    (Running("t", "i", "waiting"), "waiting for your word"), (Running("t", "i", "stopping"), "stopping"),
]  # fmt: skip


@pytest.mark.parametrize(("running", "said"), DOING)
def test_the_status_line_tells_what_is_done(running: Running, said: str) -> None:
    state = State(Line("home", "up"), "th", "A title", follow=Following(running=running), model=Model("m1"))
    line = flat([status(state, 80, Words())])[0]
    assert line.startswith("● home · A title ")
    assert line.endswith(f"{said} · m1")
    assert said.split()[0] in flat([status(state, 40, Words())])[0]  # the most important part stays on a narrow screen


def test_the_built_in_model_is_labelled_and_a_lost_connection_is_told() -> None:
    state = State(Line("", "lost"), model=Model("SmolLM2", kind="embedded"), tokens=(1500, 20))
    line = flat([status(state, 120, Words())])[0]
    assert line.startswith("○ this machine: no connection, trying again")
    assert "1.5k read, 20 written" in line
    assert "SmolLM2 (built in, small)" in line


def test_what_the_conversation_cost_stands_beside_its_tokens_and_goes_first_where_there_is_no_room() -> None:
    cost = cost_of({"cost": {"USD": "0.0042"}, "unpriced": 7})
    state = State(Line("", "up"), title="Garden", model=Model("deepseek-chat"), tokens=(1500, 20), cost=cost)
    line = flat([status(state, 100, Words())])[0]
    assert "1.5k read, 20 written · 0.0042 USD + unknown · deepseek-chat" in line
    narrow = flat([status(state, 64, Words())])[0]
    assert "USD" not in narrow
    assert "1.5k read" in narrow


def test_a_question_shows_its_keys_and_that_typing_is_in_the_way() -> None:
    state = State(Line(""), follow=Following((Asked("p:1", "1", "t", "x", "p", "write", "{}", ""),)))
    assert question(state) is not None
    assert flat(asking(state, 80, Words(), empty=True))[-1] == "y once · t in this conversation from now on · n no"
    assert flat(asking(state, 80, Words(), empty=False))[-1].startswith("Empty the line to answer")
    for yes, keys in (("once", "y once · n no"), ("day", "y go on today · n no")):
        one = replace(state.follow.items[0], yes=yes)  # type: ignore[arg-type]
        assert flat(asking(replace(state, follow=Following((one,))), 80, Words(), empty=True))[-1] == keys
    more = replace(state, follow=Following(tuple(Asked(f"p:{n}", str(n), "t", "x", "p", "", "", "") for n in range(3))))
    assert flat(asking(more, 80, Words(), empty=True))[-1].endswith("n no  (2 more after this)")


def test_an_emoji_family_is_one_glyph_of_two_cells() -> None:
    drawn = painter()
    line = flat(drawn.layout(State(Line(""), follow=Following((Said("u", "a👩‍👩‍👧b"),))), 40).lines)[0]
    assert get_cwidth(line) == 6
    assert drawn.glyphs.meant(line[3]) == "👩‍👩‍👧"
    assert line[4] == FILL


def test_fields_of_a_result() -> None:
    assert list(fields("")) == []
    assert list(fields("a\nb\n")) == [("", "a"), ("", "b")]
    assert list(fields('{"a": {"b": 1}, "c": ""}')) == [("a: ", '{"b": 1}'), ("c: ", "")]
    assert list(fields("[1]")) == [("", "["), ("", "  1"), ("", "]")]
    assert list(fields("{broken")) == [("", "{broken")]


@pytest.mark.parametrize("depth", [900, 985, 20_000])
def test_no_depth_of_nesting_stops_the_screen(depth: int) -> None:
    """A model can ask for a tool with such arguments, and a tool can give such a result."""
    text = '{"a":' * depth + "1" + "}" * depth
    assert list(fields(text))
    deep: object = 1
    for _ in range(depth):
        deep = {"a": deep}
    assert asked("t", {"approval": "p", "args": deep}).args
    assert tool("t", {"call": "c", "args": deep, "result": deep}, 0).args
    assert question_of(Ask("p", "t", "p", "read", deep, ""), Words())
    assert tool_line(Called("t", "ok", deep, deep))


def test_themes_name_only_what_can_be_drawn_and_no_color_has_none() -> None:
    from prompt_toolkit.styles import Style

    for theme in ("dark", "light", "auto"):
        Style.from_dict(rules(theme, {}))
    plain = Style.from_dict(rules("dark", {"NO_COLOR": "1"}))
    used = {style for line in painter().layout(FULL, 60).lines for style, _ in line}
    for style in used:
        attrs = plain.get_attrs_for_style_str(style)
        assert (attrs.color or "", attrs.bgcolor or "") == ("", "")
    assert rules("auto", {"COLORFGBG": "0;15"}) == rules("light", {})
    assert rules("auto", {"COLORFGBG": "15;0"}) == rules("dark", {}) == rules("auto", {"COLORFGBG": "x"})
