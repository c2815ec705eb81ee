"""Nothing of a stopped turn reaches the person after the stop is acknowledged: two hundred times, on a real daemon."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from benchmarks.stopping import ANSWER, SLOW, Stopped, Stopper
from tests.kit.house import House, Plan, house

pytestmark = pytest.mark.slow
ROUNDS, SIDES = 200, 2
"""So many in all, on so many connections side by side: most of a round is waiting for the next piece of an answer."""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    with house(tmp_path_factory.mktemp("stop") / "data", Plan(vectors=False)) as built:
        built.fake.when(SLOW, ANSWER)
        yield built


def test_nothing_comes_after_the_stop_is_acknowledged_two_hundred_times(home: House) -> None:
    def side(seed: int) -> Stopped:
        with home.link() as link:
            return Stopper(link).rounds(ROUNDS // SIDES, seed=seed)

    with ThreadPoolExecutor(SIDES) as sides:
        found = list(sides.map(side, range(SIDES)))
    assert [late for one in found for late in one.late] == []
    stopped, acknowledged = sum(one.stopped for one in found), sum(len(one.acknowledged) for one in found)
    assert stopped == acknowledged == ROUNDS, "every one was stopped while it ran"
    assert sum(one.seen for one in found) > ROUNDS // 2, "there was an answer to be stopped"


def test_what_was_shown_is_what_is_kept_and_the_next_message_is_answered(home: House) -> None:
    with home.link() as link:
        Stopper(link).rounds(3, seed=5)
    thread = home.ask("threads")["threads"][0]["id"]
    assert home.says("hello", thread=thread) == "You said: hello"


def test_stopping_what_is_over_stops_nothing(home: House) -> None:
    answered = home.chat("hello")
    assert home.ask("stop", thread=answered["thread"])["stopped"] is False
