"""A small process that runs turns on the real store, to be killed.

``python -m tests.kit.turn_child`` is a zygote: it imports everything once, then for each line of JSON on stdin forks a
child that does one run, and answers with a line of JSON: how it ended.  So a hundred rounds are cheap.

The child takes up what an earlier one left, sends the messages it was given (the same ``client_msg_id`` each time, as a
client that retries does) and leaves when all have their outcome.  Beside the database it writes ``accepted.log``
(message ids whose ``inject`` returned) and ``tools.log`` (a line each time a tool really ran).
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import trio

from homed.builtin.tools import builtin_tools
from homed.failpoints import Failpoints, NoFailpoints
from homed.memory import facts
from homed.memory.newfact import NewFact
from homed.providers import pairing
from homed.providers.base import (
    CallDelta,
    ChatRequest,
    ContentDelta,
    Done,
    Part,
    ToolResult,
    User,
)
from homed.retrieval import index
from homed.store.rows import Tx
from tests.kit.builders import OWNER, FakeHost, FakeModel, FakeSettings, Setup, message, running_agent
from tests.kit.failpoints import KillAt

MESSAGES = ("one", "two", "three")
ROUNDS = 2
REMEMBERED = ("bees", "boat", "cello", "desk", "elm", "fox", "goat", "hat")
"""Messages of a run with memory on: one conversation, and a window that cannot hold half of it."""
LIMIT = 60.0


@dataclass(frozen=True)
class Order:
    """One run: where, and where it is to be killed (no name: not at all)."""

    folder: str
    kill: str = ""
    nth: int = 1
    messages: tuple[str, ...] = field(default=MESSAGES)
    memory: bool = False


class CountingModel(FakeModel):
    """Calls two tools for each of two rounds, then answers; what it does depends on the request alone."""

    @asynccontextmanager
    async def stream(self, request: ChatRequest) -> AsyncIterator[AsyncIterator[Part]]:
        if problems := pairing.check(request.messages):
            raise AssertionError(problems)
        yield self._reply(request)

    async def _reply(self, request: ChatRequest) -> AsyncIterator[Part]:
        last = max(at for at, m in enumerate(request.messages) if isinstance(m, User))
        asked = request.messages[last]
        assert isinstance(asked, User)
        results = [m for m in request.messages[last:] if isinstance(m, ToolResult)]
        await trio.lowlevel.checkpoint()
        if len(results) < 2 * ROUNDS:
            for index in range(2):
                yield CallDelta(index, f"{asked.text}-{len(results) + index}", "mark", "{}")
            yield Done("tool_calls")
            return
        yield ContentDelta(f"answer to {asked.text}")
        yield Done("stop")


class RememberingModel(FakeModel):
    """Looks for the first message of all, then answers; what it does depends on the request alone."""

    @asynccontextmanager
    async def stream(self, request: ChatRequest) -> AsyncIterator[AsyncIterator[Part]]:
        if problems := pairing.check(request.messages):
            raise AssertionError(problems)
        yield self._reply(request)

    async def _reply(self, request: ChatRequest) -> AsyncIterator[Part]:
        asked = [at for at, m in enumerate(request.messages) if isinstance(m, User)][-1]
        text = request.messages[asked].text
        await trio.lowlevel.checkpoint()
        if not any(isinstance(m, ToolResult) for m in request.messages[asked:]):
            yield CallDelta(0, f"look-{text}", "coldcontext_query", json.dumps({"query": REMEMBERED[0]}))
            yield Done("tool_calls")
            return
        yield ContentDelta(f"answer to {text}")
        yield Done("stop")


def note(folder: Path, name: str, line: str) -> None:
    """Append a line in one write, which outlives the process."""
    with open(folder / name, "ab", buffering=0) as log:
        log.write(f"{line}\n".encode())


async def run(order: Order) -> None:
    """One child's life."""
    folder = Path(order.folder)
    failpoints: Failpoints = KillAt(order.kill, order.nth) if order.kill else NoFailpoints()
    host = FakeHost()

    async def mark(_: Mapping[str, Any]) -> object:
        turn = str(host.invoked()[-1]["context"]["turn"])  # now: the next call may be there after a checkpoint
        await trio.lowlevel.checkpoint()
        note(folder, "tools.log", turn)
        return "marked"

    host.tool("mark", mark)
    setup = Setup(model=CountingModel(), host=host, failpoints=failpoints)
    if order.memory:
        settings = {"core.agent.max_context_size": 4, "core.agent.protected_events": 2}
        builtins = lambda store, host: builtin_tools(store, failpoints=failpoints)  # noqa: E731
        setup = replace(setup, model=RememberingModel(), settings=FakeSettings(**settings), builtins=builtins)
    with trio.fail_after(LIMIT):
        async with running_agent(folder, setup) as agent:
            thread = ""
            if order.memory:
                await agent.store.write(_know)
            for text in order.messages:
                given = message(text, client_msg_id=text, thread=thread)
                receipt = await agent.conversations.inject(OWNER, given)
                note(folder, "accepted.log", text)
                await agent.conversations.wait(OWNER, receipt.input.id)
                thread = receipt.thread.id if order.memory else ""
            await agent.conversations.wait_idle()


def _know(tx: Tx) -> None:
    """Something that every turn is told, and something that one message is about; once, however often it is killed."""
    if not tx.value("SELECT 1 FROM records"):
        for text, kind, weight in (("Answers are short.", "convention", 9), ("The cello is old.", "fact", 5)):
            given = NewFact("owner", text, kind=kind, importance=weight, origin="manual", extractor="manual")
            facts.put(tx, given, at=1.0)
        index.catch_up(tx)


def serve(run: Callable[[Order], Awaitable[None]]) -> None:
    """The zygote's loop: ``run`` is one child's life."""
    for line in sys.stdin:
        given = json.loads(line)
        order = Order(given["folder"], given["kill"], given["nth"], tuple(given["messages"]), given["memory"])
        child = os.fork()
        if child == 0:
            os.environ.pop("PYTEST_CURRENT_TEST", None)
            trio.run(run, order)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        ended = -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)
        print(json.dumps({"ended": ended}), flush=True)


class Zygote:
    """The test's side."""

    KILLED = -signal.SIGKILL

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def run(self, order: Order) -> int:
        """Do one run; its exit code, or the negative number of the signal that ended it."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        given = {
            "folder": order.folder,
            "kill": order.kill,
            "nth": order.nth,
            "messages": order.messages,
            "memory": order.memory,
        }
        self._process.stdin.write(json.dumps(given) + "\n")
        self._process.stdin.flush()
        return int(json.loads(self._process.stdout.readline())["ended"])


@contextmanager
def zygote(module: str = "tests.kit.turn_child") -> Iterator[Zygote]:
    """A zygote for the length of the block; ``module`` calls ``serve`` when it is run."""
    argv = [sys.executable, "-m", module]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield Zygote(process)
        finally:
            process.kill()


if __name__ == "__main__":
    serve(run)
