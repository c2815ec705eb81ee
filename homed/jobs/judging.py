"""The job that looks for entities that are one and for facts that are worth nothing.

A model may merge two or say that they are not to be merged, and archive a fact or keep it: no more, and a few a round.
Without one both wait for a person.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

from homed.clock import WallClock
from homed.errors import Conflict
from homed.failpoints import Failpoints
from homed.jobs.due import Interval
from homed.jobs.job import Job, Run
from homed.memory import entities, merges, review, stable
from homed.memory.distil.answers import json_object
from homed.memory.entities import Entity
from homed.memory.merges import Proposal
from homed.memory.stable import Record
from homed.prompts.loader import load
from homed.providers.base import Source
from homed.store.rows import Storage, Tx

NAME = "merge"

EVERY = 7200.0

TOKENS = 400
"""Of an answer: numbers and single words."""

FACTS, WORDS = 3, 120
"""Of each entity as many of its facts are shown, as many characters of each."""

UNSURE_ROUNDS = 6
"""Rounds after which two are asked about again that the model was not sure of."""


class AskPort(Protocol):
    """``homed.jobs.model.Background``."""

    def source(self) -> Source | None:
        """Whom it asks; None: nobody."""
        ...

    async def ask(self, job: str, said: Sequence[tuple[str, str]], max_tokens: int) -> str:
        """The answer's text."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgingPorts:
    """What the job touches."""

    store: Storage
    wall: WallClock
    background: AskPort
    failpoints: Failpoints


def judging(ports: JudgingPorts) -> Job:
    """The job."""
    return Job(NAME, lambda: Interval(EVERY), lambda run: _work(ports, run), heavy=True)


async def _work(ports: JudgingPorts, run: Run) -> None:
    scopes = await ports.store.read(review.scopes)
    for scope in scopes:
        await run.unit(f"search:{scope}", partial(_search, ports, run, scope))
    if ports.background.source() is None:
        return
    left = merges.ROUND
    for scope in scopes:
        found = await ports.store.read(partial(merges.proposals, scope=scope, limit=left)) if left else []
        if found:
            left -= len(found)
            await run.unit(f"merge:{scope}", partial(_merge, ports, run, scope, found))
    for scope in scopes:
        doubtful = await ports.store.read(partial(review.batch, scope=scope))
        if doubtful:
            await run.unit(f"review:{scope}", partial(_review, ports, run, scope, doubtful))


async def _search(ports: JudgingPorts, run: Run, scope: str) -> None:
    """Propose what is alike; what was set aside for some rounds comes nearer."""
    found = await ports.store.read(partial(merges.search, scope=scope))
    at = ports.wall()

    def write(tx: Tx) -> int:
        merges.next_round(tx, scope)
        return merges.note(tx, scope, found, at=at)

    run.seen(len(found))
    run.made(await ports.store.write(write))


# -- merging -----------------------------------------------------------------------------------------------------------


async def _merge(ports: JudgingPorts, run: Run, scope: str, found: Sequence[Proposal]) -> None:
    shown = await ports.store.read(
        lambda tx: "\n\n".join(_pair(tx, number, one) for number, one in enumerate(found, 1))
    )
    answer = await _asked(ports, run, "merge", shown, "pairs")
    decisions = _decisions(answer, len(found))
    run.seen(len(found))
    run.dropped("unanswered", len(found) - len(decisions))
    for number, decision in decisions.items():
        done = await ports.store.write(partial(_settle, ports=ports, scope=scope, one=found[number - 1], how=decision))
        run.made(done == "merge")
        if done != "merge":
            run.dropped(done)


def _pair(tx: Tx, number: int, one: Proposal) -> str:
    return f"{number}.\n" + "\n".join(_entity(tx, entity) for entity in (one.first, one.second))


def _entity(tx: Tx, entity: Entity) -> str:
    known = stable.select(
        tx, "subject = ? AND status = 'active' AND record = 'fact' ORDER BY confidence DESC, seq DESC LIMIT ?",
        (entity.id, FACTS),
    )  # fmt: skip
    facts = "; ".join(" ".join(record.text.split())[:WORDS] for record in known)
    return f"- {entity.name} ({entity.type}, mentioned {entity.mentions} times){': ' if facts else ''}{facts}"


def _decisions(answer: Mapping[str, Any], count: int) -> dict[int, str]:
    """Pair number → merge, never or unsure; what is anything else is as if it were not there."""
    found: dict[int, str] = {}
    for item in answer.get("pairs", []) if isinstance(answer.get("pairs"), list) else []:
        number, decision = (item.get("pair"), item.get("decision")) if isinstance(item, dict) else (None, None)
        if type(number) is int and 1 <= number <= count and decision in ("merge", "never", "unsure"):
            found.setdefault(number, decision)
    return found


def _settle(tx: Tx, *, ports: JudgingPorts, scope: str, one: Proposal, how: str) -> str:
    """Do what was decided, if both are still there and no person decided meanwhile; what was done, or ``changed``."""
    pair = [entity for proposed in (one.first, one.second) if (entity := entities.get(tx, proposed.id))]
    if len(pair) < 2 or not merges.is_open(tx, scope, one.first.id, one.second.id):
        return "changed"
    keep, gone = sorted(pair, key=lambda entity: (-entity.mentions, entity.id))
    at = ports.wall()
    if how == "merge" and _one(tx, scope, keep.id, gone.id, at):
        ports.failpoints.reach("merge.writing")
        return "merge"
    rounds = UNSURE_ROUNDS if how == "unsure" else merges.NEVER_ROUNDS
    merges.never(tx, scope, keep.id, gone.id, at=at, rounds=rounds)
    return "unsure" if how == "unsure" else "never"


def _one(tx: Tx, scope: str, keep: str, gone: str, at: float) -> bool:
    """Merge them, whichever of them can stay; False for two people who both speak."""
    for stays, goes in ((keep, gone), (gone, keep)):
        try:
            merges.merge(tx, scope, stays, goes, at=at)
        except Conflict:
            continue
        return True
    return False


# -- reviewing ---------------------------------------------------------------------------------------------------------


async def _review(ports: JudgingPorts, run: Run, scope: str, doubtful: Sequence[Record]) -> None:
    shown = "\n".join(f"{number}. {' '.join(one.text.split())}" for number, one in enumerate(doubtful, 1))
    answer = await _asked(ports, run, "review", shown, "keep", "discard")
    keep, discard = (_ids(answer, key, doubtful) for key in ("keep", "discard"))
    run.seen(len(doubtful))
    run.dropped("unanswered", len(doubtful) - len(keep | discard))
    gone = await ports.store.write(lambda tx: review.settle(tx, scope, keep=keep, discard=discard, at=ports.wall()))
    run.made(gone)


def _ids(answer: Mapping[str, Any], key: str, shown: Sequence[Record]) -> set[str]:
    numbers = answer.get(key)
    listed = numbers if isinstance(numbers, list) else []
    return {shown[n - 1].id for n in listed if type(n) is int and 1 <= n <= len(shown)}


# -- asking ------------------------------------------------------------------------------------------------------------


async def _asked(ports: JudgingPorts, run: Run, prompt: str, shown: str, *keys: str) -> Mapping[str, Any]:
    """The answer as JSON; {} where it is none, which is counted and not asked again: the next round is soon."""
    text = await ports.background.ask(NAME, [("system", load(prompt)), ("user", shown)], TOKENS)
    found = json_object(text, keys)
    if not found:
        run.dropped("bad_json")
    return found
