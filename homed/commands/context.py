"""`homed context …`: what a turn was shown, and why."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from homed.commands.actions import Actions
from homed.commands.output import as_json, clean, when
from homed.commands.reach import ask

SHOWN = 12
"""Events of one list that are printed."""

WHY = {
    "fits": "all of it fits",
    "recent": "newest of this conversation",
    "active": "newest of another that is going on",
    "score": "closest of the others, then the newest",
}

OUTGROWN = {
    "refused": "the source said it was too long",
    "results": "the turn's own results needed it",
}


def register(commands: Any, common: argparse.ArgumentParser) -> None:
    """Add the command and its own."""
    parser = commands.add_parser(
        "context",
        parents=[common],
        help="what a turn was shown, and why",
        description="Every turn leaves a record of what it was shown, told and left without.",
        epilog="Examples:\n  homed context explain last\n  homed context explain turn_0123456789abcdef --json",
    )
    actions = Actions(parser, common)
    explain = actions.add(
        "explain", _explain, "what was kept and why, what was left out, recalled, late, and what sank", "last"
    )
    explain.add_argument("turn", metavar="TURN", help="its id (`turn` of a history's events), or last")


def _explain(args: argparse.Namespace) -> int:
    answer = ask(args, "memory.explain", turn=args.turn)
    if args.json:
        as_json(answer)
    else:
        print("\n".join(account(answer)))
    return 0


def account(answer: Mapping[str, Any]) -> list[str]:
    """The records of a turn as lines a person reads."""
    lines = [f"Turn {answer['turn']} of {when(answer['at'])}, conversation {answer['thread']}."]
    if not answer["entries"]:
        lines.append("There is no record of what it was shown.")
    for entry in answer["entries"]:
        lines.append("")
        lines += _KINDS.get(entry["kind"], _plain)(entry["data"], answer["events"])
    return lines


Events = Mapping[str, Mapping[str, Any]]


def _select(data: Mapping[str, Any], events: Events) -> list[str]:
    kept: Mapping[str, list[str]] = data.get("kept", {})
    scores: Mapping[str, float] = data.get("scores", {})
    left = data.get("left_out", [])
    number = sum(map(len, kept.values()))
    lines = [
        f"Shown: {number} of {data.get('of', number)} events of the window; room for {data.get('top')} events and"
        f" {data.get('context')} tokens ({data.get('window')} in all, {data.get('fixed')} always sent,"
        f" {data.get('memory')} for notes)."
    ]
    for why, ids in kept.items():
        lines.append(f"  {WHY.get(why, why)}:")
        lines += _listed(ids, events, scores)
    if left:
        lines.append(f"  not shown, the most relevant of {len(left) + data.get('more', 0)}:")
        lines += _listed(left, events, scores)
    return lines


def _recall(data: Mapping[str, Any], events: Events) -> list[str]:
    hits = data.get("hits", [])
    scores = {hit["id"]: hit["score"] for hit in hits}
    told = data.get("cold", [])
    facts = data.get("facts", [])
    size = f" ({data.get('chars', 0)} characters)" if told or facts else ""
    lines = [f"Told in notes{size}: {len(told)} of what was said, {len(facts)} of what is known."]
    lines += _listed(told, events, scores)
    lines += _listed(facts, events, data.get("known", {}).get("scores", {}))
    if others := data.get("shown"):
        lines.append(f"Of the events shown, from other conversations and about the message: {len(others)}.")
    if below := data.get("below"):
        lines.append(f"Found but not relevant enough (below {data.get('gate')}): {below}.")
    if late := data.get("late"):
        lines.append(f"Too late, or failed: {', '.join(late)}.")
    return lines


def _guard(data: Mapping[str, Any], events: Events) -> list[str]:
    why = OUTGROWN.get(str(data.get("why")), "it had outgrown the model's window")
    lines = [f"Room was made, since {why}: {_size(data, 'before')} before, {_size(data, 'after')} after."]
    for key, words in (("dropped", "of this turn, not shown any more"), ("left_out", "of before, not shown any more")):
        if ids := data.get(key):
            lines.append(f"  {words}:")
            lines += _listed(ids, events, {})
    if sunk := data.get("sunk"):
        lines.append(f"  {len(sunk)} events went to cold memory.")
    return lines


def _sink(data: Mapping[str, Any], events: Events) -> list[str]:
    ids = data.get("events", [])
    number = len(ids) + data.get("events_more", 0)
    lines = [f"Afterwards {number} events sank to cold memory: {_size(data, 'before')} before, {_size(data, 'after')}."]
    return lines + _listed(ids, events, data.get("scores", {}))


def _peek(data: Mapping[str, Any], events: Events) -> list[str]:
    hits = data.get("events", [])
    lines = [f"The model searched its memory and found {len(hits)}; {len(data.get('in_view', []))} it saw already."]
    return lines + _listed([hit["id"] for hit in hits], events, {hit["id"]: hit["score"] for hit in hits})


def _confirm(data: Mapping[str, Any], events: Events) -> list[str]:
    ids = data.get("back", [])
    lines = [f"Back in the window, since the answer used them: {len(ids)}.", *_listed(ids, events, {})]
    if there := data.get("there"):
        lines += [f"There already, since another turn brought them back: {len(there)}.", *_listed(there, events, {})]
    return lines


def _plain(data: Mapping[str, Any], _: Events) -> list[str]:
    return [str(dict(data))]


def _size(data: Mapping[str, Any], key: str) -> str:
    size = data.get(key, {})
    return f"{size.get('events')} events, {size.get('tokens')} tokens"


def _listed(ids: Iterable[str], events: Events, scores: Mapping[str, float]) -> list[str]:
    listed = list(ids)
    lines = [_line(id_, events.get(id_), scores.get(id_)) for id_ in listed[:SHOWN]]
    return lines + ([f"    … and {len(listed) - SHOWN} more"] if len(listed) > SHOWN else [])


def _line(id_: str, event: Mapping[str, Any] | None, score: float | None) -> str:
    known = f"{score:.2f}" if score else "    "
    if event is None:
        return f"    {known}  {id_}  (not there any more)"
    mark = " ⚠" if event.get("untrusted") else ""
    place = event["title"] or event["thread"]
    where = f"{event['kind']}{mark}, {event['layer']}" + (f", “{place}”" if place else "")
    return clean(
        f"    {known}  {id_}  {when(event['created_at'])}  {where}: {event['excerpt'] or '(no words)'}"
    ).replace("\n", " ")


_KINDS: Mapping[str, Callable[[Mapping[str, Any], Events], list[str]]] = {
    "select": _select, "recall": _recall, "guard": _guard, "sink": _sink, "peek": _peek, "confirm": _confirm,
}  # fmt: skip
