"""Event rings in a whole house: who maps which, hears what, and what is left when a reader is killed."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from homed.wire.methods import IO, NOTICES
from tests.kit.daemon import until
from tests.kit.house import House, Plan, house

GIVEN = (NOTICES, IO)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    names = ("near", "far")
    plan = Plan(probes=dict.fromkeys(names, GIVEN), grants=dict.fromkeys(names, GIVEN), vectors=False)
    with house(tmp_path_factory.mktemp("rings"), plan) as made:
        yield made


def mapped(home: House, name: str) -> set[str]:
    """The rings that a plugin's process has mapped."""
    maps = Path(f"/proc/{home.plugin(name)['pid']}/maps").read_text("utf-8")
    return {ring for ring in ("notices", "content") if f"memfd:homed-{ring}" in maps}


def descriptors(pid: int) -> int:
    return len(os.listdir(f"/proc/{pid}/fd"))


def test_the_terminal_follows_by_ring_what_it_shows(home: House) -> None:
    home.fake.when("how are you", {"say": "very well"})
    assert home.says("how are you") == "very well"
    assert mapped(home, "cli") == {"content"}


def test_a_plugin_from_outside_hears_notices_without_their_content_by_ring(home: House) -> None:
    near, far = home.probes["near"], home.probes["far"]
    answer = near.call("events.subscribe")
    assert answer["cursor"] == answer["seq"]
    far.call("events.subscribe", via="rpc")
    assert (mapped(home, "near"), mapped(home, "far")) == ({"notices"}, set())
    held = os.listdir(f"/proc/{home.plugin('near')['pid']}/fd")
    opened = [os.readlink(f"/proc/{home.plugin('near')['pid']}/fd/{fd}") for fd in held]
    assert not any("homed-content" in target for target in opened)
    home.fake.when("a private word", {"say": "a private answer"})
    home.says("a private word")
    heard = until_heard(home, "near")
    assert [one["type"] for one in heard if one["type"] == "turn"] == ["turn", "turn"]
    assert "private" not in str(heard)
    assert until_heard(home, "far") == heard, "by either way the same"


def until_heard(home: House, name: str) -> list[dict[str, object]]:
    """What a probe heard of one turn, from its start to its end."""
    heard: list[dict[str, object]] = []

    def over() -> bool:
        heard.extend(one for one in home.probes[name].do("notices") if one["type"] not in ("plugin_state", "system"))
        return [one["type"] for one in heard].count("turn") == 2

    until(over, what=f"{name} hears the end of the turn")
    return heard


def test_a_reader_that_is_killed_costs_nobody_anything_and_gives_all_back(home: House) -> None:
    kernel = home.ask("admin.status")["pid"]
    home.probes["far"].call("events.subscribe")
    before, pid = descriptors(kernel), home.plugin("near")["pid"]
    home.probes["near"].forget()
    os.kill(pid, signal.SIGKILL)
    until(lambda: home.plugin("near")["pid"] not in (pid, None) and home.plugin("near")["state"] == "ready")
    home.fake.when("still there", {"say": "of course"})
    assert home.says("still there") == "of course"
    assert until_heard(home, "far")
    until(lambda: descriptors(kernel) <= before, what="its descriptors are back")
    home.probes["near"].call("events.subscribe")
    assert mapped(home, "near") == {"notices"}
