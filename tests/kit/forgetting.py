"""A small world to forget things in: conversations, records that rest on them, files, and a forgetting that runs."""

from __future__ import annotations

import hashlib
import json
import os
import warnings
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import trio

from homed.failpoints import Failpoints, NoFailpoints
from homed.jobs import bytesearch
from homed.jobs.forget import ForgetPorts, Forgetting, delete_quietly
from homed.jobs.searching import LEFT_OUT, Found, InChild, Searcher
from homed.memory import blocks, events, evidence, facts, inputs, threads
from homed.memory.evidence import Evidence, Pointer
from homed.memory.needles import Needles
from homed.memory.newfact import NewFact
from homed.memory.records import Event, EventKind, InputState, NewEvent, NewInput, Outcome
from homed.retrieval import index
from homed.store.db import Store, open_store
from homed.store.files import MediaFiles
from homed.store.rows import Tx


@dataclass
class Ends:
    """The bus of a forgetting: ``next`` is set with the next end of a wish."""

    next: trio.Event = field(default_factory=trio.Event)

    def post(self, type_: str, *, data: dict[str, object]) -> None:
        """Set it, if this is one."""
        if data["phase"] == "end":
            self.next.set()
            self.next = trio.Event()


@dataclass
class World:
    """A store with its forgetting."""

    folder: Path
    store: Store
    forgetting: Forgetting
    said: dict[str, Event] = field(default_factory=dict)
    ends: Ends = field(default_factory=Ends)

    async def fulfilled(self) -> None:
        """Until no wish waits.  Asking again and again would starve the writer's thread where the machine is busy."""
        with trio.fail_after(60):
            while True:
                end = self.ends.next
                if not await self.value("SELECT count(*) FROM forgets WHERE done_at IS NULL"):
                    return
                await end.wait()

    async def say(
        self, text: str, answer: str = "Good to know, thank you.", *, scope: str = "owner", peer: str = "cli:owner",
        file: bytes = b"",
    ) -> tuple[Event, Event]:  # fmt: skip
        """A turn that was answered; its question and its answer."""
        if file:
            hash_ = hashlib.sha256(file).hexdigest()
            place = self.folder / "media" / hash_[:2] / hash_
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(file)
        return await self.store.write(lambda tx: _turn(tx, text, answer, scope, peer, file))

    async def learn(self, text: str, *from_: Event | tuple[Event, str], **more: object) -> str:
        """A fact that rests on these events, or on a piece of each."""

        def write(tx: Tx) -> str:
            given: list[Evidence] = [
                evidence.find(*one) if isinstance(one, tuple) else Pointer(one.id) for one in from_
            ]
            event = from_[0][0] if isinstance(from_[0], tuple) else from_[0]
            new = NewFact(scope=event.scope, text=text, **more)  # type: ignore[arg-type]
            return facts.put(tx, new, given, at=50.0).record

        return await self.store.write(write)

    async def value(self, sql: str, *params: str | int) -> object:
        """The first value of a query."""
        return await self.store.read(lambda tx: tx.value(sql, params))


def _turn(tx: Tx, text: str, answer: str, scope: str, peer: str, file: bytes) -> tuple[Event, Event]:
    found, _ = threads.list_(tx, [scope])
    thread = found[0].id if found else threads.create(tx, scope=scope, channel="cli", title="", at=1.0).id
    new = NewInput(thread, scope, "cli", peer, "owner" if scope == "owner" else "guest", text)
    input_, _ = inputs.accept(tx, new, at=1.0)
    if file:
        block = blocks.Block(f"blk_{input_.id}", hashlib.sha256(file).hexdigest(), "pic.png", "image/png", len(file))
        blocks.put(tx, peer, block, at=1.0)
        tx.execute("UPDATE uploads SET input = ? WHERE id = ?", (input_.id, block.id))
    running = inputs.begin(tx, input_.id, turn=f"turn_{input_.id[3:]}", at=1.0)
    asked = events.append(tx, running, NewEvent(EventKind.USER, text), at=1.0)
    if file:
        blocks.adopt(tx, asked, input_.id, at=1.0)
    said = inputs.finish(
        tx, input_.id, Outcome(InputState.ANSWERED, answer), [NewEvent(EventKind.ASSISTANT, answer, {"final": True})],
        at=2.0,
    )  # fmt: skip
    index.catch_up(tx)
    return asked, said[0]


@asynccontextmanager
async def world(
    folder: Path, *, failpoints: Failpoints | None = None, searcher: Searcher | None = None, run: bool = True
) -> AsyncIterator[World]:
    """One on this folder; what an earlier one left to be forgotten is done."""
    await trio.Path(folder / "media").mkdir(parents=True, exist_ok=True)
    points = failpoints or NoFailpoints()
    async with open_store(folder / "homed.db", failpoints=points) as store, trio.open_nursery() as nursery:
        files, ends = MediaFiles(folder / "media"), Ends()
        ports = ForgetPorts(
            store=store, data=folder, search=searcher or InChild(folder, os.environ, "test"),
            collect=partial(_collect, store, files), delete_thread=partial(delete_quietly, store), failpoints=points,
            erasers=(index.erase, index.tidy, _record_words), wall=lambda: 100.0, bus=ends,
        )  # fmt: skip
        forgetting = Forgetting(ports)
        if run:
            nursery.start_soon(forgetting.run)
        yield World(folder, store, forgetting, ends=ends)
        nursery.cancel_scope.cancel()


def _record_words(tx: Tx) -> bool:
    """As the index of records does: what waits to be taken out is done with."""
    tx.execute("DELETE FROM record_todo WHERE seq IN (SELECT seq FROM record_todo LIMIT 10)")
    return tx.changes() > 0


async def _collect(store: Store, files: MediaFiles) -> None:
    while found := await store.read(lambda tx: blocks.loose(tx, 16)):
        await files.remove(found)
        await store.write(lambda tx, f=found: blocks.removed(tx, f))  # type: ignore[misc]


def in_fork(folder: Path) -> Searcher:
    """As ``InChild``, in a fork instead of a fresh interpreter: the same search, for those who search a hundred times.
    A fork's files are its own, so that it lets go of no lock of ours."""

    async def search(needles: Needles) -> Found:
        return await trio.to_thread.run_sync(_search_in_fork, folder, needles)

    return search


def _search_in_fork(folder: Path, needles: Needles) -> Found:
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # later Pythons warn of threads; the child uses none
        child = os.fork()
    if child == 0:
        try:
            with os.fdopen(writing, "w") as out:
                out.write(json.dumps(bytesearch.search(folder, needles.forms(), LEFT_OUT)))
            os._exit(0)
        finally:
            os._exit(1)
    os.close(writing)
    with os.fdopen(reading) as come:
        said = come.read()
    assert os.waitpid(child, 0)[1] == 0
    answer = json.loads(said)
    places = [(name, number, offset) for name, number, offset in answer["finds"]]
    return Found(answer["files"], answer["bytes"], places, answer["unread"], answer["cut"])


def standing(folder: Path, *texts: str) -> dict[str, list[str]]:
    """Which of these texts stand in which files of the folder, in any form; nobody may have the store open."""
    found: dict[str, list[str]] = {}
    for file in folder.rglob("*"):
        if file.is_file():
            data = file.read_bytes().lower()
            for text in texts:
                for form in (text.encode(), json.dumps(text)[1:-1].encode(), text.encode("utf-16-le")):
                    name = str(file.relative_to(folder))
                    if form.lower() in data and name not in found.get(text, ()):
                        found.setdefault(text, []).append(name)
    return found
