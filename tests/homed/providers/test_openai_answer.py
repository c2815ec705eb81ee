from __future__ import annotations

import contextlib
import itertools
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from homed.providers.answers import MAX_ANSWER, MAX_CALLS
from homed.providers.base import CallDelta, ContentDelta, Done, Part, ReasoningDelta, Usage
from homed.providers.failures import BrokenOff, Endless, Reported, Unreadable
from homed.providers.openai_answer import AnswerDecoder, usage_of
from tests.homed.providers.kit import gathered
from tests.kit.openai_script import Call, Reply, events, json_body

REPLY = Reply(say="你好🌍 text", think="想", calls=(Call("look", {"at": "北"}), Call("shell", {"c": "ls"})), chunk=2)
LONG = "北" * 1000
REQUEST = {"model": "fake-1", "messages": [], "stream_options": {"include_usage": True}}


def decoded(*chunks: bytes) -> list[Part]:
    numbers = itertools.count()
    decoder = AnswerDecoder(lambda: f"call_minted_{next(numbers)}")
    parts = [part for chunk in chunks for part in decoder.feed(chunk)]
    return [*parts, *decoder.end()]


def said(*deltas: dict[str, object]) -> bytes:
    frames = [f"data: {json.dumps({'choices': [{'delta': delta}]})}\n\n" for delta in deltas]
    return "".join([*frames, "data: [DONE]\n\n"]).encode()


def call(**fields: object) -> dict[str, object]:
    function = {k: fields.pop(k) for k in ("name", "arguments") if k in fields}
    return {"tool_calls": [{**fields, "function": function}]}


@given(st.lists(st.integers(0, 6000), max_size=8), st.booleans(), st.booleans())
def test_the_answer_is_the_same_wherever_it_is_cut_and_in_both_forms_a24_e16(
    cuts: list[int], streamed: bool, crlf: bool
) -> None:
    reply = Reply(**{**{f: getattr(REPLY, f) for f in ("say", "think", "calls", "chunk")}, "crlf": crlf})
    whole = b"".join(events(reply, REQUEST, 1)) if streamed else json_body(reply, REQUEST, 1)
    places = sorted(min(cut, len(whole)) for cut in cuts)
    chunks = [whole[a:b] for a, b in zip([0, *places], [*places, len(whole)], strict=True)]
    answer = gathered(decoded(*chunks))
    assert (answer.text, answer.reasoning) == (REPLY.say, REPLY.think)
    assert answer.calls == [("look", '{"at": "北"}'), ("shell", '{"c": "ls"}')]
    assert answer.ids == ["call_1_0", "call_1_1"]
    assert answer.reason == "tool_calls"
    assert answer.usage.completion > 0


def test_fragments_are_told_apart_by_index_whatever_order_they_come_in_e14() -> None:
    answer = gathered(
        decoded(
            said(
                call(index=1, id="b", name="two", arguments='{"x"'),
                call(index=0, id="a", name="one", arguments='{"y"'),
                call(index=1, arguments=":2}"),
                call(index=0, arguments=":1}"),
            )
        )
    )
    assert answer.calls == [("one", '{"y":1}'), ("two", '{"x":2}')]
    assert answer.ids == ["a", "b"]


def test_without_indexes_a_new_name_begins_a_call_and_the_rest_belongs_to_the_last_e14() -> None:
    answer = gathered(
        decoded(
            said(
                call(id="a", name="one", arguments="{"),
                call(arguments="}"),
                call(name="two", arguments="{}"),
                call(id="a", arguments=" "),
            )
        )
    )
    assert answer.calls == [("one", "{} "), ("two", "{}")]
    assert answer.ids == ["a", "call_minted_0"]


def test_a_name_repeated_with_every_fragment_is_one_name() -> None:
    answer = gathered(
        decoded(
            said(
                call(index=0, id="a", name="one", arguments="{"),
                call(index=0, id="a", name="one", arguments="}"),
                call(index=0, name="one", arguments=" "),
            )
        )
    )
    assert answer.calls == [("one", "{} ")]


def test_an_id_that_comes_late_is_taken_and_none_is_minted() -> None:
    answer = gathered(decoded(said(call(index=0, name="one", arguments="{"), call(index=0, id="late", arguments="}"))))
    assert answer.ids == ["late"]


def test_reasoning_under_either_name_and_content_in_pieces_are_read() -> None:
    parts = decoded(
        said(
            {"reasoning": "r1"},
            {"reasoning_content": "r2"},
            {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "r3"}]}]},
            {"content": [{"type": "text", "text": "t"}]},
            {"content": None},
            {"content": ""},
            {"refusal": "no"},
        )
    )
    thoughts = [ReasoningDelta("r1"), ReasoningDelta("r2"), ReasoningDelta("r3")]
    assert parts == [*thoughts, ContentDelta("t"), ContentDelta("no"), Done("stop")]


def test_a_character_cut_in_halves_is_joined_and_a_half_alone_is_replaced() -> None:
    halves = ("\ud83d", "\ude00", "b\ud800", "c")
    deltas: list[dict[str, object]] = [{"content": half, "reasoning_content": half} for half in halves]
    parts = decoded(said(*deltas, *(call(index=0, id="a", name="t", arguments=half) for half in halves)))
    for kind in (ContentDelta, ReasoningDelta):
        assert "".join(p.text for p in parts if isinstance(p, kind)) == "😀b\N{REPLACEMENT CHARACTER}c"
    assert "".join(p.arguments for p in parts if isinstance(p, CallDelta)) == "😀b\N{REPLACEMENT CHARACTER}c"


def test_nothing_after_done_is_read() -> None:
    assert decoded(said({"content": "a"}) + said({"content": "b"})) == [ContentDelta("a"), Done("stop")]


def test_an_error_in_the_stream_comes_out_after_what_was_before_it() -> None:
    decoder = AnswerDecoder(lambda: "x")
    parts = decoder.feed(said({"content": "a"})[:-14] + b'data: {"error": {"message": "overloaded"}}\n\n')
    assert next(parts) == ContentDelta("a")
    with pytest.raises(Reported) as caught:
        next(parts)
    assert caught.value.body == {"error": {"message": "overloaded"}}


@pytest.mark.parametrize("body", [b"", b"data: ", b'data: {"cho', b": ping\n\n", b'data: {"choices": []}\n\n', b"   "])
def test_an_answer_that_ends_too_soon_is_broken_off(body: bytes) -> None:
    with pytest.raises(BrokenOff):
        decoded(body)


@pytest.mark.parametrize(
    "body",
    [b"<!doctype html>", b"{", b'{"a": 1', b"[1]", b'"text"\n\n', b"data: nonsense\n\n", b'data: [1]\n\n',
     b'{"a": "\xff"}', b"{" + b'"a":{' * 100_000],
)  # fmt: skip
def test_what_cannot_be_read_says_so(body: bytes) -> None:
    with pytest.raises((Unreadable, BrokenOff)):
        decoded(body)


@given(st.binary(max_size=200) | st.binary(max_size=200).map(lambda b: b"data: " + b + b"\n\n"))
def test_no_bytes_whatever_make_it_fail_in_another_way(body: bytes) -> None:
    with contextlib.suppress(Unreadable, BrokenOff, Reported):
        decoded(body)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(
        st.sampled_from(["choices", "delta", "message", "tool_calls", "function", "index", "id", "name", "arguments",
                         "content", "usage", "prompt_tokens", "error", "finish_reason", "type", "text"]),
        inner, max_size=4),
    max_leaves=20,
)  # fmt: skip


@given(st.lists(JSON, max_size=4))
def test_no_json_whatever_makes_it_fail_in_another_way(chunks: list[object]) -> None:
    body = b"".join(b"data: " + json.dumps(chunk).encode() + b"\n\n" for chunk in chunks)
    try:
        answer = gathered(decoded(body, b"data: [DONE]\n\n"))
    except (Unreadable, Reported):
        return
    assert all(answer.ids)
    assert len(set(answer.ids)) == len(answer.ids)


@pytest.mark.parametrize(
    ("usage", "wanted"),
    [
        ({"prompt_tokens": 10, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 8}}, Usage(10, 2, 8)),
        ({"prompt_tokens": 10, "completion_tokens": 2, "prompt_cache_hit_tokens": 8}, Usage(10, 2, 8)),
        ({"prompt_tokens": 2, "completion_tokens": 1, "prompt_cache_hit_tokens": 8}, Usage(10, 1, 8)),
        ({"prompt_tokens": "x", "completion_tokens": -1}, Usage()),
        ({"prompt_tokens": float("inf"), "prompt_tokens_details": None}, Usage()),
        ({}, Usage()),
    ],
)
def test_the_cached_share_is_part_of_the_prompt_and_counted_once_e47(usage: dict[str, object], wanted: Usage) -> None:
    assert usage_of(usage) == wanted


@pytest.mark.parametrize(
    "endless",
    [
        {"content": "北" * 1000},
        {"reasoning_content": "北" * 1000},
        call(index=0, id="a", name="w", arguments="北" * 1000),
    ],
    ids=["text", "reasoning", "arguments"],
)
def test_an_answer_that_never_ends_is_given_up_whatever_it_consists_of(endless: dict[str, object]) -> None:
    decoder = AnswerDecoder(lambda: "minted")
    frame = f"data: {json.dumps({'choices': [{'delta': endless}]})}\n\n".encode()
    answer = gathered([part for _ in range(MAX_ANSWER // 3001) for part in decoder.feed(frame)])
    told = answer.text + answer.reasoning + "".join(arguments for _, arguments in answer.calls)
    assert len(told.encode()) > MAX_ANSWER - 4000
    with pytest.raises(Endless, match=f"longer than {MAX_ANSWER} bytes"):
        list(decoder.feed(frame))


@pytest.mark.parametrize("indexed", [True, False])
def test_an_answer_may_not_make_calls_without_end(indexed: bool) -> None:
    made = [call(**({"index": n} if indexed else {}), id=f"c{n}", name="w", arguments="{}") for n in range(MAX_CALLS)]
    assert len(gathered(decoded(said(*made))).calls) == MAX_CALLS
    with pytest.raises(Endless, match=f"more than {MAX_CALLS} tool calls"):
        decoded(said(*made, call(id="more", name="w", arguments="{}", **({"index": MAX_CALLS} if indexed else {}))))
