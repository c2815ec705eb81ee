"""A small process that drives the real store and memory through a turn, and is killed in the middle of it.

``python -m tests.kit.store_child`` reads one round a line on stdin, ``DB FAILPOINT NTH MESSAGES``, forks a child for
it (so that a round costs no interpreter start) and writes ``end STATUS`` when that child is gone.  A child first
resumes what is unfinished, then handles each of ``MESSAGES`` (comma-separated client message ids), and writes what it
would have told the person, once it is true: ``accepted MSG INPUT``, ``finished INPUT``, ``sent INPUT``.

A turn looks at what it finds in the cold layer, keeps a file with its question, and after its end the window sinks to a
few events.  Messages go to two scopes in turn; one in four leaves no memory, which is said only at its end.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import trio

from homed.errors import Conflict
from homed.failpoints import Failpoints, NoFailpoints
from homed.memory import cold, events, inputs, ledger, scope_window, threads
from homed.memory.records import Event, EventKind, Input, InputState, NewEvent, NewInput, Outcome
from homed.memory.window import Limits, sink_plan, whole
from homed.retrieval import index
from homed.retrieval.without import words_only
from homed.store.db import Store, open_store
from homed.store.rows import Tx
from tests.kit.failpoints import KillAt

CALLS = ("A", "B")
SCOPES = ("owner", "group:1")
WINDOW = Limits(events=4, protected=2, tokens=10_000)
REACHED = (
    "accept.before_commit", "accept.after_commit", "turn.begun", "turn.before_model", "turn.after_model",
    "turn.call_stored", "turn.tool_done", "turn.result_stored", "turn.before_finish", "turn.finished",
    "output.before_send", "output.sent", "memory.peeked", "memory.before_sink", "store.before_commit",
    "store.after_commit",
)  # fmt: skip
"""The failpoints that a turn passes here."""


def tell(*words: str) -> None:
    """One line to the parent, in one write: it arrives whole or not at all, also when killed right after."""
    os.write(1, (" ".join(words) + "\n").encode())


class Turns:
    """A turn as the kernel does it: each step stored before the next, answer and outcome in one transaction."""

    def __init__(self, store: Store, failpoints: Failpoints) -> None:
        self.store = store
        self.reach = failpoints.reach

    async def accept(self, message: str) -> Input | None:
        """Accept the message; None when it was handled before."""
        scope = SCOPES[_number(message) % len(SCOPES)]
        thread = await self.store.write(lambda tx: _thread(tx, scope))

        def accept(tx: Tx) -> tuple[Input, bool]:
            new = NewInput(thread, scope, "cli", "cli:owner", "owner", f"text of {message}", client_msg_id=message)
            accepted = inputs.accept(tx, new, at=1.0)
            self.reach("accept.before_commit")
            return accepted

        input_, duplicate = await self.store.write(accept)
        self.reach("accept.after_commit")
        tell("accepted", message, input_.id)
        return None if duplicate else input_

    async def run(self, input_: Input) -> None:
        """Run or resume the input to its one outcome."""
        running = await self.store.write(lambda tx: inputs.begin(tx, input_.id, turn=f"turn_{input_.id}", at=2.0))
        self.reach("turn.begun")
        said = await self.store.read(lambda tx: events.of_turn(tx, running.turn))
        if not said:
            await self.store.write(lambda tx: _ask(tx, running))
        await self._repair(running)
        if not any(event.kind is EventKind.ASSISTANT for event in said):
            await self._model_and_tools(running)
        await self._finish(running)
        await self._sink(running)

    async def _repair(self, running: Input) -> None:
        for call in await self.store.read(lambda tx: events.dangling_calls(tx, running.turn)):
            await self._append(running, _result(str(call["id"]), "interrupted"))

    async def _model_and_tools(self, running: Input) -> None:
        self.reach("turn.before_model")
        await trio.lowlevel.checkpoint()
        self.reach("turn.after_model")
        calls = [{"id": call, "name": "run", "arguments": {}} for call in CALLS]
        await self._append(running, NewEvent(EventKind.ASSISTANT, "", {"calls": calls, "final": False}))
        self.reach("turn.call_stored")
        for call in CALLS:
            self.reach("turn.tool_done")
            if call == CALLS[0]:
                await self._look_into_the_cold(running)
            await self._append(running, _result(call, "ok"))
            self.reach("turn.result_stored")

    async def _finish(self, running: Input) -> None:
        answer = NewEvent(EventKind.ASSISTANT, f"answer to {running.text}", {"final": True})
        outcome = Outcome(InputState.ANSWERED, answer.text)
        self.reach("turn.before_finish")
        private = _number(running.client_msg_id) % 4 == 3

        def finish(tx: Tx) -> None:
            inputs.finish(tx, running.id, outcome, [answer], at=3.0, no_memory=private)
            index.catch_up(tx)

        await self.store.write(finish)
        self.reach("turn.finished")
        tell("finished", running.id)

    async def _look_into_the_cold(self, running: Input) -> None:
        def look(tx: Tx) -> None:
            hits = words_only().search(tx, scope=running.scope, layer="cold", query=running.text, limit=2)
            cold.peek(tx, [hit.id for hit in hits], running.turn, 2.5)
            ledger.record(tx, running, "peek", {"events": [hit.id for hit in hits]}, at=2.5)

        await self.store.write(look)
        self.reach("memory.peeked")

    async def _sink(self, running: Input) -> None:
        def sink(tx: Tx) -> None:
            window = scope_window.window_events(tx, running.scope)
            scores = words_only().score(tx, scope=running.scope, query=running.text, seqs=[e.seq for e in window])
            plan = sink_plan(whole(window, lambda e: e.tokens), scores, active=[running.thread], limits=WINDOW)
            self.reach("memory.before_sink")
            cold.sink(tx, running.scope, plan.ids, at=1.0)
            ledger.record(tx, running, "sink", {"events": list(plan.ids)}, at=3.5)

        await self.store.write(sink)

    def deliver(self, input_id: str) -> None:
        """Tell the answer, once it is stored; killed before that it stands in the history, rather than come twice."""
        self.reach("output.before_send")
        tell("sent", input_id)
        self.reach("output.sent")

    async def _append(self, running: Input, new: NewEvent) -> None:
        await self.store.write(lambda tx: _append(tx, running, new))


def _append(tx: Tx, running: Input, new: NewEvent) -> Event:
    event = events.append(tx, running, new, at=2.5)
    index.catch_up(tx)
    return event


def _ask(tx: Tx, running: Input) -> None:
    event = _append(tx, running, NewEvent(EventKind.USER, running.text))
    tx.execute(
        "INSERT INTO blocks (id, hash, media_type, bytes, event, created_at) VALUES (?, 'h', 'image/png', 1, ?, 2.5)",
        (f"block_{event.id}", event.id),
    )


def _number(message: str) -> int:
    return int(message.lstrip("m"))


def _result(call: str, status: str) -> NewEvent:
    return NewEvent(EventKind.TOOL, status, {"call_id": call, "name": "run", "status": status})


def _thread(tx: Tx, scope: str) -> str:
    found, _ = threads.list_(tx, [scope])
    return found[0].id if found else threads.create(tx, scope=scope, channel="cli", title=scope, at=0.0).id


async def one_round(path: Path, failpoints: Failpoints, messages: list[str]) -> None:
    """Resume what is unfinished, then handle the messages."""
    async with open_store(path, failpoints=failpoints) as store:
        turns = Turns(store, failpoints)
        for waiting in await store.read(inputs.unfinished):
            await turns.run(waiting)
            turns.deliver(waiting.id)
        for message in messages:
            input_ = await turns.accept(message)
            if input_ is not None:
                await turns.run(input_)
                await _second_finish_is_refused(store, input_)
                turns.deliver(input_.id)


async def _second_finish_is_refused(store: Store, input_: Input) -> None:
    refused: Callable[[Tx], object] = lambda tx: inputs.finish(  # noqa: E731
        tx, input_.id, Outcome(InputState.FAILED), [], at=9.0
    )
    try:
        await store.write(refused)
    except Conflict:
        return
    raise AssertionError("a second outcome was taken")


def serve() -> None:
    """Read rounds, fork a child for each."""
    for line in sys.stdin:
        database, name, nth, messages = line.split()
        failpoints = NoFailpoints() if name == "none" else KillAt(name, int(nth))
        child = os.fork()
        if child == 0:
            trio.run(one_round, Path(database), failpoints, messages.split(","))
            os._exit(0)
        _, status = os.waitpid(child, 0)
        tell("end", str(os.waitstatus_to_exitcode(status)))


if __name__ == "__main__":
    serve()
