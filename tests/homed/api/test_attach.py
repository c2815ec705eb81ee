"""`core.attach`: for the call whose token it brings, in base64 or as bytes."""

from __future__ import annotations

import pytest

from homed.agent.uploads import PIECE, Piece
from homed.errors import InvalidInput
from tests.homed.api.fakes import FakeCaller, House
from tests.kit.builders import OWNER


async def attach(house: House, **params: object) -> object:
    lent = house.tokens.lent("webui", OWNER, turn="turn_1", thread="thr_1", channel="webui", within="within_1")
    with lent as token:
        return await house.api.dispatch(FakeCaller(), "core.attach", {"call": token, **params})


@pytest.mark.parametrize("data", ["aGk=", b"hi"])
async def test_a_piece_goes_to_the_call_that_the_token_is_of(house: House, data: object) -> None:
    answer = await attach(house, data=data, name="p.png", media_type="image/png", caption="c", offset=0, last=True)
    assert answer == {"file": "blk_1", "bytes": 2}
    piece = Piece(data=b"hi", name="p.png", media_type="image/png", caption="c", offset=0, last=True)
    assert house.uploads.calls == [("of_call", "turn_1", "within_1", piece)]


@pytest.mark.parametrize("data", ["aGk", "aG k=", "你好", b"x" * (PIECE + 1), "A" * (4 * -(-PIECE // 3) + 4), 7, None])
async def test_what_is_no_piece_is_refused_in_words(house: House, data: object) -> None:
    with pytest.raises(InvalidInput, match=r"core\.attach"):
        await attach(house, data=data)
    assert house.uploads.calls == []


async def test_without_the_token_of_a_call_there_is_none(house: House) -> None:
    with pytest.raises(InvalidInput, match="call is missing"):
        await house.api.dispatch(FakeCaller(), "core.attach", {"data": "aGk=", "peer": "webui:owner"})
