"""What a turn reads of its scope before the first model call, in one snapshot and as far as the time allows.

Runs on a reading thread.  Each source stands for itself: one that fails, or comes too late, is missing in what was
found, and nothing else is (B12, B13).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from homed.agent import bands, known, notes
from homed.agent.bands import Limits as Telling
from homed.agent.explicit import Explicit
from homed.agent.known import About, Known
from homed.agent.lines import Fact
from homed.agent.notes import MARK_TOKENS, SPEAKER_TOKENS, Place
from homed.errors import StorageError
from homed.memory import events as table
from homed.memory import injections, scope_window, speakers
from homed.memory.budget import Budget, protected, top_k
from homed.memory.choose import FULL
from homed.memory.cooling import MODEL
from homed.memory.records import Event, EventKind, shows_files
from homed.memory.temporary import reads
from homed.memory.window import Limits, Selection, paired, select
from homed.retrieval.asking import Question
from homed.retrieval.rank import Ranker
from homed.retrieval.words import cleaned, query_terms
from homed.store.rows import Tx, dumps

log = logging.getLogger(__name__)

NOTES = 3
"""Events beyond those shown that are told unasked: of the cold layer, and of the window what had no room."""

HEAD_TOKENS = 40
"""Of a note, what its head takes: id, date, conversation, who."""

NEWEST = 400
"""Newest events of a window that are chosen from, or all of one that is as full as it may be.  After an upgrade there
may be any number; what is relevant beyond these is told like what is cold."""

EARLIER, AT_ONCE = 10, 5
"""Turns of this conversation whose notes are told again, the newest at least; and how many go at once."""

LATELY = 8
"""Turns of this conversation after which what was told is told once more, though a note of it stands there still."""

LIVE = 3600.0
"""Seconds since its last use that a conversation counts as going on."""

LIVE_THREADS = 8
"""Conversations that so count, the newest; each costs a scoring when the window is sunk."""

WINDOW, RELEVANCE, KNOWN, COLD, NOTED = "window", "relevance", "facts", "cold", "notes"
SOURCES = (WINDOW, RELEVANCE, KNOWN, COLD, NOTED)


@dataclass(frozen=True, slots=True)
class Wanted:
    """One turn's question to its scope.  ``spoken_for``: tokens of the window's share that its own events take.
    ``explicit``: what was asked for by name lately, and is not told once more.  ``apart``: turns whose events are not
    among what was before: this one, and those that are suspended for it.  ``carried``: what this conversation's last
    turn showed, nothing where a new choice is wanted.  ``beyond``: scopes of which it is told as well, and whose window
    is not its own (of an agent that an agent made); ``read`` finds them.  ``unasked``: whether it is told anything
    beyond its window; ``telling``: how much of what is known, None for nothing of it."""

    scope: str
    thread: str
    turn: str
    query: Question
    budget: Budget
    most: int
    protected: int
    gate: float
    now: float
    spoken_for: int = 0
    small: bool = False
    peer: str = ""
    project: str = ""
    explicit: Explicit = field(default_factory=Explicit)
    apart: frozenset[str] = frozenset()
    carried: frozenset[str] = frozenset()
    beyond: tuple[str, ...] = ()
    unasked: bool = True
    telling: Telling | None = field(default_factory=Telling)

    @property
    def reads(self) -> tuple[str, ...]:
        """All scopes it is told of, its own first."""
        return (self.scope, *self.beyond)


@dataclass(slots=True)
class Found:
    """What was read.  ``events`` without their texts, which those of the ``selection`` have.  ``hits``: events to tell,
    with their relevance; ``names``: of the members of a group that speak in any of these, by peer; ``known``: of the
    stable layer; ``earlier``: what was told then, by turn, and ``facts`` of it; ``lately``: ids and revisions of those
    that were told within ``LATELY`` turns, by turn.
    """

    events: list[Event] = field(default_factory=list)
    texts: dict[int, tuple[str, str]] = field(default_factory=dict)
    active: list[str] = field(default_factory=list)
    scores: Mapping[int, float] = field(default_factory=dict)
    selection: Selection | None = None
    limits: Limits | None = None
    hits: list[tuple[Event, float]] = field(default_factory=list)
    below: int = 0
    known: Known = field(default_factory=Known)
    earlier: dict[str, list[Event]] = field(default_factory=dict)
    facts: dict[str, list[Fact]] = field(default_factory=dict)
    lately: dict[str, frozenset[tuple[str, int]]] = field(default_factory=dict)
    places: dict[str, Place] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    done: set[str] = field(default_factory=set)

    @property
    def missing(self) -> list[str]:
        """Sources that came too late or failed."""
        return [name for name in SOURCES if name not in self.done]


def read(tx: Tx, ranker: Ranker, wanted: Wanted, found: Found) -> None:
    """Read everything into ``found``, the most important first.  Raises nothing; interrupted, the rest is missing."""
    wanted = replace(wanted, beyond=_beyond(tx, wanted))
    parts: tuple[Callable[[Tx, Ranker, Wanted, Found], None], ...] = (_window, _relevance, _known, _cold, _noted)
    for name, part in zip(SOURCES, parts, strict=True):
        try:
            part(tx, ranker, wanted, found)
            found.done.add(name)
        except StorageError as error:
            log.info("turn %s goes on without %s: %s", wanted.turn, name, error.message)
        except Exception:
            log.exception("turn %s goes on without %s", wanted.turn, name)


def _beyond(tx: Tx, wanted: Wanted) -> tuple[str, ...]:
    """The other scopes that it may read; none when that cannot be known."""
    try:
        return reads(tx, wanted.scope)[1:]
    except StorageError as error:
        log.info("turn %s is told of its own scope alone: %s", wanted.turn, error.message)
        return ()


def choose(wanted: Wanted, found: Found) -> Selection:
    """Which of the events read this turn shows, by what scores there are; sets the limits too."""
    candidates = [event for event in found.events if event.turn not in wanted.apart]
    if wanted.small:
        candidates = [event for event in candidates if event.thread == wanted.thread]
    units = [
        unit
        for unit in paired(candidates, lambda event: event.tokens + _marks(event, wanted.thread))
        if unit.thread == wanted.thread or not _needless(unit.events, found.scores, wanted.gate)
    ]
    count = sum(len(unit.events) for unit in units)
    average = sum(unit.tokens for unit in units) / max(1, count)
    top = top_k(wanted.budget.context, average, wanted.most)
    found.limits = Limits(
        events=top,
        protected=protected(wanted.protected, wanted.budget.context, average, top),
        tokens=max(1, wanted.budget.context - wanted.spoken_for),
    )
    return select(
        units, found.scores, thread=wanted.thread, active=found.active, limits=found.limits, carried=wanted.carried
    )


def _marks(event: Event, thread: str) -> int:
    """Tokens of what stands before an event: where it was said, and by whom."""
    return MARK_TOKENS * (event.thread != thread) + SPEAKER_TOKENS * notes.marked(event)


def by_ids(tx: Tx, scope: str, ids: Collection[str]) -> dict[str, Event]:
    """These events of the scope that others than their own turn may see."""
    if not ids:
        return {}
    rows = tx.all(  # by id, not by the index of the scope, which has every event of it
        f"SELECT {table.COLUMNS} FROM events WHERE id IN (SELECT value FROM json_each(?)) AND +scope = ?"
        f" AND +no_memory = 0 AND {table.NOT_REMOVED}",
        (dumps(sorted(ids)), scope),
    )
    return {event.id: event for event in map(table.from_row, rows)}


def places_of(tx: Tx, events: Sequence[Event]) -> dict[str, Place]:
    """The conversations these events belong to, by thread."""
    rows = tx.all(
        "SELECT id, title, channel FROM threads WHERE id IN (SELECT value FROM json_each(?))",
        (dumps(sorted({event.thread for event in events})),),
    )
    return {id_: Place(title, channel) for id_, title, channel in rows}


def _window(tx: Tx, _: Ranker, wanted: Wanted, found: Found) -> None:
    found.active = scope_window.active_threads(tx, wanted.scope, since=wanted.now - LIVE)[:LIVE_THREADS]
    found.events = scope_window.outlines(tx, wanted.scope, limit=max(NEWEST, FULL * wanted.most))
    _settle(tx, wanted, found)  # by time alone, should no more than this be read
    _place(tx, wanted, found, found.events)


def _relevance(tx: Tx, ranker: Ranker, wanted: Wanted, found: Found) -> None:
    seqs = [event.seq for event in found.events if event.turn not in wanted.apart]
    found.scores = ranker.score(tx, scope=wanted.scope, query=wanted.query, seqs=seqs) if seqs else {}
    _settle(tx, wanted, found)


def _settle(tx: Tx, wanted: Wanted, found: Found) -> None:
    """Choose, and read the texts of what is chosen; the choice counts from then on."""
    chosen = choose(wanted, found)
    found.texts |= scope_window.texts(tx, {event.seq for event in chosen.kept} - found.texts.keys())
    whole = (replace(e, text=text, opaque=opaque) for e in chosen.kept for text, opaque in [found.texts[e.seq]])
    found.selection = replace(chosen, kept=tuple(map(scope_window.counted, whole)))


def _known(tx: Tx, ranker: Ranker, wanted: Wanted, found: Found) -> None:
    if not wanted.unasked or wanted.telling is None:
        return
    kept = found.selection.kept if found.selection else ()
    turns = frozenset(event.turn for event in kept)
    mine = {event.turn for event in kept if event.thread == wanted.thread}
    about = About(
        wanted.scope, wanted.query, wanted.gate, wanted.now, wanted.explicit.seen(wanted.scope, mine), wanted.project,
        wanted.thread, turns, wanted.telling,
    )  # fmt: skip
    parts = [known.look(tx, ranker, replace(about, scope=scope)) for scope in wanted.reads]
    found.known = parts[0] if len(parts) == 1 else known.together(parts)


def _cold(tx: Tx, ranker: Ranker, wanted: Wanted, found: Found) -> None:
    if not wanted.unasked or bands.continues(wanted.query.text):
        return
    kept = {event.id for event in found.selection.kept} if found.selection else set()
    # the cold layer, and what of the window is not in view: for a small model all other conversations, for others what
    # had no room
    most = 2 * NOTES + len(kept)
    every = [
        hit
        for scope in (wanted.reads if wanted.telling else [wanted.scope])
        for hit in ranker.search(tx, scope=scope, layer=("cold", "context"), query=wanted.query, limit=most)
    ]
    if wanted.beyond:
        every.sort(key=lambda hit: -hit.score)
    hits = [hit for hit in every if hit.id not in kept][: 2 * NOTES]
    near = [hit for hit in hits if hit.relevance >= wanted.gate]
    read = _read(tx, [hit.id for hit in near if hit.relevance < bands.SURE])
    near = [hit for hit in near if hit.id not in read]
    texts = _texts(tx, wanted, [hit.id for hit in near])
    told = [
        (event, hit.relevance)
        for hit in near
        if (event := texts.get(hit.id)) and event.turn not in wanted.apart and event.text.strip()
    ][:NOTES]
    share = notes.SMALL_TOKENS // 2 if wanted.small else min(notes.NOTE_TOKENS, wanted.budget.memory // NOTES)
    terms = query_terms(cleaned(wanted.query.text)) if told else ()
    found.hits = [(notes.about(event, terms, share - HEAD_TOKENS), score) for event, score in told]
    found.below = len(hits) - len(near)
    _place(tx, wanted, found, [event for event, _ in found.hits])


def _read(tx: Tx, ids: Sequence[str]) -> set[str]:
    """Those that a model has read, which tools' results are not: facts and the summary of their turn stand for them."""
    rows = tx.all(
        "SELECT id FROM events WHERE id IN (SELECT value FROM json_each(?)) AND pass = ? AND kind <> 'tool'",
        (dumps(ids), MODEL),
    )
    return {str(id_) for (id_,) in rows}


def _noted(tx: Tx, _: Ranker, wanted: Wanted, found: Found) -> None:
    if wanted.small or not wanted.unasked:
        return
    kept = found.selection.kept if found.selection else ()
    turns = list(dict.fromkeys(event.turn for event in reversed(kept) if event.thread == wanted.thread))
    lately = turns[:LATELY]
    # not one out with each that comes in: what stands before is read anew by the source from where it changes
    turns = turns[: EARLIER + (max(0, len(turns) - EARLIER) % AT_ONCE)]
    told = {turn: one.lines for turn, one in injections.of_turns(tx, turns).items()}
    ids = {line.id for lines in told.values() for line in lines}
    held = {id_: fact for scope in wanted.reads for id_, fact in known.by_ids(tx, scope, ids).items()}
    texts = _texts(tx, wanted, ids - held.keys() - {event.id for event in kept})
    for turn, lines in told.items():
        again = [texts[line.id] for line in lines if line.id in texts]
        facts = [held[line.id] for line in lines if line.id in held]
        if again or facts:
            found.earlier[turn], found.facts[turn] = again, facts
        if turn in lately:
            found.lately[turn] = frozenset((line.id, line.revision) for line in lines if line.id in held)
    _place(tx, wanted, found, [event for events in found.earlier.values() for event in events])


def _texts(tx: Tx, wanted: Wanted, ids: Collection[str]) -> dict[str, Event]:
    """``by_ids`` of every scope that is read."""
    return {id_: event for scope in wanted.reads for id_, event in by_ids(tx, scope, ids).items()}


def _place(tx: Tx, wanted: Wanted, found: Found, events: Sequence[Event]) -> None:
    """Where these were said, and by whom."""
    found.places |= places_of(tx, events)
    for scope in wanted.reads:
        found.names |= speakers.names(tx, scope, [wanted.peer, *(event.peer for event in events)])


def _needless(events: Sequence[Event], scores: Mapping[int, float], gate: float) -> bool:
    """Words of strangers that another conversation's tool or files brought, and that have nothing to do with this one.

    Shown they would turn every standing yes of the person back into a question, for nothing.
    """
    outside = any(
        (event.kind is EventKind.TOOL and event.data.get("untrusted")) or shows_files(event) for event in events
    )
    return outside and max(scores.get(event.seq, 0.0) for event in events) < gate
