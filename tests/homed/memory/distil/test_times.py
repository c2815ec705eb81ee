"""A date is one that was said, or that what was said comes to on that day."""

from __future__ import annotations

from datetime import date

import pytest

from homed.memory.distil.times import Dated, dated

DAY = date(2026, 5, 13)
"""A Wednesday."""


def lacks(said: str, text: str, day: date | None = DAY) -> bool:
    """Whether a date of the text stays, or is of another month or day of the week."""
    rest, other = dated([(said, day)]).missing(text)
    return other or any(one.isdigit() for one in rest)


@pytest.mark.parametrize(
    ("said", "written"),
    [
        ("tomorrow I fly", "on 14 May 2026"),
        ("tomorrow I fly", "2026-05-14"),
        ("tomorrow I fly", "on Thursday"),
        ("yesterday", "12 May"),
        ("in two days", "2026-05-15"),
        ("three weeks ago", "22 April 2026"),
        ("next Friday", "22 May 2026"),
        ("on Friday", "15 May"),
        ("the twentieth of next month", "20 June 2026"),
        ("on 14 May", "14 May 2026"),
        ("on 14 May", "5月14日"),
        ("on the fifteenth of May", "15 May"),
        ("every Wednesday", "每周三"),
        ("每周三", "every Wednesday"),
        ("明天我飞", "5月14日"),
        ("她下个月二十号来", "June 20, 2026"),
        ("十一月二日", "2 November"),
        ("завтра", "14 мая"),
        ("3 марта", "3 March"),
        ("nothing of days", "as of 13 May 2026"),
    ],
)
def test_a_date_that_what_was_said_comes_to(said: str, written: str) -> None:
    assert not lacks(said, written)


@pytest.mark.parametrize(
    ("said", "written"),
    [
        ("tomorrow I fly", "on 15 May 2026"),
        ("tomorrow I fly", "on Friday"),
        ("next Friday", "23 May 2026"),
        ("on 14 May", "on 15 May"),
        ("on 14 May, and on 3 June", "on 3 May"),
        ("on 14 May", "14 May 2031"),
        ("on 14 May", "in August"),
        ("每周三", "每周四"),
        ("明天我飞", "5月16日"),
        ("十一月二日", "November 3"),
        ("завтра", "16 мая"),
        ("nothing of days", "on 12 May 2026"),
    ],
)
def test_another_date_was_not_said(said: str, written: str) -> None:
    assert lacks(said, written)


def test_where_the_day_is_not_known_nothing_comes_to_a_date() -> None:
    assert lacks("tomorrow I fly", "on 14 May 2026", None)
    assert not lacks("on 14 May", "14 May", None)
    assert dated([]) == Dated()


def test_a_month_that_is_another_word_as_well_is_none() -> None:
    assert not lacks("nothing", "They may march to the market")
