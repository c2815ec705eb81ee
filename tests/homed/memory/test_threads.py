"""Threads: created, listed by who may see them, renamed."""

from __future__ import annotations

import pytest

from homed.errors import NotFound
from homed.memory import events, inputs, threads
from homed.memory.records import EventKind, NewEvent, Thread
from homed.store.rows import Tx
from tests.homed.memory.build import new_input


def make(tx: Tx, title: str, *, scope: str = "owner", at: float = 1.0) -> Thread:
    return threads.create(tx, scope=scope, channel="web", title=title, at=at)


def titles(found: tuple[list[Thread], bool]) -> list[str]:
    return [thread.title for thread in found[0]]


def test_a_thread_comes_back_as_it_was_made(tx: Tx) -> None:
    made = make(tx, "计划")
    assert threads.get(tx, made.id) == made
    assert threads.get(tx, "th_x") is None


def test_only_the_scopes_asked_for_are_listed(tx: Tx) -> None:
    for scope in ("owner", "guest:a", "group:x:1"):
        make(tx, scope, scope=scope)
    assert titles(threads.list_(tx, ["owner"])) == ["owner"]
    assert set(titles(threads.list_(tx, {"owner", "guest:a"}))) == {"owner", "guest:a"}
    assert threads.list_(tx, []) == ([], False)


def test_last_used_first_a_page_at_a_time(tx: Tx) -> None:
    for n in range(5):
        make(tx, str(n), at=float(n))
    page, more = threads.list_(tx, ["owner"], limit=2)
    assert (titles((page, more)), more) == (["4", "3"], True)
    page, more = threads.list_(tx, ["owner"], limit=3, before=page[-1].updated_at)
    assert (titles((page, more)), more) == (["2", "1", "0"], False)


@pytest.mark.parametrize(
    ("query", "found"), [("TRIP", ["Trip to 北京"]), ("北京", ["Trip to 北京"]), ("%", []), ("", ["Trip to 北京", "b"])]
)
def test_titles_are_searched_literally(tx: Tx, query: str, found: list[str]) -> None:
    make(tx, "Trip to 北京", at=2.0)
    make(tx, "b")
    assert titles(threads.list_(tx, ["owner"], query)) == found


def test_what_was_said_is_searched_within_the_scopes_only(tx: Tx) -> None:
    for scope in ("owner", "guest:a"):
        thread = make(tx, scope, scope=scope)
        accepted, _ = inputs.accept(tx, new_input(thread), at=1.0)
        events.append(tx, accepted, NewEvent(EventKind.USER, "where is the umbrella?"), at=1.0)
    assert titles(threads.list_(tx, ["guest:a"], "Umbrella")) == ["guest:a"]


def test_renaming_and_touching_need_the_thread(tx: Tx, thread: Thread) -> None:
    threads.rename(tx, thread.id, "new")
    threads.touch(tx, thread.id, at=9.0)
    threads.touch(tx, thread.id, at=3.0)  # a clock set back
    found = threads.get(tx, thread.id)
    assert found is not None
    assert (found.title, found.updated_at) == ("new", 9.0)
    with pytest.raises(NotFound):
        threads.rename(tx, "th_x", "new")
    with pytest.raises(NotFound):
        threads.touch(tx, "th_x", at=1.0)
