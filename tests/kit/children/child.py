"""A tiny plugin in plain Python, no SDK: speaks the wire with the standard library, and misbehaves on command.

``python child.py MODE``; the modes stand in ``AT_START``, ``WHEN_READY`` and `Child`.  Its one tool is ``echo_NAME``.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

OUT = sys.stdout.buffer
LOCK = threading.Lock()
TOOLS = ["echo_" + os.environ["HOMED_PLUGIN"]]


def raw(data: bytes) -> None:
    with LOCK:
        OUT.write(data)
        OUT.flush()


def say(**message: Any) -> None:
    raw(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")


def reply(request: dict[str, Any], result: object) -> None:
    say(id=request["id"], result=result)


def refuse(request: dict[str, Any], code: str, message: str) -> None:
    say(id=request["id"], error={"code": -32000, "message": message, "data": {"code": code}})


def segfault() -> None:
    ctypes.string_at(0)


def flood_lines() -> None:
    while True:
        raw(b"noise, noise, noise\n" * 100)


def flood_calls() -> None:
    while True:
        raw(b'{"jsonrpc":"2.0","method":"nonsense","params":{}}\n' * 100)


def flood_cancellations() -> None:
    while True:
        raw(b'{"jsonrpc":"2.0","method":"$/cancel","params":{"id":1}}\n' * 100)


def flood_blank() -> None:
    while True:
        raw(b"\n" * 10_000)


def flood_stderr() -> None:
    for _ in range(200):
        sys.stderr.write("x" * 1000 + "\n" + ("y" * 99 + "\n") * 500)


def endless_line() -> None:
    chunk = b"A" * (1 << 20)
    for _ in range(1024):
        raw(chunk)
    raw(b"\n")


def grandchildren() -> None:
    """One in the group, one that left the session, one adopted by whoever reaps (its parent is gone)."""
    subprocess.Popen(["sleep", "600"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    subprocess.Popen(["sleep", "600"], start_new_session=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    subprocess.run(["sh", "-c", "sleep 600 >/dev/null 2>&1 & setsid sleep 600 >/dev/null 2>&1 &"], check=True)


def announce(text: str) -> Callable[[], None]:
    return lambda: raw(text.encode())


AT_START: dict[str, Callable[[], None]] = {
    "exit1": lambda: os._exit(1),
    "exit0": lambda: os._exit(0),
    "banner": announce("hello 🔄\n"),
    "no-newline": lambda: raw(b"z" * (1 << 20) + b"\n"),
    "bad-utf8": lambda: raw(b'{"jsonrpc":"2.0","method":"\xff\xfe"}\n'),
    "unknown-id": lambda: say(id=4711, result={}),
    "slow-handshake": lambda: time.sleep(3600),
    "grandchildren": grandchildren,
    "segfault-start": segfault,
}
"""Done before the first message is read."""


def close_stdout() -> None:
    """And stays: who reads has to find out by the end of what it reads, not of the process."""
    os.close(1)
    time.sleep(3600)


WHEN_READY: dict[str, Callable[[], None]] = {
    "flood-lines": flood_lines,
    "flood-calls": flood_calls,
    "flood-stderr": flood_stderr,
    "flood-cancellations": flood_cancellations,
    "flood-blank": flood_blank,
    "1gib": endless_line,
    "exit1-ready": lambda: os._exit(1),
    "exit0-ready": lambda: os._exit(0),
    "close-stdout": close_stdout,
}
"""Done once plugin.start was answered."""


class Child:
    def __init__(self, mode: str) -> None:
        self.mode = mode
        self.cancelled: set[Any] = set()

    def handle(self, message: dict[str, Any]) -> None:
        method = message.get("method", "")
        handler = getattr(self, "on_" + method.replace(".", "_").replace("$/", "").replace("/", "_"), None)
        if handler is not None:
            handler(message)
        elif "id" in message and method:
            refuse(message, "not_found", f"no method {method}")

    def on_handshake(self, message: dict[str, Any]) -> None:
        protocol = 99 if self.mode == "bad-protocol" else 1
        reply(message, {"protocol": protocol, "sdk": "raw/1", "pid": os.getpid()})

    def on_plugin_init(self, message: dict[str, Any]) -> None:
        tools = ["other"] if self.mode == "other-tool" else [] if self.mode == "no-tool" else TOOLS
        reply(message, {"tools": tools, "stages": [], "outputs": [], "inputs": []})

    def on_plugin_start(self, message: dict[str, Any]) -> None:
        if self.mode == "config":
            refuse(message, "config", "The port 8080 is in use.")
            return
        sys.stderr.write(f"started {self.mode}\n")
        sys.stderr.flush()
        reply(message, {})
        if self.mode in WHEN_READY:
            WHEN_READY[self.mode]()

    def on_plugin_ping(self, message: dict[str, Any]) -> None:
        reply(message, {})

    def on_plugin_stop(self, message: dict[str, Any]) -> None:
        if self.mode in ("hang-on-stop", "ignore-term"):
            return
        reply(message, {})
        os._exit(0)

    def on_cancel(self, message: dict[str, Any]) -> None:
        if self.mode == "ignore-cancel":
            return
        say(id=message["params"]["id"], error={"code": -32000, "message": "stopped", "data": {"code": "stopped"}})

    def on_tool_invoke(self, message: dict[str, Any]) -> None:
        args = message["params"]["args"]
        what = args.get("do", "")
        if what == "exit":
            os._exit(int(args.get("code", 3)))
        elif what == "segfault":
            segfault()
        elif what == "sleep":
            return
        elif what == "fail":
            refuse(message, args.get("code", "internal"), "it went wrong")
        elif what == "env":
            reply(message, {"content": dict(os.environ), "is_error": False})
        elif what == "cwd":
            reply(message, {"content": [os.getcwd(), *sys.path[:1]], "is_error": False})
        elif what == "stderr":
            sys.stderr.write(args["text"])
            sys.stderr.flush()
            reply(message, {"content": "", "is_error": False})
        elif what == "grandchildren":
            grandchildren()
            reply(message, {"content": "", "is_error": False})
        elif what == "call":
            self.waiting = message
            say(id="k1", method=args["method"], params=args.get("params", {}))
        else:
            reply(message, {"content": args, "is_error": False})

    def on_schedule_invoke(self, message: dict[str, Any]) -> None:
        sys.stderr.write("schedule " + json.dumps(message["params"], sort_keys=True) + "\n")
        sys.stderr.flush()
        reply(message, {})

    def on_event(self, message: dict[str, Any]) -> None:
        sys.stderr.write("event " + json.dumps(message["params"], sort_keys=True) + "\n")
        sys.stderr.flush()

    def on_settings_changed(self, message: dict[str, Any]) -> None:
        sys.stderr.write("setting " + json.dumps(message["params"], sort_keys=True) + "\n")
        sys.stderr.flush()

    def answered(self, message: dict[str, Any]) -> None:
        reply(
            self.waiting, {"content": {k: message[k] for k in ("result", "error") if k in message}, "is_error": False}
        )


def main(mode: str) -> None:
    if mode == "ignore-term":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if mode in AT_START:
        AT_START[mode]()
    child = Child(mode)
    for line in sys.stdin.buffer:
        message = json.loads(line)
        if message.get("id") == "k1" and "method" not in message:
            child.answered(message)
        else:
            child.handle(message)
    while mode in ("hang-on-stop", "ignore-term"):
        time.sleep(3600)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "good")
