"""The blocking client against a real Unix socket, with a scripted other side."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from homed.errors import NotFound, ProtocolError, TimedOut, Unavailable
from homed.wire.blocking import BlockingClient

Talk = Callable[[socket.socket], object]


@contextmanager
def listening(path: Path, talk: Talk) -> Iterator[Path]:
    """Serve one connection with ``talk`` in a thread, and join it."""
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        server.listen(1)

        def serve() -> None:
            connection, _ = server.accept()
            with connection:
                talk(connection)

        thread = threading.Thread(target=serve)
        thread.start()
        yield path
        thread.join(10)
        assert not thread.is_alive()


def read_line(connection: socket.socket) -> dict[str, Any]:
    data = b""
    while not data.endswith(b"\n"):
        data += connection.recv(4096)
    message: dict[str, Any] = json.loads(data)
    return message


def line(**message: object) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **message}, ensure_ascii=False).encode() + b"\n"


def test_a_result_comes_back_byte_exact_also_one_byte_at_a_time(tmp_path: Path) -> None:
    def talk(connection: socket.socket) -> None:
        asked = read_line(connection)
        for byte in line(id=asked["id"], result={"echo": asked["params"]["text"]}):
            connection.sendall(bytes([byte]))

    with listening(tmp_path / "s", talk) as path, BlockingClient(path) as client:
        assert client.call("chat", {"text": "你好🌍"}) == {"echo": "你好🌍"}


def test_notices_on_the_way_go_to_the_caller_in_order(tmp_path: Path) -> None:
    def talk(connection: socket.socket) -> None:
        asked = read_line(connection)
        connection.sendall(line(method="event", params={"seq": 1}) + line(method="event", params={"seq": 2}))
        connection.sendall(line(id=asked["id"], result={}))

    seen: list[int] = []
    with listening(tmp_path / "s", talk) as path, BlockingClient(path) as client:
        client.call("chat", on_notice=lambda _method, params: seen.append(params["seq"]))
    assert seen == [1, 2]


def test_an_error_comes_back_as_ours(tmp_path: Path) -> None:
    def talk(connection: socket.socket) -> None:
        error = {"code": -32000, "message": "no such thread", "data": {"code": "not_found", "hint": "list them"}}
        connection.sendall(line(id=read_line(connection)["id"], error=error))

    with listening(tmp_path / "s", talk) as path, BlockingClient(path) as client, pytest.raises(NotFound) as caught:
        client.call("history")
    assert caught.value.hint == "list them"


def test_nobody_there_is_said_with_the_place(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match=r"gone\.sock"):
        BlockingClient(tmp_path / "gone.sock")


def test_the_other_side_leaving_in_mid_call_is_no_silence(tmp_path: Path) -> None:
    gone = pytest.raises(Unavailable, match="before chat was answered")
    with listening(tmp_path / "s", read_line) as path, BlockingClient(path) as client, gone:
        client.call("chat")


def test_a_silent_other_side_is_given_up_and_the_message_is_truthful(tmp_path: Path) -> None:
    done = threading.Event()
    with listening(tmp_path / "s", lambda _: done.wait(10)) as path, BlockingClient(path) as client:
        with pytest.raises(TimedOut, match="may still be running"):
            client.call("chat", timeout=0.05)
        done.set()


def test_garbage_is_named(tmp_path: Path) -> None:
    def talk(connection: socket.socket) -> None:
        read_line(connection)
        connection.sendall(b"\xff\xfe not json\n")

    with listening(tmp_path / "s", talk) as path, BlockingClient(path) as client, pytest.raises(ProtocolError):
        client.call("chat")


def test_a_call_from_the_other_side_is_refused_and_the_answer_still_comes(tmp_path: Path) -> None:
    refusals: list[dict[str, Any]] = []

    def talk(connection: socket.socket) -> None:
        asked = read_line(connection)
        connection.sendall(line(id="x", method="tool.invoke", params={}))
        refusals.append(read_line(connection))
        connection.sendall(line(id=asked["id"], result=1))

    with listening(tmp_path / "s", talk) as path, BlockingClient(path) as client:
        assert client.call("chat") == 1
    assert refusals[0]["error"]["message"] == "This client takes no calls."


def test_a_socket_deeper_than_an_address_is_long_is_reached(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def talk(connection: socket.socket) -> None:
        connection.sendall(line(id=read_line(connection)["id"], result={}))

    deep = tmp_path / ("x" * 120)
    deep.mkdir()
    monkeypatch.chdir(deep)
    with listening(Path("s"), talk), BlockingClient(deep / "s") as client:
        assert client.call("ping") == {}
    with pytest.raises(Unavailable):
        BlockingClient(deep / "gone")
