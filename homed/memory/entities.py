"""The nodes of the graph: people, places, things, found by their names and aliases.  A name means one in a scope."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, fields, replace

from homed.clock import new_id
from homed.errors import Conflict, InvalidInput, NotFound
from homed.memory.normal import folded, normal
from homed.store.rows import Row, Tx, dumps

SHORTEST, LONGEST = 2, 50
"""Characters of a name."""

TYPES = ("person", "place", "organisation", "project", "event", "thing")

SELF_NAME = "user"
"""How whoever speaks is shown before they told their name."""

_SELF_WORDS = "i me my myself user the_user speaker 我 我自己 本人 用户 使用者 я меня мне мной пользователь"
_SELF = frozenset(_SELF_WORDS.split())
_HOST = "@"
"""No name's normal form has it, so the key of whoever speaks is nobody's name."""


@dataclass(frozen=True, slots=True)
class Entity:
    """One node.  ``mentions``: how often something was stored that names it."""

    seq: int
    id: str
    scope: str
    name: str
    type: str
    mentions: int
    created_at: float
    updated_at: float


COLUMNS = ", ".join(field.name for field in fields(Entity))


def from_row(row: Row) -> Entity:
    """An Entity from a row of ``COLUMNS``."""
    return Entity(*row)


def valid(name: str) -> bool:
    """True for 2 to 50 characters of which one is a letter (a Chinese sign is one), on one line."""
    plain = name.strip()
    return SHORTEST <= len(plain) <= LONGEST and plain.isprintable() and any(one.isalpha() for one in plain)


def is_self(name: str) -> bool:
    """True for "I", "the user", "我" …: whoever speaks."""
    return "_".join(folded(name).split()) in _SELF


def get(tx: Tx, entity: str) -> Entity | None:
    """The entity of this id, or None."""
    row = tx.one(f"SELECT {COLUMNS} FROM entities WHERE id = ?", (entity,))
    return None if row is None else from_row(row)


def must(tx: Tx, scope: str, name: str, *, peer: str = "") -> Entity:
    """The entity of this scope with this id, name or alias.  Raises NotFound."""
    found = resolve(tx, scope, name, peer=peer)
    if found is None:
        raise NotFound(f"There is no entity called {name.strip()[:LONGEST]}.")
    return found


def resolve(tx: Tx, scope: str, name: str, *, peer: str = "") -> Entity | None:
    """The entity of this scope that a name, an alias or an id means; None when there is none.

    "I", "用户" and the like mean whoever speaks; in a group that is ``peer``, and nobody without one.
    """
    host = _host_key(scope, peer) if is_self(name) else ""
    row = tx.one(
        f"SELECT {COLUMNS} FROM entities WHERE id = (SELECT entity FROM entity_names WHERE scope = ? AND key = ?)",
        (scope, host or normal(name)),
    ) or tx.one(f"SELECT {COLUMNS} FROM entities WHERE scope = ? AND id = ?", (scope, name.strip()))
    return None if row is None else from_row(row)


def speaker(tx: Tx, scope: str, *, peer: str = "", at: float) -> Entity | None:
    """The person who speaks in this scope, made when first asked for; None in a group without a ``peer``.

    Outside groups a scope has one person, whichever door they came through.
    """
    key = _host_key(scope, peer)
    if not key:
        return None
    row = tx.one(
        f"SELECT {COLUMNS} FROM entities WHERE id = (SELECT entity FROM entity_names WHERE scope = ? AND key = ?)",
        (scope, key),
    )
    return from_row(row) if row else _insert(tx, scope, SELF_NAME, "person", key, at)


def observed(tx: Tx, scope: str, name: str, peer: str) -> str:
    """Of whom a statement about ``name`` is, as ``NewFact.observed``: of ``peer``, where that is whom it means in a
    group; elsewhere '', for a scope has one person there."""
    if not scope.startswith("group:"):
        return ""
    if is_self(name):
        return peer
    meant, me = resolve(tx, scope, name), resolve(tx, scope, SELF_NAME, peer=peer)
    return peer if meant is not None and me is not None and meant.id == me.id else ""


def put(tx: Tx, scope: str, name: str, *, type: str = "", peer: str = "", at: float) -> Entity:
    """The entity that ``name`` means, made when there is none.

    A ``type`` other than "" replaces "thing".  Raises InvalidInput for what is no name (see ``valid``), and for "I" in
    a group when nobody says whose.
    """
    if is_self(name):
        found = speaker(tx, scope, peer=peer, at=at)
        if found is None:
            raise InvalidInput("In a group somebody must be named.")
        return found
    plain = " ".join(name.split())
    if not valid(plain) or not normal(plain):
        raise InvalidInput(f"A name has {SHORTEST} to {LONGEST} characters, one of them a letter.")
    wanted = type if type in TYPES else ""
    found = resolve(tx, scope, plain)
    if found is None:
        return _insert(tx, scope, plain, wanted or "thing", normal(plain), at)
    if wanted and found.type == "thing" != wanted:
        tx.execute("UPDATE entities SET type = ? WHERE id = ?", (wanted, found.id))
        return Entity(
            found.seq, found.id, scope, found.name, wanted, found.mentions, found.created_at, found.updated_at
        )
    return found


def mention(tx: Tx, ids: Collection[str], *, at: float) -> None:
    """Something was stored that names these."""
    tx.execute(
        "UPDATE entities SET mentions = mentions + 1, updated_at = max(updated_at, ?)"
        " WHERE id IN (SELECT value FROM json_each(?))",
        (at, dumps(sorted(set(ids)))),
    )


def alias(tx: Tx, entity: Entity, name: str) -> bool:
    """Let another name mean it; False when that name means another entity already (propose a merge then).

    Raises InvalidInput for what is no name.
    """
    plain = " ".join(name.split())
    if not valid(plain) or not normal(plain) or is_self(plain):
        raise InvalidInput(f"A name has {SHORTEST} to {LONGEST} characters, one of them a letter.")
    tx.execute(
        "INSERT OR IGNORE INTO entity_names (scope, key, name, entity) VALUES (?, ?, ?, ?)",
        (entity.scope, normal(plain), plain, entity.id),
    )
    meant = tx.value("SELECT entity FROM entity_names WHERE scope = ? AND key = ?", (entity.scope, normal(plain)))
    if meant != entity.id:
        return False
    _link(tx, replace(entity, name=plain), normal(plain))
    return True


def rename(tx: Tx, entity: Entity, name: str, *, at: float) -> None:
    """Show it under another name; the one before stays an alias.  Raises InvalidInput, and Conflict when another
    entity has that name."""
    if not alias(tx, entity, name):
        raise Conflict("Another entity has that name.", hint="Merge the two.")
    # its vector is of the name
    tx.execute("DELETE FROM vectors WHERE kind = 'entity' AND item = ?", (entity.seq,))
    tx.execute("INSERT OR IGNORE INTO vector_todo (kind, item) VALUES ('entity', ?)", (entity.seq,))
    tx.execute("UPDATE entities SET name = ?, updated_at = ? WHERE id = ?", (" ".join(name.split()), at, entity.id))


def names(tx: Tx, entity: str) -> list[str]:
    """Every name it is found by, the one it is shown under first."""
    rows = tx.all(
        "SELECT n.name FROM entity_names n JOIN entities e ON e.id = n.entity WHERE n.entity = ?"
        f" AND substr(n.key, 1, 1) <> '{_HOST}' ORDER BY n.name <> e.name, n.name",
        (entity,),
    )
    return [str(name) for (name,) in rows]


def form(tx: Tx, entity: str) -> str:
    """What stands for it in a tombstone: its name; of whoever speaks, who may be renamed, the same for ever."""
    key = tx.value("SELECT key FROM entity_names WHERE entity = ? ORDER BY key LIMIT 1", (entity,)) or ""
    if str(key).startswith(_HOST):
        return f"self {key[1:]}"
    found = get(tx, entity)
    return found.name if found else ""


def speaks(tx: Tx, entity: str) -> bool:
    """Whether it is somebody who speaks, under whatever name."""
    key = "SELECT 1 FROM entity_names WHERE entity = ? AND substr(key, 1, 1) = ?"
    return tx.value(key, (entity, _HOST)) is not None


def top(tx: Tx, scope: str, *, limit: int) -> list[Entity]:
    """The most mentioned of a scope, most first."""
    rows = tx.all(f"SELECT {COLUMNS} FROM entities WHERE scope = ? ORDER BY mentions DESC, seq LIMIT ?", (scope, limit))
    return [from_row(row) for row in rows]


def count(tx: Tx, scope: str) -> int:
    """How many a scope has."""
    return int(tx.value("SELECT count(*) FROM entities WHERE scope = ?", (scope,)))


def remove(tx: Tx, entity: str) -> None:
    """Delete it with its names; facts that name it keep their words and lose the link.

    Whoever forgets an entity deletes its facts first (``graph.facts_of``).
    """
    tx.execute("UPDATE records SET subject = NULL WHERE subject = ?", (entity,))
    tx.execute("UPDATE records SET object_entity = NULL WHERE object_entity = ?", (entity,))
    tx.execute("DELETE FROM entities WHERE id = ?", (entity,))


def _insert(tx: Tx, scope: str, name: str, type_: str, key: str, at: float) -> Entity:
    row = tx.one(
        "INSERT INTO entities (id, scope, name, type, mentions, created_at, updated_at) VALUES (?, ?, ?, ?, 0, ?, ?)"
        f" RETURNING {COLUMNS}",
        (new_id("ent"), scope, name, type_, at, at),
    )
    assert row is not None
    made = from_row(row)
    tx.execute("INSERT INTO entity_names (scope, key, name, entity) VALUES (?, ?, ?, ?)", (scope, key, name, made.id))
    _link(tx, made, key)
    return made


def _link(tx: Tx, entity: Entity, key: str) -> None:
    """Let facts that name it as their object lead to it: which of the two was told first is no part of the graph.

    Found by the spelling that most have, so without the rest of the scope being read (case is folded for ASCII only).
    """
    if key.startswith(_HOST):
        return
    tx.execute(
        "UPDATE records SET object_entity = ?1 WHERE scope = ?2 AND record = 'fact' AND object_entity IS NULL"
        " AND relation <> 'name' AND lower(trim(object)) IN (lower(?3), ?4)",
        (entity.id, entity.scope, entity.name, key),
    )


def _host_key(scope: str, peer: str) -> str:
    if not scope.startswith("group:"):
        return _HOST
    return f"{_HOST}{peer}" if peer else ""
