"""A channel's texts come back cleaned, or as they were, and always as many."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st

from homed.agent.cleaning import CALL_LIMIT, LONGEST, MOST_CHARACTERS, MOST_TEXTS, Cleaned, cleaned
from homed.errors import HomedError, PluginFailed, TimedOut, Unavailable
from homed.host.registry import CleanerEntry
from tests.kit.hosting import hosting

FOOTER = "\n-- sent from my lighthouse"


class Fake:
    """A host with one cleaner, which is a function; it is its own registry."""

    def __init__(self, answer: Callable[[list[str]], object], *, ready: bool = True) -> None:
        self._answer, self._ready = answer, ready
        self.asked: list[list[str]] = []
        self.registry = self

    def cleaner(self, channel: str) -> CleanerEntry | None:
        return CleanerEntry("mail", "mail", self._ready) if channel == "mail" else None

    async def call(self, plugin: str, method: str, params: Mapping[str, object], *, timeout: float) -> object:
        await trio.lowlevel.checkpoint()
        assert (plugin, method, params["cleaner"], timeout) == ("mail", "cleaner.invoke", "mail", CALL_LIMIT)
        texts: Any = params["texts"]
        self.asked.append(list(texts))
        answer = self._answer(texts)
        if isinstance(answer, HomedError):
            raise answer
        return answer


def stripping(texts: list[str]) -> object:
    return {"texts": [text.removesuffix(FOOTER) for text in texts]}


async def test_each_text_comes_back_in_its_place_without_the_noise() -> None:
    assert await cleaned(Fake(stripping), "mail", ["a" + FOOTER, "", "b"]) == Cleaned(("a", "", "b"))


async def test_a_channel_without_a_cleaner_is_left_alone_and_nobody_else_sees_its_texts() -> None:
    host = Fake(stripping)
    assert await cleaned(host, "webui", ["a" + FOOTER]) == Cleaned(("a" + FOOTER,))
    assert host.asked == []


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (TimedOut("mail took longer than 10 s."), "took longer"),
        (Unavailable("mail ended."), "ended"),
        (PluginFailed("mail: broken"), "broken"),
        ({"texts": ["a"]}, "it made 1 texts of 2"),
        ({"texts": ["a", "b", "c"]}, "it made 3 texts of 2"),
        ({"texts": ["a", 5]}, "not {texts: [text]}"),
        ({"texts": "ab"}, "not {texts: [text]}"),
        ({}, "not {texts: [text]}"),
        (None, "not {texts: [text]}"),
        ({"texts": ["a", "b" * 1000]}, "longer than it was"),
    ],
)
async def test_a_cleaner_that_fails_leaves_all_as_it_is_and_says_why(answer: object, why: str) -> None:
    done = await cleaned(Fake(lambda _: answer), "mail", ["one", "two"])
    assert done.texts == ("one", "two")
    assert why in done.failed


async def test_one_that_does_not_run_is_not_asked() -> None:
    host = Fake(stripping, ready=False)
    assert await cleaned(host, "mail", ["a" + FOOTER]) == Cleaned(("a" + FOOTER,), "mail is not running")
    assert host.asked == []


async def test_after_one_failure_it_is_not_asked_for_the_rest() -> None:
    host = Fake(lambda texts: stripping(texts) if len(host.asked) < 2 else PluginFailed("broken"))
    texts = [f"{n}{FOOTER}" for n in range(MOST_TEXTS * 4)]
    done = await cleaned(host, "mail", texts)
    assert len(host.asked) == 2
    assert done.texts == (*(str(n) for n in range(MOST_TEXTS)), *texts[MOST_TEXTS:])
    assert "broken" in done.failed


@given(sizes=st.lists(st.sampled_from([0, 1, 1000, LONGEST, LONGEST + 1]), max_size=150))
def test_no_call_carries_more_than_its_limit_and_no_text_is_lost(sizes: list[int]) -> None:
    host = Fake(lambda texts: {"texts": [text[1:] for text in texts]})
    texts = ["x" * size for size in sizes]
    done = trio.run(cleaned, host, "mail", texts)
    assert [len(text) for text in done.texts] == [s if s in (0, LONGEST + 1) else s - 1 for s in sizes]
    assert all(len(batch) <= MOST_TEXTS and sum(map(len, batch)) <= MOST_CHARACTERS for batch in host.asked)


PROGRAM = f"""
from homed import sdk

plugin = sdk.Plugin("mail")
plugin.input("mail")

@plugin.cleaner("mail")
def clean(texts):
    return [text.removesuffix({FOOTER!r}) for text in texts]

sdk.run(plugin)
"""


async def test_a_real_plugin_cleans_its_own_channel_also_what_takes_shared_memory(tmp_path: Path) -> None:
    folder = tmp_path / "data" / "plugins" / "mail"
    folder.mkdir(parents=True)
    (folder / "main.py").write_text(PROGRAM, "utf-8")
    about = {"name": "mail", "version": "1", "entry": "python main.py", "inputs": ["mail"], "cleaners": ["mail"]}
    (folder / "plugin.json").write_text(json.dumps(about), "utf-8")
    async with hosting(tmp_path) as host:
        await host.wait_ready("mail")
        long = ["y" * 60_000 + FOOTER, "x" * 60_000 + FOOTER]
        done = await cleaned(host, "mail", long)
        assert done == Cleaned(("y" * 60_000, "x" * 60_000))
