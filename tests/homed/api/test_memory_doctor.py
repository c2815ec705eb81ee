"""``admin.memory_doctor``: for owners, and a repair for a person only."""

from __future__ import annotations

import pytest

from homed.api.method import PeerCall
from homed.errors import Denied
from homed.jobs.memcheck.findings import Status
from tests.homed.api.fakes import FakeCaller, House


async def test_every_check_is_told_with_the_counts(house: House) -> None:
    found = await house.api.dispatch(FakeCaller(), "admin.memory_doctor", {"peer": "webui:owner", "deep": True})
    assert isinstance(found, dict)
    assert (found["deep"], found["repair"], found["clean"], found["read"]) == (True, False, True, 1)
    assert found["counts"] == {status.value: int(status is Status.PASS) for status in Status}
    assert found["checks"][0].keys() == {
        "id", "name", "status", "evidence", "fix", "read", "wrong", "ids", "repairable", "mended", "mends", "ms"
    }  # fmt: skip


async def test_a_repair_is_for_a_person_not_for_a_turn(house: House) -> None:
    found = await house.api.dispatch(FakeCaller(), "admin.memory_doctor", {"peer": "webui:owner", "repair": True})
    assert isinstance(found, dict)
    assert (found["repair"], found["clean"]) == (True, False)
    from homed.api.doctor import ExamineMemory, memory_doctor

    of_a_turn = PeerCall(None, None, ExamineMemory(repair=True, call="t"), "cli", None)  # type: ignore[arg-type]
    with pytest.raises(Denied, match="for a person"):
        await memory_doctor(of_a_turn)
