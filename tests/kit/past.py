"""What was said before a test begins: conversations put into a store as turns would have, indexed and all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from homed.memory import inputs, threads
from homed.memory.origins import OUTSIDE
from homed.memory.records import Event, EventKind, InputState, NewEvent, NewInput, Outcome
from homed.memory.tokens import estimate_tokens
from homed.retrieval import index
from homed.store.db import Store
from homed.store.rows import Tx, dumps
from tests.kit.builders import OWNER


@dataclass(frozen=True, kw_only=True)
class Said:
    """One turn: a question, its answer, and results of tools between them ``(name, text, untrusted)``.

    ``outside``: what its answers say was before the model from outside (`homed.memory.origins`); None: an earlier
    release, which said nothing.
    """

    question: str
    answer: str = "I see."
    results: Sequence[tuple[str, str, bool]] = ()
    outside: Sequence[str] | None = None

    @property
    def noted(self) -> dict[str, object]:
        """For the data of its answers."""
        return {} if self.outside is None else {OUTSIDE: list(self.outside)}


@dataclass(frozen=True, kw_only=True)
class Past:
    """One conversation, in one scope and layer, at a time."""

    said: Sequence[Said] = field(default_factory=list)
    title: str = "Earlier"
    scope: str = OWNER.scope
    channel: str = "webui"
    peer: str = OWNER.peer
    layer: str = "context"
    at: float = 1_750_000_000.0


def put(tx: Tx, past: Past, *, indexed: bool = True) -> list[Event]:
    """Store it; its events, oldest first.  Not ``indexed``: as an earlier release left them."""
    thread = threads.create(tx, scope=past.scope, channel=past.channel, title=past.title, at=past.at)
    stored: list[Event] = []
    for number, said in enumerate(past.said):
        new = NewInput(thread.id, past.scope, past.channel, past.peer, "owner", said.question)
        given, _ = inputs.accept(tx, new, at=past.at + number)
        given = inputs.begin(tx, given.id, turn=f"turn_{given.id[3:]}", at=past.at + number)
        last = NewEvent(EventKind.ASSISTANT, said.answer, {"final": True, "calls": [], **said.noted})
        outcome = Outcome(InputState.ANSWERED, said.answer)
        stored += inputs.finish(tx, given.id, outcome, [*_asked(said), last], at=past.at + number)
    if indexed:
        index.catch_up(tx)
    else:
        tx.execute("UPDATE word_marks SET mark = (SELECT max(seq) FROM events), version = 0")
    if past.layer != "context":
        ids = dumps([event.id for event in stored])
        tx.execute("UPDATE events SET layer = ? WHERE id IN (SELECT value FROM json_each(?))", (past.layer, ids))
    return stored


def _asked(said: Said) -> list[NewEvent]:
    made: list[NewEvent] = [NewEvent(EventKind.USER, said.question)]
    if said.results:
        names = enumerate(name for name, _, _ in said.results)
        calls: list[Any] = [{"id": f"c{n}", "name": name, "arguments": {}} for n, name in names]
        made.append(NewEvent(EventKind.ASSISTANT, "", {"calls": calls, "final": False, **said.noted}))
    for number, (name, text, untrusted) in enumerate(said.results):
        data = {"call_id": f"c{number}", "name": name, "status": "ok", "args": {}, "untrusted": untrusted}
        made.append(NewEvent(EventKind.TOOL, text, data))
    return made


def long_text(tokens: int, name: str) -> str:
    """A text of about so many tokens that begins with its name."""
    piece = "lorem ipsum dolor sit amet "
    return f"{name} " + piece * (tokens * 20 // estimate_tokens(piece * 20))


async def remember(store: Store, *questions: str, **more: Any) -> list[Event]:
    """One conversation of these questions; ``more`` as of ``Past``."""
    past = Past(said=[Said(question=question) for question in questions], **more)
    return await store.write(lambda tx: put(tx, past))


async def layers(store: Store, events: Sequence[Event]) -> dict[str, str]:
    """Event id → the layer it is in now."""
    ids = dumps([event.id for event in events])
    rows = await store.read(
        lambda tx: tx.all("SELECT id, layer FROM events WHERE id IN (SELECT value FROM json_each(?))", (ids,))
    )
    return dict(rows)
