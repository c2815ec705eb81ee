"""A memory with something of everything in it, and ways to do it harm behind the back of its triggers and keys."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import apsw

from homed.config.definitions import CORE
from homed.jobs.memcheck.room import Gentle, Room
from homed.memory import capsules, citations, entities, evidence, facts, injections, passes
from homed.memory.capsules import NewCapsule
from homed.memory.evidence import Pointer
from homed.memory.injections import Injection, Line
from homed.memory.newfact import NewFact
from homed.memory.records import Event
from homed.paths import Paths
from homed.redact import Redactor
from homed.retrieval import index
from homed.retrieval.embed.chunk import chunks
from homed.retrieval.embed.fake import FakeEmbedder
from homed.retrieval.vectors import todo
from homed.retrieval.vectors.refill import texts_of, uncleaned
from homed.retrieval.vectors.texts import Source
from homed.store.db import Store
from homed.store.rows import Storage, Tx
from tests.kit.forgetting import World, world

NOW = 200.0
"""UTC seconds of every look; what is there was made in the first hundred."""

KEY = "sk-abcdefghij1234567890"
PICTURE = b"\x89PNG not a picture"

SAID = (
    ("I live in Hildesheim and my cat is called Minka.", "Noted."),
    ("我的服务器部署在腾讯云，端口是 4379。", "好的。"),
    ("I moved to Wolfenbüttel last week.", "I hope you like it there."),
    ("Мою собаку зовут Жучка.", "Хорошая собака."),
)


@dataclass
class Embedding:
    """The vectors of a running daemon, as a check sees them."""

    embedder: FakeEmbedder | None
    folder: Path
    remade: list[str]

    async def remake(self, folders: Sequence[str]) -> int:
        from homed.retrieval.vectors import making

        for name in folders:
            making.remove(self.folder / name)
        self.remade += folders
        return len(folders)

    async def forget_now(self, scope: str) -> int:
        return 0

    async def texts(self, sources: Sequence[Source]) -> Sequence[str]:
        return await texts_of(sources, uncleaned)

    def wake(self) -> None:
        """Nobody sleeps."""


async def build(folder: Path) -> dict[str, str]:
    """Make it; ids by name."""
    async with world(folder, run=False) as here:
        said = [await here.say(text, answer, file=PICTURE if n == 0 else b"") for n, (text, answer) in enumerate(SAID)]
        lives = await _learn(
            here, "The user lives in Hildesheim.", said[0][0], "live in Hildesheim", "home", "Hildesheim"
        )
        server = await _learn(here, "用户的服务器部署在腾讯云。", said[1][0], "我的服务器部署在腾讯云", "", "")
        moved = await _learn(
            here, "The user lives in Wolfenbüttel.", said[2][0], "moved to Wolfenbüttel", "home", "Wolfenbüttel"
        )
        dog = await _learn(here, "У пользователя есть собака Жучка.", said[3][0], "собаку зовут Жучка", "pet", "Жучка")
        await here.store.write(partial(_rest, said=said, ids=(server, moved)))
        await vectors(here.store)
        turn = said[3][0].turn
        await here.store.write(lambda tx: passes.settle(tx, [one.turn for one, _ in said[:3]]))
    return {"lives": lives, "server": server, "moved": moved, "dog": dog, "turn": turn, "event": said[0][0].id}


async def _learn(here: World, text: str, event: Event, quote: str, relation: str, object_: str) -> str:
    new = NewFact(
        event.scope, text, subject="user", subject_type="person", relation=relation, object=object_, extractor="model"
    )

    def write(tx: Tx) -> str:
        made = facts.put(tx, new, [evidence.find(event, quote)], at=50.0 + event.seq)
        assert made.record, made
        return made.record

    return await here.store.write(write)


def _rest(tx: Tx, said: Sequence[tuple[Event, Event]], ids: tuple[str, str]) -> None:
    """A capsule, a history, what a turn was told and cited, jobs."""
    server, moved = ids
    made = capsules.put_capsule(
        tx, NewCapsule("owner", "profile", "Home", "Lives in Wolfenbüttel.", members=(moved, server)),
        [Pointer(said[2][0].id)], at=60.0,
    )  # fmt: skip
    facts.edit(tx, "owner", server, "用户的服务器部署在腾讯云上，端口 4379。", at=61.0)
    asked = said[3][0]
    line = Line(server, "fact", 2, score=0.5, relevance=0.6, evidence="source", chars=30)
    known = Line(said[1][0].id, "event", why="cold", chars=20)
    injections.record(tx, Injection(asked.turn, "owner", asked.thread, 70.0, "hit", 50, lines=(line, known)))
    citations.count(tx, scope="owner", thread=asked.thread, turn=asked.turn, answer=f"See id:{server[-8:]}.", at=71.0)
    entities.put(tx, "owner", "Minka", type="thing", at=60.0)
    tx.execute("INSERT INTO jobs (name, due_at) VALUES ('pass', 100.0)")
    tx.execute("INSERT INTO job_runs (job, started_at, ended_at, state) VALUES ('pass', 80.0, 81.0, 'done')")
    tx.execute("INSERT INTO job_units (job, unit, failures, at) VALUES ('pass', 'u', 1, 80.0)")
    tx.execute("INSERT INTO ledger (turn, scope, thread, kind, at, data) VALUES (?, 'owner', ?, 'select', 70.0, '{}')",
               (asked.turn, asked.thread))  # fmt: skip
    tx.execute("INSERT INTO accesses (turn, event, at) VALUES (?, ?, 70.0)", (asked.turn, said[1][0].id))
    tx.execute(
        "INSERT INTO peers (id, plugin, role, created_at, seen_at) VALUES ('cli:owner', 'cli', 'owner', 1.0, 1.0)"
    )
    assert made.record
    index.catch_up(tx)


async def vectors(store: Store) -> None:
    """Everything has its vector, as after a refill."""
    embedder = FakeEmbedder()

    def write(tx: Tx) -> None:
        number, _ = todo.enter(tx, embedder.space)
        todo.entered(tx, number, at=10.0)
        while (batch := todo.next_(tx, embedder.space, number, 100, again=False)).items:
            made = [todo.Made(one, [(0, embedder.vector(chunks(_text(one))[0]))]) for one in batch.sources]
            todo.keep(tx, embedder.space, number, made)
            todo.strike_idle(tx, embedder.space, number, batch.items)

    await store.write(write)


def _text(source: Source) -> str:
    return f"{source.text}\n\n{source.more}" if source.more else source.text


def harm(folder: Path, *statements: str | tuple[str, tuple[object, ...]]) -> None:
    """Change the database without its triggers, keys and checks, as a fault of the disk or of a program would."""
    connection = apsw.Connection(str(folder / "homed.db"))
    connection.config(apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER, 0)
    connection.execute("PRAGMA ignore_check_constraints = ON")
    for one in statements:
        sql, params = (one, ()) if isinstance(one, str) else one
        connection.execute(sql, params)
    connection.close()


def room(store: Storage, folder: Path, **more: object) -> Room:
    """Of a running daemon with an embedder, unless ``more`` says otherwise."""
    fields: dict[str, object] = {
        "store": Gentle(store), "paths": Paths(folder), "now": NOW, "redactor": Redactor(), "deep": True,
        "running": True, "vectors": Embedding(FakeEmbedder(), folder / "vectors", []), "scrub": store,
        "definitions": lambda: CORE,
    }  # fmt: skip
    return Room(**(fields | more))  # type: ignore[arg-type]
