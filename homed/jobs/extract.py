"""What a model makes of a transcript: asked for strict JSON, once more where it is none, and each item checked."""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import tzinfo
from itertools import chain
from typing import Protocol

import trio

from homed.agent import notes
from homed.config.definitions import EXTRACT_MAX_TOKENS
from homed.jobs.job import Run
from homed.jobs.model import Background
from homed.jobs.storing import Extracted, Found, Matter, Summary, project_of, told, whose
from homed.jobs.transcript import Transcript, actions
from homed.memory import capsules, passes
from homed.memory.capsules import NewCapsule
from homed.memory.cooling import MODEL, Piece
from homed.memory.distil import contract, grounding
from homed.memory.distil.basis import Basis
from homed.memory.distil.contract import Answer, BadAnswer
from homed.memory.distil.grounding import Ground
from homed.memory.evidence import Evidence, Pointer
from homed.memory.lawwords import FUNCTION_WORDS
from homed.memory.near import spoken_of
from homed.memory.newfact import NewFact
from homed.memory.normal import bag
from homed.memory.records import Event, EventKind
from homed.memory.speakers import is_group
from homed.memory.stable import Record
from homed.prompts.loader import load
from homed.store.rows import Storage, Tx

log = logging.getLogger(__name__)

EXCERPT = 200
"""Characters of a record that a prompt shows, so that the model knows whether to continue or correct it."""

PART = 1 / 3
"""Share of the words of each part of a profile of which more must have been said."""

_END = re.compile(r"</\s*(?=transcript)", re.IGNORECASE)


class SettingsPort(Protocol):
    """What is read of the settings."""

    def int(self, key: str) -> int:
        """A whole number."""
        ...


@dataclass(frozen=True, slots=True)
class Known:
    """What memory holds of the matter already: what a model may continue or correct, and what it was told before these
    turns, which is no news."""

    capsules: Sequence[Record] = ()
    facts: Sequence[Record] = ()
    recalled: Sequence[str] = ()


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

    async def read(self, run: Run, script: Transcript) -> Extracted:
        """What it found; ``by`` '' when two answers held no JSON of the shape.  Raises what ``Background.ask`` does.

        Cancelled: nothing is left behind but the calls that were counted.
        """
        known = await self._store.read(lambda tx: _known(tx, script))
        gates: Counter[str] = Counter()
        answer = await self._answer(run, script, known, gates)
        if answer is None:
            return Extracted("", drops=gates)
        gates.update(answer.drops)
        return await trio.to_thread.run_sync(_made, answer, script, known, gates, run.zone)

    async def _answer(self, run: Run, script: Transcript, known: Known, gates: Counter[str]) -> Answer | None:
        said = [("system", self._prompt), ("user", _told(script, known))]
        most = self._settings.int(EXTRACT_MAX_TOKENS)
        for last in (False, True):
            text = await self._background.ask(run.job.name, said, most)
            try:
                return contract.read(text)
            except BadAnswer as error:
                # what it was is not written down: it may hold anything that was said
                log.info("an answer of %d characters on %s: %s", len(text), script.pieces[0].turn, error)
                gates["bad_json" if last else "asked_again"] += 1
                said += [("assistant", text or "-"), ("user", self._again)]
        return None


def _made(answer: Answer, script: Transcript, known: Known, gates: Counter[str], zone: tzinfo) -> Extracted:
    """What of an answer is borne out.  Called in a thread: of pages of text all words are looked at."""
    ground = _ground(script, known, zone)
    kept, stopped = grounding.grounded(answer, script, ground)
    gates.update(stopped)
    found = tuple(Found(_by_whom(script, _named(fact, known), piece), (piece,)) for fact, piece in kept)
    matters = _matters(script, answer, known, gates)
    shown = {record.id: record.text for record in (*known.facts, *known.capsules)}
    return Extracted(MODEL, found, _summaries(script, answer, ground, gates), matters, +gates, shown)


def _known(tx: Tx, script: Transcript) -> Known:
    """Of these turns' scope and project alone."""
    scope, project = script.pieces[0].scope, project_of(script.pieces)
    own = "\n".join(event.text for piece in script.pieces for event in piece.events if piece.own(event))
    return Known(
        capsules.near(tx, scope, project=project), spoken_of(tx, scope, own, project=project),
        passes.recalled(tx, script.pieces[0].thread, max(e.created_at for p in script.pieces for e in p.events)),
    )  # fmt: skip


def _told(script: Transcript, known: Known) -> str:
    """The question: what there is to correct or to continue, and the transcript, which cannot end itself."""
    parts = []
    if known.facts:
        lines = (f"- {record.shown_id}: {_line(record.text)}" for record in known.facts)
        parts.append("Facts that may be corrected:\n" + "\n".join(lines))
    if known.capsules:
        lines = (f'- {record.shown_id}: "{_line(record.title)}": {_line(record.text)}' for record in known.capsules)
        parts.append("Capsules that may be continued:\n" + "\n".join(lines))
    return "\n\n".join([*parts, f"<transcript>\n{_inside(script.text)}\n</transcript>"])


def _line(text: str) -> str:
    """A record in one line, which can be taken for no other part of the question."""
    return _inside(" ".join(text.split()))[:EXCERPT]


def _inside(text: str) -> str:
    return _END.sub("< /transcript", text)


def _ground(script: Transcript, known: Known, zone: tzinfo) -> Ground:
    first = script.pieces[0]
    own = [(piece, event) for piece in script.pieces for event in piece.events if piece.own(event)]
    called = {event.id: _called(piece, event) for piece, event in own}
    return Ground(
        first.scope, [(event.id, event.text) for _, event in own], first.peer,
        next((piece.project for piece in script.pieces if piece.project), ""),
        tainted=any(piece.tainted for piece in script.pieces), recalled=known.recalled, called=called,
        at={event.id: event.created_at for _, event in own}, zone=zone, known=[record.text for record in known.facts],
    )  # fmt: skip


def _called(piece: Piece, event: Event) -> tuple[str, ...]:
    peer = event.peer or piece.peer
    return tuple(filter(None, (peer, piece.names.get(peer, ""), notes.speaker(peer, piece.names))))


def _named(fact: NewFact, known: Known) -> NewFact:
    """With the whole id of what it corrects; without, where that is none of those that were shown."""
    said = fact.replaces.strip().removeprefix("id:").lower()
    return replace(fact, replaces=next((one.id for one in known.facts if said and said in (one.id, one.shown_id)), ""))


def _by_whom(script: Transcript, fact: NewFact, piece: Evidence) -> NewFact:
    """The fact as said by whoever wrote the message it stands in, and in that project: there may be several of both."""
    found = ((event.peer or p.peer, p.project) for p in script.pieces for event in p.events if event.id == piece.event)
    peer, project = next(found, (fact.peer, fact.project))
    if fact.reach == "project":  # of the one that it was said in, and of none where it was said in none
        fact = replace(fact, reach="project" if project else "user", project=project)
    return replace(fact, peer=peer, observed=peer if fact.scope.startswith("group:") else fact.observed)


def _summaries(script: Transcript, answer: Answer, ground: Ground, gates: Counter[str]) -> tuple[Summary, ...]:
    """The model's, if it names nothing that stands nowhere in the turns; else, counted as ``made_up``, those that
    nobody wrote."""
    said = answer.summary
    if said is not None and _basis(script, ground).invents(said):
        gates["made_up"] += 1
        said = None
    if said is None:
        return tuple(map(told, script.pieces))
    return (Summary(said.request, said.actions, said.outcome, said.importance, said.tags, "model", script.pieces),)


def _basis(script: Transcript, ground: Ground) -> Basis:
    """All that the model read, whoever said it, and whose names it was told."""
    spoken = (EventKind.USER, EventKind.ASSISTANT)
    said = [(e.text, e.created_at) for piece in script.pieces for e in piece.events if e.kind in spoken]
    tools = [(actions(piece.events), None) for piece in script.pieces]
    names = [name for piece in script.pieces for name in piece.names.values()]
    return Basis([*said, *tools], ground.zone, [*names, *chain(*ground.called.values())], tally=True)


def _matters(script: Transcript, answer: Answer, known: Known, gates: Counter[str]) -> tuple[Matter, ...]:
    """The capsules that what was said bears out, or what they continue; they rest on the messages."""
    own = [event for piece in script.pieces for event in piece.events if piece.own(event)]
    mine_text = "\n".join(event.text for event in own)
    peer, group = whose(script.pieces), is_group(script.pieces[0].scope)
    project = project_of(script.pieces)
    made = []
    for whole in answer.capsules:
        mine = whole.kind == "profile"  # who somebody is; anything else is the group's
        if mine and group and not peer:
            gates["whose"] += 1  # several spoke, and it would name none of them
            continue
        named = (r for r in known.capsules if _is(r, whole.id) and (not mine or r.observed == peer))
        before = next((record.text for record in named), "")
        source = mine_text if mine else script.text  # nobody else says it
        said = f"{source}\n{before}"
        if borne_out(whole.text, said) < grounding.SUPPORT or (mine and _made_up(whole.text, said)):
            gates["unsupported"] += 1
            continue
        new = NewCapsule(
            script.pieces[0].scope, whole.kind, whole.title, whole.text, id=whole.id.removeprefix("id:"),
            importance=whole.importance, untrusted=_tainted(script.pieces), observed=peer if mine else "",
            reach="project" if project and not mine else "user", project=project,
        )  # fmt: skip
        made.append(Matter(new, tuple(Pointer(event.id) for event in own)))
    return tuple(made)


def _is(record: Record, id_: str) -> bool:
    return bool(id_) and id_.removeprefix("id:") in (record.id, record.shown_id)


def borne_out(text: str, source: str) -> float:
    """Share of the words of ``text`` that say something and stand in ``source`` too, 0..1."""
    words = bag(text) - FUNCTION_WORDS
    return len(words & bag(source)) / len(words) if words else 0.0


def _made_up(text: str, source: str) -> bool:
    """Whether one of its parts is: beside what is true of somebody anything could be said of them."""
    parts = [part for part in grounding.clauses(text) if bag(part) - FUNCTION_WORDS]
    return any(borne_out(part, source) <= PART for part in parts)


def _tainted(pieces: Sequence[Piece]) -> bool:
    return any(piece.tainted or piece.foreign for piece in pieces)
