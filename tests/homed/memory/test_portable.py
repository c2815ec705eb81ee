"""A row as a line and back."""

from __future__ import annotations

import json

import pytest

from homed.memory.portable import BY_NAME, BadLine, line, values

ROW = (7, "fact_1", "ev_1", 0, 4, "said", "ab", 5.0, 2)


def test_a_line_holds_the_row() -> None:
    table = BY_NAME["evidence"]
    assert values(table, line(table, ROW)) == ROW


def test_an_export_of_before_a_column_is_taken_in() -> None:
    table = BY_NAME["evidence"]
    found = json.loads(line(table, ROW))
    del found["upto"]
    assert values(table, json.dumps(found)) == (*ROW[:-1], 0)
    del found["hash"]
    with pytest.raises(BadLine, match="without hash"):
        values(table, json.dumps(found))


def test_a_column_that_is_later_in_one_table_is_no_column_of_another() -> None:
    table = BY_NAME["members"]
    assert values(table, json.dumps({"capsule": "a", "record": "b"})) == ("a", "b")
