"""Attachments in their tables: uploads, which wait for their event, and the blocks they become.

An upload and its block have the same id: one occurrence of a file, from the moment it has come whole.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from homed.errors import InvalidInput, NotFound, Unavailable
from homed.memory.records import Event, EventKind
from homed.store.rows import Row, Tx, dumps

PROVIDES = ("blocks",)
NEEDS = ("store", "identity")

MOST = 10
"""Files of one message."""

CAPTION = 2_000
"""Characters that a channel may say of a file."""

LEFTOVER = 86_400.0
"""Seconds after which a file that no message took is thrown away."""

_COLUMNS = "id, hash, name, media_type, bytes, tokens"
_OF_FILE = ", ".join(f"f.{column}" for column in _COLUMNS.split(", "))


@dataclass(frozen=True, slots=True)
class Waiting:
    """What may wait for a message: ``files`` and ``bytes`` of one peer's, ``all`` bytes of everybody's."""

    files: int = 200
    bytes: int = 256 * 1024 * 1024
    all: int = 2 * 1024 * 1024 * 1024

    def refuses(self, count: int, size: int, everybody: int) -> bool:
        """Whether so much is too much."""
        return count > self.files or size > self.bytes or everybody > self.all


@dataclass(frozen=True, slots=True)
class Block:
    """One occurrence of a file.  ``hash`` names its bytes; ``tokens`` is what it costs in a prompt that shows it."""

    id: str
    hash: str
    name: str
    media_type: str
    bytes: int
    tokens: int = 0

    def view(self) -> dict[str, object]:
        """As ``data.blocks`` of an event shows it."""
        return {"id": self.id, "name": self.name, "media_type": self.media_type, "bytes": self.bytes}


def announce(tx: Tx, peer: str, block: Block, limits: Waiting | None = None) -> None:
    """This file is about to be put in its place; if nothing comes to name it, it is loose.

    Raises Unavailable when too much of this peer's, or of everybody's, waits already.
    """
    count, size, everybody = room(tx, peer)
    if (limits or Waiting()).refuses(count + 1, size + block.bytes, everybody + block.bytes):
        raise full()
    if not named(tx, block.hash):
        tx.execute("INSERT OR IGNORE INTO loose_files (hash) VALUES (?)", (block.hash,))


def put(tx: Tx, peer: str, block: Block, *, at: float, caption: str = "") -> None:
    """An announced file is in its place and waits for a message of this peer's; ``caption``: what is in it."""
    tx.execute(
        f"INSERT INTO uploads ({_COLUMNS}, peer, created_at, caption) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (block.id, block.hash, block.name, block.media_type, block.bytes, block.tokens, peer, at, caption),
    )


def room(tx: Tx, peer: str) -> tuple[int, int, int]:
    """Files and bytes of this peer's that no message has taken, and bytes of everybody's."""
    row = tx.one(
        "SELECT count(*) FILTER (WHERE peer = ?1), coalesce(sum(bytes) FILTER (WHERE peer = ?1), 0),"
        " coalesce(sum(bytes), 0) FROM uploads WHERE input = ''",
        (peer,),
    )
    assert row is not None
    return row[0], row[1], row[2]


def full() -> Unavailable:
    """What somebody is told who uploads without ever sending."""
    return Unavailable(
        "Too many files wait for a message already.", hint="Send or take off some; what nobody sends goes after a day."
    )


def take(tx: Tx, peer: str, ids: Sequence[str], input_id: str, *, most: int = MOST) -> list[Block]:
    """Give these uploads of this peer's to an input, in this order.

    Raises NotFound for one that is not there, not this peer's, or taken already, InvalidInput for too many or the same
    one twice; nothing is taken then, if the transaction is taken back.
    """
    if len(ids) > most:
        raise InvalidInput(f"A message takes {most} files at the most.", hint="Send the others with the next one.")
    if len(set(ids)) != len(ids):
        raise InvalidInput("The same upload is attached twice.", hint="Upload the file again to attach it twice.")
    for place, id_ in enumerate(ids):
        tx.execute(
            "UPDATE uploads SET input = ?, place = ? WHERE id = ? AND peer = ? AND input = ''",
            (input_id, place, id_, peer),
        )
        if not tx.changes():
            raise NotFound("There is no such upload.", hint="Upload the file again.")
    return of_input(tx, input_id)


def attached(tx: Tx, owner: str, ids: Sequence[str]) -> list[Block]:
    """Those of these files that have come whole from the tool call ``owner`` (``owner_of``), in this order."""
    rows = tx.all(f"SELECT {_COLUMNS} FROM uploads WHERE peer = ? AND input = ''", (owner,))
    found = {block.id: block for block in (Block(*row) for row in rows)}
    return [found[id_] for id_ in ids if id_ in found]


def given(tx: Tx, turn: str) -> int:
    """Files that the tools of a turn have given it so far."""
    count = tx.value(
        "SELECT count(*) FROM blocks b JOIN events e ON e.id = b.event WHERE e.turn = ? AND e.kind = ?",
        (turn, EventKind.TOOL.value),
    )
    return int(count or 0)


def owner_of(turn: str, call: str) -> str:
    """Whose the files are that a tool call sends, until its result takes them: no peer's."""
    return f"{turn}/{call}"


def of_call(owner: str) -> bool:
    """Whether this is a tool call's, and not a peer's (``CHANNEL:…``)."""
    return owner.startswith("turn_") and "/" in owner and ":" not in owner


def drop_of_turn(tx: Tx, turn: str) -> None:
    """Forget what the tool calls of a turn sent and no result took."""
    tx.execute("DELETE FROM uploads WHERE peer > ?1 || '/' AND peer < ?1 || '0'", (turn,))  # '0' follows '/'


def of_input(tx: Tx, input_id: str) -> list[Block]:
    """The files that an input brought and that have not become blocks yet."""
    return [
        Block(*row) for row in tx.all(f"SELECT {_COLUMNS} FROM uploads WHERE input = ? ORDER BY place", (input_id,))
    ]


def waiting_in(tx: Tx, thread: str) -> Mapping[str, list[Block]]:
    """The same for every input of a thread that has such files, by input."""
    # from the few files that wait, not from all inputs of the thread
    query = (
        "FROM uploads f CROSS JOIN inputs i ON i.id = f.input WHERE f.input > '' AND +i.thread = ?"
        " ORDER BY i.seq, f.place"
    )
    return _grouped(tx.all(f"SELECT i.id, {_OF_FILE} {query}", (thread,)))


def adopt(tx: Tx, event: Event, input_id: str, *, at: float) -> Event:
    """The files of an input become blocks of its event, with the event's layer as their holder; the event, which now
    costs what they do too, and is found by their names and captions.

    The new owner is set before the old one is cleared, in one transaction: each file always has exactly one (E50).
    """
    return _adopt(tx, event, of_input(tx, input_id), at=at, hidden=bool(event.data.get("withheld")))


def adopt_attached(tx: Tx, event: Event, owner: str, ids: Sequence[str], *, at: float) -> Event:
    """The same of files that a tool call has sent, for the event of its result."""
    return _adopt(tx, event, attached(tx, owner, ids), at=at)


def _adopt(tx: Tx, event: Event, found: Sequence[Block], *, at: float, hidden: bool = False) -> Event:
    words = "" if hidden else _said_of(tx, found)
    layer = "stable" if event.layer == "archived" else event.layer
    tx.many(
        f"INSERT INTO blocks ({_COLUMNS}, event, place, holder_layer, created_at)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [
            (b.id, b.hash, b.name, b.media_type, b.bytes, b.tokens, event.id, place, layer, at)
            for place, b in enumerate(found)
        ],
    )
    tx.many("DELETE FROM uploads WHERE id = ?", [(block.id,) for block in found])
    tokens = event.tokens + sum(block.tokens for block in found)
    tx.execute("UPDATE events SET tokens = ?, words = ? WHERE id = ?", (tokens, words, event.id))
    return replace(event, tokens=tokens)


def _said_of(tx: Tx, found: Sequence[Block]) -> str:
    query = "SELECT id, caption FROM uploads WHERE id IN (SELECT value FROM json_each(?))"
    rows: dict[str, str] = dict(tx.all(query, (dumps([block.id for block in found]),)))
    return "\n".join(part for block in found for part in (block.name, rows[block.id]) if part)


def of_events(tx: Tx, ids: Collection[str]) -> Mapping[str, list[Block]]:
    """The blocks of these events, by event, each event's in their order."""
    query = "FROM blocks WHERE event IN (SELECT value FROM json_each(?)) ORDER BY event, place"
    return _grouped(tx.all(f"SELECT event, {_COLUMNS} {query}", (dumps(sorted(ids)),)))


def visible(tx: Tx, id_: str, *, peer: str, scopes: Collection[str]) -> Block | None:
    """A file of an event, or of an accepted input, in these scopes, or one that this peer has uploaded; else None."""
    marks = ", ".join("?" * len(scopes))
    row = tx.one(
        f"SELECT {_OF_FILE} FROM blocks f JOIN events e ON e.id = f.event JOIN threads t ON t.id = e.thread"
        f" WHERE f.id = ? AND t.scope IN ({marks})"
        f" UNION ALL SELECT {_OF_FILE} FROM uploads f LEFT JOIN inputs i ON i.id = f.input"
        f" WHERE f.id = ? AND (i.scope IN ({marks}) OR (f.input = '' AND f.peer = ?))",
        (id_, *scopes, id_, *scopes, peer),
    )
    return None if row is None else Block(*row)


def readable(tx: Tx, id_: str, *, scope: str, thread: str) -> Block | None:
    """A file that a model may read which works in this thread: of the scope's events, but those that are private to
    another thread and those whose files could not be checked.
    """
    row = tx.one(
        f"SELECT {_OF_FILE} FROM blocks f JOIN events e ON e.id = f.event WHERE f.id = ? AND e.scope = ?"
        " AND (e.thread = ? OR e.no_memory = 0) AND json_extract(e.data, '$.withheld') IS NULL",
        (id_, scope, thread),
    )
    return None if row is None else Block(*row)


def drop(tx: Tx, peer: str, id_: str) -> bool:
    """Forget an upload that no message has taken; False if there is none of this peer's."""
    tx.execute("DELETE FROM uploads WHERE id = ? AND peer = ? AND input = ''", (id_, peer))
    return tx.changes() > 0


def drop_leftovers(tx: Tx, *, at: float) -> int:
    """Forget uploads that no message took within a day, and those of an input that ended before it became an event."""
    tx.execute("DELETE FROM uploads WHERE input = '' AND created_at < ?", (at - LEFTOVER,))
    count = tx.changes()
    # what a tool call sent, of a turn that is over: it came while the turn ended
    tx.execute(
        "DELETE FROM uploads WHERE input = '' AND uploads.peer GLOB 'turn_*/*' AND instr(uploads.peer, ':') = 0"
        " AND EXISTS (SELECT 1 FROM inputs i WHERE i.turn <> ''"
        " AND i.turn = substr(uploads.peer, 1, instr(uploads.peer, '/') - 1)"
        " AND i.outcome IS NOT NULL)"
    )
    count += tx.changes()
    tx.execute(
        "DELETE FROM uploads WHERE input <> ''"
        " AND NOT EXISTS (SELECT 1 FROM inputs WHERE inputs.id = uploads.input AND inputs.outcome IS NULL)"
    )
    return count + tx.changes()


def loose(tx: Tx, limit: int) -> list[str]:
    """Files that nothing names."""
    rows = tx.all("SELECT hash FROM loose_files ORDER BY hash LIMIT ?", (limit,))
    return [str(hash_) for (hash_,) in rows if not named(tx, str(hash_))]


def removed(tx: Tx, hashes: Collection[str]) -> None:
    """These files are gone."""
    tx.many("DELETE FROM loose_files WHERE hash = ?", [(hash_,) for hash_ in hashes])


def named(tx: Tx, hash_: str) -> bool:
    """Whether a block or an upload is of this file."""
    return bool(
        tx.value(
            "SELECT EXISTS (SELECT 1 FROM blocks WHERE hash = ?1) OR EXISTS (SELECT 1 FROM uploads WHERE hash = ?1)",
            (hash_,),
        )
    )


def _grouped(rows: Sequence[Row]) -> dict[str, list[Block]]:
    found: defaultdict[str, list[Block]] = defaultdict(list)
    for owner, *row in rows:
        found[owner].append(Block(*row))
    return dict(found)
