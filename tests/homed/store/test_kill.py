"""C8, E9: kill -9 at every failpoint of a turn, again and again, on the real store and the real memory functions.

Also while events are indexed, sink, are looked at in the cold layer and come back.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

import apsw
import pytest

from tests.kit.memory_check import faults
from tests.kit.store_child import REACHED

REPOSITORY = Path(__file__).parents[3]


@dataclass
class Told:
    """What the children said to the outside before they died."""

    accepted: dict[str, str] = field(default_factory=dict)
    finished: list[str] = field(default_factory=list)
    sent: list[str] = field(default_factory=list)
    events: set[str] = field(default_factory=set)

    def hear(self, line: str) -> None:
        verb, *rest = line.split()
        if verb == "accepted":
            message, input_id = rest
            assert self.accepted.setdefault(message, input_id) == input_id, "one message became two inputs"
        elif verb == "finished":
            self.finished.append(rest[0])
        else:
            self.sent.append(rest[0])


class Children:
    """The fork server of ``tests.kit.store_child``."""

    def __init__(self, ask: IO[str], answers: IO[str]) -> None:
        self._ask = ask
        self._answers = answers
        self.told = Told()

    def round(self, path: Path, failpoint: str, nth: int, messages: list[str]) -> int:
        """Run one child to its end and return its exit code (negative: the signal)."""
        self._ask.write(f"{path} {failpoint} {nth} {','.join(messages)}\n")
        self._ask.flush()
        for line in self._answers:
            if line.startswith("end "):
                return int(line.split()[1])
            self.told.hear(line)
        raise AssertionError("the fork server died")


@contextmanager
def children() -> Iterator[Children]:
    with subprocess.Popen(
        [sys.executable, "-m", "tests.kit.store_child"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=REPOSITORY,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        yield Children(server.stdin, server.stdout)
        server.stdin.close()
    assert server.returncode == 0


def check(path: Path, told: Told) -> None:
    """What must be true of the file after any kill."""
    db = apsw.Connection(str(path))
    assert db.execute("PRAGMA integrity_check").get == "ok"
    assert db.execute("PRAGMA foreign_key_check").get is None
    stored = dict(db.execute("SELECT client_msg_id, id FROM inputs"))
    lost = {message for message, input_id in told.accepted.items() if stored.get(message) != input_id}
    assert not lost, f"accepted and lost: {lost}"
    ended = {row[0] for row in db.execute("SELECT id FROM inputs WHERE outcome IS NOT NULL")}
    assert set(told.finished) <= ended, "reported as finished, and is not"
    assert len(told.finished) == len(set(told.finished)), "finished twice"
    assert len(told.sent) == len(set(told.sent)), "delivered twice"
    assert set(told.sent) <= ended, "delivered before it was stored"
    answers = db.execute(
        "SELECT i.id, i.outcome IS NOT NULL, count(e.id) FROM inputs i LEFT JOIN events e"
        " ON e.turn = i.turn AND i.turn <> '' AND json_extract(e.data, '$.final') = 1 GROUP BY i.id"
    )
    assert all(finals == done for _, done, finals in answers), "not exactly one answer for each end"
    assert faults(db) == []
    db.execute("INSERT INTO word_index (word_index) VALUES ('integrity-check')")
    stored_events = {str(row[0]) for row in db.execute("SELECT id FROM events")}
    assert told.events <= stored_events, "an event that was stored is gone"
    told.events = stored_events
    db.close()


def check_complete(path: Path, messages: list[str]) -> None:
    """After a last undisturbed run everything has ended, in whole turns: no open call, no user,user,user."""
    db = apsw.Connection(str(path))
    assert db.execute("SELECT count(*) FROM inputs WHERE outcome IS NULL").get == 0
    assert {row[0] for row in db.execute("SELECT client_msg_id FROM inputs")} == set(messages)
    for (turn,) in db.execute("SELECT turn FROM inputs"):
        kinds = [row[0] for row in db.execute("SELECT kind FROM events WHERE turn = ? ORDER BY seq", (turn,))]
        assert kinds == ["user", "assistant", "tool", "tool", "assistant"]
    assert db.execute("SELECT count(*) FROM events WHERE layer = 'cold'").get > 0, "nothing sank"
    assert db.execute("SELECT count(*) FROM events WHERE layer = 'archived'").get > 0, "nothing was private"
    assert db.execute("SELECT count(*) FROM ledger WHERE kind = 'confirm'").get > 0, "nothing came back"
    db.close()


@pytest.mark.kill
@pytest.mark.slow
def test_c8_no_accepted_input_is_lost_and_none_is_answered_twice_wherever_it_is_killed(
    tmp_path: Path, kill_rounds: int
) -> None:
    chance = random.Random(8)
    killed: dict[str, int] = dict.fromkeys(REACHED, 0)
    databases = max(10, kill_rounds // len(REACHED))
    with children() as run:
        for number in range(databases):
            path, run.told = tmp_path / f"{number}.db", Told()
            messages: list[str] = []
            for failpoint in chance.sample(REACHED, len(REACHED)):
                # The last message is sent again, as a client does that heard no answer.
                messages += [f"m{len(messages)}", f"m{len(messages) + 1}"]
                nth = chance.randint(1, 16) if failpoint.startswith("store.") else chance.randint(1, 2)
                code = run.round(path, failpoint, nth, messages[-3:])
                killed[failpoint] += code == -signal.SIGKILL
                assert code in (0, -signal.SIGKILL)
                check(path, run.told)
            assert run.round(path, "none", 1, messages) == 0
            check(path, run.told)
            check_complete(path, messages)
    assert min(killed.values()) > 0, killed
    assert sum(killed.values()) > 0.8 * databases * len(REACHED), killed
