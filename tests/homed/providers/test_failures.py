from __future__ import annotations

import json

import pytest

from homed.providers import failures
from homed.providers.base import ErrorKind, Source
from homed.providers.failures import LONGEST_TEXT, Where, classify, words_of

WHERE = Where.of(Source("deep", "https://user:pass@api.deep.example:8443/v1?key=1", "m"), "plain-configured-key")


@pytest.mark.parametrize(
    ("status", "text", "kind"),
    [
        (401, "", ErrorKind.CREDENTIAL),
        (403, "", ErrorKind.CREDENTIAL),
        (402, "Insufficient Balance", ErrorKind.CREDENTIAL),
        (429, "You exceeded your current quota", ErrorKind.TRANSIENT),
        (429, '"code": "insufficient_quota"', ErrorKind.CREDENTIAL),
        (429, "tokens per minute: reduce the length of the messages", ErrorKind.TRANSIENT),
        (529, "overloaded", ErrorKind.TRANSIENT),
        (503, "", ErrorKind.TRANSIENT),
        (500, "", ErrorKind.TRANSIENT),
        (500, "error parsing tool call: raw='{'", ErrorKind.BAD_REQUEST),
        (500, "the request exceeds the available context size", ErrorKind.CONTEXT_FULL),
        (400, '"code": "context_length_exceeded"', ErrorKind.CONTEXT_FULL),
        (400, '"type": "exceed_context_size_error"', ErrorKind.CONTEXT_FULL),
        (413, "", ErrorKind.CONTEXT_FULL),
        (400, "prompt is too long: 210000 tokens > 200000 maximum", ErrorKind.CONTEXT_FULL),
        (400, '"code": "content_filter"', ErrorKind.REFUSED),
        (400, "Invalid 'tools'", ErrorKind.BAD_REQUEST),
        (404, "no such model", ErrorKind.BAD_REQUEST),
        (301, "", ErrorKind.BAD_REQUEST),
        (0, "server_error", ErrorKind.TRANSIENT),
        (0, "context_length_exceeded", ErrorKind.CONTEXT_FULL),
    ],
)
def test_tells_the_kinds_apart(status: int, text: str, kind: ErrorKind) -> None:
    assert classify(status, text) is kind


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"error": {"message": "m", "code": 3}}, "m"),
        ({"error": "m"}, "m"),
        ({"message": "m"}, "m"),
        ({"detail": "m"}, "m"),
        ([{"error": {"message": "m"}}], "m"),
        ({"error": {"status": 3}}, '{"error": {"status": 3}}'),
        ("m", "m"),
        (None, ""),
    ],
)
def test_finds_the_words_in_every_usual_shape(body: object, words: str) -> None:
    assert words_of(body) == words


def test_an_error_says_what_where_in_whose_words_and_what_to_do() -> None:
    body = json.dumps({"error": {"message": "slow\n  down"}}).encode()
    error = failures.from_response(WHERE, 429, body, retry_after=3.0)
    assert error.message == "deep (api.deep.example:8443) answered HTTP 429: slow down"
    assert (error.kind, error.status, error.retry_after) == (ErrorKind.TRANSIENT, 429, 3.0)
    assert error.hint


@pytest.mark.parametrize(
    ("status", "said", "hint"),
    [
        (401, "bad key", "API key"),
        (400, "API key not valid. Please pass a valid API key.", "API key"),
        (402, "", "no credit"),
        (400, "Your credit balance is too low", "no credit"),
        (403, "insufficient balance", "no credit"),
    ],
)
def test_a_wrong_key_and_an_empty_account_have_each_their_own_hint(status: int, said: str, hint: str) -> None:
    error = failures.from_response(WHERE, status, json.dumps({"error": {"message": said}}).encode())
    assert error.kind is ErrorKind.CREDENTIAL
    assert hint in error.hint


def test_no_secret_is_in_the_error_d6() -> None:
    key = "sk-proj-A1b2C3d4E5f6G7h8I9j0"
    body = f"bad {key} and plain-configured-key {'x' * 400} {key}".encode()
    error = failures.from_response(WHERE, 400, body)
    shown = f"{error} {error.detail} {error!r} {WHERE!r}"
    for secret in (key, key[:12], "plain-configured-key", "pass@", "key=1"):
        assert secret not in shown
    assert len(error.message) < LONGEST_TEXT + 80


def test_a_header_of_the_persons_own_is_as_secret_as_the_key() -> None:
    source = Source(
        "deep", "https://x", "m", options={"headers": {"X-Auth": "Basic plain-token-word", "X-Team": "blue"}}
    )
    assert Where.of(source).clean("no plain-token-word for blue") == "no [secret:configured] for blue"


def test_a_key_at_the_cut_is_not_shown_in_half_d6() -> None:
    text = "x" * (LONGEST_TEXT - 10) + " plain-configured-key"
    assert "plain" not in WHERE.clean(text)


@pytest.mark.parametrize("url", ["", "nonsense", "http://[", "http://h:99999/v1"])
def test_a_source_without_a_proper_address_still_has_a_name_in_errors(url: str) -> None:
    assert str(Where.of(Source("odd", url, "m"))).startswith("odd (")


def test_a_code_in_a_streamed_error_counts_as_its_status() -> None:
    error = failures.from_report(WHERE, {"error": {"message": "no", "code": 401}})
    assert (error.kind, error.status) == (ErrorKind.CREDENTIAL, 401)


@pytest.mark.parametrize(
    ("kind", "status", "ours"),
    [
        ("overloaded_error", 529, ErrorKind.TRANSIENT),
        ("rate_limit_error", 429, ErrorKind.TRANSIENT),
        ("authentication_error", 401, ErrorKind.CREDENTIAL),
        ("billing_error", 402, ErrorKind.CREDENTIAL),
        ("invalid_request_error", 400, ErrorKind.BAD_REQUEST),
        ("request_too_large", 413, ErrorKind.CONTEXT_FULL),
        ("refusal", 0, ErrorKind.REFUSED),
        ("unheard_of", 0, ErrorKind.TRANSIENT),
    ],
)
def test_the_name_of_a_streamed_error_counts_as_its_status(kind: str, status: int, ours: ErrorKind) -> None:
    error = failures.from_report(WHERE, {"type": "error", "error": {"type": kind, "message": "no"}})
    assert (error.kind, error.status) == (ours, status)


@pytest.mark.parametrize(
    ("status", "text", "kind"),
    [
        (400, "API key not valid. Please pass a valid API key.", ErrorKind.CREDENTIAL),
        (400, "exceeds the maximum number of tokens allowed (1048576)", ErrorKind.CONTEXT_FULL),
        (400, "exceed context limit: 190000 + 20000 > 200000", ErrorKind.CONTEXT_FULL),
        (400, "the input length exceeds the context length", ErrorKind.CONTEXT_FULL),
        (500, "this model is missing data required for image input", ErrorKind.BAD_REQUEST),
    ],
)
def test_the_words_of_other_wires(status: int, text: str, kind: ErrorKind) -> None:
    assert classify(status, text) is kind


def test_how_long_to_wait_may_stand_in_the_body() -> None:
    detail = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "7.5s"}
    body = json.dumps({"error": {"code": 429, "message": "slow", "details": [detail]}}).encode()
    assert failures.from_response(WHERE, 429, body).retry_after == 7.5
    assert failures.from_response(WHERE, 429, body, retry_after=2.0).retry_after == 2.0


def test_a_wait_without_end_in_the_body_is_none() -> None:
    """It is told with the outcome, and no page can read a number that is infinite."""
    body = b'{"error": {"message": "slow", "details": [{"retryDelay": "%bs"}]}}' % (b"9" * 400)
    assert failures.from_response(WHERE, 429, body).retry_after is None


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (30.0, "Try again in a moment"), (30.2, "for 31 seconds:"), (90.0, "for 90 seconds:"), (91, "for 2 minutes:"),
        (3600, "for 60 minutes:"), (7 * 3600, "for 7 hours:"), (999_999, "for 12 days:"),
        (1e300, "for more than a year"), (float("inf"), "for more than a year"), (None, "Try again in a moment"),
    ],
)  # fmt: skip
def test_a_person_hears_when_to_come_back_where_nobody_waits_for_that(seconds: float | None, said: str) -> None:
    error = failures.from_response(WHERE, 429, b"slow down", retry_after=seconds)
    assert said in error.hint
    assert "when" not in failures.from_response(WHERE, 401, b"no", retry_after=seconds).hint


def test_a_refusal_that_names_the_window_has_it() -> None:
    body = b'{"error": {"message": "This model\'s maximum context length is 8192 tokens."}}'
    assert failures.from_response(WHERE, 400, body).window == 8192
    assert failures.from_response(WHERE, 429, body).window == 0


@pytest.mark.parametrize(
    ("status", "said", "unparsed"),
    [
        (500, "error parsing tool call: raw='{\"a\":1', err=unexpected end of JSON input", True),
        (500, "Failed to parse tool call arguments as JSON", True),
        (500, "tool call could not be parsed", True),
        (429, "Too many requests: error parsing tool call", False),
        (401, "cannot parse the API key of this tool call", False),
        (500, "tool calls are sparse today", False),
        (503, "overloaded", False),
    ],
)
def test_a_call_that_the_server_itself_could_not_read_is_known_as_such_a15(
    status: int, said: str, unparsed: bool
) -> None:
    error = failures.from_response(Where("s", "h"), status, json.dumps({"error": said}).encode())
    assert error.unparsed is unparsed
    assert (error.kind is ErrorKind.BAD_REQUEST) is unparsed
