"""`homed context …`: what a turn was shown, and why."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from homed.commands.actions import Actions
from homed.commands.output import as_json, clean, when
from homed.commands.reach import ask
from homed.commands.saying import phrase

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
    "grown": "it had outgrown the model's window",
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
    lines = [
        phrase(
            "Turn {turn} of {at}, conversation {thread}.",
            turn=answer["turn"],
            at=when(answer["at"]),
            thread=answer["thread"],
        )
    ]
    if not answer["entries"]:
        lines.append(phrase("There is no record of what it was shown."))
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
        phrase(
            "Shown: {number} of {of} events of the window; room for {top} events and {context} "
            "tokens ({window} in all, {fixed} always sent, {memory} for notes).",
            number=number,
            of=data.get("of", number),
            top=data.get("top"),
            context=data.get("context"),
            window=data.get("window"),
            fixed=data.get("fixed"),
            memory=data.get("memory"),
        )
    ]
    for why, ids in kept.items():
        lines.append(f"  {_known(WHY, why)}:")
        lines += _listed(ids, events, scores)
    if left:
        lines.append(phrase("  not shown, the most relevant of {left}:", left=len(left) + data.get("more", 0)))
        lines += _listed(left, events, scores)
    return lines


def _recall(data: Mapping[str, Any], events: Events) -> list[str]:
    hits = data.get("hits", [])
    scores = {hit["id"]: hit["score"] for hit in hits}
    told = data.get("cold", [])
    facts = data.get("facts", [])
    size = phrase(" ({chars} characters)", chars=data.get("chars", 0)) if told or facts else ""
    lines = [
        phrase(
            "Told in notes{size}: {told} of what was said, {facts} of what is known.",
            size=size,
            told=len(told),
            facts=len(facts),
        )
    ]
    lines += _listed(told, events, scores)
    lines += _listed(facts, events, data.get("known", {}).get("scores", {}))
    if others := data.get("shown"):
        lines.append(
            phrase("Of the events shown, from other conversations and about the message: {others}.", others=len(others))
        )
    if below := data.get("below"):
        lines.append(
            phrase("Found but not relevant enough (below {gate}): {below}.", gate=data.get("gate"), below=below)
        )
    known = data.get("known", {})
    if below := known.get("below"):
        lines.append(phrase("  of what is known, the closest of {below}:", below=below))
        lines += _listed(known.get("sunk", {}), events, known.get("sunk", {}))
    if late := data.get("late"):
        lines.append(phrase("Too late, or failed: {late}.", late=", ".join(late)))
    return lines


def _injection(told: Mapping[str, Any], events: Events) -> list[str]:
    """Each line that the turn was told, by band: the score it was ranked by, its relevance, where it comes from."""
    counts = ", ".join(f"{record} × {count}" for record, count in told["counts"].items())
    lines = [
        phrase(
            "Told before the message ({mode}): {counts}; {chars} characters, found in {ms:.0f} ms.",
            mode=_known(MODES, told["mode"]),
            counts=counts,
            chars=told["chars"],
            ms=told["ms"],
        )
    ]
    for band in dict.fromkeys(line["band"] for line in told["lines"]):
        lines.append(f"  {str(band).upper()}:")
        for line in told["lines"]:
            if line["band"] == band:
                lines += [_line(line["id"], events.get(line["id"]), line["score"]), _details(line)]
    if cut := told["cut"]:
        lines.append(phrase("No room for: {cut}.", cut=cut))
    if channels := told["channels"]:
        lines.append(
            phrase("Found by: {items}.", items=", ".join((f"{name} {count}" for name, count in channels.items())))
        )
    return lines


def _details(line: Mapping[str, Any]) -> str:
    revision = [phrase("revision {revision}", revision=line["revision"])] if line["revision"] else []
    cut = [phrase("shortened")] if line["shortened"] else []
    evidence = line["evidence"] or ("" if line["record"] == "event" else phrase("no evidence"))
    parts = [
        _known(WHYS, line["why"]),
        evidence,
        *revision,
        phrase("relevance {relevance:.2f}", relevance=line["relevance"]),
        *cut,
    ]
    return f"          {', '.join(filter(None, parts))}"


def _guard(data: Mapping[str, Any], events: Events) -> list[str]:
    why = phrase(OUTGROWN.get(str(data.get("why")), OUTGROWN["grown"]))
    lines = [
        phrase(
            "Room was made, since {why}: {before} before, {after} after.",
            why=why,
            before=_size(data, "before"),
            after=_size(data, "after"),
        )
    ]
    for key, words in (
        ("dropped", phrase("of this turn, not shown any more")),
        ("left_out", phrase("of before, not shown any more")),
    ):
        if ids := data.get(key):
            lines.append(f"  {words}:")
            lines += _listed(ids, events, {})
    if sunk := data.get("sunk"):
        lines.append(phrase("  {sunk} events went to cold memory.", sunk=len(sunk)))
    return lines


def _sink(data: Mapping[str, Any], events: Events) -> list[str]:
    ids = data.get("events", [])
    number = len(ids) + data.get("events_more", 0)
    lines = [
        phrase(
            "Afterwards {number} events sank to cold memory: {before} before, {after}.",
            number=number,
            before=_size(data, "before"),
            after=_size(data, "after"),
        )
    ]
    return lines + _listed(ids, events, data.get("scores", {}))


def _peek(data: Mapping[str, Any], events: Events) -> list[str]:
    hits = data.get("events", [])
    lines = [
        phrase(
            "The model searched its memory and found {hits}; {in_view} it saw already.",
            hits=len(hits),
            in_view=len(data.get("in_view", [])),
        )
    ]
    return lines + _listed([hit["id"] for hit in hits], events, {hit["id"]: hit["score"] for hit in hits})


def _confirm(data: Mapping[str, Any], events: Events) -> list[str]:
    ids = data.get("back", [])
    lines = [phrase("Back in the window, since the answer used them: {ids}.", ids=len(ids)), *_listed(ids, events, {})]
    if there := data.get("there"):
        lines += [
            phrase("There already, since another turn brought them back: {there}.", there=len(there)),
            *_listed(there, events, {}),
        ]
    return lines


def _known(words: Mapping[str, str], key: str) -> str:
    return phrase(words[key]) if key in words else key


def _plain(data: Mapping[str, Any], _: Events) -> list[str]:
    return [str(dict(data))]


def _size(data: Mapping[str, Any], key: str) -> str:
    size = data.get(key, {})
    return phrase("{events} events, {tokens} tokens", events=size.get("events"), tokens=size.get("tokens"))


def _listed(ids: Iterable[str], events: Events, scores: Mapping[str, float]) -> list[str]:
    listed = list(ids)
    lines = [_line(id_, events.get(id_), scores.get(id_)) for id_ in listed[:SHOWN]]
    return lines + ([phrase("    … and {listed} more", listed=len(listed) - SHOWN)] if len(listed) > SHOWN else [])


def _line(id_: str, event: Mapping[str, Any] | None, score: float | None) -> str:
    known = f"{score:.2f}" if score else "    "
    if event is None:
        return phrase("    {known}  {id}  (not there any more)", known=known, id=id_)
    mark = " ⚠" if event.get("untrusted") else ""
    place = event["title"] or event["thread"]
    where = f"{event['kind']}{mark}, {event['layer']}" + (f", “{place}”" if place else "")
    return clean(
        f"    {known}  {id_}  {when(event['created_at'])}  {where}: {event['excerpt'] or phrase('(no words)')}"
    ).replace("\n", " ")


_KINDS: Mapping[str, Callable[[Mapping[str, Any], Events], list[str]]] = {
    "select": _select, "recall": _recall, "guard": _guard, "sink": _sink, "peek": _peek, "confirm": _confirm,
}  # fmt: skip
