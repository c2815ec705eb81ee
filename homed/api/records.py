"""``memory.*``: records looked at and changed by hand, what turns were told, the graph, the cold layer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

from pydantic import BeforeValidator, Field

from homed.api.console import ConsolePort
from homed.api.memory import QUERY
from homed.api.method import MAX_NAME, Method, Name, PeerCall, PeerParams, personal
from homed.identity.roles import Role

if TYPE_CHECKING:
    from homed.jobs.console.ports import Answer, Seen

MOST = 100
TEXT = 4000
"""Characters of a text that is given: what is longer than a record may be is refused in words of its own."""

RECORDS = {"l1": "summary", "l2": "fact", "l3": "capsule"}
"""What others call them."""


def _called(value: object) -> object:
    return RECORDS.get(value, value) if isinstance(value, str) else value


Kind = Annotated[Literal["summary", "fact", "capsule"], BeforeValidator(_called)]
Status = Literal["active", "superseded", "archived", "hidden", "quarantined", "any"]
Id = Annotated[str, Field(min_length=1, max_length=MAX_NAME)]
Tags = list[Annotated[str, Field(max_length=MAX_NAME)]]
When = Annotated[float, Field(ge=0, lt=1e12)]


class Stats(PeerParams):
    """``memory.stats``"""


class Records(PeerParams):
    """``memory.records``"""

    query: str = Field(default="", max_length=QUERY)
    record: Kind | None = None
    kind: str = Field(default="", max_length=40)
    status: Status = "active"
    reach: Literal["", "user", "project"] = ""
    project: str = Field(default="", max_length=MAX_NAME)
    scope: str = Field(default="", max_length=MAX_NAME)
    person: str = Field(default="", max_length=MAX_NAME)
    entity: str = Field(default="", max_length=MAX_NAME)
    tag: str = Field(default="", max_length=MAX_NAME)
    evidence: Literal["", "source", "pointer", "manual", "none"] = ""
    untrusted: bool | None = None
    since: When | None = None
    until: When | None = None
    sort: Literal["newest", "importance", "cited"] = "newest"
    before: str = Field(default="", max_length=64)
    limit: int = Field(default=50, ge=1, le=MOST)


class OfRecord(PeerParams):
    """``memory.hide``, ``memory.restore``, ``memory.reinstate``"""

    id: Id


class Opened(OfRecord):
    """``memory.record``"""

    history: bool = True


class Edited(OfRecord):
    """``memory.edit``"""

    revision: int = Field(ge=1, lt=1 << 31)
    text: str | None = Field(default=None, max_length=TEXT)
    title: str | None = Field(default=None, max_length=MAX_NAME)
    kind: str | None = Field(default=None, max_length=40)
    importance: int | None = Field(default=None, ge=1, le=10)
    tags: Tags | None = Field(default=None, max_length=8)


class Noted(PeerParams):
    """``memory.note``"""

    text: str = Field(min_length=1, max_length=TEXT)
    record: Kind = "fact"
    kind: str = Field(default="", max_length=40)
    title: str = Field(default="", max_length=MAX_NAME)
    reach: Literal["user", "project"] = "user"
    project: str = Field(default="", max_length=MAX_NAME)
    tags: Tags = Field(default_factory=list, max_length=8)
    importance: int = Field(default=6, ge=1, le=10)


class Combined(PeerParams):
    """``memory.combine``"""

    keep: Id
    gone: Id


class Injections(PeerParams):
    """``memory.injections``"""

    limit: int = Field(default=20, ge=1, le=MOST)
    before: int | None = Field(default=None, ge=1, lt=1 << 53)
    thread: str = Field(default="", max_length=MAX_NAME)
    record: str = Field(default="", max_length=MAX_NAME)
    turn: str = Field(default="", max_length=MAX_NAME)


class Graph(PeerParams):
    """``memory.graph``"""

    center: str = Field(default="", max_length=MAX_NAME)
    depth: int = Field(default=1, ge=1, le=3)
    limit: int = Field(default=60, ge=1, le=200)


class Cold(PeerParams):
    """``memory.cold``"""

    query: str = Field(default="", max_length=QUERY)
    before: str = Field(default="", pattern=r"^[0-9]{0,18}$")
    limit: int = Field(default=30, ge=1, le=MOST)


class OfEvent(PeerParams):
    """``memory.bring_back``"""

    event: Name


PP = TypeVar("PP", bound=PeerParams)


def _console(call: PeerCall[Any]) -> ConsolePort:
    return call.ports.console()


def _seen(call: PeerCall[Any]) -> Seen:
    from homed.jobs.console.ports import Seen

    return Seen(call.lent.turn, call.lent.thread) if call.lent else Seen()


def _given(call: PeerCall[Any], found: Answer) -> Mapping[str, object]:
    call.took_in(untrusted=found.untrusted)
    return found.answer


async def stats(call: PeerCall[Stats]) -> Mapping[str, object]:
    """How memory stands."""
    return await _console(call).stats.stats(call.who)


async def records(call: PeerCall[Records]) -> Mapping[str, object]:
    """Records, a page at a time."""
    from homed.jobs.console.reading import ListAsked
    from homed.memory.browse import Filters

    wanted = call.params
    filters = Filters(
        scopes=frozenset(), records=_one(wanted.record), kinds=_one(wanted.kind),
        statuses=frozenset() if wanted.status == "any" else frozenset({wanted.status}), reach=wanted.reach,
        project=wanted.project, person=wanted.person, entity=wanted.entity, tag=wanted.tag, evidence=wanted.evidence,
        untrusted=wanted.untrusted, since=wanted.since, until=wanted.until,
    )  # fmt: skip
    asked = ListAsked(filters, wanted.query, wanted.sort, wanted.before, wanted.limit, wanted.scope)
    return _given(call, await _console(call).reading.records(call.who, asked, _seen(call)))


async def record(call: PeerCall[Opened]) -> Mapping[str, object]:
    """One record, opened."""
    found = await _console(call).reading.record(
        call.who, call.params.id, history=call.params.history, seen=_seen(call)
    )  # fmt: skip
    return _given(call, found)


async def injections(call: PeerCall[Injections]) -> Mapping[str, object]:
    """What turns were told."""
    from homed.jobs.console.reading import LedgerAsked

    wanted = call.params
    asked = LedgerAsked(wanted.limit, wanted.before, wanted.thread, wanted.record, wanted.turn)
    return _given(call, await _console(call).reading.injections(call.who, asked, _seen(call)))


async def graph(call: PeerCall[Graph]) -> Mapping[str, object]:
    """The graph."""
    wanted = call.params
    found = await _console(call).reading.graph(call.who, wanted.center, depth=wanted.depth, limit=wanted.limit)
    return _given(call, found)


async def cold(call: PeerCall[Cold]) -> Mapping[str, object]:
    """What left the window."""
    wanted = call.params
    found = await _console(call).reading.cold(
        call.who, wanted.query, before=wanted.before, limit=wanted.limit, seen=_seen(call)
    )
    return _given(call, found)


async def thresholds(call: PeerCall[PeerParams]) -> Mapping[str, object]:
    """The thresholds, what each prevents, and how it came to be what it is; that last is told to owners alone."""
    found = [one.wire() for one in await call.ports.settings.thresholds()]
    if call.who.role is not Role.OWNER:
        found = [{**one, "changes": [], "place": ""} for one in found]
    return {"thresholds": found}


async def edit(call: PeerCall[Edited]) -> Mapping[str, object]:
    """Correct one by hand."""
    from homed.memory.mutate import Edit

    given = call.params
    tags = None if given.tags is None else tuple(given.tags)
    wanted = Edit(given.revision, given.text, given.title, given.kind, given.importance, tags)
    return await _console(call).changing.edit(call.who, given.id, wanted)


async def note(call: PeerCall[Noted]) -> Mapping[str, object]:
    """Write one by hand."""
    from homed.memory.mutate import Note

    given = call.params
    wanted = Note(
        call.who.scope, given.text, given.record, given.kind, given.title, given.reach, given.project,
        tuple(given.tags), given.importance, call.who.peer,
    )  # fmt: skip
    return await _console(call).changing.note(wanted)


async def hide(call: PeerCall[OfRecord]) -> Mapping[str, object]:
    """Have it found by nothing."""
    return await _console(call).changing.hide(call.who, call.params.id)


async def restore(call: PeerCall[OfRecord]) -> Mapping[str, object]:
    """Have it found again."""
    return await _console(call).changing.restore(call.who, call.params.id)


async def reinstate(call: PeerCall[OfRecord]) -> Mapping[str, object]:
    """What was superseded holds again."""
    return await _console(call).changing.reinstate(call.who, call.params.id)


async def combine(call: PeerCall[Combined]) -> Mapping[str, object]:
    """Two become one."""
    return await _console(call).changing.combine(call.who, call.params.keep, call.params.gone)


async def bring_back(call: PeerCall[OfEvent]) -> Mapping[str, object]:
    """From the cold layer into the window."""
    return await _console(call).changing.bring_back(call.who, call.params.event)


def _one(value: str | None) -> frozenset[str]:
    return frozenset({value}) if value else frozenset()


METHODS: dict[str, Method] = {
    "memory.stats": personal(Stats, stats),
    "memory.records": personal(Records, records),
    "memory.record": personal(Opened, record),
    "memory.injections": personal(Injections, injections),
    "memory.graph": personal(Graph, graph),
    "memory.cold": personal(Cold, cold),
    "memory.thresholds": personal(PeerParams, thresholds),
    "memory.edit": personal(Edited, edit, in_person=True),
    "memory.note": personal(Noted, note, in_person=True),
    "memory.hide": personal(OfRecord, hide, in_person=True),
    "memory.restore": personal(OfRecord, restore, in_person=True),
    "memory.reinstate": personal(OfRecord, reinstate, in_person=True),
    "memory.combine": personal(Combined, combine, in_person=True),
    "memory.bring_back": personal(OfEvent, bring_back, in_person=True),
}
