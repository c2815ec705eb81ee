"""`homed memory export|import`, `homed backup`, `homed restore`: memory as files."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from homed.commands.actions import Actions
from homed.commands.output import as_json, clean, counted, table, when
from homed.commands.place import paths_of
from homed.commands.reach import ask_or_open, reachable, running
from homed.commands.saying import phrase, translated
from homed.config.lock import data_lock
from homed.errors import Conflict


def add(actions: Actions) -> None:
    """Add the actions to those of `homed memory`."""
    out = actions.add("export", _export, "write what is remembered to a new folder", "~/memory-2026")
    out.add_argument("dir", metavar="DIR", help="a folder that is not there yet")
    out.add_argument("--format", choices=("jsonl", "holo"), default="jsonl", help="JSON Lines with files, or holo's")
    out.add_argument("--scope", action="append", metavar="S", help="only this scope, such as owner; can be repeated")
    back = actions.add("import", _import, "take an export in, in either format", "~/memory-2026")
    back.add_argument("dir", metavar="DIR")


def register(commands: Any, common: argparse.ArgumentParser) -> None:
    """Add `homed backup` and `homed restore`."""
    parser = commands.add_parser(
        "backup",
        parents=[common],
        help="copy the database and the attachments, while homed runs",
        description="Copy the database and the attachments into a new folder, also while homed runs. Passwords, keys, "
        "logins and what plugins keep are not in it.",
        epilog="Examples:\n  homed backup\n  homed backup /mnt/usb/homed-monday\n  homed backup --list",
    )
    parser.add_argument("dir", metavar="DIR", nargs="?", default="", help="by default one in DATA/backups")
    parser.add_argument("--list", action="store_true", help="list those in DATA/backups")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(handler=_backup)
    parser = commands.add_parser(
        "restore",
        parents=[common],
        help="put a backup in the place of the database; homed must be stopped",
        description="Check a backup and put it in the place of the database and the attachments. What was there is "
        "kept aside. What was forgotten since is forgotten again at the next start.",
        epilog="Example:\n  homed restore ~/.local/share/homed/default/backups/homed-20260131-033000",
    )
    parser.add_argument("dir", metavar="DIR", help="the folder that `homed backup` made")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(handler=_restore)


def _place(given: str) -> str:
    return str(Path(given).expanduser().absolute())


def _export(args: argparse.Namespace) -> int:
    done = ask_or_open(args, "admin.memory_export", path=_place(args.dir), format=args.format, scopes=args.scope)
    if args.json:
        as_json(done)
        return 0
    counts = counted((name.replace("_", " "), count) for name, count in done["counts"].items() if count)
    print(
        clean(
            phrase(
                "Written to {path}: {counts}, {files} files.",
                path=done["path"],
                counts=counts or phrase("nothing"),
                files=done["files"],
            )
        )
    )
    if done["missing"]:
        print(phrase("{missing} attachments are missing or damaged and are not in it.", missing=done["missing"]))
    return 0


def _import(args: argparse.Namespace) -> int:
    done = ask_or_open(args, "admin.memory_import", path=_place(args.dir))
    if args.json:
        as_json(done)
        return 0
    counts = counted((name.replace("_", " "), count) for name, count in done["taken"].items())
    print(phrase("Taken in: {counts}.", counts=counts or phrase("nothing new")))
    said = {
        "revised": phrase("records were edited there: what they said here before is a revision now"),
        "known": phrase("were here already"), "forgotten": phrase("were forgotten here, and stay so"),
    }  # fmt: skip
    for key, words in said.items():
        if done[key]:
            print(phrase("  {count} {words}.", count=done[key], words=words))
    for why, number in done["refused"].items():
        why = translated(why)
        if done["format"] == "holo":  # there is no file of what was left out: it stands where it came from
            print(clean(phrase("  {number} left out: {why}.", number=number, why=why)))
        else:
            print(clean(phrase("  {number} lines were put aside: {why}.", number=number, why=why)))
    if done["aside"]:
        print(clean(phrase("  Which ones: {aside}", aside=done["aside"])))
    return 0


def _backup(args: argparse.Namespace) -> int:
    if args.list:
        found = ask_or_open(args, "admin.backups")["backups"]
        if args.json:
            as_json(found)
        elif not found:
            print(phrase("There is no backup yet; one is made each night while homed runs."))
        else:
            rows = [(b["name"], when(b["at"]), f"{b['bytes'] / 1e6:.1f} MB", b["counts"].get("events", ""), b["files"])
                    for b in found]  # fmt: skip
            table(rows, ("backup", "made", "database", "events", "attachments"))
        return 0
    done = ask_or_open(args, "admin.backup", path=_place(args.dir) if args.dir else "")
    if args.json:
        as_json(done)
        return 0
    print(
        clean(
            phrase(
                "{path}: {events} events, {files} attachments.",
                path=done["path"],
                events=done["counts"]["events"],
                files=done["files"],
            )
        )
    )
    if done["missing"]:
        print(phrase("{missing} attachments are missing or damaged and are not in it.", missing=len(done["missing"])))
    return 0


def _restore(args: argparse.Namespace) -> int:
    paths, holder = paths_of(args), running(paths_of(args))
    if holder is not None or reachable(args):
        raise Conflict(f"homed is running on {paths.data}, and nothing is replaced under it.", hint="Stop it first.")
    from homed.store.restore import restore  # SQLite, needed only here

    paths.create()
    with data_lock(paths):
        done = restore(paths.db, paths.media, Path(_place(args.dir)))
    if args.json:
        as_json({
            "backup": done.backup.wire(), "aside": str(done.aside or ""), "missing": list(done.missing),
            "forgotten": done.forgotten,
        })  # fmt: skip
        return 0
    print(
        clean(
            phrase(
                "The database is as it was on {at}, with {events} events.",
                at=when(done.backup.at),
                events=done.backup.counts["events"],
            )
        )
    )
    if done.aside:
        print(clean(phrase("What was there is in {aside}; remove it once you do not need it.", aside=done.aside)))
    if done.missing:
        print(phrase("{missing} attachments were not in the backup, or damaged.", missing=len(done.missing)))
    if done.forgotten:
        print(
            phrase(
                "What was forgotten since ({forgotten}) will be forgotten again at the next start.",
                forgotten=done.forgotten,
            )
        )
    print(phrase("Logins and API keys are not in a backup: log in again, and make new keys."))
    return 0
