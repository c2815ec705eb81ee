"""Parts become what was said."""

from __future__ import annotations

import pytest

from homed.agent.model import Gatherer, decode
from homed.providers.base import CallDelta, ContentDelta, Done, Usage, UsagePart


def test_fragments_of_parallel_calls_never_mix() -> None:
    """E14: interleaved, and ordered by index whatever came first."""
    gatherer = Gatherer()
    for part in (
        CallDelta(1, "b", "second"), CallDelta(0, "a", "first"), CallDelta(1, arguments='{"x":'),
        CallDelta(0, arguments='{"y"'), CallDelta(1, arguments="2}"), CallDelta(0, arguments=":1}"), Done("tool_calls"),
    ):  # fmt: skip
        gatherer.take(part)
    said = gatherer.said()
    assert [(c.id, c.name, c.arguments) for c in said.calls] == [("a", "first", {"y": 1}), ("b", "second", {"x": 2})]


def test_missing_and_doubled_ids_are_made_up() -> None:
    gatherer = Gatherer()
    for part in (CallDelta(0, "a", "t"), CallDelta(1, "a", "t"), CallDelta(2, "", "t")):
        gatherer.take(part)
    ids = [call.id for call in gatherer.said().calls]
    assert ids[0] == "a"
    assert len(set(ids)) == 3
    assert all(ids)


def test_the_sources_own_usage_count_holds() -> None:
    gatherer = Gatherer()
    for part in (ContentDelta("a"), UsagePart(Usage(1, 1, 0)), UsagePart(Usage(10, 5, 3))):
        gatherer.take(part)
    assert gatherer.said().usage == Usage(10, 5, 3)


@pytest.mark.parametrize(
    ("raw", "arguments"),
    [("", {}), ("  ", {}), ("{}", {}), ('{"a": 1}', {"a": 1}), ('{"a":1', None), ("[1]", None), ("5", None)],
)
def test_arguments_are_an_object_or_undecodable(raw: str, arguments: dict[str, object] | None) -> None:
    """A15, E15"""
    assert decode(raw) == arguments


@pytest.mark.parametrize("raw", ['{"a": NaN}', '{"a": 1e999}', '{"a": "\\ud800"}', '{"a": ' + "[" * 100_000])
def test_what_no_wire_can_carry_is_undecodable(raw: str) -> None:
    """A notice with it ended every plugin that watched, and the thread's history could not be read any more."""
    assert decode(raw) is None
