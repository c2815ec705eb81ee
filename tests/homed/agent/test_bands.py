"""What is told unasked: the gate is passed, and then it is room.  Budgets hold, ids are whole, marks stay, always."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from homed.agent import bands, lines
from homed.agent.bands import Limits, Plan, plan
from homed.agent.lines import Fact, Written
from homed.memory import stable
from homed.memory.stable import Record

PEER = "webui:owner"
LIMITS = Limits()


def fact(
    number: int, text: str = "The user drinks green tea.", *, relevance: float = 0.3, why: str = "hit", **row: Any
) -> Fact:
    given_: dict[str, Any] = dict.fromkeys(stable.NAMES, "") | {
        "record": "fact", "kind": "preference", "importance": 5, "cited": 0, "updated_at": 0.0, "revision": 1,
        "untrusted": False, "scope": "owner",
    }  # fmt: skip
    given_ |= row | {"id": f"{row.get('record', 'fact')}_{number:016x}", "text": text}
    return Fact(Record(**given_), "source", 1.0 - number / 1000, relevance=relevance, why=why)


def write(one: Fact, chars: int) -> Written | None:
    return lines.line(one, chars, PEER)


def planned(*hits: Fact, active: tuple[Fact, ...] = (), limits: Limits = LIMITS, room: int = 1200, **more: Any) -> Plan:
    return plan(hits, active, limits, room, write, **more)


def told(made: Plan) -> list[tuple[str, str]]:
    return [(one.band, one.fact.record.id[-3:]) for one in made.placed]


def test_what_the_question_is_about_and_the_two_best_come_first_then_the_others_then_the_background() -> None:
    hits = [
        fact(1), fact(2), fact(3, relevance=0.5), fact(4, relevance=0.44), fact(5, record="capsule", kind="project"),
        fact(6, record="capsule", kind="thread", relevance=0.6),
    ]  # fmt: skip
    standing = fact(7, why="active", importance=8)
    assert told(planned(*hits, active=(standing,), room=4000)) == [
        ("immediate", "001"), ("immediate", "002"), ("immediate", "003"), ("immediate", "006"), ("working", "004"),
        ("background", "007"), ("background", "005"),
    ]  # fmt: skip


def test_no_more_of_a_kind_than_may_be_and_each_once() -> None:
    hits = [fact(n, record=kind, kind="") for n in range(8) for kind in ("summary", "fact", "capsule")]
    made = planned(*hits, *hits, room=10_000)
    kinds = [one.fact.record.record for one in made.placed]
    assert {kind: kinds.count(kind) for kind in set(kinds)} == {"summary": 2, "fact": 5, "capsule": 3}
    few = Limits(summaries=1, facts=1, capsules=1)
    assert len(planned(*hits, limits=few, room=10_000).placed) == 3


@pytest.mark.parametrize(
    ("row", "stands"),
    [
        ({"importance": 7}, True), ({"importance": 6}, False), ({"importance": 7, "kind": "fact"}, False),
        ({"importance": 8, "kind": "fact"}, True), ({"importance": 7, "kind": "entity"}, False),
        ({"importance": 7, "kind": "todo"}, True), ({"importance": 7, "kind": "profile", "record": "capsule"}, True),
        ({"importance": 10, "kind": "turn", "record": "summary"}, False),
        ({"importance": 10, "untrusted": True}, False),
    ],
)  # fmt: skip
def test_what_may_stand_in_the_active_window(row: dict[str, Any], stands: bool) -> None:
    assert bool(planned(active=(fact(1, why="active", **row),)).placed) is stands


def test_the_active_window_has_its_own_bounds_and_its_room_is_kept_first() -> None:
    active = tuple(fact(n, f"Rule {n}: {'very ' * 12}important.", why="active", importance=9) for n in range(5))
    assert len(planned(active=active).placed) == 2
    assert planned(active=active, limits=Limits(window=False)) == Plan()
    assert len(planned(active=active, limits=Limits(window_items=9, window_chars=390), room=5000).placed) == 3
    hits = [fact(10 + n, "word " * 60, relevance=0.9) for n in range(5)]
    made = planned(*hits, active=active, room=900)
    standing = [one for one in made.placed if one.band == "background"]
    assert len(standing) == 2, "however much the question finds"
    assert made.chars <= 900


def test_what_the_question_found_does_not_stand_twice() -> None:
    one = fact(1, importance=9)
    assert told(planned(one, active=(fact(1, why="active", importance=9),))) == [("immediate", "001")]


def test_sixty_percent_are_the_immediates_unless_the_others_leave_them_more() -> None:
    near = [fact(n, "word " * 30, relevance=0.9) for n in range(4)]
    far = [fact(10, "thing " * 30, relevance=0.2)]
    taken = sum(len(one.text) + 1 for one in planned(*near, *far, room=600).placed if one.band == "immediate")
    assert taken <= 600 - min(240, 200 + 1)
    alone = planned(*near, room=600)
    assert alone.chars > 360, "what the others leave is theirs"
    assert alone.cut == 1


def test_what_stands_before_the_model_is_not_told_again_and_takes_its_place() -> None:
    hits = [fact(n) for n in range(7)]
    shown = frozenset(one.key for one in hits[:3])
    assert told(planned(*hits, shown=shown)) == [("immediate", "003"), ("immediate", "004")]
    assert planned(*hits[:5], shown=frozenset(one.key for one in hits)) == Plan(), "nothing, and no next best"
    newer = fact(0, revision=2)
    assert told(planned(newer, shown=shown)) == [("immediate", "000")], "it says something else now"
    active = tuple(fact(20 + n, why="active", importance=9) for n in range(4))
    assert planned(active=active, shown=frozenset(one.key for one in active[:2])) == Plan()


def test_a_mode_says_how_it_came() -> None:
    assert planned(fact(1)).mode == "hit"
    assert planned(fact(1, why="graph"), active=(fact(2, why="active", importance=9),)).mode == "hit"
    assert planned(active=(fact(2, why="active", importance=9),)).mode == "background"
    assert planned(fact(1, why="latest", record="summary")).mode == "snapshot"


def test_a_line_goes_into_the_ledger_as_it_stood() -> None:
    one = fact(1, "word " * 100, relevance=0.5, revision=3)
    (line,) = [placed.line for placed in planned(one, room=200).placed]
    assert (line.id, line.record, line.revision, line.band) == (one.record.id, "fact", 3, "immediate")
    assert (line.evidence, line.relevance, line.shortened) == ("source", 0.5, True)
    assert line.chars <= 199


SHORT = [
    "",
    "?",
    "hi",
    "Ida?",
    "好",
    "爬山",
    "C盘",
    "嗯嗯嗯",
    "继续!",
    "👍🏽",
    "계속",
    "weiter!",
    "続けて",
    "ต่อไป",
    "हाँ",
    "नमस्ते",
]
LONG = ["hello there", "去爬山吧", "Ida и", "what now", "แมวของฉันชื่ออะไร", "जारी रखो", "계속해 주세요"]


@pytest.mark.parametrize(("text", "short"), [*((one, True) for one in SHORT), *((one, False) for one in LONG)])
def test_what_is_short(text: str, short: bool) -> None:
    assert bands.says_little(text) is short


@pytest.mark.parametrize(
    "text",
    [
        "continue",
        "Go on!",
        "next",
        "OK.",
        "ok…",
        "继续",
        "接着",
        "好的。",
        "然后呢？",
        "Дальше",
        "продолжай",
        "да!",
        "OK, go on please",
        "да, продолжай, пожалуйста",
        "好的，继续",
        "好的好的",
        "ok 继续",
    ],
)
def test_what_only_says_that_it_is_to_go_on(text: str) -> None:
    assert bands.continues(text)


@pytest.mark.parametrize(
    "text", ["continue with the harp", "next Tuesday", "继续爬山", "да, арфа", "", "Ida", "nextcloud", "ok ok " * 40]
)
def test_what_says_more_than_that(text: str) -> None:
    assert not bands.continues(text)


TEXTS = st.one_of(
    st.text(max_size=400),
    st.lists(
        st.sampled_from(["tea", "喝茶", "чай", "\u0301", "👩\u200d👧", " ", "x" * 90, "</data>"]), max_size=40
    ).map("".join),
)
FACTS = st.lists(
    st.builds(
        fact,
        st.integers(0, 30),
        TEXTS,
        relevance=st.floats(0, 1),
        why=st.sampled_from(["hit", "graph", "latest"]),
        record=st.sampled_from(["summary", "fact", "capsule"]),
        importance=st.integers(1, 10),
        untrusted=st.booleans(),
        title=st.text(max_size=20),
    ),
    max_size=14,
)
_LINE = re.compile(r"- \[[^\n\]]+\] [^\n]* ?\(id:[0-9a-f]{8}\)")


@settings(max_examples=150)
@given(FACTS, FACTS, st.integers(-50, 2500), st.integers(1, 500), st.integers(1, 10))
def test_whatever_is_known_budgets_hold_ids_are_whole_and_marks_stay(
    hits: list[Fact], active: list[Fact], room: int, window: int, importance: int
) -> None:
    limits = Limits(window_chars=window, importance=importance)
    made = planned(*hits, active=tuple(active), limits=limits, room=room)
    assert made.chars <= max(0, room)
    assert made == planned(*hits, active=tuple(active), limits=limits, room=room), "the same again"
    standing = [one for one in made.placed if one.band == "background" and one.fact in active and one.fact not in hits]
    assert sum(len(one.text) + 1 for one in standing) <= window
    for one in made.placed:
        assert _LINE.fullmatch(one.text), one.text
        assert one.text.endswith(f"(id:{one.fact.record.shown_id})")
        marks = one.text[3 : one.text.index("]")]
        assert ("⚠" in marks) == one.fact.record.untrusted
        assert one.shortened or lines.said(one.fact) in one.text
        assert not one.shortened or "… (id:" in one.text
    assert len({one.fact.record.id for one in made.placed}) == len(made.placed)
