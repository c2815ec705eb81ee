"""Which areas one life of a plugin gets, and how it is told of them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from homed.errors import Unavailable
from homed.host import segment as segment_module
from homed.host.areas import Areas
from homed.host.life import Plan
from homed.host.segment import Segment
from homed.host.states import Trust
from homed.wire.layout.arena import SIZE
from homed.wire.manifest import Manifest, StageSpec


def plan(trust: Trust = Trust.PACKAGED, scope: str = "global") -> Plan:
    return Plan(Manifest("mule", "1", "x", stages=(StageSpec("on_input", scope),)), Path("/"), trust, frozenset())


@pytest.fixture
def segment() -> Any:
    one = Segment()
    yield one
    one.close()


@pytest.mark.parametrize(
    ("trust", "scope", "whole"),
    [
        (Trust.PACKAGED, "global", True),
        (Trust.PACKAGED, "own-tools", False),
        (Trust.EXTERNAL, "global", False),
        (Trust.EXTERNAL, "own-tools", False),
    ],
)
def test_only_packaged_plugins_with_a_handler_for_every_tool_read_whole_contexts(
    segment: Segment, trust: Trust, scope: str, whole: bool
) -> None:
    with Areas(None, segment).of(plan(trust, scope)) as areas:
        assert areas.arena is not None
        names = ["arena", "segment"] if whole else ["arena"]
        assert list(areas.handshake) == names
        assert areas.handshake["arena"] == {"size": SIZE}
        assert [int(areas.env[f"HOMED_FD_{name.upper()}"]) for name in names] == list(areas.pass_fds)
        assert len(areas.env) == len(names)
        assert ("segment" in os.readlink(f"/proc/self/fd/{areas.pass_fds[-1]}")) is whole
        assert not any(os.get_inheritable(fd) for fd in areas.pass_fds), "only this child, and by its number"


def test_every_life_has_an_arena_of_its_own_and_takes_its_reading_with_it(segment: Segment) -> None:
    makes = Areas(None, segment)
    with makes.of(plan()) as one, makes.of(plan()) as other:
        assert one.arena is not other.arena
        assert one.segment is segment
        segment.read_by("mule", True)
    assert not segment.reads("mule")


def test_on_a_system_that_cannot_seal_plugins_run_without_the_segment(
    segment: Segment, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(fd: int, *, writable: bool) -> None:
        raise Unavailable("old")

    monkeypatch.setattr(segment_module, "seal", refuse)
    fds = len(os.listdir("/proc/self/fd"))
    with Areas(None, segment).of(plan()) as areas:
        assert (list(areas.handshake), areas.segment) == (["arena"], None)
    assert len(os.listdir("/proc/self/fd")) == fds
