"""What a script read in an answer, as parts."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from homed.providers.answers import MAX_ANSWER, MAX_CALLS, MAX_OPAQUE
from homed.providers.base import CallDelta, ContentDelta, Done, Opaque, Part, ReasoningDelta, Usage, UsagePart
from homed.providers.failures import BrokenOff, Endless, Reported
from homed.providers.lua.parts import Reading
from homed.providers.lua.request import Wrong


def reading() -> Reading:
    return Reading("lua:mine", iter([f"minted{n}" for n in range(9)]).__next__)


def read(*lists: object) -> Sequence[Part]:
    mine = reading()
    return [part for one in lists for part in mine.take(one)]


DONE = {"type": "done", "reason": "stop"}


def test_usage_and_what_is_opaque_come_before_the_end_whenever_they_were_said() -> None:
    usage = {"type": "usage", "prompt": 5, "completion": 2, "cached": 3}
    opaque = {"type": "opaque", "data": {"z": 1, "a": None}}
    parts = read([usage, opaque, {"type": "content", "text": "a"}], [{"type": "reasoning", "text": "b"}, DONE])
    assert parts == [
        ContentDelta("a"), ReasoningDelta("b"), Opaque("lua:mine", '{"z":1,"a":null}'), UsagePart(Usage(5, 2, 3)),
        Done("stop"),
    ]  # fmt: skip


def test_opaque_data_may_be_text_and_may_name_a_wire() -> None:
    parts = read([{"type": "opaque", "wire": "anthropic", "data": '[{"t": 1}]'}, DONE])
    assert parts[0] == Opaque("anthropic", '[{"t":1}]')


@pytest.mark.parametrize(("wire", "kept"), [("\udc00a", "\ufffda"), ("\ud800", "lua:mine"), ("w" * 9000, "w" * 100)])
def test_the_name_of_a_wire_is_one_that_can_be_stored(wire: str, kept: str) -> None:
    assert read([{"type": "opaque", "wire": wire, "data": [1]}, DONE])[0] == Opaque(kept, "[1]")


def test_too_much_that_is_opaque_is_left_out() -> None:
    assert read([{"type": "opaque", "data": ["x" * MAX_OPAQUE]}, DONE]) == [Done("stop")]


def test_calls_get_ids_and_places_and_object_arguments_are_texts() -> None:
    call = {"type": "call", "name": "look", "arguments": {"a": "你"}}
    assert read([call, {**call, "id": "x"}, DONE]) == [
        CallDelta(0, "", "look", '{"a": "你"}'), CallDelta(1, "x", "look", '{"a": "你"}'), CallDelta(0, "minted0"),
        Done("stop"),
    ]  # fmt: skip


def test_halves_of_a_pair_are_joined() -> None:
    halves = [{"type": "content", "text": "\ud83c"}, {"type": "content", "text": "\udf0d"}]
    assert read(halves) == [ContentDelta("🌍")]


def test_nothing_counts_behind_the_end() -> None:
    assert read([DONE, {"type": "content", "text": "x"}]) == [Done("stop")]


@pytest.mark.parametrize("said", [None, 7, "x", {"type": "done"}, [7], [None], [{"type": "x"}], [{}]])
def test_what_is_no_part_is_refused(said: object) -> None:
    with pytest.raises(Wrong):
        read(said)


@pytest.mark.parametrize("value", [None, -1, "7", 1e300, True, {}])
def test_counts_that_cannot_be_are_none(value: object) -> None:
    assert read([{"type": "usage", "prompt": value}, DONE])[0] in (UsagePart(Usage()), UsagePart(Usage(1)))


def test_an_answer_without_end_has_one() -> None:
    with pytest.raises(Endless):
        read([{"type": "content", "text": "x" * (MAX_ANSWER + 1)}])
    with pytest.raises(Endless):
        read([{"type": "call", "name": "look", "arguments": "{}"}] * (MAX_CALLS + 1))


def test_an_error_of_the_source_is_told_as_such() -> None:
    with pytest.raises(Reported) as reported:
        read([{"type": "error", "message": "no"}])
    assert reported.value.body == {"error": {"message": "no"}}


def test_a_body_that_ends_without_its_end_was_broken_off() -> None:
    with pytest.raises(BrokenOff):
        list(reading().finish())
    assert list(reading().finish("stop")) == [Done("stop")]
