"""A summary names nothing that occurs nowhere in what it is of."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from homed.memory.distil.basis import Basis
from homed.memory.distil.contract import Outlined

AT = datetime(2026, 5, 13, 10, tzinfo=UTC).timestamp()
EN = (
    "I am going to Lisbon with my sister Clara for three days next Friday, what should we pack? We have 120 euros.",
    "Pack light: rain coats, two pairs of shoes and sunscreen. Lisbon has 18 degrees in May.",
)
ZH = ("我下周三要和同事王芳去苏黎世开会，帮我订两间房，预算一千五。", "好的，已经找到湖边酒店，每晚七百法郎。")
MIXED = ("我的 laptop 是 ThinkPad X1，跑 Debian，每天晚上 backup 到 NAS。", "好的，每天晚上 backup。")
RU = ("Я еду в Берлин с Машей завтра в семь вечера.", "Хорошей поездки!")


def invents(said: Sequence[str], request: str, outcome: str = "", **more: Any) -> str:
    """What of a summary stands nowhere."""
    return Basis([(text, AT) for text in said], tally=True, **more).invents(Outlined(request, "-", outcome, 5, ()))


@pytest.mark.parametrize(
    ("said", "request_", "outcome"),
    [
        (EN, "The user asked what to pack for a trip to Lisbon with sister Clara.", "Light packing was advised."),
        (EN, "User travels to Lisbon for 3 days on 22 May 2026 with Clara.", "Three things, within 120 euros."),
        (EN, "用户问去里斯本三天要带什么。", "建议轻装，预算120欧元。"),
        (EN, "用户和克拉拉去里斯本三天。", "建议带雨衣和两双鞋。"),
        (ZH, "用户要和同事王芳下周三去苏黎世开会，订两间房。", "找到湖边酒店，每晚700法郎，预算1500。"),
        (ZH, "用户5月20日去苏黎世开会，要订2间房。", "找到了酒店。"),
        (ZH, "The user goes to Zurich with colleague Wang Fang next Wednesday.", "A hotel at 700 francs was found."),
        (ZH, "User asked in Chinese to book 2 rooms in Zurich on 20 May 2026.", "Hotel found."),
        (MIXED, "User's laptop is a ThinkPad X1 running Debian with nightly backup to NAS.", "Noted."),
        (MIXED, "用户的笔记本是 ThinkPad X1，系统 Debian。", "已记录。"),
        (RU, "The user travels to Berlin with Masha on 14 May at 19:00.", "Wished a good trip."),
        (("hey, what's up?", "Not much!"), "User greeted casually.", "A friendly greeting was returned."),
        (("list three fruits", "1. apple\n2. pear\n3. plum\n4. fig"), "User wanted three fruits.", "Four were listed."),
    ],
)
def test_in_another_notation_language_or_form_it_is_made_up_of_nothing(
    said: Sequence[str], request_: str, outcome: str
) -> None:
    assert invents(said, request_, outcome) == ""


@pytest.mark.parametrize(
    ("said", "request_", "what"),
    [
        (EN, "The user asked what to pack for Porto.", "name"),
        (EN, "The user and Bob Miller go to Lisbon.", "name"),
        (EN, "Bob asked what to pack.", "name"),
        (EN, "The user goes to Lisbon for five days.", "number"),
        (EN, "The user goes to Lisbon with 150 euros.", "number"),
        (EN, "The user goes to Lisbon on 23 July.", "date"),
        (EN, "用户和李娜去里斯本三天。", "name"),
        (EN, "用户去巴黎三天。", "name"),
        (ZH, "用户要和同事李强去苏黎世开会。", "name"),
        (ZH, "用户要和王芳去柏林开会。", "name"),
        (ZH, "用户要和王芳去苏黎世开会，订三间房。", "number"),
        (ZH, "用户6月30日去苏黎世开会。", "date"),
        (ZH, "The user goes to Geneva with Wang Fang.", "name"),
        (ZH, "The user goes to Zurich with Peter Schmidt.", "name"),
        (MIXED, "User's laptop is a MacBook Pro.", "name"),
        (MIXED, "用户的 laptop 是 ThinkPad X9。", "number"),
        (RU, "Пользователь едет в Москву с Олегом.", "name"),
        (EN, "Somebody confessed to robbing jewellers and burning barns yesterday evening.", "word"),
    ],
)
def test_what_occurs_nowhere_was_made_up(said: Sequence[str], request_: str, what: str) -> None:
    assert invents(said, request_) == what


def test_who_spoke_and_what_is_listed_may_be_named() -> None:
    assert invents(EN, "Marta asked what to pack.") == "name"
    assert invents(EN, "Marta asked what to pack.", names=["Marta Keller"]) == ""
    assert Basis([("- a\n- b\n- c", None)]).lacks("3 items") == "number"
    assert Basis([("- a\n- b\n- c", None)], tally=True).lacks("3 items") == ""


@pytest.mark.parametrize("piece", ["1,", "一", "A-", "I not, ", "a b c, ", "the 9 ", "、", "\n", "9"])
def test_a_text_that_is_one_pattern_is_read_all_the_same(piece: str) -> None:
    said = (piece * 1_500, "I live in Bern.")
    assert invents(said, "The user lives in Bern.") == ""
    assert invents(said, "The user lives in Basel.") == "name"


def test_a_day_is_one_of_the_persons_zone() -> None:
    late = datetime(2026, 5, 13, 23, tzinfo=UTC).timestamp()
    east = timezone(timedelta(hours=8))
    assert Basis([("tomorrow", late)], east).lacks("on 15 May 2026") == ""
    assert Basis([("tomorrow", late)]).lacks("on 15 May 2026") != ""
    assert Basis([("tomorrow", 1e30)]).lacks("on 15 May 2026") != "", "a clock that was wrong"
