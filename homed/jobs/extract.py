"""What a model makes of a transcript: asked for strict JSON, once more where it is none, and each item checked."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

import trio

from homed.config.definitions import EXTRACT_MAX_TOKENS
from homed.jobs.job import Run
from homed.jobs.model import Background
from homed.jobs.storing import Extracted, Found, Matter, Summary, told, whose
from homed.jobs.transcript import Transcript
from homed.memory import capsules
from homed.memory.capsules import NewCapsule
from homed.memory.cooling import MODEL, Piece
from homed.memory.distil import contract
from homed.memory.distil.contract import Answer, BadAnswer, Ground
from homed.memory.evidence import Evidence, Pointer
from homed.memory.lawwords import FUNCTION_WORDS
from homed.memory.newfact import NewFact
from homed.memory.normal import bag
from homed.memory.records import EventKind
from homed.memory.stable import Record
from homed.prompts.loader import load
from homed.store.rows import Storage

log = logging.getLogger(__name__)

NAME = "distil"

EXCERPT = 200
"""Characters of a capsule's text that a prompt shows, so that the model knows whether to continue it."""


class SettingsPort(Protocol):
    """What is read of the settings."""

    def int(self, key: str) -> int:
        """A whole number."""
        ...


class Extractor:
    """Reads transcripts with a model.  It is never believed: a fact stands in what the person said, or falls."""

    def __init__(self, background: Background, store: Storage, settings: SettingsPort) -> None:
        self._background = background
        self._store = store
        self._settings = settings
        self._prompt, self._again = load("distil"), load("distil_again")

    def ready(self) -> bool:
        """Whether there is a model to ask."""
        return self._background.source() is not None

    async def read(self, run: Run, script: Transcript) -> Extracted | None:
        """What it found; None when two answers held no JSON of the shape.  Raises what ``Background.ask`` does.

        Counts at its gates in ``run``.  Cancelled: nothing is left behind but the calls that were counted.
        """
        scope = script.pieces[0].scope
        near = await self._store.read(lambda tx: capsules.near(tx, scope))
        answer = await self._answer(run, script, near)
        if answer is None:
            return None
        for gate, count in answer.drops.items():
            run.dropped(gate, count)
        # in a thread: of pages of text all words are looked at
        kept, gates = await trio.to_thread.run_sync(contract.grounded, answer, script, _ground(script))
        gates.pop("triple", None)  # such a statement is kept
        for gate, count in gates.items():
            run.dropped(gate, count)
        found = tuple(Found(_by_whom(script, fact, piece), (piece,)) for fact, piece in kept)
        return Extracted(MODEL, found, _summaries(script, answer), _matters(run, script, answer, near))

    async def _answer(self, run: Run, script: Transcript, near: Sequence[Record]) -> Answer | None:
        said = [("system", self._prompt), ("user", _told(script, near))]
        most = self._settings.int(EXTRACT_MAX_TOKENS)
        for last in (False, True):
            text = await self._background.ask(NAME, said, most)
            try:
                return contract.read(text)
            except BadAnswer as error:
                # what it was is not written down: it may hold anything that was said
                log.info("an answer of %d characters on %s: %s", len(text), script.pieces[0].turn, error)
                run.dropped("bad_json" if last else "asked_again")
                said += [("assistant", text or "-"), ("user", self._again)]
        return None


def _told(script: Transcript, near: Sequence[Record]) -> str:
    """The question: what there is to continue, and the transcript, which cannot end itself."""
    lines = [f'- {record.shown_id}: "{record.title}": {record.text[:EXCERPT]}' for record in near]
    known = "Capsules that may be continued:\n" + "\n".join(lines) + "\n\n" if lines else ""
    return f"{known}<transcript>\n{script.text.replace('</transcript', '< /transcript')}\n</transcript>"


def _ground(script: Transcript) -> Ground:
    first = script.pieces[0]
    said = [(event.id, event.text) for piece in script.pieces if not piece.foreign for event in piece.events
            if event.kind is EventKind.USER]  # fmt: skip
    project = next((piece.project for piece in script.pieces if piece.project), "")
    return Ground(first.scope, said, first.peer, project, tainted=any(piece.tainted for piece in script.pieces))


def _by_whom(script: Transcript, fact: NewFact, piece: Evidence) -> NewFact:
    """The fact as said by whoever wrote the message it stands in, and in that project: there may be several of both."""
    found = ((event.peer or p.peer, p.project) for p in script.pieces for event in p.events if event.id == piece.event)
    peer, project = next(found, (fact.peer, fact.project))
    if fact.reach == "project":  # of the one that it was said in, and of none where it was said in none
        fact = replace(fact, reach="project" if project else "user", project=project)
    return replace(fact, peer=peer, observed=peer if fact.scope.startswith("group:") else fact.observed)


def _summaries(script: Transcript, answer: Answer) -> tuple[Summary, ...]:
    said = answer.summary
    if said is None:
        return tuple(map(told, script.pieces))
    return (Summary(said.request, said.actions, said.outcome, said.importance, said.tags, "model", script.pieces),)


def _matters(run: Run, script: Transcript, answer: Answer, near: Sequence[Record]) -> tuple[Matter, ...]:
    """The capsules that what was said bears out, or what they continue; they rest on the messages."""
    said = _ground(script).said
    pointers = tuple(Pointer(event) for event, _ in said)
    own = "\n".join(text for _, text in said)
    peer, group = whose(script.pieces), script.pieces[0].scope.startswith("group:")
    made = []
    for whole in answer.capsules:
        mine = whole.kind == "profile"  # who somebody is; anything else is the group's
        if mine and group and not peer:
            run.dropped("whose")  # several spoke, and it would name none of them
            continue
        named = (r for r in near if whole.id and whole.id in (r.id, r.shown_id) and (not mine or r.observed == peer))
        before = next((record.text for record in named), "")
        source = own if mine else script.text  # nobody else says it
        if borne_out(whole.text, f"{source}\n{before}") < contract.SUPPORT:
            run.dropped("unsupported")
            continue
        new = NewCapsule(
            script.pieces[0].scope, whole.kind, whole.title, whole.text, id=whole.id, importance=whole.importance,
            untrusted=_tainted(script.pieces), observed=peer if mine else "",
        )  # fmt: skip
        made.append(Matter(new, pointers))
    return tuple(made)


def borne_out(text: str, source: str) -> float:
    """Share of the words of ``text`` that say something and stand in ``source`` too, 0..1."""
    words = bag(text) - FUNCTION_WORDS
    return len(words & bag(source)) / len(words) if words else 0.0


def _tainted(pieces: Sequence[Piece]) -> bool:
    return any(piece.tainted or piece.foreign for piece in pieces)
