"""Tool results as text: never empty, never cut without saying so."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from homed.agent.results import as_text, error_text, head_and_tail, is_refusal, refusal


@pytest.mark.parametrize(
    ("content", "text"), [("as it is", "as it is"), ({"a": [1, "é"]}, '{"a":[1,"é"]}'), (None, ""), (0, "0")]
)
def test_strings_stay_and_objects_become_compact_json(content: object, text: str) -> None:
    assert as_text(content) == text


@given(st.text(max_size=400), st.integers(20, 200))
def test_a_result_in_its_limit_is_whole_and_a_longer_one_says_how_to_read_on(text: str, limit: int) -> None:
    cut = head_and_tail(text, limit, "ev_1")
    if len(text.encode("utf-8", "surrogatepass")) <= limit:
        assert cut == text
    else:
        assert cut.startswith(text[:1])
        assert cut.endswith(text[-1:])
        assert 'result_read(id="ev_1"' in cut
        assert len(cut.encode()) < limit + 200


def test_the_offset_of_the_handle_is_where_the_head_ends() -> None:
    text = "好" * 1000
    cut = head_and_tail(text, 300, "ev_1")
    head = cut.split("\n[…")[0]
    assert f"offset={len(head)})" in cut


def test_an_error_without_a_message_is_not_empty() -> None:
    """A7"""
    assert error_text("shell", ValueError()) == "error: shell failed (ValueError) without a message"
    assert error_text("shell", ValueError("no")) == "error: no"


def test_a_refusal_is_told_from_an_error_and_from_what_a_tool_said() -> None:
    assert is_refusal(refusal("blocked", detail="why"))
    assert not is_refusal(error_text("chat", ValueError("no")))
    assert not is_refusal('{"field":"a"}')
