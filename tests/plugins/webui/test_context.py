"""Errors, fields and numbers as the routes take and give them."""

from __future__ import annotations

import pytest

from homed.errors import HomedError, InvalidInput, from_code
from plugins.webui.context import STATUS, text


def codes() -> set[str]:
    found, queue = set[str](), [HomedError]
    while queue:
        cls = queue.pop()
        found |= {cls.code} if cls.__module__ == "homed.errors" else set()
        queue.extend(cls.__subclasses__())
    return found


def test_every_error_code_of_ours_has_a_status_but_the_unforeseen() -> None:
    assert codes() - STATUS.keys() <= {"internal", "protocol"}
    assert all(isinstance(from_code(code, ""), HomedError) for code in STATUS)


def test_a_field_is_a_string_of_bounded_length() -> None:
    assert text({"a": " x "}, "a") == " x "
    assert text({}, "a", required=False) == ""
    for wrong in ({}, {"a": " "}, {"a": 5}, {"a": "x" * 11}):
        with pytest.raises(InvalidInput, match="'a'"):
            text(wrong, "a", limit=10)
