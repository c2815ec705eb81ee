"""Who is known here, for those who may know it."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from homed.errors import NotFound
from homed.identity.roles import Identity, Role, in_group, visible_scopes
from homed.store.rows import Row, Storage, Tx, dumps

_COLUMNS = "p.id, p.plugin, CASE p.called WHEN '' THEN p.name ELSE p.called END, p.role, p.created_at, p.seen_at"


@dataclass(frozen=True, slots=True)
class Person:
    """A peer who has spoken.  Times are UTC seconds; ``seen_at`` is right to the minute."""

    id: str
    channel: str
    name: str
    role: str
    created_at: float
    seen_at: float

    def wire(self) -> dict[str, object]:
        """As ``social.get_person`` shows it."""
        return asdict(self)


class People:
    """Reads the directory of peers."""

    def __init__(self, store: Storage) -> None:
        self._store = store

    async def get(self, who: Identity, person: str) -> Person:
        """Somebody ``who`` may know of; NotFound for others, there or not."""
        found = await self._store.read(lambda tx: _rows(tx, who, "p.id = ?", (person,), 1))
        if not found:
            raise NotFound(f"Nobody called {person!r} is known here.")
        return found[0]

    async def list_(self, who: Identity, query: str = "", *, limit: int = 50, after: str = "") -> list[Person]:
        """Those ``who`` may know of, by id, from behind ``after``; ``query`` is found in ids and names."""
        condition = "p.id > ? AND (? = '' OR instr(lower(p.id || ' ' || p.name || ' ' || p.called), lower(?)))"
        return await self._store.read(lambda tx: _rows(tx, who, condition, (after, query, query), limit))


def _rows(tx: Tx, who: Identity, condition: str, values: tuple[str, ...], limit: int) -> list[Person]:
    """The owner, alone, knows everybody; anybody else, and the owner in a group, those who spoke in the same scope."""
    everybody = who.role is Role.OWNER and not in_group(who)
    rows = tx.all(
        f"SELECT {_COLUMNS} FROM peers p WHERE {condition} AND (? OR p.id = ? OR p.id IN (SELECT i.peer FROM threads t"
        " JOIN inputs i ON i.thread = t.id WHERE t.scope IN (SELECT value FROM json_each(?)))) ORDER BY p.id LIMIT ?",
        (*values, int(everybody), who.peer, dumps(sorted(visible_scopes(who))), limit),
    )
    return [_person(row) for row in rows]


def _person(row: Row) -> Person:
    return Person(*row)
