"""What of an answer a turn may be given that asks for it with a call token, and what it holds.  Pure.

Private to a conversation means: not for the turns of another one (``result_read`` keeps to the same).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Holds:
    """``untrusted``: words of strangers.  ``no_memory``: what is not to be remembered."""

    untrusted: bool
    no_memory: bool


def holds(entry: object) -> Holds:
    """What an event, a running turn or a waiting message of ``io.history`` says of itself."""
    known = entry if isinstance(entry, Mapping) else {}
    data = known.get("data")
    marks = {**known, **data} if isinstance(data, Mapping) else known
    return Holds(bool(marks.get("untrusted") or marks.get("blocks")), bool(marks.get("no_memory")))


def page(answer: Mapping[str, object], *, own: bool) -> tuple[Mapping[str, object], Holds]:
    """A page of ``io.history`` for a turn, of its ``own`` conversation or another, and what it holds."""
    lists = {key: _listed(answer.get(key)) for key in ("events", "queued", "ended", "approvals")}
    live = answer.get("live")
    if not own:
        gone = {_turn(entry) for entry in (*lists["events"], live) if holds(entry).no_memory}
        lists = {key: [e for e in listed if not holds(e).no_memory] for key, listed in lists.items()}
        lists["ended"] = [entry for entry in lists["ended"] if _turn(entry) not in gone]
        answer = {**answer, **({"agents": []} if "agents" in answer else {})}
        if holds(live).no_memory:
            live, lists["approvals"] = None, []
    found = [holds(entry) for entry in (*lists["events"], *lists["queued"], live)]
    made = {**answer, **{key: listed for key, listed in lists.items() if key in answer}}
    made |= {"live": live} if "live" in answer else {}
    return made, Holds(any(one.untrusted for one in found), any(one.no_memory for one in found))


def explained(answer: Mapping[str, object], thread: str) -> tuple[Mapping[str, object], Holds]:
    """``memory.explain`` for a turn of ``thread``: without the texts that are private to other conversations."""
    events = answer.get("events")
    known = events if isinstance(events, Mapping) else {}
    shown = {id_: e for id_, e in known.items() if not holds(e).no_memory or _thread(e) == thread}
    found = [holds(entry) for entry in shown.values()]
    # titles are mostly the first words of somebody, or the name of a file
    untrusted = any(one.untrusted for one in found) or any(_thread(entry) != thread for entry in shown.values())
    return {**answer, "events": shown}, Holds(untrusted, any(one.no_memory for one in found))


def _listed(value: object) -> list[object]:
    return list(value) if isinstance(value, list | tuple) else []


def _turn(entry: object) -> object:
    return entry.get("turn") if isinstance(entry, Mapping) else None


def _thread(entry: object) -> object:
    return entry.get("thread") if isinstance(entry, Mapping) else None
