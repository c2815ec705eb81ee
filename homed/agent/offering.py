"""The tools of each request: remembers, for the conversations at work, what they have asked for and used.

That stands in the events of the conversation, so nothing is stored for it: a restart reads it again.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from homed.agent.borrowed import OWNER
from homed.agent.catalogue import KERNEL, Catalogue
from homed.agent.offers import MORE, SHOW, Room, Sized, Wanted, at_once, pick, sized
from homed.agent.ports import AgentPorts
from homed.agent.turn import Turn
from homed.config.definitions import TOOLS_ALWAYS, TOOLS_BUDGET
from homed.errors import StorageError
from homed.host.registry import ToolEntry
from homed.host.states import Trust
from homed.memory.events import NOT_REMOVED
from homed.memory.records import EventKind
from homed.memory.temporary import reads
from homed.providers.base import ToolSpec
from homed.store.rows import Tx

log = logging.getLogger(__name__)

LOOKED_AT = 200
"""Tool calls of a conversation that are looked back at, the newest."""

HABITS = 100
"""And of its person's others, before it began."""

CONVERSATIONS = 256
"""What so many conversations have asked for is kept in mind, the last used."""

TOOLS = 4096
"""Tools whose descriptions are kept as they are sent."""


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call that came to an end, as far as it says which tools are wanted."""

    seq: int
    name: str
    args: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Past:
    """``daily``: names of tools that the person's other conversations used, the newest first; ``calls``: of this one,
    in order."""

    daily: Sequence[str] = ()
    calls: Sequence[Call] = ()


class Offering:
    """Chooses what of the tools that may be used is described to the model."""

    def __init__(self, ports: AgentPorts, catalogue: Catalogue) -> None:
        self._ports = ports
        self._catalogue = catalogue
        self._sized: dict[str, tuple[ToolEntry, Sized]] = {}
        self._wanted: dict[str, Wanted] = {}

    async def specs(self, turn: Turn, usable: Sequence[ToolEntry], window: int) -> tuple[ToolSpec, ...]:
        """The tools that the next request of this turn describes, of those that are ``usable``, in a stable order.

        All of them where none can be asked for, and for an agent that was given a list of its own.
        """
        known = {entry.name: self._of(entry) for entry in usable}
        lent = [name for name in known if turn.borrowed is not None and turn.borrowed.owns(name)]
        narrow = turn.frame is not None and turn.frame.tools is not None
        if narrow or SHOW not in known:
            return tuple(one.spec for one in known.values())
        ours = {name: one for name, one in known.items() if name not in lent}
        room = self._room()
        plugins = [entry for entry in usable if entry.name in ours and entry.plugin != KERNEL]
        brought = [entry.name for entry in plugins if entry.trust is not Trust.PACKAGED]
        further = [entry.name for entry in plugins], brought
        always = at_once(self._always(ours), further, ours, room.within(window).begin)
        wanted = await self._of_conversation(turn, ours, always, room)
        names = [*pick(ours, always, wanted, room.within(window)), *lent]  # a program's are this message's alone
        return tuple(known[name].spec for name in names)

    def _of(self, entry: ToolEntry) -> Sized:
        known = self._sized.get(entry.name)
        if known is None or known[0] != entry:
            if len(self._sized) >= TOOLS:
                self._sized.clear()
            known = self._sized[entry.name] = entry, sized(entry, whole=entry.plugin == OWNER)
        return known[1]

    def _room(self) -> Room:
        begin = self._ports.settings.int(TOOLS_BUDGET)
        return Room(begin, MORE * begin)

    def _always(self, usable: Mapping[str, Sized]) -> list[str]:
        names = self._ports.settings.str(TOOLS_ALWAYS).replace(",", " ").split()
        return [SHOW, *(name for name in dict.fromkeys(names) if name in usable and name != SHOW)]

    async def _of_conversation(
        self, turn: Turn, usable: Mapping[str, Sized], always: Sequence[str], room: Room
    ) -> Wanted:
        """What it has wanted so far, this turn's last step included."""
        thread = turn.input.thread
        wanted = self._wanted.pop(thread) if thread in self._wanted else Wanted()
        self._wanted[thread] = wanted  # at the end: the last used
        if len(self._wanted) > CONVERSATIONS:
            del self._wanted[next(iter(self._wanted))]
        rest = room.most - sum(usable[name].bytes for name in always)
        if wanted.turn != turn.id:
            past = await self._past(turn, wanted.upto, fresh=not wanted.turn)
            if not wanted.turn:
                begin = room.begin - sum(usable[name].bytes for name in always)
                wanted.begin([name for name in past.daily if name not in always], usable, begin)
            wanted.turn = turn.id
            self._count(wanted, past.calls, usable, always, rest)
        own = (e for e in turn.events if e.kind is EventKind.TOOL and e.seq > wanted.upto)
        calls = [Call(e.seq, str(e.data.get("name")), _table(e.data.get("args"))) for e in own]
        self._count(wanted, calls, usable, always, rest)
        return wanted

    def _count(
        self, wanted: Wanted, calls: Sequence[Call], usable: Mapping[str, Sized], always: Sequence[str], room: int
    ) -> None:
        for call in calls:
            names = self._catalogue.asked(call.args) if call.name == SHOW else [call.name]
            wanted.want([n for n in names if n in usable and n not in always], call.seq, usable, room)

    async def _past(self, turn: Turn, upto: int, *, fresh: bool) -> Past:
        try:
            return await self._ports.store.read(
                lambda tx: _read(tx, turn.input.scope, turn.input.thread, upto, fresh=fresh)
            )
        except StorageError as error:  # the turn goes on without: all can be asked for
            log.info("turn %s: which tools were used before is not known: %s", turn.id, error.message)
            return Past()


def _read(tx: Tx, scope: str, thread: str, upto: int, *, fresh: bool) -> Past:
    rows = tx.all(
        "SELECT seq, data ->> 'name', CASE data ->> 'name' WHEN ? THEN data -> 'args' END FROM events"
        " WHERE thread = ? AND seq > ? AND kind = 'tool' AND data ->> 'within' IS NULL ORDER BY seq DESC LIMIT ?",
        (SHOW, thread, upto, LOOKED_AT),
    )
    calls = [Call(int(seq), str(name), _table(json.loads(args)) if args else {}) for seq, name, args in reversed(rows)]
    return Past(_daily(tx, scope, thread) if fresh else (), calls)


def _daily(tx: Tx, scope: str, thread: str) -> list[str]:
    """By what there was before the conversation began, so that it begins alike whenever it is asked again.

    For an agent that was made, those of the person it works for.  Turns of which nothing is remembered leave nothing.
    """
    first = tx.value("SELECT min(seq) FROM events WHERE thread = ?", (thread,))
    person = reads(tx, scope)[-1]
    rows = tx.all(
        "SELECT data ->> 'name', data ->> 'status' FROM events WHERE scope = ? AND kind = 'tool' AND seq < ?"
        f" AND {NOT_REMOVED} AND data ->> 'within' IS NULL AND NOT EXISTS (SELECT 1 FROM events u"
        " WHERE u.turn = events.turn AND u.kind = 'user' AND u.no_memory = 1) ORDER BY seq DESC LIMIT ?",
        (person, first if isinstance(first, int) else 2**62, HABITS),
    )
    return list(dict.fromkeys(str(name) for name, status in rows if status == "ok" and name != SHOW))


def _table(value: object) -> Mapping[str, object]:
    return value if isinstance(value, Mapping) else {}
