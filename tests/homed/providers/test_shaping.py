"""Ids, names and histories in words: what the request builders share."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from homed.providers import pairing
from homed.providers.base import Assistant, Message, Opaque, Source, ToolCall, ToolResult, User
from homed.providers.shaping import (
    CallIds,
    as_bytes,
    call_ids,
    in_words,
    own_opaque,
    said_by,
    tool_name,
    used_tools,
)

SOURCE = Source("s", "http://x", "m")
IDS = st.text(min_size=0, max_size=60)


@given(st.lists(IDS, min_size=1, max_size=12), st.booleans())
def test_every_call_has_an_id_of_its_own_and_its_result_the_same(ids: list[str], nine: bool) -> None:
    made, again = CallIds(nine=nine), CallIds(nine=nine)
    pairs = [(made.called(id_), made.answered(id_)) for id_ in ids]
    assert all(called == answered for called, answered in pairs)
    assert len({called for called, _ in pairs}) == len(ids)
    assert [again.called(id_) for id_ in ids] == [called for called, _ in pairs]
    for called, _ in pairs:
        assert called.isascii()
        assert (len(called) == 9 and called.isalnum()) if nine else 1 <= len(called) <= 40


def test_names_are_as_servers_take_them() -> None:
    assert [tool_name(name) for name in ("look", "a b", "", "看", "x" * 100)] == [
        "look", "a_b", "unnamed", "_", "x" * 64,
    ]  # fmt: skip


def test_opaque_is_for_its_own_wire_and_source_alone() -> None:
    opaque = Opaque("w", "1")
    assert own_opaque(Assistant("", opaque=opaque), SOURCE, "w") is opaque
    assert own_opaque(Assistant("", opaque=opaque, origin=said_by(SOURCE)), SOURCE, "w") is opaque
    assert own_opaque(Assistant("", opaque=opaque, origin="other/m"), SOURCE, "w") is None
    assert own_opaque(Assistant("", opaque=opaque), SOURCE, "v") is None


def history(*rounds: int) -> list[Message]:
    messages: list[Message] = [User("hi")]
    for n, calls in enumerate(rounds):
        made = tuple(ToolCall(f"c{n}.{k}", "look", {"n": k}) for k in range(calls))
        messages.append(Assistant("text", made, "thought", Opaque("w", "1")))
        messages += [ToolResult(call.id, "look", f"result {call.id}", is_error=call.id.endswith("1")) for call in made]
    return messages


@given(st.lists(st.integers(0, 3), max_size=5), st.sets(st.integers(0, 5)))
def test_what_is_told_in_words_is_whole_and_the_rest_stays_paired_a2(rounds: list[int], chosen: set[int]) -> None:
    messages = history(*rounds)
    told = in_words(messages, lambda id_: int(id_[1:].split(".")[0]) in chosen)
    assert pairing.check(told) == []
    assert not {id_ for id_ in call_ids(told) if int(id_[1:].split(".")[0]) in chosen}
    words = "\n".join(message.text for message in told if not isinstance(message, ToolResult))
    for n, calls in enumerate(rounds):
        if n in chosen:
            assert all(f"result c{n}.{k}" in words for k in range(calls))
    if not any(n in chosen and calls for n, calls in enumerate(rounds)):
        assert list(told) == messages


def test_tools_of_a_history_are_named_once() -> None:
    assert used_tools(history(2, 1)) == ["look"]


def test_half_a_character_does_not_fail_the_turn() -> None:
    assert as_bytes({"a": "\ud83d"}) == b'{"a":"?"}'
