"""Twenty plugins crash, hang, flood and babble at once: the chat goes on, each ends where it should and says why."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.kit.daemon import until, zombies_of
from tests.kit.hosting import install, manifest
from tests.kit.house import House, Plan, house

pytestmark = pytest.mark.slow

GAVE_UP = "needs attention: 4 crashes within 5 minutes, the last: "

STORM: dict[str, tuple[int, str, str]] = {
    "exit1": (4, "stopped", f"{GAVE_UP}exit code 1"),
    "exit1-ready": (2, "stopped", f"{GAVE_UP}exit code 1"),
    "segfault-start": (2, "stopped", f"{GAVE_UP}killed by SIGSEGV"),
    "flood-lines": (2, "stopped", f"{GAVE_UP}it broke the protocol: 50 unreadable lines"),
    "flood-calls": (2, "stopped", f"{GAVE_UP}it floods homed with notifications"),
    "close-stdout": (1, "stopped", GAVE_UP),
    "slow-handshake": (2, "", "it did not answer the handshake within 10 s"),
    "bad-protocol": (1, "stopped", "needs attention: The plugin"),
    "exit0-ready": (1, "stopped", "ended by itself (exit code 0); restart is on-failure"),
    "banner": (1, "ready", ""),
    "bad-utf8": (1, "ready", ""),
    "flood-stderr": (1, "ready", ""),
}
"""Mode of the child → how many of them, the state they come to, and how the reason begins.

Four hung handshakes would take 46 s: of those the first is awaited.  It has no state, as none lasts; the log tells it.
"""

ENDS = {
    f"{mode.replace('-', '_')}_{n}": (mode, state, reason)
    for mode, (count, state, reason) in STORM.items()
    for n in range(count)
}


@pytest.fixture
def home(tmp_path: Path) -> Iterator[House]:
    data = tmp_path / "data"
    manifests = [manifest(name, mode, enabled=False) for name, (mode, _, _) in ENDS.items()]
    install(data / "plugins", *manifests)
    with house(data, Plan(probes={"steady": ()})) as built:
        yield built


def test_a_storm_of_twenty_bad_plugins_harms_neither_the_chat_nor_a_good_one(home: House) -> None:
    assert len(ENDS) == 20
    steady = home.plugin("steady")["pid"]
    seen: dict[str, dict[str, Any]] = {}
    with home.link() as link:
        for name in ENDS:
            link.send("admin.plugin_start", {"name": name})
        said, deadline = 0, time.monotonic() + 300
        while len(seen) < len(ENDS):
            assert time.monotonic() < deadline, {name: home.plugin(name) for name in ENDS if name not in seen}
            assert home.says(f"still there {said}?") == f"You said: still there {said}?"
            said += 1
            for found in home.ask("admin.plugins")["plugins"]:
                if found["name"] in ENDS and ended(found, ENDS[found["name"]][1]):
                    seen.setdefault(found["name"], found)
    assert said >= 5, "the chat was tried while it stormed"
    for name, (_, state, reason) in ENDS.items():
        found = seen[name]
        if not state:
            assert f"plugin {name} ended: {reason}" in home.daemon.said
            continue
        assert found["reason"].startswith(reason), found
        assert (found["pid"] is None) == (state != "ready")
        if reason.startswith(GAVE_UP):
            assert len(found["crashes"]) == 4, found
    assert home.plugin("steady")["pid"] == steady
    assert home.probes["steady"].call("core.log", message="still here") == {}
    for name in ENDS:
        home.ask("admin.plugin_stop", name=name)
    process = home.daemon.process
    assert process is not None
    until(lambda: not zombies_of(process.pid), what="no zombie left")
    assert not [pid for pid in home.daemon.descendants() if b"children/child.py" in command_of(pid)]


def ended(found: dict[str, Any], state: str) -> bool:
    """Whether a plugin has come to its end, which for one without a state is its first crash."""
    return bool(found["state"] == state if state else found["crashes"])


def command_of(pid: int) -> bytes:
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    return b""
