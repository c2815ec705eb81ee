"""`homed memory stats|search|list|open|injections`: what is remembered, looked at."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from homed.commands.actions import Actions
from homed.commands.output import as_json, clean, counted, day, table, when
from homed.commands.reach import ask_or_open
from homed.commands.saying import phrase, translated

KINDS = ("summary", "fact", "capsule")
MANY = {"summary": "summaries", "fact": "facts", "capsule": "capsules"}
LAYERS = ("l1", "l2", "l3")
"""What others call the same, one after the other."""
MARKS = ("source", "pointer", "manual", "none")

SHORT = 100
"""Characters of a text in a list."""


def add(actions: Actions) -> None:
    """Add the actions to those of `homed memory`."""
    actions.add("stats", _stats, "how much is remembered, where it comes from, and how it stands")
    search = actions.add("search", _search, "records that are about something, or have an id", '"where does Anna live"')
    search.add_argument("query", metavar="TEXT", nargs="+")
    search.add_argument("--said", action="store_true", help="look in what was said instead (homed must run)")
    listed = actions.add("list", _list, "the newest records, or those that are filtered by", "--record fact --limit 50")
    for action in (search, listed):
        action.add_argument("--record", choices=(*KINDS, *LAYERS), default=None, help=f"only {', '.join(KINDS)}")
        action.add_argument("--evidence", choices=MARKS, default="", help="only what comes from there")
        action.add_argument("--limit", type=int, default=20, metavar="N", help="at most so many (20, up to 100)")
    listed.add_argument("--kind", default="", metavar="K", help="such as preference, decision, todo, profile")
    listed.add_argument(
        "--status", default="active", choices=("active", "superseded", "archived", "hidden", "quarantined", "any")
    )
    listed.add_argument("--untrusted", action="store_true", help="only what strangers' words may be in")
    listed.add_argument("--since", metavar="DAY", default="", help="made on or after it: 2026-01-31")
    listed.add_argument("--until", metavar="DAY", default="", help="made before it")
    listed.add_argument("--sort", choices=("newest", "importance", "cited"), default="newest")
    listed.add_argument("--before", metavar="PLACE", default="", help="go on where a page ended")
    opened = actions.add("open", _open, "one record with the words it was made of", "1a2b3c4d --history")
    opened.add_argument("id", metavar="ID", help="the eight digits that are shown, or the whole id")
    opened.add_argument("--history", action="store_true", help="what it said before, too")
    told = actions.add("injections", _injections, "what turns were told out of memory, and why", "--limit 5")
    told.add_argument("--limit", type=int, default=20, metavar="N", help="at most so many (20, up to 100)")
    told.add_argument("--record", metavar="ID", default="", help="only where this record was told")
    told.add_argument("--thread", metavar="ID", default="", help="only of this conversation")


def _stats(args: argparse.Namespace) -> int:
    found = ask_or_open(args, "memory.stats")
    if args.json:
        as_json(found)
    else:
        print("\n".join(clean(line) for line in figures(found)))
    return 0


def figures(found: Mapping[str, Any]) -> list[str]:
    """The figures as lines."""
    records, layers, graph, passes = found["records"], found["layers"], found["graph"], found["passes"]
    evidence, of = records["evidence"], records["record"]
    many = {MANY[kind]: of.get(kind, 0) for kind in KINDS}
    lines = [
        phrase(
            "Records: {many} ({sum} that hold{status})",
            many=_counted(many),
            sum=sum(of.values()),
            status=phrase("; {text}", text=standing) if (standing := _counted(records["status"])) else "",
        ),
        phrase("  where they come from: {evidence}", evidence=_counted(evidence, MARKS)),
    ]
    if records["untrusted"] or records["recheck"]:
        lines.append(phrase("  from outside: {untrusted}; to be looked at again: {recheck}", **records))
    for name, said in (("context", phrase("in view")), ("cold", phrase("cold")), ("archived", phrase("archived"))):
        one = layers[name]
        size = _size(one["bytes"])
        lines.append(phrase("Said, {said}: {events} events, {files} files ({size})", **one, said=said, size=size))
    lines.append(phrase("Graph: {entities} entities, {edges} relations, {merges} merges to decide", **graph))
    week, cited = found["injections"], found["citations"]
    how = _in_brackets(_counted(week["modes"]))
    lines.append(phrase("Told in the last week: {turns} times, {chars} characters{how}", **week, how=how))
    lines.append(phrase("Cited by answers: {total} times, {week} of them in the last week", **cited))
    lines.append(phrase("Turns that are to be worked on: {waiting}", **passes) + _since(passes["oldest"]))
    if passes["gates"]:
        lines.append(phrase("  stopped at a gate since the beginning: {gates}", gates=_counted(passes["gates"])))
    return [*lines, *_whole(found)]


def _whole(found: Mapping[str, Any]) -> list[str]:
    """What owners see besides."""
    if "vectors" not in found:
        return []
    vectors, size = found["vectors"], found["bytes"]
    kinds = vectors["kinds"].values()
    have, waiting, failed = (sum(one[name] for one in kinds) for name in ("have", "waiting", "failed"))
    made = vectors["embedder"].get("used") or phrase("nothing")
    lines = [
        phrase(
            "Vectors: {have} made by {made}, {waiting} to be made, {failed} given up",
            have=have,
            made=made,
            waiting=waiting,
            failed=failed,
        )
    ]
    if vectors["trouble"]:
        lines.append(f"  {translated(vectors['trouble'])}")
    lines.append(
        phrase("On disk: {items}", items=", ".join((f"{name} {_size(count)}" for name, count in size.items())))
    )
    lines.append(f"  {found['paths']['data']}")
    return lines


def _search(args: argparse.Namespace) -> int:
    query = " ".join(args.query)
    if args.said:
        from homed.commands.reach import ask

        found = ask(args, "memory.search", query=query, limit=min(args.limit, 20))
        if args.json:
            as_json(found)
            return 0
        rows = [(f"{one['score']:.2f}", when(one["at"]), one["title"] or one["thread"], one["id"], _short(one["text"]))
                for one in found["found"]]  # fmt: skip
        _told(rows, ("score", "said", "conversation", "event", "what"), phrase(NOTHING, query=query))
        return 0
    found = ask_or_open(
        args, "memory.records", query=query, limit=args.limit, evidence=args.evidence,
        **({"record": args.record} if args.record else {}),
    )  # fmt: skip
    return _shown(args, found, phrase(NOTHING, query=query))


NOTHING = "Memory has no record of “{query}”. That does not say that it is not so."


def _list(args: argparse.Namespace) -> int:
    given = {
        "record": args.record, "untrusted": True if args.untrusted else None, "since": day(args.since),
        "until": day(args.until),
    }  # fmt: skip
    found = ask_or_open(
        args, "memory.records", limit=args.limit, evidence=args.evidence, kind=args.kind, status=args.status,
        sort=args.sort, before=args.before, **{key: value for key, value in given.items() if value is not None},
    )  # fmt: skip
    return _shown(args, found, phrase("There are no such records."))


def _shown(args: argparse.Namespace, found: Mapping[str, Any], nothing: str) -> int:
    if args.json:
        as_json(found)
        return 0
    rows = [_row(one) for one in found["records"]]
    _told(rows, ("score", "id", "record", "from", "made", "text"), nothing)
    if found.get("next"):
        print(phrase("{of} in all; --before {next} goes on.", **found))
    return 0


def _title(one: Mapping[str, Any]) -> str:
    """The title of a record; '' where its words begin with it anyway, as those of a summary do."""
    title = str(one["title"]).strip()
    return "" if str(one["text"]).strip().casefold().startswith(title.casefold()) else title


def _row(one: Mapping[str, Any]) -> tuple[str, ...]:
    score = f"{one['score']:.2f}" if one.get("score") else ""
    kind = one["record"] if one["kind"] in ("turn", "fact") else f"{one['record']}, {one['kind']}"
    doubt = " ⚠" if one["untrusted"] else ""
    status = "" if one["status"] == "active" else f" ({one['status']})"
    title = f"{title}: " if (title := _title(one)) else ""
    mark, made = f"{one['mark'] or phrase('none')}{doubt}", when(one["created_at"])[:16]
    return score, one["shown"], f"{kind}{status}", mark, made, _short(f"{title}{one['text']}")


def _open(args: argparse.Namespace) -> int:
    found = ask_or_open(args, "memory.record", id=args.id, history=args.history)
    if args.json:
        as_json(found)
    else:
        print("\n".join(clean(line) for line in opened(found)))
    return 0


def opened(found: Mapping[str, Any]) -> list[str]:
    """A record as lines: what it says, then where each word of it comes from."""
    doubt = phrase(" · ⚠ strangers' words may be in it") if found["untrusted"] else ""
    status = "" if found["status"] == "active" else f" · {found['status']}"
    kind = f" · {found['kind']}" if found["kind"] != found["record"] else ""
    what = f"{found['record']}{kind} · {found['mark'] or phrase('no source')}{doubt}{status}"
    lines = [phrase("{what}  (id:{shown})", what=what, shown=found["shown"])]
    lines += [title] if (title := _title(found)) else []
    lines += [f"  {line}" for line in str(found["text"]).split("\n")]
    lines.append(
        phrase(
            "revision {revision}, importance {importance}, said {times}×, cited {cited}×; made {made},"
            " changed {changed}",
            **found,
            made=when(found["created_at"]),
            changed=when(found["updated_at"]),
        )
    )
    lines += [phrase("tags: {tags}", tags=", ".join(found["tags"]))] if found["tags"] else []
    lines += ["", phrase("Where it comes from:")] if found["evidence"] else []
    for one in found["evidence"]:
        lines += _piece(one)
    if found["source"]:
        lines += ["", translated(found["source"])]
    for key, said in _BESIDE.items():
        lines += [f"{phrase(said)} {one['shown']}: {_short(one['title'] or one['text'])}" for one in found[key]]
    for one in found["injections"][:5]:
        lines.append(
            phrase("Told {where} ({band}, {score:.2f})", where=_where(one), band=one["band"], score=one["score"])
        )
    lines += [phrase("Cited {where}", where=_where(one)) for one in found["citations"][:5]]
    if found["history"]:
        lines += ["", phrase("What it said before:")]
    for one in found["history"]:
        lines.append(f"  {one['revision']}  {when(one['at'])}  {_short(one['text'])}  ({one['why']})")
    return lines


_BESIDE = {
    "older": "Took the place of", "newer": "Superseded by", "members": "Holds", "capsules": "Part of",
}  # fmt: skip
_CHECKED = {True: "as it was said", False: "NOT what was said: the excerpt was changed", None: "pointed at, not quoted"}


def _piece(one: Mapping[str, Any]) -> list[str]:
    where = f"{one['event']}"
    if "thread" in one:
        doubt = " ⚠" if one["untrusted"] else ""
        where += f", {when(one['at'])}, “{one['title'] or one['thread']}”, {one['speaker'] or one['kind']}{doubt}"
    quoted = one["text"] if one["first"] is not None else _short(one["text"])
    return [f"  {where}: {phrase(_CHECKED[one['hash_ok']])}", *(f"    | {line}" for line in str(quoted).split("\n"))]


def _injections(args: argparse.Namespace) -> int:
    given = {"record": args.record, "thread": args.thread}
    found = ask_or_open(
        args, "memory.injections", limit=args.limit, **{key: value for key, value in given.items() if value}
    )
    if args.json:
        as_json(found)
        return 0
    if not found["injections"]:
        print(phrase("No turn was told anything out of memory yet."))
    for one in found["injections"]:
        print("\n".join(clean(line) for line in told(one)))
    return 0


def told(one: Mapping[str, Any]) -> list[str]:
    """A row of the ledger as lines."""
    left = [phrase("{below} not relevant enough", below=one["below"])] if one["below"] else []
    left += [phrase("{cut} had no room", cut=one["cut"])] if one["cut"] else []
    left += [phrase("late: {late}", late=", ".join(one["late"]))] if one["late"] else []
    more = "".join(f"; {said}" for said in left)
    lines = [
        f"{when(one['at'])}  {one['turn']}  “{one['title'] or one['thread']}”",
        phrase(
            "  {mode}: {counts}, {chars} characters, {ms:.0f} ms{more}",
            mode=one["mode"],
            counts=_counted(one["counts"]),
            chars=one["chars"],
            ms=one["ms"],
            more=more,
        ),
    ]
    lines += [f"  > {one['query']}"] if one["query"] else []
    for line in one["lines"]:
        what = phrase("{record:<8} id:{shown}@{revision}", **line)
        mark, text = line["evidence"] or phrase("no source"), _short(line["text"])
        lines.append(f"    {line['score']:.2f}  {what}  {line['band']}, {mark}  {text}".rstrip())
    return lines


def _told(rows: Sequence[Sequence[str]], head: Sequence[str], nothing: str) -> None:
    if not rows:
        print(clean(nothing))
        return
    if not any(row[0] for row in rows):  # nothing was looked for, so nothing has a score
        rows, head = [row[1:] for row in rows], head[1:]
    table(rows, head)


def _counted(counts: Mapping[str, int], order: Iterable[str] = ()) -> str:
    names = [*order, *(name for name in counts if name not in set(order))]
    return counted((name, counts.get(name, 0)) for name in names)


def _short(text: object) -> str:
    plain = " ".join(str(text).split())
    return plain if len(plain) <= SHORT else f"{plain[: SHORT - 1]}…"


def _where(one: Mapping[str, Any]) -> str:
    return phrase("on {at} in “{title}”", at=when(one["at"]), title=one["title"] or one["thread"])


def _in_brackets(said: str) -> str:
    return f" ({said})" if said else ""


def _size(count: float) -> str:
    for unit in ("B", "kB", "MB"):
        if count < 1000:
            return f"{count:.0f} {unit}"
        count /= 1000
    return phrase("{count:.1f} GB", count=count)


def _since(at: float | None) -> str:
    return phrase(", the oldest of {at}", at=when(at)) if at else ""
