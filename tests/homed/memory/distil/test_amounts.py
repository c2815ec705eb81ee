"""A number is what was said, in whatever notation; or it was made up."""

from __future__ import annotations

import pytest

from homed.memory.distil.amounts import amounts, counted, plain


def lacking(said: str, text: str) -> bool:
    """Whether a number of the text was not said."""
    return bool(counted([said]).missing(text))


@pytest.mark.parametrize(
    ("said", "written"),
    [
        ("I bought 12 dozen eggs", "144 eggs"),
        ("a dozen eggs", "12 eggs"),
        ("the rent is 1.5k", "1500"),
        ("the rent is two thousand", "2000"),
        ("two thousand five hundred and six", "2,506"),
        ("one hundred and five", "105"),
        ("1.8 million francs", "1,800,000 francs"),
        ("half a million", "500,000"),
        ("200,000", "200000"),
        ("in nineteen eighty-four", "in 1984"),
        ("twenty-five", "25"),
        ("on the thirty-first", "31"),
        ("5'10\" tall", "178 cm"),
        ("5'10\" tall", "5 feet 10 inches"),
        ("5'10\" tall", "1.78 m"),
        ("two weeks", "14 days"),
        ("an hour and a half", "90 minutes"),
        ("half past three", "3:30"),
        ("a quarter to nine", "8:45"),
        ("at 7 pm", "19:00"),
        ("0848 640 640", "0848640640"),
        ("192.168.7.20", "192.168.7.20"),
        ("三只猫", "three cats"),
        ("three cats", "三只猫"),
        ("月租一千五", "1500"),
        ("三万五", "35000"),
        ("一万二千步", "12000 steps"),
        ("3万", "30,000"),
        ("1.5万", "15000"),
        ("两年半", "2.5 years"),
        ("一个半小时", "90分钟"),
        ("下午三点半", "15:30"),
        ("两三个人", "2 or 3 people"),
        ("二〇二四年", "2024"),
        ("百分之二十", "20%"),
        ("星期四", "Thursday"),
        ("две тысячи", "2000"),
        ("пятьсот рублей", "500 roubles"),
        ("no number at all", "one thing, first of all"),
    ],
)
def test_what_was_said_may_be_written_in_another_way(said: str, written: str) -> None:
    assert not lacking(said, written)


@pytest.mark.parametrize(
    ("said", "written"),
    [
        ("12 dozen eggs", "145 eggs"),
        ("月租一千五", "1005"),
        ("1.8 million", "8.1 million"),
        ("1.8 million", "1.8 billion"),
        ("200,000", "20000"),
        ("5'10\" tall", "187 cm"),
        ("0848 640 640", "0848 640 641"),
        ("192.168.7.20", "192.168.20.7"),
        ("三只猫", "四只猫"),
        ("seven hives", "eight hives"),
        ("half past three", "3:40"),
        ("two weeks", "15 days"),
        ("room 4.12", "room 4.21"),
    ],
)
def test_another_number_was_not_said(said: str, written: str) -> None:
    assert lacking(said, written)


def test_a_text_of_numbers_is_read_to_its_end() -> None:
    said = " ".join(f"word {at}" for at in range(3_000))
    assert not lacking(said, "2999")
    assert lacking(said, "3000")
    assert lacking("9" * 5_000, "7" * 5_000)
    assert not lacking("9" * 5_000, "9" * 5_000)


def test_chinese_numbers_stand_in_digits_and_words_that_only_hold_one_do_not() -> None:
    assert plain("三十五个人一起去四川") == "35个人一起去四川"
    assert [max(one.readings) for one in amounts("两千零八年")] == [2008]
