"""The daemon as a person and as systemd meet it: start, ask, stop, kill, one a folder, and nothing left behind."""

from __future__ import annotations

import json
import os
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.kit.daemon import VECTORS, Daemon, run_homed, until, zombies_of

pytestmark = pytest.mark.slow


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[Daemon]:
    with Daemon(tmp_path / "data") as running:
        yield running


def all_ready(daemon: Daemon) -> bool:
    states = {p["name"]: p["state"] for p in daemon.json("plugin", "list")}
    return all(state in ("ready", "lazy", "disabled") for state in states.values())


def all_running(daemon: Daemon) -> None:
    """With those that would wait for their first call."""
    until(lambda: all_ready(daemon), what="every plugin ready")
    for name in ("shell", "files", "timer"):
        assert daemon.run("plugin", "start", name).code == 0


def test_it_prints_a_link_and_the_commands_reach_it(daemon: Daemon) -> None:
    assert daemon.url.startswith("http://127.0.0.1:")
    until(lambda: all_ready(daemon), what="every plugin ready")
    status = daemon.json("status")
    assert status["running"] is True
    assert status["pid"] == daemon.pid
    assert status["model"]["configured"] is False
    assert "homed models add" in status["model"]["hint"]
    names = {p["name"] for p in status["plugins"]}
    assert {"webui", "cli", "shell", "files", "timer", "sanitizer"} <= names
    fresh = daemon.json("link")["url"]
    assert fresh.startswith(daemon.url + "/login#")
    assert fresh != daemon.link


def test_the_data_folder_is_private_and_the_socket_more_so(daemon: Daemon) -> None:
    assert stat.S_IMODE(daemon.data.stat().st_mode) == 0o700
    assert stat.S_IMODE(daemon.socket.stat().st_mode) == 0o600
    assert stat.S_IMODE((daemon.data / "homed.db").stat().st_mode) & 0o077 == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_one_signal_ends_it_in_order_and_nothing_is_left(tmp_path: Path, number: signal.Signals) -> None:
    with Daemon(tmp_path / "data") as daemon:
        all_running(daemon)
        assert len(daemon.descendants()) >= 5
        until(lambda: zombies_of(daemon.pid) == [], what="the dead collected")
        assert daemon.stop(number) == 0
        assert daemon.descendants() == []
        assert "Traceback" not in daemon.said


def test_after_kill_9_every_child_is_gone_within_five_seconds(tmp_path: Path) -> None:
    """C4"""
    with Daemon(tmp_path / "data") as daemon:
        all_running(daemon)
        assert len(daemon.descendants()) >= 5
        daemon.kill()
        until(lambda: not daemon.descendants(), within=5.0, what="no plugin left")


def test_a_second_daemon_gets_a_clear_error_and_the_first_goes_on(daemon: Daemon) -> None:
    second = run_homed("run", "--data", str(daemon.data), "--listen", "127.0.0.1:0")
    assert second.code == 1
    assert f"pid {daemon.pid}" in second.err
    assert "--data DIR" in second.err
    assert "Traceback" not in second.err
    assert daemon.json("status")["running"] is True


def test_a_stale_lock_is_taken_over_also_when_its_pid_is_somebody_elses_now(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir(mode=0o700)
    (data / "homed.lock").write_text(json.dumps({"pid": os.getpid(), "started": 1.0}))
    with Daemon(data) as daemon:
        assert daemon.json("status")["pid"] == daemon.pid


def test_two_daemons_stop_without_touching_each_other(tmp_path: Path) -> None:
    """C5"""
    with Daemon(tmp_path / "one") as one, Daemon(tmp_path / "two", env={VECTORS: "off"}) as two:
        until(lambda: all_ready(two))
        before = two.descendants()
        one.stop()
        assert two.descendants() == before
        assert two.json("status")["running"] is True


def test_safe_mode_starts_without_plugins_and_says_how_it_is(tmp_path: Path) -> None:
    """C15"""
    daemon = Daemon(tmp_path / "data", "--safe")
    try:
        daemon.start(link=False)
        assert daemon.descendants() == []
        said = daemon.run("status")
        assert said.code == 0
        assert "--safe" in said.out
        refused = daemon.run("config", "set", "core.agent.max_tool_turns", "3")
        assert refused.code == 1
        assert "--safe" in refused.err
    finally:
        daemon.end()


def test_broken_plugins_are_shown_and_stop_nobody(tmp_path: Path) -> None:
    """C1, C15: a manifest that is no JSON, one with several faults, one whose entry does not exist."""
    plugins = tmp_path / "data" / "plugins"
    for name, manifest in {
        "nojson": "{",
        "faulty": json.dumps({"name": "Not A Name", "version": 3, "tools": "many"}),
        "noentry": json.dumps(
            {
                "name": "noentry",
                "version": "1.0",
                "description": "x",
                "entry": "./not-there",
                "author": "a",
                "license": "MIT",
            }
        ),
    }.items():
        (plugins / name).mkdir(parents=True)
        (plugins / name / "plugin.json").write_text(manifest)
    with Daemon(tmp_path / "data") as daemon:
        found = {p["name"]: p for p in daemon.json("plugin", "list")}
        assert "stopped" in (found["nojson"]["state"], found["faulty"]["state"])
        assert "plugin.json: line 1" in found["nojson"]["reason"]
        until(lambda: daemon.plugin("noentry")["state"] in ("stopped", "backoff"), what="noentry shown as broken")
        assert "not-there" in daemon.plugin("noentry")["reason"]
        until(lambda: daemon.plugin("webui")["state"] == "ready")


def test_killed_plugins_come_back_and_the_fourth_time_wait_for_a_person(tmp_path: Path) -> None:
    """C1: 1 s, 2 s, 3 s, then attention; the history and the stopped state survive a restart of homed."""
    with Daemon(tmp_path / "data") as daemon:
        assert daemon.run("plugin", "start", "sanitizer").code == 0
        for crash in range(1, 5):
            pid = until(lambda: daemon.plugin("sanitizer")["state"] == "ready" and daemon.plugin("sanitizer")["pid"])
            os.kill(pid, signal.SIGKILL)
            until(lambda n=crash: len(daemon.plugin("sanitizer")["crashes"]) == n, what=f"crash {crash} counted")
        until(lambda: daemon.plugin("sanitizer")["state"] == "stopped", what="given up")  # soon after it was counted
        assert "attention" in daemon.plugin("sanitizer")["reason"]
        daemon.stop()
        daemon.start()
        after = daemon.plugin("sanitizer")
        assert after["state"] == "stopped"
        assert [c["signal"] for c in after["crashes"]] == [signal.SIGKILL] * 4
        assert daemon.run("plugin", "start", "sanitizer").code == 0
        until(lambda: daemon.plugin("sanitizer")["state"] == "ready")


def test_a_port_in_use_is_named_with_what_to_do(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        daemon = Daemon(tmp_path / "data", "--listen", f"127.0.0.1:{port}")
        try:
            daemon.start(link=False)
            until(lambda: str(port) in daemon.said and "--listen" in daemon.said, what="a message about the port")
            until(lambda: daemon.answers, what="the terminal socket")
            assert daemon.plugin("webui")["state"] == "stopped"
            assert str(port) in daemon.plugin("webui")["reason"]
        finally:
            daemon.end()


@pytest.mark.parametrize(
    ("content", "place"),
    [
        ("core.agent.max_tool_turns = 'many'\n", "line 1"),
        ("[core.agent]\nmax_tool_turnz = 3\n", "max_tool_turns"),
        ("not toml at all [", "homed.toml"),
    ],
)
def test_a_malformed_settings_file_is_named_with_its_line(tmp_path: Path, content: str, place: str) -> None:
    data = tmp_path / "data"
    data.mkdir(mode=0o700)
    (data / "homed.toml").write_text(content)
    ran = run_homed("run", "--data", str(data), "--listen", "127.0.0.1:0")
    assert ran.code == 1
    assert place in ran.err
    assert "Traceback" not in ran.err


def test_a_folder_that_cannot_be_a_data_folder_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    ran = run_homed("run", "--data", str(tmp_path / "file"))
    assert ran.code == 1
    assert "--data" in ran.err
    assert "Traceback" not in ran.err


def test_a_corrupt_or_newer_database_is_left_as_it_is(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir(mode=0o700)
    (data / "homed.db").write_bytes(b"this is no database at all" * 200)
    before = (data / "homed.db").read_bytes()
    ran = run_homed("run", "--data", str(data), "--listen", "127.0.0.1:0")
    assert ran.code == 1
    assert "homed.db" in ran.err
    assert "Traceback" not in ran.err
    assert (data / "homed.db").read_bytes() == before


def test_settings_and_models_work_on_the_folder_and_through_the_daemon(tmp_path: Path) -> None:
    data = str(tmp_path / "data")
    assert run_homed("config", "set", "core.agent.max_tool_turns", "6", "--data", data).code == 0
    key = "sk-" + "a1b2c3d4" * 5
    added = run_homed(
        "models", "add", "mine", "--base-url", "http://127.0.0.1:9/v1", "--model", "m", "--api-key", key, "--data", data
    )
    assert added.code == 0, added.err
    with Daemon(tmp_path / "data") as daemon:
        assert daemon.run("config", "get", "core.agent.max_tool_turns").out == "6\n"
        listed = daemon.run("models", "list", "--json")
        assert (
            json.loads(listed.out)[0] | {"name": "mine", "has_key": True, "current": True} == json.loads(listed.out)[0]
        )
        assert key not in listed.out
        tested = daemon.run("models", "test", "mine")
        assert tested.code == 1
        assert key not in tested.err
        refused = daemon.run("config", "set", "core.agent.max_tool_turns", "0")
        assert refused.code == 1
        assert "between 1 and" in refused.err
    for file in (tmp_path / "data").rglob("*"):
        if file.is_file() and file.name != "secrets.json":
            assert key.encode() not in file.read_bytes(), file


@pytest.mark.parametrize("words", [["bogus"], ["plugin"], ["models", "add"], ["--log-level", "loud"]])
def test_wrong_usage_exits_2_and_names_the_help(words: list[str]) -> None:
    ran = run_homed(*words)
    assert ran.code == 2
    assert "--help" in ran.err


def test_status_without_a_daemon_says_how_to_start_one(tmp_path: Path) -> None:
    ran = run_homed("status", "--data", str(tmp_path / "data"))
    assert ran.code == 1
    assert "not running" in ran.out
    assert not (tmp_path / "data").exists(), "asking must not create anything"


def test_the_data_option_may_stand_before_or_after_and_with_one_dash(tmp_path: Path) -> None:
    data = str(tmp_path / "data")
    assert run_homed("-data", data, "config", "set", "core.agent.max_tool_turns", "7").code == 0
    for words in (["config", "get", "core.agent.max_tool_turns", "-data", data],):
        assert run_homed(*words).out == "7\n"
    env = {**os.environ, "HOMED_DATA": data}
    assert run_homed("config", "get", "core.agent.max_tool_turns", env=env).out == "7\n"


def test_importing_the_kernel_has_no_effects_and_pulls_in_no_web_server() -> None:
    code = (
        "import homed.app, sys; print([m for m in ('quart', 'hypercorn', 'homed.sdk', 'waiter') if m in sys.modules])"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert ran.stdout == "[]\n"
