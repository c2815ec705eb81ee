"""Deny by default: what a plugin may call, and how a refusal reads."""

from __future__ import annotations

import pytest

from homed.errors import Denied, NotFound
from homed.host.grants import allowed, require
from homed.host.states import Trust
from homed.wire import methods

EVERYTHING = methods.CAPABILITIES


@pytest.mark.parametrize(
    ("wanted", "trust", "granted", "expected"),
    [
        ((), Trust.PACKAGED, (), {"core"}),
        (("io", "admin"), Trust.PACKAGED, (), {"core", "io", "admin"}),
        (("io", "made.up"), Trust.PACKAGED, (), {"core", "io"}),
        (("io",), Trust.EXTERNAL, (), {"core"}),
        (("io",), Trust.EXTERNAL, ("io",), {"core", "io"}),
        ((), Trust.EXTERNAL, ("io",), {"core"}),
        (tuple(EVERYTHING), Trust.EXTERNAL, tuple(EVERYTHING), {"core", "io", "events.notices"}),
    ],
)
def test_what_a_plugin_gets(
    wanted: tuple[str, ...], trust: Trust, granted: tuple[str, ...], expected: set[str]
) -> None:
    assert allowed(wanted, trust, granted) == expected


def test_nothing_packaged_only_ever_reaches_an_external_plugin() -> None:
    assert not allowed(EVERYTHING, Trust.EXTERNAL, EVERYTHING) & methods.PACKAGED_ONLY


@pytest.mark.parametrize("method", sorted(methods.TO_KERNEL))
def test_every_method_is_open_to_its_capability_alone(method: str) -> None:
    needed = methods.TO_KERNEL[method]
    require("p", frozenset({needed}), method)
    with pytest.raises(Denied) as caught:
        require("p", EVERYTHING - {needed}, method)
    assert caught.value.detail["capability"] == needed
    for word in ("p", method, needed):
        assert word in caught.value.message
    assert caught.value.hint


def test_the_refusal_lists_what_the_plugin_has_and_what_to_do() -> None:
    with pytest.raises(Denied, match=r"lacks the capability io \(it has core, events.notices\)") as caught:
        require("p", frozenset({"core", "events.notices"}), "io.inject")
    assert "plugin.json" in caught.value.hint
    with pytest.raises(Denied) as caught:
        require("p", frozenset({"core"}), "admin.status")
    assert caught.value.hint == "Only plugins that come with homed can have it."


def test_a_method_that_does_not_exist_is_not_found_whoever_asks() -> None:
    with pytest.raises(NotFound, match=r"os\.system"):
        require("p", EVERYTHING, "os.system")
