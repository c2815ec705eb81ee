"""What is looked for: sentences in every form, not what is too short to say anything."""

from __future__ import annotations

import json

import pytest

from homed.memory import needles
from homed.memory.needles import forms, of_texts


def test_sentences_of_both_languages() -> None:
    found = of_texts(["I moved to Lisbon last year. Yes! 我去年搬到了里斯本。好的。\nThe door code is 4711, ok?"])
    assert set(found.sentences) == {
        "I moved to Lisbon last year.", "我去年搬到了里斯本。", "The door code is 4711, ok?",
    }  # fmt: skip
    assert found.short == 0


def test_what_says_nothing_is_counted_not_looked_for() -> None:
    found = of_texts(["ok", "好的", "  ", "yes. no. ok."], names=["Bo", "Anna", "小明", "telegram:12"])
    assert set(found.sentences) == {"Anna", "小明", "telegram:12"}
    assert found.short == 3


@pytest.mark.parametrize(
    "text", ['She said "no\\way" to all of it', "她说“不行”，然后走了\t再见", "emoji 🐱 in a line"]
)
def test_each_form_in_which_a_file_may_have_it(text: str) -> None:
    files = [
        text.encode(), json.dumps({"a": f"x {text} y"}).encode(), json.dumps([text], ensure_ascii=False).encode(),
        text.encode("utf-16-le"), text.encode("utf-16"),
    ]  # fmt: skip
    for file in files:
        assert any(form in file for form in forms(text)), file
    assert len(forms("plain words only")) == 2


def test_of_very_many_the_longest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(needles, "MOST", 2)
    found = of_texts([f"a sentence of some length {'x' * n}" for n in range(5)])
    assert [len(one) for one in found.sentences] == [30, 29]
    assert found.left_out == 3
