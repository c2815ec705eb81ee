"""`homed memory forget …`: what goes, a question, and the proof."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from typing import Any

from homed.commands.actions import Actions
from homed.commands.output import as_json, clean, day, when
from homed.commands.reach import ask_or_open
from homed.commands.saying import phrase, translated
from homed.errors import InvalidInput, NotFound

KINDS = ("event", "fact", "entity", "peer", "thread")

EXAMPLES = (
    "\n  homed memory forget event 5e6f7a8b --wide\n  homed memory forget entity Anna"
    '\n  homed memory forget --text "Flower Street 7"\n  homed memory forget --since 2026-01-31 --until 2026-02-01'
)

WORDS = {
    "threads": "conversations", "events": "messages and results", "inputs": "inputs", "files": "attachments",
    "blocks": "attachments", "records": "facts, summaries, capsules", "entities": "people and things", "rules": "rules",
    "evidence": "pieces of evidence", "logins": "logins", "api_keys": "API keys", "uploads": "uploads",
    "peers": "names and roles", "ledger": "records of what turns were shown", "accesses": "looks",
    "turns": "turns", "merged": "merges", "rechecked": "held against what else they rest on",
    "revisions": "texts they had before", "vectors": "vectors", "threshold_changes": "reasons of thresholds",
    "crash_reports": "reports of crashes", "agent_turns": "turns of agents it made, or begun by their reports",
}  # fmt: skip
"""What the counts of a forgetting are called."""

_TAKEN = {"events": "event", "records": "fact", "entities": "entity"}
"""What others that say the same are called, where one of them is to be forgotten."""


def add(actions: Actions) -> None:
    """Add the action to those of `homed memory`."""
    forget = actions.add("forget", _forget, "forget something wherever it stands, and prove it", "1a2b3c4d")
    forget.epilog = f"{forget.epilog}{EXAMPLES}"
    forget.add_argument(
        "kind", metavar="KIND", nargs="?", default="", help=f"{', '.join(KINDS)}; left out, the ID is that of a record"
    )
    forget.add_argument(
        "target",
        metavar="ID",
        nargs="?",
        default="",
        help="its id, or the last eight digits (the page and `homed context explain last` show them); of an"
        " entity also its name",
    )
    forget.add_argument("--text", metavar="TEXT", default="", help="everything that holds this text")
    forget.add_argument("--since", metavar="DAY", default="", help="everything said on or after it: 2026-01-31")
    forget.add_argument("--until", metavar="DAY", default="", help="everything said before it")
    forget.add_argument(
        "--wide",
        action="store_true",
        help="of an event the whole turn, also what agents did for it; of a fact or an entity its messages",
    )
    forget.add_argument("--yes", "-y", action="store_true", help="do not ask")


def _forget(args: argparse.Namespace) -> int:
    if args.text or args.since or args.until:
        if args.kind:
            print(phrase("homed memory forget: give an ID, or a text or a time."), file=sys.stderr)
            return 2
        return _everything(args)
    if not args.kind:
        print(
            phrase("homed memory forget: what is to be forgotten? See `homed memory forget --help`."), file=sys.stderr
        )
        return 2
    if not args.target:  # an id alone is that of a record, as lists and notes show it
        args.kind, args.target = "fact", args.kind
    if args.kind not in KINDS:
        print(
            phrase("homed memory forget: {kind} is none of {KINDS}.", kind=clean(args.kind), KINDS=", ".join(KINDS)),
            file=sys.stderr,
        )
        return 2
    params = {"kind": args.kind, "target": args.target, "wide": args.wide}
    if not args.yes:
        found = ask_or_open(args, "admin.memory_preview", **params)
        if not _sure(foreseen(found)):
            return 1
        params["target"] = found["target"]
    proof = ask_or_open(args, "admin.memory_forget", **params)
    if args.json:
        as_json(proof)
    else:
        print("\n".join(account(proof)))
    return 0 if proof["clean"] else 1


def _sure(lines: list[str]) -> bool:
    """Whether the person at the terminal wants what these lines say."""
    if not sys.stdin.isatty():
        raise InvalidInput("Nobody is at a terminal to be asked.", hint="Say --yes.")
    print("\n".join(lines), file=sys.stderr)
    if input(phrase("Forget it for good? [y/N] ")).strip().lower() in ("y", "yes", "是", "д", "да"):
        return True
    print(phrase("Nothing was forgotten."), file=sys.stderr)
    return False


def _everything(args: argparse.Namespace) -> int:
    """What holds a text, or was said in a time, one after the other, until nothing more is found."""
    given = {"text": args.text, "since": day(args.since), "until": day(args.until)}
    wanted = {key: value for key, value in given.items() if value}
    found = ask_or_open(args, "admin.memory_find", **wanted)
    if not args.yes and not _sure(_found(found)):
        return 1
    proofs: list[dict[str, Any]] = []
    tried: set[str] = set()
    while todo := [one for one in _each(found) if one[1] not in tried]:
        for kind, id_ in todo:
            tried.add(id_)
            try:
                proofs.append(ask_or_open(args, "admin.memory_forget", kind=kind, target=id_, wide=args.wide))
            except NotFound:
                continue  # it went with one before
            if sys.stderr.isatty():
                print(phrase("\r{proofs} forgotten", proofs=len(proofs)), end="", file=sys.stderr, flush=True)
        found = ask_or_open(args, "admin.memory_find", **wanted)
    if args.text and any(one["table"] in _NOTES for one in found.get("elsewhere", [])):
        proofs.append(ask_or_open(args, "admin.memory_forget", kind="text", target=args.text))
        found = ask_or_open(args, "admin.memory_find", **wanted)
    left, elsewhere = _each(found), found.get("elsewhere", [])
    clean_ = not left and not elsewhere and (not proofs or proofs[-1]["clean"])
    if args.json:
        as_json({"clean": clean_, "left": [id_ for _, id_ in left], "elsewhere": elsewhere, "proofs": proofs})
        return 0 if clean_ else 1
    notes = [(WORDS[name], count) for one in proofs if one["kind"] == "text" for name, count in one["removed"].items()]
    whole = sum(one["kind"] != "text" for one in proofs)
    if whole or not notes:
        said = "\n{whole} were forgotten, with what rested on them alone." if whole else "There was nothing."
        print(phrase(said, whole=whole))
    for what, count in notes:
        print(phrase("It was taken out of {count} {what}; their other words stay.", count=count, what=phrase(what)))
    if proofs:
        print("\n".join(_verdict(proofs[-1])))
    for one in elsewhere:
        print(_stays(one))
    return 0 if clean_ else 1


def _stays(one: Mapping[str, Any]) -> str:
    what = _called(one["table"])
    return clean(phrase("{count} {what} ({column}) hold it, and are no memory: they stay.", **one, what=what))


_NOTES = ("threshold_changes", "crash_reports", "threads", "inputs")
"""What is no memory and may hold it among other words: those stay."""


def _each(found: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Messages first: records that rest on them alone go with them."""
    kinds = (("event", "events"), ("fact", "records"), ("entity", "entities"))
    return [(kind, id_) for kind, name in kinds for id_ in found[name]]


def _found(found: Mapping[str, Any]) -> list[str]:
    counts = {name: len(found[name]) for name in ("events", "records", "entities")}
    lines = [phrase("This goes for good, with what rests on it alone:"), *(_counted(counts) or [phrase("  nothing")])]
    if found["first"]:
        lines.append(phrase("  said from {first} to {last}", first=when(found["first"]), last=when(found["last"])))
    return [*lines, phrase("  and there is more of it")] if found["more"] else lines


def foreseen(found: Mapping[str, Any]) -> list[str]:
    """A preview as lines."""
    lines = [clean(phrase("This goes for good, of the {kind} {target}:", **found))]
    lines += _counted(found["counts"])
    if found["first"]:
        first, last = when(found["first"]), when(found["last"])
        lines.append(phrase("  from {first}", first=first) + (phrase(" to {last}", last=last) if last != first else ""))
    if found["rechecked"]:
        lines.append(
            phrase(
                "  {rechecked} records rest on it and on other messages: they are held against those.",
                rechecked=found["rechecked"],
            )
        )
    if found["stays"]:
        lines.append(phrase("  {stays} messages that say it stay; with --wide they go too.", stays=found["stays"]))
    if found["busy"]:
        lines.append(phrase("  A turn that it belongs to is being answered: stop it first."))
    return lines


def account(proof: Mapping[str, Any]) -> list[str]:
    """A proof as lines."""
    searched = proof["searched"]
    lines = [phrase("Removed:"), *(_counted(proof["removed"]) or [phrase("  nothing: it was gone already")])]
    if searched["files"]:
        size = phrase("{bytes:.1f} MB", bytes=searched["bytes"] / 1000000.0)
        lines.append(
            phrase(
                "Looked for {sentences} sentences and names in {files} files ({size}).",
                sentences=searched["sentences"],
                files=searched["files"],
                size=size,
            )
        )
    if searched["short"]:
        lines.append(phrase("  {short} texts are too short to be looked for.", short=searched["short"]))
    if searched["left_out"]:
        lines.append(phrase("  There was more than can be looked for; the rest was removed, and not looked for."))
    if proof["scrubbed"]:
        lines.append(
            phrase("  {scrubbed} bytes in free places of the database were overwritten.", scrubbed=proof["scrubbed"])
        )
    if proof["log_lines"]:
        lines.append(phrase("  {log_lines} lines of logs were overwritten.", log_lines=proof["log_lines"]))
    lines += _verdict(proof)
    if proof["copies"]:
        lines.append(
            phrase("Copies of before are out of reach; whoever restores one has it forgotten again. Here they are:")
        )
        lines += [clean(f"  {copy['name']}  {when(copy['at'])}") for copy in proof["copies"]]
    return lines


def _verdict(proof: Mapping[str, Any]) -> list[str]:
    if proof["clean"]:
        looked = proof["searched"]["files"]
        return [
            phrase("It stands in no file of the data folder.")
            if looked
            else phrase("There was nothing to be looked for.")
        ]
    lines = []
    if proof["problem"]:
        lines.append(clean(phrase("It was not looked for everywhere: {problem}", problem=translated(proof["problem"]))))
    if proof["resumed"]:
        lines.append(
            phrase("A crash had cut it off, so what was removed before is not known any more and was not looked for.")
        )
    if proof["unread"]:
        lines.append(clean(phrase("These could not be read: {unread}", unread=", ".join(proof["unread"]))))
    for name, count in proof["found"].items():
        lines.append(clean(phrase("It still stands in {name} ({count} times).", name=name, count=count)))
    for said in proof["said"]:
        ids = f": {', '.join(said['ids'])}" if said["ids"] else ""
        what = _called(said["table"])
        lines.append(
            clean(
                phrase(
                    "  {count} {what} say it too{ids}{more}",
                    count=said["count"],
                    what=what,
                    ids=ids,
                    more=_more(said["table"]),
                )
            )
        )
    return lines


def _more(table: str) -> str:
    """What to do about others that say the same."""
    if kind := _TAKEN.get(table):
        return phrase(" (`homed memory forget {kind} ID` takes what you name of them, too)", kind=kind)
    if table == "threads":
        return phrase(" (give them another title)")
    return phrase(" (they go with their messages)") if table == "inputs" else ""


def _called(table: str) -> str:
    return phrase(WORDS[table]) if table in WORDS else phrase("rows of {table}", table=table)


def _counted(counts: Mapping[str, int]) -> list[str]:
    return [
        phrase("  {count} {name}", count=count, name=phrase(WORDS.get(name, name)))
        for name, count in counts.items()
        if count
    ]
