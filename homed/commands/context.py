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

MODES = {
    "hit": "found by the message", "background": "whatever the message is about", "snapshot": "what was last"
}  # fmt: skip

WHYS = {
    "hit": "the message is about it", "graph": "a name in the message leads to it", "active": "of the Active Window",
    "latest": "the latest of its kind", "cold": "said, and out of view",
}  # fmt: skip

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
    for told in answer.get("injections", []):
        lines.append("")
        lines += _injection(told, answer["events"])
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
    known = data.get("known", {})
    if below := known.get("below"):
        lines.append(f"  of what is known, the closest of {below}:")
        lines += _listed(known.get("sunk", {}), events, known.get("sunk", {}))
    if late := data.get("late"):
        lines.append(f"Too late, or failed: {', '.join(late)}.")
    return lines


def _injection(told: Mapping[str, Any], events: Events) -> list[str]:
    """Each line that the turn was told, by band: the score it was ranked by, its relevance, where it comes from."""
    counts = ", ".join(f"{record} × {count}" for record, count in told["counts"].items())
    lines = [
        f"Told before the message ({MODES.get(told['mode'], told['mode'])}): {counts}; {told['chars']} characters,"
        f" found in {told['ms']:.0f} ms."
    ]
    for band in dict.fromkeys(line["band"] for line in told["lines"]):
        lines.append(f"  {str(band).upper()}:")
        for line in told["lines"]:
            if line["band"] == band:
                lines += [_line(line["id"], events.get(line["id"]), line["score"]), _details(line)]
    if cut := told["cut"]:
        lines.append(f"No room for: {cut}.")
    if channels := told["channels"]:
        lines.append(f"Found by: {', '.join(f'{name} {count}' for name, count in channels.items())}.")
    return lines


def _details(line: Mapping[str, Any]) -> str:
    revision = [f"revision {line['revision']}"] if line["revision"] else []
    cut = ["shortened"] if line["shortened"] else []
    evidence = line["evidence"] or ("" if line["record"] == "event" else "no evidence")
    parts = [WHYS.get(line["why"], line["why"]), evidence, *revision, f"relevance {line['relevance']:.2f}", *cut]
    return f"          {', '.join(filter(None, parts))}"


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
