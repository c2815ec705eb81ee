"""Sentences of homed in another language."""

from __future__ import annotations

from homed.sentences import LONGEST, Sentences, catalogue


def test_the_more_of_a_sentence_is_written_down_the_sooner_it_is_taken() -> None:
    heard = Sentences({"There is no {kind} {id}.": "{kind} {id}", "There is no job {id}.": "job", "x {y}": "{y}"})
    assert heard("There is no job 7.") == "job"
    assert heard("There is no rule 7.") == "rule 7"
    assert heard("x x z") == "z"
    heard = Sentences({"{path} cannot be read: {why}.": "no {path}", "{file} is no package: {why}": "bad {file}"})
    assert heard("a.hmap is no package: /a.hmap cannot be read: why.") == "bad a.hmap"


def test_a_sentence_is_found_whole_and_what_is_filled_in_is_looked_up_too() -> None:
    said = Sentences({"It is off.": "已关闭。", "{name} says: {what}": "{name} 说：{what}", "on and on {x}": "{x}"})
    assert said("It is off.") == "已关闭。"
    assert said("timer says: It is off.") == "timer 说：已关闭。"
    assert said("It is off, mostly.") == "It is off, mostly."
    assert said("") == ""
    assert said("{name} was not asked: \\1.") == "{name} was not asked: \\1."
    long = "on and on " + "x" * LONGEST
    assert said(long) == long


def test_none_leave_it_as_it_is() -> None:
    assert Sentences({})("It is off.") == "It is off."
    assert catalogue("kernel", "en") == {}


def test_a_catalogue_is_read_once() -> None:
    assert catalogue("kernel", "zh") is catalogue("kernel", "zh")
    assert catalogue("kernel", "zh").keys() == {"categories", "plugins", "settings", "texts"}
