"""What may be asked: checked to the letter, and never repeated in a refusal."""

from __future__ import annotations

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from homed.errors import InvalidInput
from plugins.webui import asked
from plugins.webui.asked import HistoryQuery, Login, NewKey, Say, Source, ThreadsQuery, read

SECRET = "sk-very-secret-0123456789"


@pytest.mark.parametrize(
    ("model", "given", "place"),
    [
        (Say, {"client_msg_id": "m"}, "text"),
        (Say, {"client_msg_id": "m", "text": " ", "attachments": []}, "text"),
        (Say, {"text": "x", "client_msg_id": "m", "peer": "cli:owner"}, "peer"),
        (Say, {"text": "x", "client_msg_id": "m", "attachments": ["a"] * 11}, "attachments"),
        (Say, {"text": "x", "client_msg_id": "m", "attachments": [1]}, "attachments"),
        (Login, {}, "secret"),
        (Login, {"secret": "a", "password": SECRET}, "secret"),
        (Login, {"password": [SECRET]}, "password"),
        (NewKey, {"name": "a/b", "scopes": ["chat"]}, "name"),
        (NewKey, {"name": "a", "scopes": []}, "scopes"),
        (NewKey, {"name": "a", "scopes": ["root"]}, "scopes"),
        (NewKey, {"name": "a\n", "scopes": ["chat"]}, "name"),
        (Source, {"name": "a", "api_key": SECRET}, "base_url"),
        (Source, {"name": "a", "base_url": "https://x"}, "model"),
        (Source, {"name": "a", "gguf": "relative.gguf"}, "gguf"),
        (HistoryQuery, {"thread": "t", "limit": "1e3"}, "limit"),
        (HistoryQuery, {"thread": "t", "limit": " 5"}, "limit"),
        (HistoryQuery, {"thread": "t", "limit": "501"}, "limit"),
        (HistoryQuery, {"thread": "t", "before": "9" * 5000}, "before"),
        (HistoryQuery, {"thread": "t", "before": "\u00b2"}, "before"),
        (ThreadsQuery, {"before": "nan"}, "before"),
    ],
)
def test_what_does_not_fit_is_refused_with_its_place_and_without_its_value(
    model: type[asked.Body], given: dict[str, object], place: str
) -> None:
    with pytest.raises(InvalidInput) as caught:
        read(model, given)
    assert place in caught.value.message
    assert SECRET not in str(caught.value)
    assert caught.value.__cause__ is None, "the validator's own words hold the value"


@pytest.mark.parametrize("value", [[], "x", 5, None])
def test_a_body_is_an_object(value: object) -> None:
    with pytest.raises(InvalidInput, match="JSON object"):
        read(Say, value)


def test_a_message_may_be_files_alone() -> None:
    assert read(Say, {"client_msg_id": "m", "attachments": ["blk_1"]}).text == ""


def test_a_query_takes_text_and_ignores_what_it_does_not_know() -> None:
    found = read(HistoryQuery, {"thread": "t", "limit": "007", "before": "12", "utm": "x"})
    assert (found.limit, found.before, found.view) == (7, 12, "")
    assert read(ThreadsQuery, {"before": "1.5"}).before == 1.5


def test_a_whole_number_may_be_written_with_a_point_as_in_json() -> None:
    source = {"name": "a", "gguf": "/m.gguf"}
    assert read(Source, {**source, "context_window": 4096.0}).context_window == 4096
    for wrong in (4096.5, True, "4096", 1023):
        with pytest.raises(InvalidInput, match="context_window"):
            read(Source, {**source, "context_window": wrong})


@given(
    st.dictionaries(
        st.sampled_from(["text", "client_msg_id", "thread", "attachments", "x"]),
        st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.lists(st.text(max_size=3), max_size=12),
        max_size=5,
    )
)
def test_the_model_and_its_schema_agree(body: dict[str, object]) -> None:
    valid = jsonschema.Draft202012Validator(Say.model_json_schema()).is_valid(body)
    try:
        read(Say, body)
        took = True
    except InvalidInput:
        took = False
    assert took == valid
