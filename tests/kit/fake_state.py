"""A fake model server as its test sees it: what it insists on, what it will answer, what it was asked."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import trio

from tests.kit.fake_script import Call, Reply, Script
from tests.kit.fake_wire import Contract, Ledger, Prompt, Wire


@dataclass
class Recorded:
    """One request as it came, how it was judged, and how its answer ended (``end`` is empty while it runs)."""

    n: int
    path: str
    headers: Mapping[str, str]
    body: dict[str, Any]
    status: int = 0
    error: str = ""
    end: str = ""
    sent: int = 0
    prompt: Prompt | None = None


@dataclass
class FakeServer:
    """The server's state: what it insists on, what it will answer, what it was asked."""

    wire: Wire
    contract: Contract = field(init=False)
    script: Script = field(default_factory=Script)
    ledger: Ledger = field(default_factory=Ledger)
    requests: list[Recorded] = field(default_factory=list)
    port: int = 0
    record: Path | None = None
    token: trio.lowlevel.TrioToken | None = None
    _held: dict[str, trio.Event] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.contract = self.wire.contract()

    @property
    def root(self) -> str:
        """Its address alone."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def url(self) -> str:
        """Base URL as a client is configured with it."""
        return self.root + self.wire.base

    @property
    def key(self) -> str:
        """The key it takes."""
        return self.contract.key

    @property
    def model(self) -> str:
        """Its first model."""
        return self.contract.models[0]

    @property
    def chats(self) -> list[Recorded]:
        """The requests to the chat endpoint only."""
        return [r for r in self.requests if self.wire.is_chat(urlsplit(r.path).path)]

    def insist(self, **changes: Any) -> None:
        """Change the contract, see ``Contract``."""
        self.contract = replace(self.contract, **changes)

    def say(self, text: str, **how: Any) -> None:
        """Queue an answer in words."""
        self.script.queue.append(Reply.parse({"say": text, **how}))

    def call_tool(self, name: str, args: Mapping[str, object], *, id: str = "", then: str = "", **how: Any) -> None:
        """Queue one tool call, and with ``then`` the words after its result."""
        self.call_tools(Call(name, args, id), **how)
        if then:
            self.say(then)

    def call_tools(self, *calls: Call, **how: Any) -> None:
        """Queue an answer with several calls."""
        self.script.queue.append(Reply.parse({"calls": calls, **how}))

    def misbehave(self, **how: Any) -> None:
        """Queue an answer by its keys: ``misbehave(status=429, headers={"retry-after": "1"})``."""
        self.script.queue.append(Reply.parse(how))

    def when(self, contains: str, *steps: object) -> None:
        """Add a rule, see the script format."""
        self.script.when(contains, *steps)

    def held(self, word: str) -> trio.Event:
        """What an answer waits for that hangs until this word; for the server's own loop."""
        return self._held.setdefault(word, trio.Event())

    def release(self, word: str) -> None:
        """Answers that hang until this word go on, those that are still to come do not wait; from any thread."""
        assert self.token is not None, "it serves nobody yet"
        self.token.run_sync_soon(lambda: self.held(word).set())

    def hold(self, word: str) -> None:
        """Answers that hang until this word wait for it again; from any thread."""
        assert self.token is not None, "it serves nobody yet"
        self.token.run_sync_soon(lambda: self._held.pop(word, None))

    def load(self, script: Mapping[str, Any]) -> None:
        """Take over a whole script."""
        known = {f.name for f in fields(Contract)}
        unknown = set(script) - known - {"queue", "rules", "default"}
        if unknown:
            raise ValueError(f"unknown script keys: {', '.join(sorted(unknown))}")
        changes = {k: tuple(v) if k == "models" else v for k, v in script.items() if k in known}
        self.insist(**changes)
        self.script.load(script)

    def note(self, entry: Mapping[str, object]) -> None:
        """Append a line to the record file, if there is one."""
        if self.record is not None:
            with self.record.open("a", encoding="utf-8") as out:
                out.write(json.dumps(entry, ensure_ascii=False) + "\n")
