"""Deny by default: what a plugin may call, and how a refusal reads."""

from __future__ import annotations

from pathlib import Path

import pytest

from homed.errors import Denied, NotFound
from homed.host.grants import allowed, grant, granted, require, revoke
from homed.host.states import Trust
from homed.store.db import open_store
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
        (
            tuple(EVERYTHING),
            Trust.EXTERNAL,
            tuple(EVERYTHING),
            {"core", "io", "memory", "cold", "knowledge", "textlog", "llm", "social.read", "events.notices"},
        ),
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


async def test_what_is_granted_is_kept_replaced_and_taken_back(tmp_path: Path) -> None:
    async with open_store(tmp_path / "homed.db") as store:
        kept = await store.write(lambda tx: grant(tx, "weather", ["io", "core", "events.notices"], at=1.0))
        assert kept == {"io", "events.notices"}
        await store.write(lambda tx: grant(tx, "other", ["io"], at=1.0))
        assert await store.read(lambda tx: granted(tx, "weather")) == {"io", "events.notices"}
        await store.write(lambda tx: grant(tx, "weather", ["io"], at=2.0))
        assert await store.read(lambda tx: granted(tx, "weather")) == {"io"}
        await store.write(lambda tx: revoke(tx, "weather", ["io", "memory"]))
        assert await store.read(lambda tx: granted(tx, "weather")) == frozenset()
        await store.write(lambda tx: revoke(tx, "other"))
        assert await store.read(lambda tx: granted(tx, "other")) == frozenset()


@pytest.mark.parametrize("beyond", [*sorted(methods.PACKAGED_ONLY), "made.up"])
async def test_what_no_external_plugin_can_have_is_not_granted_and_nothing_changes(tmp_path: Path, beyond: str) -> None:
    async with open_store(tmp_path / "homed.db") as store:
        await store.write(lambda tx: grant(tx, "weather", ["io"], at=1.0))
        with pytest.raises(Denied, match=beyond):
            await store.write(lambda tx: grant(tx, "weather", ["events.notices", beyond], at=2.0))
        assert await store.read(lambda tx: granted(tx, "weather")) == {"io"}
