"""Entries of the table: sync and async handlers alike, parameters checked strictly."""

from __future__ import annotations

from typing import Any, cast

import pytest
import trio
import trio.testing

from homed.api.method import Params, PeerParams, parse, plain
from homed.errors import InvalidInput


class Count(Params):
    number: int


async def test_a_handler_may_wait_or_not_and_is_a_checkpoint_either_way() -> None:
    async def slow(call: Any) -> object:
        await trio.lowlevel.checkpoint()
        return "slow"

    for handler, answer in ((slow, "slow"), (lambda call: "quick", "quick")):
        with trio.testing.assert_checkpoints():
            assert await plain(Params, handler).handler(cast(Any, None)) == answer


def test_a_peer_may_be_given_by_its_id_alone() -> None:
    for peer in ("qq:1", {"id": "qq:1"}):
        parsed = parse("io.x", PeerParams, {"peer": peer})
        assert parsed.peer is not None
        assert (parsed.peer.id, parsed.peer.name) == ("qq:1", "")


def test_a_refusal_is_short_however_much_is_wrong() -> None:
    """It goes back in one line of the wire, and into logs."""
    for params in ({f"k{n}": 1 for n in range(5000)}, {"k" * 900_000: 1}):
        with pytest.raises(InvalidInput) as refused:
            parse("x.y", Count, params)
        assert len(refused.value.message) < 20 * 600
        assert "number: " in refused.value.message or "more" in refused.value.message
    assert len(cast(Any, refused.value.detail["faults"])) <= 17


@pytest.mark.parametrize("number", ["5", 5.5, True, None])
def test_numbers_are_numbers(number: object) -> None:
    with pytest.raises(InvalidInput, match=r"x\.y: number: "):
        parse("x.y", Count, {"number": number})
