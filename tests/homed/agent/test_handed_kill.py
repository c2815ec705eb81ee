"""kill -9 while a tool gives a picture back: it is in the turn's history whole, or nothing of it is left anywhere.

The state is looked at with sqlite3 and the folder's own listing, without any of the code under test.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.homed.agent.test_attachments_kill import check_rows, files, rows
from tests.kit.given_child import PNG
from tests.kit.turn_child import Order, Zygote, zygote

MESSAGES = ("one", "two")
TIMES = {
    "upload.piece": (1, 2, 4), "upload.placed": (1, 2), "upload.stored": (1, 2), "turn.tool_done": (1, 2),
    "turn.result_stored": (1, 2), "turn.before_finish": (1, 2), "turn.finished": (1, 2),
    "store.before_commit": range(1, 19), "store.after_commit": range(1, 19),
}  # fmt: skip
SURE = 16
"""Commits that there are at least: on a busy machine some of the eighteen writes share one."""
KILLS = [(name, nth) for name, times in TIMES.items() for nth in times]


@pytest.fixture(scope="module")
def children() -> Iterator[Zygote]:
    with zygote("tests.kit.given_child") as ready:
        yield ready


@pytest.mark.kill
@pytest.mark.parametrize(("name", "nth"), KILLS)
def test_killed_anywhere_a_picture_is_the_results_or_nobodys(
    tmp_path: Path, children: Zygote, name: str, nth: int
) -> None:
    ended = children.run(Order(str(tmp_path), name, nth, MESSAGES))
    assert ended == Zygote.KILLED or (ended, nth > SURE) == (0, True)
    check_rows(tmp_path)
    assert children.run(Order(str(tmp_path), messages=MESSAGES)) == 0
    check_rows(tmp_path)
    check_end(tmp_path)


def check_end(folder: Path) -> None:
    """Every message answered; each result with its one picture, or interrupted and with none; nothing beside them."""
    states = rows(folder, "SELECT client_msg_id, state FROM inputs ORDER BY seq")
    assert states == [(text, "answered") for text in MESSAGES]
    results = rows(folder, "SELECT id, turn, data FROM events WHERE kind = 'tool' ORDER BY seq")
    assert len(results) == len(MESSAGES), "one result for each call"
    answers = rows(folder, "SELECT turn, text FROM events WHERE kind = 'assistant' AND text > ''")
    said = {str(turn): str(text) for turn, text in answers}
    kept = set()
    for id_, turn, data in results:
        blocks = rows(folder, f"SELECT hash, name, media_type, holder_layer FROM blocks WHERE event = '{id_}'")
        if json.loads(data)["status"] == "ok":
            ((hash_, name, kind, _),) = blocks
            assert (name, kind) == ("shot.png", "image/png")
            assert files(folder)[str(hash_)] == PNG + str(turn).encode()
            assert said[str(turn)] == f"I see {turn}"
            kept.add(str(hash_))
        else:
            assert (json.loads(data)["status"], blocks) == ("interrupted", [])
            assert said[str(turn)] == "I see nothing"
    assert files(folder).keys() == kept
    assert rows(folder, "SELECT count(*) FROM uploads") == rows(folder, "SELECT count(*) FROM loose_files") == [(0,)]
