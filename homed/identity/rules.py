"""The owner's standing permission rules, in the table ``rules``."""

from __future__ import annotations

from dataclasses import replace

from homed.clock import WallClock, new_id, system_wall_clock
from homed.errors import Conflict, NotFound
from homed.identity.permissions import Decision, Rule
from homed.store.rows import Row, Storage, Tx

MAX_RULES = 1000
"""Every call reads all rules; more than this is a mistake, not a policy."""

_COLUMNS = "id, channel, role, peer, tool, tool_class, thread, decision, created_at"


class Rules:
    """Reads and writes permission rules."""

    def __init__(self, store: Storage, wall: WallClock = system_wall_clock) -> None:
        self._store = store
        self._wall = wall

    async def list_(self) -> list[Rule]:
        """Every rule, oldest first."""
        return await self._store.read(_all)

    async def add(self, rule: Rule) -> Rule:
        """Store ``rule`` (its id and time are given here) and return it.

        A rule with the same conditions is replaced.  Cancelled in the middle, it may be stored all the same.
        """
        new = replace(rule, id=new_id("rule"), created_at=self._wall())
        return await self._store.write(lambda tx: _put(tx, new))

    async def remove(self, rule_id: str) -> None:
        """Remove one; ``NotFound`` if there is none of that id."""

        def delete(tx: Tx) -> int:
            tx.execute("DELETE FROM rules WHERE id = ?", (rule_id,))
            return tx.changes()

        if not await self._store.write(delete):
            raise NotFound(f"There is no permission rule {rule_id!r}.")


def _put(tx: Tx, rule: Rule) -> Rule:
    conditions = (rule.channel, rule.role, rule.peer, rule.tool, rule.tool_class, rule.thread)
    tx.execute(
        "DELETE FROM rules WHERE channel = ? AND role = ? AND peer = ? AND tool = ? AND tool_class = ? AND thread = ?",
        conditions,
    )
    if tx.value("SELECT count(*) FROM rules") >= MAX_RULES:
        raise Conflict(f"There are {MAX_RULES} permission rules already.", hint="Remove some first.")
    tx.execute(
        f"INSERT INTO rules ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (rule.id, *conditions, rule.decision.value, rule.created_at),
    )
    return rule


def _all(tx: Tx) -> list[Rule]:
    return [_rule(row) for row in tx.all(f"SELECT {_COLUMNS} FROM rules ORDER BY created_at, id")]


def _rule(row: Row) -> Rule:
    id_, channel, role, peer, tool, tool_class, thread, decision, created_at = row
    return Rule(Decision(decision), id_, channel, role, peer, tool, tool_class, thread, created_at)
