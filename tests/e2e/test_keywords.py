"""The dictionary of Chinese words, in the real daemon: loaded when Chinese is met, and never before."""

from __future__ import annotations

from pathlib import Path

from homed.retrieval.keywords import LOADED
from tests.kit.daemon import until
from tests.kit.house import Plan, house


def test_who_never_writes_chinese_never_loads_it(tmp_path: Path) -> None:
    with house(tmp_path / "data", Plan()) as home:
        log = home.data / "homed.log"
        home.chat("My cat is called Tangerine.")
        home.chat("Кошку зовут Мандарин. 日本語も少し。What is my cat called?")
        assert LOADED not in log.read_text()
        home.chat("我的猫叫橘子，住在上海。")
        until(lambda: LOADED in log.read_text(), what="the dictionary is there")
        assert home.chat("猫叫什么名字？")["state"] == "answered"
