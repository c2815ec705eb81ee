"""A bundled script run in this process: what it makes of requests and answers, without a child between."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from homed.providers.base import ChatRequest, Source
from homed.providers.failures import Where
from homed.providers.lua import request as requests
from homed.providers.lua import shelf
from homed.providers.lua.adapter import Telling
from homed.providers.lua.life import ScriptFailed
from homed.providers.lua.state import Limits, Outcome, State


class Failed(Exception):
    """The script failed: why, the kind, the parts before."""

    def __init__(self, outcome: Outcome) -> None:
        super().__init__(outcome[1].decode())
        self.kind = outcome[2].decode()
        self.parts = json.loads(outcome[4])


class InProcess:
    """One script in a state of its own."""

    def __init__(self, source: str, name: str = "mine.lua", limits: Limits | None = None) -> None:
        self.name = name
        self.said: list[tuple[str, str]] = []
        self._ids = itertools.count(1)
        self.state = State(name, lambda level, line: self.said.append((level.decode(), line.decode())), limits)
        self.run("load", source)

    def run(self, kind: str, *given: str, stream: int | None = None) -> Any:
        """One call; raises Failed."""
        first = () if stream is None else (stream,)
        words = [one.encode("utf-8", "surrogatepass") for one in given]
        outcome = self.state.start(next(self._ids), kind, *first, *words)
        if outcome[0] == b"fail":
            raise Failed(outcome)
        assert outcome[0] == b"done", outcome
        value = json.loads(outcome[1].decode("utf-8", "surrogatepass"))
        return {**value, "body": outcome[2].decode("utf-8", "surrogatepass")} if outcome[2] else value

    def request(self, source: Source, request: ChatRequest, stream: int = 1) -> requests.Outgoing:
        """What goes out for it."""
        given = requests.given(source, request, has_key=True)
        said = self.run("request", given.request, given.source, stream=stream)
        return requests.outgoing(source, said, given.media)

    def chunks(self, *events: str, stream: int = 1) -> Any:
        """The parts of these events."""
        return self.run("chunks", json.dumps([["", event] for event in events]), stream=stream)


def bundled(name: str) -> InProcess:
    """One of the scripts that come along."""
    return InProcess((shelf.BUNDLED / f"{name}.lua").read_text(), f"{name}.lua")


def complete(functions: str = "") -> str:
    """A script that does nothing, with these functions in it."""
    return f"""
function transform_request(request, source) return {{ url = source.base_url, body = {{}} }} end
function transform_response(body) return nil end
function transform_stream_chunk(chunk, state) return nil end
{functions}"""


SCRIPTS = sorted(path.stem for path in Path(shelf.BUNDLED).glob("*.lua"))
Run = Callable[[], Any]


class Stream:
    """Stands where an answer in a child would be."""

    def __init__(self, script: InProcess, number: int = 1) -> None:
        self._script = script
        self._number = number
        self.telling = Telling(script.name, Where("test", "nowhere"))

    async def call(self, kind: str, *given: str) -> Any:
        """One function of the script."""
        try:
            return self._script.run(kind, *given, stream=self._number)
        except Failed as error:
            failed = ScriptFailed(str(error), error.kind, error.parts)
            if failed.parts:
                raise failed from None
            self.telling.failed(failed)

    def close(self) -> None:
        """It is over."""
        self._script.state.drop(self._number)
