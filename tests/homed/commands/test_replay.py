"""`homed models replay` as it is typed: a recording through its adapter, without its source."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest
import trio

from homed.net import open_http
from homed.providers.base import ChatRequest, Source, User
from homed.providers.cassette import tape_named
from homed.providers.http import HttpPorts
from homed.providers.openai import openai
from homed.redact import Redactor
from tests.homed.commands.test_models import OWNED, data, models, server
from tests.kit.fake_openai import FakeOpenAI

__all__ = ["data", "server"]  # the fixtures

SSE = {"content-type": "text/event-stream"}


def said(delta: object, reason: str | None = None) -> str:
    return f"data: {json.dumps({'choices': [{'index': 0, 'delta': delta, 'finish_reason': reason}]})}\n\n"


def call(index: int, name: str, arguments: str) -> dict[str, Any]:
    return {"tool_calls": [{"index": index, "id": f"c{index}", "type": "function",
                            "function": {"name": name, "arguments": arguments}}]}  # fmt: skip


def exchange(*chunks: object, status: int = 200, **more: object) -> dict[str, Any]:
    return {
        "v": 1, "source": "mine", "adapter": "openai", "url": "https://api.example/v1/chat/completions",
        "request": {"model": "m"}, "status": status, "headers": SSE, "chunks": list(chunks), "ended": "whole", **more,
    }  # fmt: skip


def tape(data: str, *exchanges: object) -> None:
    folder = Path(data) / "cassettes"
    folder.mkdir()
    (folder / "trip.jsonl").write_text("".join(json.dumps(one) + "\n" for one in exchanges))


def played(data: str, capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> list[dict[str, Any]]:
    assert models(data, "replay", "trip", "--json", *words) == code
    found: list[dict[str, Any]] = json.loads(capsys.readouterr().out)
    return found


def test_what_would_be_stored_is_shown_as_the_adapter_reads_it(data: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A character that two pieces share, and the fragments of two calls by turns."""
    stream = said({"content": "你好 "}) + said(call(0, "look", '{"at"')) + said(call(1, "now", "{"))
    rest = said(call(0, "", ': "a"}')) + said(call(1, "", "}")) + said({}, "tool_calls") + "data: [DONE]\n\n"
    raw = json.loads(json.dumps(stream)).encode().replace(b"\\u4f60", "你".encode())
    cut = raw.index("你".encode()) + 1
    pieces = [{"bytes": _b64(raw[:cut])}, {"bytes": _b64(raw[cut:])}, rest]
    tape(data, exchange(*pieces))
    (one,) = played(data, capsys)
    assert one["stored"]["text"] == "你好 "
    assert [(c["name"], c["arguments"]) for c in one["stored"]["calls"]] == [("look", {"at": "a"}), ("now", {})]
    assert (one["stored"]["reason"], one["error"]) == ("tool_calls", None)


def _b64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def test_a_fault_is_told_as_it_would_be(data: str, capsys: pytest.CaptureFixture[str]) -> None:
    busy = exchange('{"error": {"message": "slow down"}}', status=429, headers={"retry-after": "3600"})
    tape(data, busy, exchange(said({"content": "half"}), ended="cut"), exchange("data: {nonsense\n\n"))
    refused, cut, broken = played(data, capsys, code=1)
    assert (refused["error"]["kind"], refused["error"]["status"]) == ("transient", 429)
    assert "60 minutes" in refused["error"]["hint"]
    assert (cut["stored"]["text"], cut["error"]["partial"]) == ("half", True)
    assert "cannot be read" in broken["error"]["message"]
    (only,) = played(data, capsys, "--only", "2", code=1)
    assert only == cut


def test_it_is_shown_to_people_without_control_characters(data: str, capsys: pytest.CaptureFixture[str]) -> None:
    tape(data, exchange(said({"content": OWNED}), said({}, "stop"), "data: [DONE]\n\n", source=f"mine{OWNED}"))
    assert models(data, "replay", "trip") == 0
    out = capsys.readouterr().out
    assert "text: " in out
    assert "\x1b" not in out
    assert "HTTP 200" in out


@pytest.mark.parametrize(
    "words", [["none"], ["../x"], ["trip", "--only", "2"], ["trip", "--adapter", "nobody"], ["lua"]]
)
def test_what_cannot_be_played_is_said(data: str, capsys: pytest.CaptureFixture[str], words: list[str]) -> None:
    tape(data, exchange("data: [DONE]\n\n"))
    script = json.dumps(exchange("x", adapter="lua:../mine")) + "\n"
    (Path(data) / "cassettes" / "lua.jsonl").write_text(script)
    assert models(data, "replay", *words) == 1
    told = capsys.readouterr()
    assert told.err
    assert not told.out


SCRIPT = """
function transform_request(request, source)
  local token = json.decode(http_get(source.base_url .. "/token", {}).body)
  return { url = source.base_url .. "/chat", headers = {}, body = json.encode({ t = token.t }) }
end
function transform_stream_chunk(chunk, state)
  local said = json.decode(chunk)
  if said.fin then return { { type = "done", reason = "stop" } } end
  return { { type = "content", text = said.say } }
end
function transform_response(body, state)
  return {}
end
"""


def test_a_script_reads_what_it_would(data: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The bundled one that was recorded; and one that is not there."""
    stream = said({"content": "hel"}) + said({"content": "lo"}) + said({}, "stop") + "data: [DONE]\n\n"
    tape(data, exchange(stream, adapter="lua:openai"))
    (one,) = played(data, capsys)
    assert (one["stored"]["text"], one["error"]) == ("hello", None)
    (gone,) = played(data, capsys, "--adapter", "lua:gone", code=1)
    assert "gone.lua" in gone["error"]["message"]


def test_what_a_script_fetches_is_answered_from_before(data: str, capsys: pytest.CaptureFixture[str]) -> None:
    (Path(data) / "adapters").mkdir()
    (Path(data) / "adapters" / "mine.lua").write_text(SCRIPT)
    token = exchange('{"t": 1}', url="https://api.example/v1/token", headers={}, request=None)
    tape(data, token, exchange('data: {"say":"hi"}\n\ndata: {"fin":true}\n\n', adapter="lua:mine"))
    (two,) = played(data, capsys, "--only", "2")
    assert (two["stored"]["text"], two["error"]) == ("hi", None)
    (Path(data) / "cassettes" / "trip.jsonl").write_text(json.dumps(exchange("x", adapter="lua:mine")) + "\n")
    (alone,) = played(data, capsys, code=1)
    assert "mine.lua" in alone["error"]["message"]


def test_what_was_recorded_is_played_and_the_source_is_not_asked(
    data: str, server: FakeOpenAI, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nor does a key come out of it that its answer held, whose pieces the recording has in several."""
    server.say(f"hello there, {server.key}")
    trio.run(_record, data, server)
    assert models(data, "replay", "trip", "--json") == 0
    out = capsys.readouterr().out
    (one,) = json.loads(out)
    assert one["stored"]["text"].startswith("hello there, ")
    assert server.key not in out
    assert len(server.chats) == 1


async def _record(data: str, server: FakeOpenAI) -> None:
    redactor, source = Redactor(), Source("mine", server.url, server.model)
    tape = tape_named(Path(data) / "cassettes", "trip", redactor.redact)
    async with open_http() as http, tape.client(source, lambda: server.key, http) as client:
        provider = openai(source, HttpPorts(client, lambda: server.key))
        async with provider.stream(ChatRequest((User("hi"),))) as parts:
            async for _ in parts:
                pass
