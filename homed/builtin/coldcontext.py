"""``coldcontext_query``: the model looks for what has left its window; ``coldcontext_commit``: it keeps a text there.

What is kept is the stored result of the call, an event as every other: it sinks, is found and cools like them.
``doc_query`` and ``doc_commit`` are what an earlier system called the two.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import trio

from homed.agent import notes, reading
from homed.agent.asking import asked
from homed.agent.ports import BuiltinTool, CallContext, FromOutside
from homed.builtin.entries import entry, string
from homed.clock import WallClock, system_wall_clock
from homed.failpoints import Failpoints, NoFailpoints
from homed.identity.permissions import WRITE
from homed.memory import cold, inputs, ledger, speakers
from homed.memory.records import Event
from homed.memory.shorten import ends
from homed.memory.temporary import reads
from homed.retrieval.asking import Question
from homed.retrieval.passage import piece
from homed.retrieval.rank import Ranker
from homed.retrieval.without import words_only
from homed.retrieval.words import cleaned, query_terms
from homed.store.rows import Storage, Tx

TOP, MOST = 3, 10

MOST_KEPT = 24_000
"""Characters of one text that is kept: what the index looks at whole."""

TEXT = 4000
"""Characters of one text; of a longer one head and tail, and ``result_read`` gives the rest."""

NOT_FOUND = (
    "Nothing that you remember matches these words. That does not mean that it does not exist or was never said: it may"
    " have been put in other words. Try other words; if you still find nothing, say that you have no record of it."
)
IN_VIEW = "Everything that matches is in your view already."


@dataclass(frozen=True, slots=True)
class _Found:
    """``hits``: event, relevance and layer, best first; ``seen``: ids of those that are in view already;
    ``terms``: what was looked for; ``names``: of a group's members."""

    hits: Sequence[tuple[Event, float]]
    places: Mapping[str, notes.Place]
    seen: Sequence[str]
    terms: Collection[str]
    names: Mapping[str, str]


class ColdQuery:
    """Looks for what a turn does not show, and counts what it finds as looked at by that turn."""

    def __init__(
        self,
        store: Storage,
        wall: WallClock = system_wall_clock,
        failpoints: Failpoints | None = None,
        ranker: Ranker | None = None,
    ) -> None:
        self._store = store
        self._ranker = ranker or words_only()
        self._wall = wall
        self._points = failpoints or NoFailpoints()

    async def ask(self, context: CallContext, query: str, top: int) -> tuple[Mapping[str, object], bool]:
        """What was found, and whether words of strangers are in it.  When the turn is answered, what is cold comes back
        into the window."""
        question = await asked(self._ranker, query)
        found = await self._store.read(lambda tx: _search(tx, self._ranker, context, question, top))
        await self._store.write(lambda tx: _look(tx, context, found, self._wall()))
        self._points.reach("memory.peeked")
        return _answer(found, context), any(event.data.get("untrusted") for event, _ in found.hits)


def coldcontext_query(cold_query: ColdQuery) -> BuiltinTool:
    """The tool."""

    async def run(context: CallContext, args: Mapping[str, object]) -> object:
        wanted = args.get("top_k", TOP)
        answer, outside = await cold_query.ask(context, str(args["query"]), wanted if isinstance(wanted, int) else TOP)
        return FromOutside(answer) if outside else answer

    properties = {
        "query": {
            "type": "string",
            "minLength": 1,
            "description": "Words that would stand in it.",
        },
        "top_k": {"type": "integer", "minimum": 1, "maximum": MOST, "description": f"How many to return; {TOP}."},
    }
    return BuiltinTool(entry("coldcontext_query", properties, ("query",), guest=True), run)


def coldcontext_commit() -> BuiltinTool:
    """The tool.  A text written while words of strangers were in view may hold them, and is marked so."""

    async def run(context: CallContext, args: Mapping[str, object]) -> object:
        await trio.lowlevel.checkpoint()
        title = str(args.get("title", "")).strip()
        kept = f"Kept: {title}\n\n{args['text']}" if title else f"Kept:\n\n{args['text']}"
        return FromOutside(kept) if context.tainted else kept

    properties = {"text": string(most=MOST_KEPT), "title": string()}
    declared = entry("coldcontext_commit", properties, ("text",), guest=False, tool_class=WRITE)
    return BuiltinTool(replace(declared, no_memory=False), run)


def named(tool: BuiltinTool, name: str) -> BuiltinTool:
    """The same tool by an older name: it is called by it, and no model is told of it."""
    return replace(tool, entry=replace(tool.entry, name=name), offered=False)


def _search(tx: Tx, ranker: Ranker, context: CallContext, query: Question, top: int) -> _Found:
    """The best of the scopes that may be read, whatever the layer; the scope comes before any ranking."""
    more = 2 * top + len(context.in_view)
    scopes = reads(tx, context.scope)
    found = [
        hit
        for scope in scopes
        for hit in ranker.search(tx, scope=scope, layer=("cold", "context"), query=query, limit=more)
    ]
    if len(scopes) > 1:
        found.sort(key=lambda hit: -hit.score)
    seen = [hit.id for hit in found if hit.id in context.in_view]
    ids = [hit.id for hit in found]
    events = {id_: event for scope in scopes for id_, event in reading.by_ids(tx, scope, ids).items()}
    new = [(events[hit.id], hit.score) for hit in found if hit.id not in context.in_view and hit.id in events]
    hits = [(event, score) for event, score in new if event.turn != context.turn][:top]
    terms = query_terms(cleaned(query.text))
    speaking = [event.peer for event, _ in hits]
    names = {peer: name for scope in scopes for peer, name in speakers.names(tx, scope, speaking).items()}
    return _Found(hits, reading.places_of(tx, [event for event, _ in hits]), seen[:top], terms, names)


def _look(tx: Tx, context: CallContext, found: _Found, at: float) -> None:
    """Count the access and record it; only when the turn is answered does anything move."""
    # what another scope has is read only: it is not brought back into that one's window
    mine = [event.id for event, _ in found.hits if event.scope == context.scope]
    cold.peek(tx, mine, context.turn, at)
    given = inputs.get(tx, str(tx.value("SELECT input FROM turns WHERE id = ?", (context.turn,))))
    if given is not None:
        hits = [{"id": event.id, "score": score, "layer": event.layer} for event, score in found.hits]
        ledger.record(tx, given, "peek", {"events": hits, "in_view": list(found.seen)}, at=at)


def _answer(found: _Found, context: CallContext) -> dict[str, object]:
    if not found.hits:
        return {"found": [], "note": IN_VIEW if found.seen else NOT_FOUND}
    shown = [_shown(hit, found, context) for hit in found.hits]
    return {"found": shown, **({"also_in_your_view": len(found.seen)} if found.seen else {})}


def _part(text: str, terms: Collection[str], more: str) -> str:
    """What of a long text the question is about, else its head and tail."""
    span = piece(text, terms, TEXT)
    if span is None:
        return ends(text, TEXT * 2 // 3, TEXT // 3, more)
    first, last = span
    return f"[… from character {first} of {len(text)}{more} …]\n{text[first:last]}"


def _shown(hit: tuple[Event, float], found: _Found, context: CallContext) -> dict[str, object]:
    (event, score), places, terms = hit, found.places, found.terms
    text = notes.neutral(event.text)
    if len(text) > TEXT:
        text = _part(text, terms, f'; read on with result_read(id="{event.id}")')
    return {
        "id": event.id, "at": datetime.fromtimestamp(event.created_at).astimezone().strftime("%Y-%m-%d %H:%M"),
        "conversation": str(places.get(event.thread, notes.Place("", event.channel))),
        "who": notes.who(event, context.peer, found.names), "score": round(score, 2), "text": text,
    }  # fmt: skip
