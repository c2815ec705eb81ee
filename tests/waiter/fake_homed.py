"""A daemon's socket as waiter sees it: speaks the real wire, says what a test tells it to, can die and come back."""

from __future__ import annotations

import os
import select
import socket
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from homed.errors import HomedError, NotFound
from homed.wire import rpc

Params = Mapping[str, Any]
Answer = Callable[["Caller", Params], Any]


class Caller:
    """One connected waiter."""

    def __init__(self, sock: socket.socket) -> None:
        self.socket = sock
        self.peer = rpc.Peer()
        self.waiting: dict[str, rpc.Id] = {}
        self.seq = 0

    def event(self, type_: str, *, thread: str = "th", turn: str = "tu", **data: Any) -> None:
        """Send a notice."""
        self.seq += 1
        params = {
            "seq": self.seq,
            "at": 0.0,
            "type": type_,
            "thread": thread,
            "turn": turn,
            "scope": "owner",
            "data": data,
        }
        self.socket.sendall(self.peer.notify("event", params))

    def finish(self, text: str, state: str = "answered", *, input: str = "in", **rest: Any) -> None:
        """Answer the ``wait`` for an input."""
        outcome = {"state": state, "text": text, "error": "", "hint": "", "usage": {}, **rest}
        result = {"input": input, "thread": "th", "state": state, "outcome": outcome}
        self.socket.sendall(self.peer.reply(self.waiting.pop(input), result))


class FakeHomed:
    """Serves in a thread.  ``script`` runs when a waiter waits for its answer; ``answers`` replaces other replies."""

    def __init__(self, path: Path, script: Callable[[Caller], None] = lambda caller: caller.finish("hello")) -> None:
        self.path = path
        self.script = script
        self.calls: list[tuple[str, Params]] = []
        self.answers: dict[str, Answer] = {}
        self.errors: list[BaseException] = []
        self._accepted: set[str] = set()
        self._thread: threading.Thread | None = None

    def __enter__(self) -> FakeHomed:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()
        assert not self.errors, self.errors

    def start(self) -> FakeHomed:
        """Listen."""
        with suppress(FileNotFoundError):
            self.path.unlink()
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        folder = os.open(self.path.parent, os.O_RDONLY)
        self._listener.bind(f"/proc/self/fd/{folder}/{self.path.name}")
        os.close(folder)
        self._listener.listen()
        self._near, self._far = socket.socketpair()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()
        return self

    def stop(self) -> None:
        """Hang up on everybody and go, as a killed daemon does: the socket's file stays."""
        if self._thread is not None:
            self._near.send(b"x")
            self._thread.join(10)
            self._thread = None
            for sock in (self._listener, self._near, self._far):
                sock.close()

    def named(self, method: str) -> list[Params]:
        """The parameters of every call of a method."""
        return [params for name, params in self.calls if name == method]

    def _serve(self) -> None:
        callers: dict[socket.socket, Caller] = {}
        try:
            while True:
                ready, _, _ = select.select([self._listener, self._far, *callers], [], [])
                if self._far in ready:
                    return
                if self._listener in ready:
                    sock, _ = self._listener.accept()
                    callers[sock] = Caller(sock)
                for sock in [sock for sock in ready if sock in callers]:
                    if not self._hear(callers[sock]):
                        sock.close()
                        del callers[sock]
        except Hangup:
            return
        except (AssertionError, LookupError, TypeError, OSError) as error:
            self.errors.append(error)
        finally:
            for sock in callers:
                sock.close()

    def _hear(self, caller: Caller) -> bool:
        """Answer what came; False once the client has left, also while it was being answered."""
        try:
            data = caller.socket.recv(1 << 16)
            for message in caller.peer.feed(data):
                assert isinstance(message, rpc.Request), message
                self.calls.append((message.method, message.params))
                try:
                    self._answer(caller, message)
                except HomedError as error:
                    caller.socket.sendall(caller.peer.error(message.id, error))
        except ConnectionError:
            return False
        return bool(data)

    def _answer(self, caller: Caller, request: rpc.Request) -> None:
        if request.method in self.answers:
            result = self.answers[request.method](caller, request.params)
        elif request.method == "hello":
            result = {"protocol": 1, "core_version": "0", "peer": "cli:owner"}
        elif request.method == "chat":
            key = request.params["client_msg_id"]
            result = {
                "input": "in",
                "thread": "th",
                "state": "running",
                "duplicate": key in self._accepted,
                "outcome": None,
            }
            self._accepted.add(key)
        elif request.method == "wait":
            caller.waiting[request.params["input"]] = request.id
            self.script(caller)
            return
        elif request.method == "history":
            result = {"thread": {}, "events": [], "more": False, "live": None, "approvals": [], "seq": 1}
        elif request.method in ("subscribe", "approve"):
            result = {}
        elif request.method == "stop":
            caller.socket.sendall(caller.peer.reply(request.id, {"stopped": True}))
            caller.finish("so far", "stopped")
            return
        else:
            raise NotFound(f"There is no method {request.method}.")
        caller.socket.sendall(caller.peer.reply(request.id, result))


class Hangup(Exception):
    """Raised by a script: the daemon dies here."""
