"""Entities that may be one, for a person to decide: what is proposed, and what was merged and can be taken back."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import partial

from homed.clock import WallClock, system_wall_clock
from homed.errors import Conflict, NotFound
from homed.memory import entities, merges, stable
from homed.memory.entities import Entity
from homed.memory.merges import Proposal
from homed.retrieval import index
from homed.store.rows import Storage, Tx

MOST = 200
"""Proposals that are listed, the most alike first, and merges, the newest first."""

FACTS, WORDS = 3, 160
"""Facts that are shown of each, and characters of one."""

SHOWN = 8
"""Of an entity's id, the last characters that name it in the name of a proposal."""


@dataclass(frozen=True, slots=True)
class Side:
    """One of two that may be one; ``facts`` the surest that are known of it, in short."""

    entity: Entity
    facts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Proposed:
    """``merge``: what it is called; of ``sides`` the first stays unless something else is said."""

    merge: str
    scope: str
    score: float
    sides: tuple[Side, Side]

    def without_facts(self) -> Proposed:
        """The same, saying nothing of what is known of the two."""
        first, second = (replace(side, facts=()) for side in self.sides)
        return replace(self, sides=(first, second))

    def wire(self) -> dict[str, object]:
        """As `docs/wire.md` has it."""
        return {
            "merge": self.merge, "scope": self.scope, "score": round(self.score, 3),
            "sides": [
                {"entity": side.entity.id, "name": side.entity.name, "type": side.entity.type,
                 "mentions": side.entity.mentions, "facts": list(side.facts)}
                for side in self.sides
            ],
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Done:
    """A merge that can be taken back by its number; ``kept`` and ``gone`` are names, ``at`` UTC seconds."""

    done: int
    scope: str
    kept: str
    gone: str
    at: float

    def wire(self) -> dict[str, object]:
        """As `docs/wire.md` has it."""
        return {"done": self.done, "scope": self.scope, "kept": self.kept, "gone": self.gone, "at": self.at}


@dataclass(frozen=True, slots=True)
class Merging:
    """Over the scopes of all; who may ask is checked before."""

    store: Storage
    wall: WallClock = system_wall_clock

    async def list_(self, scopes: Collection[str] | None = None) -> tuple[Sequence[Proposed], Sequence[Done]]:
        """What is proposed, and what was merged.  ``scopes``: those whose facts whoever asks may read (None: all); of
        the others there are names alone."""
        proposed, done = await self.store.read(lambda tx: (_proposed(tx), _done(tx)))
        if scopes is None:
            return proposed, done
        return [one if one.scope in scopes else one.without_facts() for one in proposed], done

    async def accept(self, merge: str, *, keep: int = 0) -> Done:
        """Make the two one.  ``keep``: which of its sides stays, 1 or 2; 0 for the one that can and is better known.

        Raises NotFound for what is not proposed (any more), Conflict where the one to go is a person who speaks.
        """
        return await self.store.write(partial(_accept, merge=merge, keep=keep, at=self.wall()))

    async def reject(self, merge: str) -> None:
        """They are two: not proposed again for some rounds.  Raises NotFound."""

        def write(tx: Tx) -> None:
            one = _find(tx, merge)
            merges.never(tx, one.scope, one.sides[0].entity.id, one.sides[1].entity.id, at=self.wall())

        await self.store.write(write)

    async def undo(self, done: int) -> str:
        """Take a merge back; the name that is there again.  Raises NotFound."""

        def write(tx: Tx) -> str:
            scope = tx.value("SELECT scope FROM merged WHERE id = ?", (done,))
            name = merges.unmerge(tx, str(scope or ""), done, at=self.wall()).name
            index.catch_up(tx)
            return name

        return await self.store.write(write)


def _proposed(tx: Tx) -> list[Proposed]:
    scopes = [str(scope) for (scope,) in tx.all("SELECT DISTINCT scope FROM merges WHERE state = 'open'")]
    found = [_shown(tx, scope, one) for scope in scopes for one in merges.proposals(tx, scope, limit=MOST)]
    return sorted(found, key=lambda one: (-one.score, one.merge))[:MOST]


def _shown(tx: Tx, scope: str, one: Proposal) -> Proposed:
    first, second = sorted((one.first, one.second), key=lambda entity: (-entity.mentions, entity.id))
    name = f"{one.first.id[-SHOWN:]}-{one.second.id[-SHOWN:]}"
    return Proposed(name, scope, one.score, (_side(tx, first), _side(tx, second)))


def _side(tx: Tx, entity: Entity) -> Side:
    known = stable.select(
        tx, "subject = ? AND status = 'active' AND record = 'fact' ORDER BY confidence DESC, seq DESC LIMIT ?",
        (entity.id, FACTS),
    )  # fmt: skip
    return Side(entity, tuple(" ".join(record.text.split())[:WORDS] for record in known))


def _done(tx: Tx) -> list[Done]:
    rows = tx.all(
        "SELECT m.id, m.scope, e.name, m.data ->> 'name', m.at FROM merged m JOIN entities e ON e.id = m.kept"
        " ORDER BY m.id DESC LIMIT ?",
        (MOST,),
    )
    return [Done(*row) for row in rows]


def _find(tx: Tx, merge: str) -> Proposed:
    found = [one for one in _proposed(tx) if one.merge == merge]
    if len(found) != 1:  # of two that end alike neither is meant
        raise NotFound(f"Nothing is proposed as {merge[:40]!r}.", hint="`homed memory merges` lists what is.")
    return found[0]


def _accept(tx: Tx, *, merge: str, keep: int, at: float) -> Done:
    one = _find(tx, merge)
    first, second = (side.entity.id for side in one.sides)
    ways = {1: [(first, second)], 2: [(second, first)]}.get(keep, [(first, second), (second, first)])
    for at_last, (stays, goes) in enumerate(ways, 1):
        try:
            made = merges.merge(tx, one.scope, stays, goes, at=at)
        except Conflict:
            if at_last == len(ways):
                raise
            continue
        break
    index.catch_up(tx)
    kept, gone = entities.must(tx, one.scope, made.kept), next(s.entity for s in one.sides if s.entity.id == made.gone)
    return Done(made.id, one.scope, kept.name, gone.name, at)
