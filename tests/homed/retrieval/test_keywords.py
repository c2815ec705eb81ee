"""Chinese parted into words: when it is loaded, and what there is without it."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterable

import pytest
import trio
import trio.testing

from homed.retrieval import words
from homed.retrieval.keywords import Keywords, Parting, with_jieba

KNOWN = ("东北", "京剧团", "表演", "明天")


def cut(run: str) -> Iterable[str]:
    at = 0
    while at < len(run):
        word = next((one for one in KNOWN if run.startswith(one, at)), run[at])
        at += len(word)
        yield word


def small() -> Parting:
    return Parting(cut, lambda word: float(KNOWN.index(word)) if word in KNOWN else 1.0)


async def loaded(load: object = small) -> Keywords:
    made = Keywords(load)  # type: ignore[arg-type]
    made.meet("东北")
    await made.keep()
    return made


async def test_without_chinese_nothing_is_loaded() -> None:
    asked: list[str] = []
    made = Keywords(lambda: asked.append("loaded") or small())  # type: ignore[func-returns-value]
    async with trio.open_nursery() as nursery:
        nursery.start_soon(made.keep)
        for text in ("hello", "привет", "日本語の本です", "中", "", "x" * 5_000 + "东北"):
            assert made.borders(text) is None
            assert made.top(text, 5) == []
        await trio.testing.wait_all_tasks_blocked()
        assert not asked
        assert not made.loaded
        nursery.cancel_scope.cancel()


async def test_the_first_chinese_text_loads_it_and_is_not_held_up() -> None:
    may = threading.Event()

    def slow() -> Parting:
        may.wait()
        return small()

    made = Keywords(slow)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(made.keep)
        assert made.borders("东北京剧团") is None
        may.set()
    assert made.borders("东北京剧团") == frozenset({0, 2, 5})


async def test_met_on_another_thread() -> None:
    made = Keywords(small)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(made.keep)
        await trio.testing.wait_all_tasks_blocked()
        await trio.to_thread.run_sync(made.borders, "我在东北")
    assert made.loaded


def test_a_text_behind_the_end_wakes_nobody() -> None:
    made = Keywords(small)
    trio.run(lambda: _cancelled(made))
    assert made.borders("东北") is None
    assert made.top("东北", 3) == []


async def _cancelled(made: Keywords) -> None:
    with trio.move_on_after(0):
        await made.keep()


@pytest.mark.parametrize("error", [ImportError("no jieba"), OSError("no dictionary"), MemoryError(), ValueError("x")])
async def test_what_cannot_be_loaded_costs_keywords_only(error: Exception, caplog: pytest.LogCaptureFixture) -> None:
    def broken() -> Parting:
        raise error

    made = await loaded(broken)
    assert not made.loaded
    assert "found less well" in caplog.text
    assert made.borders("东北京剧团") is None
    assert made.top("东北京剧团", 3) == []


async def test_what_breaks_later_is_not_asked_again(caplog: pytest.LogCaptureFixture) -> None:
    asked = []

    def broken(run: str) -> Iterable[str]:
        asked.append(run)
        raise RuntimeError("broken")

    made = await loaded(lambda: Parting(broken, lambda _: 1.0))
    assert made.top("东北京剧团", 3) == []
    assert made.borders("东北京剧团") is None
    assert asked == ["东北京剧团"]
    assert "东北" not in caplog.text.partition("Traceback")[0]  # what people say is in no log


async def test_keywords_are_words_that_say_something_the_rarest_first() -> None:
    made = await loaded()
    assert made.top("我们明天在东北看京剧团表演，明天！", 3) == ["明天", "表演", "京剧团"]
    assert made.top("我们什么时候", 3) == []
    assert made.top("东北的 PostgreSQL 呢？", 5) == ["PostgreSQL", "东北"]


async def test_borders_of_mixed_text_are_those_of_its_words_and_everything_else() -> None:
    made = await loaded()
    text = "ab东北京剧团 c明天"
    assert made.borders(text) == frozenset(range(len(text) + 1)) - {3, 5, 6, 10}


async def test_terms_of_an_index_do_not_depend_on_it() -> None:
    before = words.tokens("东北京剧团明天表演")
    await loaded()
    assert words.tokens("东北京剧团明天表演") == before


def test_the_dictionary_in_use() -> None:
    made = with_jieba()
    assert list(made.cut("东北京剧团明天表演")) == ["东北", "京剧团", "明天", "表演"]
    assert made.rarity("京剧团") > made.rarity("明天") > made.rarity("的")
    assert "jieba" in sys.modules
