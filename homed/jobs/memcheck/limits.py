"""Whether thresholds are in their range, and whether it is known why they are not what they were."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from homed.config import values
from homed.config.definitions import Definition
from homed.errors import ConfigError
from homed.jobs.memcheck.check import Check, Look, Unmended, judged
from homed.jobs.memcheck.findings import Status
from homed.jobs.memcheck.room import Room
from homed.jobs.memcheck.rows import Found
from homed.settings import thresholds
from homed.settings.thresholds import Change
from homed.store.rows import Tx, loads

PREFIX = "core.memory."


@dataclass(frozen=True, slots=True)
class Legal(Unmended):
    """Every stored setting of memory may be what it is, and thresholds are in order with one another."""

    id: str = "thresholds"
    name: str = "Thresholds"

    async def look(self, room: Room) -> Look:
        """See ``Check``."""
        known = {one.key: one for one in room.definitions() if one.key.startswith(PREFIX) and not one.secret}
        stored = await room.store.read(_stored)
        wrong = [key for key in stored if key in known and not _fits(known[key], stored[key])]
        fine = {key: loads(stored[key]) for key in stored if key not in wrong}
        in_force = {key: fine.get(key, one.default) for key, one in known.items()}
        wrong += [key for key, _ in thresholds.faults(in_force) if key not in wrong]
        return judged(
            Found(len(known), len(known), len(wrong), [], wrong), "settings of memory",
            "have a value that they may not have, so that the default counts instead, or are out of order",
            "Set each anew, or take it out: `homed config unset KEY`.",
        )  # fmt: skip


def _stored(tx: Tx) -> dict[str, str]:
    rows = tx.all("SELECT key, value FROM settings WHERE substr(key, 1, ?) = ? ORDER BY key", (len(PREFIX), PREFIX))
    return {str(key): str(value) for key, value in rows}


def _fits(definition: Definition, text: str) -> bool:
    try:
        values.check(definition, values.whole(loads(text)))
    except (ConfigError, ValueError):
        return False
    return True


@dataclass(frozen=True, slots=True)
class Reasons(Unmended):
    """Of every threshold that is not at its default it is written down why."""

    id: str = "threshold_reasons"
    name: str = "Reasons of thresholds"

    async def look(self, room: Room) -> Look:
        """See ``Check``."""
        known = {one.key: one for one in room.definitions() if one.key in thresholds.PREVENTS}
        stored, last = await room.store.read(lambda tx: (_stored(tx), thresholds.last(tx)))
        wrong = _unexplained(known, stored, last)
        return judged(
            Found(len(known), len(known), len(wrong), [], wrong), "thresholds",
            "were moved, and nobody said why",
            'Say why: `homed config set KEY VALUE --reason "…"`, or put the default back.', Status.WARN,
        )  # fmt: skip


def _unexplained(known: Mapping[str, Definition], stored: Mapping[str, str], last: Mapping[str, Change]) -> list[str]:
    """Those whose stored value is not the one that was last explained.  What is given from outside is not stored."""
    found: list[str] = []
    for key, one in known.items():
        if key not in stored or not _fits(one, stored[key]):
            continue  # not in force
        explained = last[key].now if key in last else one.default
        if values.whole(loads(stored[key])) != explained or (key in last and not last[key].reason.strip()):
            found.append(key)
    return found


CHECKS: tuple[Check, ...] = (Legal(), Reasons())
