"""What a request weighs with every built-in plugin, and that whatever it names is there; on a real daemon."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.kit.house import PACKAGED, House, Plan, house

MOST = 16 * 1024


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    with house(tmp_path_factory.mktemp("size") / "data", Plan(only=PACKAGED, vectors=False)) as built:
        yield built


def weight(body: Any) -> int:
    return len(json.dumps(body, ensure_ascii=False).encode())


def names(body: Any) -> list[str]:
    return [tool["function"]["name"] for tool in body["tools"]]


def catalogue(body: Any) -> dict[str, list[str]]:
    """Group → its tools, as the system prompt has them."""
    lines = str(body["messages"][0]["content"]).partition("What is installed")[2].splitlines()
    said = [line[2:] for line in lines if line.startswith("- ")]
    return {line.split(maxsplit=1)[0].rstrip(":"): line.rpartition(": ")[2].split(", ") for line in said}


@pytest.mark.parametrize("text", ["hi", "你好"])
def test_hi_is_at_most_sixteen_kilobytes(home: House, text: str) -> None:
    before = len(home.fake.chats)
    home.chat(text)
    body = home.fake.chats[before].body
    assert weight(body) <= MOST
    assert {"get_plugin_tools", "memory_recall", "coldcontext_query", "files_read", "cmd_run"} <= set(names(body))
    groups = catalogue(body)
    assert {"files", "timer", "skills", "pluginmgr", "seq", "settings", "shell"} <= groups.keys(), "of every plugin"
    assert {"memory", "people", "agents", "changes"} <= groups.keys(), "and of the kernel's own"
    assert all(named for tools in groups.values() for named in tools)


def test_whatever_the_catalogue_names_can_be_asked_for_and_called(home: House) -> None:
    """E31.  Each is called with an argument that none has: what comes back is a refusal of the tool's own schema."""
    before = len(home.fake.chats)
    home.chat("hi")
    named = sorted({name for tools in catalogue(home.fake.chats[before].body).values() for name in tools})
    assert len(named) > 50
    half = len(named) // 2
    for part in (named[:half], named[half:]):
        wanted = [{"name": name, "args": {"not_there": 1}} for name in part]
        home.fake.when(f"call {part[0]}", {"calls": wanted}, {"say": "done"})
        home.chat(f"call {part[0]}")
        said = [m["content"] for m in home.fake.chats[-1].body["messages"] if m["role"] == "tool"][-len(part) :]
        assert len(said) == len(part)
        wrong = [text for text in said if '"unknown_tool"' in text or '"reason"' not in text]
        assert wrong == []


def test_each_group_is_offered_once_it_was_asked_for_and_used_there(home: House) -> None:
    before = len(home.fake.chats)
    home.fake.when("提醒", {"calls": [{"name": "get_plugin_tools", "args": {"plugin": "timer"}}]},
                   {"calls": [{"name": "timer_list", "args": {}}]}, {"say": "没有提醒。"})  # fmt: skip
    thread = home.chat("我有什么提醒？")["thread"]
    first, second, third = (record.body for record in home.fake.chats[before:])
    assert "timer_list" not in names(first)
    assert {"timer_list", "timer_set", "timer_cancel"} <= set(names(second))
    assert names(second)[: len(names(first))] == names(first), "what is new stands at the end"
    assert names(third) == names(second)
    home.daemon.end()
    home.start()
    home.chat("再说一遍", thread=thread)
    assert names(home.fake.chats[-1].body)[: len(names(first))] == names(first)
    assert {"timer_list", "timer_set", "timer_cancel"} <= set(names(home.fake.chats[-1].body))
