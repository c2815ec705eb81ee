"""A name was said, in some form and script; or it was made up."""

from __future__ import annotations

import pytest

from homed.memory.distil.names import Spoken, names
from homed.memory.distil.sounds import is_spelt, pinyin, sounds_like, spelt


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("The user lives in Bern with Eve Miller.", ["Bern", "Eve", "Miller"]),
        ("Bob asked for help.", ["Bob"]),
        ("Alice's cat is ill.", ["Alice"]),
        ("Dinner was planned on Monday in May.", []),
        ("The user wrote to the Federal Office as a PDF.", []),
        ("用户叫张伟。", ["张伟"]),
        ("用户和李娜一起吃饭", ["李娜"]),
        ("用户住在柏林", ["柏林"]),
        ("用户高兴地叫车去上班，周末想去爬山", []),
        ("Пользователь живет в Берлине.", ["Берлине"]),
    ],
)
def test_the_names_of_a_text(text: str, found: list[str]) -> None:
    assert names(text) == found


@pytest.mark.parametrize(
    ("said", "written"),
    [
        ("I live in bern", "in Bern"),
        ("I live in zürich", "in Zurich"),
        ("I am from Germany", "is German"),
        ("I use vscode", "uses VS Code"),
        ("from New York City", "from NYC"),
        ("from NYC", "from New York City"),
        ("我先生叫陈伟", "husband Chen Wei"),
        ("女儿叫小雨", "daughter Xiaoyu"),
        ("我住在柏林", "in Berlin"),
        ("他在苏黎世的谷歌", "at Google in Zurich"),
        ("同事维克多", "colleague Victor"),
        ("I live in Berlin", "用户住在柏林"),
        ("my sister Clara", "用户的姐姐叫克拉拉"),
        ("Меня зовут Миша", "called Misha"),
        ("живу в Москве", "in Moscow"),
        ("我们说中文", "answers in Chinese"),
    ],
)
def test_a_name_in_another_form_or_script(said: str, written: str) -> None:
    assert Spoken([said]).missing(f"The user {written}.") == []


@pytest.mark.parametrize(
    ("said", "written", "lacking"),
    [
        ("I live in Bern", "lives in Basel", ["Basel"]),
        ("my friend Paul", "knows Paula", ["Paula"]),
        ("I ate a banana", "knows Anna", ["Anna"]),
        ("我先生叫陈伟", "husband Li Ming", ["Li", "Ming"]),
        ("我住在柏林", "lives in Paris", ["Paris"]),
        ("I live in Berlin", "用户住在巴黎", ["巴黎"]),
        ("It rains in Lisbon", "和李娜去玩", ["李娜"]),
        ("Меня зовут Миша", "called Boris", ["Boris"]),
    ],
)
def test_another_name_was_not_said(said: str, written: str, lacking: list[str]) -> None:
    assert Spoken([said]).missing(f"The user {written}.") == lacking


def test_names_that_were_known_may_be_used() -> None:
    assert Spoken(["my sister comes"], ["The user's sister is called Clara."]).missing("The sister Clara comes.") == []


def test_how_a_name_sounds() -> None:
    assert [pinyin(one) for one in "中陈雨沈吕A,龘"] == ["zhong", "chen", "yu", "shen", "lu", "", "", ""]
    assert is_spelt("Xiaoyu", spelt("叫小雨了"))
    assert not is_spelt("Xiaoyun", spelt("叫小雨了"))
    assert sounds_like("Hermes", "牌子是赫姆斯")
    assert not sounds_like("Basel", "我搬到伯尔尼了")
    assert not sounds_like("Berlin", "我们在家里经常说中文，所以你也可以用中文回答我。")
