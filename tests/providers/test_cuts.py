"""Wherever a history is cut, what goes out is valid on every wire (faults A1 to A4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings

from homed.providers import pairing
from homed.providers.adapter import Native
from homed.providers.adapters import native
from homed.providers.base import ChatRequest, Message
from tests.kit.fake_server import wire_named
from tests.kit.fake_wire import Incoming
from tests.providers.judge import judge
from tests.providers.pasts import STEPS, Past, Step, cuts, past
from tests.providers.reading import reader
from tests.providers.stage import LOOK, PLAIN, Stage
from tests.providers.wires import LUA, PATHS, WIRES

HEADERS = {"anthropic-version": "2023-06-01"}


def taken(made: Past, body: bytes) -> None:
    """The strict server takes it, the SDK's types read it, and every call has its result."""
    wire = wire_named(made.wire)
    contract = replace(wire.contract(), vision=made.source.vision)
    read = wire.parse(body)
    wire.check(contract, made.ledger, Incoming("POST", "/", {}, HEADERS), read)
    judge(made.wire, read)
    said = reader(made.wire, read, {})
    assert len(said.calls) == len(said.results)


def requests(made: Past) -> Sequence[ChatRequest]:
    """What would be asked with each cut of it; tools are on offer, and where they are not any more."""
    asked: list[ChatRequest] = []
    for n, kept in enumerate(cuts(made.messages)):
        repaired: tuple[Message, ...] = pairing.repair(kept).messages
        asked.append(ChatRequest(repaired, (LOOK, PLAIN) if n % 4 else ()))
    return asked


@pytest.mark.parametrize("wire", sorted(WIRES))
@given(steps=STEPS)
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_a_history_cut_anywhere_is_valid_natively(wire: str, steps: list[Step]) -> None:
    made = past(wire, steps)
    adapter = native(WIRES[wire].adapter)
    assert isinstance(adapter, Native)
    for request in requests(made):
        taken(made, adapter.pure.body(made.source, request))


@pytest.mark.parametrize("wire", sorted(name for name, path in PATHS if path == LUA))
@given(steps=STEPS)
@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_a_history_cut_anywhere_is_valid_by_script(stage: Stage, wire: str, steps: list[Step]) -> None:
    made = past(wire, steps)
    for body in stage.bodies(WIRES[wire], made.source, requests(made)):
        taken(made, body)
