"""What a script is given of a request, and what of its answer goes out."""

from __future__ import annotations

import json
from typing import Any

import pytest

from homed.providers.base import Assistant, Audio, ChatRequest, Image, Opaque, Source, ToolCall, User
from homed.providers.lua import request as requests
from homed.providers.lua.request import Wrong
from homed.providers.shaping import said_by

SOURCE = Source("test", "https://api.example.com/v1", "m", adapter="lua:mine", options={"headers": {"X": "s"}, "a": 1})


def told(*messages: Any) -> Any:
    return json.loads(requests.given(SOURCE, ChatRequest(messages), has_key=True).request)["messages"]


def out(**answer: object) -> requests.Outgoing:
    return requests.outgoing(SOURCE, {"url": "https://api.example.com/v1/x", "body": "{}", **answer}, {})


def test_a_source_is_told_without_key_and_own_headers() -> None:
    about = json.loads(requests.given(SOURCE, ChatRequest(()), has_key=True).source)
    assert (about["has_key"], about["options"], about["model"]) == (True, {"a": 1}, "m")


def test_pictures_go_round_the_script() -> None:
    asked = ChatRequest(
        (User("hi", (Image("image/png", b"one"), Image("image/png", b"two")), (Audio("audio/wav", b"w"),)),)
    )
    given = requests.given(SOURCE, asked, has_key=False)
    [message] = json.loads(given.request)["messages"]
    marks = [one["data"] for one in (*message["images"], *message["audio"])]
    assert "b25l" not in given.request
    sent = requests.outgoing(SOURCE, {"url": SOURCE.base_url, "body": json.dumps({"x": marks})}, given.media)
    assert json.loads(sent.body) == {"x": ["b25l", "dHdv", "dw=="]}


def test_a_picture_is_put_in_once() -> None:
    """A small body that names it ten thousand times would be larger than any memory."""
    mark = b"homed-media-0-"
    assert (
        requests.outgoing(SOURCE, {"url": SOURCE.base_url, "body": "a homed-media-0- b"}, {mark: b"x"}).body == b"a x b"
    )
    with pytest.raises(Wrong, match="more than once"):
        requests.outgoing(SOURCE, {"url": SOURCE.base_url, "body": "homed-media-0-" * 2}, {mark: b"x"})


def test_twelve_pictures_are_not_taken_for_each_other() -> None:
    pictures = tuple(Image("image/png", bytes([n])) for n in range(12))
    given = requests.given(SOURCE, ChatRequest((User("", pictures),)), has_key=False)
    body = json.dumps([one["data"] for one in json.loads(given.request)["messages"][0]["images"]])
    sent = requests.outgoing(SOURCE, {"url": SOURCE.base_url, "body": body}, given.media)
    assert len(set(json.loads(sent.body))) == 12


def test_what_a_source_wants_back_is_told_to_its_own_alone() -> None:
    opaque = Opaque("anthropic", "[]")
    mine, other = Assistant("a", opaque=opaque, origin=said_by(SOURCE)), Assistant("a", opaque=opaque, origin="else/m")
    found = told(mine, other)
    assert [("opaque" in one, one["own"]) for one in found] == [(True, True), (False, False)]


def test_arguments_that_could_not_be_read_are_an_empty_object() -> None:
    assert told(Assistant("", (ToolCall("c", "look", None, '{"a'),)))[0]["calls"] == [
        {"id": "c", "name": "look", "arguments": {}}
    ]


@pytest.mark.parametrize(
    "url",
    [
        "https://evil.example.com/v1", "http://api.example.com/v1", "https://api.example.com:444/", "file:///etc/passwd",
        "https://api.example.com@evil.com/", "https://user:pw@api.example.com/", "https://api.example.com/?k={api_key}",
        "https://[::1", "", None, 7, "//api.example.com/x",
    ],
)  # fmt: skip
def test_a_request_goes_to_the_server_of_the_source_alone(url: object) -> None:
    with pytest.raises(Wrong):
        out(url=url)


@pytest.mark.parametrize(
    "headers",
    [
        {"a b": "x"}, {"": "x"}, {"x": "a\r\nB: c"}, {"x": "ü"}, {"x": 7}, "x", {f"h{n}": "x" for n in range(65)},
        {"Host": "evil.example.com"}, {"content-length": "5"}, {"Transfer-Encoding": "chunked"}, {"Upgrade": "h2c"},
    ],
)  # fmt: skip
def test_a_header_that_cannot_be_is_refused(headers: object) -> None:
    with pytest.raises(Wrong):
        out(headers=headers)


@pytest.mark.parametrize("answer", [{"body": ""}, {"body": None}, {"body": 7}, {"framing": "xml"}])
def test_an_answer_that_is_no_request_is_refused(answer: dict[str, object]) -> None:
    with pytest.raises(Wrong):
        out(**answer)


def test_the_persons_own_headers_are_put_in_over_the_scripts() -> None:
    assert out(headers={"X": "script", "Y": "y"}).headers == {"X": "s", "Y": "y"}


def test_the_key_goes_into_headers_and_without_one_they_are_left_out() -> None:
    said = {"Authorization": "Bearer {api_key}", "content-type": "text/plain"}
    with_key, without = requests.with_key(said, "K"), requests.with_key(said, "")
    assert with_key["Authorization"] == "Bearer K"
    assert "Authorization" not in without
    assert [name for name in with_key if name.lower() == "content-type"] == ["content-type"]


def test_half_a_pair_in_a_body_is_a_question_mark() -> None:
    assert out(body='{"a":"\ud83c"}').body == b'{"a":"?"}'
