"""A fresh machine without key and network: the built-in model, through the real daemon.

It is weak; tests look at whether it answers, is stopped and comes back, and at what reached it, never at what it says.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from homed.providers.local.weights import SMOLLM2, in_wheel
from homed.wire import rpc
from tests.homed.providers.local.test_child import listening
from tests.kit.daemon import BUILT_IN, Daemon, run_homed, until
from tests.kit.fake_openai import fake_openai_thread
from tests.kit.processes import alive
from waiter.endpoint import places
from waiter.link import Link, dial

pytestmark = [pytest.mark.model, pytest.mark.slow]

NOWHERE = "http://127.0.0.1:1"
ENV = {BUILT_IN: "on", "http_proxy": NOWHERE, "https_proxy": NOWHERE, "all_proxy": NOWHERE}
"""Whoever wanted the network would find none."""
PATIENCE = 120.0
LONG = "One two three four five. " * 180


class Talk:
    """A connection that hears everything."""

    def __init__(self, link: Link) -> None:
        self.link = link
        self.notices: list[Mapping[str, Any]] = []
        link.call("subscribe", {})

    def say(self, text: str, thread: str = "") -> str:
        """Say something; the thread it went to."""
        return str(self.link.call("chat", {"text": text, "thread": thread})["thread"])

    def wait(self, of: str, thread: str, fits: Callable[[Mapping[str, Any]], bool] = lambda _: True) -> Any:
        """The data of the first notice of that type in the thread which fits."""
        begun = time.monotonic()
        while time.monotonic() - begun < PATIENCE:
            for message in self.link.receive():
                if isinstance(message, rpc.Notification) and message.method == "event":
                    self.notices.append(message.params)
            for at, notice in enumerate(self.notices):
                if notice["type"] == of and notice["thread"] == thread and fits(notice["data"]):
                    del self.notices[: at + 1]
                    return notice["data"]
        raise AssertionError(f"no {of} within {PATIENCE:g} s")

    def outcome(self, thread: str) -> Any:
        """How the turn ended."""
        return self.wait("turn", thread, lambda data: data.get("phase") == "end")

    def answered(self, text: str) -> str:
        """What is answered to a message."""
        chat = self.link.call("chat", {"text": text, "wait": True}, timeout=PATIENCE)
        assert chat["state"] == "answered", chat
        return str(chat["outcome"]["text"])


@contextmanager
def talking(daemon: Daemon) -> Iterator[Talk]:
    link = dial(places({}, data=str(daemon.data)))
    try:
        yield Talk(link)
    finally:
        link.close()


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    """Started once, on a folder that did not exist; every test leaves it ready for the next."""
    with Daemon(tmp_path_factory.mktemp("fresh") / "data", env=ENV) as running:
        yield running


@pytest.fixture
def talk(daemon: Daemon) -> Iterator[Talk]:
    with talking(daemon) as opened:
        yield opened


def model(daemon: Daemon) -> Any:
    return daemon.ask("admin.status")["model"]


def ready(daemon: Daemon) -> None:
    until(lambda: model(daemon)["state"] == "ready", within=PATIENCE, what="the built-in model ready")


def child(daemon: Daemon) -> int:
    """The model's process."""
    found = [pid for pid in daemon.descendants() if b"homed.providers.local.child" in _command(pid)]
    assert len(found) == 1, found
    return found[0]


def _command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def test_the_first_message_gets_an_answer_and_everything_says_what_it_is(daemon: Daemon, talk: Talk) -> None:
    assert talk.answered("hi").strip()
    said = daemon.json("status")["model"]
    assert (said["configured"], said["source"], said["kind"], said["state"]) == (True, "embedded", "embedded", "ready")
    assert "built in: small and slow" in said["note"]
    (source,) = daemon.json("models", "list")
    assert (source["name"], source["kind"], source["tools"], source["current"]) == ("embedded", "embedded", False, True)
    for words in (("models", "list"), ("status",)):
        assert "built in: small and slow" in daemon.run(*words).out
    assert (daemon.data / "models" / SMOLLM2.name).stat().st_size == SMOLLM2.size
    pid = child(daemon)
    assert listening(pid) == []
    assert os.listdir(daemon.data / "run" / "model") == []
    tried = daemon.json("models", "test", "embedded")
    assert (tried["ok"], tried["streaming"], tried["tools"]) == (True, True, False)


def test_a_stop_while_it_reads_is_the_outcome_at_once_and_a_warm_one_comes_back(daemon: Daemon, talk: Talk) -> None:
    ready(daemon)
    pid = child(daemon)
    thread = talk.say(LONG)
    progress = talk.wait("progress", thread, lambda data: data["what"] == "reading")
    assert 0 <= progress["done"] < progress["total"]
    assert progress["total"] > 500
    os.kill(pid, signal.SIGSTOP)  # it comes to no end of the reading, so that nobody can have waited for one
    assert talk.link.call("stop", {"thread": thread}, timeout=PATIENCE)["stopped"] is True
    assert talk.outcome(thread)["state"] == "stopped"
    until(lambda: not alive(pid), what="the old process gone")
    ready(daemon)
    assert child(daemon) != pid
    assert talk.answered("Say hello.").strip()


def test_killed_in_the_middle_of_an_answer_the_turn_says_so_and_the_next_is_answered(
    daemon: Daemon, talk: Talk
) -> None:
    ready(daemon)
    thread = talk.say("Write a very long story about a river, with as many details as you can.")
    talk.wait("content_delta", thread)
    os.kill(child(daemon), signal.SIGKILL)
    outcome = talk.outcome(thread)
    assert outcome["state"] in ("failed", "answered"), "what it had said is kept"
    assert "ended in the middle of its answer" in str(outcome) + str(talk.link.call("history", {"thread": thread}))
    assert talk.answered("Say hello.").strip()


def test_another_source_takes_its_place_and_it_can_be_had_back(daemon: Daemon, talk: Talk) -> None:
    ready(daemon)
    pid = child(daemon)
    with fake_openai_thread() as fake:
        added = daemon.run(
            "models", "add", "fake", "--base-url", fake.url, "--model", fake.model, "--api-key", fake.key
        )
        assert added.code == 0, added
        until(lambda: not alive(pid), what="the built-in model ended")
        assert model(daemon)["kind"] == "remote"
        assert talk.answered("hello") == "You said: hello"
        assert daemon.run("models", "use", "embedded").code == 0
        ready(daemon)
        refused = daemon.run("models", "remove", "embedded")
        assert (refused.code, "cannot be removed" in refused.err) == (1, True)
        assert daemon.run("models", "remove", "fake").code == 0
    assert model(daemon)["source"] == "embedded"


def test_any_gguf_file_can_answer_added_beside_a_running_daemon(
    daemon: Daemon, talk: Talk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = in_wheel()
    assert file is not None
    (tmp_path / "mine.gguf").symlink_to(file)
    monkeypatch.chdir(tmp_path)
    added = daemon.run("models", "add", "mine", "--gguf", "mine.gguf", "--context-window", "1024", "--no-tools")
    assert added.code == 0, added
    assert daemon.run("models", "use", "mine").code == 0
    source = next(one for one in daemon.json("models", "list") if one["name"] == "mine")
    assert (source["kind"], source["path"], source["context_window"]) == ("gguf", str(tmp_path / "mine.gguf"), 1024)
    try:
        assert talk.answered("hi").strip()
        assert model(daemon)["kind"] == "gguf"
        (tmp_path / "none.gguf").write_text("no model")
        refused = daemon.run("models", "add", "other", "--gguf", "none.gguf")
        assert (refused.code, "not a GGUF file" in refused.err) == (1, True)
    finally:
        daemon.run("models", "remove", "mine")
    ready(daemon)


def test_killed_it_leaves_nothing_and_a_damaged_file_is_put_right_at_the_next_start(daemon: Daemon) -> None:
    ready(daemon)
    pid = child(daemon)
    daemon.kill()
    until(lambda: not alive(pid), what="the model gone with its daemon")
    weights = daemon.data / "models" / SMOLLM2.name
    with weights.open("r+b") as file:
        file.seek(50_000_000)
        file.write(b"not what it was")
    daemon.start()
    ready(daemon)
    assert daemon.run("models", "install").code == 0
    with talking(daemon) as talk:
        assert talk.answered("hi").strip()
    assert daemon.stop() == 0
    assert daemon.descendants() == []
    daemon.start()


def test_the_commands_work_on_the_folder_of_a_stopped_daemon_too(tmp_path: Path) -> None:
    file = in_wheel()
    assert file is not None
    data, env = ("--data", str(tmp_path / "data")), {**os.environ, **ENV}
    added = run_homed("models", "add", "mine", "--gguf", str(file), *data, env=env)
    assert added.code == 0, added
    both = ("--gguf", str(file), "--base-url", "http://x/v1", "--model", "m")
    refused = run_homed("models", "add", "wrong", *both, *data, env=env)
    assert (refused.code, "--gguf FILE" in refused.err) == (2, True), refused
    refused = run_homed("models", "add", "wrong", "--base-url", "http://x/v1", *data, env=env)
    assert (refused.code, "names no model" in refused.err) == (1, True), refused  # a known one's may stay as it is
    listed = run_homed("models", "list", *data, env=env)
    assert "built in: small and slow" in listed.out
    assert str(file) in listed.out
    tried = run_homed("models", "test", "mine", *data, env=env, timeout=PATIENCE)
    assert (tried.code, "answered in" in tried.out) == (0, True), tried
    assert not (tmp_path / "data" / "models").exists(), "the built-in weights were not needed"
    installed = run_homed("models", "install", *data, env=env)
    assert (installed.code, SMOLLM2.name in installed.out) == (0, True)
