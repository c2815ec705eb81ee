"""io.*: what a channel gets back, and as whom it asks."""

from __future__ import annotations

import base64

import pytest

from homed.agent.conversations import Message
from homed.agent.uploads import PIECE, Piece
from homed.api.io import BASE64
from homed.errors import InvalidInput
from homed.identity.roles import Identity, Role
from homed.wire.rpc import encode
from tests.homed.api.fakes import FakeCaller, House

PEER = "webui:owner"


async def test_inject_answers_at_once_with_no_outcome_yet(house: House) -> None:
    answer = await house.api.dispatch(FakeCaller(), "io.inject", {"peer": PEER, "text": "hi"})
    assert answer == {
        "input": "input_1", "thread": "thread_1", "state": "accepted", "outcome": None, "duplicate": False,
    }  # fmt: skip


async def test_inject_with_wait_answers_with_the_outcome(house: House) -> None:
    answer = await house.api.dispatch(FakeCaller(), "io.inject", {"peer": PEER, "text": "hi", "wait": True})
    assert answer == {
        "input": "input_1", "thread": "thread_1", "state": "answered", "duplicate": False,
        "outcome": {"state": "answered", "text": "done", "error": "", "hint": "", "usage": {"prompt": 3}, "ms": 0,
                    "cause": {}},
    }  # fmt: skip


async def test_a_repetition_is_told_to_be_one(house: House) -> None:
    house.conversations.duplicate = True
    answer = await house.api.dispatch(FakeCaller(), "io.inject", {"peer": PEER, "text": "hi", "client_msg_id": "1"})
    assert isinstance(answer, dict)
    assert answer["duplicate"] is True


async def test_inject_passes_on_everything_with_the_plugin_as_channel(house: House) -> None:
    params = {
        "peer": {"id": "qq:1", "name": "小明"}, "text": "你好 🌱", "thread": "t", "group": "77",
        "client_msg_id": "m1", "no_memory": True, "can_ask": True,
    }  # fmt: skip
    await house.api.dispatch(FakeCaller("qq"), "io.inject", params)
    ((_, who, message),) = house.conversations.calls
    assert who == Identity("qq:1", "qq", "小明", Role.GUEST, "group:qq:77")
    assert message == Message(
        text="你好 🌱", channel="qq", thread="t", client_msg_id="m1", no_memory=True, can_ask=True
    )


@pytest.mark.parametrize(
    ("method", "params", "call", "answer"),
    [
        ("io.stop", {"thread": "t", "turn": "turn_1"}, ("stop", "t", "turn_1"), {"stopped": True, "seq": 40}),
        ("io.threads", {"query": "x", "before": 5}, ("threads", "x", 50, 5), {"threads": [], "more": False}),
        ("io.history", {"thread": "t", "limit": 500}, ("history", "t", None, 500), {"events": []}),
        ("io.thread_rename", {"thread": "t", "title": "x"}, ("rename", "t", "x"), {}),
        ("io.thread_delete", {"thread": "t"}, ("delete", "t"), {"events": 2, "files": 1}),
        ("io.event", {"event": "e", "offset": 5, "length": 9}, ("event", "e", 5, 9), {"text": "verbatim"}),
        ("io.approvals", {}, ("approvals",), {"approvals": [{"approval": "approval_1"}]}),
        ("io.approve", {"approval": "a", "decision": "allow"}, ("approve", "a", True, "once"), {}),
        (
            "io.approve", {"approval": "a", "decision": "deny", "remember": "thread"},
            ("approve", "a", False, "thread"), {},
        ),
    ],
)  # fmt: skip
async def test_the_rest_goes_to_the_conversations_as_that_peer(
    house: House, method: str, params: dict[str, object], call: tuple[object, ...], answer: object
) -> None:
    assert await house.api.dispatch(FakeCaller(), method, {"peer": PEER, **params}) == answer
    ((name, who, *rest),) = house.conversations.calls
    assert (name, *rest) == call
    assert isinstance(who, Identity)
    assert (who.peer, who.role) == (PEER, Role.OWNER)


async def test_wait_answers_without_saying_duplicate(house: House) -> None:
    answer = await house.api.dispatch(FakeCaller(), "io.wait", {"peer": PEER, "input": "input_9"})
    assert isinstance(answer, dict)
    assert (answer["input"], answer["state"]) == ("input_9", "answered")
    assert "duplicate" not in answer


@pytest.mark.parametrize(
    "text", ["你好" * 450_000, '"\\' * 450_000, "\x01" * 200_000], ids=["chinese", "quotes", "control"]
)
async def test_an_answer_longer_than_a_line_comes_as_head_and_tail(house: House, text: str) -> None:
    house.conversations.says = text
    answer = await house.api.dispatch(FakeCaller(), "io.wait", {"peer": PEER, "input": "input_9"})
    assert isinstance(answer, dict)
    shown = answer["outcome"]["text"]
    assert len(encode({"jsonrpc": "2.0", "id": 1, "result": answer})) < 1024 * 1024
    assert (shown[:100], shown[-100:]) == (text[:100], text[-100:])


async def test_a_piece_of_a_file_is_passed_on_decoded(house: House) -> None:
    params = {"peer": PEER, "upload": "blk_1", "name": "a.txt", "media_type": "text/plain", "offset": 3, "last": True}
    data = base64.b64encode(b"caf\xe9 \x00").decode()
    assert await house.api.dispatch(FakeCaller(), "io.upload", {**params, "data": data}) == {
        "upload": "blk_1", "bytes": 6,
    }  # fmt: skip
    ((_, who, piece),) = house.uploads.calls
    assert getattr(who, "peer", "") == PEER
    assert piece == Piece(
        data=b"caf\xe9 \x00", upload="blk_1", name="a.txt", media_type="text/plain", offset=3, last=True
    )
    full = base64.b64encode(b"x" * PIECE).decode()
    assert len(full) == BASE64
    await house.api.dispatch(FakeCaller(), "io.upload", {"peer": PEER, "data": full})
    await house.api.dispatch(FakeCaller(), "io.upload_cancel", {"peer": PEER, "upload": "blk_1"})
    assert house.uploads.calls[-1][::2] == ("cancel", "blk_1")


@pytest.mark.parametrize("data", ["@@@@", "YWJj\n", "YQ", "YQ=", "Y W J j", "é===", "YWJj====", "\x00"])
async def test_wrong_base64_is_refused(house: House, data: str) -> None:
    with pytest.raises(InvalidInput, match="base64"):
        await house.api.dispatch(FakeCaller(), "io.upload", {"peer": PEER, "data": data})
    assert house.uploads.calls == []


async def test_an_attachment_is_given_out_in_pieces_that_fit_a_line(house: House) -> None:
    answer = await house.api.dispatch(FakeCaller(), "io.block", {"peer": PEER, "block": "blk_7", "offset": 1})
    assert answer == {
        "name": "猫.png", "media_type": "image/png", "bytes": 5, "offset": 1, "small": False,
        "data": base64.b64encode(b"PNG\n").decode(),
    }  # fmt: skip
    assert house.uploads.calls[0][2:] == ("blk_7", 1, PIECE)


async def test_a_small_picture_is_given_where_there_is_one_and_else_the_file(house: House) -> None:
    asked = {"peer": PEER, "small": True, "offset": 1}
    small = await house.api.dispatch(FakeCaller(), "io.block", {**asked, "block": "blk_small"})
    assert small == {
        "name": "猫.png", "media_type": "image/webp", "bytes": 4, "offset": 1, "small": True,
        "data": base64.b64encode(b"IFF").decode(),
    }  # fmt: skip
    whole = await house.api.dispatch(FakeCaller(), "io.block", {**asked, "block": "blk_7"})
    assert isinstance(whole, dict)
    assert (whole["small"], whole["media_type"], whole["bytes"]) == (False, "image/png", 5)


async def test_inject_passes_attachments_on_and_a_text_may_be_empty_then(house: House) -> None:
    await house.api.dispatch(FakeCaller(), "io.inject", {"peer": PEER, "text": "", "attachments": ["blk_1", "blk_2"]})
    ((_, _, message),) = house.conversations.calls
    assert message == Message(text="", channel="webui", attachments=("blk_1", "blk_2"))
