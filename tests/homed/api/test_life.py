"""What a plugin asks about its own life reaches the host under the plugin's own name."""

from __future__ import annotations

from typing import Any

import pytest

from homed.errors import InvalidInput
from tests.homed.api.fakes import FakeCaller, House

TOOL = {"name": "dig", "description": "Digs."}


@pytest.mark.parametrize(
    ("method", "params", "asked", "answer"),
    [
        ("core.restart", {}, ("restart", "mole"), {}),
        ("core.busy", {"lease": "music", "held": True}, ("busy", "mole", "music", True), {}),
        ("core.tools_set", {"tools": [TOOL]}, ("set_tools", "mole", [TOOL]), {"tools": ["dig"]}),
        ("core.schedule_set", {"name": "poll", "every": 60.0}, ("schedule", "mole", "poll", None, 60.0), {"at": 7.5}),
        ("core.schedule_set", {"name": "poll", "at": 9}, ("schedule", "mole", "poll", 9, None), {"at": 7.5}),
        ("core.schedule_clear", {"name": "poll"}, ("unschedule", "mole", "poll"), {}),
    ],
)  # fmt: skip
async def test_each_is_asked_for_the_plugin_that_calls(
    house: House, method: str, params: dict[str, Any], asked: tuple[object, ...], answer: dict[str, object]
) -> None:
    assert await house.api.dispatch(FakeCaller("mole", capabilities=frozenset({"core"})), method, params) == answer
    assert house.host.wishes.asked == [asked]


@pytest.mark.parametrize(
    ("method", "params", "place"),
    [
        ("core.restart", {"plugin": "shell"}, "plugin: "),
        ("core.busy", {"lease": "", "held": True}, "lease: "),
        ("core.busy", {"lease": "x" * 65, "held": True}, "lease: "),
        ("core.busy", {"lease": "x", "held": 1}, "held: "),
        ("core.tools_set", {"tools": ["dig"]}, "tools.0: "),
        ("core.tools_set", {"tools": [TOOL] * 257}, "tools: "),
        ("core.schedule_set", {"every": 60.0}, "name: "),
        ("core.schedule_set", {"name": "poll", "every": "60"}, "every: "),
        ("core.schedule_clear", {"name": ""}, "name: "),
    ],
)  # fmt: skip
async def test_what_makes_no_sense_is_refused_with_its_place(
    house: House, method: str, params: dict[str, Any], place: str
) -> None:
    with pytest.raises(InvalidInput) as caught:
        await house.api.dispatch(FakeCaller("mole"), method, params)
    assert place in caught.value.message
    assert house.host.wishes.asked == []
