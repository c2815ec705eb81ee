"""What a program is told of a message that was not answered: the status that its kind of cause has elsewhere."""

from __future__ import annotations

from typing import Any

import pytest

from plugins.webui.v1_shape import MOST_WAIT, error, failure


@pytest.mark.parametrize(
    ("cause", "status", "code", "wait"),
    [
        ({"kind": "transient", "status": 429, "retry_after": 2.3}, 429, "upstream", 3),
        ({"kind": "transient", "status": 429}, 429, "upstream", 0),
        ({"kind": "transient", "status": 529, "retry_after": 1e12}, 503, "upstream", MOST_WAIT),
        ({"kind": "transient", "status": 0}, 503, "upstream", 0),
        ({"kind": "transient", "status": 500, "retry_after": 5}, 502, "upstream", 0),
        ({"kind": "bad_request", "status": 422}, 400, "upstream_bad_request", 0),
        ({"kind": "context_full", "status": 400}, 400, "context_length_exceeded", 0),
        ({"kind": "overfull"}, 400, "context_length_exceeded", 0),
        ({"kind": "refused", "status": 400}, 400, "content_policy_violation", 0),
        ({"kind": "credential", "status": 401}, 502, "upstream_credential", 0),
        ({"kind": "spend"}, 429, "insufficient_quota", 0),
        ({"kind": "no_call"}, 502, "no_call", 0),
        ({"kind": "unavailable"}, 503, "turn_failed", 0),
        ({}, 503, "turn_failed", 0),
        ({"kind": 7, "status": "x", "retry_after": float("nan")}, 503, "turn_failed", 0),
        (None, 503, "turn_failed", 0),
    ],
)
def test_each_cause_has_its_status(cause: Any, status: int, code: str, wait: int) -> None:
    found = failure({"state": "failed", "error": "It did not.", "hint": "Ask again.", "cause": cause})
    assert (found.status, found.code, found.retry_after) == (status, code, wait)
    assert (found.message, found.hint) == ("It did not.", "Ask again.")


@pytest.mark.parametrize(
    ("status", "code", "kind", "said"),
    [
        (429, "insufficient_quota", "insufficient_quota", "insufficient_quota"),
        (429, "upstream", "rate_limit_error", "rate_limit_exceeded"),
        (502, "upstream", "server_error", "upstream"),
        (401, "unauthorized", "authentication_error", "invalid_api_key"),
    ],
)
def test_type_and_code_are_those_that_clients_know(status: int, code: str, kind: str, said: str) -> None:
    assert error(status, code, "x")["error"] == {"message": "x", "type": kind, "param": None, "code": said}
