"""A real ``homed`` on a folder of its own, as a person would start it; and the processes that belong to it."""

from __future__ import annotations

import hashlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from homed.errors import Unavailable
from waiter.endpoint import places
from waiter.link import dial

PATIENCE = 60.0
"""Seconds that a shared, noisy machine may take for what normally takes two."""

BUILT_IN = "HOMED__CORE__LLM__EMBEDDED"
"""Off in every daemon and command of the tests that does not turn it on: the built-in model takes 98 MB of disk, 200 MB
of memory and a second of a core each time, and without it there is a daemon with no model at all to look at."""

READING = "HOMED__CORE__MEMORY__EXTRACT_ENABLED"
"""Off in every daemon of the tests that does not turn it on: what a model is asked in the background about a turn would
take the scripted answers of the next one, and be counted with its questions.  What happened is recorded all the same,
without a model."""

VECTORS = "HOMED__CORE__MEMORY__EMBEDDING"
"""What makes vectors.  Tests that look at something else may set it to "off": the model that comes along is two more
processes at each start, a third of what the start takes, and what is said makes them work."""


@dataclass(frozen=True)
class Ran:
    """A finished command."""

    code: int
    out: str
    err: str


def until(condition: Any, *, within: float = PATIENCE, what: str = "") -> Any:
    """Poll until ``condition()`` is true and return it.  For other processes only, whose events we cannot wait on."""
    deadline = time.monotonic() + within
    while not (value := condition()):
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {within:g} s: {what or condition}")
        time.sleep(0.02)
    return value


class Daemon:
    """``homed run`` in a child process.  ``start`` returns when it is up."""

    def __init__(self, data: Path, *options: str, env: Mapping[str, str] | None = None) -> None:
        self.data = data
        self.options = options
        self.env = {**os.environ, BUILT_IN: "off", READING: "off", "PYTHONWARNINGS": "default", **(env or {})}
        self.program: Sequence[str] = (sys.executable, "-m", "homed")
        self.process: subprocess.Popen[bytes] | None = None
        self.log = data.parent / f"{data.name}.out"

    def __enter__(self) -> Daemon:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.end()

    def start(self, *, link: bool = True) -> Daemon:
        """Start it, and wait for the login link (``link=False``: for the word that it is up)."""
        command = [*self.program, "run", "--data", str(self.data), *self.options]
        if not any(option.startswith("--listen") for option in self.options):
            command += ["--listen", "127.0.0.1:0"]
        with self.log.open("ab") as out:
            self.log_start = out.tell()
            self.process = subprocess.Popen(command, stdout=out, stderr=out, stdin=subprocess.DEVNULL, env=self.env)
        until(lambda: (self.link if link else "homed is up" in self.said) or self.exited, what="a login link")
        if self.exited:
            raise AssertionError(f"homed left with {self.process.returncode}:\n{self.said}")
        if link:  # the page starts before the terminal socket
            until(lambda: self.answers or not self._cli_comes, what="the terminal socket")
        return self

    @property
    def _cli_comes(self) -> bool:
        return "HOMED_SOCKET" not in self.env and not self.exited

    @property
    def said(self) -> str:
        """What it printed since its last start."""
        return self.log.read_bytes()[self.log_start :].decode("utf-8", "replace")

    @property
    def link(self) -> str:
        """The login link it printed; empty before."""
        found = re.search(r"http://\S+/login#\S+", self.said)
        return found[0] if found else ""

    @property
    def url(self) -> str:
        """Where the page is, without a slash at the end."""
        return self.link.split("/login#")[0]

    @property
    def socket(self) -> Path:
        """The terminal socket."""
        return self.data / "run" / "cli.sock"

    @property
    def answers(self) -> bool:
        """Whether somebody answers at the terminal socket: its file is there a moment before anybody listens."""
        try:
            dial(places({}, data=str(self.data))).close()
        except Unavailable:
            return False
        return True

    @property
    def pid(self) -> int:
        """The daemon's own pid."""
        assert self.process is not None
        return self.process.pid

    @property
    def exited(self) -> bool:
        """Whether it has gone."""
        return self.process is not None and self.process.poll() is not None

    def send(self, number: signal.Signals) -> None:
        """Send a signal."""
        assert self.process is not None
        self.process.send_signal(number)

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Stop it as systemd would and return its exit code."""
        self.send(number)
        return self.wait()

    def kill(self) -> None:
        """kill -9."""
        self.send(signal.SIGKILL)
        self.wait()

    def wait(self, within: float = PATIENCE) -> int:
        """Wait for its end."""
        assert self.process is not None
        return self.process.wait(within)

    def end(self) -> None:
        """Whatever happened, leave nothing behind."""
        if self.process is not None and not self.exited:
            self.send(signal.SIGTERM)
            try:
                self.wait(20)
            except subprocess.TimeoutExpired:
                self.kill()
        for pid in self.descendants():
            os.kill(pid, signal.SIGKILL)

    def descendants(self) -> list[int]:
        """Every living process that this daemon, or one of its children, ever started."""
        family = hashlib.sha256(str(self.data.resolve()).encode()).hexdigest()[:8]
        marks = (f"HOMED_MARK={family}:", f"HOMED_MARK={family}-model:")
        return sorted(pid for pid in _pids() if (said := _environ(pid)) and any(mark in said for mark in marks))

    def run(self, *words: str, stdin: str | None = None, timeout: float = PATIENCE) -> Ran:
        """``homed WORDS --data …`` as a separate process."""
        return run_homed(*words, "--data", str(self.data), stdin=stdin, timeout=timeout, env=self.env)

    def json(self, *words: str) -> Any:
        """The JSON that ``homed WORDS --json`` prints."""
        ran = self.run(*words, "--json")
        assert ran.code == 0, ran
        return json.loads(ran.out)

    def ask(self, method: str, **params: object) -> dict[str, Any]:
        """One call through the terminal socket, as the owner: what a command asks, without the start of a command."""
        link = dial(places({}, data=str(self.data)))
        try:
            return link.call(method, params, timeout=PATIENCE)
        finally:
            link.close()

    def new_link(self) -> str:
        """What `homed link` prints."""
        return str(self.ask("admin.link")["url"])

    def plugin(self, name: str) -> dict[str, Any]:
        """One plugin as `homed plugin list` shows it."""
        return next(p for p in self.ask("admin.plugins")["plugins"] if p["name"] == name)


def run_homed(
    *words: str, stdin: str | None = None, timeout: float = PATIENCE, env: Mapping[str, str] | None = None
) -> Ran:
    """Any ``homed`` command."""
    return run_command([sys.executable, "-m", "homed", *words], stdin=stdin, timeout=timeout, env=env)


def run_command(
    argv: Sequence[str], *, stdin: str | None = None, timeout: float = PATIENCE, env: Mapping[str, str] | None = None
) -> Ran:
    """Any command, to its end."""
    ran = subprocess.run(
        argv,
        input=(stdin or "").encode(),
        capture_output=True,
        timeout=timeout,
        env={BUILT_IN: "off", **(env or os.environ)},
        check=False,
    )
    return Ran(ran.returncode, ran.stdout.decode("utf-8"), ran.stderr.decode("utf-8"))


def _pids() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def _environ(pid: int) -> str:
    """A process's environment; empty for a zombie."""
    try:
        return Path(f"/proc/{pid}/environ").read_bytes().decode("utf-8", "replace")
    except OSError:
        return ""


def zombies_of(pid: int) -> list[int]:
    """Zombie children of a living process."""
    found = []
    for child in _pids():
        try:
            fields = Path(f"/proc/{child}/stat").read_text("ascii", "replace").rsplit(")", 1)[1].split()
        except OSError:
            continue
        if fields[0] == "Z" and int(fields[1]) == pid:
            found.append(child)
    return found
