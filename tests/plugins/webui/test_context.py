"""Errors, fields and numbers as the routes take and give them."""

from __future__ import annotations

import pytest

from homed.errors import HomedError, InvalidInput, from_code
from plugins.webui.context import STATUS, Who, parsed


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
    assert codes() - {"too_many"} >= STATUS.keys() - {"too_many"}


@pytest.mark.parametrize(
    "data", [b"", b"{", b"\xff", b'{"a":NaN}', b'{"a":-Infinity}', b"[" * 200_000, b'{"n":' + b"9" * 5000]
)
def test_what_is_no_json_is_refused(data: bytes) -> None:
    with pytest.raises(InvalidInput, match="JSON object"):
        parsed(data)


def test_what_a_key_may_is_in_its_scopes_and_a_session_may_everything() -> None:
    session, key = (
        Who("webui:owner", "owner", "s"),
        Who("webui:owner", "owner", "", "hk_x", "phone", frozenset({"chat"})),
    )
    assert all(session.may(scope) for scope in ("any", "session", "chat", "memory", "admin"))
    assert [scope for scope in ("any", "session", "chat", "memory", "admin") if key.may(scope)] == ["any", "chat"]
    assert session.hears_daemon
    assert not key.hears_daemon
    assert (session.account, key.account) == ("webui:owner", "key:phone")
    assert "hk_x" not in repr(key)
