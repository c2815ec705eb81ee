"""When memory can say that it has no record."""

from __future__ import annotations

import pytest

from homed.retrieval.without import words_only
from homed.store.rows import Tx
from tests.homed.retrieval.conftest import Talks


@pytest.mark.parametrize(
    ("query", "missing"),
    [
        ("what runs on port 4379?", []),
        ("what runs on port 4324?", ["4324"]),
        ("is 10.0.0.7 the printer", []),
        ("is 10.0.0.8:9100 the printer", ["10.0.0.8:9100"]),
        ("did we move to 3.12.1?", ["3.12.1"]),
        ("where is /etc/nginx/other.conf", ["/etc/nginx/other.conf"]),
        ("订单A20240912到了吗", ["a20240912"]),
        ("what did we do in 2019?", []),
        ("were we there at 14:30, and/or in the U.S.A.?", []),
        ("it cost 12.50, or 30kg of it", []),
        ("the thing from last week", []),
        ("那个东西在哪", []),
        ("", []),
    ],
)
def test_only_an_exact_symbol_that_is_nowhere_is_missing(tx: Tx, say: Talks, query: str, missing: list[str]) -> None:
    """E27: a vague pointer may be in other words; it never counts as unknown."""
    say("the cache listens on port 4379, the printer is 10.0.0.7")
    say("port 4324 is somebody else's", scope="group")
    assert words_only().absent(tx, scope="owner", query=query) == missing
