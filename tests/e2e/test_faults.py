"""Plugins that misbehave, tools without end, texts that are no texts: the chat goes on, and what happened is said."""

from __future__ import annotations

import os
import re
import signal
import socket
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from homed.errors import HomedError
from tests.kit.daemon import until, zombies_of
from tests.kit.house import House, Plan, house

pytestmark = pytest.mark.slow

MEBIBYTE = 1024
"""In the kibibytes of /proc."""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    plan = Plan(
        only=("shell",),
        probes={"steady": (), "noisy": (), "fragile": (), "stuck": ()},
        allow=("cmd_run",),
        vectors=False,
    )
    with house(tmp_path_factory.mktemp("faults") / "data", plan) as built:
        yield built


@pytest.fixture(autouse=True)
def no_traceback(home: House) -> Iterator[None]:
    yield
    assert "Traceback" not in home.daemon.said


def memory_peak(pid: int) -> int:
    """The most a process ever held in memory, in KiB."""
    lines = Path(f"/proc/{pid}/status").read_text("ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))


def events(home: House, thread: str, kind: str) -> list[dict[str, Any]]:
    return [event for event in home.history(thread) if event["kind"] == kind]


def ready(home: House, name: str) -> dict[str, Any]:
    """The plugin once it is up (again)."""
    until(lambda: home.plugin(name)["state"] == "ready", what=f"{name} ready")
    return home.plugin(name)


def waiter_answers(home: House, text: str) -> None:
    ran = home.waiter("-chat", text)
    assert (ran.code, ran.out) == (0, f"You said: {text}\n"), ran


# -- what a plugin writes --------------------------------------------------------------------------------------------


def test_noise_on_a_plugins_wire_is_logged_not_flooded_and_costs_neither_it_nor_the_chat_anything(home: House) -> None:
    pid = ready(home, "noisy")["pid"]
    for what, logged in {
        "banner": "unreadable output: no JSON",
        "megabyte": "unreadable output: a line over 1048576 bytes",
        "not utf-8": "unreadable output: invalid UTF-8",
        "notification": "unknown notification 'stranger'",
        "not json": "",
    }.items():
        home.probes["noisy"].do("raw", what=what)
        until(lambda text=logged: f"plugin noisy: {text}" in home.daemon.said, what=f"{logged} in the log")
        assert home.says(f"and {what}?") == f"You said: and {what}?"
        home.probes["noisy"].call("core.log", level="info", message="still heard")
    assert home.plugin("noisy")["pid"] == pid
    assert home.daemon.said.count("plugin noisy: ") <= 6


@pytest.mark.parametrize(("what", "reason"), [("gibibyte", "64 MiB"), ("endless rubbish", "unreadable lines")])
def test_what_is_no_accident_any_more_ends_the_plugin_with_its_reason_and_fills_no_memory(
    home: House, what: str, reason: str
) -> None:
    crashes = len(ready(home, "noisy")["crashes"])
    before = memory_peak(home.daemon.pid)
    with suppress(OSError, HomedError):  # the door may close in the middle of it
        home.probes["noisy"].do("raw", what=what)
    waiter_answers(home, f"Hello, after {what}")  # in English: the first Chinese loads a dictionary, which counts, too
    until(lambda: len(home.plugin("noisy")["crashes"]) > crashes, what="the crash counted")
    assert re.search(f"plugin noisy ended: it broke the protocol: .*{reason}", home.daemon.said)
    assert memory_peak(home.daemon.pid) - before < 24 * MEBIBYTE
    ready(home, "noisy")


# -- tools -----------------------------------------------------------------------------------------------------------


def test_a_tool_without_end_is_stopped_with_its_whole_tree_and_the_next_message_works(home: House) -> None:
    """C13"""
    command = "sleep 600 & (trap '' TERM HUP INT; sleep 601 & wait) & setsid sleep 602 & sleep 603"
    home.fake.when("sleep long", {"calls": [{"name": "cmd_run", "args": {"command": command}}]}, {"say": "slept"})
    home.ask("admin.plugin_start", name="shell")  # lazy: else its own process, which stays, would count to the tree
    before = set(home.daemon.descendants())
    sent = home.ask("chat", text="sleep long", can_ask=True)
    tree = until(lambda: len(new := set(home.daemon.descendants()) - before) >= 5 and new, what="the whole tree")
    assert home.ask("stop", thread=sent["thread"])["stopped"] is True
    until(lambda: not tree & set(home.daemon.descendants()), what="nothing left of the tree")
    ended = home.ask("wait", input=sent["input"])
    assert ended["state"] == "stopped"
    (result,) = events(home, sent["thread"], "tool")
    assert result["data"]["status"] == "interrupted"
    assert home.says("and now?", thread=sent["thread"]) == "You said: and now?"
    assert [message["role"] for message in home.fake.chats[-1].body["messages"]].count("tool") == 1
    assert set(home.daemon.descendants()) <= before
    until(lambda: zombies_of(home.daemon.pid) == [], what="the dead collected")


def test_of_three_calls_at_once_each_has_its_own_result_one_slow_one_crashing_one_instant(home: House) -> None:
    """A6, A7"""
    ready(home, "fragile")
    calls = [
        {"name": "steady_slow", "args": {"seconds": 1.5}, "id": "call_slow"},
        {"name": "fragile_crash", "args": {}, "id": "call_crash"},
        {"name": "steady_echo", "args": {"text": "at once"}, "id": "call_instant"},
    ]
    home.fake.when("three at once", {"calls": calls}, {"say": "all three"})
    thread = str(home.chat("three at once")["thread"])
    messages = home.fake.chats[-1].body["messages"]
    last = max(at for at, message in enumerate(messages) if message.get("tool_calls"))  # others are of earlier turns
    assert [call["id"] for call in messages[last]["tool_calls"]] == ["call_slow", "call_crash", "call_instant"]
    answered = [m for m in messages[last:] if m["role"] == "tool"]
    results = {m["tool_call_id"]: m["content"] for m in answered}
    assert [m["tool_call_id"] for m in answered] == ["call_slow", "call_crash", "call_instant"]
    assert results["call_slow"] == "waited 1.5 s"
    assert "fragile ended during tool.invoke fragile_crash" in results["call_crash"]
    assert results["call_instant"] == "at once"
    assert {event["data"]["call_id"] for event in events(home, thread, "tool")} == set(results)


@pytest.mark.parametrize(("how", "code", "number"), [("crash", 3, None), ("segfault", None, signal.SIGSEGV)])
def test_a_tool_that_takes_its_plugin_down_is_a_failed_result_and_the_plugin_comes_back(
    home: House, how: str, code: int | None, number: int | None
) -> None:
    """C1"""
    pid = ready(home, "fragile")["pid"]
    home.fake.when(f"please {how}", {"calls": [{"name": f"fragile_{how}", "args": {}}]}, {"say": "it said: {tool}"})
    said = home.says(f"please {how}")
    assert f"fragile ended during tool.invoke fragile_{how}; how much of it was done is not known" in said
    waiter_answers(home, f"after the {how}")
    back = ready(home, "fragile")
    assert back["pid"] != pid
    last = back["crashes"][-1]
    assert (last["code"], last["signal"]) == (code, number)
    assert last["pending"] == [f"tool.invoke fragile_{how}"]


def test_a_tool_that_blocks_its_plugin_times_out_in_true_words_and_the_plugin_is_ended(home: House) -> None:
    """C2"""
    pid = ready(home, "stuck")["pid"]
    home.fake.when("hang now", {"calls": [{"name": "stuck_hang", "args": {}}]}, {"say": "it said: {tool}"})
    said = home.says("hang now")
    assert "took longer than 1 s and did not stop when told to" in said
    waiter_answers(home, "while it is being ended")
    until(lambda: home.plugin("stuck")["crashes"], what="its end, by force")
    assert home.plugin("stuck")["crashes"][-1]["signal"] == signal.SIGKILL
    assert not Path(f"/proc/{pid}").exists()
    ready(home, "stuck")
    until(lambda: zombies_of(home.daemon.pid) == [], what="the dead collected")


# -- the terminal socket ---------------------------------------------------------------------------------------------

RUBBISH = {
    "no JSON": b"hello\n{\n]\n",
    "no UTF-8": b'{"jsonrpc": "2.0", "id": 1, "method": "\xff\xfe\xc0"}\n',
    "a batch": b'[{"jsonrpc": "2.0", "id": 1, "method": "hello"}]\n',
    "very deep": b"[" * 200_000 + b"\n",
    "an id of a kind": b'{"jsonrpc": "2.0", "id": {"a": 1}, "method": "hello"}\n',
    "numbers beyond numbers": b'{"jsonrpc": "2.0", "id": 1e999, "method": "hello", "params": {"a": NaN}}\n',
    "params of a kind": b'{"jsonrpc": "2.0", "id": 1, "method": "hello", "params": [1]}\n',
    "a digit for each day": b'{"jsonrpc": "2.0", "id": 7, "method": "hello", "params": {"a": ' + b"9" * 9000 + b"}}\n",
    "a surrogate": b'{"jsonrpc": "2.0", "id": 8, "method": "chat", "params": {"text": "\\ud800"}}\n',
    "no end": b"x" * (3 << 20),
    "half a message": b'{"jsonrpc": "2.0", "id": 9, "meth',
    "nothing": b"",
    "NULs": b"\0" * 4096 + b"\n",
}


@pytest.mark.parametrize("what", list(RUBBISH))
def test_rubbish_on_the_terminal_socket_hurts_nobody_else(home: House, what: str) -> None:
    pid = home.plugin("cli")["pid"]
    with home.link() as other, socket.socket(socket.AF_UNIX) as sock:
        folder = os.open(home.data / "run", os.O_RDONLY)
        try:
            sock.connect(f"/proc/self/fd/{folder}/cli.sock")
        finally:
            os.close(folder)
        sock.settimeout(60)
        sock.sendall(RUBBISH[what])
        sock.sendall(b'\n{"jsonrpc": "2.0", "id": "last", "method": "hello", "params": {}}\n')
        heard = b""
        while b'"last"' not in heard:
            some = sock.recv(65536)
            assert some, f"hung up after {heard[-300:]!r}"
            heard += some
        assert other.call("hello", {})["peer"] == "cli:owner"
    assert home.says(f"after {what}") == f"You said: after {what}"
    assert home.plugin("cli")["pid"] == pid


def test_a_client_that_sends_nothing_but_rubbish_is_hung_up_on_and_others_stay(home: House) -> None:
    with home.link() as other, home.link() as bad:
        sock = socket.socket(fileno=os.dup(bad.fileno()))
        with sock:
            sock.settimeout(60)
            with pytest.raises((BrokenPipeError, ConnectionResetError)):
                sock.sendall(b"rubbish\n" * (16 << 20))
        assert other.call("hello", {})["peer"] == "cli:owner"
    waiter_answers(home, "still there?")


def test_a_terminal_client_cannot_be_another_peer_nor_use_a_token(home: House) -> None:
    thread = str(home.chat("mine")["thread"])
    assert home.ask("threads", peer="webui:guest", call="x")["threads"][0]["id"] == thread
    for method in ("core.settings_get", "events.subscribe", "auth.state", "plugin.stop", "tool.invoke"):
        with pytest.raises(HomedError, match="There is no method"):
            home.ask(method)


# -- secrets ---------------------------------------------------------------------------------------------------------

SECRETS = {
    "said": "sk-" + "saidA1b2C3d4" * 4,
    "read": "ghp_" + "readA1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6"[:36],
    "given": "sk-ant-" + "givenA1b2C3d4" * 4,
    "answered": "AKIA" + "ANSWERED12345678",
    "stderr": "sk-" + "stderrA1b2C3d4" * 4,
    "log": "sk-" + "logA1b2C3d4" * 4,
    "title": "sk-" + "titleA1b2C3d4" * 4,
}


def test_no_secret_that_was_said_read_or_logged_stands_in_any_file(home: House, tmp_path: Path) -> None:
    """D6"""
    (tmp_path / "keys.txt").write_text(f"export TOKEN={SECRETS['read']}\n")
    calls = [
        {"name": "steady_read", "args": {"path": str(tmp_path / "keys.txt")}},
        {"name": "steady_echo", "args": {"text": f"use {SECRETS['given']}"}},
    ]
    home.fake.when("my key is", {"calls": calls}, {"say": f"Then use {SECRETS['answered']} there.", "chunk": 7})
    done = home.chat(f"my key is {SECRETS['said']}, keep it")
    assert done["state"] == "answered", done
    home.probes["steady"].do("say", text=f"connecting with {SECRETS['stderr']}")
    home.probes["steady"].call("core.log", level="warning", message=f"refused: {SECRETS['log']}")
    home.ask("io.thread_rename", thread=done["thread"], title=f"about {SECRETS['title']}")
    until(lambda: any("connecting with" in line for line in home.ask("admin.plugin_logs", name="steady")["lines"]))
    files = [path for path in home.data.rglob("*") if path.is_file() and path.name != "secrets.json"]
    assert any(path.suffix == ".db" for path in files)
    for path in [*files, home.daemon.log]:
        content = path.read_bytes()
        for where, secret in SECRETS.items():
            assert secret.encode() not in content, f"what was {where} stands in {path.name}"
    shown = str(home.ask("history", thread=done["thread"])) + str(done)
    assert not [where for where, secret in SECRETS.items() if secret in shown]
    assert "[secret:" in shown
